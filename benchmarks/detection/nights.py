"""Playing the nights: one configuration regressed, or none. What was said is kept, line by line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.detection.again import confirmed
from benchmarks.detection.arms import (
    CONTESTANTS,
    OWN,
    SWITCHED_OFF,
    Alarms,
    alarms_of,
    series,
    verdicts_of,
)
from benchmarks.detection.contest import FILES, Size, load_contest
from benchmarks.detection.draw import Night, draw_night
from benchmarks.detection.kept import judge_and_keep, kept_rows
from benchmarks.detection.pool import Pool, load_pool
from isr_pipeline.base.home import Home
from isr_pipeline.verdicts.quantities import VerdictSettings, load_settings
from isr_pipeline.worlds.columns import METRICS

SEED = 501_2030
"""Settings are tried on nights of other seeds: a night that was looked at is not fresh."""

CONFIGURATIONS = 22
"""Of a night in which one configuration regressed: as many as `operators` has."""

CONFIGURATIONS_TOGETHER = 41
"""Of a night of several experiments together."""

EVERY = 3
"""One night of so many of a kind is played with a part switched off as well."""


NOT_OF_THE_CONTEST = frozenset(
    ("__main__.py", "score.py", "tell.py", "otava.py", "earns.py", "parts.py", "kept.py")
)
"""Files of this folder in which no night of the contest is judged."""


@dataclass(frozen=True)
class Kind:
    """A kind of night.

    Attributes:
        host, plant, anew: of the arm that regressed; ``plant`` is empty in a null night.
        configurations: of the night. Where phases are as drawn all others are bit-identical: they
            are left out, for no test counts them.
    """

    host: str
    plant: str
    anew: bool
    configurations: int


@dataclass(frozen=True)
class Played:
    """What was said of a night.

    Attributes:
        kind: of the night.
        number: among its kind.
        tests: that could have raised an alarm.
        found: contestant -> metrics of the regressed configuration with an alarm.
        flagged: likewise, with a suspicion or an alarm.
        false: contestant -> alarms for (metric, configuration) without a regression.
        undecided: contestant -> harmlessly changed configurations that end undecided.
    """

    kind: Kind
    number: int
    tests: int
    found: dict[str, list[str]]
    flagged: dict[str, list[str]]
    false: dict[str, int]
    undecided: dict[str, int]


def columns_of(settings: VerdictSettings) -> list[str]:
    """Outcome columns that the contest needs."""
    flags = {flag for name in settings.metrics if (flag := METRICS[name].flag)}
    return [*settings.metrics, *sorted(flags), "failed"]


def kinds(pool: Pool, size: Size) -> list[tuple[Kind, int]]:
    """Kinds of nights and how many of each."""
    sorts = [
        (True, CONFIGURATIONS, size.nights),
        (True, CONFIGURATIONS_TOGETHER, size.nights_together),
    ]
    if size.as_drawn:
        sorts.append((False, 1, size.nights))
    planted = [
        (Kind(arm.host, arm.plant, anew, many), nights)
        for anew, many, nights in sorts
        for arm in pool.planted(anew=anew)
        if nights
    ]
    nulls = [(Kind("", "", True, many), nights) for many, nights in size.null_nights.items()]
    return [*planted, *nulls]


def random_of(kind: Kind, number: int) -> np.random.Generator:
    """The source of chance of one night: nights share none."""
    name = json.dumps(asdict(kind), sort_keys=True)
    return np.random.default_rng([SEED, number, *hashlib.sha256(name.encode()).digest()])


def night_of(pool: Pool, kind: Kind, number: int, metrics: list[str]) -> Night:
    """Draw a night: the regressed configuration first, all others harmlessly changed."""
    random = random_of(kind, number)
    harmless = pool.harmless
    arms = [harmless[at] for at in random.integers(len(harmless), size=kind.configurations)]
    if kind.plant:
        arms[0] = pool.arm(kind.host, kind.plant, anew=kind.anew)
    return draw_night(pool, tuple(arms), metrics, random)


def play(pool: Pool, size: Size, processes: int) -> Iterator[Played]:
    """Play every night that is not kept yet, and keep it; give all of them.

    Args:
        pool: where they are drawn from; every process reads it anew.
        size: how many nights.
        processes: how many to play at a time.
    """
    file = kept_in(pool)
    kept = read_kept(file)
    wanted = [(kind, number) for kind, count in kinds(pool, size) for number in range(count)]
    yield from (kept[task] for task in wanted if task in kept)
    missing = [task for task in wanted if task not in kept]
    rows = judge_and_keep(missing, file, _play, processes, (_prepare, (pool.experiment.name, size)))
    yield from map(_played, rows)


def kept_in(pool: Pool) -> Path:
    """File of what was said, by pool and by the code and settings that said it."""
    folder = Home.from_environment().path / "contest" / pool.digest
    return folder / f"nights-{pool.size}-{pool.budget}-{judging_digest()}.jsonl"


def judging_digest(*more: str) -> str:
    """Digest of all that judges: the settings, the rooms of verdicts and of this contest.

    Args:
        more: files of this folder that the contest does not judge with, and who asks does.
    """
    here = Path(__file__).parent
    from isr_pipeline import verdicts  # noqa: PLC0415 - its folder is wanted

    digest = hashlib.sha256(load_settings().model_dump_json().encode())
    for folder in (Path(verdicts.__file__).parent, here):
        for file in sorted(folder.glob("*.py")):
            if file.name not in NOT_OF_THE_CONTEST.difference(more):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def read_kept(file: Path) -> dict[tuple[Kind, int], Played]:
    """What was said so far; a line that was cut off is left out."""
    found = map(_played, kept_rows(file))
    return {(one.kind, one.number): one for one in found}


def _played(row: dict[str, Any]) -> Played:
    return Played(**{**row, "kind": Kind(**row["kind"])})


@dataclass
class _Worker:
    """What a process keeps from night to night."""

    pool: Pool
    settings: VerdictSettings


_kept: list[_Worker] = []


def _prepare(experiment: str, size: Size) -> None:
    settings = load_settings()
    pool = load_pool(load_contest(FILES[experiment]), size, columns_of(settings))
    _kept.append(_Worker(pool, settings))


def _play(task: tuple[Kind, int]) -> dict[str, Any]:
    pool, settings = _kept[0].pool, _kept[0].settings
    kind, number = task
    night = night_of(pool, kind, number, list(settings.metrics))
    called, tests = verdicts_of(night, settings)
    said = {OWN: alarms_of(called, tests)}
    said |= {
        name: ask(night, settings)
        for name, ask in CONTESTANTS.items()
        if name != OWN and (name not in SWITCHED_OFF or number % EVERY == 0)
    }
    played = told(kind, number, said, settings)
    if kind.plant:
        again = confirmed(night, 0, called[0], settings)
        found = [name for name in settings.metrics if name in {*played.found[OWN], *again}]
        played.found[OWN] = found
    return asdict(played)


def told(kind: Kind, number: int, said: dict[str, Alarms], settings: VerdictSettings) -> Played:
    """What contestants said of a night, in the terms of what was planted."""
    metrics = np.array(list(settings.metrics))
    first = 1 if kind.plant else 0
    return Played(
        kind=kind,
        number=number,
        tests=max(one.tests for one in said.values()),
        found={name: metrics[one.confirmed[:, :first].any(axis=1)].tolist()
               for name, one in said.items()},
        flagged={name: metrics[one.flagged[:, :first].any(axis=1)].tolist()
                 for name, one in said.items()},
        false={name: int(one.confirmed[:, first:].sum()) for name, one in said.items()},
        undecided={name: int(one.undecided[:, first:].any(axis=0).sum())
                   for name, one in said.items()},
    )  # fmt: skip


def series_of(pool: Pool, kind: Kind, number: int) -> np.ndarray:
    """What Otava is asked about one night."""
    metrics = list(load_settings().metrics)
    return series(night_of(pool, kind, number, metrics), metrics)
