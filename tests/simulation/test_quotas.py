"""Replication quotas: a follower outside the ISR gets, or asks for, no more than its rate."""

from __future__ import annotations

import math
from typing import Any

import pytest

from isr_pipeline.base.errors import BudgetSpent, InputError
from isr_pipeline.kafka.releases import RULE_SETS, default_controller
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.worlds.reuse import Simulations
from isr_pipeline.worlds.run import run
from tests.simulation.random_scenarios import FromSeed
from tests.simulation.test_cycles import differences, finished, repeating

RATE = 1_000_000
MISSED = 20
"""Megabytes that broker 3 has missed, in batches of 100 kB."""


def made(side: str, rate: int = RATE, missed: int = MISSED, **more: Any) -> Scenario:
    """Give broker 3 twenty megabytes to fetch from broker 1, in fetches of a megabyte."""
    release = more.pop("release", "3.7-3.9")
    config = {
        "replica.lag.time.max.ms": 4000,
        f"{side}.replication.throttled.rate": rate,
        f"{side}.replication.throttled.replicas": "*",
    }
    return parse_scenario(
        {
            "scenario_id": "quotas",
            "warmup_ms": 0,
            "horizon_ms": more.pop("horizon_ms", 60_000),
            "cluster": {
                "release": release,
                "controller": default_controller(RULE_SETS[release]),
                "brokers": [1, 2, 3],
                "isr_expiration_phase_ms": {1: 1000, 2: 1000, 3: 1000},
            },
            "topics": [
                {
                    "name": "t",
                    "assignment": {0: [1, 2, 3]},
                    "produce": [
                        {
                            "records_per_s": more.pop("records_per_s", 0.01),
                            "records_per_batch": 1,
                            "record_bytes": 100_000,
                            "acks": 1,
                        }
                    ],
                    "behind": {0: {3: 10 * missed}} if missed else {},
                    "settings": more.pop("settings", {}),
                }
            ],
            "config": config | more.pop("config", {}),
            "service": {"client_requests_per_s": 0},
            **more,
        },
        "quotas",
    )


def joined_s(scenario: Scenario) -> float:
    """When broker 3 is in the ISR, in seconds; infinite if it never is."""
    for event in run(scenario, events=True).events:
        if event["kind"] == "isr_expand" and 3 in event["isr"]:
            return float(round(event["t_ms"] / 1000, 6))
    return math.inf


class TestLeader:
    """What a leader sends to a follower outside the ISR."""

    def test_a_megabyte_a_second(self) -> None:
        """One at once, one more that this second still allows, then one a second: the last at 19 s.

        Its fetch waits in purgatory meanwhile and is looked at every half second.
        """
        assert joined_s(made("leader")) == 19.059_050

    def test_without_a_limit(self) -> None:
        """Null is none, whatever is throttled."""
        assert joined_s(made("leader", 2**63 - 1)) == 0.046_050

    @pytest.mark.parametrize(
        ("throttled", "is_slow"), [("0:1", True), ("0:3", False), ("1:1", False), ("*", True)]
    )
    def test_its_own_replica_is_listed(self, throttled: str, is_slow: bool) -> None:
        """By the topic's list, before the cluster's."""
        settings = {"leader.replication.throttled.replicas": throttled}
        joined = joined_s(made("leader", settings=settings))
        assert (joined > 19) == is_slow

    def test_what_members_fetch_counts(self) -> None:
        """Half of the rate goes to broker 2, so that what comes is all that broker 3 gets."""
        assert joined_s(made("leader", missed=8, records_per_s=5)) == math.inf
        assert joined_s(made("leader", missed=8, records_per_s=2)) < 20

    def test_a_member_is_never_throttled(self) -> None:
        """Five records a second go to both followers, at a rate of nothing."""
        found = run(made("leader", 0, missed=0, records_per_s=5))
        assert found.outcome["commit_latency_p99_ms"] < 5

    def test_zero_lets_a_fetch_pass_in_eleven_seconds(self) -> None:
        """Until the window has forgotten the one before."""
        assert joined_s(made("leader", 0, missed=2)) == pytest.approx(11, abs=0.6)

    def test_a_release_without_quotas(self) -> None:
        """0.8.2 knows none."""
        joined = joined_s(made("leader", release="0.8.2"))
        assert joined < 1


class TestDelayedFetches:
    """A member's fetch waits for records of a throttled partition while the rate is exceeded."""

    @pytest.mark.parametrize(
        ("release", "waits"), [("0.10.2-2.0", True), ("2.1-2.6", False), ("4.1+", False)]
    )
    def test_waits_out_its_time_to_1_1_0(self, release: str, waits: bool) -> None:
        """KAFKA-6937: half a second, though records are there."""
        config = {"replica.lag.time.max.ms": 10_000}
        scenario = made("leader", 0, release=release, records_per_s=2, config=config, missed=0)
        found = run(scenario).outcome["commit_latency_p50_ms"]
        assert (found > 50) == waits


class TestFollower:
    """What a follower asks for that knows to be behind."""

    def test_a_megabyte_a_second(self) -> None:
        """The same: its thread, which has nothing else to fetch, looks every second."""
        assert joined_s(made("follower")) == 19.046_050

    def test_asks_once_it_is_in_sync(self) -> None:
        """The last megabyte brings it to the high watermark: from then on nothing holds it up."""
        scenario = made("follower", missed=2, records_per_s=25)
        assert run(scenario, events=True).outcome["isr_shrinks"] == 0
        assert joined_s(scenario) < 3

    def test_looks_after_each_back_off(self) -> None:
        """replica.fetch.backoff.ms."""
        config = {"replica.fetch.backoff.ms": 7000}
        assert joined_s(made("follower", missed=4, config=config)) == pytest.approx(7, abs=0.1)

    @pytest.mark.parametrize(("throttled", "is_slow"), [("0:3", True), ("0:1", False)])
    def test_its_own_replica_is_listed(self, throttled: str, is_slow: bool) -> None:
        """The follower's, not the leader's."""
        settings = {"follower.replication.throttled.replicas": throttled}
        joined = joined_s(made("follower", settings=settings))
        assert (joined > 19) == is_slow

    def test_begins_anew_with_its_process(self) -> None:
        """What it fetched before it died is forgotten: the second megabyte need not wait."""
        crash = {"kind": "crash", "broker": 3, "start_ms": 100, "restart_after_ms": 2000}
        config = {"broker.session.timeout.ms": 1000, "broker.heartbeat.interval.ms": 500}
        joined = joined_s(made("follower", 0, missed=2, faults=[crash], config=config))
        assert 2 < joined < 4


class TestShortcuts:
    """Jumps and shared runs know of quotas."""

    @pytest.mark.parametrize("side", ["leader", "follower"])
    @pytest.mark.parametrize("rate", [0, 300_000, RATE, 2**62])
    def test_jumps_change_nothing(self, side: str, rate: int) -> None:
        """Below, at and above what comes."""
        assert differences(made(side, rate, records_per_s=5, missed=3, horizon_ms=90_000)) == []

    @pytest.mark.parametrize("seed", range(20))
    def test_jumps_change_nothing_in_random_worlds(self, seed: int) -> None:
        """Whatever else happens there, with NICs besides."""
        source, raw = FromSeed(seed), repeating(seed)
        for side in ("leader", "follower"):
            raw["config"][f"{side}.replication.throttled.replicas"] = source.of(
                ("", "*", "0:1,0:2")
            )
            raw["config"][f"{side}.replication.throttled.rate"] = source.of((0, 2_000, 200_000))
        raw["config"]["replication.quota.window.num"] = source.of((1, 2, 11))
        machine = raw["cluster"].setdefault("hardware", {})
        machine["nic_bytes_per_s"] = source.of((2_000, 20_000, None))
        try:
            assert differences(parse_scenario(raw, "random")) == []
        except BudgetSpent:
            pytest.skip("more events than a test should take")

    def test_a_quiet_quota_is_jumped(self) -> None:
        """Bytes that come at a rate fill samples that repeat."""
        header = finished(made("leader", records_per_s=4, missed=0, horizon_ms=300_000), jumps=True)
        assert header.header.jump_count > 0

    def test_a_run_that_asked_nobody_is_shared(self) -> None:
        """Another rate changes nothing where all stay in sync."""
        for missed, simulated in ((0, 1), (3, 2)):
            runs = Simulations()
            for rate in (RATE, 10 * RATE):
                runs.result_for(made("follower", rate, missed=missed))
            assert runs.simulated == simulated


class TestRefused:
    """What no broker takes."""

    @pytest.mark.parametrize(
        ("key", "value", "allowed"),
        [
            ("leader.replication.throttled.rate", -1, "a whole number 0.."),
            ("leader.replication.throttled.replicas", "0", "* or a list of partition:broker"),
            ("replication.quota.window.num", 0, "a whole number 1..1000"),
        ],
    )
    def test_a_setting(self, key: str, value: int | str, allowed: str) -> None:
        """In a line that names it."""
        with pytest.raises(InputError) as refused:
            made("leader", config={key: value})
        assert refused.value.field == f"config.{key}"
        assert refused.value.allowed.startswith(allowed)
