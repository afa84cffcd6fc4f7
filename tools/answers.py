"""What the shipped experiments last answered (`make answers`).

A night of each, without Airflow, in the home of the shell. What it says is kept in
benchmarks/results/answers.jsonl, a line for each night; docs/project/experiments.md says when each
was asked. `python -m tools.answers --show NAME` prints the newest answer, unless the experiment has
changed since, and `--write` writes the page from what was kept; both run nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.verdicts import quantities, sentences
from isr_pipeline.verdicts.quantities import ONE_REPLICA
from isr_pipeline.verdicts.record import LOST, AgainstReference, Per
from isr_pipeline.worlds.columns import MAIN

SHIPPED = ("operators", "proposals", "history")
KEPT = REPOSITORY / "benchmarks" / "results" / "answers.jsonl"
PAGE = REPOSITORY / "docs" / "project" / "experiments.md"
BLOCK = re.compile(r"(?<=<!-- experiment:answer -->\n).*?(?=<!-- experiment:end -->)", re.DOTALL)
COLUMNS = (ONE_REPLICA, LOST, *MAIN)
READING = (
    "A cell has the reference's figure and the configuration's, how they compare, and their ratio; "
    "one figure where the two do not differ. Rows keep the experiment's order. The report of a "
    "night also names strata."
)
RATIOS_ALONE = (
    "It was asked before the figures of a year were kept, so it has ratios to the reference alone. "
    "Rows keep the experiment's order."
)
NOTHING = "not since it last changed"


def keep(shown: dict[str, Any]) -> None:
    """Add what `night show --json` says of a night to what is kept."""
    asked = load_experiment(shown["experiment"])
    line = {
        "experiment": shown["experiment"],
        "experiment_digest": asked.digest,
        "night": shown["night"],
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "scenarios": asked.panels.regression,
        "panel_digest": shown["panel_digest"],
        "against_reference": shown["against_reference"],
        "figures": {one["name"]: one["own"] for one in shown["configs"]},
    }
    with KEPT.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def newest(experiment: str) -> dict[str, Any] | None:
    """The newest line of an experiment; None if it was not asked since it last changed."""
    if not KEPT.is_file():
        return None
    lines = [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]
    digest = load_experiment(experiment).digest
    return next((one for one in reversed(lines) if one.get("experiment_digest") == digest), None)


def block() -> str:
    """What the page shows between its markers."""
    asked = "; ".join(f"`{one}` {_asked(newest(one))}" for one in SHIPPED)
    return f"Last asked: {asked}.\n"


def _asked(line: dict[str, Any] | None) -> str:
    if line is None:
        return NOTHING
    return f"on {line['measured_at'][:10]} with {line['scenarios']} scenarios, on {line['machine']}"


def table(experiment: str) -> str:
    """The newest answer of an experiment, every configuration beside its reference."""
    line = newest(experiment)
    if line is None:
        return f"{experiment}: {NOTHING}; `make answers` asks it"
    head = " | ".join(quantities.label(one) for one in COLUMNS)
    rows = [
        f"| group | configuration | {head} |",
        "|---|---|" + "---:|" * len(COLUMNS),
        *_rows(experiment, line),
    ]
    reading = READING if "figures" in line else RATIOS_ALONE
    return "\n\n".join([f"Asked {_asked(line)}.", reading, "\n".join(rows)])


def _rows(experiment: str, line: dict[str, Any]) -> list[str]:
    against = {
        one["name"]: AgainstReference.model_validate(_with_pairs(one))
        for one in line["against_reference"]
    }
    own = line.get("figures") or {name: {} for name in line["metrics"]}
    rows, group = [], ""
    for one in configurations(load_experiment(experiment)):
        if one.name not in own:
            continue
        beside = against.get(one.name)
        name = f"`{one.name}`"
        if beside is not None and beside.weaker:
            name += f", weaker {', '.join(beside.weaker)}"
        figures = own[one.name]
        cells = " | ".join(_cell(metric, figures.get(metric), beside) for metric in COLUMNS)
        rows.append(f"| {one.group if one.group != group else ''} | {name} | {cells} |")
        group = one.group
    return rows


def _with_pairs(kept: dict[str, Any]) -> dict[str, Any]:
    """What was kept before comparisons had their figures: it has ratios alone."""
    numbers = ("scenarios", "before", "after", "ratio", "low", "high")
    for one in kept["differences"]:
        for each in (one, *one.get("strata", ())):
            each.setdefault("pair", {"per": Per.MIX} | {name: each[name] for name in numbers})
    return kept


def _cell(metric: str, value: float | None, beside: AgainstReference | None) -> str:
    """Both figures and what is said of them, or the one where the two do not differ."""
    found = beside.difference(metric) if beside is not None else None
    if found is not None and found.differing:
        return f"{found.word}, {sentences.how_much(metric, found.pair)}"
    per = Per.TYPICAL if quantities.is_latency(metric) else Per.YEAR
    return "" if value is None else sentences.one_figure(metric, per, value)


def filled() -> str:
    """The page as it has to be."""
    return BLOCK.sub(lambda _: block(), PAGE.read_text(encoding="utf-8"))


def ask(experiment: str, night: str) -> dict[str, Any]:
    """Run a night and return what it says.

    Raises:
        SystemExit: it ended without an answer.
    """
    command = Path(sys.executable).parent / "isr-pipeline"
    named = ("--experiment", experiment)
    subprocess.run(
        [str(command), "night", "run", "--in-process", "--night", night, *named],
        cwd=REPOSITORY,
        check=False,
    )
    shown = [str(command), "night", "show", night, *named, "--json"]
    done = subprocess.run(shown, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout)
    if not said["against_reference"]:
        raise SystemExit(f"night {night} of {experiment} compares nothing: {said['reason']}")
    return said


def main() -> None:
    """Ask the experiments that are named, or tell what was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*", default=list(SHIPPED), metavar="NAME")
    parser.add_argument("--write", action="store_true", help="run nothing, write the page")
    parser.add_argument("--show", choices=SHIPPED, help="run nothing, print the newest answer")
    options = parser.parse_args()
    if options.show:
        sys.stdout.write(f"{table(options.show)}\n")
        return
    for experiment in () if options.write else options.experiments:
        keep(ask(experiment, time.strftime("%Y-%m-%d", time.gmtime())))
    PAGE.write_text(filled(), encoding="utf-8")


if __name__ == "__main__":
    main()
