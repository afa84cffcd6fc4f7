"""The regression that docs/verdicts.md follows: `today-without-lock` of `smoke`, min ISR 1 to 2.

    python -m benchmarks.verdict_example

Simulates the regression and the confirm panel of 48 scenarios under both values, prints what the
page says of them, and draws the page's picture. No night, baseline or Spark is needed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from isr_pipeline.base.compiling import use_kernel_cache
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.model import apply, scenario_from_json

PICTURE = REPOSITORY / "docs" / "img" / "verdict-example.png"
CONFIGURATION, SIZE = "today-without-lock", 48
BASELINE, TONIGHT = {"min.insync.replicas": 1}, {"min.insync.replicas": 2}
METRIC = "produce_unavailable_rate"
STRATUM = "offline"
BEFORE, AFTER = "#666666", "#D55E00"


@dataclass(frozen=True, slots=True)
class Pair:
    """One scenario under the baseline's value and tonight's, share of partition-time.

    Attributes:
        stratum: of the scenario.
        weight: of the scenario.
        before, after: `produce_unavailable_rate` under either.
    """

    stratum: str
    weight: float
    before: float
    after: float


def pairs(panel: str) -> list[Pair]:
    """Simulate a panel under both values."""
    from isr_pipeline.worlds.run import run  # noqa: PLC0415 - loads the kernel

    experiment = load_experiment("smoke").resized(SIZE)
    (arm,) = (one for one in configurations(experiment) if one.name == CONFIGURATION)
    found = []
    for row in draw_panel(experiment.source, panel):
        scenario = scenario_from_json(row.scenario_json)
        before, after = (
            float(run(apply(scenario, {**arm.overrides, **change})).outcome[METRIC] or 0.0)
            for change in (BASELINE, TONIGHT)
        )
        found.append(Pair(row.stratum, row.weight, before, after))
    return found


def ratio(found: list[Pair]) -> float:
    """Ratio of the weighted means."""
    return sum(p.weight * p.after for p in found) / sum(p.weight * p.before for p in found)


def risen(found: list[Pair]) -> list[Pair]:
    """Scenarios that got worse."""
    return [pair for pair in found if pair.after > pair.before]


def draw(found: list[Pair], file: Path = PICTURE) -> None:
    """Draw every scenario of a panel as a line from the baseline's value to tonight's."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
    ordered = sorted(found, key=lambda pair: (pair.stratum, pair.after))
    for row, pair in enumerate(ordered):
        if pair.after != pair.before:
            axes.plot([100 * pair.before, 100 * pair.after], [row, row], color=AFTER, linewidth=1)
            axes.plot([100 * pair.after], [row], "o", color=AFTER, markersize=4)
        axes.plot([100 * pair.before], [row], "o", color=BEFORE, markersize=4)
    strata = [pair.stratum for pair in ordered]
    names = sorted(set(strata))
    middles = [strata.index(name) + strata.count(name) / 2 - 0.5 for name in names]
    axes.set_yticks(middles, [f"{name} ({strata.count(name)})" for name in names])
    for name in names[1:]:
        axes.axhline(strata.index(name) - 0.5, color="#dddddd", linewidth=1)
    axes.set_xlabel("produce unavailable, % of partition-time")
    axes.set_title(
        "One line is one scenario of the standing panel: grey the baseline, orange tonight",
        fontsize=10,
        loc="left",
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=120)
    plt.close(figure)


def main() -> int:
    """Print the figures and draw the picture."""
    use_kernel_cache()
    for panel in ("regression", "confirm"):
        found = pairs(panel)
        worse = risen(found)
        inside = [pair for pair in found if pair.stratum == STRATUM]
        print(
            f"{panel}: {len(worse)} of {len(found)} scenarios got worse, all in "
            f"{', '.join(sorted({pair.stratum for pair in worse}))}; ratio {ratio(found):.2f}, "
            f"in the stratum {STRATUM} {ratio(inside):.2f}"
        )
        if panel == "regression":
            draw(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
