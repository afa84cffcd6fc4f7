"""Two draws of a reduced cluster: do they lead to the same verdicts?

A reduced cluster keeps some partitions, by chance. Here the same panel is simulated with two such
choices. Where both find a configuration better, or worse, than the reference, that does not depend
on who was kept. Where they contradict each other, too few partitions are kept.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from isr_pipeline.experiment.file import (
    Experiment,
    ReductionEntry,
    load_experiment,
    written_reduction,
)
from isr_pipeline.experiment.grid import configurations
from isr_pipeline.outcomes.panel_here import REGRESSION, simulate_panel
from isr_pipeline.outcomes.summary import WHOLE_PANEL, summarize
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.worlds.columns import TESTED

SCENARIOS = 60
"""Of the regression panel, unless it is smaller."""

_SEED = "2026-01-01"
"""Of the intervals' draws: a call must not depend on the day."""

SHARE = 2
"""Of a file that names no reduction, one partition in so many is kept."""


@dataclass(frozen=True, slots=True)
class Called:
    """What a draw says of a configuration and a metric, against the reference.

    Attributes:
        call: ``better``, ``worse``, or ``open``: its 95 % interval holds 1, or has no end.
        ratio: of the configuration's value to the reference's; NaN where that is 0.
    """

    call: str
    ratio: float


@dataclass(frozen=True, slots=True)
class Draws:
    """Two draws beside each other.

    Attributes:
        reduced: what each keeps, in a sentence.
        scenarios: of the panel.
        calls: (configuration, metric) -> what each says.
    """

    reduced: tuple[str, str]
    scenarios: int
    calls: dict[tuple[str, str], tuple[Called, Called]]

    @property
    def contradictions(self) -> list[tuple[str, str]]:
        """Where one says better and the other worse."""
        return [
            at for at, two in self.calls.items() if {c.call for c in two} == {"better", "worse"}
        ]

    def lines(self) -> Iterator[str]:
        """Say whether they agree, for a terminal: the answer first."""
        kinds = Counter(tuple(sorted({c.call for c in two})) for two in self.calls.values())
        same = sum(count for calls, count in kinds.items() if len(calls) == 1)
        found = self.contradictions
        answer = "contradict each other" if found else "agree"
        yield f"two draws {answer}, on {self.scenarios} scenarios"
        for sentence in filter(None, self.reduced):
            yield f"  {sentence}"
        yield (
            f"of {len(self.calls)} comparisons with the reference {same} are called the same, "
            f"{len(self.calls) - same - len(found)} by one draw only, {len(found)} contradict"
        )
        for (name, metric), two in self.calls.items():
            first, second = (f"{c.call} ({c.ratio:.3g} x)" for c in two)
            yield f"  {name} {metric}: {first}, {second}"
        if found:
            yield "keep more partitions, or more scenarios"

    def as_json(self) -> dict[str, Any]:
        """Say the same as JSON has it; a ratio that is no number is null."""
        return {
            "agree": not self.contradictions,
            "scenarios": self.scenarios,
            "draws": list(self.reduced),
            "comparisons": [
                {
                    "configuration": name,
                    "metric": metric,
                    "calls": [one.call for one in two],
                    "ratios": [one.ratio if math.isfinite(one.ratio) else None for one in two],
                }
                for (name, metric), two in self.calls.items()
            ],
        }


def compare_draws(
    name: str | Path,
    *,
    scenarios: int | None = None,
    partitions: int | None = None,
    done: Callable[[int, int], None] = lambda _done, _of: None,
) -> Draws:
    """Simulate the regression panel of an experiment with two draws of its partitions.

    Args:
        name: of the experiment, or its file.
        scenarios: of the panel; not said: `SCENARIOS`, or as many as it has.
        partitions: how many each draw keeps; not said: as the file says, else half of them.
        done: told how many of how many pairs are simulated.

    Raises:
        InputError: the experiment cannot be used, or the cluster cannot be reduced so far.
    """
    written = written_reduction(name)
    kept = partitions or (written.partitions if written else None)
    if kept is None:
        whole = load_experiment(name)
        kept = sum(len(topic["assignment"]) for topic in _topics(whole)) // SHARE
    first = written.draw if written else 1
    two = [
        load_experiment(name, ReductionEntry(partitions=kept, draw=first + more)) for more in (0, 1)
    ]
    size = min(two[0].panels.regression, SCENARIOS) if scenarios is None else scenarios
    two = [experiment.resized(size) for experiment in two]
    pairs = len(configurations(two[0])) * size
    both = []
    for nth, experiment in enumerate(two):
        rows = []
        for row in simulate_panel(experiment, configurations(experiment)):
            rows.append(row)
            done(nth * pairs + len(rows), 2 * pairs)
        both.append(called(pd.DataFrame(rows), experiment.reference))
    calls = {at: (one, both[1][at]) for at, one in both[0].items()}
    return Draws((two[0].reduced, two[1].reduced), size, calls)


def _topics(experiment: Experiment) -> list[dict[str, Any]]:
    """Topics of the regression panel's cluster, written out."""
    row = draw_scenario(experiment.source, REGRESSION, 0)
    topics: list[dict[str, Any]] = json.loads(row.scenario_json)["topics"]
    return topics


def called(rows: pd.DataFrame, reference: str) -> dict[tuple[str, str], Called]:
    """Say of every configuration and tested metric whether it is better than the reference.

    Args:
        rows: of the outcomes table.
        reference: name of the configuration that the others are compared with.
    """
    sides = {str(name): own for name, own in rows.groupby("config_name", sort=False)}
    found = {}
    for name, own in sides.items():
        if name == reference:
            continue
        summary = summarize(own, sides[reference], seed=_SEED)
        whole = summary[summary["stratum"] == WHOLE_PANEL].set_index("metric")
        for metric in TESTED:
            found[name, metric] = _call(*(float(whole[of][metric]) for of in _COLUMNS))
    return found


_COLUMNS = ("ratio", "ratio_low", "ratio_high")


def _call(ratio: float, low: float, high: float) -> Called:
    """Every tested metric is one of which less is better; an open end is no number."""
    if low > 1:
        return Called("worse", ratio)
    return Called("better" if high < 1 else "open", ratio)
