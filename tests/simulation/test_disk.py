"""A disk of a known speed: when an append may return, and whom it holds up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.kafka.rows import Array
from isr_pipeline.scenarios.model import Scenario, apply, parse_scenario
from isr_pipeline.simulation.disk import begin_read, begin_write, disk_of, written_at
from isr_pipeline.simulation.world.jit import entry
from isr_pipeline.simulation.world.tables import world_in
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.events import waits_by_load
from isr_pipeline.worlds.run import Result, run
from tests.simulation.test_cycles import differences
from tests.worlds.checks import checked_run

RATE, DIRTY = 2_000_000, 8_000_000
READ_RATE, SEEK_US = 20_000_000, 2000
READS = {"disk_read_bytes_per_s": READ_RATE, "disk_seek_us": SEEK_US, "cache_bytes": 64_000_000}
STEP_US = 100


def made(slow: int | None, *, connections: int = 4, faults: Any = (), **machine: Any) -> Scenario:
    """Four megabytes a second to a partition that broker 1 leads, after ten seconds of nothing."""
    hardware = {"disk_write_bytes_per_s": RATE, "dirty_bytes": DIRTY, **machine}
    load = {"records_per_batch": 1, "record_bytes": 50_000, "request_bytes": 500_000, "acks": 1}
    rate = {"records_per_s": 80 / connections, "start_ms": 10_000}
    return parse_scenario(
        {
            "scenario_id": "slow-disk",
            "warmup_ms": 0,
            "horizon_ms": 40_000,
            "cluster": {
                "release": "3.7-3.9",
                "controller": "kraft",
                "brokers": [1, 2, 3],
                "replication_listener": True,
                "broker_hardware": {slow: hardware} if slow else {},
            },
            "topics": [
                {
                    "name": "t",
                    "assignment": {0: [1, 2, 3]},
                    "produce": [{**load, **rate}] * connections,
                }
            ],
            "config": {"replica.lag.time.max.ms": 4000},
            "faults": list(faults),
        },
        "slow-disk",
    )


def ran(slow: int | None, **more: Any) -> Result:
    """What becomes of it."""
    return run(made(slow, **more), events=True)


def shrinks(found: Result) -> list[tuple[float, list[int]]]:
    """When the ISR shrank, and to whom."""
    return [(one["t_ms"], one["isr"]) for one in found.events if one["kind"] == "isr_shrink"]


@entry
def write_all(w: Array, times: Array, sizes: Array, ends: Array) -> None:
    """Write, at those times, to the first disk; when each write may return."""
    world = world_in(w)
    disk = disk_of(world.brokers[0], 0)
    for i in range(len(times)):
        world.now = times[i]
        ends[i] = written_at(world, disk, begin_write(world, disk, sizes[i]))


@entry
def look_all(w: Array, times: Array, ends: Array) -> None:
    """Write twice what may be dirty, and look at those times when the next byte may return."""
    world = world_in(w)
    disk = disk_of(world.brokers[0], 0)
    begin_write(world, disk, 2 * DIRTY)
    target = begin_write(world, disk, 1)
    for i in range(len(times)):
        world.now = times[i]
        ends[i] = written_at(world, disk, target)


@entry
def do_all(w: Array, kinds: Array, times: Array, sizes: Array, ends: Array) -> None:
    """Read (1) or write (0) at those times; when each is over. A write looks again as it ends.

    ``ends`` has three times as many cells: what a write waits for, and when it looks, are behind.
    """
    world = world_in(w)
    broker = world.brokers[0]
    disk = disk_of(broker, 0)
    count = len(times)
    target = ends[count:]
    looks = ends[2 * count :]
    left, k = count, 0
    while left > 0:
        first = -1
        for i in range(k):
            if looks[i] > 0 and (first < 0 or looks[i] < looks[first]):
                first = i
        if k < count and (first < 0 or times[k] <= looks[first]):
            world.now = times[k]
            if kinds[k]:
                ends[k] = begin_read(world, broker, 0, sizes[k])
                left -= 1
            else:
                target[k] = begin_write(world, disk, sizes[k])
                looks[k] = max(1, written_at(world, disk, target[k]))
            k += 1
        else:
            world.now = looks[first]
            looks[first] = written_at(world, disk, target[first])
            if looks[first] <= world.now:
                ends[first] = world.now
                looks[first] = 0
                left -= 1


class TestWrites:
    """What a disk does with appends, in whole numbers."""

    @pytest.mark.parametrize("seed", range(5))
    def test_return_when_small_steps_say(self, seed: int) -> None:
        """Within two steps of a bucket that leaks, under any load."""
        source = np.random.default_rng(seed)
        times = np.cumsum(source.integers(1, 300_000, 200))
        sizes = source.integers(1, 800_000, 200)
        ends = np.zeros_like(times)
        write_all(encode(made(1)).w, times, sizes, ends)
        dirty, before = 0.0, 0
        for now, size, found in zip(times.tolist(), sizes.tolist(), ends.tolist(), strict=True):
            dirty = max(0.0, dirty - (now - before) * RATE / 1e6)
            expected = now + max(0.0, dirty - DIRTY) * 1e6 / RATE
            assert abs(found - expected) <= 2 * STEP_US
            before, dirty = now, dirty + size

    def test_a_fast_disk_is_idle_for_long(self) -> None:
        """What it could have written meanwhile is more than a cell holds."""
        times, sizes = np.array([0, 10_000_000]), np.array([DIRTY, DIRTY])
        ends = np.zeros_like(times)
        write_all(encode(made(1, disk_write_bytes_per_s=10**12)).w, times, sizes, ends)
        assert ends.tolist() == times.tolist()

    def test_looks_lose_nothing(self) -> None:
        """A disk that is looked at every microsecond writes as fast as it does unseen."""
        times = np.arange(1000)
        ends = np.zeros_like(times)
        look_all(encode(made(1, disk_write_bytes_per_s=1_700_001)).w, times, ends)
        assert int(np.ptp(ends)) <= 1


class TestReads:
    """What it does with reads of cold data, which go first."""

    @staticmethod
    def small_steps(kinds: list[int], times: list[int], sizes: list[int]) -> list[float]:
        """When each is over, in steps: reads by turns, write-back a quarter beside them."""
        ends, waiting = [0.0] * len(times), list[tuple[int, int]]()
        reads, dirty, k, now = 0.0, 0.0, 0, 0
        while k < len(times) or waiting:
            while k < len(times) and times[k] <= now:
                if kinds[k]:
                    pieces = 1 if reads <= 0 else -(-sizes[k] // 131072)
                    took = sizes[k] * 1e6 / READ_RATE + SEEK_US * pieces
                    reads += took * (4 / 3 if dirty > 0 else 1)
                    ends[k] = now + reads
                else:
                    waiting.append((k, sizes[k]))
                k += 1
            while waiting and dirty <= DIRTY:
                place, size = waiting.pop(0)
                dirty += size
                ends[place] = now
            busy = min(reads, STEP_US)
            reads -= busy
            dirty = max(0.0, dirty - (STEP_US - busy * 3 / 4) * RATE / 1e6)
            now += STEP_US
        return ends

    @pytest.mark.parametrize("seed", range(5))
    def test_end_when_small_steps_say(self, seed: int) -> None:
        """Of reads and appends in any order, under overload: within ten steps."""
        source = np.random.default_rng(seed)
        times = np.cumsum(source.integers(1, 120_000, 200))
        kinds, sizes = source.integers(0, 2, 200), source.integers(50_000, 500_000, 200)
        ends = np.zeros(3 * len(times), dtype=np.int64)
        do_all(encode(made(1, **READS)).w, kinds, times, sizes, ends)
        expected = self.small_steps(kinds.tolist(), times.tolist(), sizes.tolist())
        assert np.abs(ends[: len(times)] - np.array(expected)).max() <= 10 * STEP_US

    def test_take_no_time_without_a_speed(self) -> None:
        """Null is no limit."""
        times, sizes = np.arange(3), np.full(3, 10**9)
        ends = np.zeros(9, dtype=np.int64)
        do_all(encode(made(1)).w, np.ones_like(times), times, sizes, ends)
        assert ends[:3].tolist() == times.tolist()


class TestFollower:
    """A follower whose disk takes less than comes."""

    def test_leaves_by_itself(self) -> None:
        """No fault is needed: four seconds to fill what may be dirty, and then its lag."""
        ((at_ms, isr),) = shrinks(ran(3))
        assert isr == [1, 2]
        assert 18_000 < at_ms < 24_000

    def test_stays_where_the_disk_takes_it(self) -> None:
        """Of a faster one."""
        assert shrinks(ran(3, disk_write_bytes_per_s=5_000_000)) == []

    def test_stays_without_a_limit(self) -> None:
        """Null is none."""
        assert shrinks(ran(None)) == []


class TestLeader:
    """A leader whose disk takes less than comes: KIP-501's own motivation."""

    def test_healthy_followers_leave(self) -> None:
        """Through the log's lock."""
        assert shrinks(ran(1))[-1][1] == [1]

    def test_stay_with_one_connection(self) -> None:
        """Between two appends the log is free."""
        assert shrinks(ran(1, connections=1)) == []


class TestSlowDisk:
    """The fault: a disk of a known speed has a part of it."""

    @staticmethod
    def fault(factor: float, duration_ms: int = 12_000, broker: int = 3) -> dict[str, Any]:
        """From 12 s on."""
        window = {"start_ms": 12_000, "duration_ms": duration_ms}
        return {"kind": "slow_disk", "broker": broker, "write_factor": factor, **window}

    def test_a_part_is_too_little(self) -> None:
        """Of five megabytes a second two are left."""
        fast = {"disk_write_bytes_per_s": 5_000_000}
        assert shrinks(ran(3, faults=[self.fault(0.4, 25_000)], **fast))
        assert not shrinks(ran(3, faults=[self.fault(0.9, 25_000)], **fast))

    def test_nothing_is_written_while_it_stands_still(self) -> None:
        """Who waits goes on with the disk, and comes back."""
        found = ran(3, faults=[self.fault(0)], disk_write_bytes_per_s=50_000_000)
        ((left_ms, _),) = shrinks(found)
        (back,) = (one for one in found.events if one["kind"] == "isr_expand")
        assert 16_000 < left_ms < 24_000 < back["t_ms"] < 26_000

    def test_a_leader_that_stood_still_goes_on(self) -> None:
        """Handlers, answers in the send and the requests behind them look again."""
        fault = self.fault(0, broker=1)
        found = ran(1, faults=[fault], disk_write_bytes_per_s=50_000_000)
        waited = found.outcome["produce_latency_acks_1_p99_ms"]
        assert 8_000 < waited < 12_000
        assert [one["isr"] for one in found.events][-1:] in ([], [[1, 2, 3]])

    @pytest.mark.parametrize("slow", [1, 3])
    def test_who_waits_for_it_to_go_on_needs_no_event(self, slow: int) -> None:
        """A leader's append, and a follower's: the end of the fault wakes them."""
        fault = self.fault(0, broker=slow)
        checked_run(made(slow, faults=[fault], disk_write_bytes_per_s=50_000_000), events=True)

    @pytest.mark.parametrize(
        ("slow", "more", "field"),
        [
            (None, {}, "faults[0].broker: 3"),
            (3, {"log_dir": 1}, "faults[0].log_dir: 1"),
            (7, {}, "cluster.broker_hardware.7: unknown broker"),
        ],
    )
    def test_of_no_disk_is_refused(
        self, slow: int | None, more: dict[str, Any], field: str
    ) -> None:
        """It would do nothing, and say nothing."""
        with pytest.raises(InputError) as refusal:
            made(slow, faults=[{**self.fault(0), **more}])
        assert str(refusal.value).startswith(f"slow-disk: {field}")


class TestJumps:
    """Saturated worlds, and others."""

    @pytest.mark.parametrize("slow", [1, 3])
    @pytest.mark.parametrize("rate", [2_000_000, 40_000_000])
    def test_are_exact(self, slow: int, rate: int) -> None:
        """With jumps and without."""
        faults = [TestSlowDisk.fault(0.5, broker=slow)]
        assert differences(made(slow, disk_write_bytes_per_s=rate, faults=faults)) == []


def replayed(
    *,
    own_listener: bool,
    horizon_ms: int = 30_000,
    batches: Any = None,
    other: Any = None,
    **more: Any,
) -> Scenario:
    """Eight connections replay old data of the leader of two partitions from 10 s on."""
    hardware = {**READS, "disk_write_bytes_per_s": READ_RATE, "dirty_bytes": 32_000_000}
    load = {"records_per_batch": 1, "record_bytes": 50_000, "request_bytes": 100_000}
    many = [{**load, "records_per_s": 2.5}] * 16
    window = {"start_ms": 10_000, "duration_ms": horizon_ms - 10_000}
    reader = {"kind": "cold_reader", "broker": 1, "connections": 8, **window, **more}
    return parse_scenario(
        {
            "scenario_id": "replay",
            "warmup_ms": 0,
            "horizon_ms": horizon_ms,
            "cluster": {
                "release": "3.7-3.9",
                "controller": "kraft",
                "brokers": [1, 2, 3],
                "replication_listener": own_listener,
                "broker_hardware": {1: hardware},
            },
            "topics": [
                {
                    "name": "t",
                    "assignment": {0: [1, 2, 3], 1: [1, 3, 2]},
                    "produce": [{**load, **batches}] if batches else many,
                }
            ],
            "config": {"replica.lag.time.max.ms": 4000},
            "faults": [reader, other] if other else [reader],
        },
        "replay",
    )


class TestColdReader:
    """Clients read what the page cache has no longer, on network threads that others share."""

    def test_followers_leave_on_a_listener_for_all(self) -> None:
        """KAFKA-7504 moves the ISR where replication has no listener of its own."""
        found = shrinks(run(replayed(own_listener=False), events=True))
        assert found
        assert min(at_ms for at_ms, _ in found) > 10_000

    def test_followers_stay_on_a_listener_of_their_own(self) -> None:
        """Its threads have no replay."""
        assert shrinks(run(replayed(own_listener=True), events=True)) == []

    def test_producers_wait_in_both(self) -> None:
        """They share the clients' listener with it."""
        found = run(replayed(own_listener=True)).outcome
        assert found["produce_latency_acks_1_p99_ms"] > 2_000

    def test_large_requests_come_in_by_turns(self) -> None:
        """One that takes seven of a socket's buffers waits for seven rounds of the thread."""
        small, large = (
            run(replayed(own_listener=True, batches={"records_per_batch": n, "records_per_s": n}))
            for n in (1, 20)
        )
        latency = "produce_latency_acks_1_p99_ms"
        assert large.outcome[latency] > 3 * small.outcome[latency]

    def test_a_disk_that_stands_still_reads_nothing(self) -> None:
        """What was asked of it meanwhile is read when it goes on."""
        still = {"kind": "slow_disk", "broker": 1, "read_factor": 0}
        fault = {**still, "start_ms": 15_000, "duration_ms": 10_000}
        scenario, moved = replayed(own_listener=True), replayed(own_listener=True, other=fault)
        before, after = (run(one).outcome["cold_read_bytes"] for one in (scenario, moved))
        assert 0.4 < after / before < 0.6

    def test_a_whole_speed_is_a_part_of_it(self) -> None:
        """Both ends of 0..1 belong to it."""
        for factor in (0, 1):
            assert made(1, faults=[{**TestSlowDisk.fault(0.5, broker=1), "write_factor": factor}])

    def test_one_with_a_pace_holds_up_nobody(self) -> None:
        """Of a megabyte a second."""
        found = run(replayed(own_listener=False, bytes_per_s=1_000_000), events=True)
        assert shrinks(found) == []
        assert found.outcome["produce_latency_acks_1_p99_ms"] < 1_000

    @pytest.mark.parametrize(("pace", "quota"), [(None, 1_000_000), (4_000_000, 1_000_000)])
    def test_a_client_quota_is_a_pace_for_all_connections(
        self, pace: int | None, quota: int
    ) -> None:
        """The same as a reader that takes no more by itself; the slower of both holds."""
        paced = run(replayed(own_listener=False, bytes_per_s=quota), events=True)
        reader = replayed(own_listener=False, bytes_per_s=pace)
        held = run(apply(reader, {"consumer_byte_rate": quota}), events=True)
        assert held.outcome == paced.outcome
        slow = apply(replayed(own_listener=False, bytes_per_s=quota), {"consumer_byte_rate": 10**9})
        assert run(slow, events=True).outcome == paced.outcome

    @pytest.mark.parametrize("own_listener", [True, False])
    def test_jumps_are_exact(self, own_listener: bool) -> None:
        """Before it, in it and after it."""
        scenario = replayed(own_listener=own_listener, duration_ms=5_000)
        assert differences(scenario) == []

    @pytest.mark.parametrize(
        ("more", "field"),
        [
            ({"broker": 2}, "faults[0].broker: 2"),
            ({"log_dir": 1}, "faults[0].log_dir: 1"),
            ({"connections": 0}, "faults[0].connections: 0"),
        ],
    )
    def test_of_no_disk_is_refused(self, more: dict[str, Any], field: str) -> None:
        """It would do nothing, and say nothing."""
        with pytest.raises(InputError) as refusal:
            replayed(own_listener=True, **more)
        assert str(refusal.value).startswith(f"replay: {field}")


class TestPageCache:
    """What a follower that was away fetches is read from the disk, if it is old enough."""

    @staticmethod
    def behind(records: dict[int, int], *faults: dict[str, Any], **machine: Any) -> Result:
        """Followers of a leader on such a machine begin so many records behind it."""
        hardware = {**READS, "dirty_bytes": DIRTY, **machine}
        stream = {"records_per_s": 10, "record_bytes": 50_000, "records_per_batch": 1}
        scenario = parse_scenario(
            {
                "scenario_id": "behind",
                "warmup_ms": 0,
                "horizon_ms": 60_000,
                "cluster": {
                    "release": "3.7-3.9",
                    "controller": "kraft",
                    "brokers": [1, 2, 3],
                    "broker_hardware": {1: hardware},
                },
                "topics": [
                    {
                        "name": "t",
                        "assignment": {0: [1, 2, 3]},
                        "behind": {0: records} if records else {},
                        "produce": stream,
                    }
                ],
                "faults": list(faults),
            },
            "behind",
        )
        return run(scenario, events=True)

    def back_after(self, **machine: Any) -> float:
        """How long a follower that is 100 MB behind needs, over leaders of such a machine."""
        found = self.behind({3: 2000}, **{"disk_write_bytes_per_s": READ_RATE, **machine})
        return next(float(one["t_ms"]) for one in found.events if one["kind"] == "isr_expand")

    def test_the_leaders_disk_decides(self) -> None:
        """At 20 MB/s, a quarter of which may be write-back's: some five seconds and a half."""
        assert 4_000 < self.back_after() < 8_000

    def test_a_faster_one_is_faster(self) -> None:
        """In proportion."""
        slow = self.back_after(disk_read_bytes_per_s=5_000_000, disk_seek_us=None)
        fast = self.back_after(disk_read_bytes_per_s=20_000_000, disk_seek_us=None)
        assert 3 < slow / fast < 5

    def test_what_was_just_written_is_warm(self) -> None:
        """Followers that keep up read no disk."""
        assert ran(1, disk_write_bytes_per_s=10**9, **READS).outcome["cold_read_bytes"] == 0

    def read_for(self, *faults: dict[str, Any], behind: tuple[int, ...] = (3,)) -> int:
        """How much the leader's disk reads for followers that are 20 MB behind."""
        records = dict.fromkeys(behind, 400)
        found = self.behind(records, *faults, disk_write_bytes_per_s=10**9)
        return int(found.outcome["cold_read_bytes"])

    def test_a_second_reader_finds_it_warm(self) -> None:
        """Two followers that fetch the same at one pace cost one read."""
        one, both = self.read_for(), self.read_for(behind=(2, 3))
        assert 20e6 <= one <= both < 1.1 * one

    @pytest.mark.parametrize(("lost", "is_read"), [("nothing", False), ("tail", True)])
    def test_a_power_cut_empties_it(self, lost: str, *, is_read: bool) -> None:
        """A process that ends leaves its data in memory, a machine does not."""
        away = {"kind": "crash", "broker": 3, "start_ms": 5_000, "restart_after_ms": 30_000}
        cut = {"kind": "crash", "broker": 1, "start_ms": 20_000, "restart_after_ms": 1_000}
        other = {"kind": "crash", "broker": 2, "start_ms": 10_000}
        cut |= {"lost": lost, "flush_ms": 1}
        assert (self.read_for(away, other, cut, behind=()) > 0) == is_read

    def test_without_a_speed_all_is_warm(self) -> None:
        """Null is no limit."""
        assert self.back_after(disk_read_bytes_per_s=None) < 2_000


def removals(found: Result) -> list[str]:
    """For what those had waited whom leaders removed."""
    return [said for event in found.events for said in waits_by_load(event)]


class TestCauses:
    """What a shrink says for what its follower had waited."""

    def test_a_followers_own_disk(self) -> None:
        """It alone waits."""
        assert [one.split(" s ")[1] for one in removals(ran(3))] == ["for its own disk"]

    def test_a_leaders_disk(self) -> None:
        """Through the log's lock both wait."""
        assert {one.split(" s ")[1] for one in removals(ran(1))} == {"for broker 1's disk"}

    def test_a_network_thread(self) -> None:
        """Beside a replay."""
        found = removals(run(replayed(own_listener=False), events=True))
        assert {one.split(" s ")[1] for one in found} == {"for its network thread on broker 1"}

    def test_none_by_a_fault(self) -> None:
        """A paused follower has waited for no disk."""
        pause = {"kind": "pause", "broker": 3, "start_ms": 12_000, "duration_ms": 10_000}
        found = ran(None, faults=[pause])
        assert shrinks(found)
        assert removals(found) == []

    def test_none_by_a_stuck_send(self) -> None:
        """The fault holds up the thread, no load does."""
        stall = {"kind": "read_stall", "broker": 1, "stage": "send"}
        found = ran(None, faults=[{**stall, "start_ms": 12_000, "duration_ms": 10_000}])
        assert shrinks(found)
        assert removals(found) == []

    def test_none_by_a_fault_after_a_wait(self) -> None:
        """A disk that stood still for a while explains nothing ten seconds later."""
        pause = {"kind": "pause", "broker": 3, "start_ms": 25_000, "duration_ms": 10_000}
        found = ran(
            3,
            faults=[TestSlowDisk.fault(0, 3_000), pause],
            disk_write_bytes_per_s=50_000_000,
            dirty_bytes=1_000_000,
        )
        assert found.outcome["append_wait_ms"] > 2_000
        assert shrinks(found)
        assert removals(found) == []

    def test_none_by_a_fault_beside_short_waits(self) -> None:
        """What was waited is less than half of the lag."""
        pause = {"kind": "pause", "broker": 3, "start_ms": 15_000, "duration_ms": 10_000}
        scenario = replayed(own_listener=False, bytes_per_s=1_000_000, other=pause)
        found = run(scenario, events=True)
        assert shrinks(found)
        assert removals(found) == []


class TestMeasures:
    """What load makes wait."""

    def test_of_a_follower(self) -> None:
        """Its appends wait, nobody else."""
        found = ran(3).outcome
        assert found["append_wait_ms"] > 1_000
        assert (found["log_wait_ms"], found["cold_read_bytes"]) == (0, 0)

    def test_of_a_leader(self) -> None:
        """Appends, and the fetches behind them."""
        found = ran(1).outcome
        assert min(found["append_wait_ms"], found["log_wait_ms"]) > 1_000

    def test_of_a_replay(self) -> None:
        """Answers, and what the disk has read."""
        found = run(replayed(own_listener=False)).outcome
        assert found["send_wait_ms"] > 1_000
        assert 5e6 < found["cold_read_bytes"] / 20 <= READ_RATE

    def test_of_a_return(self) -> None:
        """From the registration of its process to its last join."""
        crash = {"kind": "crash", "broker": 3, "start_ms": 12_000, "restart_after_ms": 8_000}
        found = ran(None, faults=[crash])
        (back,) = (one["t_ms"] for one in found.events if one["kind"] == "isr_expand")
        assert found.outcome["catch_up_ms"] == pytest.approx(back - 20_000, abs=150)

    def test_of_nothing(self) -> None:
        """A healthy world waits for no disk."""
        found = ran(None).outcome
        assert found["append_wait_ms"] == found["log_wait_ms"] == found["catch_up_ms"] == 0


def test_recovery_reads_the_disk() -> None:
    """After a crash the log is read at its speed, unless the fault says another."""
    crash = {
        "kind": "crash", "broker": 3, "start_ms": 12_000, "restart_after_ms": 8_000,
        "recovery_bytes": 40_000_000,
    }  # fmt: skip
    fast = {**READS, "disk_write_bytes_per_s": 10**9}

    def back_ms(**more: Any) -> float:
        found = ran(3, faults=[{**crash, **more}], **fast)
        return next(float(one["t_ms"]) for one in found.events if one["kind"] == "isr_expand")

    assert back_ms() - back_ms(recovery_bytes_per_s=10**9) == pytest.approx(2_000, abs=700)
