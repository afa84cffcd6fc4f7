"""What holds in every scenario: invariants after every event, and of every run as a whole.

`make test` draws the same few hundred scenarios each time. The long run draws others each time:

    ISR_PIPELINE_EXAMPLES=10000 .venv/bin/pytest tests/simulation/test_invariants.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from isr_pipeline.base.errors import BudgetSpent
from isr_pipeline.kafka.rows import Row
from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.simulation.world import tables
from isr_pipeline.simulation.world.states import HandlerState, Standing
from isr_pipeline.simulation.world.tables import (
    INF,
    NEVER,
    NOT_DUE,
    SLOT_BITS,
    FetcherThread,
    Partition,
    Replica,
    Request,
)
from isr_pipeline.worlds.encoder import World, encode
from isr_pipeline.worlds.events import events_of
from isr_pipeline.worlds.run import Result, outcome_of, run
from tests.saying import refused
from tests.scenario import one_topic_scenario
from tests.simulation.invariants import INVARIANTS, first_broken, remembered
from tests.simulation.random_scenarios import BUDGET, scenarios
from tests.tables import from_table
from tests.worlds.checks import InvariantBroken, check_run, checked_run, run_checked

EXAMPLES = int(os.environ.get("ISR_PIPELINE_EXAMPLES", "300"))
LONG = "ISR_PIPELINE_EXAMPLES" in os.environ

drawn = settings(
    max_examples=EXAMPLES,
    derandomize=not LONG,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def simple(**more: object) -> Scenario:
    """Three brokers, two partitions, a little load; every invariant has something to look at."""
    produce = {"records_per_s": 20, "records_per_batch": 1, "acks": "all"}
    return one_topic_scenario(
        {"partitions": 2, "replication_factor": 3, "produce": produce},
        **{"horizon_ms": 3000, "service": {"client_requests_per_s": 0}, **more},
    )


class TestElectionFromTheElr:
    """KIP-966: the last member of an ISR goes, and a replica of the ELR leads, in one change."""

    def test_the_change_lists_the_new_leader(self) -> None:
        """The event of the removal has the ISR that the election made of it."""
        scenario = one_topic_scenario(
            {"assignment": {0: [2, 1]}},
            cluster={"release": "4.1+", "brokers": [1, 2]},
            horizon_ms=4000,
            config={
                "replica.lag.time.max.ms": 500,
                "min.insync.replicas": 2,
                "eligible.leader.replicas.version": 1,
                "broker.session.timeout.ms": 500,
                "broker.heartbeat.interval.ms": 100,
            },
            faults=[
                {"kind": "stop_replica", "start_ms": 0, "broker": 1, "topic": "t", "partition": 0},
                {"kind": "crash", "start_ms": 1500, "broker": 2},
            ],
        )
        events = checked_run(scenario, events=True).events
        removed = next(one for one in events if one["kind"] == "controller_isr_remove")
        assert removed["isr"] == [1]


class TestRandomScenarios:
    """Whatever is drawn, the simulator keeps its word."""

    @drawn
    @given(scenario=scenarios())
    def test_every_invariant_holds_in_every_scenario(self, scenario: Scenario) -> None:
        """Neither an event nor a run as a whole breaks an invariant, or raises anything."""
        try:
            checked_run(scenario, events=True, budget=BUDGET)
        except BudgetSpent:
            assume(False)  # a load that this budget does not reach the end of: not a hang

    @settings(drawn, max_examples=min(EXAMPLES, 100))
    @given(scenario=scenarios())
    def test_the_debug_build_sees_what_everybody_sees(self, scenario: Scenario) -> None:
        """A checked run gives the outcome and the events of an unchecked one."""
        try:
            checked = checked_run(scenario, events=True, budget=BUDGET)
        except BudgetSpent:
            with pytest.raises(BudgetSpent):
                run(scenario, events=True, budget=BUDGET)
            return
        assert run(scenario, events=True, budget=BUDGET) == checked


def world_at_rest(release: str = "3.7-3.9", controller: str = "kraft") -> World:
    """A world before its first event."""
    cluster = {"release": release, "controller": controller, "brokers": [1, 2, 3]}
    return encode(simple(cluster=cluster), events=True)


def broken(world: World, seen: Any) -> int:
    """Number of the first invariant that does not hold in a world."""
    found: int = first_broken(world.w, world.switches, seen)
    return found


def header(world: World) -> tables.World:
    """The world's header."""
    return world.header


def leader(world: World) -> Replica:
    """The first partition's leader."""
    return world.header.replicas[0]


def first_partition(world: World) -> Partition:
    """The first partition."""
    return world.header.partitions[0]


def first_broker(world: World) -> tables.Broker:
    """The first broker."""
    return world.header.brokers[0]


def _set(row: Callable[[World], Row], cell: str, value: int) -> Callable[[World], None]:
    """A damage: one cell gets another value."""

    def damage(world: World) -> None:
        setattr(row(world), cell, value)

    return damage


def _member_behind(world: World) -> None:
    leader(world).log_end_offset = 10
    leader(world).high_watermark = 5


def _record_behind(world: World) -> None:
    for pos in range(3):
        leader(world)[pos].log_end_offset = 10
    leader(world).high_watermark = 5
    leader(world).followers[1].log_end_offset = 3


def _ledger_ahead(world: World) -> None:
    first_partition(world).ledger_tail = 1
    first_partition(world).ledger.end = 7


def _validated(world: World) -> tuple[FetcherThread, Request]:
    """Let the first thread have a validated request of one partition; returns both."""
    thread = world.header.threads
    thread.validated_at = world.header.rare_events
    thread.request = request = thread.requests
    request.entry_count = 1
    request.entries.offset = 0
    thread.fetched.answered_high_watermark = request.entries.high_watermark
    return thread, request


def _validated_against_its_state(world: World) -> None:
    thread, _ = _validated(world)
    thread.fetched.follower.must_truncate = 1


DAMAGES: dict[int, Callable[[World], None]] = {
    1: _set(header, "now", INF),
    2: _set(first_partition, "leader", 1),
    3: _set(leader, "leader_epoch", 1),
    4: _set(leader, "isr", 0b110),
    5: _set(first_partition, "elr", 0b100),
    6: _set(first_broker, "is_fenced", 1),
    7: _set(leader, "isr", 0b011),
    8: _set(leader, "high_watermark", 1),
    10: _member_behind,
    11: _record_behind,
    12: _ledger_ahead,
    13: _set(header, "lost_records", 1),
    16: _set(header, "failed_partitions", 1),
    17: _set(first_partition, "flags", Standing.OFFLINE),
    18: _set(header, "uncommitted_batches", 1),
    19: _set(first_broker, "idle_handlers", 3),
    20: _set(leader, "readers", 1),
    21: _set(lambda world: world.header.handlers, "state", HandlerState.PRODUCE),
    22: _set(lambda world: leader(world)[1], "leader", -1),
    23: _set(first_broker, "alter_queued", 1),
    24: _validated_against_its_state,
    25: _set(first_partition, "eligible", 0b011),
    27: _set(lambda world: first_broker(world).disks, "dirty", 1),
}


class TestNoticing:
    """An invariant that could not break would prove nothing."""

    @pytest.mark.slow
    def test_a_world_at_rest_breaks_none(self) -> None:
        """Before the first event everything holds."""
        world = world_at_rest()
        assert broken(world, _seen(world)) == 0

    @pytest.mark.parametrize("number", sorted(DAMAGES))
    def test_each_is_noticed_when_it_is_broken(self, number: int) -> None:
        """One changed cell breaks the invariant that is about it."""
        world = world_at_rest()
        seen = _seen(world)
        DAMAGES[number](world)
        if number == 21:
            first_broker(world).idle_handlers -= 1
        assert broken(world, seen) == number

    def test_a_falling_high_watermark_is_noticed(self) -> None:
        """Invariant 9 compares with the event before."""
        world = world_at_rest()
        leader(world).log_end_offset = 5
        leader(world).high_watermark = 5
        seen = _seen(world)
        leader(world).high_watermark = 4
        assert broken(world, seen) == 9

    def test_what_is_known_of_a_member_may_go_back(self) -> None:
        """Not invariant 11: a fetch given up, of an older offset, is read after a later one."""
        world = world_at_rest()
        _record_behind(world)
        followers = leader(world).followers
        followers[1].log_end_offset = followers[2].log_end_offset = 5
        seen = _seen(world)
        followers[1].log_end_offset = 3
        assert broken(world, seen) == 0
        seen = _seen(world)
        assert broken(world, seen) == 11

    def test_a_high_watermark_that_does_not_wait_is_noticed(self) -> None:
        """Invariant 14: a replica outside the ISR, but within its lag, holds it up."""
        world = world_at_rest("4485-doc", "zookeeper")
        partition, followers = first_partition(world), leader(world).followers
        seen = _seen(world)
        partition.isr = leader(world).isr = 0b011
        partition.flags = Standing.UNDER_REPLICATED
        for pos in range(2):
            replica = leader(world)[pos]
            replica.log_end_offset = replica.high_watermark = 10
        followers[1].log_end_offset = 10
        followers[2].log_end_offset = 3
        assert broken(world, seen) == 14
        followers[2].last_caught_up_time = NEVER
        assert broken(world, seen) == 0

    def test_a_laggard_in_the_isr_is_noticed(self) -> None:
        """Invariant 15: one tick after the lag limit, and not at that very moment."""
        world = world_at_rest("4485-doc", "zookeeper")
        seen = _seen(world)
        broker, tree = first_broker(world), header(world).tree
        for node in range(header(world).tree_size):
            tree[node] = (NOT_DUE - 1) << SLOT_BITS
        header(world).now = broker.lag_time_max_us + broker.tick_period_us
        assert broken(world, seen) == 0
        header(world).now += 1
        assert broken(world, seen) == 15

    @pytest.mark.parametrize(
        ("row", "cell"), [(leader, "newest_epoch"), (first_broker, "faults_on")]
    )
    def test_what_is_kept_is_compared(self, row: Callable[[World], Row], cell: str) -> None:
        """Invariant 25 looks at the newest epochs and the disk faults as well."""
        world = world_at_rest()
        seen = _seen(world)
        _set(row, cell, 1)(world)
        assert broken(world, seen) == 25

    def test_the_error_names_invariant_scenario_and_time(self) -> None:
        """Whoever sees it knows where to look."""
        world = world_at_rest()
        DAMAGES[7](world)
        assert refused(lambda: run_checked("simple", world), InvariantBroken) == (
            "scenario simple, 0.0 ms: does not hold: the maximal ISR contains the committed ISR (7)"
        )

    def test_invariants_are_numbered_without_a_gap(self) -> None:
        """A number stands for one invariant for good."""
        assert list(INVARIANTS) == list(range(1, len(INVARIANTS) + 1))

    @from_table
    def test_an_outcome_that_contradicts_itself_is_noticed(
        self, column: str, value: float, said: str
    ) -> None:
        """One changed column is enough."""
        scenario, world, done = finished()
        done.outcome[column] = value
        line = refused(lambda: check_run(scenario, world, done), InvariantBroken)
        assert line == f"scenario one-topic: does not hold: {said}"

    @from_table
    def test_events_that_contradict_each_other_are_noticed(
        self, change: dict[str, object], said: str
    ) -> None:
        """One changed event is enough."""
        scenario, world, done = finished()
        place = next(i for i, e in enumerate(done.events) if e["kind"] == "isr_shrink")
        done.events[place].update(change)
        with pytest.raises(InvariantBroken) as caught:
            check_run(scenario, world, done)
        assert caught.value.invariant == said


def _seen(world: World) -> Any:
    """What the invariants remember of a world at rest."""
    return remembered(world.w)


def finished() -> tuple[Scenario, World, Result]:
    """A run in which a paused follower leaves the ISR and comes back."""
    scenario = simple(
        config={"replica.lag.time.max.ms": 500, "broker.session.timeout.ms": 9000},
        faults=[{"kind": "pause", "broker": 3, "start_ms": 500, "duration_ms": 1500}],
    )
    world = encode(scenario, events=True)
    run_checked(scenario.scenario_id, world)
    done = Result(outcome=outcome_of(world), events=events_of(world).named())
    check_run(scenario, world, done)
    return scenario, world, done
