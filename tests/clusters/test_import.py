"""`cluster import` and `cluster show`, from files to a file, through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import flow
from isr_pipeline.cli import app
from isr_pipeline.clusters.assumptions import Assumptions
from isr_pipeline.clusters.importing import import_cluster
from isr_pipeline.clusters.show import lines, show
from isr_pipeline.scenarios.cluster_file import ELR
from isr_pipeline.scenarios.loading import load_scenario
from tests.approved import Approved
from tests.clusters import samples


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Every sample as a file."""
    texts = {
        "topics": samples.NEW,
        "configs": samples.CONFIGS,
        "dirs": samples.LOG_DIRS,
        "server": samples.PROPERTIES.replace("zookeeper.connect=zk:2181\n", ""),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return {name: str(tmp_path / f"{name}.txt") for name in texts}


GP3, OWN = {"disk_write_bytes_per_s": 125_000_000}, {"dirty_bytes": 16_000_000}


def by_hand(files: dict[str, str], monkeypatch: pytest.MonkeyPatch, of_all: str) -> Path:
    """Import a cluster, then write what all machines have, and broker 2's own, into its file."""
    folder = Path(files["topics"]).parent
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
    (folder / "clusters").mkdir()
    path = Path(import_cluster([files["topics"]], "mine")["file"])
    text = path.read_text().replace("brokers:\n", f"{of_all}\nbrokers:\n")
    path.write_text(text.replace("{id: 2", f"{{hardware: {flow(OWN)}, id: 2", 1))
    return path


def imported(files: dict[str, str], *names: str, **options: Any) -> dict[str, Any]:
    """Import some of the files."""
    folder = Path(files["topics"]).parent
    chosen = [files[name] for name in names]
    return import_cluster(chosen, "mine", out=folder / "mine.yaml", **options)


def refusal(files: dict[str, str], *names: str, **options: Any) -> str:
    """Give the error line of an import, after which nothing may have been written."""
    with pytest.raises(InputError) as caught:
        imported(files, *names, **options)
    assert not (Path(files["topics"]).parent / "mine.yaml").exists()
    return str(caught.value)


class TestMerge:
    """Several sources of one cluster."""

    def test_together_they_say_it_all(self, files: dict[str, str]) -> None:
        """Brokers with racks, log dirs and settings; topics with partitions as they stand."""
        seen = imported(files, "topics", "configs", "dirs", "server")
        assert (seen["release"], seen["controller"]) == ("3.9", "kraft")
        assert seen["settings"] == {
            "replica.lag.time.max.ms": 12000,
            "unclean.leader.election.enable": True,
        }
        assert [(b["id"], b["rack"], b["log_dirs"], b["settings"]) for b in seen["brokers"]] == [
            (1, "a", ["/d1", "/d2"], {}),
            (2, "b", [], {"num.io.threads": 16}),
            (3, "c", ["/d3", "/d4"], {"replica.lag.time.max.ms": 15000}),
        ]
        [topic] = seen["topics"]
        assert topic["settings"] == {"min.insync.replicas": 2}
        assert topic["partitions"][1] == {
            "id": 1,
            "replicas": [2, 3, 1],
            "leader": 3,
            "isr": [3, 1],
            "log_dirs": [None, None, "/d2"],
            "records_per_s": 10,
        }

    def test_every_value_has_its_source(self, files: dict[str, str]) -> None:
        """What several share is said once; nothing that was read is without a source."""
        seen = imported(files, "topics", "configs", "dirs", "server")
        said = seen["values_from"]
        assert said["release"] == "configs.txt (kafka-configs.sh --describe)"
        assert said["brokers.3.rack"] == "server.txt (server.properties)"
        assert said["topics.*.partitions.isr"] == "topics.txt (kafka-topics.sh --describe)"
        assert said["topics.*.partitions.log_dirs"] == "dirs.txt (kafka-log-dirs.sh --describe)"

    def test_what_nobody_says_is_assumed_and_comes_first(
        self, files: dict[str, str], approved: Approved
    ) -> None:
        """Release, controller, settings, load and service times of a mere list of topics."""
        seen = imported(files, "topics")
        whats = [one["what"] for one in seen["assumed"]]
        out = CliRunner().invoke(app, ["cluster", "show", str(seen["file"])]).stdout
        assert whats == [
            "release",
            "controller",
            "settings of broker 1, 2, 3",
            "replication_listener",
            "topics.*.produce.acks",
            "topics.*.settings",
            "topics.*.partitions.records_per_s",
            "topics.*.produce.records_per_batch",
            "topics.*.produce.record_bytes",
            "service",
            "hardware",
        ]
        approved(out, FOLDER=Path(files["topics"]).parent)

    def test_batches_of_an_assumed_rate(self, files: dict[str, str], approved: Approved) -> None:
        """What is said of batches is what the file has: one batch a second."""
        seen = imported(files, "topics")
        said = next(one for one in seen["assumed"] if one["what"].endswith("records_per_batch"))
        [stream] = seen["topics"][0]["produce"]
        assert said["value"] == stream["records_per_batch"] == 10
        approved(said["why"])

    def test_a_listing_as_under_zookeeper(self, files: dict[str, str], approved: Approved) -> None:
        """Release and controller are assumed of the same sign, N/A for eligible replicas."""
        Path(files["topics"]).write_text(samples.WITHOUT_ELR)
        seen = imported(files, "topics")
        assert (seen["release"], seen["controller"]) == ("3.9", "zookeeper")
        why = next(one["why"] for one in seen["assumed"] if one["what"] == "controller")
        approved(why)

    def test_the_same_listing_under_kraft(self, files: dict[str, str]) -> None:
        """Where another source says KRaft, the brokers are older: 3.8 and later know them."""
        Path(files["topics"]).write_text(samples.WITHOUT_ELR)
        Path(files["server"]).write_text("node.id=3\nprocess.roles=broker\n")
        seen = imported(files, "topics", "server")
        assert (seen["release"], seen["controller"]) == ("3.7", "kraft")

    def test_who_is_believed(self, files: dict[str, str]) -> None:
        """A tool is believed more than a file of properties, and the conflict is listed."""
        text = Path(files["server"]).read_text().replace("broker.id=3", "broker.id=1")
        Path(files["server"]).write_text(text)
        seen = imported(files, "server", "topics", "configs")
        assert seen["brokers"][0]["rack"] == "a"
        assert {
            "what": "brokers.1.rack",
            "kind": "rack",
            "kept": "a",
            "from": "configs.txt (kafka-configs.sh --describe)",
            "other": "c",
            "other_from": "server.txt (server.properties)",
        } in seen["conflicts"]

    def test_replication_factor_1_is_left_out(
        self, files: dict[str, str], approved: Approved
    ) -> None:
        """What has no follower has nothing to simulate, and that is said."""
        more = (
            "Topic: one\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n"
            "\tTopic: one\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
            "Topic: flat\tTopicId: y\tPartitionCount: 1\tReplicationFactor: 3\t"
            "Configs: diskless.enable=true\n"
            "\tTopic: flat\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
        )
        Path(files["topics"]).write_text(samples.NEW + more)
        seen = imported(files, "topics")
        assert [topic["name"] for topic in seen["topics"]] == ["orders"]
        approved(seen["left_out"][:2])

    def test_what_is_not_simulated_is_said(self, files: dict[str, str], approved: Approved) -> None:
        """An ISR with gaps is simulated as it stands; nobody says how far behind the others are."""
        approved(imported(files, "topics")["left_out"])

    def test_two_clusters(self, files: dict[str, str]) -> None:
        """Listings whose brokers have nothing in common are not of one cluster."""
        other = samples.NEW.replace("orders", "else")
        for number in "123":
            other = re.sub(rf"\b{number}\b(?=[,\t\n])", f"1{number}", other)
        other = other.replace("PartitionCount: 12\tReplicationFactor: 13", "PartitionCount: 2\t")
        Path(files["dirs"]).write_text(other)
        assert refusal(files, "topics", "dirs") == (
            "dirs.txt: brokers 11, 12, 13; allowed: sources of one cluster: topics.txt has 1, 2, 3"
        )

    def test_a_broker_of_another_cluster(self, files: dict[str, str]) -> None:
        """The settings of one broker that the listing does not have are not this cluster's."""
        text = Path(files["server"]).read_text().replace("broker.id=3", "broker.id=104")
        Path(files["server"]).write_text(text)
        assert refusal(files, "topics", "server") == (
            "server.txt: broker 104; allowed: sources of one cluster: topics.txt has 1, 2, 3"
        )

    def test_a_new_broker_beside_the_others(self, files: dict[str, str]) -> None:
        """Beside the files of two known brokers that of a third is a new broker's, still empty."""
        for number, name in ((1, "configs"), (2, "dirs"), (4, "server")):
            Path(files[name]).write_text(f"node.id={number}\nprocess.roles=broker\n")
        assert "broker 4; allowed" in refusal(files, "topics", "configs", "server")
        seen = imported(files, "topics", "configs", "dirs", "server")
        assert [broker["id"] for broker in seen["brokers"]] == [1, 2, 3, 4]

    def test_another_topic_of_the_same_name(self, files: dict[str, str]) -> None:
        """Topic ids tell clusters apart that look alike."""
        Path(files["dirs"]).write_text(samples.NEW.replace("kB1gQ", "AAAAA"))
        assert "topic orders with id AAAAA" in refusal(files, "topics", "dirs")

    def test_no_partitions(self, files: dict[str, str]) -> None:
        """Settings alone are no cluster."""
        assert refusal(files, "configs") == (
            "configs.txt: no partition with its replicas; allowed: a source that says which "
            "brokers hold which partitions"
        )

    def test_zookeeper_with_4(self, files: dict[str, str]) -> None:
        """4.0 has no ZooKeeper."""
        Path(files["server"]).write_text(samples.PROPERTIES)
        line = refusal(files, "topics", "server", release="4.0.0")
        assert line == (
            "server.txt (server.properties): controller: zookeeper; allowed: kraft: the release "
            "is 4.0.0"
        )

    def test_racks_of_some(self, files: dict[str, str]) -> None:
        """That nobody tells the others' is an assumption."""
        what = [one["what"] for one in imported(files, "topics", "server")["assumed"]]
        assert [one for one in what if one.startswith("rack")] == ["rack of broker 1, 2"]

    def test_release_by_hand(self, files: dict[str, str]) -> None:
        """The operator knows best; what is no release is refused."""
        assert imported(files, "topics", release="3.4.1")["release"] == "3.4.1"
        Path(files["topics"]).parent.joinpath("mine.yaml").unlink()
        assert refusal(files, "topics", release="x").startswith("--release: x; allowed: a release")


class TestAnonymise:
    """--anonymise."""

    def test_no_name_is_left(self, files: dict[str, str]) -> None:
        """Topics, racks, log dirs and names of files are replaced; numbers stay."""
        seen = imported(files, "topics", "configs", "dirs", "server", anonymous=True)
        text = Path(seen["file"]).read_text()
        for name in ("orders", "/d1", "topics.txt", "rack: a", "rack: b"):
            assert name not in text
        assert seen["topics"][0]["partitions"][1]["replicas"] == [2, 3, 1]
        assert [b["rack"] for b in seen["brokers"]] == ["rack-1", "rack-2", "rack-3"]

    def test_log_dirs_of_every_broker(self, files: dict[str, str]) -> None:
        """A file without an id has those of all brokers."""
        shared = Path(files["server"])
        shared.write_text("log.dirs=/srv/inner/kafka\nreplica.lag.time.max.ms=10000\n")
        seen = imported(files, "topics", "server", anonymous=True)
        assert {one for b in seen["brokers"] for one in b["log_dirs"]} == {"/log-dir-1"}
        assert "inner" not in Path(seen["file"]).read_text()


class TestFile:
    """The file that is written."""

    def test_it_shows_what_was_imported(self, files: dict[str, str]) -> None:
        """Reading the file gives what the import said."""
        seen = imported(files, "topics", "configs", "dirs", "server")
        assert show(str(seen.pop("file"))) == seen

    def test_what_is_shown_is_a_cluster_file(self, files: dict[str, str]) -> None:
        """The JSON of `cluster show` reads as a cluster file again."""
        seen = imported(files, "topics", "configs")
        again = Path(seen.pop("file")).with_name("again.json")
        again.write_text(json.dumps(seen))
        assert show(str(again)) == seen

    def test_it_simulates(self, files: dict[str, str]) -> None:
        """A scenario that names it has its brokers, topics, settings and leaders."""
        path = Path(imported(files, "topics", "configs")["file"])
        scenario = path.with_name("s.yaml")
        scenario.write_text("{scenario_id: s, horizon_ms: 100, cluster: {file: mine.yaml}}")
        read = load_scenario(scenario)
        assert read.cluster.brokers == (1, 2, 3)
        assert read.config["replica.lag.time.max.ms"] == 12000
        assert read.topics[0].settings == {"min.insync.replicas": 2}
        assert read.topics[0].leaders == {1: 3}

    def test_some_topics(self, files: dict[str, str], approved: Approved) -> None:
        """`--topics` keeps what a pattern names, every broker, and says how much it left."""
        listed = "".join(
            f"Topic: {name}\tPartitionCount: {count}\tReplicationFactor: 2\tConfigs: \n"
            + "".join(
                f"\tTopic: {name}\tPartition: {n}\tLeader: {1 + n % 3}\tReplicas: {1 + n % 3},"
                f"{1 + (n + 1) % 3}\tIsr: {1 + n % 3},{1 + (n + 1) % 3}\n"
                for n in range(count)
            )
            for name, count in (("orders-eu", 3), ("orders-us", 2), ("metrics", 6))
        )
        Path(files["topics"]).write_text(listed)
        kept = imported(files, "topics", "configs", topics=("orders-*",))
        assert [one["name"] for one in kept["topics"]] == ["orders-eu", "orders-us"]
        assert [one["id"] for one in kept["brokers"]] == [1, 2, 3]
        approved(kept["left_out"][-1])
        hidden = imported(files, "topics", "configs", topics=("orders-*",), anonymous=True)
        assert sum(len(one["partitions"]) for one in hidden["topics"]) == 5
        assert "orders" not in str(hidden)

    def test_a_pattern_that_names_nothing(self, files: dict[str, str]) -> None:
        """The line has the topics that there are."""
        line = refusal(files, "topics", topics=("none-*",))
        assert line.startswith("cluster import: topics: none-*; allowed: what some topic matches: ")

    def test_a_file_that_was_written_by_hand_stays(
        self, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An import writes over an import, over nothing else."""
        folder = Path(files["topics"]).parent
        monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
        (folder / "clusters").mkdir()
        import_cluster([files["topics"]], "mine")
        import_cluster([files["topics"]], "mine", release="4.0")
        assert show("mine")["release"] == "4.0"
        (folder / "clusters" / "hand.yaml").write_text("cluster: {}")
        with pytest.raises(InputError, match="this cluster file was not imported"):
            import_cluster([files["topics"]], "hand")

    def test_what_an_import_replaces_is_said(
        self, files: dict[str, str], monkeypatch: pytest.MonkeyPatch, approved: Approved
    ) -> None:
        """Brokers and partitions of the former cluster, and the experiments that use its name."""
        folder = Path(files["topics"]).parent
        monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
        (folder / "clusters").mkdir()
        (folder / "experiments").mkdir()
        for name, cluster in (("lag", "mine"), ("else", "theirs")):
            (folder / "experiments" / f"{name}.yaml").write_text(f"cluster: {cluster}")
        first = import_cluster([files["topics"]], "mine")
        assert "replaced" not in first
        again = import_cluster([files["topics"]], "mine")
        assert again["replaced"] == {
            "brokers": (1, 2, 3),
            "partitions": 2,
            "features": {},
            "experiments": ("lag",),
        }
        approved([*lines(again, "mine")][-1])

    def test_a_feature_written_by_hand_is_said(
        self, files: dict[str, str], monkeypatch: pytest.MonkeyPatch, approved: Approved
    ) -> None:
        """The next import does not know it, and says how to keep it."""
        folder = Path(files["topics"]).parent
        monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
        (folder / "clusters").mkdir()
        path = Path(import_cluster([files["topics"]], "mine", release="4.1")["file"])
        name = "eligible.leader.replicas.version"
        path.write_text(path.read_text().replace(f"{name}: 1", f"{name}: 0"))
        again = import_cluster([files["topics"]], "mine", release="4.1")
        approved([*lines(again, "mine")][-1])

    def test_hardware_written_by_hand_stays(
        self, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No source tells it: the next import keeps it, with --name and with --out."""
        path = by_hand(files, monkeypatch, f"hardware: {flow(GP3)}")
        for out in (None, path):
            seen = import_cluster([files["topics"]], "mine", out=out)
            assert (seen["hardware"], seen["brokers"][1]["hardware"]) == (GP3, OWN)
            (assumed,) = (one for one in seen["assumed"] if one["what"] == "hardware")
            assert not assumed["value"].keys() & GP3.keys()
            assert show(str(path))["hardware"] == GP3

    def test_hardware_of_a_broker_that_is_gone_is_said(
        self, files: dict[str, str], monkeypatch: pytest.MonkeyPatch, approved: Approved
    ) -> None:
        """It is left out, as nothing runs on it."""
        path = by_hand(files, monkeypatch, f"hardware: {flow(GP3)}")
        gone = f"  - {{id: 9, hardware: {flow(GP3)}}}\n"
        path.write_text(path.read_text().replace("topics:\n", f"{gone}topics:\n", 1))
        approved(import_cluster([files["topics"]], "mine")["left_out"])

    @pytest.mark.parametrize("of_all", ["hardware: {disk_write: 5}", "hardware: {}"])
    def test_hardware_that_cannot_be_used_is_refused(
        self,
        files: dict[str, str],
        monkeypatch: pytest.MonkeyPatch,
        of_all: str,
        approved: Approved,
    ) -> None:
        """In the file that has it, which stays as it is: a field, and dirty bytes of no disk."""
        path = by_hand(files, monkeypatch, of_all)
        before = path.read_text()
        with approved.refusal(InputError, FOLDER=path.parent):
            import_cluster([files["topics"]], "mine")
        assert path.read_text() == before

    def test_the_description_is_shown(self, files: dict[str, str], approved: Approved) -> None:
        """JSON has it as every other field of the file."""
        seen = imported(files, "topics", "dirs")
        assert show(seen["file"])["description"] == seen["description"]
        approved(seen["description"])

    def test_assumed_service_times_are_shown_whole(self, files: dict[str, str]) -> None:
        """Each has a line of its own; none is cut."""
        said = [*lines(imported(files, "topics"), "mine")]
        at = said.index("  service (no source tells service times; these are the simulator's):")
        assert said[at + 1] == "    handler_read_us: 80"
        assert "    network_rtt_ms: 0.5" in said
        assert not any(" ... " in line for line in said)

    def test_one_of_a_kind(self, files: dict[str, str]) -> None:
        """One rack is no racks, one topic no topics."""
        said = [*lines(imported(files, "topics", "server"), "mine")]
        assert (
            "mine: Kafka 3.7, kraft, 3 brokers in 1 rack (2 without one), 1 topic, 2 partitions"
            in said
        )

    def test_secrets(self, files: dict[str, str]) -> None:
        """No password comes into the file or onto the screen."""
        run = CliRunner().invoke(
            app,
            [
                *("cluster", "import", *files.values(), "--name", "mine"),
                *("--out", str(Path(files["topics"]).with_name("mine.yaml")), "--json"),
            ],
        )
        assert run.exit_code == 0
        text = Path(json.loads(run.stdout)["file"]).read_text()
        assert samples.SECRET not in run.stdout + text

    def test_names_that_are_none(self, files: dict[str, str]) -> None:
        """A name may not lead out of the folder."""
        with pytest.raises(InputError, match="allowed: a name of a-z"):
            import_cluster([files["topics"]], "../x")


class TestKeys:
    """What looks like a slip of a person who typed a broker's file."""

    @pytest.mark.parametrize(
        ("pair", "told"),
        [
            ("replica.lag.time.maxms=10000", "replica.lag.time.maxms: no key of Kafka"),
            ("broker.session.timeout.ms=18", "broker.session.timeout.ms=18: "),
        ],
    )
    def test_it_is_told(self, files: dict[str, str], pair: str, told: str) -> None:
        """A mistyped key, and seconds for milliseconds."""
        text = f"node.id=3\nprocess.roles=broker\n{pair}\n"
        Path(files["server"]).write_text(text)
        said = imported(files, "topics", "server")["left_out"]
        assert [one for one in said if str(one).startswith(told)]


class TestEligibleLeaderReplicas:
    """KIP-966: new clusters of 4.1 and later have it, and few sources show it."""

    def test_it_is_assumed_and_how_to_say_off_is_told(
        self, files: dict[str, str], approved: Approved
    ) -> None:
        """The file has it, and the assumption names the line that takes it away."""
        seen = imported(files, "topics", release="4.1")
        assert seen["features"] == {ELR: 1}
        (why,) = (one["why"] for one in seen["assumed"] if one["what"] == f"features.{ELR}")
        approved(why)

    def test_a_listing_that_names_one_proves_it(self, files: dict[str, str]) -> None:
        """The oldest release that has them is assumed, the feature is not."""
        Path(files["topics"]).write_text(samples.NAMES_ELR)
        seen = imported(files, "topics")
        assert (seen["release"], seen["controller"], seen["features"]) == ("4.0", "kraft", {ELR: 1})
        assumed = {one["what"]: one["value"] for one in seen["assumed"]}
        assert assumed["release"] == "4.0"
        assert f"features.{ELR}" not in assumed

    def test_the_column_alone_proves_the_tool(self, files: dict[str, str]) -> None:
        """The oldest release of such a tool, and no feature: both are assumed."""
        Path(files["topics"]).write_text(samples.NEWEST)
        seen = imported(files, "topics")
        assert (seen["release"], seen["controller"]) == ("3.8", "kraft")
        assert ELR not in seen["features"]
        assumed = {one["what"]: one["value"] for one in seen["assumed"]}
        assert (assumed["release"], assumed[f"features.{ELR}"]) == ("3.8", 0)

    def test_a_release_that_has_none(self, files: dict[str, str]) -> None:
        """Brokers of 3.9 cannot have written such a listing."""
        Path(files["topics"]).write_text(samples.NAMES_ELR)
        with pytest.raises(InputError) as caught:
            imported(files, "topics", release="3.9.1")
        assert (caught.value.field, caught.value.given) == (f"features.{ELR}", 1)

    def test_features_that_are_shown_without_it_say_that_it_is_off(self) -> None:
        """A source that shows a cluster's features shows this one where it is on."""
        assumed = Assumptions()
        assert assumed.eligible_leader_replicas("4.1", "kraft", shown=True) == 0
        assert assumed.listed == []

    @pytest.mark.parametrize(("release", "controller"), [("3.9", "kraft"), ("4.1", "zookeeper")])
    def test_what_cannot_have_it_has_no_such_feature(self, release: str, controller: str) -> None:
        """Neither shown nor assumed."""
        for shown in (True, False):
            assert Assumptions().eligible_leader_replicas(release, controller, shown=shown) is None
