"""Listings and logs of real clusters, compared field by field with what was made of them.

tests/recordings/import holds them; `truth.json` says what was made (tools/lab/record.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kafka.record import MemoryRecordsBuilder

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import scalar
from isr_pipeline.clusters import metadata_dump, metadata_files
from isr_pipeline.clusters.facts import Source
from isr_pipeline.clusters.importing import import_cluster
from isr_pipeline.kafka.release_numbers import version_of

RECORDINGS = Path(__file__).resolve().parent.parent / "recordings" / "import"
RELEASES = ("2.7.2", "3.9.2", "4.3.1")
KRAFT = ("3.9.2", "4.3.1")
TEXTS = (
    *("topics.txt", "configs-broker-2.txt", "configs-broker-3.txt", "configs-broker-4.txt"),
    *("server-1.properties", "configs-topics.txt", "log-dirs.txt"),
)
LOG = "00000000000000000000.log"


def truth(release: str) -> dict[str, Any]:
    """What was made."""
    read: dict[str, Any] = json.loads((RECORDINGS / release / "truth.json").read_text())
    return read


def imported(folder: Path, release: str, *names: str, **options: Any) -> dict[str, Any]:
    """Import some files of a recording."""
    files = [str(RECORDINGS / release / name) for name in names]
    return import_cluster(files, "x", out=folder / "x.yaml", **options)


def checkpoint(release: str) -> str:
    """Name of a recording's snapshot."""
    [found] = (RECORDINGS / release).glob("*.checkpoint")
    return found.name


def partitions(seen: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Every partition that was imported."""
    return {
        (topic["name"], one["id"]): one for topic in seen["topics"] for one in topic["partitions"]
    }


def replicated(made: dict[str, Any]) -> list[dict[str, Any]]:
    """Topics that have followers, where somebody chose them."""
    return [
        topic for topic in made["topics"] if len(topic["partitions"][0].get("replicas", ())) > 1
    ]


@pytest.mark.parametrize("release", RELEASES)
class TestTexts:
    """All that Kafka's tools print of a cluster."""

    def test_brokers(self, tmp_path: Path, release: str) -> None:
        """Racks, log dirs, and the settings of each."""
        seen, made = imported(tmp_path, release, *TEXTS), truth(release)
        assert [(b["id"], b["rack"]) for b in seen["brokers"]] == [
            (b["id"], b["rack"]) for b in made["brokers"]
        ]
        for broker, one in zip(seen["brokers"], made["brokers"], strict=True):
            assert broker["log_dirs"] == sorted(one["log_dirs"])
            effective = {**seen["settings"], **broker["settings"]}
            for key, value in {**one["static"], **one["dynamic"]}.items():
                if key in effective:
                    assert effective[key] == scalar(value), key
            assert effective["replica.lag.time.max.ms"] == int(
                one["static"]["replica.lag.time.max.ms"]
            )

    def test_topics(self, tmp_path: Path, release: str) -> None:
        """What each topic sets for itself, and nothing that brokers set for all."""
        seen, made = imported(tmp_path, release, *TEXTS), truth(release)
        settings = {topic["name"]: topic["settings"] for topic in seen["topics"]}
        for topic in replicated(made):
            expected = {key: scalar(value) for key, value in topic["settings"].items()}
            assert {k: v for k, v in settings[topic["name"]].items() if k in expected} == expected
            if not topic["internal"]:
                assert settings[topic["name"]].keys() == expected.keys()

    def test_partitions(self, tmp_path: Path, release: str) -> None:
        """Replicas in their order, and the log dir of each."""
        seen, made = imported(tmp_path, release, *TEXTS), truth(release)
        found = partitions(seen)
        assert {name for name, _ in found} >= {topic["name"] for topic in replicated(made)}
        lies = {
            (broker["id"], name): path
            for broker in made["brokers"]
            for path, names in broker["log_dirs"].items()
            for name in names
        }
        for topic in replicated(made):
            for partition in topic["partitions"]:
                one = found[topic["name"], partition["id"]]
                assert one["replicas"] == partition["replicas"]
                name = f"{topic['name']}-{partition['id']}"
                assert one["log_dirs"] == [lies[broker, name] for broker in one["replicas"]]

    def test_the_rest(self, tmp_path: Path, release: str) -> None:
        """Controller, release, and what has no followers."""
        seen = imported(tmp_path, release, *TEXTS)
        assert seen["controller"] == truth(release)["metadata"].lower()
        if release != "4.3.1":  # whose brokers do not tell
            assert version_of(seen["release"]) == (version_of(release) or ())[:2]
        assert any("topic alone (2 partitions)" in one for one in seen["left_out"])
        assert "SECRET" not in json.dumps(seen) + (tmp_path / "x.yaml").read_text()


@pytest.mark.parametrize("release", KRAFT)
class TestMetadata:
    """The metadata log, dumped and as files."""

    WAYS = ("dump of the log", "the log", "snapshot and log")

    def files(self, release: str, way: str) -> tuple[str, ...]:
        """Which files are imported."""
        return {
            "dump of the log": ("metadata-log.txt",),
            "the log": (LOG,),
            "snapshot and log": (checkpoint(release), LOG),
        }[way]

    @pytest.mark.parametrize("way", WAYS)
    def test_every_way_says_the_same(self, tmp_path: Path, release: str, way: str) -> None:
        """Dumped or not, with the snapshot or from the beginning."""
        seen = imported(tmp_path, release, *self.files(release, way))
        other = imported(tmp_path, release, "metadata-log.txt")
        for one in (seen, other):
            del one["values_from"], one["conflicts"], one["left_out"]
        assert seen == other

    def test_when_records_were_written(self, release: str) -> None:
        """The log itself and Kafka's later dump of it give each record the same time."""
        times = []
        for name in (LOG, "metadata-log.txt"):
            source = Source(name, (RECORDINGS / release / name).read_bytes())
            read = metadata_files if name == LOG else metadata_dump
            entries = [entry for section in read.read(source) for entry in section.entries]
            times.append([(entry.offset, entry.timestamp_ms) for entry in entries])
        assert times[0] == times[1][: len(times[0])]
        assert len({time for _, time in times[0]}) > 10

    def test_snapshot(self, tmp_path: Path, release: str) -> None:
        """A snapshot alone is the cluster at its end, dumped or not."""
        seen = imported(tmp_path, release, checkpoint(release))
        other = imported(tmp_path, release, "metadata-checkpoint.txt")
        assert partitions(seen) == partitions(other)
        assert seen["brokers"] == other["brokers"]

    def test_it_is_the_cluster(self, tmp_path: Path, release: str) -> None:
        """Release, racks, and which replicas stood where in the end."""
        seen, made = imported(tmp_path, release, LOG), truth(release)
        assert version_of(seen["release"]) == (version_of(release) or ())[:2]
        assert [b["rack"] for b in seen["brokers"]] == [b["rack"] for b in made["brokers"]]
        found = partitions(seen)
        standing = imported(tmp_path, release, "topics-after-kill.txt")
        for key, one in partitions(standing).items():
            assert found[key]["replicas"] == one["replicas"]
            assert found[key]["leader"] == one["leader"]
            assert sorted(found[key]["isr"]) == sorted(one["isr"])

    def test_dynamic_settings_are_whose_they_are(self, tmp_path: Path, release: str) -> None:
        """A broker's own stays its own; the cluster's is everybody's."""
        seen = imported(tmp_path, release, LOG)
        assert seen["settings"]["min.insync.replicas"] == 2
        assert "num.replica.fetchers" not in seen["settings"]
        assert seen["brokers"][2]["settings"]["num.replica.fetchers"] == 2

    def test_with_the_texts(self, tmp_path: Path, release: str) -> None:
        """The log is believed more; log dirs have their paths; nothing is contradicted."""
        seen = imported(tmp_path, release, *TEXTS, checkpoint(release))
        assert [one for one in seen["conflicts"] if one["kind"] not in ("leader", "isr")] == []
        source = seen["values_from"]["topics.*.partitions.replicas"]
        assert source == f"{checkpoint(release)} (KRaft metadata log)"
        dirs = {one for p in partitions(seen).values() for one in p["log_dirs"]}
        assert all(one.startswith("/") for one in dirs)


class TestDamaged:
    """Files that were not copied whole, or are of something else."""

    def refusal(self, folder: Path, content: bytes, name: str = LOG) -> str:
        """Give the error line of a file."""
        (folder / name).write_bytes(content)
        with pytest.raises(InputError) as caught:
            import_cluster([str(folder / name)], "x", out=folder / "x.yaml")
        assert not (folder / "x.yaml").exists()
        return str(caught.value)

    @pytest.fixture
    def log(self) -> bytes:
        """A whole log."""
        return (RECORDINGS / "4.3.1" / LOG).read_bytes()

    def test_cut_off(self, tmp_path: Path, log: bytes) -> None:
        """A batch that ends beyond the file is refused with its place."""
        line = self.refusal(tmp_path, log[:-10])
        assert f"{LOG}: byte " in line
        assert line.endswith("allowed: a metadata log or snapshot that was copied whole")
        assert "bytes of a batch" in self.refusal(tmp_path, log + b"\x00" * 7)

    def test_a_flipped_bit(self, tmp_path: Path, log: bytes) -> None:
        """The checksum finds it."""
        place = len(log) // 2
        changed = log[:place] + bytes([log[place] ^ 1]) + log[place + 1 :]
        assert "allowed: a metadata log or snapshot" in self.refusal(tmp_path, changed)

    def test_a_batch_that_is_none(self, tmp_path: Path, log: bytes) -> None:
        """One shorter than its header, one of an old format, one that is compressed."""
        short = bytes(11) + b"\x20" + bytes(4) + b"\x02" + bytes(27)
        line = self.refusal(tmp_path, log + short)
        assert f"byte {len(log)}: a damaged batch; allowed: a metadata log" in line
        old = short[:16] + b"\x01" + short[17:]
        assert "no record batch (magic 1)" in self.refusal(tmp_path, log + old)
        packed = MemoryRecordsBuilder(magic=2, compression_type=1, batch_size=1000)
        packed.append(0, None, bytes(100))
        packed.close()
        assert "a compressed batch" in self.refusal(tmp_path, log + packed.buffer())

    def test_a_log_without_its_beginning(self, tmp_path: Path, log: bytes) -> None:
        """What came before is missing, and that is said."""
        first = 12 + int.from_bytes(log[8:12], "big")
        line = self.refusal(tmp_path, log[first:])
        assert (
            "a log that begins at offset 1; allowed: also the snapshot or log with offset 0" in line
        )

    def test_a_gap(self, tmp_path: Path, log: bytes) -> None:
        """A batch left out in the middle is found by its offsets."""
        first = 12 + int.from_bytes(log[8:12], "big")
        second = first + 12 + int.from_bytes(log[first + 8 : first + 12], "big")
        assert " behind 0; allowed: every record" in self.refusal(
            tmp_path, log[:first] + log[second:]
        )

    def test_a_snapshot_without_its_end(self, tmp_path: Path) -> None:
        """The footer is missing."""
        name = checkpoint("4.3.1")
        content = (RECORDINGS / "4.3.1" / name).read_bytes()
        last = at = 0
        while at < len(content):
            last, at = at, at + 12 + int.from_bytes(content[at + 8 : at + 12], "big")
        line = self.refusal(tmp_path, content[:last], name)
        assert "a snapshot without its end; allowed: a whole snapshot" in line

    def test_a_renamed_snapshot_beside_a_log(self, tmp_path: Path, log: bytes) -> None:
        """Where the log goes on stands in the snapshot's name alone."""
        content = (RECORDINGS / "4.3.1" / checkpoint("4.3.1")).read_bytes()
        (tmp_path / "snapshot").write_bytes(content)
        (tmp_path / LOG).write_bytes(log)
        files = [str(tmp_path / "snapshot"), str(tmp_path / LOG)]
        with pytest.raises(InputError, match=r"OFFSET-EPOCH\.checkpoint"):
            import_cluster(files, "x", out=tmp_path / "x.yaml")

    def test_skip_record_metadata(self, tmp_path: Path) -> None:
        """Without offsets nobody can say whether records are missing."""
        lines = (RECORDINGS / "4.3.1" / "metadata-log.txt").read_text().splitlines()
        short = ["| payload: " + one.split(" payload: ")[1] for one in lines if " payload: " in one]
        line = self.refusal(tmp_path, "\n".join(short).encode(), "dump.txt")
        assert line.endswith(
            "dump.txt: line 1: a record without offset and CreateTime; allowed: a dump without "
            "--skip-record-metadata"
        )

    def test_a_dump_cut_off(self, tmp_path: Path) -> None:
        """A line that ends early has its number."""
        text = (RECORDINGS / "4.3.1" / "metadata-log.txt").read_text().rstrip()
        at = text.rindex('{"type"') + 20
        line = self.refusal(tmp_path, text[:at].encode(), "dump.txt")
        assert "a record whose JSON is cut off; allowed: whole lines" in line

    def test_two_clusters(self, tmp_path: Path) -> None:
        """Two releases' logs are two clusters'."""
        files = [str(RECORDINGS / release / LOG) for release in KRAFT]
        with pytest.raises(InputError, match="allowed: logs of one cluster"):
            import_cluster(files, "x", out=tmp_path / "x.yaml")
        files = [str(RECORDINGS / "4.3.1" / LOG), str(RECORDINGS / "3.9.2" / "topics.txt")]
        with pytest.raises(InputError, match="allowed: sources of one cluster"):
            import_cluster(files, "x", out=tmp_path / "x.yaml")
