"""The kernel on the reference panel: brute force, with jumps, runs shared, beside the bare tree.

On a sample of pairs: processor time of `advance` alone, brute force and with jumps; a world is
encoded before and its outcome read after the clock. On the whole panel: processor time of
`Simulations`, with all that it does for a pair; brute force would take hours there, so its time is
the panel's events, which are counted exactly, over the rate measured in the same run.

An event is a slot that fires and runs a handler; events that were jumped over, or that another
configuration's run stands for, are counted as in the brute-force run, where they did fire.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import reference
from benchmarks.speed import core, tree
from benchmarks.speed.arms import Measured, measured, ratios, sample
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.worlds import reuse
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import advance, outcome_of

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario

US_PER_HOUR = 3_600_000_000
TREE_SLOTS = 200
"""Second size of the bare tree, that of a smaller cluster."""
PAIRS_PER_TURN = 6
"""The bare trees run all along, so that they meet the machine's good and bad moments as well."""


@dataclass(slots=True)
class Arm:
    """One way to run the sample, summed over it.

    Attributes:
        events: that fired one by one.
        all_events: those, and the ones jumped over.
        broker_hours: simulated.
        seconds: of processor time.
    """

    events: int = 0
    all_events: int = 0
    broker_hours: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class Panel:
    """The reference panel, as a night simulates it: with jumps, runs shared.

    Attributes:
        pairs: of scenarios and configurations; ``runs``: of them that had to be simulated.
        events: that fired one by one.
        all_events: those that brute force would have fired.
        seconds: of processor time, with everything between a configured scenario and its outcome.
    """

    pairs: int = 0
    runs: int = 0
    events: int = 0
    all_events: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class KernelFigures:
    """What came out; rates per second of processor time.

    Attributes:
        pairs: in the sample; ``slots``: least and most of their worlds.
        tree_events_per_s: slots -> bare tree, its handler branching.
        branch_free_tree_events_per_s: slots -> the same without a branch.
        brute_events_per_s: brute force; ``jump_events_per_s``: those that fired, with jumps.
        brute_broker_hours_per_s, jump_broker_hours_per_s: simulated brokers x hours.
        kernel_over_tree: brute force over the bare tree of as many slots, its handler branching.
        kernel_over_branch_free_tree: likewise without a branch.
        time_ratio: brute force's time over that with jumps; ``event_ratio``: of events fired.
        ms_per_pair: with jumps.
        chains_at_once: what this machine's core gives, see `core`.
        panel: the reference panel with runs shared.
        panel_time_ratio: brute force's time for the panel (reckoned) over that.
    """

    pairs: int
    slots: tuple[int, int]
    tree_events_per_s: dict[int, Measured]
    branch_free_tree_events_per_s: dict[int, Measured]
    brute_events_per_s: Measured
    jump_events_per_s: Measured
    brute_broker_hours_per_s: Measured
    jump_broker_hours_per_s: Measured
    kernel_over_tree: Measured
    kernel_over_branch_free_tree: Measured
    time_ratio: Measured
    event_ratio: float
    ms_per_pair: Measured
    chains_at_once: Measured
    panel: Panel
    panel_time_ratio: Measured


class OutcomesDiffer(RuntimeError):
    """Jumps changed an outcome: what follows would compare different things."""


def measure(pairs: int, runs: int, panel_scenarios: int) -> KernelFigures:
    """Measure the arms in turn, so many times over, then the panel once.

    Args:
        pairs: of the sample.
        runs: of its arms.
        panel_scenarios: of the reference panel, all of it or its first ones.

    Raises:
        OutcomesDiffer: a pair came out otherwise with jumps.
    """
    scenarios = sample(pairs)
    slots = slots_of(scenarios)
    middle = slots[len(slots) // 2]
    sizes = sorted({TREE_SLOTS, middle})
    _warm_up(scenarios[0])
    branching = {size: tree.Bare(size, "branching") for size in sizes}
    unbranching = {size: tree.Bare(size, "branch_free") for size in sizes}
    trees: dict[int, list[float]] = {size: [] for size in sizes}
    branch_free: dict[int, list[float]] = {size: [] for size in sizes}
    arms: list[tuple[Arm, Arm]] = []
    chains: list[float] = []
    for _ in range(runs):
        brute, jumps = Arm(), Arm()
        seconds: dict[tree.Bare, list[float]] = {
            bare: [] for bare in (*branching.values(), *unbranching.values())
        }
        for number, scenario in enumerate(scenarios):
            if number % PAIRS_PER_TURN == 0:
                chains.append(core.chains_at_once())
                for bare, turns in seconds.items():
                    turns.append(bare.seconds())
            run_both(scenario, brute, jumps)
        arms.append((brute, jumps))
        for size in sizes:
            trees[size].append(_rate(seconds[branching[size]]))
            branch_free[size].append(_rate(seconds[unbranching[size]]))
    brute_rate = [brute.events / brute.seconds for brute, _ in arms]
    panel = run_panel(panel_scenarios)
    return KernelFigures(
        pairs=len(scenarios),
        slots=(slots[0], slots[-1]),
        tree_events_per_s={size: measured(rates) for size, rates in trees.items()},
        branch_free_tree_events_per_s={
            size: measured(rates) for size, rates in branch_free.items()
        },
        brute_events_per_s=measured(brute_rate),
        jump_events_per_s=measured([jumps.events / jumps.seconds for _, jumps in arms]),
        brute_broker_hours_per_s=measured([b.broker_hours / b.seconds for b, _ in arms]),
        jump_broker_hours_per_s=measured([j.broker_hours / j.seconds for _, j in arms]),
        kernel_over_tree=ratios(brute_rate, trees[middle]),
        kernel_over_branch_free_tree=ratios(brute_rate, branch_free[middle]),
        time_ratio=ratios([b.seconds for b, _ in arms], [j.seconds for _, j in arms]),
        event_ratio=arms[0][0].events / max(1, arms[0][1].events),
        ms_per_pair=measured([1e3 * j.seconds / len(scenarios) for _, j in arms]),
        chains_at_once=measured(chains),
        panel=panel,
        panel_time_ratio=measured([panel.all_events / rate / panel.seconds for rate in brute_rate]),
    )


def _rate(turns: list[float]) -> float:
    """Events a second of a bare tree's turns."""
    return tree.EVENTS * len(turns) / sum(turns)


def run_panel(scenarios: int) -> Panel:
    """Run scenarios of the reference panel under all configurations, as a task of a night does."""
    panel = Panel()
    configurations = reference.configurations()
    runs = reuse.Simulations()
    for row in reference.scenarios()[:scenarios]:
        scenario = scenario_from_json(row.scenario_json)
        configured = [apply(scenario, one.overrides) for one in configurations]
        started = time.process_time()
        runs = reuse.Simulations(spare=runs.spare)
        for one in sorted(configured, key=reuse.reuse_order):
            outcome, _ = runs.result_for(one)
            panel.all_events += outcome["kernel_events"]
        panel.seconds += time.process_time() - started
        panel.pairs += len(configured)
        panel.runs += runs.simulated
        panel.events += runs.events_fired
    return panel


def slots_of(scenarios: list[Scenario]) -> list[int]:
    """Slots of the scenarios' worlds, ascending."""
    return sorted(encode(scenario).header.slot_count for scenario in scenarios)


def run_both(scenario: Scenario, brute: Arm, jumps: Arm) -> None:
    """Run a scenario both ways, one after the other, and add it to the arms.

    Raises:
        OutcomesDiffer: the outcomes are not the same.
    """
    outcomes = []
    for arm, jumping in ((brute, False), (jumps, True)):
        world = encode(scenario, jumps=jumping)
        started = time.process_time()
        advance(world)
        arm.seconds += time.process_time() - started
        header = world.header
        arm.all_events += header.event_count
        arm.events += header.event_count - header.jumped_events
        arm.broker_hours += header.broker_count * header.horizon / US_PER_HOUR
        outcomes.append(outcome_of(world))
    if outcomes[0] != outcomes[1]:
        msg = f"scenario {scenario.scenario_id}: jumps change its outcome"
        raise OutcomesDiffer(msg)


def _warm_up(scenario: Scenario) -> None:
    """Load (or compile) the kernel before any clock runs."""
    run_both(scenario.model_copy(update={"horizon_ms": scenario.warmup_ms + 1}), Arm(), Arm())
