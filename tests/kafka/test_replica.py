"""A leader's record of a follower, release by release."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka import replica
from isr_pipeline.kafka.releases import NEVER, NO_BROKER_EPOCH, UNKNOWN
from tests.kafka.records import MERGED, NAMES, TIMED, Follower


def offsets_of(follower: Follower) -> tuple[int, int, int]:
    """Its own, and the leader's at its last fetch."""
    one = follower.record
    return one.log_start_offset, one.log_end_offset, one.last_fetch_leader_log_end_offset


class TestCreate:
    """A follower that has never fetched."""

    @pytest.mark.parametrize("name", NAMES)
    def test_offsets_are_unknown(self, name: str) -> None:
        """It has reported nothing."""
        follower = Follower.of(name, now=7)
        assert follower.record.log_end_offset == follower.record.log_start_offset == UNKNOWN

    def test_clock_starts_in_0_9(self) -> None:
        """0.9 counts from the replica object's creation."""
        assert Follower.of("0.9-0.10.1", now=7).caught_up_at == 7

    @pytest.mark.parametrize("name", ["4485-doc", *MERGED])
    def test_clock_never_from_4485(self, name: str) -> None:
        """Later it has never been caught up."""
        assert Follower.of(name, now=7).caught_up_at == NEVER

    def test_stuck_timer_starts_in_0_8(self) -> None:
        """0.8.2 counts from creation too."""
        follower = Follower.of("0.8.2", now=7)
        assert not follower.out(0, 17)
        assert follower.out(0, 18)

    def test_previous_leo_is_zero(self) -> None:
        """Kafka's field starts at 0, so that a first fetch at 0 takes the second branch."""
        assert Follower.of("3.7+").record.last_fetch_leader_log_end_offset == 0

    def test_no_broker_epoch(self) -> None:
        """It has named none."""
        assert Follower.of("3.7+").record.broker_epoch == NO_BROKER_EPOCH


class TestOnFetch:
    """What a good fetch writes."""

    @pytest.mark.parametrize("name", MERGED)
    def test_at_log_end_credits_fetch_time(self, name: str) -> None:
        """Merged KAFKA-4485 credits the fetch's arrival, not the read's end."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100, end=125)
        assert follower.caught_up_at == 100

    @pytest.mark.parametrize("name", ["0.9-0.10.1", "4485-doc"])
    def test_at_log_end_credits_read_end(self, name: str) -> None:
        """0.9 and the issue's text credit the read's end."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100, end=125)
        assert follower.caught_up_at == 125

    @pytest.mark.parametrize("name", ["4485-doc", *MERGED])
    def test_previous_leo_credits_previous_fetch(self, name: str) -> None:
        """Reaching the LEO of the previous fetch is being caught up then."""
        follower = Follower.of(name)
        follower.fetch(5, 10, 100)
        follower.fetch(10, 20, 200)
        assert follower.caught_up_at == 100

    def test_previous_leo_is_nothing_in_0_9(self) -> None:
        """0.9 evicts a follower that is always one fetch behind."""
        follower = Follower.of("0.9-0.10.1", now=1)
        follower.fetch(5, 10, 100)
        follower.fetch(10, 20, 200)
        assert follower.caught_up_at == 1

    @pytest.mark.parametrize("name", MERGED)
    def test_one_short_of_previous_leo(self, name: str) -> None:
        """One record less is not caught up."""
        follower = Follower.of(name)
        follower.fetch(5, 10, 100)
        follower.fetch(9, 20, 200)
        assert follower.caught_up_at == NEVER

    @pytest.mark.parametrize("name", MERGED)
    def test_clock_never_goes_back(self, name: str) -> None:
        """An older time does not overwrite a newer one."""
        follower = Follower.of(name)
        follower.reset(10, new=False, in_isr=True, now=500)
        follower.fetch(10, 10, 400)
        assert follower.caught_up_at == 500

    @pytest.mark.parametrize("name", ["4485-doc", *MERGED])
    def test_previous_fetch_credit_never_goes_back(self, name: str) -> None:
        """Nor does the previous fetch's time."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100, end=300)
        follower.reset(10, new=False, in_isr=True, now=500)
        follower.record.last_fetch_time = 100
        follower.fetch(10, 20, 600)
        assert follower.caught_up_at == 500

    def test_previous_leo_goes_back_until_3_2(self) -> None:
        """A leader LEO that shrank is taken as it is."""
        follower = Follower.of("2.7-3.2")
        follower.fetch(5, 20, 100)
        follower.fetch(5, 10, 200)
        assert follower.record.last_fetch_leader_log_end_offset == 10

    @pytest.mark.parametrize("name", ["3.3-3.6", "3.7+"])
    def test_previous_leo_is_monotone_from_3_3(self, name: str) -> None:
        """From 3.3 on the larger one is kept."""
        follower = Follower.of(name)
        follower.fetch(5, 20, 100)
        follower.fetch(5, 10, 200)
        assert follower.record.last_fetch_leader_log_end_offset == 20

    @pytest.mark.parametrize("name", NAMES)
    def test_offsets_and_times_are_taken(self, name: str) -> None:
        """LEO and the fetch's time are the fetch's own; the start is as the caller wrote it."""
        follower = Follower.of(name)
        follower.record.log_start_offset = 3
        replica.on_fetch(follower.rules, follower.record, 8, 100, 9, 120)
        taken = follower.record
        assert (taken.log_start_offset, taken.log_end_offset, taken.last_fetch_time) == (3, 8, 100)

    @pytest.mark.parametrize("name", NAMES)
    def test_offset_may_go_back(self, name: str) -> None:
        """A follower that truncated is where it says it is."""
        follower = Follower.of(name)
        follower.fetch(8, 10, 100)
        follower.fetch(6, 10, 200)
        assert follower.record.log_end_offset == 6

    def test_any_fetch_restarts_the_stuck_timer(self) -> None:
        """0.8.2 restarts it even if nothing new was read, at the read's end."""
        follower = Follower.of("0.8.2")
        follower.fetch(0, 1, 100, end=110)
        assert not follower.out(1, 120)
        assert follower.out(1, 121)


class TestFailedRead:
    """What a failed read writes."""

    @pytest.mark.parametrize("name", NAMES[:5])
    def test_overwrites_until_2_3(self, name: str) -> None:
        """The follower looks unknown until its next good fetch."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100)
        replica.on_failed_read(follower.rules, follower.record, 200)
        assert offsets_of(follower) == (UNKNOWN, UNKNOWN, UNKNOWN)

    @pytest.mark.parametrize("name", NAMES[5:])
    def test_is_skipped_from_2_4(self, name: str) -> None:
        """KAFKA-8400: the record stays."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100)
        before = follower.record.memory.tolist()
        replica.on_failed_read(follower.rules, follower.record, 200)
        assert follower.record.memory.tolist() == before

    @pytest.mark.parametrize("name", ["0.10.2-2.0", "2.1-2.6"])
    def test_gives_no_credit(self, name: str) -> None:
        """The next fetch is not credited with the failed one's time."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100)
        replica.on_failed_read(follower.rules, follower.record, 200)
        follower.fetch(10, 20, 300)
        assert follower.caught_up_at == 100

    def test_restarts_the_stuck_timer_in_0_8(self) -> None:
        """Storing -1 is a write of the offset, too."""
        follower = Follower.of("0.8.2")
        replica.on_failed_read(follower.rules, follower.record, 200)
        assert not follower.out(100, 210)


class TestReset:
    """Becoming leader."""

    def test_0_8_forgets_offset_and_restarts_timer(self) -> None:
        """The offset's setter restarts the timer, at every call."""
        follower = Follower.of("0.8.2")
        follower.fetch(10, 10, 100)
        follower.reset(10, new=False, in_isr=True, now=500)
        assert follower.record.log_end_offset == UNKNOWN
        assert not follower.out(10, 510)

    def test_0_9_keeps_the_clock(self) -> None:
        """A stale clock survives a fail-back: spurious shrink."""
        follower = Follower.of("0.9-0.10.1", now=100)
        follower.reset(10, new=True, in_isr=True, now=500)
        assert follower.caught_up_at == 100
        assert follower.record.log_end_offset == UNKNOWN

    def test_0_9_same_leader_is_left_alone(self) -> None:
        """Being told again changes nothing."""
        follower = Follower.of("0.9-0.10.1", now=100)
        follower.fetch(10, 10, 200)
        follower.reset(10, new=False, in_isr=True, now=500)
        assert follower.record.log_end_offset == 10

    @pytest.mark.parametrize("name", ["4485-doc", *MERGED])
    @pytest.mark.parametrize(("in_isr", "clock"), [(True, 500), (False, NEVER)])
    def test_clock_by_membership(self, name: str, in_isr: bool, clock: int) -> None:
        """An ISR member gets a full lag, another none."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100)
        follower.reset(10, new=False, in_isr=in_isr, now=500)
        assert follower.caught_up_at == clock

    @pytest.mark.parametrize("name", ["4485-doc", *MERGED])
    def test_new_leader_knows_no_offset(self, name: str) -> None:
        """A new leader waits for the first fetch of everybody."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100)
        follower.reset(12, new=True, in_isr=True, now=500)
        assert offsets_of(follower) == (UNKNOWN, UNKNOWN, UNKNOWN)

    @pytest.mark.parametrize("name", ["4485-doc", *MERGED])
    def test_same_leader_keeps_the_offset(self, name: str) -> None:
        """Re-election keeps what is known, and remembers the LEO of the moment."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100)
        follower.reset(12, new=False, in_isr=True, now=500)
        assert follower.record.log_end_offset == 10
        assert follower.record.last_fetch_leader_log_end_offset == 12
        assert follower.record.last_fetch_time == 500

    @pytest.mark.parametrize(("name", "last_fetch"), [("2.7-3.2", 500), ("3.3-3.6", NEVER)])
    def test_last_fetch_of_a_non_member(self, name: str, last_fetch: int) -> None:
        """From 3.3 on a replica outside the ISR gets no previous fetch either."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100)
        follower.reset(12, new=False, in_isr=False, now=500)
        assert follower.record.last_fetch_time == last_fetch

    @pytest.mark.parametrize(
        ("name", "last_fetch"),
        [("2.1-2.6", NEVER - 1), ("2.7-3.2", NEVER), ("3.7+", NEVER)],
    )
    def test_last_fetch_of_a_new_leader(self, name: str, last_fetch: int) -> None:
        """Up to 2.3 a failed read is recorded (-1), later an unknown fetch at time 0."""
        follower = Follower.of(name)
        follower.reset(12, new=True, in_isr=True, now=500)
        assert follower.record.last_fetch_time == last_fetch

    @pytest.mark.parametrize("name", MERGED)
    def test_first_fetch_after_election_gives_no_credit(self, name: str) -> None:
        """Its second branch is dated "never", and max() drops it."""
        follower = Follower.of(name)
        follower.reset(12, new=True, in_isr=True, now=500)
        follower.fetch(3, 12, 600)
        assert follower.caught_up_at == 500

    def test_new_leader_forgets_broker_epoch(self) -> None:
        """3.3+: the epoch must be named again."""
        follower = Follower.of("3.7+")
        replica.note_broker_epoch(follower.rules, follower.record, 9)
        follower.reset(12, new=True, in_isr=True, now=500)
        assert follower.record.broker_epoch == NO_BROKER_EPOCH

    def test_re_elected_leader_keeps_broker_epoch(self) -> None:
        """A re-election does not."""
        follower = Follower.of("3.7+")
        replica.note_broker_epoch(follower.rules, follower.record, 9)
        follower.reset(12, new=False, in_isr=True, now=500)
        assert follower.record.broker_epoch == 9


class TestInSync:
    """The in-sync rule and its limits."""

    @pytest.mark.parametrize("name", TIMED)
    def test_lag_limit_is_inclusive(self, name: str) -> None:
        """Exactly the limit is in sync, one more is out."""
        follower = Follower.of(name)
        follower.fetch(5, 5, 100)
        assert not follower.out(6, 110)
        assert follower.out(6, 111)

    @pytest.mark.parametrize("name", NAMES[:4])
    def test_idle_follower_expires_until_2_0(self, name: str) -> None:
        """Equal LEO does not help."""
        follower = Follower.of(name)
        follower.fetch(5, 5, 100)
        assert follower.out(5, 111)

    @pytest.mark.parametrize("name", NAMES[4:])
    def test_log_end_exempts_from_2_1(self, name: str) -> None:
        """KAFKA-7152: equal LEO is in sync whatever the clock says."""
        follower = Follower.of(name)
        follower.fetch(5, 5, 100)
        assert not follower.out(5, 10**9)

    @pytest.mark.parametrize("name", NAMES[4:])
    def test_log_end_is_equality(self, name: str) -> None:
        """A follower ahead of the leader is not at its log end."""
        follower = Follower.of(name)
        follower.fetch(5, 5, 100)
        assert follower.out(4, 111)

    def test_messages_limit_is_inclusive(self) -> None:
        """0.8.2: exactly the limit is in sync, one more is out."""
        follower = Follower.of("0.8.2")
        follower.fetch(0, 0, 100)
        assert not follower.out(4, 100)
        assert follower.out(5, 100)

    def test_messages_of_an_unknown_follower_do_not_count(self) -> None:
        """0.8.2: before its first fetch only the timer counts."""
        assert not Follower.of("0.8.2", now=100).out(1000, 100)

    def test_messages_of_a_follower_at_zero_count(self) -> None:
        """0.8.2: offset 0 is known."""
        follower = Follower.of("0.8.2")
        follower.fetch(0, 100, 100)
        assert follower.out(100, 100)

    @pytest.mark.parametrize("name", TIMED)
    def test_messages_do_not_count_later(self, name: str) -> None:
        """From 0.9 on only time counts."""
        follower = Follower.of(name)
        follower.fetch(0, 0, 100)
        assert not follower.out(10**6, 110)

    @pytest.mark.parametrize(("name", "holds"), [("2.7-3.2", False), ("3.3-3.6", True)])
    def test_hw_waits_for_log_end_from_3_3(self, name: str, holds: bool) -> None:
        """Until 3.2 the HW's own test was by time alone."""
        follower = Follower.of(name)
        follower.fetch(5, 5, 100)
        assert follower.holds_hw(5, 10**9) is holds

    @pytest.mark.parametrize("name", MERGED)
    def test_hw_time_limit_is_inclusive(self, name: str) -> None:
        """The HW's test has the same limit."""
        follower = Follower.of(name)
        follower.fetch(5, 5, 100)
        assert follower.holds_hw(6, 110)
        assert not follower.holds_hw(6, 111)


class TestBrokerEpoch:
    """Fetches of an older incarnation of the follower's broker."""

    @pytest.mark.parametrize(
        ("epoch", "cached", "stale"),
        [(4, 5, True), (5, 5, False), (6, 5, False), (-1, 5, False), (NO_BROKER_EPOCH, 5, False)],
    )
    def test_stale_from_3_7(self, epoch: int, cached: int, stale: bool) -> None:
        """Older than the metadata's is refused; unknown is not."""
        assert replica.is_stale_fetch(Follower.of("3.7+").rules, epoch, cached) is stale

    @pytest.mark.parametrize("name", NAMES[: NAMES.index("3.7+")])
    def test_not_before(self, name: str) -> None:
        """Earlier releases do not look."""
        assert not replica.is_stale_fetch(Follower.of(name).rules, 4, 5)

    @pytest.mark.parametrize(("name", "kept"), [("2.7-3.2", NO_BROKER_EPOCH), ("3.3-3.6", 9)])
    def test_kept_from_3_3(self, name: str, kept: int) -> None:
        """Earlier releases have no place for it."""
        follower = Follower.of(name)
        replica.note_broker_epoch(follower.rules, follower.record, 9)
        assert follower.record.broker_epoch == kept
