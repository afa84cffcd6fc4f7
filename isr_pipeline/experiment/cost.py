"""What a night of an experiment costs the kernel, said before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.experiment.file import Experiment, healthy_scenario
from isr_pipeline.worlds.load import Load, load_of

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

EVENTS_PER_CORE_S = 10_000_000
"""Brute force, about: clusters that fit a core's caches reach three times as many, those of 20 000
partitions a third (`make bench PARTS=scale`)."""


LEAST_LIMIT_S = 900.0
"""Least limit of a task: Spark starts, a kernel is compiled, a machine is busy with others."""

LIMIT_FACTOR = 3.0
"""A limit is so many times what one core is reckoned to need, for a core may be slower."""


def load_by_hour(experiment: Experiment) -> Load:
    """The load of an average hour; it repeats only if every hour's does, after the longest."""
    healthy = healthy_scenario(experiment)
    hours = experiment.cluster.hourly_load or (1.0,)
    of = {
        factor: load_of(healthy.model_copy(update={"load_factor": factor})) for factor in set(hours)
    }
    periods = [load.period_us for load in of.values()]
    events = sum(of[factor].events_per_s for factor in hours) / len(hours)
    return Load(max(periods) if all(periods) else 0, events)


def core_seconds(experiment: Experiment, pairs: int) -> float:
    """What some pairs cost a core at most, by brute force.

    Args:
        experiment: as it was read.
        pairs: scenarios times configurations.
    """
    load = load_by_hour(experiment)
    return load.events_per_s * experiment.horizon_ms / 1000 * pairs / EVENTS_PER_CORE_S


def task_limit_s(plan: Plan) -> float:
    """After how many seconds a Spark task of a night hangs, rather than works.

    One core could have done the night in that time, every stage on both sides included: whatever
    Spark has, a task that takes longer is not waited for.
    """
    scenarios = sum(plan.panels.values()) + 2 * sum(stage.scenarios for stage in plan.stages)
    needed = core_seconds(plan.definition, scenarios * len(plan.configurations))
    return LEAST_LIMIT_S + LIMIT_FACTOR * needed


def cost_lines(experiment: Experiment, configurations: int) -> list[str]:
    """Say whether the experiment's load repeats, and what it costs if it does not.

    Args:
        experiment: as it was read.
        configurations: how many it has.
    """
    load = load_by_hour(experiment)
    events = load.events_per_s * experiment.horizon_ms / 1000
    pairs = configurations * sum(experiment.panels.model_dump().values())
    if load.period_us > 0:
        how = f"comes again every {load.period_us / 1000:g} ms; what repeats is jumped over"
    else:
        how = "has no common period of at most 1 s; every event is simulated"
    if experiment.cluster.hourly_load:
        how += "; it follows the hour, and this is the average one"
    return [
        *([experiment.simulated] if experiment.simulated else []),
        f"load: {how}",
        f"cost: at most {rounded(events)} events a pair, {rounded(events * pairs)} for {pairs} "
        f"pairs: {rounded(core_seconds(experiment, pairs))} s of a core at "
        f"{rounded(EVENTS_PER_CORE_S)} a second"
        + (", before jumps and shared runs" if load.period_us > 0 else ", before shared runs"),
    ]


def rounded(number: float) -> str:
    """Two digits that mean something, in thousands, millions or billions: ``3.2 million``."""
    for unit, word in ((1e9, " billion"), (1e6, " million"), (1e4, "")):
        if number >= unit:
            if not word:
                return f"{float(f'{number:.2g}'):,.0f}".replace(",", " ")
            return f"{float(f'{number / unit:.2g}'):g}{word}"
    return f"{float(f'{number:.2g}'):g}"
