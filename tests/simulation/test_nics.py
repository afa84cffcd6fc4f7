"""NICs of a known speed: what answers and produce requests take on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.worlds.run import run
from tests.simulation.test_cycles import differences

RATE = 1_000_000
FREE_S = 0.046_050
"""When broker 3 joins without a limit: twenty answers of a megabyte, one after the other."""


def made(slow: tuple[int, ...], leaders: tuple[int, ...] = (1,), **more: Any) -> Scenario:
    """Give broker 3 twenty megabytes to fetch; some brokers' NICs carry one a second."""
    rate, speed = more.pop("records_per_s", 0.01), more.pop("speed", RATE)
    load = {"records_per_s": rate, "records_per_batch": 1, "record_bytes": 100_000, "acks": "all"}
    assignment = {p: [one, 3 - one, 3] for p, one in enumerate(leaders)}
    each = 200 // len(leaders)
    return parse_scenario(
        {
            "scenario_id": "nics",
            "warmup_ms": 0,
            "horizon_ms": 60_000,
            "cluster": {
                "release": "3.7-3.9",
                "controller": "kraft",
                "brokers": [1, 2, 3],
                "isr_expiration_phase_ms": {1: 1000, 2: 1000, 3: 1000},
                "broker_hardware": {one: {"nic_bytes_per_s": speed} for one in slow},
            },
            "topics": [
                {
                    "name": "t",
                    "assignment": assignment,
                    "produce": [load],
                    "behind": {p: {3: each} for p in assignment} if more.pop("missed", 1) else {},
                }
            ],
            "config": {"replica.lag.time.max.ms": 4000},
            "service": {"client_requests_per_s": 0},
            **more,
        },
        "nics",
    )


def joined_s(scenario: Scenario) -> float:
    """When broker 3 is in every ISR, in seconds."""
    events = run(scenario, events=True).events
    joins = [float(one["t_ms"]) for one in events if one["kind"] == "isr_expand"]
    return round(max(joins) / 1000, 6)


class TestAnswers:
    """Of a leader to a follower that has much to fetch."""

    def test_without_a_limit(self) -> None:
        """Null is none."""
        assert joined_s(made(())) == FREE_S

    @pytest.mark.parametrize("slow", [(1,), (3,), (1, 3)])
    def test_take_a_second_a_megabyte(self, slow: tuple[int, ...]) -> None:
        """At the sender or the receiver, and no longer where both carry as much."""
        assert joined_s(made(slow)) == FREE_S + 20

    def test_two_leaders_share_the_receivers(self) -> None:
        """Ten megabytes of each: twenty seconds through broker 3's, ten through their own two."""
        assert joined_s(made((3,), (1, 2))) == pytest.approx(20, abs=0.1)
        assert joined_s(made((1, 2), (1, 2))) == pytest.approx(10, abs=0.1)

    def test_what_waits_for_a_dropped_link_holds_up_no_other(self) -> None:
        """Broker 2's answers come while broker 1's wait."""
        drop = {"kind": "link", "from": 1, "to": 3, "drop": True, "start_ms": 500}
        scenario = made((3,), (1, 2), faults=[{**drop, "duration_ms": 20_000}])
        events = run(scenario, events=True).events
        joins = {one["partition"]: one["t_ms"] for one in events if one["kind"] == "isr_expand"}
        assert joins[1] < 13_000
        assert joins[0] > 20_000


class TestProduceRequests:
    """Of producers, whose own NICs nobody knows."""

    def test_take_their_bytes(self) -> None:
        """A hundred kilobytes are a tenth of a second in, and as long out to two followers each."""
        free, slow = (
            run(made(one, missed=0, records_per_s=1)).outcome["produce_latency_acks_all_p50_ms"]
            for one in ((), (1,))
        )
        assert slow - free == pytest.approx(300, abs=5)


def test_jumps_change_nothing() -> None:
    """Below and above what the NIC carries."""
    for rate in (1, 4, 12):
        assert differences(made((1, 3), missed=0, records_per_s=rate)) == []


def test_a_speed_below_a_byte_is_refused() -> None:
    """In a line that names it."""
    with pytest.raises(InputError) as refused:
        made((1,), speed=0)
    assert refused.value.field == "cluster.broker_hardware.1.nic_bytes_per_s"
    assert refused.value.allowed.startswith("a whole number of bytes a second 1..")
