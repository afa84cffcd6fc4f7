"""The check for preferred leaders."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.election import GO_MAX, go_limit, moves_back, waits_for_imbalance
from isr_pipeline.kafka.releases import RULE_SETS, switches

KRAFT = switches(RULE_SETS["4.1+"])
ZOOKEEPER = switches(RULE_SETS["3.7-3.9"], controller="zookeeper")


class TestTimer:
    """From when on the interval is counted."""

    @pytest.mark.parametrize(
        ("release", "waits"),
        [("3.3-3.6", True), ("3.7-3.9", True), ("4.0", False), ("4.1+", False)],
    )
    def test_kraft_up_to_3_9_waits_for_an_imbalance(self, release: str, waits: bool) -> None:
        """From 4.0 on it is a periodic task."""
        assert waits_for_imbalance(switches(RULE_SETS[release])) is waits

    def test_zookeepers_controller_never_does(self) -> None:
        """Its scheduler runs from its start on."""
        assert not waits_for_imbalance(switches(RULE_SETS["3.3-3.6"], controller="zookeeper"))


class TestWhose:
    """Which broker gets its leads back."""

    @pytest.mark.parametrize(("missing", "moves"), [(0, False), (1, True)])
    def test_kraft_reads_no_percentage(self, missing: int, moves: bool) -> None:
        """One of a hundred is enough, whatever the key says."""
        assert moves_back(KRAFT, 100, missing, 50) is moves

    @pytest.mark.parametrize(("missing", "moves"), [(10, False), (11, True)])
    def test_zookeeper_wants_more_than_the_percentage(self, missing: int, moves: bool) -> None:
        """Ten of a hundred are ten per cent, which is not more."""
        assert moves_back(ZOOKEEPER, 100, missing, 10) is moves

    def test_zookeeper_reads_the_key(self) -> None:
        """At 50 % a third missing is left as it is."""
        assert not moves_back(ZOOKEEPER, 3, 1, 50)
        assert moves_back(ZOOKEEPER, 3, 2, 50)


def test_only_kraft_limits_one_go() -> None:
    """A thousand leads; ZooKeeper's controller moves all."""
    assert (go_limit(KRAFT), go_limit(ZOOKEEPER)) == (GO_MAX, -1) == (1000, -1)
