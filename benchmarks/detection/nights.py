"""Playing the nights: null nights, and nights in which one configuration in ten regressed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from benchmarks.detection.arms import OWN, Alarms, mann_whitney, own, rise, series, three_sigma
from benchmarks.detection.contest import Arm, load_contest
from benchmarks.detection.draw import CONFIGURATIONS, draw_night
from benchmarks.detection.pool import Pool, load_pool
from benchmarks.detection.score import in_window
from isr_pipeline.scenarios.panels import allocation
from isr_pipeline.verdicts.settings import VerdictSettings, load_settings
from isr_pipeline.verdicts.statistics import discordant_needed

SEED = 501_2027
"""Settings are tuned on nights of other seeds: a night that was looked at is not fresh."""
PLANTED = CONFIGURATIONS // 10
DIFFERING_MIN = 0.01
"""Share of scenarios that a harmless arm must change: an identical night is no null night."""


@dataclass(frozen=True)
class Kind:
    """A kind of night.

    Attributes:
        scenarios: size of its panels.
        metric: what the planted regressions are to be found on; None for a null night.
        effect: how large they are.
        beyond: take the injections that show in fewer scenarios of such a panel than any paired
            test needs; the others if False.
    """

    scenarios: int
    metric: str | None = None
    effect: str | None = None
    beyond: bool = False


@dataclass(frozen=True)
class Played:
    """A night and what was said of it.

    Attributes:
        kind: of the night.
        arms: what each configuration became.
        alarms: contestant -> what it said.
        series: what Otava is to be asked about.
    """

    kind: Kind
    arms: tuple[Arm, ...]
    alarms: Mapping[str, Alarms]
    series: np.ndarray


def columns_of(settings: VerdictSettings) -> list[str]:
    """Outcome columns that the contest needs."""
    flags = {one.paired_flag for one in settings.metrics.values() if one.paired_flag}
    return [*settings.metrics, *sorted(flags), "failed"]


def harmless_arms(pool: Pool, metrics: list[str]) -> tuple[Arm, ...]:
    """Harmless arms that do change outcomes."""
    return tuple(
        arm
        for arm in pool.arms_of("harmless")
        if max(pool.differing_mask(arm, name).mean() for name in metrics) >= DIFFERING_MIN
    )


def planted_arms(pool: Pool, kind: Kind) -> tuple[Arm, ...]:
    """Injections whose true effect on the kind's metric is as large as it says."""
    assert kind.metric is not None, "nothing is planted in a null night"
    assert kind.effect is not None, "nothing is planted in a null night"
    return tuple(
        arm
        for arm in pool.arms_of("injection")
        if in_window(pool.ratio(arm, kind.metric), kind.effect)
        and (shown(pool, arm, kind) >= needed()) is not kind.beyond
    )


def shown(pool: Pool, arm: Arm, kind: Kind) -> float:
    """In how many scenarios of a panel an injection can be expected to show at all."""
    assert kind.metric is not None, "nothing is planted in a null night"
    panel = allocation(pool.panel_strata, kind.scenarios)
    differing = pool.differing_mask(arm, kind.metric)
    return sum(count * float(differing[pool.strata[name]].mean()) for name, count in panel.items())


def needed() -> int:
    """Fewest scenarios that any paired test could call significant, alone in a night."""
    settings = load_settings()
    return discordant_needed(CONFIGURATIONS * len(settings.metrics), settings.suspicion_rate)


def play(pool: Pool, wanted: list[tuple[Kind, int]], processes: int) -> Iterator[Played]:
    """Play nights.

    Args:
        pool: where they are drawn from; every process reads it anew.
        wanted: kinds of nights and how many of each.
        processes: how many to play at a time.
    """
    tasks = [(kind, index) for kind, count in wanted for index in range(count)]
    # one thread each: the processes share the cores already
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with get_context("spawn").Pool(processes, _prepare, (pool.size, pool.digest)) as workers:
        yield from workers.imap(_play, tasks, chunksize=5)


@dataclass
class _Worker:
    """What a process keeps from night to night."""

    pool: Pool
    settings: VerdictSettings


_kept: list[_Worker] = []


def _prepare(scenarios: int, digest: str) -> None:
    settings = load_settings()
    pool = load_pool(load_contest(), scenarios, columns_of(settings), digest)
    _kept.append(_Worker(pool, settings))


def _play(task: tuple[Kind, int]) -> Played:
    kind, index = task
    pool, settings = _kept[0].pool, _kept[0].settings
    metrics = list(settings.metrics)
    name = f"{kind.scenarios} {kind.metric} {kind.effect} {kind.beyond}"
    random = np.random.default_rng([SEED, index, *name.encode()])
    arms = choose_arms(pool, kind, metrics, random)
    night = draw_night(pool, arms, kind.scenarios, metrics, random)
    return Played(
        kind=kind,
        arms=arms,
        alarms={
            OWN: own(night, settings),
            "plus_10_percent": rise(night, metrics, 0.10),
            "plus_25_percent": rise(night, metrics, 0.25),
            "three_sigma": three_sigma(night, metrics),
            "mann_whitney": mann_whitney(night, metrics),
        },
        series=series(night, metrics),
    )


def choose_arms(
    pool: Pool, kind: Kind, metrics: list[str], random: np.random.Generator
) -> tuple[Arm, ...]:
    """Choose what becomes of every configuration of a night."""
    harmless = harmless_arms(pool, metrics)
    arms = [harmless[at] for at in random.integers(len(harmless), size=CONFIGURATIONS)]
    if kind.metric is not None:
        planted = planted_arms(pool, kind)
        for place in range(PLANTED):
            arms[place] = planted[int(random.integers(len(planted)))]
    return tuple(arms)
