"""A disk of a known speed: when an append may return, and whom it holds up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.kafka.rows import Array
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.simulation.disk import begin_write, disk_of, written_at
from isr_pipeline.simulation.world.jit import entry
from isr_pipeline.simulation.world.tables import world_in
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import Result, run
from tests.simulation.test_cycles import differences

RATE, DIRTY = 2_000_000, 8_000_000
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
        look_all(encode(made(1)).w, times, ends)
        assert int(np.ptp(ends)) <= 1


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
