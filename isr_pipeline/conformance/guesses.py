"""What somebody who knows nothing would reach: a measure that a guess passes says nothing.

Beside each measure stand two guesses. The constant one is the best there is: the leader and ISR
that hold longest in each recording, and of all numbers of changes those that most experiments agree
with. The late one is the recordings themselves, a second later.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from isr_pipeline.conformance.comparison import (
    NUMBERS,
    compare_all,
    compared_ms,
    difference_ms,
    histories,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from isr_pipeline.conformance.comparison import Agreement, ComparedCase, Events, Report, Steps
    from isr_pipeline.conformance.observations import Observation

LATE_MS = 1_000


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a report, beside those of both guesses.

    Attributes:
        name: what it measures.
        bar: what it has to reach, as it is said; none if a guess reaches it.
        simulated, constant, late: figures, with their unit.
    """

    name: str
    bar: str
    simulated: str
    constant: str
    late: str


def measures(report: Report, observations: list[Observation]) -> list[Measure]:
    """The four figures of a report with their bars."""
    constant = compare_all(observations, events_of=longest)
    late = compare_all(observations, events_of=_late)
    reports = (report, constant, late)
    medians = (f"{one.median_isr_ms_per_change:.0f} ms" for one in reports)
    shares = (_percent(one.timeline_share) for one in reports)
    widened, changes = _best_numbers(report.counts, lambda one: one.agrees)
    in_range, within = _best_numbers(report.counts, lambda one: one.in_range)
    return [
        Measure("median disagreement per observed ISR change", "150 ms", *medians),
        Measure(f"timeline repetitions that agree, of {len(report.timeline)}", "95 %", *shares),
        Measure(
            f"count experiments within the observed range, of {len(report.counts)}",
            "90 %",
            _percent(report.counts_in_range_share),
            f"{_percent(in_range)} ({within})",
            _percent(late.counts_in_range_share),
        ),
        Measure(
            "the same, within that range widened by 1 or 20 %",
            "none",
            _percent(report.counts_share),
            f"{_percent(widened)} ({changes})",
            _percent(late.counts_share),
        ),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _late(observation: Observation) -> Events:
    """What was observed, a second later."""
    return [{**event, "t_ms": event["t_ms"] + LATE_MS} for event in observation.observed]


def longest(observation: Observation) -> Events:
    """Leader and ISR of each partition that hold longest, all the time."""
    window = compared_ms(observation)
    isrs, leaders = histories(observation.scenario, observation.observed)
    return [
        {
            "t_ms": 0.0,
            "kind": "leader_elected",
            "topic": topic,
            "partition": partition,
            "leader": _constant(leaders[topic, partition], *window),
            "isr": _constant(isr, *window),
        }
        for (topic, partition), isr in isrs.items()
    ]


def _constant(steps: Steps, begin: float, end: float) -> Any:
    """The value that differs for the shortest time."""
    values = [value for _, value in steps]
    return min(values, key=lambda value: difference_ms([(0.0, value)], steps, begin, end))


def _best_numbers(
    counts: list[ComparedCase], agrees: Callable[[ComparedCase], bool]
) -> tuple[float, str]:
    """The share that the best constant numbers reach, and those numbers."""
    seen = [
        sorted({observed for case in counts for _, observed in case.numbers(name)})
        for name in NUMBERS
    ]
    guesses = {
        guess: sum(agrees(_guessed(case, guess)) for case in counts) for guess in product(*seen)
    }
    best = max(guesses, key=lambda guess: guesses[guess], default=(0,) * len(NUMBERS))
    said = ", ".join(f"{name} {number}" for name, number in zip(NUMBERS, best, strict=True))
    return guesses.get(best, 0) / max(1, len(counts)), said


def _guessed(case: ComparedCase, guess: tuple[int, ...]) -> ComparedCase:
    """The experiment with constant numbers instead of simulated ones."""

    def guessed(one: Agreement) -> Agreement:
        pairs = zip(NUMBERS, guess, strict=True)
        numbers = {name: (number, one.numbers[name][1]) for name, number in pairs}
        return dataclasses.replace(one, numbers=numbers)

    return dataclasses.replace(case, repetitions=tuple(map(guessed, case.repetitions)))
