"""The same reports with other brokers, sessions and moments: times are worked out from the rules.

A session begins with a broker's last heartbeat. It is looked at when it ends, from 4.0 on every
eighth of its length.
"""

from __future__ import annotations

from itertools import accumulate, count, takewhile
from typing import Any

import pytest

from isr_pipeline.worlds.run import Result
from tests.cases.case import SLACK_MS, Fact, Played, case, played

SIZES = (3, 6, 12)
SESSIONS = ((9000, 2000), (18000, 3000), (6000, 500))
"""broker.session.timeout.ms and broker.heartbeat.interval.ms."""


def of_size(name: str, size: int) -> list[str]:
    """Settings of a case with brokers 1 to ``size``: the last three are what 1, 2 and 3 were."""
    raw, more = case(name).scenario, size - 3
    topics = [
        f"topics[{at}].assignment={ {0: [one + more for one in topic['assignment'][0]]} }"
        for at, topic in enumerate(raw["topics"])
    ]
    faults = [f"faults[{at}].broker={one['broker'] + more}" for at, one in enumerate(raw["faults"])]
    return [f"cluster.brokers={list(range(1, size + 1))}", *topics, *faults]


def sessions_of(session_ms: int, heartbeat_ms: int) -> tuple[str, str]:
    """Both keys of a session."""
    return (
        f"broker.session.timeout.ms={session_ms}",
        f"broker.heartbeat.interval.ms={heartbeat_ms}",
    )


def when(result: Result, kind: str, **names: Any) -> list[float]:
    """Times of the events of a description."""
    return [
        float(one["t_ms"])
        for one in result.events
        if one["kind"] == kind and all(one.get(name) == value for name, value in names.items())
    ]


def hold(one: Played, *facts: Fact) -> Result:
    """Check facts of a case that is played; give what was simulated."""
    result = one.run()
    amiss = [fact.amiss(result, one) for fact in facts]
    assert [said for said in amiss if said] == []
    return result


class TestFencePeriod:
    """Case 07: broker 1 is killed in several phases of its heartbeat and of the check."""

    HEARTBEAT_MS, CHECK_MS, EXACT_MS = 2000, 9000 / 8, 30

    def fenced(self, release: str, died_ms: float) -> float:
        """When the controller found it out."""
        one = played("07-fence-period", release, f"faults[0].start_ms={died_ms}")
        (at,) = when(one.run(), "broker_fenced", broker=1)
        return at

    @pytest.mark.parametrize("release", ["3.6", "3.9"])
    def test_a_session_of_3_ends_with_itself(self, release: str) -> None:
        """One heartbeat later it is fenced one heartbeat later."""
        at = [self.fenced(release, 20_000 + n * self.HEARTBEAT_MS) for n in range(3)]
        later = [at[0] + n * self.HEARTBEAT_MS for n in range(3)]
        assert at == pytest.approx(later, abs=self.EXACT_MS)

    @pytest.mark.parametrize("release", ["4.0", "4.1", "4.3"])
    def test_a_session_of_4_is_looked_at_every_eighth(self, release: str) -> None:
        """All are on one grid, none before its session's end, and none an eighth later."""
        died = [20_000 + n * self.HEARTBEAT_MS for n in range(3)]
        ends, at = ([self.fenced(one, each) for each in died] for one in ("3.9", release))
        late = [mine - end for mine, end in zip(at, ends, strict=True)]
        assert all(-self.EXACT_MS <= one <= self.CHECK_MS + self.EXACT_MS for one in late)
        steps = [(mine - at[0]) / self.CHECK_MS for mine in at]
        nearest = [round(step) for step in steps]
        assert steps == pytest.approx(nearest, abs=self.EXACT_MS / self.CHECK_MS)

    def test_an_eighth_of_another_session(self) -> None:
        """The grid is of that session's length: 2.25 s of 18 s."""
        died = [20_000 + n * self.HEARTBEAT_MS for n in range(3)]
        session = sessions_of(18_000, self.HEARTBEAT_MS)
        at = []
        for each in died:
            one = played("07-fence-period", "4.3", f"faults[0].start_ms={each}", *session)
            at += when(one.run(), "broker_fenced", broker=1)
        steps = [(mine - at[0]) / 2250 for mine in at]
        nearest = [round(step) for step in steps]
        assert steps == pytest.approx(nearest, abs=self.EXACT_MS / 2250)


class TestCleanRestart:
    """Case 05: broker 1 stops in order at a moment, and first asks to be let in later."""

    NAME = "05-clean-restart"

    def stopped(
        self, release: str, size: int, timing: tuple[int, int], start_ms: int, downtime_ms: int
    ) -> tuple[Played, float]:
        """The case, and when it asks first."""
        fault = f"faults[0].start_ms={start_ms}", f"faults[0].downtime_ms={downtime_ms}"
        keys = *of_size(self.NAME, size), *sessions_of(*timing), *fault
        one = played(self.NAME, release, *keys)
        return one, float(start_ms + downtime_ms)

    @pytest.mark.parametrize("release", ["3.6", "3.9"])
    @pytest.mark.parametrize("timing", SESSIONS)
    @pytest.mark.parametrize("size", SIZES)
    def test_3_lets_it_in_at_once(self, release: str, timing: tuple[int, int], size: int) -> None:
        """A broker that was fenced in order has no session."""
        one, asks = self.stopped(release, size, timing, 20_000, 6500)
        hold(one, Fact(event="broker_unfenced", broker=size - 2, t_ms=asks, within_ms=500))

    @pytest.mark.parametrize("release", ["4.1", "4.3"])
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize(
        ("timing", "start_ms", "downtime_ms"),
        [((9000, 2000), 20_000, 3000), ((9000, 2000), 21_300, 5000), ((18_000, 3000), 20_000, 7000),
         ((6000, 500), 20_700, 2000), ((30_000, 2000), 12_000, 15_000)],
    )  # fmt: skip
    def test_4_1_refuses_it_until_its_session_is_over(
        self, release: str, size: int, timing: tuple[int, int], start_ms: int, downtime_ms: int
    ) -> None:
        """It asks every heartbeat interval, and is let in with the first try after that.

        The end of the session is one more fence, unless the broker is let in before it is looked
        at.
        """
        session, heartbeat = timing
        one, asks = self.stopped(release, size, timing, start_ms, downtime_ms)
        result = one.run()
        (at,) = when(result, "broker_unfenced", broker=size - 2)
        granted, *again = when(result, "broker_fenced", broker=size - 2)
        over = granted + session
        assert len(again) == 1 or (not again and at <= over + one.check_ms + SLACK_MS)
        assert all(over <= fenced <= over + one.check_ms + SLACK_MS for fenced in again)
        assert start_ms < granted <= start_ms + 2 * heartbeat + SLACK_MS
        assert over <= at <= over + heartbeat + SLACK_MS
        tries = round((at - asks) / heartbeat)
        assert at == pytest.approx(asks + tries * heartbeat, abs=SLACK_MS)

    @pytest.mark.parametrize("timing", [(9000, 2000), (18_000, 2000)])
    def test_4_0_doubles_its_wait(self, timing: tuple[int, int]) -> None:
        """100 ms, 200 ms and so on up to half a session: the first try after the session's end."""
        session, _ = timing
        most = session / 2
        one, asks = self.stopped("4.0", 3, timing, 20_000, 4000)
        result = one.run()
        (at,) = when(result, "broker_unfenced", broker=1)
        over = when(result, "broker_fenced", broker=1)[0] + session
        waits = (min(100 * 2**n, most) for n in count())
        tries = accumulate(waits, initial=asks)
        refused = [*takewhile(lambda moment: moment < over, tries)]
        let_in = refused[-1] + min(100 * 2 ** (len(refused) - 1), most)
        assert at == pytest.approx(let_in, abs=SLACK_MS)

    @pytest.mark.parametrize("release", ["3.9", "4.0", "4.1", "4.3"])
    def test_later_than_its_session_nobody_refuses(self, release: str) -> None:
        """Back after 20 s of a session of 9 s: let in at once."""
        one, asks = self.stopped(release, 3, (9000, 2000), 20_000, 20_000)
        hold(one, Fact(event="broker_unfenced", broker=1, t_ms=asks, within_ms=500))


class TestLastDisk:
    """Case 10: the only log dir of a leader fails."""

    NAME = "10-last-disk-dies"

    @pytest.mark.parametrize("release", ["3.6", "3.9", "4.0", "4.3"])
    @pytest.mark.parametrize("timing", SESSIONS)
    @pytest.mark.parametrize("size", SIZES)
    def test_leaders_move_when_the_session_ends(
        self, release: str, timing: tuple[int, int], size: int
    ) -> None:
        """The process halts and tells nobody."""
        keys = *of_size(self.NAME, size), *sessions_of(*timing), "faults[0].start_ms=21700"
        over = 21_700 + timing[0]
        hold(
            played(self.NAME, release, *keys),
            Fact(event="broker_fenced", broker=size - 2, t_ms=over, within="session"),
            Fact(event="leader_elected", leader=size - 1, t_ms=over, within="session"),
        )


class TestTwoDie:
    """Case 13: the leader dies, then the one who is next in order."""

    NAME = "13-two-brokers-die"

    @pytest.mark.parametrize("release", ["2.8", "3.9", "4.3"])
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize(
        ("timing", "apart_ms"),
        [((9000, 2000), 3500), ((9000, 2000), 5000), ((18_000, 3000), 9000), ((6000, 500), 2500)],
    )
    def test_the_dead_is_elected_until_its_own_session_ends(
        self, release: str, size: int, timing: tuple[int, int], apart_ms: int
    ) -> None:
        """Each by the end of its session: the second, then the third."""
        session, heartbeat = timing
        first, second = 21_400, 21_400 + apart_ms
        moments = f"faults[0].start_ms={first}", f"faults[1].start_ms={second}"
        keys = *of_size(self.NAME, size), *sessions_of(*timing), *moments
        one = played(self.NAME, release, *keys)
        assert apart_ms > heartbeat + one.check_ms + SLACK_MS  # else nobody knows which is first
        hold(
            one,
            Fact(event="leader_elected", leader=size - 1, t_ms=first + session, within="session"),
            Fact(event="leader_elected", leader=size, t_ms=second + session, within="session"),
            Fact(event="leader_elected", times=2),
        )

    @pytest.mark.parametrize("release", ["1.0", "2.6", "3.9"])
    def test_zookeeper_knows_no_sooner(self, release: str) -> None:
        """A znode lives as long as its session."""
        keys = "zookeeper.session.timeout.ms=6000", "faults[1].start_ms=22900"
        one = played(self.NAME, release, *keys, controller="zookeeper")
        hold(
            one,
            Fact(event="leader_elected", leader=2, t_ms=26_000, within="session"),
            Fact(event="leader_elected", leader=3, t_ms=28_900, within="session"),
            Fact(event="leader_elected", times=2),
        )


class TestJoinBesideADeadMember:
    """Case 14: a replica catches up while a member is dead and not yet fenced."""

    NAME = "14-join-beside-a-dead-member"

    @pytest.mark.parametrize("release", ["3.3", "3.6", "3.9", "4.0", "4.3"])
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("back_ms", [21_000, 24_500])
    def test_it_joins(self, release: str, size: int, back_ms: int) -> None:
        """At once when it is back, and it leads in the end; nothing is offline."""
        died = back_ms + 3000
        moments = f"faults[0].duration_ms={back_ms - 10_000}", f"faults[2].start_ms={died}"
        replicas = [size - 2, size - 1, size]
        hold(
            played(self.NAME, release, *of_size(self.NAME, size), *moments),
            Fact(event="isr_expand", isr=replicas, t_ms=back_ms, within_ms=500),
            Fact(event="leader_elected", leader=size, t_ms=died + 18_000, within="session"),
            Fact(event="partition_offline", times=0),
        )

    @pytest.mark.parametrize("release", ["3.3", "3.9", "4.3"])
    def test_a_leader_that_lives_drops_the_dead_member_by_lag(self, release: str) -> None:
        """At the tick that sees 4 s without a fetch, not with the end of the session of 18 s."""
        one = played(self.NAME, release, "faults[2].start_ms=59000")
        hold(
            one,
            Fact(event="isr_expand", isr=[1, 2, 3], t_ms=21_000, within_ms=500),
            Fact(event="isr_shrink", isr=[1, 3], t_ms=25_250, within_ms=1300),
        )
