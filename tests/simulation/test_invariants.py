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

from isr_pipeline.errors import BudgetSpent
from isr_pipeline.kafka.record import LAST_CAUGHT_UP, LEO, PREV_LEADER_LEO
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.simulation.invariants import INVARIANTS, first_broken, remembered
from isr_pipeline.simulation.world import layout as at
from isr_pipeline.worlds.checks import InvariantBroken, check_run, checked_run, run_checked
from isr_pipeline.worlds.encoder import World, encode
from isr_pipeline.worlds.events import events_of
from isr_pipeline.worlds.results import Result, outcome_of
from isr_pipeline.worlds.run import run
from tests.simulation.random_scenarios import BUDGET, scenarios

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
    return parse_scenario(
        {
            "scenario_id": "simple",
            "horizon_ms": 3000,
            "warmup_ms": 0,
            "cluster": {"release": "3.7+", "controller": "kraft", "brokers": [1, 2, 3]},
            "service": {"client_requests_per_s": 0},
            "topics": [
                {
                    "name": "t",
                    "partitions": 2,
                    "replication_factor": 3,
                    "produce": {"records_per_s": 20, "records_per_batch": 1, "acks": "all"},
                }
            ],
            **more,
        },
        "simple",
    )


class TestElectionFromTheElr:
    """KIP-966: the last member of an ISR goes, and a replica of the ELR leads, in one change."""

    def test_the_change_lists_the_new_leader(self) -> None:
        """The event of the removal has the ISR that the election made of it."""
        raw = {
            "scenario_id": "elr",
            "horizon_ms": 4000,
            "warmup_ms": 0,
            "cluster": {"release": "4.1+", "controller": "kraft", "brokers": [1, 2]},
            "topics": [{"name": "a", "assignment": {0: [2, 1]}}],
            "config": {
                "replica.lag.time.max.ms": 500,
                "min.insync.replicas": 2,
                "eligible.leader.replicas.version": 1,
                "broker.session.timeout.ms": 500,
                "broker.heartbeat.interval.ms": 100,
            },
            "faults": [
                {
                    "kind": "stop_replica",
                    "start_ms": 0,
                    "broker": 1,
                    "topic": "a",
                    "partition": 0,
                },
                {"kind": "crash", "start_ms": 1500, "broker": 2},
            ],
        }
        events = checked_run(parse_scenario(raw, "elr"), events=True).events
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


def world_at_rest(release: str = "3.7+", controller: str = "kraft") -> World:
    """A world before its first event."""
    cluster = {"release": release, "controller": controller, "brokers": [1, 2, 3]}
    return encode(simple(cluster=cluster), events=True)


def leader_row(world: World) -> int:
    """Row pointer of the first partition's leader."""
    return int(world.w[at.H_ROW])


def first_partition(world: World) -> int:
    """Row pointer of the first partition."""
    return int(world.w[at.H_PART])


def first_broker(world: World) -> int:
    """Row pointer of the first broker."""
    return int(world.w[at.H_BRK])


def _set(place: Callable[[World], int], field: int, value: int) -> Callable[[World], None]:
    """A damage: one cell gets another value."""

    def damage(world: World) -> None:
        world.w[place(world) + field] = value

    return damage


def _member_behind(world: World) -> None:
    world.w[leader_row(world) + at.R_LEO] = 10
    world.w[leader_row(world) + at.R_HW] = 5


def _record_behind(world: World) -> None:
    for pos in range(3):
        world.w[leader_row(world) + pos * at.R_SIZE + at.R_LEO] = 10
    world.w[leader_row(world) + at.R_HW] = 5
    world.rec[1, LEO] = 3


def _ledger_ahead(world: World) -> None:
    w, p = world.w, first_partition(world)
    w[p + at.P_LED_TAIL] = 1
    w[w[at.H_LEDGER] + w[p + at.P_LED_BASE] * at.L_SIZE + at.L_END] = 7


def _validated(world: World) -> tuple[int, int]:
    """Let the first thread have a validated request of one partition; returns both."""
    w, t = world.w, int(world.w[at.H_THR])
    w[t + at.T_VALIDATED] = w[at.G_RARE]
    q = w[t + at.T_REQ] = w[t + at.T_REQ0]
    w[q + at.Q_N] = 1
    w[w[q + at.Q_ENT] + at.E_OFFSET] = 0
    return t, int(q)


def _validated_against_its_state(world: World) -> None:
    w = world.w
    t, _ = _validated(world)
    w[w[w[t + at.T_FETCHED] + at.K_FROW] + at.R_NEED_TRUNC] = 1


def _unheard(field: int) -> Callable[[World], None]:
    """Let the leader, the entry and the follower differ in one cell of which nobody was told."""

    def damage(world: World) -> None:
        w = world.w
        t, q = _validated(world)
        fetched = int(w[t + at.T_FETCHED])
        place = {
            at.R_LEO: w[fetched + at.K_LROW],
            at.E_HW: w[q + at.Q_ENT],
            at.K_HW: fetched,
        }
        w[place[field] + field] += 1

    return damage


def _unchanged(world: World) -> Callable[[int], None]:
    """Let the first thread's first partition be unchanged; returns how to change its record."""
    w = world.w
    t, q = _validated(world)
    w[w[t + at.T_MASKS] + at.W_DIRTY] = 0
    w[w[t + at.T_MASKS] + at.W_UNCHANGED] = 1
    row = int(w[w[t + at.T_FETCHED] + at.K_REC])
    world.rec[row, LEO] = world.rec[row, PREV_LEADER_LEO] = w[w[q + at.Q_ENT] + at.E_OFFSET]

    def change(field: int) -> None:
        world.rec[row, field] += 1

    return change


def _not_unchanged(world: World) -> None:
    _unchanged(world)(PREV_LEADER_LEO)


def _deferred_by_nobody(world: World) -> None:
    _, q = _validated(world)
    world.w[q + at.Q_PENDING] = 0b11


DAMAGES: dict[int, Callable[[World], None]] = {
    1: _set(lambda _: 0, at.G_NOW, at.INF),
    2: _set(first_partition, at.P_LEADER, 1),
    3: _set(leader_row, at.R_EPOCH, 1),
    4: _set(leader_row, at.R_ISR, 0b110),
    5: _set(first_partition, at.P_ELR, 0b100),
    6: _set(first_broker, at.B_FENCED, 1),
    7: _set(leader_row, at.R_ISR, 0b011),
    8: _set(leader_row, at.R_HW, 1),
    10: _member_behind,
    11: _record_behind,
    12: _ledger_ahead,
    13: _set(lambda _: 0, at.G_LOST, 1),
    16: _set(lambda _: 0, at.G_FAILED, 1),
    17: _set(first_partition, at.P_FLAGS, at.FLAG_OFFLINE),
    18: _set(lambda _: 0, at.G_UNCOMMITTED, 1),
    19: _set(first_broker, at.B_IO_IDLE, 3),
    20: _set(leader_row, at.R_READERS, 1),
    21: _set(lambda world: int(world.w[at.H_HND]), at.D_STATE, at.DS_PRODUCE),
    22: _set(lambda world: leader_row(world) + at.R_SIZE, at.R_LEADER, -1),
    23: _set(first_broker, at.B_ALTER_QUEUED, 1),
    24: _validated_against_its_state,
    25: _set(first_partition, at.P_ELIGIBLE, 0b011),
    26: _unheard(at.R_LEO),
    27: _not_unchanged,
    28: _deferred_by_nobody,
}


class TestNoticing:
    """An invariant that could not break would prove nothing."""

    def test_a_world_at_rest_breaks_none(self) -> None:
        """Before the first event everything holds."""
        world = world_at_rest()
        assert first_broken(world.w, world.rec, world.rules, _seen(world)) == 0

    @pytest.mark.parametrize("number", sorted(DAMAGES))
    def test_each_is_noticed_when_it_is_broken(self, number: int) -> None:
        """One changed cell breaks the invariant that is about it."""
        world = world_at_rest()
        seen = _seen(world)
        DAMAGES[number](world)
        if number == 21:
            world.w[first_broker(world) + at.B_IO_IDLE] -= 1
        assert first_broken(world.w, world.rec, world.rules, seen) == number

    def test_a_falling_high_watermark_is_noticed(self) -> None:
        """Invariant 9 compares with the event before."""
        world = world_at_rest()
        world.w[leader_row(world) + at.R_LEO] = 5
        world.w[leader_row(world) + at.R_HW] = 5
        seen = _seen(world)
        world.w[leader_row(world) + at.R_HW] = 4
        assert first_broken(world.w, world.rec, world.rules, seen) == 9

    def test_what_is_known_of_a_member_may_go_back(self) -> None:
        """Not invariant 11: a fetch given up, of an older offset, is read after a later one."""
        world = world_at_rest()
        _record_behind(world)
        world.rec[1, LEO] = world.rec[2, LEO] = 5
        seen = _seen(world)
        world.rec[1, LEO] = 3
        assert first_broken(world.w, world.rec, world.rules, seen) == 0
        seen = _seen(world)
        assert first_broken(world.w, world.rec, world.rules, seen) == 11

    def test_a_high_watermark_that_does_not_wait_is_noticed(self) -> None:
        """Invariant 14: a replica outside the ISR, but within its lag, holds it up."""
        world = world_at_rest("4485-doc", "zookeeper")
        w, p, r = world.w, first_partition(world), leader_row(world)
        seen = _seen(world)
        w[p + at.P_ISR] = w[r + at.R_ISR] = 0b011
        w[p + at.P_FLAGS] = at.FLAG_UNDER_REPLICATED
        for row in (r, r + at.R_SIZE):
            w[row + at.R_LEO] = w[row + at.R_HW] = 10
        world.rec[1, LEO] = 10
        world.rec[2, LEO] = 3
        assert first_broken(w, world.rec, world.rules, seen) == 14
        world.rec[2, LAST_CAUGHT_UP] = at.NEVER
        assert first_broken(w, world.rec, world.rules, seen) == 0

    def test_a_laggard_in_the_isr_is_noticed(self) -> None:
        """Invariant 15: one tick after the lag limit, and not at that very moment."""
        world = world_at_rest("4485-doc", "zookeeper")
        w = world.w
        seen = _seen(world)
        w[at.TREE : at.TREE + w[at.H_TREE_SIZE]] = (at.NOT_DUE - 1) << at.SLOT_BITS
        w[at.G_NOW] = w[at.C_LAG] + w[at.C_TICK]
        assert first_broken(w, world.rec, world.rules, seen) == 0
        w[at.G_NOW] += 1
        assert first_broken(w, world.rec, world.rules, seen) == 15

    @pytest.mark.parametrize(
        ("row", "field"), [(leader_row, at.R_NEWEST), (first_broker, at.B_FAULTS_ON)]
    )
    def test_what_is_kept_is_compared(self, row: Callable[[World], int], field: int) -> None:
        """Invariant 25 looks at the newest epochs and the disk faults as well."""
        world = world_at_rest()
        seen = _seen(world)
        _set(row, field, 1)(world)
        assert first_broken(world.w, world.rec, world.rules, seen) == 25

    @pytest.mark.parametrize("field", [at.R_LEO, at.E_HW, at.K_HW])
    def test_a_dirty_bit_that_is_missing_is_noticed(self, field: int) -> None:
        """Invariant 26: a log's end, a high watermark in the answer, and the one that is known."""
        world = world_at_rest()
        seen = _seen(world)
        t, _ = _validated(world)
        assert first_broken(world.w, world.rec, world.rules, seen) == 0
        _unheard(field)(world)
        assert first_broken(world.w, world.rec, world.rules, seen) == 26
        world.w[world.w[t + at.T_MASKS] + at.W_DIRTY] = 1
        assert first_broken(world.w, world.rec, world.rules, seen) == 0

    @pytest.mark.parametrize("field", [LEO, PREV_LEADER_LEO])
    def test_a_record_that_is_not_unchanged_is_noticed(self, field: int) -> None:
        """Invariant 27: both offsets count, unless the dirty bit is set."""
        world = world_at_rest()
        seen = _seen(world)
        change = _unchanged(world)
        assert first_broken(world.w, world.rec, world.rules, seen) == 0
        change(field)
        assert first_broken(world.w, world.rec, world.rules, seen) == 27
        world.w[world.w[at.H_MASKS] + at.W_DIRTY] = 1
        assert first_broken(world.w, world.rec, world.rules, seen) == 0

    def test_a_pending_read_owed_to_an_outsider_is_noticed(self) -> None:
        """Invariant 28: the high watermark might wait for it."""
        world = world_at_rest()
        w = world.w
        seen = _seen(world)
        t, q = _validated(world)
        w[q + at.Q_VALIDATED] = w[t + at.T_VALIDATED]
        w[q + at.Q_PENDING] = 0b11
        w[q + at.Q_STATE] = at.QS_COMPLETING
        assert first_broken(w, world.rec, world.rules, seen) == 0
        bit = w[q + at.Q_ENT] + at.E_BIT
        w[bit] = 1 << 40  # the bit of a replica that is in no ISR
        assert first_broken(w, world.rec, world.rules, seen) == 28

    def test_the_error_names_invariant_scenario_and_time(self) -> None:
        """Whoever sees it knows where to look."""
        world = world_at_rest()
        DAMAGES[7](world)
        with pytest.raises(InvariantBroken) as caught:
            run_checked("simple", world)
        assert str(caught.value) == (
            "scenario simple, 0.0 ms: does not hold: the maximal ISR contains the committed ISR (7)"
        )

    def test_invariants_are_numbered_without_a_gap(self) -> None:
        """A number stands for one invariant for good."""
        assert list(INVARIANTS) == list(range(1, len(INVARIANTS) + 1))

    @pytest.mark.parametrize(
        ("column", "value", "said"),
        [
            ("any_offline", 1, "any_offline says whether offline_partition_rate is more than 0"),
            ("records_lost", 10**9, "records_lost <= records_acked"),
            ("under_min_isr_rate", 1.5, "under_min_isr_rate is at most 1"),
            ("detection_delay_ms", -1.0, "detection_delay_ms is finite and not negative"),
            ("commit_latency_p50_ms", 1e9, "commit latencies: p50 <= p99 <= max"),
            ("unclean_elections", 1, "unclean_elections counts its events"),
        ],
    )
    def test_an_outcome_that_contradicts_itself_is_noticed(
        self, column: str, value: float, said: str
    ) -> None:
        """One changed column is enough."""
        scenario, world, done = finished()
        done.outcome[column] = value
        with pytest.raises(InvariantBroken) as caught:
            check_run(scenario, world, done)
        assert str(caught.value) == f"scenario simple: does not hold: {said}"

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"isr": [1]}, "removals from the ISR and returns alternate"),
            ({"decided_ms": 1e9}, "decided_ms <= t_ms"),
            ({"leader_epoch": -1}, "leader epochs never fall"),
            ({"kind": "isr_expand"}, "only a removed replica returns to the ISR"),
            (
                {"kind": "partition_online", "isr": [1, 2, 3]},
                "offline: begins and ends alternate",
            ),
        ],
    )
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
