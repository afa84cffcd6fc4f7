"""``python -m benchmarks.night_cost``: what a quiet night takes, and a regressed one, in pairs.

A night of an experiment is accepted. Then nights follow in turns: a quiet one, in which nothing
differs, and one in which a configuration has a smaller `replica.lag.time.max.ms`, which is decided
by further scenarios. ``--before CHECKOUT`` adds a quiet night of an older checkout to each turn,
in a home of its own; for code of before 2026-11-24 add ``--before-experiment nightly --dag``.
Processor seconds are of the night's program and all that it starts; on a busy machine the clock
says little.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console

from isr_pipeline.base.home import REPOSITORY, SHIPPED

ACCEPTED, QUIET, WORSE = "2026-11-01", "2026-11-02", "2026-11-03"
KERNELS = "NUMBA_CACHE_DIR"
"""Each home compiles its own kernel, in the night that is accepted and not counted."""


@dataclass(frozen=True)
class Spent:
    """Of one night: seconds by the clock, and of processors."""

    clock: float
    processors: float


def main() -> int:
    """Run the nights and print medians; 2 if one cannot be run."""
    given = _arguments()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="night-cost-") as scratch:
        here = _Site(REPOSITORY, Path(scratch) / "here", given.experiment, dag=given.dag)
        sites = {"here": here}
        if given.before:
            older = given.before_experiment or given.experiment
            sites["before"] = _Site(given.before, Path(scratch) / "before", older, dag=given.dag)
        for site in sites.values():
            site.night(ACCEPTED)
            site.accept()
        spent: dict[str, list[Spent]] = {"quiet": [], "regressed": [], "before": []}
        for turn in range(given.turns):
            spent["quiet"].append(here.night(QUIET))
            spent["regressed"].append(here.night(WORSE, given.host))
            if "before" in sites:
                spent["before"].append(sites["before"].night(QUIET))
            console.print(f"turn {turn + 1} of {given.turns}")
    told = {
        name: {
            "clock_s": round(median(one.clock for one in some), 1),
            "processor_s": round(median(one.processors for one in some), 1),
            "nights": len(some),
        }
        for name, some in spent.items()
        if some
    }
    console.print_json(json.dumps({"experiment": given.experiment, **told}))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.night_cost", description=__doc__)
    parser.add_argument("--experiment", default="operators")
    parser.add_argument("--host", default="today", help="configuration that gets worse")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--before", type=Path, help="checkout of older code, set up")
    parser.add_argument("--before-experiment", help="which of its experiments, if another")
    parser.add_argument(
        "--dag", action="store_true", help="by Airflow's DAG, as `make nightly` runs it"
    )
    return parser.parse_args()


class _Site:
    """A checkout with a home and a copy of its configuration."""

    def __init__(self, checkout: Path, home: Path, experiment: str, *, dag: bool) -> None:
        self.checkout = checkout
        self.home = home
        self.experiment = experiment
        self.way = () if dag else ("--in-process",)
        self.config = home / "config"
        home.mkdir(parents=True)
        source = SHIPPED / "config" if checkout == REPOSITORY else checkout / "config"
        subprocess.run(["cp", "-r", str(source), str(self.config)], check=True)
        file = self.config / "experiments" / f"{experiment}.yaml"
        self.file, self.text = file, file.read_text(encoding="utf-8")

    def night(self, night: str, worse: str = "") -> Spent:
        """Run a night."""
        self.file.write_text(with_lag_limit(self.text, worse) if worse else self.text)
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        self._run("night", "run", *self.way, "--experiment", self.experiment, "--night", night)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Spent(time.monotonic() - begun, used)

    def accept(self) -> None:
        """Make the first night the baseline."""
        self._run("baseline", "accept", ACCEPTED, "--experiment", self.experiment, "--why", "first")

    def _run(self, *arguments: str) -> None:
        program = self.checkout / ".venv" / "bin" / "isr-pipeline"
        places = {"ISR_PIPELINE_HOME": str(self.home), "ISR_PIPELINE_CONFIG": str(self.config)}
        variables = {name: value for name, value in os.environ.items() if name != KERNELS}
        done = subprocess.run(
            [str(program), *arguments],
            env=variables | places,
            cwd=self.checkout,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode > 1:
            sys.exit(f"night-cost: {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")


def with_lag_limit(text: str, name: str, limit_ms: int = 2_000) -> str:
    """An experiment's text in which one candidate without settings has another lag limit.

    Raises:
        ValueError: there is no such candidate.
    """
    found = re.search(rf"^( *)- name: {re.escape(name)}\n", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"no candidate {name}")
    line = f"{found[1]}  set: {{replica.lag.time.max.ms: {limit_ms}}}\n"
    return text[: found.end()] + line + text[found.end() :]


if __name__ == "__main__":
    sys.exit(main())
