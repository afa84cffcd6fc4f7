"""``python -m benchmarks.detection.earns``: what each part of the verdicts changes.

The same nights are judged with everything on, and once with each part switched off.
Plants of ``contest.yaml`` (``earns``) are played, some of them in one stratum alone: elsewhere
such a plant has the outcomes of its configuration without it. Nights are kept line by line, as the
contest's are, and a run that was cut off goes on.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.detection.contest import NOTHING, Contest, Size, load_contest
from benchmarks.detection.kept import judge_and_keep, kept_rows
from benchmarks.detection.nights import CONFIGURATIONS, Kind, columns_of, judging_digest, night_of
from benchmarks.detection.parts import ALL, PARTS, Judged, judged
from benchmarks.detection.pool import Pool, load_pool, make_pool
from isr_pipeline.base.home import Home
from isr_pipeline.verdicts.quantities import load_settings
from isr_pipeline.verdicts.record import Status


def contest_of(contest: Contest) -> Contest:
    """The contest with the plants of this benchmark."""
    earns = contest.earns
    assert earns is not None, contest.experiment
    update = {name: getattr(earns, name) for name in ("hosts", "service", "switches", "keys")}
    return contest.model_copy(update={**update, "mutants": ()})


def with_strata(pool: Pool, wanted: Mapping[str, list[str]]) -> Pool:
    """The pool with plants that act in one stratum alone: elsewhere nothing is planted."""
    arms, outcomes = list(pool.arms), dict(pool.outcomes)
    for stratum, names in wanted.items():
        here = np.zeros(pool.size, dtype=bool)
        here[pool.strata[stratum]] = True
        for arm in [one for name in names for one in pool.arms if one.plant == name]:
            alone = replace(arm, plant=f"{arm.plant} in {stratum}", stratum=stratum)
            without = pool.of(pool.arm(arm.host, NOTHING, anew=arm.anew))
            arms.append(alone)
            outcomes[alone.folder] = {
                name: np.where(here, values, without[name]) for name, values in pool.of(arm).items()
            }
    return replace(pool, arms=tuple(arms), outcomes=outcomes)


Task = tuple[Kind, int]


def tasks(pool: Pool, nulls: int, configurations: int) -> list[Task]:
    """One night of each plant, then null nights."""
    planted = [
        (Kind(arm.host, arm.plant, arm.anew, configurations), 0) for arm in pool.planted(anew=True)
    ]
    return [*planted, *((Kind("", "", True, configurations), at) for at in range(nulls))]


def play(contest: Contest, size: Size, wanted: list[Task], file: Path, processes: int) -> int:
    """Judge every night that is not kept yet, and keep it; gives how many these were."""
    already = kept(file)
    missing = [task for task in wanted if task not in already]
    rows = judge_and_keep(missing, file, _play, processes, (_prepare, (contest, size)))
    return sum(1 for _ in rows)


def kept(file: Path) -> dict[Task, dict[str, Judged]]:
    """What was said so far."""
    return {
        (Kind(**row["kind"]), row["number"]): {
            name: Judged(**one) for name, one in row["said"].items()
        }
        for row in kept_rows(file)
    }


_worker: list[Pool] = []


def _prepare(contest: Contest, size: Size) -> None:
    _worker.append(pool_of(contest, size))


def _play(task: Task) -> dict[str, Any]:
    settings = load_settings()
    kind, number = task
    night = night_of(_worker[0], kind, number, list(settings.metrics))
    said = {name: asdict(one) for name, one in judged(night, settings).items()}
    return {"kind": asdict(kind), "number": number, "said": said}


def pool_of(contest: Contest, size: Size) -> Pool:
    """The pool that nights are drawn from."""
    pool = load_pool(contest, size, columns_of(load_settings()))
    assert contest.earns is not None, contest.experiment
    return with_strata(pool, contest.earns.in_one_stratum)


def table(played: Mapping[Task, Mapping[str, Judged]]) -> list[str]:
    """A row for each part: what it changes, of plants, of alarms, of what stays undecided."""
    columns = (
        "switched off",
        "plants whose status changes",
        "alarms about plants: lost, won",
        "false alarms",
        "harmless, undecided",
        "further pairs",
        "processor time, s",
    )
    lines = [f"| {' | '.join(columns)} |", f"|---|{'---:|' * (len(columns) - 1)}"]
    nights = list(played.values())
    plants = [one for (kind, _), one in played.items() if kind.plant]
    for name in [ALL, *PARTS]:
        said = [night[name] for night in nights]
        changed = sum(one[name].plant != one[ALL].plant for one in plants)
        lost, won = (
            sum(len(_alarms(one[with_it]) - _alarms(one[without])) for one in plants)
            for with_it, without in ((ALL, name), (name, ALL))
        )
        cells = (
            name,
            f"{changed} of {len(plants)}",
            f"{lost}, {won}",
            sum(one.alarms for one in said),
            sum(one.undecided for one in said),
            sum(one.spent for one in said),
            f"{sum(one.seconds for one in said):.0f}",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def _alarms(said: Judged) -> set[str]:
    return {name for name, status in said.plant.items() if status == Status.REGRESSED}


def changes(played: Mapping[Task, Mapping[str, Judged]]) -> list[str]:
    """Each status of a plant that a part changes, with it and without."""
    return [
        f"{name}: {kind.plant} ({kind.host}), {metric}: {night[ALL].plant[metric]} -> {without}"
        for name in PARTS
        for (kind, _), night in played.items()
        for metric, without in night[name].plant.items()
        if without != night[ALL].plant[metric]
    ]


def main() -> int:
    """Simulate, judge, tell."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detection.earns")
    parser.add_argument("--scenarios", type=int, default=4000, help="of the pool")
    parser.add_argument("--null-nights", type=int, default=200)
    parser.add_argument("--configurations", type=int, default=CONFIGURATIONS, help="of a night")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    given = parser.parse_args()
    contest = contest_of(load_contest())
    size = contest.size(quick=False).model_copy(update={"scenarios": given.scenarios})
    for _ in make_pool(contest, size, given.jobs):
        pass
    pool = pool_of(contest, size)
    folder = Home.from_environment().path / "contest" / pool.digest
    file = folder / f"earns-{given.scenarios}-{judging_digest('parts.py')}.jsonl"
    wanted = tasks(pool, given.null_nights, given.configurations)
    play(contest, size, wanted, file, given.jobs)
    said = kept(file)
    played = {task: said[task] for task in wanted}
    sys.stdout.write("\n".join([*table(played), "", *changes(played)]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
