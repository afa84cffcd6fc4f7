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

import numpy as np

from isr_pipeline.errors import BudgetSpent
from isr_pipeline.kafka.releases import (
    ASYNC_ISR,
    ELECTION,
    ELR,
    FETCHER,
    HW_FROZEN_UNDER_MIN_ISR,
    ISR_LOCK,
    KIP501,
    KIP501_ENABLED,
    MIN_ISR_CAPPED,
    REPLAY_ONLY,
    Kip501,
    Lock,
)
from isr_pipeline.simulation.world import layout as at
from isr_pipeline.worlds.encoder import prepare
from isr_pipeline.worlds.events import Events, events_of
from isr_pipeline.worlds.results import outcome_of
from isr_pipeline.worlds.run import advance

if TYPE_CHECKING:
    import numpy.typing as npt

    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.encoder import Settings
    from isr_pipeline.worlds.entities import PartitionNames

_MIN_ISR_RULES = {ELR, HW_FROZEN_UNDER_MIN_ISR, MIN_ISR_CAPPED}
_KEYS = np.array((at.C_MIN_ISR, at.C_UNCLEAN, at.C_S2_LIMIT, at.C_S2_COOLDOWN, at.C_SESSION))
_RULES = {*_MIN_ISR_RULES, KIP501, KIP501_ENABLED, ISR_LOCK, FETCHER, ELECTION}
_KEPT_CELLS = 1 << 22
"""Cells of the largest array that is kept for the next world; a burst's ledger can be larger."""

_OTHER_KEYS = np.array(
    [cell for cell in range(at.CONFIG_FIRST, at.CONFIG_END) if cell not in _KEYS], dtype=np.int64
)

_CLOCKS = {Kip501.NONE: 0, Kip501.LI_TRANSFER: 0, Kip501.S1_PR: 1, Kip501.S1_DOC: 2, Kip501.S2: 2}
"""Which rules credit a follower with a later time. If no follower is ever late or outside the ISR,
the result with the earlier times can be reused for the later ones."""


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

    def __init__(
        self, budget: int | None = None, spare: npt.NDArray[np.int64] | None = None
    ) -> None:
        self._budget = budget
        self._done: dict[bytes, list[_Done]] = {}
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
        comparable = self._done.setdefault(settings.keys[_OTHER_KEYS].tobytes(), [])
        for done in comparable:
            if _can_reuse(done, settings):
                return dict(done.outcome), done.events
        world = lay_out(self.spare)
        spare_cells = 0 if self.spare is None else self.spare.size
        if spare_cells < world.w.size <= _KEPT_CELLS:
            self.spare = world.w
        advance(world)
        w = world.w
        self.simulated += 1
        self.events_fired += int(w[at.G_EVENTS] - w[at.G_JUMPED])
        if w[at.G_BUDGET_SPENT]:
            raise BudgetSpent(scenario.scenario_id, int(w[at.C_BUDGET]))
        done = _Done(
            settings,
            int(w[at.G_DEPENDS]),
            int(w[at.G_LEAST_ISR]),
            int(w[at.G_LONGEST_READ]),
            outcome_of(world),
            Events(events_of(world).rows.copy(), _Names(world.partitions, world.brokers)),
        )
        comparable.append(done)
        return dict(done.outcome), done.events


def reuse_order(scenario: Scenario) -> tuple[int, ...]:
    """Sort key of a scenario's configurations: those whose result others can reuse come first."""
    settings, _ = prepare(scenario, events=True)
    keys, rules = settings.keys, settings.rules
    return (
        _CLOCKS[_kip501(rules)],
        int(rules[KIP501]),
        int(keys[at.C_UNCLEAN]),
        -int(rules[ISR_LOCK]),
        -int(keys[at.C_S2_LIMIT]),
    )


def _can_reuse(done: _Done, other: Settings) -> bool:
    """Whether a simulation would have the same result under other settings.

    Only keys of _KEYS, and switches of _RULES, may differ.
    """
    mine = done.settings
    rules = set((mine.rules != other.rules).nonzero()[0].tolist()) - REPLAY_ONLY
    if not rules <= _RULES or not mine.alike(other):
        return False
    keys = set(_KEYS[mine.keys[_KEYS] != other.keys[_KEYS]].tolist())
    return (
        _min_isr_was_met(done, other, keys, rules)
        and _nothing_depended(done, other, keys, rules)
        and _same_proposal(done, other)
    )


def _min_isr_was_met(done: _Done, other: Settings, keys: set[int], rules: set[int]) -> bool:
    """Whether every ISR had as many members as either configuration wants."""
    if at.C_MIN_ISR not in keys and not rules & _MIN_ISR_RULES:
        return True
    wanted = max(*(int(s.keys[at.C_MIN_ISR]) for s in (done.settings, other)), other.own_min_isr)
    return done.least_isr >= wanted


def _nothing_depended(done: _Done, other: Settings, keys: set[int], rules: set[int]) -> bool:
    """Whether nothing was decided by the settings that differ."""
    questions = 0
    if at.C_UNCLEAN in keys:
        if done.settings.keys[at.C_UNCLEAN]:
            return False  # the uncleanly elected replica might have been elected anyway
        questions |= at.DEP_NOBODY
    if at.C_SESSION in keys:
        questions |= at.DEP_SESSION
    if FETCHER in rules:
        questions |= at.DEP_FETCHER
    if ELECTION in rules:
        questions |= at.DEP_ORDER
    if ISR_LOCK in rules:
        locks = {int(done.settings.rules[ISR_LOCK]), int(other.rules[ISR_LOCK])}
        if locks != {Lock.NONE, Lock.RW_PRECHECK} or not other.rules[ASYNC_ISR]:
            return False  # a synchronous ISR write holds the lock as well
        if done.settings.rules[ISR_LOCK] != Lock.RW_PRECHECK:
            return False  # without the lock nobody counts the readers that others would wait for
        questions |= at.DEP_LOCK
    return not done.depends & questions


def _kip501(rules: npt.NDArray[np.int64]) -> Kip501:
    """The proposal in effect: Solutions 1 and 2 count no pending reads where their key is off."""
    proposal = Kip501(rules[KIP501])
    if proposal == Kip501.LI_TRANSFER or rules[KIP501_ENABLED]:
        return proposal
    return Kip501.NONE


def _same_proposal(done: _Done, other: Settings) -> bool:
    """Whether the proposals of both configurations lead to this result."""
    mine, its = (_kip501(settings.rules) for settings in (done.settings, other))
    if _CLOCKS[mine] > _CLOCKS[its]:
        return False
    if _CLOCKS[mine] < _CLOCKS[its] and done.depends & (at.DEP_OUTSIDE | at.DEP_EXPIRED):
        return False
    if Kip501.LI_TRANSFER in {mine, its} and mine != its:
        wanted = max(int(other.keys[at.C_MIN_ISR]), other.own_min_isr)
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
    same = done.settings.keys[at.C_S2_COOLDOWN] == other.keys[at.C_S2_COOLDOWN]
    return bool(same) or not done.depends & at.DEP_COOLDOWN


def _timer(settings: Settings) -> tuple[int, bool] | None:
    """Solution 2's timer: its limit, and whether the leader resigns; None without one."""
    if settings.rules[KIP501] != Kip501.S2:
        return None
    return int(settings.keys[at.C_S2_LIMIT]), bool(settings.rules[KIP501_ENABLED])
