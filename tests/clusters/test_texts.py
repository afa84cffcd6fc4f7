"""The listings of Kafka's tools, release by release, and what of them is refused."""

from __future__ import annotations

import pytest

from tests.approved import Approved
from tests.clusters import samples
from tests.clusters.reading import facts, refusal


class TestTopics:
    """kafka-topics.sh --describe."""

    @pytest.mark.parametrize("release", samples.TOPICS)
    def test_every_release_says_the_same(self, release: str) -> None:
        """Replicas, leader, ISR and settings come out of each release's way of writing."""
        topic = facts(samples.TOPICS[release]).topics["orders"]
        assert topic.settings == {"min.insync.replicas": "2"}
        assert [(p.replicas, p.leader, p.isr) for p in topic.partitions.values()] == [
            ((1, 2, 3), 1, (1, 2, 3)),
            ((2, 3, 1), 3, (3, 1)),
        ]

    @pytest.mark.parametrize("release", samples.TOPICS)
    def test_the_way_of_writing_tells_the_release_about(self, release: str) -> None:
        """A release that writes so is the hint: with a column for eligible leaders the oldest."""
        hint = facts(samples.TOPICS[release]).release_hint
        assert hint is not None
        assert hint[0] == release

    def test_no_leader(self) -> None:
        """``none`` and -1 are both no leader, and an ISR may be empty."""
        for word in ("none", "-1"):
            text = samples.OLD.replace("Leader: 3", f"Leader: {word}").replace("Isr: 3,1", "Isr: ")
            partition = facts(text).topics["orders"].partitions[1]
            assert (partition.leader, partition.isr) == (-1, ())

    def test_values_with_commas(self) -> None:
        """A setting's value may be a list."""
        text = samples.OLD.replace("=2\n", "=2,cleanup.policy=compact,delete\n")
        assert facts(text).topics["orders"].settings["cleanup.policy"] == "compact,delete"

    @pytest.mark.parametrize("release", samples.TOPICS)
    def test_copied_from_a_terminal(self, release: str) -> None:
        """Tabs that became blanks, and ends of lines as Windows has them, do not matter."""
        text = samples.TOPICS[release]
        assert facts(text.expandtabs().replace("\n", "\r\n")) == facts(text)

    def test_a_reassignment_is_said(self, approved: Approved) -> None:
        """Replicas that come and go are left out, and that is said."""
        text = samples.NEW.replace("Isr: 3,1", "Isr: 3,1\tAdding Replicas: 1\tRemoving Replicas: ")
        approved(facts(text).left_out)

    def test_lines_of_java_and_of_a_shell_are_passed_over(self) -> None:
        """What stands beside the listing does not matter."""
        text = "$ bin/kafka-topics.sh --describe\n[2026-11-23 10:00:00,000] WARN x (y)\n\n"
        assert len(facts(text + samples.OLD).topics["orders"].partitions) == 2

    @pytest.mark.parametrize(
        ("old", "new", "line"),
        [
            (
                samples.OLD.splitlines()[0] + "\n",
                "",
                (
                    "F: line 1: partitions of orders without a header; allowed: a header line "
                    "before them: this lists some partitions only"
                ),
            ),
            (
                samples.OLD.splitlines()[2] + "\n",
                "",
                (
                    "F: line 1: 1 of 2 partitions of orders; allowed: all of them: the listing is "
                    "cut off"
                ),
            ),
            (
                "\tReplicas: 2,3,1\tIsr: 3,1",
                "\tRepl",
                "F: line 3: no Replicas; allowed: Partition, Leader, Replicas, Isr: a whole line",
            ),
            ("Isr: 3,1", "Isr: 3,9", "F: line 3: broker 9; allowed: a replica (2,3,1)"),
            ("2,3,1", "2,2,1", "F: line 3: 2,2,1; allowed: each broker once"),
            ("2,3,1", "2,x,1", "F: line 3: x; allowed: the id of a broker (0..2147483647)"),
            ("Partition: 1", "Partition: 0", "F: line 3: orders-0; allowed: each partition once"),
            (
                "\tTopic: orders\tPartition: 1",
                "\tTopic: ../x\tPartition: 1",
                "F: line 3: ../x; allowed: a topic name (letters, digits, . _ -; at most 249)",
            ),
            (
                "PartitionCount:2",
                "PartitionCount:99999999999",
                "F: line 1: 99999999999; allowed: a PartitionCount 1..1000000",
            ),
        ],
    )
    def test_what_is_refused(self, old: str, new: str, line: str) -> None:
        """One line names the place, what stands there and what may."""
        assert samples.OLD.count(old) == 1
        assert refusal(samples.OLD.replace(old, new)) == line

    def test_something_else_between_the_lines(self) -> None:
        """A line of another program is not passed over."""
        assert refusal(samples.OLD + "Error while executing topic command : x\n").startswith(
            "F: line 4: Error while executing topic command : x; allowed: lines of kafka-topics"
        )


class TestConfigs:
    """kafka-configs.sh --describe."""

    def test_where_a_value_comes_from_decides(self) -> None:
        """Defaults are not kept; cluster-wide values are not a broker's own."""
        found = facts(samples.CONFIGS)
        assert found.settings == {"unclean.leader.election.enable": "true"}
        assert found.brokers[1].settings == {"replica.lag.time.max.ms": "12000"}
        assert found.brokers[2].settings == {
            "replica.lag.time.max.ms": "12000",
            "num.io.threads": "16",
        }
        assert found.topics["orders"].settings == {"min.insync.replicas": "2"}

    def test_what_a_broker_is(self) -> None:
        """Rack, log dirs, controller and release stand among the settings."""
        found = facts(samples.CONFIGS)
        assert (found.brokers[1].rack, found.brokers[1].log_dirs) == ("a", ("/d1", "/d2"))
        assert (found.controller, found.release) == ("kraft", "3.9")

    def test_the_headings_of_releases_up_to_2_4(self) -> None:
        """They do not say whether it is all of them, so it is what was set."""
        text = samples.CONFIGS.replace("All configs for broker 1", "Configs for brokers 1")
        found = facts(text)
        assert found.brokers[1].settings == {"replica.lag.time.max.ms": "12000"}
        assert not found.brokers[1].settings_whole

    def test_the_line_of_releases_up_to_2_4(self) -> None:
        """All entries of an entity stand in one line."""
        text = (
            "Configs for topic 'orders' are min.insync.replicas=2,cleanup.policy=compact,delete\n"
        )
        assert facts(text).topics["orders"].settings == {
            "min.insync.replicas": "2",
            "cleanup.policy": "compact,delete",
        }

    def test_an_entry_without_a_heading(self) -> None:
        """An entry has to belong to somebody."""
        text = "\n".join(samples.CONFIGS.splitlines()[1:3]) + "\n" + samples.CONFIGS
        assert refusal(text).endswith("allowed: a heading before the first entry")

    def test_a_line_cut_off(self) -> None:
        """Half an entry is refused, and a secret in it is not shown."""
        text = samples.CONFIGS + "  ssl.key.password=hunter2 sensi"
        assert refusal(text) == (
            "F: line 18: a text that may hold a secret, which is not shown; allowed: lines of "
            "kafka-configs.sh --describe, a heading and its entries for each entity"
        )


class TestLogDirs:
    """kafka-log-dirs.sh --describe."""

    def test_each_replica_lies_somewhere(self) -> None:
        """Placement by broker, and the broker's log dirs."""
        found = facts(samples.LOG_DIRS)
        assert found.brokers[1].log_dirs == ("/d1", "/d2")
        partitions = found.topics["orders"].partitions
        assert [p.log_dirs for p in partitions.values()] == [{1: "/d1"}, {1: "/d2"}]

    def test_json_cut_off(self) -> None:
        """A line that ends early is no line of JSON."""
        assert refusal(samples.LOG_DIRS[:-20]).startswith("F: line 3: no JSON at column ")

    def test_a_move_is_said(self, approved: Approved) -> None:
        """A future replica is no replica yet."""
        text = samples.LOG_DIRS.replace('"isFuture": false', '"isFuture": true', 1)
        found = facts(text)
        approved(found.left_out)
        assert found.topics["orders"].partitions.keys() == {1}

    def test_nothing_but_prose(self) -> None:
        """Brokers that did not answer leave no line of JSON."""
        text = "Querying brokers for log directories information\n"
        assert refusal(text).startswith("F: no line of JSON; allowed: ")


class TestProperties:
    """server.properties."""

    def test_what_a_broker_was_started_with(self) -> None:
        """Id, rack, log dirs (continued lines too), controller and settings."""
        found = facts(samples.PROPERTIES)
        broker = found.brokers[3]
        assert (broker.rack, broker.log_dirs) == ("c", ("/d3", "/d4"))
        assert broker.settings == {"replica.lag.time.max.ms": "15000"}
        assert found.controller == "zookeeper"

    def test_a_damaged_first_line_is_no_shells(self) -> None:
        """A shell's line is skipped; what looks like a pair is not."""
        assert facts("sh-4.2$ cat a\n" + samples.PROPERTIES).brokers.keys() == {3}
        assert refusal("~broker.id=3\nlog.dirs=/d\n").startswith("F: line 1: ~broker.id=3;")

    @pytest.mark.parametrize("value", ["", "broker.id=-1\n"])
    def test_a_file_without_an_id_is_every_brokers(self, value: str) -> None:
        """As on MSK and HDP, where something else gives each broker its id."""
        found = facts(samples.PROPERTIES.replace("broker.id=3\n", value))
        assert (found.brokers, found.settings) == ({}, {})
        assert found.started_with == {"replica.lag.time.max.ms": ["15000"]}

    def test_a_controllers_file_is_the_clusters(self) -> None:
        """Session times are read by controllers."""
        text = "process.roles=controller\nnode.id=100\nbroker.session.timeout.ms=18000\n"
        found = facts(text)
        assert (found.settings, found.brokers) == ({"broker.session.timeout.ms": "18000"}, {})


def test_secrets_are_not_kept() -> None:
    """Neither texts nor errors know a password."""
    for text in (samples.CONFIGS, samples.PROPERTIES):
        assert samples.SECRET not in repr(facts(text))


@pytest.mark.parametrize("text", ["", " \n", "hello\n", "\x00\x01"])
def test_something_else(text: str) -> None:
    """A file of no known kind is refused with the list of kinds."""
    assert (
        "allowed: kafka-dump-log.sh --cluster-metadata-decoder, kafka-topics.sh --describe"
        in refusal(text)
    )
