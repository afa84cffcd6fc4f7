"""Elections by ZooKeeper's controller and by KRaft's."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.election import (
    Change,
    Election,
    Registration,
    change_kraft,
    elect_kraft,
    elect_zk,
    kraft_election,
    last_member_leaves,
)
from tests.kafka.records import change_of, registration, rules_of, set_of
from tests.tables import Row, in_rows

ORDER = [0, 1, 2]


def position(leader: int | None) -> int:
    """Of a leader; nobody is none."""
    return -1 if leader is None else leader


@in_rows
def test_zookeeper(row: Row) -> None:
    """The walk down the assignment."""
    order, live = row.get("order", ORDER), set_of(row["live"])
    stopping, unclean = set_of(row.get("shutting_down", [])), row.get("unclean_enabled", False)
    found = elect_zk(order, row.get("looks_at", 3), set_of(row["isr"]), live, stopping, unclean)
    assert found == (position(row["elected"]), row.get("is_unclean", False))


def asked(row: Row, elr: int) -> tuple[Registration, Change]:
    """The partition of a row as the controller has it, and the change that is wanted of it."""
    isr = row.get("isr", ORDER)
    leader, known = position(row.get("leader", 0)), set_of(row.get("last_known", []))
    change = change_of(
        ORDER,
        target=set_of(row.get("target", isr)),
        acceptable=set_of(row.get("acceptable", ORDER)),
        kind=Election[row.get("election", "ONLINE")],
        use_known=row.get("uses_last_known", True),
    )
    return registration(leader, set_of(isr), elr, known), change


@in_rows
def test_kraft(row: Row) -> None:
    """PartitionChangeBuilder's choice."""
    rules = rules_of(row.get("release", "4.1+"), elr=row.get("elr_enabled", True))
    found = elect_kraft(rules, *asked(row, 0), set_of(row.get("elr", [])))
    assert found == (position(row["elected"]), row.get("is_unclean", False))


@in_rows
def test_change(row: Row) -> None:
    """PartitionChangeBuilder's whole change."""
    elr, bumps = row.get("elr_enabled", False), row.get("shrink_bumps", False)
    partition, change = asked(row, set_of(row.get("elr", [])))
    change.min_isr = row.get("min_isr", 2)
    change.unclean_shutdown = set_of(row.get("unclean_shutdown", []))
    change.removes_replicas = row.get("removes_replicas", False)
    change_kraft(rules_of("3.7-3.9", elr=elr, shrink_bumps_leader_epoch=bumps), partition, change)
    made = {
        "leader": None if change.leader < 0 else change.leader,
        "isr": [p for p in ORDER if change.isr >> p & 1],
        "elr": [p for p in ORDER if change.elr >> p & 1],
        "last_known": [p for p in ORDER if change.last_known_elr >> p & 1],
        "is_unclean": change.is_unclean,
        "bumps_leader_epoch": change.bumps_leader_epoch,
    }
    assert {name: made[name] for name in row["made"]} == row["made"]


class TestUncleanByRelease:
    """Who reads unclean.leader.election.enable."""

    @pytest.mark.parametrize(
        ("release", "kind"),
        [
            ("2.7-3.2", Election.ONLINE),
            ("3.3-3.6", Election.ONLINE),
            ("3.7-3.9", Election.UNCLEAN),
            ("4.1+", Election.UNCLEAN),
        ],
    )
    def test_kraft_reads_it_from_3_9_on(self, release: str, kind: Election) -> None:
        """KAFKA-12670: to 3.8 the controller answers false, whatever the key says."""
        assert kraft_election(rules_of(release), Election.ONLINE, True) == kind

    @pytest.mark.parametrize("asked", list(Election))
    def test_the_key_makes_no_other_election_unclean(self, asked: Election) -> None:
        """Only where a broker or a dir changes, and only where it is true."""
        assert kraft_election(rules_of("4.1+"), asked, False) == asked
        if asked is not Election.ONLINE:
            assert kraft_election(rules_of("4.1+"), asked, True) == asked

    @pytest.mark.parametrize(
        ("release", "leaves"),
        [("0.8.2", True), ("0.10.2-2.0", True), ("2.1-2.6", False), ("4.1+", False)],
    )
    def test_the_last_member_leaves_to_1_0(self, release: str, leaves: bool) -> None:
        """Under ZooKeeper, where the key is true."""
        assert last_member_leaves(rules_of(release), True) is leaves
        assert not last_member_leaves(rules_of(release), False)
