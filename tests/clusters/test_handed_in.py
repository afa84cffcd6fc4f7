"""Sources as people hand them in: cut, coloured, filtered, of two clusters, at odds."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import LINE_MAX, InputError
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.clusters.facts import Source
from isr_pipeline.clusters.importing import import_cluster
from isr_pipeline.clusters.recognise import facts_of
from isr_pipeline.clusters.show import lines
from tests.approved import Approved
from tests.clusters import samples
from tests.clusters.reading import facts, refusal

RECORDED = REPOSITORY / "tests" / "recordings" / "import" / "4.3.1"
BROKER = "process.roles=broker\nnode.id={}\n"


def imported(folder: Path, *files: Path, release: str | None = None, **texts: str) -> Any:
    """Import texts, believed in the order of their ranks, and files beside them."""
    for name, text in texts.items():
        (folder / name).write_text(text)
    given = [*map(str, files), *(str(folder / name) for name in texts)]
    return import_cluster(given, "x", out=folder / "x.yaml", release=release)


def assumed(seen: Any) -> dict[str, str]:
    """What was assumed, with the reason."""
    return {one["what"]: one["why"] for one in seen["assumed"]}


class TestWhoDecides:
    """Several sources say something of the same setting."""

    def test_a_controller_says_nothing_of_threads(self, tmp_path: Path) -> None:
        """A controller's file has thread keys of its own; the brokers have the default."""
        brokers = {f"b{n}.properties": BROKER.format(n) for n in (1, 2, 3)}
        controller = (
            "process.roles=controller\nnode.id=100\nnum.io.threads=2\n"
            "min.insync.replicas=2\nbroker.session.timeout.ms=18000\n"
        )
        seen = imported(tmp_path, topics=samples.NEWEST, controller=controller, **brokers)
        assert seen["settings"] == {"broker.session.timeout.ms": 18000}

    def test_a_dynamic_default_outdoes_what_brokers_were_started_with(self, tmp_path: Path) -> None:
        """As Kafka ranks them; the other value is listed."""
        dynamic = (
            "Default configs for brokers in the cluster are:\n"
            "  num.io.threads=16 sensitive=false "
            "synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:num.io.threads=16}\n"
        )
        started = {f"b{n}": BROKER.format(n) + "num.io.threads=8\n" for n in (1, 2, 3)}
        seen = imported(tmp_path, topics=samples.NEWEST, dynamic=dynamic, **started)
        assert seen["settings"]["num.io.threads"] == 16
        assert [broker["settings"] for broker in seen["brokers"]] == [{}] * 3
        assert "brokers.1.settings.num.io.threads: 16 from dynamic" in "\n".join(lines(seen, "x"))

    def test_a_brokers_own_dynamic_value_stays(self, tmp_path: Path) -> None:
        """It stands above the default of all brokers."""
        seen = imported(
            tmp_path,
            topics=samples.NEWEST,
            dynamic=(
                "Default configs for brokers in the cluster are:\n"
                "  num.io.threads=4 sensitive=false "
                "synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:num.io.threads=4}\n"
                "Dynamic configs for broker 2 are:\n"
                "  num.io.threads=16 sensitive=false "
                "synonyms={DYNAMIC_BROKER_CONFIG:num.io.threads=16}\n"
            ),
        )
        own = {broker["id"]: broker["settings"] for broker in seen["brokers"]}
        assert own == {1: {}, 2: {"num.io.threads": 16}, 3: {}}

    def test_not_set_is_said_as_well(self, tmp_path: Path, approved: Approved) -> None:
        """The metadata log has all settings of a topic: what only a tool has is a conflict."""
        own = (
            "Dynamic configs for topic clicks are:\n  min.insync.replicas=2 sensitive=false "
            "synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=2}\n"
        )
        log = sorted(RECORDED.glob("*.checkpoint")) + sorted(RECORDED.glob("*.log"))
        seen = imported(tmp_path, *log, own=own)
        clicks = next(topic for topic in seen["topics"] if topic["name"] == "clicks")
        assert "min.insync.replicas" not in clicks["settings"]
        approved(lines(seen, "x"))

    def test_topics_settings_of_a_listing_are_an_assumption(self, tmp_path: Path) -> None:
        """kafka-topics.sh shows brokers' values in the same place."""
        assert "topics.*.settings" in assumed(imported(tmp_path, topics=samples.NEW))
        told = samples.CONFIGS.partition("Dynamic configs for topic")[1:]
        seen = imported(tmp_path, topics=samples.NEW, configs="".join(told))
        assert "topics.*.settings" not in assumed(seen)


class TestLogDirs:
    """Where replicas lie."""

    def test_one_dir_written_in_two_ways(self, tmp_path: Path) -> None:
        """A slash at the end makes no second disk, in whatever order sources are given."""
        configs = (
            "All configs for broker 1 are:\n  log.dirs=/d/ sensitive=false "
            "synonyms={STATIC_BROKER_CONFIG:log.dirs=/d/}\n"
        )
        dirs = samples.LOG_DIRS.replace('"/d1"', '"/d"').replace('"/d2"', '"/d"')
        seen = imported(tmp_path, configs=configs, topics=samples.NEW, dirs=dirs)
        assert seen["brokers"][0]["log_dirs"] == ["/d"]
        assert seen["conflicts"] == []

    def test_ids_without_paths(self, tmp_path: Path) -> None:
        """The metadata log knows dirs by id; where a broker has paths, such a replica has none."""
        files = [*RECORDED.glob("*.checkpoint"), *RECORDED.glob("*.log")]
        files += RECORDED.glob("server-*.properties")
        seen = imported(tmp_path, *sorted(files))
        dirs = {broker["id"]: broker["log_dirs"] for broker in seen["brokers"]}
        assert all(len(paths) == 2 and paths[0].startswith("/") for paths in dirs.values())
        assert all(
            one is None
            for topic in seen["topics"]
            for partition in topic["partitions"]
            for one in partition["log_dirs"] or ()
        )
        assert any("known by id only" in line for line in seen["left_out"])

    def test_json_over_many_lines(self) -> None:
        """What jq prints is the same answer."""
        import json

        answer = json.loads(samples.LOG_DIRS.splitlines()[-1])
        assert facts(json.dumps(answer, indent=2)).brokers == facts(samples.LOG_DIRS).brokers


class TestProperties:
    """server.properties."""

    def test_escapes(self) -> None:
        """java.util.Properties' escapes are undone."""
        text = BROKER.format(1) + (
            "log.dirs=C\\:\\\\kafka\\\\data\nbroker.rack=eu\\:west\\-1\n"
            "min.insync.replicas=\\u0032\nnum.io.threads=1\\\n  6\n"
        )
        broker = facts(text).brokers[1]
        assert broker.log_dirs == ("C:\\kafka\\data",)
        assert broker.rack == "eu:west-1"
        assert broker.settings == {"min.insync.replicas": "2", "num.io.threads": "16"}

    @pytest.mark.parametrize(
        "value",
        [
            *("${AZ}", "{{ zone }}", "%(zone)s", "$(hostname)", "$AZ", "<%= @rack %>", "@RACK@"),
            *("__RACK__", "<rack>", "%RACK%", "#{rack}"),
        ],
    )
    def test_a_placeholder_is_no_value(self, value: str, approved: Approved) -> None:
        """A template's brokers would all share one rack."""
        found = facts(BROKER.format(1) + f"broker.rack={value}\n")
        assert found.brokers[1].rack is None
        approved(found.left_out)

    @pytest.mark.parametrize("value", ["eu_west__1", "a@b", "50%", "rack-1$", "us-east-1a (use1)"])
    def test_a_name_with_such_signs(self, value: str) -> None:
        """A sign alone makes no placeholder."""
        assert facts(BROKER.format(1) + f"broker.rack={value}\n").brokers[1].rack == value

    @pytest.mark.parametrize(
        ("line", "allowed"),
        [
            ("num.io.threads=sixteen", "num.io.threads with a whole number"),
            ("num.io.threads=", "num.io.threads with a whole number"),
            ("replica.lag.time.max.ms=1.5", "replica.lag.time.max.ms with a whole number"),
            (
                "auto.leader.rebalance.enable=yes",
                "auto.leader.rebalance.enable with true or false",
            ),
        ],
    )
    def test_a_value_that_keeps_a_broker_from_starting(self, line: str, allowed: str) -> None:
        """Kafka's own parser refuses it; so does the import, by file and line."""
        head = BROKER.format(1)
        place = f"F: line {head.count(chr(10)) + 1}"
        assert refusal(f"{head}{line}\n") == f"{place}: {line}; allowed: {allowed}"

    @pytest.mark.parametrize("value", ["${THREADS}", "+16", "99999"])
    def test_a_value_that_kafka_reads_is_no_mistake(self, value: str) -> None:
        """A placeholder, a sign, and more than the simulator takes."""
        assert facts(f"{BROKER.format(1)}num.io.threads={value}\n")

    def test_of_a_broker_that_is_not_registered(self, tmp_path: Path) -> None:
        """The metadata log names every broker; another one beside its brokers' files is said."""
        log = sorted(RECORDED.glob("*.checkpoint")) + sorted(RECORDED.glob("*.log"))
        ours = {"one": BROKER.format(1), "two": BROKER.format(2)}
        seen = imported(tmp_path, *log, **ours, more=BROKER.format(77))
        assert any(
            line.startswith("broker 77 is named by other sources") for line in seen["left_out"]
        )


class TestCutOff:
    """What a person did not copy whole."""

    def test_a_last_isr(self) -> None:
        """A listing whose last line has no end may have lost a replica of its ISR."""
        whole = samples.NEW
        assert "F: line 3: a last line without its end" in refusal(whole[:-3])
        assert facts(whole.replace("Isr: 3,1", "Isr: 2,3,1")[:-1]), "a whole ISR cannot be cut"

    def test_a_last_line_of_3_8_and_later(self) -> None:
        """There the fields behind the ISR say that it is whole."""
        assert "a last line without its end" in refusal(samples.NEWEST.rstrip("\n")[:-14])
        assert facts(samples.NEWEST[:-1])

    def test_settings_of_a_broker(self, approved: Approved) -> None:
        """--all prints every key: a listing without some of them is said."""
        text = (RECORDED / "configs-broker-2.txt").read_text()
        assert facts(text).left_out == []
        cut = facts("".join(text.splitlines(keepends=True)[:15]))
        approved(cut.left_out)

    def test_a_dump(self) -> None:
        """The last batch of a dump says how many records belong to it."""
        text = (RECORDED / "metadata-log.txt").read_text().splitlines(keepends=True)
        batch = max(
            n for n, line in enumerate(text) if "baseOffset" in line and "count: 1 " not in line
        )
        assert "a batch without its last" in refusal("".join(text[: batch + 2]))

    def test_a_damaged_batch(self) -> None:
        """The tool says that a checksum is wrong."""
        text = (
            (RECORDED / "metadata-log.txt")
            .read_text()
            .replace("isvalid: true", "isvalid: false", 1)
        )
        assert "a batch whose checksum is wrong" in refusal(text)

    def test_a_record_that_the_tool_could_not_decode(self) -> None:
        """An older tool knows fewer records; the line says what helps."""
        line = "| offset: 0 CreateTime: 1 keySize: -1 valueSize: 5 sequence: -1 headerKeys: [] "
        text = (
            "Dumping x\nStarting offset: 0\n"
            "baseOffset: 0 lastOffset: 0 count: 1 isvalid: true\n"
            f"{line}payload: Error at 0, skipping. java.lang.RuntimeException\n"
        )
        assert "allowed: a dump by the tool of the brokers' own release" in refusal(text)

    def test_gzip(self) -> None:
        """A packed file is named as one."""
        with pytest.raises(InputError, match="a gzip file; allowed: the same file unpacked"):
            facts_of([Source("F", gzip.compress(samples.NEW.encode()))])


class TestAround:
    """What stands around a tool's own lines."""

    @pytest.mark.parametrize(
        "line",
        [
            "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.",
            "Use --bootstrap-server instead to specify a broker to connect to.",
            "[kafka@b1 ~]$ bin/kafka-topics.sh --describe",
            "kafka@b1:~$ bin/kafka-topics.sh --describe",
            'Defaulted container "kafka" out of: kafka, init (init)',
            "If you don't see a command prompt, try pressing enter.",
            'pod "client" deleted',
        ],
    )
    def test_lines_that_are_passed_over(self, line: str) -> None:
        """Shells, kubectl and the tool itself print them."""
        assert facts(f"{line}\n{samples.NEW}").topics == facts(samples.NEW).topics

    def test_colours(self) -> None:
        """Grep marks what it found."""
        text = samples.NEW.replace("orders", "\x1b[01;31m\x1b[Korders\x1b[m\x1b[K")
        assert facts(text).topics == facts(samples.NEW).topics

    def test_utf_16(self, tmp_path: Path) -> None:
        """Windows' shell writes it."""
        (tmp_path / "topics.txt").write_bytes(samples.NEW.encode("utf-16"))
        seen = imported(tmp_path, tmp_path / "topics.txt")
        assert [topic["name"] for topic in seen["topics"]] == ["orders"]

    def test_defaults_of_releases_up_to_2_4(self) -> None:
        """The tool writes the default of all brokers on one line."""
        found = facts("Configs for default brokers are num.io.threads=16\n")
        assert found.settings == {"num.io.threads": "16"}

    def test_quotas(self) -> None:
        """Entities that no cluster file has do not matter."""
        text = "Quota configs for client-id 'x' are producer_byte_rate=1\n" + samples.CONFIGS
        assert facts(text).settings == facts(samples.CONFIGS).settings

    def test_blank_lines_cost_nothing(self) -> None:
        """A text of mere ends of lines is refused at once."""
        assert "none of the known sources" in refusal("\n" * 200_000 + "x")


class TestReleases:
    """Which release a source looks like."""

    def test_zookeeper_ended_with_3_9(self, tmp_path: Path, approved: Approved) -> None:
        """An eligible leader, which no broker under ZooKeeper has, is of another cluster."""
        zookeeper = "broker.id=1\nzookeeper.connect=zk:2181\n"
        with approved.refusal(InputError):
            imported(tmp_path, topics=samples.NAMES_ELR, server=zookeeper)

    def test_a_log_of_3_0_to_3_2(self) -> None:
        """It has no metadata.version."""
        text = (
            "Dumping 00000000000000000000.log\nStarting offset: 0\n"
            "baseOffset: 0 lastOffset: 0 count: 1 isvalid: true\n"
            "| offset: 0 CreateTime: 1 keySize: -1 valueSize: 9 sequence: -1 headerKeys: [] "
            'payload: {"type":"REGISTER_BROKER_RECORD","version":0,"data":{"brokerId":1}}\n'
        )
        hint = facts(text).release_hint
        assert hint is not None
        assert hint[0] == "3.2"

    def test_a_setting_that_is_a_number(self) -> None:
        """A dump's values are texts; a number is read as one."""
        text = (RECORDED / "metadata-log.txt").read_text()
        topic = facts(text).topics["orders"].settings
        changed = facts(text.replace('"value":"2"', '"value":2')).topics["orders"].settings
        assert changed == topic


class TestStrimzi:
    """Strimzi's resources."""

    MIGRATED = samples.STRIMZI.replace(
        "    spec:\n      kafka:",
        "    status: {STATE}\n    spec:\n      zookeeper: {replicas: 3}\n      kafka:",
    )

    @pytest.mark.parametrize(
        ("noted", "controller"),
        [
            ("kafkaMetadataState: ZooKeeper", "zookeeper"),
            ("kafkaMetadataState: KRaftMigration", "zookeeper"),
            ("kafkaMetadataState: KRaftDualWriting", "kraft"),
            ("kafkaMetadataState: KRaft", "kraft"),
            ("", "zookeeper"),
        ],
    )
    def test_node_pools_do_not_make_it_kraft(self, noted: str, controller: str) -> None:
        """Under ZooKeeper there are node pools too; a migration's state decides."""
        assert facts(self.MIGRATED.replace("STATE", noted)).controller == controller

    def test_a_migration_is_told(self, approved: Approved) -> None:
        """Nobody else says that it is going on."""
        approved(
            facts(self.MIGRATED.replace("STATE", "kafkaMetadataState: KRaftMigration")).left_out
        )

    def test_the_annotation(self) -> None:
        """Older resource definitions asked for a ZooKeeper section, used or not."""
        text = self.MIGRATED.replace("STATE", "").replace(
            "metadata: {name: ours}",
            "metadata: {name: ours, annotations: {strimzi.io/kraft: enabled}}",
        )
        assert facts(text).controller == "kraft"

    def test_another_clusters_resources(self, approved: Approved) -> None:
        """A label says which cluster a pool or a topic is of."""
        text = samples.STRIMZI.replace(
            "metadata: {name: orders}",
            "metadata: {name: orders, labels: {strimzi.io/cluster: theirs}}",
        )
        found = facts(text)
        assert found.topics == {}
        approved(found.left_out)

    def test_roles(self) -> None:
        """Roles are a list."""
        text = samples.STRIMZI.replace("roles: [broker]", "roles: 5")
        assert "F: KafkaNodePool.spec.roles: 5; allowed: a list of roles" in refusal(text)


def test_partitions_without_a_rate(tmp_path: Path, approved: Approved) -> None:
    """Cruise Control gave the rate of one partition of two: the other is idle, and it is said."""
    seen = imported(tmp_path, state=samples.CRUISE_CONTROL, load=samples.PARTITION_LOAD)
    approved(list(assumed(seen).values()))


def test_only_kafkas_own_topics_keep_their_names(tmp_path: Path) -> None:
    """Two underscores alone do not make a topic everybody's."""
    (tmp_path / "topics").write_text(samples.NEW.replace("orders", "__acme_payments"))
    seen = import_cluster([str(tmp_path / "topics")], "x", out=tmp_path / "x.yaml", anonymous=True)
    assert "acme" not in repr(seen["topics"])
    assert seen["topics"][0]["partitions"][0]["records_per_s"] == 10


class TestPlaces:
    """Where an import is written, and what error lines show."""

    def test_a_source_is_not_overwritten(self, tmp_path: Path) -> None:
        """--out may not be what is imported."""
        (tmp_path / "topics").write_text(samples.NEW)
        source = str(tmp_path / "topics")
        with pytest.raises(InputError, match="another file than the sources"):
            import_cluster([source], "x", out=tmp_path / "topics")
        assert (tmp_path / "topics").read_text() == samples.NEW

    def test_a_file_that_is_named_is_replaced(self, tmp_path: Path) -> None:
        """Who says --out means that file, as with any program."""
        (tmp_path / "old.yaml").write_text("mine")
        (tmp_path / "topics").write_text(samples.NEW)
        import_cluster([str(tmp_path / "topics")], "x", out=tmp_path / "old.yaml")
        assert "values_from" in (tmp_path / "old.yaml").read_text()

    @pytest.mark.parametrize(
        "source",
        [
            "SASL_SSL://alice:hunter2@b1:9092",
            "kafka://b1:9092?sasl.password=hunter2",
            "kafka://alice:hunter2",
            "kafka://alice:hunter2@b1:9092",
        ],
    )
    def test_an_address_with_a_secret_is_not_shown(self, source: str) -> None:
        """Whatever is wrong with it."""
        with pytest.raises(InputError) as caught:
            import_cluster([source], "x", out=Path("x.yaml"))
        assert samples.SECRET not in str(caught.value)
        assert "not shown" in str(caught.value)

    def test_a_name_with_escapes(self, tmp_path: Path) -> None:
        """A file's name cannot colour the terminal."""
        (tmp_path / "a\x1b[31m.txt").write_text("hello\n")
        with pytest.raises(InputError) as caught:
            import_cluster([str(tmp_path / "a\x1b[31m.txt")], "x", out=tmp_path / "x.yaml")
        assert "\x1b" not in str(caught.value)


def test_what_no_cluster_file_can_have_names_its_sources(tmp_path: Path) -> None:
    """Not the file that would have been written."""
    with pytest.raises(InputError, match=r"^topics \+ server: brokers\[0\]\.log_dirs") as refused:
        imported(tmp_path, topics=samples.NEW, server=f"broker.id=1\nlog.dirs=/{'x' * 2000}\n")
    assert not (tmp_path / "x.yaml").exists()
    assert {one.where for one in refused.value.each} == {"topics + server"}
    assert all(len(line) <= LINE_MAX for line in str(refused.value).splitlines())


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ("7.6.0", "3.6"),
        ("7.6", "3.6"),
        ("6.2.1", "2.8"),
        ("5.5.0", "2.5"),
        ("8.0.0", "4.0"),
        ("v3.7.0", "3.7.0"),
        ("2.0.0.3.1.4.0-315", "2.0.0"),
    ],
)
def test_a_distributions_number_is_told_in_kafkas(tmp_path: Path, given: str, own: str) -> None:
    """Confluent's, HDP's, a tag's."""
    with pytest.raises(InputError, match=rf"--release: .*; Kafka's own number is {own}$"):
        imported(tmp_path, topics=samples.NEW, release=given)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Metadata for all topics (from broker 1: k1:9092/1):\n 3 brokers:\n", "kcat -L"),
        ('{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}', "assignment"),
        ("akhq:\n  connections:\n    k:\n", "AKHQ"),
        ("KAFKA_NODE_ID=1\nKAFKA_PROCESS_ROLES=broker\n", "environment of containers"),
        ("services:\n  k:\n    environment:\n      KAFKA_BROKER_ID: 1\n", "environment of contain"),
        ("kind: ConfigMap\ndata:\n  server.properties: |\n    broker.id=1\n", "ConfigMap"),
        ("apiVersion: platform.confluent.io/v1beta1\nkind: Kafka\n", "Confluent for Kubernetes"),
        ('resource "kafka_topic" "t" {\n  partitions = 3\n}\n', "Terraform"),
        ("listeners:\n  client:\n    name: CLIENT\n", "YAML of another program"),
        ("{}", "JSON of another program"),
        ('{"progress":[{"operation":"Load"}]}', "Cruise Control at work"),
        ("HOST  BROKER  RACK  DISK(MB)\nk1  1  r1  3.0\n", "Cruise Control's text"),
        ("bootstrap.servers=k1:9092\nlisteners=http://:8083\n", "Kafka Connect"),
        ("k | All configs for broker 1 are:\nk |   a=b sensitive=false\n", "before each line"),
        ('{"ServerProperties": "YXV0bw=="}', "base64"),
    ],
)
def test_what_is_not_read_is_told_by_its_name(text: str, words: str) -> None:
    """With its line, and what gives the same."""
    line = refusal(text)
    assert re.match(r"F: line \d+: .*none of the known sources; allowed: ", line)
    assert words in line
