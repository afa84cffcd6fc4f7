"""A run that answers for another configuration is the run that this one would have had.

The proof of `scenarios.shared` and of what the kernel notes for it (`simulation.depends`): outcome
and events are compared, bit by bit, with a run of its own, and so are those of what was simulated,
in the array that the run before had left. To try more scenarios than here:

    ISR_PIPELINE_EXAMPLES=10000 .venv/bin/pytest tests/worlds/test_reuse.py
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any

import pytest

from isr_pipeline.base.errors import BudgetSpent, InputError
from isr_pipeline.kafka.releases import ELECTION_ORDERS, FETCHERS, KIP501_VARIANTS
from isr_pipeline.scenarios.model import Scenario, apply, parse_scenario
from isr_pipeline.worlds.choices import choices_of
from isr_pipeline.worlds.reuse import Simulations, reuse_order
from isr_pipeline.worlds.run import run
from tests.simulation.random_scenarios import FromSeed
from tests.simulation.test_cycles import repeating
from tests.simulation.test_invariants import simple

EXAMPLES = int(os.environ.get("ISR_PIPELINE_EXAMPLES", "200"))
BATCH = 100
VARIANTS = 12
BUDGET = 1_000_000

SETTINGS: dict[str, tuple[Any, ...]] = {
    "min.insync.replicas": (1, 2, 3),
    "unclean.leader.election.enable": (False, True),
    "follower.fetch.pending.reads.insync.enable": (False, True, True),
    "follower.fetch.process.time.max.ms": (50, 200, 500, 5000),
    "broker.session.timeout.ms": (600, 2000, 9000),
    "zookeeper.session.timeout.ms": (600, 2000, 6000),
    "eligible.leader.replicas.version": (0, 1),
    "replica.lag.time.max.ms": (2000, 3000),
    "rules.kip501": (*KIP501_VARIANTS, "s2"),
    "leader.replication.throttled.rate": (0, 20_000, 2**62),
    "follower.replication.throttled.rate": (0, 20_000, 2**62),
    "leader.replication.throttled.replicas": ("", "*"),
    "follower.replication.throttled.replicas": ("", "*", "0:1"),
    "cluster.replication_listener": (False, True),
    "rules.s2_cooldown_ms": (0, 500),
    "rules.fetcher": ("kip-461", "legacy"),
    "rules.election": tuple(ELECTION_ORDERS),
    "rules.isr_lock": ("none", "rw_precheck", "rw_always"),
}


def variants(seed: int) -> list[Scenario]:
    """A scenario under several configurations, in no particular order."""
    source = FromSeed(seed)
    scenario = parse_scenario(repeating(seed), "random")
    found = [scenario]
    for _ in range(VARIANTS):
        chosen = {name: source.of(of) for name, of in SETTINGS.items() if source.whole(0, 4) == 0}
        try:
            found.append(apply(scenario, chosen))
        except InputError:
            continue  # a key that this release does not have
    return found


def shared_and_wrong(scenarios: list[Scenario]) -> tuple[int, list[str]]:
    """How many configurations others' runs answered for, and where the answer was wrong."""
    runs, shared, wrong = Simulations(BUDGET), 0, []
    for scenario in scenarios:
        before = runs.simulated
        try:
            outcome, events = runs.result_for(scenario)
        except BudgetSpent:
            continue
        shared += runs.simulated == before
        own = run(scenario, events=True, budget=BUDGET)
        wrong += [
            f"{n}: {outcome[n]} for {own.outcome[n]}"
            for n in outcome
            if outcome[n] != own.outcome[n]
        ]
        if events.named() != own.events:
            wrong.append("other events")
    return shared, wrong


class TestExact:
    """What is shared is right."""

    @pytest.mark.parametrize("first", range(0, EXAMPLES, BATCH))
    def test_random_scenarios(self, first: int) -> None:
        """No answer of this batch is wrong, and hundreds are given."""
        answers = 0
        for seed in range(first, min(first + BATCH, EXAMPLES)):
            try:
                scenarios = variants(seed)
            except InputError:
                continue
            shared, wrong = shared_and_wrong(scenarios)
            assert not wrong, f"seed {seed}: {wrong}"
            answers += shared
        assert answers > BATCH


def simulated(scenario: Scenario, *overrides: dict[str, Any]) -> int:
    """How many of the configurations of a scenario have to be simulated."""
    runs = Simulations()
    for scenario_under in sorted((apply(scenario, o) for o in overrides), key=reuse_order):
        runs.result_for(scenario_under)
    return runs.simulated


S2 = {"rules.kip501": "s2", "follower.fetch.pending.reads.insync.enable": True}
LIMIT = "follower.fetch.process.time.max.ms"


class New(IntEnum):
    """What somebody adds to an enumeration of switches."""

    MEMBER = 99


@pytest.fixture
def new_member(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Give a word of a switch a value that nothing of `worlds.reuse` has been told."""

    def added(switch: str, word: str) -> None:
        words: dict[str, Any] = {
            "kip501": KIP501_VARIANTS,
            "fetcher": FETCHERS,
            "election": ELECTION_ORDERS,
        }
        monkeypatch.setitem(words[switch], word, New.MEMBER)
        choices_of.cache_clear()

    yield added
    choices_of.cache_clear()


class TestUnknown:
    """A value that the proofs are not about."""

    @pytest.mark.parametrize(
        ("switch", "word"),
        [("kip501", "li-transfer"), ("fetcher", "legacy"), ("election", "isr_order")],
    )
    def test_is_simulated(
        self, new_member: Callable[[str, str], None], switch: str, word: str
    ) -> None:
        """In a healthy world as well, where a known one is reused."""
        overrides: list[dict[str, Any]] = [{}, {f"rules.{switch}": word}]
        assert simulated(simple(), *overrides) == 1
        new_member(switch, word)
        assert simulated(simple(), *overrides) == 2


def test_a_listener_of_replication_is_simulated() -> None:
    """In a healthy world as well: whose network threads fetches take is never proven alike."""
    assert simulated(simple(), {}, {"cluster.replication_listener": True}) == 2


class TestWorth:
    """What cannot matter is not simulated twice."""

    def test_a_healthy_world(self) -> None:
        """One run answers for every proposal, limit and lock."""
        others: list[dict[str, Any]] = [
            {},
            {"min.insync.replicas": 2},
            {**S2, LIMIT: 100},
            {**S2, LIMIT: 5000},
        ]
        assert simulated(simple(), *others, {**S2, "rules.isr_lock": "none"}) == 1

    def test_reads_that_last(self) -> None:
        """A read of 300 ms tells the limits below it apart, and no others."""
        stall = {"kind": "read_stall", "broker": 1, "start_ms": 1000, "duration_ms": 300}
        world = simple(faults=[stall])
        limits = [{**S2, LIMIT: limit} for limit in (100, 200, 400, 5000)]
        assert simulated(world, *limits) == 3

    def test_a_timer_that_only_one_obeys(self) -> None:
        """A read beyond the limit: with its key off, Solution 2 notices and does nothing."""
        stall = {"kind": "read_stall", "broker": 1, "start_ms": 1000, "duration_ms": 300}
        world = simple(faults=[stall])
        off = {**S2, "follower.fetch.pending.reads.insync.enable": False, LIMIT: 100}
        assert simulated(world, off, {**S2, LIMIT: 100}) == 2

    def test_a_cooldown_that_is_asked_for(self) -> None:
        """Two stalls of one partition tell cooldowns apart, one stall does not."""
        stall = {"kind": "read_stall", "broker": 1, "duration_ms": 900, "partitions": ["t-0"]}
        back = {"kind": "preferred_election", "topic": "t", "partition": 0, "start_ms": 3000}
        once = [{**stall, "start_ms": 1000}]
        twice = [*once, back, {**stall, "start_ms": 4000}]
        cooldowns = [{**S2, "rules.s2_cooldown_ms": cooldown} for cooldown in (0, 60_000)]
        assert simulated(simple(horizon_ms=8000, faults=once), *cooldowns) == 1
        assert simulated(simple(horizon_ms=8000, faults=twice), *cooldowns) == 2
