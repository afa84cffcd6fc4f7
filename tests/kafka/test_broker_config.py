"""Kafka's keys: types, ranges, defaults by rule set."""

import pytest

from isr_pipeline.kafka.broker_config import (
    BOUNDS,
    KEYS,
    Bound,
    ConfigKeyError,
    out_of_bounds,
    resolve,
)
from isr_pipeline.kafka.releases import RELEASES, RULE_SETS
from tests.tables import from_table


class TestDefaults:
    """Defaults that changed."""

    @pytest.mark.parametrize(
        ("key", "old", "new", "since"),
        [
            ("replica.lag.time.max.ms", 10000, 30000, "2.7-3.2"),
            ("zookeeper.session.timeout.ms", 6000, 18000, "2.7-3.2"),
            ("unclean.leader.election.enable", True, False, "2.1-2.6"),
        ],
    )
    def test_changed(self, key: str, old: object, new: object, since: str) -> None:
        """Each rule set has the default of the release it stands for."""
        first = RELEASES.index(since)
        found = [resolve(release, {})[key] for release in RELEASES]
        assert found == [old] * first + [new] * (len(RELEASES) - first)

    def test_every_key_is_resolved(self) -> None:
        """Every key has a value in every rule set, of its own type and within its range."""
        for release in RELEASES:
            values = resolve(release, {})
            assert set(values) == set(KEYS)
            assert all(KEYS[name].check(value) == value for name, value in values.items())

    def test_given_value_wins(self) -> None:
        """What is given stands, in the key's own type."""
        found = resolve("3.7-3.9", {"num.io.threads": 4.0})["num.io.threads"]
        assert (found, type(found)) == (4, int)


class TestRefused:
    """What a key does not take."""

    @from_table
    def test_value(self, name: str, value: bool | int, allowed: str) -> None:
        """A wrong type or a value out of range, with what is allowed."""
        with pytest.raises(ConfigKeyError) as caught:
            resolve("3.7-3.9", {name: value})
        assert caught.value.allowed == allowed

    def test_unknown_key(self) -> None:
        """An unknown key, with close ones."""
        with pytest.raises(ConfigKeyError) as caught:
            resolve("3.7-3.9", {"num.io.thread": 3})
        assert caught.value.allowed == "num.io.threads, num.network.threads"

    def test_unknown_release(self) -> None:
        """An unknown release, with all if none is close."""
        with pytest.raises(ConfigKeyError) as caught:
            resolve("5.0", {})
        assert caught.value.allowed == ", ".join(RELEASES)


class TestBounds:
    """Keys that a broker checks together."""

    @pytest.mark.parametrize("bound", BOUNDS, ids=lambda one: one.low)
    def test_of_one_unit(self, bound: Bound) -> None:
        """Both keys are there, and are compared as they are written."""
        assert KEYS[bound.low].unit_us == KEYS[bound.high].unit_us

    @pytest.mark.parametrize("release", RELEASES)
    def test_defaults_start(self, release: str) -> None:
        """Every release starts with its own defaults."""
        assert [*out_of_bounds(RULE_SETS[release], {}, {})] == []
