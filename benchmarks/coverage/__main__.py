"""Measure how often the intervals of verdicts hold the truth, on outcomes of the simulator.

A pool of scenarios of an experiment is simulated once under a few configurations, each as drawn and
with its phases drawn anew. What a pair of these differs by over the whole pool is its true ratio.
Panels are drawn from the pool pattern by pattern, as many of each and weighted as in a night, and
every interval that is shown either holds the true ratio or does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks import told
from benchmarks.coverage.pool import (
    ANEW,
    AS_DRAWN,
    CONFIGURATIONS,
    PANEL,
    SEED,
    Arm,
    experiment_of,
    read_pool,
)
from benchmarks.speed import record
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.plan import code_version
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.panels import ScenarioRow
from isr_pipeline.verdicts.comparison import (
    ONE_SIDED,
    Comparison,
    PanelOutcomes,
    compare,
    intervals,
)
from isr_pipeline.verdicts.quantities import VerdictSettings, load_settings
from isr_pipeline.worlds.columns import EXPOSURE, METRICS, OF_THE_RUN

RESULTS = REPOSITORY / "benchmarks" / "results" / "coverage.jsonl"
PAGE = REPOSITORY / "docs" / "project" / "detection.md"
MARKS = "<!-- figures:coverage-{} -->", "<!-- figures:coverage-{}:end -->"

PAIRS: dict[str, tuple[tuple[Arm, Arm], ...]] = {
    "operators": (
        (("lag-10s", AS_DRAWN), ("today", AS_DRAWN)),
        (("lag-20s", AS_DRAWN), ("today", AS_DRAWN)),
        (("lag-10s", ANEW), ("today", AS_DRAWN)),
        (("today", ANEW), ("today", AS_DRAWN)),
        (("min-isr-1", ANEW), ("min-isr-1", AS_DRAWN)),
        (("fetchers-4", ANEW), ("today", AS_DRAWN)),
        (("slow-append-3ms", ANEW), ("today", AS_DRAWN)),
        (("lock-dropped", ANEW), ("lag-10s", AS_DRAWN)),
    ),
    "load": (
        (("lag-10s", AS_DRAWN), ("today", AS_DRAWN)),
        (("response-bytes-1m", AS_DRAWN), ("today", AS_DRAWN)),
        (("today", ANEW), ("today", AS_DRAWN)),
        (("lag-10s", ANEW), ("today", AS_DRAWN)),
        (("fetchers-4", ANEW), ("today", AS_DRAWN)),
        (("own-listener", ANEW), ("today", AS_DRAWN)),
    ),
}
"""Experiment -> (tonight, baseline): changes of settings, harmless changes, both at once."""


class Drawing:
    """Draws panels from a pool."""

    def __init__(self, pool: pd.DataFrame, experiment: str) -> None:
        self.pairs = PAIRS[experiment]
        self.experiment = experiment
        groups = pool.sort_values("index").groupby(["configuration", "phases"])
        self.arms: dict[Arm, pd.DataFrame] = {
            (str(name), str(kind)): rows.reset_index(drop=True) for (name, kind), rows in groups
        }
        first = self.arms["today", AS_DRAWN]
        self.strata = first["stratum"].to_numpy(str)
        found = draw_panel(experiment_of(experiment, len(first)).source, PANEL)
        patterns = [row.pattern for row in found]
        self.like = first.groupby(["stratum", pd.Series(patterns)]).indices
        self.weights = first["weight"].to_numpy(float)
        self.exposure_us = float(first[EXPOSURE][0])

    def whole(self, side: int) -> PanelOutcomes:
        """The pool itself as a panel, tonight's side (0) or the baseline's (1)."""
        rows = np.tile(np.arange(len(self.weights))[:, None], (1, len(self.pairs)))
        return self._panel(rows, self.weights, tuple(self.strata), side)

    @cache  # noqa: B019 - one drawing lives as long as the program
    def night(self, size: int) -> tuple[ScenarioRow, ...]:
        """Scenarios of a night: its patterns and weights are what panels have."""
        return tuple(draw_panel(experiment_of(self.experiment, size).source, PANEL))

    def panels(self, size: int, random: np.random.Generator) -> tuple[PanelOutcomes, PanelOutcomes]:
        """Draw a panel of its own for every pair: as many of each pattern as a night has."""
        night = self.night(size)
        rows = np.empty((size, len(self.pairs)), dtype=np.int64)
        for row, one in enumerate(night):
            rows[row] = random.choice(self.like[one.stratum, one.pattern], len(self.pairs))
        weights = np.array([one.weight for one in night])
        strata = tuple(one.stratum for one in night)
        new, old = (self._panel(rows, weights, strata, side) for side in (0, 1))
        return new, old

    def _panel(
        self,
        rows: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float64],
        strata: tuple[str, ...],
        side: int,
    ) -> PanelOutcomes:
        tables = [self.arms[pair[side]] for pair in self.pairs]
        shape = rows.shape
        return PanelOutcomes(
            scenario_ids=tuple(f"{index:05d}" for index in range(shape[0])),
            config_ids=tuple(f"{index:02d}" for index in range(shape[1])),
            weights=weights,
            exposure_us=np.full(shape[0], self.exposure_us),
            strata=strata,
            fault_kinds=("",) * shape[0],
            values={
                name: np.column_stack(
                    [table[name].to_numpy(float)[rows[:, at]] for at, table in enumerate(tables)]
                )
                for name in (*METRICS, *OF_THE_RUN)
            },
            missing=np.zeros(shape, dtype=bool),
            failed=np.zeros(shape, dtype=bool),
        )


def measured(drawing: Drawing, size: int, nights: int, settings: VerdictSettings) -> dict[str, Any]:
    """Count, for each metric, intervals that hold the truth, and false `ok`."""
    truth: Comparison = compare(drawing.whole(0), drawing.whole(1), settings)
    known = np.isfinite(truth.ratio) & (truth.baseline_value > 0) & ~truth.identical
    matters = np.zeros_like(known)
    for at in np.ndindex(known.shape):
        matters[at] = known[at] and truth.ratio[at] >= settings.ratio_min
    random = np.random.default_rng(SEED)
    shape = (4, *known.shape)
    counts = np.zeros(shape, dtype=np.int64)
    for _ in range(nights):
        new, old = drawing.panels(size, random)
        found = compare(new, old, settings)
        ends = intervals(new, old, found, settings, in_strata=False)
        shown = known & (found.discordant > 0)
        high = np.where(np.isnan(ends.high[0]), np.inf, ends.high[0])
        low = np.where(np.isnan(ends.low[0]), 0.0, ends.low[0])
        ok = shown & (ends.at_least_margin[0] <= ONE_SIDED)
        for index, one in enumerate((shown, truth.ratio <= high, truth.ratio >= low, ok)):
            counts[index] += shown & one
    return {
        name: {
            "intervals": int(counts[0, row].sum()),
            "upper": _share(counts[1, row].sum(), counts[0, row].sum()),
            "lower": _share(counts[2, row].sum(), counts[0, row].sum()),
            "false_ok": _share(
                counts[3, row][matters[row]].sum(), counts[0, row][matters[row]].sum()
            ),
            "true_ratios": [round(float(one), 3) for one in truth.ratio[row][known[row]]],
        }
        for row, name in enumerate(truth.metrics)
        if known[row].any()
    }


def block(line: Mapping[str, Any]) -> str:
    """The table of docs/project/detection.md, from a line of the results."""
    level = round(100 * line["one_sided_level"])
    rows = []
    for metric, found in line["coverage"].items():
        shares = (found["upper"], found["lower"], found["false_ok"])
        cells = ["–" if one is None else f"{100 * one:.1f} %" for one in shares]
        rows.append(f"| {metric} | {found['intervals']} | {' | '.join(cells)} |")
    made = (
        f"Measured on {line['measured_at'][:10]}: {line['nights']} panels of {line['panel']} for "
        f"each comparison, from a pool of {line['scenarios']} scenarios of `{line['experiment']}`. "
        f"Each end is one-sided at {level} %, so {100 - level} % should hold."
    )
    head = "| metric | intervals | upper end holds | lower end holds | false `ok` |"
    return "\n".join([made, "", head, "|---|---:|---:|---:|---:|", *rows])


def filled(page: str) -> str:
    """The page with the table of each experiment's last line."""
    for name, last in told.last_lines(RESULTS).items():
        page = told.replaced(page, MARKS, name, block(last))
    return page


def _share(part: int, whole: int) -> float | None:
    return round(float(part) / float(whole), 3) if whole else None


def main() -> None:
    """Measure and print a table; with ``--record``, add a line and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--experiment", choices=CONFIGURATIONS, default="operators")
    parser.add_argument("--scenarios", type=int, default=3_000, help="size of the pool")
    parser.add_argument("--nights", type=int, default=100, help="panels drawn for each pair")
    parser.add_argument("--panel", type=int, default=200, help="scenarios of a panel")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--record", action="store_true", help="append a line, write the table")
    given = parser.parse_args()
    # the p-values of the comparison are not looked at: the fewest flips will do for them
    settings = load_settings().model_copy(
        update={"flips": 1_999, "flips_max": 1_999, "exact_up_to": 8}
    )
    pool = read_pool(given.experiment, given.scenarios, given.processes)
    drawing = Drawing(pool, given.experiment)
    found = measured(drawing, given.panel, given.nights, settings)
    for name, one in found.items():
        sys.stdout.write(
            f"{name:<30} {one['intervals']:>5} intervals  upper {one['upper']}  lower "
            f"{one['lower']}  false ok {one['false_ok']}\n"
        )
    line = {
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "code_version": code_version(),
        "experiment": given.experiment,
        "scenarios": given.scenarios,
        "panel": given.panel,
        "nights": given.nights,
        "one_sided_level": ONE_SIDED,
        "coverage": found,
    }
    if given.record:
        record.append(line, RESULTS)
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
