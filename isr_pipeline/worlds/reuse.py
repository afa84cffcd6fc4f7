"""Reuse a simulation for every configuration that provably produces the same result.

Two configurations may differ in a limit that no read reached, or in the order of an election that
never took place. Then they have the same outcome and the same events. The kernel notes what a
simulation depended on (`shortcuts.depends`); from that alone `Simulations` decides whether its
result can be reused for another configuration. Where it cannot prove that, it simulates. The check
is the comparison with a simulation of its own: `tests/worlds/test_reuse.py`.

Reuse may hold in one direction only. A simulation under today's rules may show that no follower was
ever found out of sync; then none would be under the later clocks of KIP-501. So the configuration
whose result others can reuse comes first (`reuse_order`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.compiling import is_exact
from isr_pipeline.base.errors import BudgetSpent
from isr_pipeline.kafka.releases import (
    KIP501_BEHIND_KEY,
    REPLAY_ONLY,
    SWITCHES,
    ElectionOrder,
    Fetcher,
    Kip501,
    Lock,
    Rules,
)
from isr_pipeline.simulation.world.columns import Table
from isr_pipeline.simulation.world.states import Depends
from isr_pipeline.simulation.world.tables import Event
from isr_pipeline.worlds.encoder import prepare
from isr_pipeline.worlds.events import Events, events_of
from isr_pipeline.worlds.run import advance, outcome_of

if TYPE_CHECKING:
    from isr_pipeline.kafka.rows import Array
    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.encoder import Settings
    from isr_pipeline.worlds.entities import PartitionNames

_MIN_ISR_RULES = {"elr", "hw_frozen_under_min_isr", "min_isr_capped"}
_KEYS = (
    "min_insync_replicas",
    "unclean_leader_election",
    "fetch_process_time_max_us",
    "resign_cooldown_us",
    "session_timeout_us",
    "leader_throttled_rate",
    "follower_throttled_rate",
)
_RULES = {*_MIN_ISR_RULES, "kip501", "kip501_enabled", "isr_lock", "fetcher", "election"}
_KEPT_CELLS = 1 << 22
"""Cells of the largest array that is kept for the next world; a burst's ledger can be larger."""

_CLOCKS = {Kip501.NONE: 0, Kip501.LI_TRANSFER: 0, Kip501.S1_PR: 1, Kip501.S1_DOC: 2, Kip501.S2: 2}
"""Which rules credit a follower with a later time. If no follower is ever late or outside the ISR,
the result with the earlier times can be reused for the later ones."""

_PROVEN: dict[str, set[int]] = {
    "kip501": {*_CLOCKS},
    "fetcher": {Fetcher.LEGACY, Fetcher.KIP_461},
    "election": {ElectionOrder.ASSIGNMENT_ORDER, ElectionOrder.ISR_ORDER},
}
"""Values of switches that the proofs below are about. With any other, a new one, nothing is
reused: the kernel may not note what it decides."""


@dataclass(frozen=True, slots=True)
class _Done:
    """One finished simulation: its settings, what it depended on, its result."""

    settings: Settings
    depends: int
    least_isr: int
    longest_read_us: int
    outcome: dict[str, Any]
    events: Events


@dataclass(frozen=True, slots=True)
class _Names:
    """What is left of a world for the names of its events: its array serves the next one."""

    partitions: tuple[PartitionNames, ...]
    brokers: tuple[int, ...]


class Simulations:
    """Simulations of one scenario under several configurations.

    Args:
        budget: events after which a simulation is given up; `size.event_budget` if not said.
        spare: `spare` of another scenario's simulations, which are no longer used.
    """

    def __init__(self, budget: int | None = None, spare: Array | None = None) -> None:
        self._budget = budget
        self._done: dict[tuple[int, ...], list[_Done]] = {}
        self.spare = spare
        """The largest array of a world so far, in which the next one is laid out: clearing a new
        one would take a millisecond."""
        self.simulated = 0
        """How many configurations had to be simulated."""
        self.events_fired = 0
        """Events that were simulated one by one."""

    def result_for(self, scenario: Scenario) -> tuple[dict[str, Any], Events]:
        """Outcome row of the scenario, and its events.

        Args:
            scenario: the scenario with a configuration laid over it.

        Raises:
            BudgetSpent: the scenario needs more events than the budget.
        """
        settings, lay_out = prepare(scenario, events=True, budget=self._budget)
        others = tuple(value for name, value in settings.keys.items() if name not in _KEYS)
        comparable = self._done.setdefault(others, [])
        for done in comparable if not is_exact() else ():
            if _can_reuse(done, settings):
                return dict(done.outcome), done.events
        world = lay_out(self.spare)
        spare_cells = 0 if self.spare is None else self.spare.size
        if spare_cells < world.w.size <= _KEPT_CELLS:
            self.spare = world.w
        advance(world)
        header = world.header
        self.simulated += 1
        self.events_fired += header.event_count - header.jumped_events
        if header.budget_spent:
            raise BudgetSpent(scenario.scenario_id, header.event_budget)
        listed = events_of(world).rows.cells.copy()
        done = _Done(
            settings,
            header.depends_on,
            header.least_isr,
            header.longest_read,
            outcome_of(world),
            Events(
                Table(listed.reshape(-1), Event, 0, len(listed)),
                _Names(world.partitions, world.brokers),
            ),
        )
        comparable.append(done)
        return dict(done.outcome), done.events


def reuse_order(scenario: Scenario) -> tuple[int, ...]:
    """Sort key of a scenario's configurations: those whose result others can reuse come first."""
    settings, _ = prepare(scenario, events=True)
    keys, rules = settings.keys, settings.choices.rules
    return (
        _CLOCKS.get(_kip501(rules), len(_CLOCKS)),
        rules.kip501,
        keys["unclean_leader_election"],
        -rules.isr_lock,
        -keys["fetch_process_time_max_us"],
    )


def _can_reuse(done: _Done, other: Settings) -> bool:
    """Whether a simulation would have the same result under other settings.

    Only keys of _KEYS, and switches of _RULES, may differ; those of _PROVEN have a value of it.
    """
    mine = done.settings
    if not (_is_proven(mine.choices.rules) and _is_proven(other.choices.rules)):
        return False
    differing = (mine.choices.switches != other.choices.switches).nonzero()[0].tolist()
    rules = {SWITCHES[i] for i in differing} - REPLAY_ONLY
    if not rules <= _RULES or mine.like != other.like:
        return False
    keys = {name for name in _KEYS if mine.keys[name] != other.keys[name]}
    return (
        _min_isr_was_met(done, other, keys, rules)
        and _nothing_depended(done, other, keys, rules)
        and _same_proposal(done, other)
    )


def _is_proven(rules: Rules) -> bool:
    """Whether the proofs are about every switch of a configuration."""
    return all(getattr(rules, name) in values for name, values in _PROVEN.items())


def _min_isr_was_met(done: _Done, other: Settings, keys: set[str], rules: set[str]) -> bool:
    """Whether every ISR had as many members as either configuration wants."""
    if "min_insync_replicas" not in keys and not rules & _MIN_ISR_RULES:
        return True
    mine, its = (s.keys["min_insync_replicas"] for s in (done.settings, other))
    return done.least_isr >= max(mine, its, *other.entities.own_min_isrs)


def _nothing_depended(done: _Done, other: Settings, keys: set[str], rules: set[str]) -> bool:
    """Whether nothing was decided by the settings that differ."""
    questions = 0
    if "unclean_leader_election" in keys:
        if done.settings.keys["unclean_leader_election"]:
            return False  # the uncleanly elected replica might have been elected anyway
        questions |= Depends.NOBODY
    if "session_timeout_us" in keys:
        questions |= Depends.SESSION
    if keys & {"leader_throttled_rate", "follower_throttled_rate"}:
        questions |= Depends.QUOTA
    if "fetcher" in rules:
        questions |= Depends.FETCHER
    if "election" in rules:
        questions |= Depends.ORDER
    if "isr_lock" in rules:
        locks = {done.settings.choices.rules.isr_lock, other.choices.rules.isr_lock}
        if locks != {Lock.NONE, Lock.RW_PRECHECK} or not other.choices.rules.async_isr:
            return False  # a synchronous ISR write holds the lock as well
        if done.settings.choices.rules.isr_lock != Lock.RW_PRECHECK:
            return False  # without the lock nobody counts the readers that others would wait for
        questions |= Depends.LOCK
    return not done.depends & questions


def _kip501(rules: Rules) -> Kip501:
    """The proposal in effect: Solutions 1 and 2 count no pending reads where their key is off."""
    off = rules.kip501 in KIP501_BEHIND_KEY and not rules.kip501_enabled
    return Kip501.NONE if off else rules.kip501


def _same_proposal(done: _Done, other: Settings) -> bool:
    """Whether the proposals of both configurations lead to this result."""
    mine, its = (_kip501(settings.choices.rules) for settings in (done.settings, other))
    if _CLOCKS[mine] > _CLOCKS[its]:
        return False
    if _CLOCKS[mine] < _CLOCKS[its] and done.depends & (Depends.OUTSIDE | Depends.EXPIRED):
        return False
    if Kip501.LI_TRANSFER in {mine, its} and mine != its:
        wanted = max([other.keys["min_insync_replicas"], *other.entities.own_min_isrs])
        if mine != Kip501.NONE or done.least_isr < wanted:
            return False
    return _same_timer(done, other)


def _same_timer(done: _Done, other: Settings) -> bool:
    """Whether Solution 2's timer fires at the same times, or never: its key may be off."""
    mine, its = _timer(done.settings), _timer(other)
    if all(timer is None or done.longest_read_us <= timer[0] for timer in (mine, its)):
        return True
    if mine != its:
        return False
    if done.settings.keys["resign_cooldown_us"] == other.keys["resign_cooldown_us"]:
        return True
    return not done.depends & Depends.COOLDOWN


def _timer(settings: Settings) -> tuple[int, bool] | None:
    """Solution 2's timer: its limit, and whether the leader resigns; None without one."""
    if settings.choices.rules.kip501 != Kip501.S2:
        return None
    return settings.keys["fetch_process_time_max_us"], settings.choices.rules.kip501_enabled
