"""A folder is a source: what is known in it is read, what is not is listed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.clusters import recognise
from isr_pipeline.clusters.importing import import_cluster
from tests.clusters import samples
from tests.clusters.reading import Seen

DEMO = REPOSITORY / "examples" / "demo-cluster"
BESIDE = {
    "00000000000000000000.index": b"\x00" * 4000,
    "00000000000000000000.timeindex": b"\x00" * 4000,
    "00000000000000000130.snapshot": b"\x00\x01\x00\x00\x00\x00",
    "00000000000000000007-0000000001.checkpoint.deleted": b"",
    "leader-epoch-checkpoint": b"0\n1\n1 0\n",
    "partition.metadata": b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n",
    "quorum-state": b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":0}',
}
"""What a broker has beside its metadata log."""


@pytest.fixture
def metadata(tmp_path: Path) -> Path:
    """A broker's own folder."""
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    for file in (*DEMO.glob("*.log"), *DEMO.glob("*.checkpoint")):
        shutil.copy(file, folder)
    for name, content in BESIDE.items():
        (folder / name).write_bytes(content)
    return folder


def imported(tmp_path: Path, *sources: Path) -> dict[str, Any]:
    """Import what lies there."""
    return import_cluster([str(one) for one in sources], "x", out=tmp_path / "x.yaml")


def test_the_folder_of_the_metadata_log(metadata: Path, tmp_path: Path) -> None:
    """It is the same cluster as that of its two files; the others are listed."""
    seen = imported(tmp_path, metadata)
    files = imported(tmp_path, *metadata.glob("*.log"), *metadata.glob("*.checkpoint"))
    same = ("release", "controller", "features", "settings", "brokers", "topics", "assumed")
    assert [seen[key] for key in same] == [files[key] for key in same]
    assert f"{len(BESIDE)} files of __cluster_metadata-0 that no reader takes" in str(seen)


class TestABundle:
    """What somebody has collected of a cluster, in folders of any name."""

    @pytest.fixture
    def bundle(self, metadata: Path, tmp_path: Path) -> Path:
        """Files of every kind, among them those of no kind that is read."""
        folder = tmp_path / "bundle"
        etc, data = folder / "etc", folder / "data" / "orders-0"
        etc.mkdir(parents=True)
        data.mkdir(parents=True)
        metadata.rename(folder / "data" / metadata.name)
        for file in (DEMO / "log-dirs.txt", *DEMO.glob("*.properties")):
            shutil.copy(file, etc)
        shutil.copy(next(DEMO.glob("*.log")), data)
        (etc / "client.properties").write_text("bootstrap.servers=k1:9092\nacks=all\n")
        (folder / "kcat.txt").write_text("Metadata for all topics (from broker 1: k1:9092/1):\n")
        return folder

    def test_what_is_known_is_read(self, bundle: Path, tmp_path: Path) -> None:
        """It is the cluster of the files themselves."""
        seen, files = imported(tmp_path, bundle), imported(tmp_path, *DEMO.iterdir())
        assert (seen["brokers"], seen["topics"]) == (files["brokers"], files["topics"])

    def test_what_is_not_is_listed(self, bundle: Path, tmp_path: Path) -> None:
        """Records of a topic are not looked at, and are listed as well."""
        shutil.rmtree(bundle / "data" / "__cluster_metadata-0")
        (bundle / "topics.txt").write_text(samples.NEW.replace("orders", "clicks"))
        for file in bundle.rglob("server-*"):
            file.unlink()
        (bundle / "etc" / "log-dirs.txt").unlink()
        seen = Seen(imported(tmp_path, bundle))
        assert seen.said(
            "3 files of bundle that no reader takes: bundle/data/orders-0/00000000000000000000.log"
            ", bundle/etc/client.properties, bundle/kcat.txt"
        )

    def test_a_file_that_is_known_and_cut(self, bundle: Path, tmp_path: Path) -> None:
        """It is refused by its name in the folder: half a listing would look like a whole one."""
        (bundle / "etc" / "topics.txt").write_text(samples.NEW.rsplit("\tTopic", 1)[0])
        with pytest.raises(InputError, match=r"bundle/etc/topics\.txt: line 1: 1 of 2 partitions"):
            imported(tmp_path, bundle)

    def test_a_file_of_it_given_again(self, bundle: Path, tmp_path: Path) -> None:
        """Nothing is read twice."""
        with pytest.raises(InputError, match=r"log-dirs\.txt twice; .*each file once"):
            imported(tmp_path, bundle, bundle / "etc" / "log-dirs.txt")

    def test_a_file_that_is_too_large(self, bundle: Path, tmp_path: Path) -> None:
        """It is listed; given itself it is refused."""
        large = bundle / "a-heap.bin"
        large.touch()
        with large.open("r+b") as file:
            file.truncate(recognise.BYTES_MAX + 1)
        assert "bundle/a-heap.bin" in str(imported(tmp_path, bundle)["left_out"])


class TestNothingKnown:
    """A folder that has nothing of a cluster."""

    @pytest.mark.parametrize("names", [[], ["a.bin", "b.bin"]])
    def test_it_is_refused(self, tmp_path: Path, names: list[str]) -> None:
        """With what is allowed in it."""
        folder = tmp_path / "empty"
        folder.mkdir()
        for name in names:
            (folder / name).write_bytes(b"\x00\x01")
        with pytest.raises(InputError, match=r"^empty: .*kafka-topics\.sh --describe"):
            imported(tmp_path, folder)

    def test_an_output_within_it(self, metadata: Path) -> None:
        """Nothing is written over what is being imported."""
        out = metadata / "quorum-state"
        with pytest.raises(InputError, match="another file than the sources"):
            import_cluster([str(metadata)], "x", out=out)
        assert out.read_bytes() == BESIDE["quorum-state"]
