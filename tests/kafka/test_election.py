"""Elections by ZooKeeper's controller and by KRaft's."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.election import (
    Election,
    change_kraft,
    elect_kraft,
    elect_zk,
    kraft_election,
    last_member_leaves,
)
from tests.kafka.records import change_of, registration, rules_of

ORDER = [0, 1, 2]


def zk(isr: int, live: int, *, stopping: int = 0, unclean: bool = False) -> tuple[int, bool]:
    """ZooKeeper's election over positions 0, 1, 2."""
    return elect_zk(ORDER, 3, isr, live, stopping, unclean)


class TestZooKeeper:
    """The walk down the assignment."""

    def test_first_live_member(self) -> None:
        """The first that is alive and in the ISR."""
        assert zk(0b110, 0b101) == (2, False)

    def test_order_of_assignment(self) -> None:
        """Of two, the one the assignment names first."""
        assert zk(0b110, 0b111) == (1, False)

    def test_given_order_decides(self) -> None:
        """The order is the caller's."""
        order = [2, 1, 0]
        assert elect_zk(order, 3, 0b111, 0b111, 0, False)[0] == 2

    def test_only_the_first_n_count(self) -> None:
        """A preferred election looks at one."""
        assert elect_zk(ORDER, 1, 0b110, 0b111, 0, False)[0] == -1

    def test_nobody(self) -> None:
        """A live replica outside the ISR is not elected."""
        assert zk(0b001, 0b110) == (-1, False)

    def test_unclean(self) -> None:
        """With unclean election the first live one is."""
        assert zk(0b001, 0b110, unclean=True) == (1, True)

    def test_clean_first(self) -> None:
        """A clean leader is preferred to an unclean one."""
        assert zk(0b100, 0b111, unclean=True) == (2, False)

    def test_unclean_needs_life(self) -> None:
        """Nobody alive, nobody elected."""
        assert zk(0b111, 0, unclean=True) == (-1, False)

    def test_shutting_down(self) -> None:
        """A stopping member is passed over."""
        assert zk(0b111, 0b111, stopping=0b001) == (1, False)


def kraft(
    *,
    leader: int = 0,
    isr: int = 0b111,
    elr: int = 0,
    known: int = 0,
    acceptable: int = 0b111,
    kind: Election = Election.ONLINE,
    elr_on: bool = True,
    use_known: bool = True,
    release: str = "4.1+",
) -> tuple[int, bool]:
    """KRaft's election over positions 0, 1, 2."""
    partition = registration(leader, isr, 0, known)
    change = change_of(ORDER, target=isr, acceptable=acceptable, kind=kind, use_known=use_known)
    return elect_kraft(rules_of(release, elr=elr_on), partition, change, elr)


class TestElectKraft:
    """PartitionChangeBuilder's choice."""

    def test_keeps_a_valid_leader(self) -> None:
        """The present leader stays if it is in the ISR and alive."""
        assert kraft(leader=2) == (2, False)

    def test_preferred_moves(self) -> None:
        """A preferred election takes the first."""
        assert kraft(leader=2, kind=Election.PREFERRED) == (0, False)

    def test_preferred_out_of_isr_keeps(self) -> None:
        """Unless the first is not in the ISR."""
        assert kraft(leader=2, isr=0b110, kind=Election.PREFERRED) == (2, False)

    def test_leader_not_acceptable(self) -> None:
        """A dead leader is replaced by the first live member."""
        assert kraft(leader=0, acceptable=0b110) == (1, False)

    def test_member_not_acceptable(self) -> None:
        """A dead member is passed over."""
        assert kraft(leader=0, acceptable=0b100) == (2, False)

    def test_elr_when_isr_is_empty(self) -> None:
        """With an empty ISR an ELR member is elected cleanly."""
        assert kraft(leader=-1, isr=0, elr=0b100) == (2, False)

    def test_elr_not_beside_an_isr(self) -> None:
        """Not as long as the ISR has a member."""
        assert kraft(leader=0, isr=0b001, elr=0b100, acceptable=0b110) == (-1, False)

    def test_last_known_leader(self) -> None:
        """With both empty the last leader is, uncleanly."""
        assert kraft(leader=-1, isr=0, known=0b010) == (1, True)

    @pytest.mark.parametrize(("release", "elected"), [("4.0", (1, True)), ("4.1+", (-1, False))])
    def test_a_dead_last_known(self, release: str, elected: tuple[int, bool]) -> None:
        """The liveness check of 4.0 only logs (KAFKA-19522)."""
        assert kraft(leader=-1, isr=0, known=0b010, acceptable=0, release=release) == elected

    def test_unclean_behind_a_dead_last_known(self) -> None:
        """From 4.1 on an unclean election passes it over."""
        found = kraft(leader=-1, isr=0, known=0b010, acceptable=0b100, kind=Election.UNCLEAN)
        assert found == (2, True)

    def test_last_known_of_many(self) -> None:
        """Several are not a last leader."""
        assert kraft(leader=-1, isr=0, known=0b011) == (-1, False)

    def test_last_known_none(self) -> None:
        """None is none."""
        assert kraft(leader=-1, isr=0) == (-1, False)

    def test_last_known_not_beside_an_elr(self) -> None:
        """Not as long as the ELR has a member."""
        assert kraft(leader=-1, isr=0, elr=0b100, known=0b010, acceptable=0b011) == (-1, False)

    def test_last_known_not_beside_an_isr(self) -> None:
        """Nor the ISR."""
        assert kraft(leader=-1, isr=0b100, known=0b010, acceptable=0b011) == (-1, False)

    @pytest.mark.parametrize(("elr_on", "use_known"), [(False, True), (True, False)])
    def test_last_known_off(self, elr_on: bool, use_known: bool) -> None:
        """It needs ELR and its own switch."""
        met = kraft(leader=-1, isr=0, known=0b010, elr_on=elr_on, use_known=use_known)
        assert met == (-1, False)

    def test_unclean_is_last(self) -> None:
        """An unclean election takes the first live one if nothing else helps."""
        assert kraft(isr=0b001, acceptable=0b110, kind=Election.UNCLEAN) == (1, True)

    def test_online_is_clean(self) -> None:
        """An online election does not."""
        assert kraft(isr=0b001, acceptable=0b110) == (-1, False)

    def test_clean_before_unclean(self) -> None:
        """A live member comes before an unclean leader."""
        met = kraft(isr=0b100, leader=0, acceptable=0b110, kind=Election.UNCLEAN)
        assert met == (2, False)


def change(
    *,
    isr: int = 0b111,
    target: int | None = None,
    leader: int = 0,
    acceptable: int = 0b111,
    min_isr: int = 2,
    kind: Election = Election.ONLINE,
    elr: int = 0,
    known: int = 0,
    use_known: bool = True,
    unclean_shutdown: int = 0,
    removed: bool = False,
    elr_on: bool = False,
    bumps: bool = False,
) -> tuple[int, int, int, int, bool, bool]:
    """One partition change over positions 0, 1, 2."""
    rules = rules_of("3.7+", elr=elr_on, shrink_bumps_leader_epoch=bumps)
    partition = registration(leader, isr, elr, known)
    met = change_of(
        ORDER,
        target=isr if target is None else target,
        acceptable=acceptable,
        kind=kind,
        use_known=use_known,
    )
    met.min_isr, met.unclean_shutdown, met.removes_replicas = min_isr, unclean_shutdown, removed
    change_kraft(rules, partition, met)
    return (
        met.leader,
        met.isr,
        met.elr,
        met.last_known_elr,
        met.is_unclean,
        met.bumps_leader_epoch,
    )


class TestPartitionChange:
    """PartitionChangeBuilder's whole change."""

    def test_nothing(self) -> None:
        """No target, no change."""
        assert change() == (0, 0b111, 0, 0, False, False)

    def test_shrink(self) -> None:
        """A shrink keeps leader and leader epoch from metadata.version 3.6 on."""
        assert change(target=0b011) == (0, 0b011, 0, 0, False, False)

    def test_shrink_bumps(self) -> None:
        """Before, it begins a new leader epoch."""
        assert change(target=0b011, bumps=True)[5]

    def test_expansion_does_not_bump(self) -> None:
        """An expansion never does."""
        assert not change(isr=0b011, target=0b111, bumps=True)[5]

    def test_new_leader_bumps(self) -> None:
        """A new leader does."""
        assert change(target=0b110) == (1, 0b110, 0, 0, False, True)

    def test_removed_replica_bumps(self) -> None:
        """So does an assignment that loses a replica."""
        assert change(removed=True) == (0, 0b111, 0, 0, False, True)

    def test_last_member_stays_without_elr(self) -> None:
        """Without ELR the ISR never becomes empty: it keeps its last member."""
        assert change(isr=0b001, target=0, acceptable=0b110) == (-1, 0b001, 0, 0, False, True)

    def test_empty_target_does_not_bump(self) -> None:
        """KAFKA-16624: an ISR that cannot change has not shrunk."""
        assert not change(isr=0b001, target=0, leader=-1, acceptable=0, bumps=True)[5]

    def test_unclean(self) -> None:
        """An unclean leader is the whole ISR."""
        met = change(isr=0b001, target=0, acceptable=0b110, kind=Election.UNCLEAN)
        assert met == (1, 0b010, 0, 0, True, True)

    def test_unclean_clears_elr(self) -> None:
        """And nobody is eligible any more."""
        met = change(
            isr=0,
            leader=-1,
            elr=0b100,
            known=0b001,
            acceptable=0b010,
            kind=Election.UNCLEAN,
            elr_on=True,
        )
        assert met == (1, 0b010, 0, 0, True, True)

    def test_elr_grows(self) -> None:
        """Below min ISR who leaves is eligible."""
        assert change(target=0b001, elr_on=True) == (0, 0b001, 0b110, 0, False, False)

    def test_elr_not_at_min_isr(self) -> None:
        """At min ISR nobody is."""
        assert change(target=0b011, elr_on=True)[2] == 0

    def test_elr_is_cleared_at_min_isr(self) -> None:
        """An ISR that reaches min ISR clears it."""
        met = change(isr=0b001, target=0b011, elr=0b100, known=0, elr_on=True)
        assert met[2] == 0

    def test_elr_loses_who_joins(self) -> None:
        """A member that joins the ISR leaves the ELR."""
        met = change(isr=0b001, target=0b011, elr=0b110, min_isr=3, elr_on=True)
        assert met[1:3] == (0b011, 0b100)

    def test_elr_without_the_switch(self) -> None:
        """Without ELR nothing is kept."""
        assert change(isr=0b001, elr=0b110)[2] == 0

    def test_unclean_shutdown_leaves_elr(self) -> None:
        """Who came back from an unclean shutdown is not eligible, but known."""
        met = change(
            isr=0b001, elr=0b110, unclean_shutdown=0b100, use_known=False, min_isr=3, elr_on=True
        )
        assert met[2:4] == (0b010, 0b100)

    def test_elr_member_is_elected(self) -> None:
        """With the ISR empty an ELR member leads, and is the ISR."""
        met = change(isr=0b001, target=0, acceptable=0b100, elr=0b100, elr_on=True)
        assert met == (2, 0b100, 0b001, 0, False, True)

    def test_last_leader_is_remembered(self) -> None:
        """When the ISR becomes empty the leader is remembered."""
        met = change(isr=0b001, target=0, acceptable=0, min_isr=1, elr_on=True)
        assert met == (-1, 0, 0b001, 0b001, False, True)

    def test_last_leader_stays_remembered(self) -> None:
        """As long as there is no leader."""
        met = change(isr=0, leader=-1, elr=0b001, known=0b001, acceptable=0, elr_on=True)
        assert met[3] == 0b001

    def test_last_leader_is_forgotten(self) -> None:
        """A new leader clears it."""
        met = change(isr=0, leader=-1, known=0b001, elr_on=True)
        assert met == (0, 0b001, 0, 0, True, True)

    def test_known_is_cleared_under_a_leader(self) -> None:
        """A partition that has a leader has no last-known one."""
        assert change(isr=0b001, known=0b010, min_isr=3, elr_on=True)[3] == 0


class TestUncleanByRelease:
    """Who reads unclean.leader.election.enable."""

    @pytest.mark.parametrize(
        ("release", "kind"),
        [
            ("2.7-3.2", Election.ONLINE),
            ("3.3-3.6", Election.ONLINE),
            ("3.7+", Election.UNCLEAN),
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
