"""``python -m benchmarks.detection``: simulate the pool, play the nights, tell, record.

Each stage is kept and resumed where it was cut off: the pool in files of 250 scenarios, the nights
line by line. ``--record`` appends a line to the results, and puts it into docs/trust.md and
docs/project/detection.md; ``--write`` puts the last one there again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks.detection import otava
from benchmarks.detection.contest import FILES, Contest, Size, load_contest
from benchmarks.detection.nights import (
    CONFIGURATIONS_TOGETHER,
    Played,
    columns_of,
    kinds,
    play,
    series_of,
)
from benchmarks.detection.pool import Pool, load_pool, make_pool
from benchmarks.detection.score import ANEW, missed, scored, sort_of
from benchmarks.detection.tell import EDITION, RESULTS, of_docs, of_trust, write
from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.experiment.plan import code_version
from isr_pipeline.verdicts.quantities import load_settings

OTAVA = "Apache Otava 0.8.0, magnitude 10 %"
LATER = "the same, a week later"


def main() -> int:
    """Run the contest; 1 if a bar was missed, 2 if it could not be run."""
    given = _arguments()
    console = Console()
    if given.write:
        _write(console)
        return 0
    try:
        contest = load_contest(FILES[given.experiment])
        size = _size(contest, given)
        if size.otava_nights:
            otava.set_up()
        _simulate(contest, size, given.jobs, console)
        if given.pool_only:
            return 0
        pool = load_pool(contest, size, columns_of(load_settings()))
        played = list(_watched(play(pool, size, given.jobs), _count(pool, size), console))
        played = _with_otava(pool, size, played, given.jobs)
    except (InputError, Refused, otava.OtavaMissing) as problem:
        console.print(f"[red]contest: {problem}")
        return 2
    told = _record(contest, size, pool, played, given)
    console.print(of_trust(told), markup=False)
    console.print(of_docs(told), markup=False)
    if given.record:
        with RESULTS.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(told) + "\n")
        console.print(f"one line appended to {RESULTS.name}")
        _write(console)
    return 1 if told["missed"] else 0


def _write(console: Console) -> None:
    for file in write():
        console.print(f"written: {file}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detection", description=__doc__)
    parser.add_argument(
        "--experiment", choices=FILES, default="operators", help="that regressions are planted in"
    )
    parser.add_argument("--quick", action="store_true", help="fewer regressions, wider intervals")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--scenarios", type=int, help="of the pool")
    parser.add_argument("--budget", type=int, help="scenarios that a night may spend")
    parser.add_argument("--plants", type=int, help="the first so many regressions")
    parser.add_argument("--hosts", type=int, help="configurations that they are planted in")
    parser.add_argument("--nights", type=int, help="of each regression, of either sort of phases")
    parser.add_argument(
        "--nights-together",
        type=int,
        help=f"of each regression, among {CONFIGURATIONS_TOGETHER} configurations",
    )
    parser.add_argument(
        "--null-nights",
        type=_null_nights,
        metavar="CONFIGURATIONS:NIGHTS,...",
        help="such as 22:600,41:600",
    )
    parser.add_argument("--otava-nights", type=int, help="nights that Otava is asked about")
    parser.add_argument(
        "--as-drawn",
        action="store_true",
        default=None,
        help="play each regression with phases as drawn, too",
    )
    parser.add_argument("--pool-only", action="store_true", help="simulate, and stop")
    parser.add_argument("--record", action="store_true", help="append a line, write the tables")
    parser.add_argument("--write", action="store_true", help="write the tables, and stop")
    return parser.parse_args()


def _null_nights(text: str) -> dict[int, int]:
    return {int(many): int(nights) for many, nights in (one.split(":") for one in text.split(","))}


def _size(contest: Contest, given: argparse.Namespace) -> Size:
    wanted = {
        name: getattr(given, name)
        for name in (
            "scenarios",
            "budget",
            "plants",
            "hosts",
            "nights",
            "nights_together",
            "null_nights",
            "otava_nights",
            "as_drawn",
        )
        if getattr(given, name) is not None
    }
    return contest.size(quick=given.quick).model_copy(update=wanted)


def _simulate(contest: Contest, size: Size, jobs: int, console: Console) -> None:
    with Progress(console=console) as progress:
        bar = progress.add_task("simulating the pool (resumes where it stopped)")
        for done, total in make_pool(contest, size, jobs):
            progress.update(bar, completed=done, total=max(total, 1))


def _count(pool: Pool, size: Size) -> int:
    return sum(count for _, count in kinds(pool, size))


def _watched(nights: Iterator[Played], total: int, console: Console) -> Iterator[Played]:
    with Progress(console=console) as progress:
        bar = progress.add_task("playing nights (resumes where it stopped)", total=total)
        for night in nights:
            yield night
            progress.advance(bar)


def _with_otava(pool: Pool, size: Size, played: list[Played], jobs: int) -> list[Played]:
    """Add what Otava says of some nights, one of each regression first, then null ones."""
    first = [one for one in played if one.number == 0 and sort_of(one.kind) == ANEW]
    nulls = [one for one in played if not one.kind.plant]
    asked = [*first[: size.otava_nights], *nulls[: size.otava_nights // 2]]
    if not asked or not size.otava_nights:
        return played
    answers = otava.rises([series_of(pool, one.kind, one.number) for one in asked], jobs)
    metrics = np.array(list(load_settings().metrics))
    for name, alarms in zip((OTAVA, LATER), answers, strict=True):
        for one, found in zip(asked, alarms, strict=True):
            mine = 1 if one.kind.plant else 0
            one.found[name] = metrics[found[:, :mine].any(axis=1)].tolist()
            one.flagged[name] = one.found[name]
            one.false[name] = int(found[:, mine:].sum())
    return played


def _record(
    contest: Contest, size: Size, pool: Pool, played: list[Played], given: argparse.Namespace
) -> dict[str, Any]:
    """One line of detection.jsonl."""
    planted = pool.planted(anew=True)
    told: dict[str, Any] = {
        "edition": EDITION,
        "experiment": contest.experiment,
        "quick": bool(given.quick),
        "arguments": [one for one in sys.argv[1:] if one != "--record"],
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": _commit(),
        "code_version": code_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "seeds": {"tuned": contest.tuning_seed, "told": contest.seed},
        "pool": {"digest": pool.digest, "code_version": pool.made_by, "scenarios": pool.size},
        "planted": len(planted),
        "hosts": len({arm.host for arm in planted}),
        "nights": size.nights,
        "nights_together": size.nights_together,
        "budget": pool.budget,
        "shipped_budget": pool.experiment.budget.scenarios,
        **scored(pool, played, load_settings()),
    }
    return {**told, "missed": missed(told)}


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
