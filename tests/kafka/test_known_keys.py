"""All keys of Kafka by name."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.broker_config import KEYS, US_IN_MS, perhaps_seconds
from isr_pipeline.kafka.known_keys import NEAR, NOT_READ, UNKNOWN, known_key, mistyped, unknown
from isr_pipeline.kafka.own_rules import rule_set_of
from tests.tables import from_table

NO_KEYS_OF_BROKERS = {
    "eligible.leader.replicas.version",
    "follower.fetch.pending.reads.insync.enable",
    "follower.fetch.process.time.max.ms",
}
"""A feature, and two proposals."""
OF_CLIENTS = "it stands for the producers' own"
"""A reason why all brokers share a key: no broker has it, or its own means another thing."""


class TestKnown:
    """Which names are Kafka's."""

    def test_every_simulated_key_is_one(self) -> None:
        """The list would be wrong otherwise."""
        of_brokers = {name for name, key in KEYS.items() if key.shared != OF_CLIENTS}
        assert {name for name in of_brokers if known_key(name) is None} == NO_KEYS_OF_BROKERS

    @from_table
    def test_its_releases(self, name: str, releases: list[str]) -> None:
        """From the first release that has it to the last."""
        key = known_key(name)
        assert key is not None
        assert [key.first, key.last] == releases

    @from_table
    def test_its_page(self, name: str, page: str) -> None:
        """That of the last release that has it."""
        key = known_key(name)
        assert key is not None
        assert key.page == f"https://kafka.apache.org/{page}"

    def test_of_one_listener(self) -> None:
        """Its prefix names the listener."""
        key = known_key("listener.name.internal.ssl.keystore.location")
        assert key is not None
        assert key.name == "ssl.keystore.location"


class TestUnknown:
    """What is said of a key that cannot be set."""

    def test_a_key_that_no_rule_reads(self) -> None:
        """It is no mistake in spelling, so no other key is proposed."""
        given, allowed = unknown("log.flush.interval.messages", KEYS, "isr-pipeline keys")
        assert given.startswith(NOT_READ)
        assert not any(name in allowed for name in KEYS)

    @pytest.mark.parametrize(
        ("name", "first"),
        [("replica.lag.time.ms", "replica.lag.time.max.ms"), ("fetchers", "num.replica.fetchers")],
    )
    def test_a_mistyped_one(self, name: str, first: str) -> None:
        """The nearest comes first, and there are few."""
        given, allowed = unknown(name, KEYS, "isr-pipeline keys")
        names = allowed.partition(" (")[0].split(", ")
        assert (given, names[0]) == (UNKNOWN, first)
        assert len(names) <= NEAR

    def test_a_mistyped_one_of_an_import(self) -> None:
        """A key of a plugin, and one of Kafka, are none."""
        assert "replica.lag.time.max.ms" in mistyped("replica.lag.time.maxms")
        assert mistyped("confluent.balancer.enable") == ""
        assert mistyped("log.flush.interval.messages") == ""


class TestSeconds:
    """Seconds that were typed where milliseconds stand."""

    @from_table
    def test_told(self, name: str, value: int, told: int) -> None:
        """Below a hundredth of the default, and a session below the heartbeat."""
        found = list(perhaps_seconds(rule_set_of("3.7-3.9"), "kraft", {name: value}))
        assert len(found) == told
        assert all(line.startswith(f"{name}={value}: ") for line in found)

    def test_no_session_under_zookeeper(self) -> None:
        """Its brokers send no heartbeats."""
        settings = {"broker.session.timeout.ms": US_IN_MS}
        assert list(perhaps_seconds(rule_set_of("3.7-3.9"), "zookeeper", settings)) == []
