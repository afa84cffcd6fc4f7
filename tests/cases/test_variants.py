"""The same reports with other brokers, sessions and moments: times are worked out from the rules.

A session begins with a broker's last heartbeat. It is looked at when it ends, from 4.0 on every
eighth of its length.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, count, takewhile
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.worlds.run import Result
from tests.cases.case import SLACK_MS, Fact, Played, case, played

WAIT_MS = 600
"""A fetch's wait, and what the change of an ISR takes."""

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


def marked(name: str, at: int, *releases: str) -> list[Any]:
    """Releases, with the mark that an expectation of the case has."""
    return [pytest.param(one, marks=case(name).expect[at].marks) for one in releases]


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


class TestNetworkThread:
    """Case 27: an answer hangs in one of three network threads."""

    NAME = "27-sendfile-blocks-connections"

    @pytest.mark.parametrize("own", ["false", "true"])
    @pytest.mark.parametrize("release", ["3.9", "4.3"])
    @pytest.mark.parametrize(("limit", "start"), [(5000, 20_000), (8000, 24_500), (20_000, 15_000)])
    def test_some_connections_hang(self, release: str, limit: int, start: int, own: str) -> None:
        """A third of the six that follow something else, with a listener of their own or not."""
        keys = (
            f"replica.lag.time.max.ms={limit}",
            f"faults[0].start_ms={start}",
            f"cluster.replication_listener={own}",
        )
        first, last = start + limit - WAIT_MS, start + 1.5 * limit + WAIT_MS
        hold(
            played(self.NAME, release, *keys),
            Fact(event="isr_shrink", topic="hot", from_ms=first, until_ms=last, times=(1, 3)),
            Fact(event="isr_shrink", topic="hot", times=(1, 3)),
        )

    @pytest.mark.parametrize("followers", [6, 12])
    @pytest.mark.parametrize("threads", [2, 3, 5, 16])
    @pytest.mark.parametrize("seed", [4, 5])
    def test_those_of_one_thread(self, seed: int, threads: int, followers: int) -> None:
        """Connections are dealt round robin: of those on the stuck thread, one has the cold log."""
        least, more = divmod(followers + 1, threads)
        replicas = {at: [1, 3 + at] for at in range(followers)}
        one = played(
            self.NAME,
            "3.9",
            f"seed={seed}",
            f"num.network.threads={threads}",
            "cluster.replication_listener=true",
            f"cluster.brokers={list(range(1, 3 + followers))}",
            f"topics[1].assignment={replicas}",
        )
        others = max(least - 1, 0), least - 1 + (more > 0)
        hold(one, Fact(event="isr_shrink", topic="hot", times=others))

    def test_a_slow_append_beside_it_drives_nobody_else_out(self) -> None:
        """Seven of ten seconds pass between two appends of a second: their log is free."""
        name = "28-append-stalls-on-a-leader"
        slow = {**case(name).scenario["faults"][0], "append_ms": 1000, "partitions": ["hot-5"]}
        both = [*case(self.NAME).scenario["faults"], {**slow, "duration_ms": 30_000}]
        one = played(self.NAME, "3.9", f"faults={both}")
        hold(one, Fact(event="isr_shrink", topic="hot", times=(1, 3)))


class TestStalledAppend:
    """Case 28: one append holds the log of ten producers, and as many handlers as there are."""

    NAME, START_MS, PRODUCERS, TIMEOUT_MS = "28-append-stalls-on-a-leader", 20_000, 10, 30_000

    def stalled(self, release: str, threads: int, stall_ms: int, *keys: str) -> Played:
        """The case with a stall of another length.

        No other client's requests gather meanwhile: followers would wait for them afterwards, too.
        """
        length = f"faults[0].append_ms={stall_ms}", f"faults[0].duration_ms={stall_ms}"
        alone = "service.client_requests_per_s=0"
        more = f"num.io.threads={threads}", "horizon_ms=110000", alone
        return played(self.NAME, release, *length, *more, *keys)

    @pytest.mark.parametrize("threads", [4, 8])
    @pytest.mark.parametrize("stall_ms", [12_000, 24_000, 40_000])
    def test_others_wait_as_long(self, stall_ms: int, threads: int) -> None:
        """No handler is left; nobody leaves, since nothing is appended meanwhile."""
        hold(
            self.stalled("3.9", threads, stall_ms),
            Fact(metric="produce_latency_acks_all_p99_ms", value=stall_ms, within=1500),
            Fact(event="isr_shrink", times=0),
        )

    @pytest.mark.parametrize("threads", [12, 24])
    @pytest.mark.parametrize("stall_ms", [12_000, 24_000])
    def test_with_more_handlers_than_producers_nobody_waits(
        self, stall_ms: int, threads: int
    ) -> None:
        """As long as no producer gives up and sends again."""
        assert threads > self.PRODUCERS
        assert stall_ms < self.TIMEOUT_MS
        hold(
            self.stalled("2.0", threads, stall_ms),
            Fact(metric="produce_latency_acks_all_p99_ms", value=0, within=10),
            Fact(event="isr_shrink", times=0),
        )

    @pytest.mark.parametrize("threads", [12, 16])
    def test_who_sends_again_takes_another_handler(self, threads: int) -> None:
        """After request.timeout.ms each producer has two."""
        stall_ms = 40_000
        assert self.PRODUCERS < threads < 2 * self.PRODUCERS
        hold(
            self.stalled("3.9", threads, stall_ms),
            Fact(
                metric="produce_latency_acks_all_p99_ms",
                value=stall_ms - self.TIMEOUT_MS,
                within=1500,
            ),
            Fact(event="isr_shrink", times=0),
        )

    @pytest.mark.parametrize("release", ["2.1", "2.3", "2.4"])
    @pytest.mark.parametrize("stall_ms", [18_000, 32_000])
    def test_to_2_4_the_tick_waits_for_the_stall(self, release: str, stall_ms: int) -> None:
        """Then there are records that the follower has not asked for."""
        end = self.START_MS + stall_ms
        hold(
            self.stalled(release, 8, stall_ms),
            Fact(event="isr_shrink", topic="t", from_ms=end, until_ms=end + WAIT_MS, times=1),
            Fact(event="isr_shrink", topic="t", times=1),
        )

    @pytest.mark.parametrize("release", ["2.5", "3.6", "3.9"])
    def test_a_pause_within_it_changes_nothing(self, release: str) -> None:
        """The disk goes on while the process stands still."""
        stall = case(self.NAME).scenario["faults"][0]
        pause = {"kind": "pause", "broker": 1, "start_ms": 26_000, "duration_ms": 3000}
        hold(
            self.stalled(release, 8, 25_000, f"faults={[stall, pause]}"),
            Fact(metric="produce_latency_acks_all_p99_ms", value=24_500, within=1500),
            Fact(event="isr_shrink", times=0),
        )

    @pytest.mark.parametrize("release", ["2.5", "3.6", "3.9"])
    def test_a_pause_over_its_end_is_waited_for(self, release: str) -> None:
        """Shorter than a session, and so that nobody is out of sync before its first fetch."""
        stall = case(self.NAME).scenario["faults"][0]
        pause = {"kind": "pause", "broker": 1, "start_ms": 42_000, "duration_ms": 5000}
        hold(
            self.stalled(release, 8, 25_000, f"faults={[stall, pause]}"),
            Fact(metric="produce_latency_acks_all_p99_ms", value=26_500, within=1500),
        )

    @pytest.mark.parametrize("release", ["2.5", "3.6", "3.9"])
    @pytest.mark.parametrize("killed_ms", [23_000, 36_000])
    def test_who_dies_in_it_loses_nothing_acknowledged(self, release: str, killed_ms: int) -> None:
        """Followers lead, and it is back as a follower although the disk stalls leaders still."""
        stall = {**case(self.NAME).scenario["faults"][0], "duration_ms": 50_000}
        crash = {"kind": "crash", "broker": 1, "start_ms": killed_ms, "restart_after_ms": 5000}
        hold(
            self.stalled(release, 8, 25_000, f"faults={[stall, crash]}"),
            Fact(event="leader_elected", topic="t", leader=2, times=1),
            Fact(event="leader_elected", topic="u", leader=3, times=1),
            Fact(event="isr_expand", topic="t", until_ms=killed_ms + 30_000, times=1),
            Fact(metric="records_lost", value=0),
        )


class TestSlowLeader:
    """Case 34: a request waits for the appends of those before it."""

    @pytest.mark.parametrize(
        ("threads", "append_ms", "limit", "refuses"),
        [(8, 2400, 10_000, True), (4, 600, 10_000, True), (16, 1200, 3000, True),
         (24, 1200, 12_000, False), (16, 1200, 20_000, False)],
    )  # fmt: skip
    def test_a_clock_is_one_wait_old_or_two(
        self, threads: int, append_ms: int, limit: int, refuses: bool
    ) -> None:
        """One wait above the limit leaves the leader alone, two below it nobody."""
        partitions = 100
        wait = (partitions - threads) / threads * append_ms
        assert wait > limit if refuses else 2 * (wait + append_ms) < limit
        one = played(
            "34-slow-disk-under-a-leader",
            "2.4",
            "cluster.broker_service={}",
            "faults[0].role=both",
            f"faults[0].append_ms={append_ms}",
            "faults[0].duration_ms=60000",
            "horizon_ms=60000",
            f"num.io.threads={threads}",
            f"replica.lag.time.max.ms={limit}",
        )
        times = (partitions // 2, 2000) if refuses else 0
        hold(one, Fact(event="under_min_isr_start", topic="s", times=times))


class TestHandlersSaturated:
    """Case 30: each request waits for those of all connections."""

    CONNECTIONS, REQUEST_MS = 500, 100

    @pytest.mark.parametrize(
        ("threads", "limit", "leaves"),
        [(16, 2500, True), (16, 7000, False)],
    )
    def test_a_clock_is_one_wait_old_or_two(self, threads: int, limit: int, leaves: bool) -> None:
        """A follower leaves if one wait is above the limit, and stays if two are below."""
        wait = self.CONNECTIONS * self.REQUEST_MS / threads
        assert limit < wait if leaves else limit > 2 * wait
        one = played(
            "30-saturated-handlers",
            "3.9",
            f"faults[0].connections={self.CONNECTIONS}",
            f"faults[0].request_us={1000 * self.REQUEST_MS}",
            "faults[0].duration_ms=15000",
            "horizon_ms=36000",
            f"num.io.threads={threads}",
            f"replica.lag.time.max.ms={limit}",
        )
        hold(one, Fact(event="isr_shrink", times=(3, 200) if leaves else 0))


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.3"])
@pytest.mark.parametrize("answer_ms", [3000, 6000, 12_000])
def test_an_answer_about_the_isr_holds_the_next_change(release: str, answer_ms: int) -> None:
    """Case 31: out one answer after a tick, in one after that, or after the return at 29 s."""
    tick = (25_000, 27_600)
    out = [moment + answer_ms for moment in tick]
    back = [max(29_000, moment) + answer_ms for moment in out]
    hold(
        played("31-slow-alter-isr", release, f"service.alter_partition_ms={answer_ms}"),
        Fact(event="isr_shrink", isr=[1], from_ms=out[0], until_ms=out[1], times=1),
        Fact(event="isr_shrink", times=1),
        Fact(event="isr_expand", from_ms=back[0], until_ms=back[1] + 600, times=(1, 2)),
        Fact(event="isr_expand", until_ms=back[0], times=0),
    )


class TestElections:
    """Case 35: a broker that leads many partitions dies."""

    NAME = "35-thousand-elections"

    def last_election(self, release: str, leads: int) -> float:
        """When the last of so many partitions has a leader."""
        replicas = {partition: [1, 2] for partition in range(leads)}
        one = played(self.NAME, release, f"topics[0].assignment={replicas}")
        elected = when(one.run(), "leader_elected")
        assert len(elected) == leads
        return elected[-1]

    @pytest.mark.parametrize("leads", [400, 800])
    @pytest.mark.parametrize("release", marked(NAME, 0, "1.0"))
    def test_one_after_the_other(self, release: str, leads: int) -> None:
        """Two round trips each, of 1 to 5 ms, more than in flight together."""
        later = self.last_election(release, leads) - self.last_election("1.1", leads)
        assert 2 * leads * 0.8 <= later <= 2 * leads * 5

    def test_in_flight_together(self) -> None:
        """Twice as many take hardly longer."""
        few, many = (self.last_election("1.1", leads) for leads in (400, 800))
        assert abs(many - few) <= SLACK_MS


class TestReaders:
    """Case 37: a follower that cannot keep up."""

    NAME, START_MS, END_MS = "37-readers-follow-the-follower", 10_000, 60_000

    @pytest.mark.parametrize("limit", [3000, 6000, 9000])
    def test_to_3_6_it_leaves_once(self, limit: int) -> None:
        """Within the limit and a tick of half of it."""
        first, last = self.START_MS + limit - WAIT_MS, self.START_MS + 1.5 * limit + WAIT_MS
        hold(
            played(self.NAME, "3.6", f"replica.lag.time.max.ms={limit}"),
            Fact(event="isr_shrink", from_ms=first, until_ms=last, times=1),
            Fact(event="isr_shrink", times=1),
        )

    @pytest.mark.parametrize("limit", [3000, 6000, 9000])
    def test_from_3_7_on_with_every_tick(self, limit: int) -> None:
        """It joins at the mark that waits for it, and the next tick takes it out."""
        ticks = (self.END_MS - self.START_MS - limit) / (limit / 2)
        hold(
            played(self.NAME, "3.9", f"replica.lag.time.max.ms={limit}"),
            Fact(event="isr_shrink", times=(int(ticks) - 2, int(ticks) + 2)),
        )


class TestSilentController:
    """Case 38: the machine of broker 4 and of the controller dies."""

    NAME = "38-heartbeat-to-a-dead-controller"
    CONTROLLER_MS, REQUEST_MS = 2500, 30_000
    BOTH = (((9000, 2000), 20_000), ((15_000, 2000), 21_300), ((6000, 500), 24_700))

    @pytest.mark.parametrize(("timing", "start"), BOTH)
    @pytest.mark.parametrize(
        "release",
        marked(NAME, 0, "2.8", "3.0", "3.3.1"),
    )
    def test_to_3_3_1_everybody_is_fenced(
        self, release: str, timing: tuple[int, int], start: int
    ) -> None:
        """By the next controller, and let in when the request of 30 s has timed out."""
        session, heartbeat = timing
        fenced = start + self.CONTROLLER_MS + session
        keys = *sessions_of(*timing), f"faults[0].start_ms={start}"
        back = Fact(
            event="broker_unfenced",
            broker=1,
            t_ms=start + self.REQUEST_MS + heartbeat / 2,
            within_ms=heartbeat / 2 + 2 * SLACK_MS,
        )
        hold(
            played(self.NAME, release, *keys),
            *(
                Fact(event="broker_fenced", broker=broker, t_ms=fenced, within_ms=800)
                for broker in (1, 2, 3)
            ),
            back,
        )

    @pytest.mark.parametrize(("timing", "start"), BOTH)
    @pytest.mark.parametrize("release", ["3.3.2", "3.4", "3.9", "4.0", "4.3"])
    def test_from_3_3_2_on_nobody_else(
        self, release: str, timing: tuple[int, int], start: int
    ) -> None:
        """Half a session, and the heartbeat goes to the next controller."""
        keys = *sessions_of(*timing), f"faults[0].start_ms={start}"
        hold(
            played(self.NAME, release, *keys),
            Fact(event="broker_fenced", broker=4, times=1),
            Fact(event="broker_fenced", times=1),
            Fact(event="partition_offline", times=0),
        )


class TestOversizedBatch:
    """Case 39: a batch, and a fetch of 1 MiB of a partition."""

    NAME = "39-batch-over-replica-fetch-max"

    @pytest.mark.parametrize(
        ("record_bytes", "waits"), [(900_000, 0.0), (1_048_000, 0.0), (1_100_000, 0.47)]
    )
    def test_0_8_2_stands(self, record_bytes: int, waits: float) -> None:
        """The mark of one of two partitions, from the first such batch on."""
        one = played(self.NAME, "0.8.2", f"topics[0].produce[0].record_bytes={record_bytes}")
        hold(one, Fact(metric="readers_wait_rate", value=waits, within=0.03))

    @pytest.mark.parametrize("limit", [6000, 14_000])
    @pytest.mark.parametrize(
        "release",
        marked(NAME, 1, "0.9", "0.10.0"),
    )
    def test_to_0_10_0_both_leave(self, release: str, limit: int) -> None:
        """With a tick of half the limit or of all of it, and nobody returns."""
        hold(
            played(self.NAME, release, f"replica.lag.time.max.ms={limit}"),
            Fact(event="isr_shrink", topic="big", isr=[1], from_ms=5000 + limit,
                 until_ms=7000 + 2 * limit + WAIT_MS, times=1),
            Fact(event="isr_expand", times=0),
        )  # fmt: skip

    @pytest.mark.parametrize(("record_bytes", "leave"), [(1_000_000, 0), (1_100_000, 1)])
    @pytest.mark.parametrize("release", ["0.9", "0.10.0"])
    def test_what_fits_into_a_fetch_is_replicated(
        self, release: str, record_bytes: int, leave: int
    ) -> None:
        """A megabyte does, a tenth more does not."""
        one = played(self.NAME, release, f"topics[0].produce[0].record_bytes={record_bytes}")
        hold(one, Fact(event="isr_shrink", times=leave))


class TestControlledShutdown:
    """Case 40: the last of the ISR is asked to stop while another is about to join."""

    NAME = "40-controlled-shutdown-tries-again"
    pytestmark = case(NAME).expect[0].marks

    @pytest.mark.parametrize(
        ("retries", "backoff_ms", "hands_over_ms"),
        [(5, 3000, 29_000), (2, 9000, 29_000), (12, 1000, 29_000), (4, 5000, 30_000)],
    )
    @pytest.mark.parametrize("release", ["1.0", "2.6", "3.2"])
    def test_a_try_after_the_join_hands_over(
        self, release: str, retries: int, backoff_ms: int, hands_over_ms: int
    ) -> None:
        """Broker 2 joins at 28 s; whoever tries later than that leads no more."""
        keys = (
            f"controlled.shutdown.max.retries={retries}",
            f"controlled.shutdown.retry.backoff.ms={backoff_ms}",
        )
        hold(
            played(self.NAME, release, *keys, controller="zookeeper"),
            Fact(event="leader_elected", leader=2, t_ms=hands_over_ms, within_ms=1000),
            Fact(event="partition_offline", times=0),
        )


@pytest.mark.parametrize(("start", "limit"), [(20_000, 5000), (23_400, 14_000), (31_000, 8000)])
@pytest.mark.parametrize(
    ("name", "release", "partitions", "failed"),
    [
        ("41-batch-over-a-lowered-limit", "2.2", 3, 0),
        ("41-batch-over-a-lowered-limit", "2.3", 1, 1),
        ("42-fenced-by-a-race", "2.2", 1, 0),
        ("42-fenced-by-a-race", "2.3", 1, 1),
        ("42-fenced-by-a-race", "3.9", 1, 1),
    ],
)
def test_what_a_fetcher_drops(
    name: str, release: str, partitions: int, failed: int, start: int, limit: int
) -> None:
    """Cases 41 and 42: by the limit and a tick its replicas are out, and the rest stays."""
    keys = f"faults[0].start_ms={start}", f"replica.lag.time.max.ms={limit}"
    first, last = start + limit - WAIT_MS, start + 1.5 * limit + WAIT_MS
    hold(
        played(name, release, *keys),
        Fact(event="isr_shrink", isr=[1, 3], from_ms=first, until_ms=last, times=partitions),
        Fact(event="isr_shrink", times=partitions),
        Fact(metric="failed_partitions_max", value=failed),
    )


class TestDeadFollower:
    """Case 47: a follower dies that was ZooKeeper's controller."""

    NAME = "47-dead-follower-was-the-controller"

    @pytest.mark.parametrize(("start", "limit"), [(20_000, 12_000), (23_000, 30_000)])
    @pytest.mark.parametrize(
        "release",
        marked(NAME, 0, "0.10.0", "1.0", "2.2"),
    )
    def test_to_2_2_its_leader_removes_it(self, release: str, start: int, limit: int) -> None:
        """By the lag limit, and nobody before."""
        last = start + 2 * limit + WAIT_MS
        hold(
            played(self.NAME, release, f"faults[0].start_ms={start}",
                   f"replica.lag.time.max.ms={limit}"),
            Fact(event="isr_shrink", topic="t", isr=[1, 2], from_ms=start + limit - WAIT_MS,
                 until_ms=last, times=1),
            Fact(event="controller_isr_remove", topic="t", times=0),
        )  # fmt: skip

    @pytest.mark.parametrize("start", [20_000, 23_000])
    @pytest.mark.parametrize("release", ["2.3", "2.8", "3.9"])
    def test_from_2_3_on_the_next_controller(self, release: str, start: int) -> None:
        """When the znodes end."""
        over = start + 6000
        hold(
            played(self.NAME, release, f"faults[0].start_ms={start}", controller="zookeeper"),
            Fact(event="controller_isr_remove", topic="t", isr=[1, 2], t_ms=over, within="session"),
            Fact(event="isr_shrink", topic="t", times=0),
        )


class TestTurns:
    """Case 48: partitions of 1 MB/s, whose appends take 20 ms each."""

    @pytest.mark.parametrize("release", ["2.0", "3.9"])
    @pytest.mark.parametrize("partitions", [12, 40, 56, 80])
    def test_a_turn_of_all_is_below_a_fetch_or_nobody_stays(
        self, release: str, partitions: int
    ) -> None:
        """In a turn each has as many MB as the turn has seconds, and a fetch brings 1 MiB."""
        sustained = partitions * 0.020 < 1.048576
        replicas = {partition: [1, 2] for partition in range(partitions)}
        one = played("48-fetches-take-turns", release, f"topics[0].assignment={replicas}")
        hold(one, Fact(event="isr_shrink", times=0 if sustained else partitions))

    @pytest.mark.parametrize(
        ("partitions", "append_ms", "fetchers"),
        [(30, 30, 1), (30, 40, 1), (60, 30, 2), (60, 40, 2), (12, 70, 1), (12, 100, 1)],
    )
    def test_other_disks_and_fetchers(self, partitions: int, append_ms: int, fetchers: int) -> None:
        """Each fetcher thread has its own turn; an answer has room for all of it."""
        sustained = partitions / fetchers * append_ms < 1048.576
        replicas = {partition: [1, 2] for partition in range(partitions)}
        one = played(
            "48-fetches-take-turns",
            "3.9",
            f"topics[0].assignment={replicas}",
            f"cluster.broker_service={ {2: {'append_us': 1000 * append_ms}} }",
            f"num.replica.fetchers={fetchers}",
            "replica.fetch.response.max.bytes=100000000",
        )
        hold(one, Fact(event="isr_shrink", times=0 if sustained else partitions))


@pytest.mark.parametrize("limit", [5000, 12_000, 20_000])
@pytest.mark.parametrize("release", ["2.6", "3.6", "3.9", "4.3"])
def test_the_mark_stands_for_a_lag_limit(release: str, limit: int) -> None:
    """Case 50: of two slow followers both leave within the limit and a tick of half of it."""
    controller = "zookeeper" if release == "2.6" else "kraft"
    key = f"replica.lag.time.max.ms={limit}"
    hold(
        played("50-mark-stands-for-a-lag-limit", release, key, controller=controller),
        Fact(event="isr_shrink", isr=[1], t_ms=20_000 + 1.25 * limit,
             within_ms=limit / 4 + 2 * WAIT_MS),
        Fact(metric="commit_latency_max_ms", value=1.15 * limit, within=limit / 4 + 2 * WAIT_MS),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wait", "limit", "refused"),
    [(500, 500, False), (10_000, 10_000, False), (10_001, 10_000, True), (30_000, 30_000, False)],
)
@pytest.mark.parametrize("release", ["0.8.2.2", "1.1", "2.8", "4.3"])
def test_a_wait_above_the_lag_limit(release: str, wait: int, limit: int, refused: bool) -> None:
    """Case 44: such a broker does not start; equal ones do."""
    keys = f"replica.fetch.wait.max.ms={wait}", f"replica.lag.time.max.ms={limit}"
    controller = "kraft" if release == "4.3" else None
    play = partial(played, "44-wait-above-lag", release, *keys, controller=controller)
    if not refused:
        assert play().scenario
        return
    with pytest.raises(InputError, match=r"replica\.fetch\.wait\.max\.ms: .*replica\.lag\.time"):
        play()
