"""Whether followers have a listener of their own: what an import makes of brokers' listeners."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.clusters.facts import Source
from isr_pipeline.clusters.importing import import_cluster
from isr_pipeline.clusters.listeners import replication_listeners
from isr_pipeline.clusters.recognise import facts_of
from tests.approved import Approved
from tests.clusters import samples
from tests.clusters.reading import Seen, facts, refusal

RECORDINGS = REPOSITORY / "tests" / "recordings" / "import"
TWO = "listeners=IN://:9091,OUT://:9092\n"
IN = "inter.broker.listener.name=IN\n"
KRAFT = "process.roles=broker,controller\n"
OF_CONTROLLERS = "controller.listener.names=CONTROLLER\n"
THREE = "listeners=IN://:9091,OUT://:9092,CONTROLLER://:9093\n"
ENTRY = "  {}={} sensitive=false synonyms={{}}\n"


def said(text: str) -> list[bool]:
    """What a source says of the replication listener; nothing if it does not."""
    return list(replication_listeners(facts(text)))


def imported(folder: Path, sources: Mapping[str, str]) -> Seen:
    """Import texts beside a listing of topics."""
    for name, text in {"topics": samples.NEW, **sources}.items():
        (folder / name).write_text(text)
    files = [str(folder / name) for name in ("topics", *sources)]
    return Seen(import_cluster(files, "x", out=folder / "x.yaml"))


def broker(number: int, *listeners: str) -> str:
    """Write the server.properties of a broker under ZooKeeper."""
    return f"broker.id={number}\nzookeeper.connect=zk:2181\n{''.join(listeners)}"


class TestOneBroker:
    """The listeners of a broker, in its server.properties."""

    @pytest.mark.parametrize(
        ("listeners", "own"),
        [
            (TWO + IN, True),
            (TWO + "inter.broker.listener.name=in\n", True),
            ("listeners=PLAINTEXT://:9092\n", False),
            ("listeners=SSL://:9091,SASL_SSL://:9092\nsecurity.inter.broker.protocol=SSL\n", True),
            ("listeners=PLAINTEXT://:9091,SSL://:9092\n", True),
            ("listeners=SSL://:9092\nsecurity.inter.broker.protocol=SSL\n", False),
            (TWO + IN + "advertised.listeners=IN://a:1,OUT://a:2\n", True),
            (TWO + IN + "advertised.listeners=IN://a:1\n", False),
            (TWO + IN + "control.plane.listener.name=OUT\n", False),
            (TWO.replace("//:", "//{{ host }}:") + IN, True),
        ],
    )
    def test_under_zookeeper(self, listeners: str, own: bool) -> None:
        """Clients have one that inter-broker traffic does not use."""
        assert said(broker(1, listeners)) == [own]

    @pytest.mark.parametrize(
        ("listeners", "own"),
        [
            (THREE + IN, True),
            (THREE.replace("OUT://:9092,", "") + IN, False),
        ],
    )
    def test_a_controllers_listener_is_no_clients(self, listeners: str, own: bool) -> None:
        """controller.listener.names does not count."""
        assert said(f"{KRAFT}node.id=1\n{OF_CONTROLLERS}{listeners}") == [own]

    @pytest.mark.parametrize(
        "listeners",
        [
            "",
            IN,
            TWO,
            "listeners=OUT://:9092\n" + IN,
            TWO + IN + "advertised.listeners=IN://a:1,ELSE://a:2\n",
            "listeners=IN://:9091,OU\n" + IN,
            "listeners=${LISTENERS}\n" + IN,
            TWO + "inter.broker.listener.name=${IN}\n",
        ],
    )
    def test_what_no_broker_would_start_with_says_nothing(self, listeners: str) -> None:
        """A text without its rest, or with placeholders."""
        assert said(broker(1, listeners)) == []

    def test_kraft_without_the_name_of_controllers_listener(self) -> None:
        """Which of them is the controllers' is not said."""
        assert said(f"{KRAFT}node.id=1\n{THREE}{IN}") == []

    def test_a_placeholder_is_told(self, approved: Approved) -> None:
        """As of every key that is read."""
        names = "controller.listener.names={{ names }}\n"
        found = facts(f"{KRAFT}node.id=1\n{names}{THREE}{IN}")
        assert list(replication_listeners(found)) == []
        approved(found.left_out)

    def test_two_in_a_line_are_refused_without_their_addresses(self) -> None:
        """A paste has lost the ends of its lines."""
        line = "listeners=IN://inner.example:9091 num.network.threads=8\n"
        head = broker(1)
        place = f"F: line {head.count(chr(10)) + 1}"
        allowed = "one KEY=VALUE a line"
        assert refusal(head + line) == f"{place}: listeners and more; allowed: {allowed}"

    def test_a_controller_is_no_broker(self) -> None:
        """Its own listeners say nothing of brokers."""
        assert said(f"process.roles=controller\nnode.id=9\n{OF_CONTROLLERS}{TWO}{IN}") == []


class TestSources:
    """Whatever carries brokers' listeners."""

    @pytest.mark.parametrize(
        "recording",
        [
            "2.7.2/configs-broker-2.txt",
            "2.7.2/server-1.properties",
            "4.3.1/configs-broker-2.txt",
            "4.3.1/server-1.properties",
            "4.3.1/00000000000000000205-0000000001.checkpoint",
        ],
    )
    def test_real_brokers(self, recording: str) -> None:
        """They had INTERNAL for themselves, and CLIENT; in the log they register with both."""
        [found] = facts_of([Source(Path(recording).name, (RECORDINGS / recording).read_bytes())])
        assert list(replication_listeners(found)) == [True]

    def test_null_is_nothing(self) -> None:
        """kafka-configs.sh prints keys that nobody sets, too."""
        pairs = {
            "listeners": "IN://:9091,OUT://:9092",
            "advertised.listeners": "null",
            "inter.broker.listener.name": "IN",
            "security.inter.broker.protocol": "PLAINTEXT",
            "control.plane.listener.name": "null",
        }
        entries = "".join(ENTRY.format(*pair) for pair in pairs.items())
        assert said(f"All configs for broker 1 are:\n{entries}") == [True]

    def test_a_brokers_own_log(self) -> None:
        """From 4.0 on it prints lists in brackets."""
        values = "\tlisteners = [IN://:9091, OUT://:9092]\n\tinter.broker.listener.name = IN\n"
        head = "INFO KafkaConfig values: \n\tbroker.id = 1\n\tzookeeper.connect = zk:2181\n"
        assert said(head + values) == [True]

    def test_a_file_without_an_id(self) -> None:
        """What every broker was started with."""
        assert said("zookeeper.connect=zk:2181\n" + TWO + IN) == [True]

    def test_strimzi(self) -> None:
        """The operator gives brokers a listener of their own, on port 9091."""
        assert said(samples.STRIMZI) == [True]


class TestMerged:
    """Several sources, and none that says it."""

    def test_it_is_in_the_file(self, tmp_path: Path, approved: Approved) -> None:
        """With its source."""
        seen = imported(tmp_path, {f"b{n}": broker(n, TWO, IN) for n in (1, 2, 3)})
        assert seen.cluster["replication_listener"] is True
        assert seen.cluster["values_from"]["replication_listener"] == "b1 (server.properties)"
        approved([line for line in seen.printed.splitlines() if "listener" in line])

    def test_nobody_says_it(self, tmp_path: Path) -> None:
        """False is assumed."""
        seen = imported(tmp_path, {f"b{n}": broker(n) for n in (1, 2, 3)})
        assumed = {one["what"]: one["value"] for one in seen.cluster["assumed"]}
        assert seen.cluster["replication_listener"] is assumed["replication_listener"] is False

    def test_brokers_that_differ(self, tmp_path: Path) -> None:
        """False, and the other is listed as a conflict."""
        shared = broker(3, "listeners=PLAINTEXT://:9092\n")
        seen = imported(tmp_path, {"b1": broker(1, TWO, IN), "b3": shared})
        [conflict] = seen.cluster["conflicts"]
        assert seen.cluster["replication_listener"] is False
        assert (conflict["from"], conflict["other_from"]) == (
            "b3 (server.properties)",
            "b1 (server.properties)",
        )

    def test_a_tool_is_believed_before_a_file(self, tmp_path: Path) -> None:
        """Listeners may have been changed since the start."""
        pairs = (("listeners", "IN://:9091,OUT://:9092"), ("inter.broker.listener.name", "IN"))
        now = "All configs for broker 1 are:\n" + "".join(ENTRY.format(*pair) for pair in pairs)
        started = broker(1, "listeners=PLAINTEXT://:9092\n")
        seen = imported(tmp_path, {"started": started, "now": now})
        assert seen.cluster["replication_listener"] is True
