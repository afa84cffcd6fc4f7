"""Settings and service times of single brokers: who has them goes by them, and nobody else."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from isr_pipeline.base.errors import BudgetSpent, InputError
from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.scenarios.model import (
    OWN_TIMES,
    Scenario,
    apply,
    canonical_json,
    parse_scenario,
    scenario_from_json,
)
from isr_pipeline.simulation.world.columns import table_of
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import run
from tests.saying import refused
from tests.scenario import one_topic
from tests.simulation.random_scenarios import FromSeed
from tests.simulation.test_cycles import BUDGET, differences, repeating
from tests.tables import data_of, from_table
from tests.worlds.checks import checked_run

OWN_KEYS: dict[str, list[Any]] = data_of(__file__, "OWN_KEYS")
TIMES: dict[str, list[int]] = data_of(__file__, "TIMES")


def three_brokers(**more: Any) -> dict[str, Any]:
    """Give three brokers that lead a partition each; no other clients, ticks at known times."""
    phases = {"isr_expiration_phase_ms": {"1": 1000, "2": 1000, "3": 1000}}
    config = {"replica.lag.time.max.ms": 10_000, "broker.session.timeout.ms": 60_000}
    return one_topic(
        {
            "assignment": {"0": [1, 2, 3], "1": [2, 3, 1]},
            "produce": [{"records_per_s": 100, "records_per_batch": 1, "acks": "all"}],
        },
        cluster=phases | more.pop("cluster", {}),
        config=config | more.pop("config", {}),
        service={"client_requests_per_s": 0},
        **{"horizon_ms": 40_000, **more},
    )


def read(**more: Any) -> Scenario:
    """Check what :func:`three_brokers` gives."""
    return parse_scenario(three_brokers(**more), "F")


def pause(broker: int, start_ms: float = 10_000, duration_ms: float = 25_000) -> dict[str, Any]:
    """Stop a broker's process for a while."""
    return {"kind": "pause", "broker": broker, "start_ms": start_ms, "duration_ms": duration_ms}


def test_every_key_is_a_brokers_own_or_says_why_not() -> None:
    """A key that the simulation reads is tried here, or has a reason to be the whole cluster's."""
    own = {name for name, key in KEYS.items() if key.is_read and not key.shared}
    assert own == set(OWN_KEYS)
    assert set(TIMES) == set(OWN_TIMES)


class TestTicks:
    """The leader's own lag limit decides, at its own ticks."""

    OWN: ClassVar = {"1": {"replica.lag.time.max.ms": 4000}, "2": {"replica.lag.time.max.ms": 8000}}

    def decided(self, scenario: Scenario) -> dict[int, float]:
        """Partition -> when its leader decided to shrink its ISR."""
        events = checked_run(scenario, events=True).events
        return {e["partition"]: e["decided_ms"] for e in events if e["kind"] == "isr_shrink"}

    def test_each_leader_shrinks_at_its_own(self) -> None:
        """Caught up at 10 s: past 4 s at a tick every 2 s is 15 s, past 8 s every 4 s is 21 s."""
        scenario = read(cluster={"broker_settings": self.OWN}, faults=[pause(3)])
        assert self.decided(scenario) == {0: 15_000, 1: 21_000}

    def test_a_configuration_leaves_it_alone(self) -> None:
        """As in Kafka: 2 s for all brokers make 12 s of the first, and change no broker's own."""
        own = {"2": self.OWN["2"]}
        scenario = read(cluster={"broker_settings": own}, faults=[pause(3)])
        changed = apply(scenario, {"replica.lag.time.max.ms": 2000})
        assert self.decided(changed) == {0: 12_000, 1: 21_000}

    def test_detection_is_overdue_by_the_leaders(self) -> None:
        """From fault and lag limit to the commit 30 ms after the tick: 1 030 and 3 030 ms."""
        scenario = read(cluster={"broker_settings": self.OWN}, faults=[pause(3)])
        assert checked_run(scenario).outcome["detection_delay_ms"] == 4060


class TestSessions:
    """Under ZooKeeper a broker's session is as long as the broker itself asks for."""

    def test_each_broker_is_fenced_after_its_own(self) -> None:
        """A third of the session at most lies between the last heartbeat and the pause."""
        scenario = read(
            cluster={
                "controller": "zookeeper",
                "release": "3.3-3.6",
                "broker_settings": {"3": {"zookeeper.session.timeout.ms": 12_000}},
            },
            config={"zookeeper.session.timeout.ms": 6000, "replica.lag.time.max.ms": 30_000},
            faults=[pause(2), pause(3)],
        )
        events = checked_run(scenario, events=True).events
        fenced = {e["broker"]: e["t_ms"] for e in events if e["kind"] == "broker_fenced"}
        assert 14_000 <= fenced[2] <= 16_000
        assert 18_000 <= fenced[3] <= 22_000


class TestFetches:
    """What a follower asks for is its own."""

    def test_a_follower_waits_as_long_as_it_says(self) -> None:
        """With nothing to fetch for 10 s it asks 20 times a leader, or every 50 ms 200 times."""

        def events(own: dict[str, Any]) -> int:
            raw = three_brokers(cluster={"broker_settings": own}, horizon_ms=10_000)
            raw["topics"][0]["produce"] = []
            found: int = run(parse_scenario(raw, "F")).outcome["kernel_events"]
            return found

        quiet, hasty = events({}), events({"3": {"replica.fetch.wait.max.ms": 50}})
        more = (hasty - quiet) / (2 * (200 - 20))
        assert 3.9 <= more <= 4  # moments of a fetch: it comes, its wait is over, it is sent, back

    def test_fetchers_and_threads_are_its_own(self) -> None:
        """Handlers, network threads and fetcher threads of a broker lie one behind the other."""
        own = {"2": {"num.io.threads": 3, "num.network.threads": 5, "num.replica.fetchers": 2}}
        scenario = read(cluster={"broker_settings": own}, config={"num.io.threads": 4})
        world = encode(scenario)
        brokers = table_of(world.w, "brokers")
        assert brokers["io_threads"].tolist() == [4, 3, 4]
        assert brokers["network_threads"].tolist() == [3, 5, 3]
        assert brokers["thread_count"].tolist() == [2, 4, 2]
        of_handlers = table_of(world.w, "handlers")["broker"]
        assert of_handlers.tolist() == np.repeat(brokers.places, [4, 3, 4]).tolist()
        assert world.header.handler_count == 11
        assert world.header.sender_count == 11


class TestService:
    """Service times of a broker's own machine."""

    def test_a_slow_follower_keeps_its_leaders_waiting(self) -> None:
        """Where its append takes 20 ms no commit comes sooner; 60 us leave it below one."""
        plain, slow = (
            run(read(cluster={"broker_service": own})).outcome["commit_latency_p50_ms"]
            for own in ({}, {"3": {"append_us": 20_000}})
        )
        assert plain < 1
        assert 20 < slow < 21

    def test_clients_may_spare_a_broker(self) -> None:
        """Client requests come at each broker's own rate, to some not at all."""
        own = {"1": {"client_requests_per_s": 0}, "3": {"client_requests_per_s": 200}}
        raw = three_brokers(cluster={"broker_service": own})
        raw["service"] = {"client_requests_per_s": 100}
        periods = table_of(encode(parse_scenario(raw, "F")).w, "brokers")["client_period_ns"]
        assert periods.tolist() == [0, 10_000_000, 5_000_000]


def own_for_all(raw: dict[str, Any], source: FromSeed) -> tuple[dict[str, Any], dict[str, Any]]:
    """One scenario twice: values for all brokers, and the same values as each broker's own."""
    settings = {key: source.of(values) for key, values in OWN_KEYS.items()}
    times = {name: source.of(values) for name, values in TIMES.items()}
    brokers = [str(broker) for broker in raw["cluster"]["brokers"]]
    raw["cluster"].pop("isr_expiration_phase_ms", None)
    shared = {
        **raw,
        "config": {**raw["config"], **settings},
        "service": {**raw["service"], **times},
    }
    cluster = {
        **raw["cluster"],
        "broker_settings": dict.fromkeys(brokers, settings),
        "broker_service": dict.fromkeys(brokers, times),
    }
    return shared, {**raw, "cluster": cluster}


class TestRandom:
    """Scenarios of every release, with faults."""

    def test_own_values_that_are_all_equal_change_nothing(self) -> None:
        """What all brokers have of their own is what the configuration says of all."""
        compared = 0
        for seed in range(40):
            shared, own = own_for_all(repeating(seed), FromSeed(1000 + seed))
            try:
                one = run(parse_scenario(shared, "all"), events=True, budget=BUDGET)
                other = run(parse_scenario(own, "own"), events=True, budget=BUDGET)
            except (BudgetSpent, InputError):
                continue
            assert one.outcome == other.outcome, f"seed {seed}"
            assert one.events == other.events, f"seed {seed}"
            compared += 1
        assert compared > 20

    def test_brokers_that_differ_may_jump(self) -> None:
        """Jumps over what repeats change nothing where every broker has values of its own."""
        compared = 0
        for seed in range(60):
            source = FromSeed(2000 + seed)
            raw = repeating(seed)
            raw["cluster"].pop("isr_expiration_phase_ms", None)
            brokers = [str(broker) for broker in raw["cluster"]["brokers"]]
            for name, of in (("broker_settings", OWN_KEYS), ("broker_service", TIMES)):
                raw["cluster"][name] = {
                    broker: {
                        key: source.of(values)
                        for key, values in of.items()
                        if source.whole(0, 2) == 0
                    }
                    for broker in brokers
                }
            try:
                found = differences(parse_scenario(raw, "random"))
            except (BudgetSpent, InputError):
                continue
            assert not found, f"seed {seed}: {found}"
            compared += 1
        assert compared > 30

    def test_a_line_of_a_panel_keeps_them(self) -> None:
        """A scenario written as a line and read back runs alike."""
        own = {"3": {"replica.lag.time.max.ms": 4000}}
        scenario = read(
            cluster={"broker_settings": own, "broker_service": {"2": {"send_us": 700}}},
            faults=[pause(1)],
        )
        again = scenario_from_json(canonical_json(scenario))
        assert again == scenario
        assert run(again).outcome == run(scenario).outcome


@from_table
def test_refused(cluster: dict[str, Any], line: str) -> None:
    """One line: where, what was given, what is allowed."""
    assert refused(lambda: read(cluster=cluster)).startswith(f"F: cluster.{line}")
