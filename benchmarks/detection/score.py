"""Counting what contestants said against the truth of the pool. A regression is the unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.detection.arms import OWN
from benchmarks.detection.nights import Kind, Played, planted_arm
from benchmarks.detection.pool import Pool
from isr_pipeline.verdicts.materiality import is_latency
from isr_pipeline.verdicts.settings import VerdictSettings

OFFLINE = "offline_partition_rate"
FLAPS = "isr_flaps_per_partition_hour"
LATENCY = "commit_latency_p99_ms"

BINS = ((1.1, 1.25), (1.25, 1.5), (1.5, 2.0), (2.0, math.inf))
"""True ratios [from, to) that the curve counts together."""

SHIFT_MS = 2.0
"""A steady-state shift of p99: by so much and to twice as much, in half of the population."""

Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


def wilson(hits: float, tries: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; (0, 1) of nothing.

    Args:
        hits: may be a sum of shares, one for each regression.
        tries: regressions, or nights.
    """
    if tries == 0:
        return 0.0, 1.0
    share, extra = hits / tries, Z * Z / tries
    middle = (share + extra / 2) / (1 + extra)
    half = Z * math.sqrt(share * (1 - share) / tries + extra / tries / 4) / (1 + extra)
    return max(0.0, middle - half), min(1.0, middle + half)


def share_of(values: Sequence[float]) -> dict[str, Any]:
    """Mean of some shares with the interval of as many regressions (or nights)."""
    if not values:
        return {"share": None, "interval": [0.0, 1.0], "of": 0}
    total = float(sum(values))
    low, high = wilson(total, len(values))
    return {
        "share": round(total / len(values), 4),
        "interval": [round(low, 4), round(high, 4)],
        "of": len(values),
    }


@dataclass(frozen=True)
class Truth:
    """What an arm's plant truly does, over the whole pool, phases alike on both sides.

    Attributes:
        ratio: metric -> ratio; infinite from none.
        worst_stratum: metric -> largest ratio of a stratum.
        appears: metrics that must never happen and newly do, with how many scenarios show it.
        shifts: whether p99 shifts as :data:`SHIFT_MS` says, in strata of half of the population.
    """

    ratio: Mapping[str, float]
    worst_stratum: Mapping[str, float]
    appears: Mapping[str, int]
    shifts: bool


def truth_of(pool: Pool, kind: Kind, settings: VerdictSettings) -> Truth:
    """The truth about the arm of a kind of night."""
    arm = planted_arm(pool, kind)
    plain = next(
        one for one in pool.arms if (one.host, one.plant, one.anew) == (arm.host, "", arm.anew)
    )
    new, old = pool.of(arm), pool.of(plain)
    appears = {
        name: int(((new[name] > 0) & (old[name] == 0)).sum())
        for name, one in settings.metrics.items()
        if one.never is True and not (one.unless and arm.overrides.get(one.unless))
    }
    shifted = 0.0
    worst = dict.fromkeys(settings.metrics, 1.0)
    for rows in pool.strata.values():
        for name, one in settings.metrics.items():
            after, before = new[name][rows], old[name][rows]
            if is_latency(name):
                here = float(np.exp(np.log((after + one.floor) / (before + one.floor)).mean()))
                if here >= 2.0 and after.mean() - before.mean() >= SHIFT_MS:
                    shifted += float(pool.weights[rows].sum()) if name == LATENCY else 0.0
            else:
                here = _ratio(float(after.sum()), float(before.sum()))
            worst[name] = max(worst[name], here)
    return Truth(
        ratio={name: pool.ratio(arm, name, settings) for name in settings.metrics},
        worst_stratum=worst,
        appears={name: count for name, count in appears.items() if count},
        shifts=shifted >= 0.5 * pool.weights.sum(),
    )


def _ratio(after: float, before: float) -> float:
    if before == 0:
        return 1.0 if after == 0 else math.inf
    return after / before


def scored(pool: Pool, played: Iterable[Played], settings: VerdictSettings) -> dict[str, Any]:
    """Everything that is told of the nights: what each contestant found, and what was false."""
    nights = list(played)
    planted = [one for one in nights if one.kind.plant]
    nulls = [one for one in nights if not one.kind.plant]
    truths = {one.kind: truth_of(pool, one.kind, settings) for one in planted}
    contestants = list(dict.fromkeys(name for one in nights for name in one.found))
    return {
        "contestants": {name: _contestant(name, planted, nulls, truths) for name in contestants},
        "curve": {
            sort: {
                metric: _curve(planted, truths, metric, anew=anew) for metric in settings.metrics
            }
            for sort, anew in (("anew", True), ("as_drawn", False))
        },
        "null": _null(nulls),
        "plants": [
            _plant(kind, truth, [one for one in planted if one.kind == kind])
            for kind, truth in truths.items()
        ],
        "left_out": list(pool.left_out),
    }


def _shares(
    nights: list[Played], truths: Mapping[Kind, Truth], name: str, wanted: Mapping[Kind, set[str]]
) -> list[float]:
    """For each regression, the share of its nights in which a wanted metric had an alarm."""
    del truths
    found: dict[tuple[Kind, str], list[bool]] = {}
    for one in nights:
        for metric in sorted(wanted.get(one.kind, set())):
            if name in one.found:
                found.setdefault((one.kind, metric), []).append(metric in one.found[name])
    return [sum(hits) / len(hits) for hits in found.values()]


def _wanted(
    truths: Mapping[Kind, Truth], metric: str, low: float, high: float = math.inf, *, anew: bool
) -> dict[Kind, set[str]]:
    """Kinds of nights whose true ratio of a metric is within bounds."""
    return {
        kind: {metric}
        for kind, truth in truths.items()
        if kind.anew is anew and low <= truth.ratio[metric] < (high if high < math.inf else 1e300)
    }


def _contestant(
    name: str, planted: list[Played], nulls: list[Played], truths: Mapping[Kind, Truth]
) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for sort, anew in (("anew", True), ("as_drawn", False)):
        wanted = {
            "offline_1.5": _wanted(truths, OFFLINE, 1.5, anew=anew),
            "flaps_1.25": _wanted(truths, FLAPS, 1.25, anew=anew),
            "p99_1.25": _wanted(truths, LATENCY, 1.25, anew=anew),
            "p99_shift": {
                kind: {LATENCY} for kind, one in truths.items() if one.shifts and kind.anew is anew
            },
        }
        told[sort] = {
            what: share_of(_shares(planted, truths, name, kinds)) for what, kinds in wanted.items()
        }
        told[sort]["never"] = share_of(_never(name, planted, truths, anew=anew))
    right = [
        truths[one.kind].ratio[metric] > 1.0 or truths[one.kind].worst_stratum[metric] >= 1.1
        for one in planted
        for metric in one.found.get(name, ())
    ]
    wrong = sum(one.false.get(name, 0) for one in planted)
    told["alarms"] = len(right) + wrong
    told["right"] = share_of([float(one) for one in right] + [0.0] * wrong)
    asked = [one for one in nulls if name in one.false]
    told["null_nights"] = share_of([float(one.false[name] > 0) for one in asked])
    return told


def _never(
    name: str, planted: list[Played], truths: Mapping[Kind, Truth], *, anew: bool
) -> list[float]:
    """What newly happens in one scenario of a hundred or more: the share that is suspected.

    Rarer ones may not be in a night's scenarios at all. What confirms them, the draw of other
    phases, is not played.
    """
    found: dict[tuple[Kind, str], list[bool]] = {}
    for one in planted:
        if one.kind.anew is not anew or name not in one.flagged:
            continue
        for metric, scenarios in truths[one.kind].appears.items():
            if scenarios >= 20:
                found.setdefault((one.kind, metric), []).append(metric in one.flagged[name])
    return [sum(hits) / len(hits) for hits in found.values()]


def _curve(
    planted: list[Played], truths: Mapping[Kind, Truth], metric: str, *, anew: bool
) -> list[dict[str, Any]]:
    return [
        {
            "from": low,
            **share_of(
                _shares(planted, truths, OWN, _wanted(truths, metric, low, high, anew=anew))
            ),
        }
        for low, high in BINS
    ]


def _null(nulls: list[Played]) -> dict[str, Any]:
    by_size: dict[int, list[Played]] = {}
    for one in nulls:
        by_size.setdefault(one.kind.configurations, []).append(one)
    return {
        str(size): {
            "nights": len(nights),
            "alarms": sum(one.false[OWN] > 0 for one in nights),
            "tests": float(np.mean([one.tests for one in nights])),
            "with_20_tests": sum(one.tests >= 20 for one in nights),
            "undecided": share_of([one.undecided[OWN] / one.kind.configurations for one in nights])[
                "share"
            ],
        }
        for size, nights in sorted(by_size.items())
    }


def _plant(kind: Kind, truth: Truth, nights: list[Played]) -> dict[str, Any]:
    return {
        "host": kind.host,
        "plant": kind.plant,
        "anew": kind.anew,
        "nights": len(nights),
        "true": {
            name: (round(value, 3) if math.isfinite(value) else None)
            for name, value in truth.ratio.items()
        },
        "never": dict(truth.appears),
        "found": {name: sum(name in one.found[OWN] for one in nights) for name in truth.ratio},
    }


def missed(told: Mapping[str, Any]) -> list[str]:
    """Bars that were not met, in words, with by how much."""
    own = told["contestants"][OWN]
    found = []
    bars = {"offline_1.5": 0.95, "flaps_1.25": 0.95, "p99_1.25": 0.95, "p99_shift": 0.99}
    for what, least in {**bars, "never": 1.0}.items():
        share = own["anew"][what]
        if share["share"] is None:
            found.append(f"{what}: nothing planted is as large")
        elif share["share"] < least:
            found.append(f"{what}: {share['share']:.3f} of {share['of']}, not {least:.2f}")
    right = own["right"]["share"]
    if right is not None and right < 0.99:
        found.append(f"alarms that are right: {right:.3f} of {own['alarms']}, not 0.99")
    for size, null in told["null"].items():
        if null["alarms"] * 300 > null["nights"]:
            found.append(f"{null['alarms']} of {null['nights']} null nights of {size} alarm")
        if null["undecided"] is not None and null["undecided"] > 0.05:
            found.append(f"harmless changes undecided: {null['undecided']:.3f}, not 0.05")
    return found
