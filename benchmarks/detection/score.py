"""Counting what contestants said against the truth of the pool. A regression is the unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.detection.arms import OWN
from benchmarks.detection.contest import Arm
from benchmarks.detection.nights import CONFIGURATIONS, Kind, Played
from benchmarks.detection.pool import Ints, Pool
from isr_pipeline.verdicts.quantities import FLAPS, LATENCY, OFFLINE, VerdictSettings
from isr_pipeline.worlds.columns import METRICS

BINS = ((1.1, 1.25), (1.25, 1.5), (1.5, 2.0), (2.0, math.inf))
"""True ratios [from, to) that the curve counts together."""

SHIFT_MS = 2.0
"""A steady-state shift of p99: by so much and to twice as much, in half of the population."""

ANEW, TOGETHER, AS_DRAWN = "anew", "together", "as_drawn"
"""Sorts of nights with a regression: phases drawn anew, the same among the configurations of
several experiments, phases as drawn."""

SEEN_SHARE = 0.01
"""What must never happen is asked for if it newly happens in so many of the scenarios: rarer ones
may not be in a night at all."""

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

    Where phases are drawn anew, both draws count.

    Attributes:
        ratio: metric -> ratio; infinite from none.
        worst_stratum: metric -> largest ratio of a stratum.
        appears: metrics that must never happen and newly do -> share of the scenarios.
        shifts: whether p99 shifts as :data:`SHIFT_MS` says, in strata of half of the population.
    """

    ratio: Mapping[str, float]
    worst_stratum: Mapping[str, float]
    appears: Mapping[str, float]
    shifts: bool


def truth_of(pool: Pool, kind: Kind, settings: VerdictSettings) -> Truth:
    """The truth about the arm of a kind of night."""
    arm = pool.arm(kind.host, kind.plant, anew=kind.anew)
    appears = {
        name: float(np.mean([_newly(pool, name, *pair) for pair in pool.alike(arm)]))
        for name in settings.metrics
        if METRICS[name].never == "anywhere" and not arm.overrides.get(METRICS[name].unless or "")
    }
    worst = dict.fromkeys(settings.metrics, 1.0)
    shifted = 0.0
    for rows in pool.strata.values():
        here = {name: pool.ratio(arm, name, settings, rows) for name in settings.metrics}
        worst = {name: max(worst[name], ratio) for name, ratio in here.items()}
        if here[LATENCY] >= 2.0 and _rise_ms(pool, arm, rows) >= SHIFT_MS:
            shifted += float(pool.weights[rows].sum())
    return Truth(
        ratio={name: pool.ratio(arm, name, settings) for name in settings.metrics},
        worst_stratum=worst,
        appears={name: share for name, share in appears.items() if share},
        shifts=shifted >= 0.5 * pool.weights.sum(),
    )


def _newly(pool: Pool, metric: str, new: Arm, old: Arm) -> float:
    """Share of the scenarios in which a metric is above zero that was not."""
    return float(((pool.of(new)[metric] > 0) & (pool.of(old)[metric] == 0)).mean())


def _rise_ms(pool: Pool, arm: Arm, rows: Ints) -> float:
    """By how much p99 rises in some scenarios, on average."""
    rises = [pool.of(new)[LATENCY][rows] - pool.of(old)[LATENCY][rows]
             for new, old in pool.alike(arm)]  # fmt: skip
    return float(np.mean(rises))


def sort_of(kind: Kind) -> str:
    """Which sort of night with a regression; empty for a null night."""
    if not kind.plant:
        return ""
    if not kind.anew:
        return AS_DRAWN
    return ANEW if kind.configurations == CONFIGURATIONS else TOGETHER


def scored(pool: Pool, played: Iterable[Played], settings: VerdictSettings) -> dict[str, Any]:
    """Everything that is told of the nights: what each contestant found, and what was false."""
    nights = list(played)
    planted = [one for one in nights if one.kind.plant]
    nulls = [one for one in nights if not one.kind.plant]
    kinds = dict.fromkeys(one.kind for one in planted)
    truths = {kind: truth_of(pool, kind, settings) for kind in kinds}
    contestants = list(dict.fromkeys(name for one in nights for name in one.found))
    return {
        "contestants": {name: _contestant(name, planted, nulls, truths) for name in contestants},
        "curve": {
            sort: {metric: _curve(planted, truths, metric, sort) for metric in settings.metrics}
            for sort in (ANEW, TOGETHER, AS_DRAWN)
        },
        "null": _null(nulls),
        "plants": [
            _plant(kind, truth, [one for one in planted if one.kind == kind])
            for kind, truth in truths.items()
        ],
        "left_out": list(pool.left_out),
    }


def _shares(nights: list[Played], name: str, wanted: Mapping[Kind, set[str]]) -> list[float]:
    """For each regression, the share of its nights in which a wanted metric had an alarm."""
    found: dict[tuple[Kind, str], list[bool]] = {}
    for one in nights:
        for metric in sorted(wanted.get(one.kind, set())):
            if name in one.found:
                found.setdefault((one.kind, metric), []).append(metric in one.found[name])
    return [sum(hits) / len(hits) for hits in found.values()]


def _wanted(
    truths: Mapping[Kind, Truth], sort: str, metric: str, low: float, high: float = math.inf
) -> dict[Kind, set[str]]:
    """Kinds of nights whose true ratio of a metric is within bounds."""
    return {
        kind: {metric}
        for kind, truth in truths.items()
        if sort_of(kind) == sort
        and low <= truth.ratio[metric] < (high if high < math.inf else 1e300)
    }


def _contestant(
    name: str, planted: list[Played], nulls: list[Played], truths: Mapping[Kind, Truth]
) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for sort in (ANEW, TOGETHER, AS_DRAWN):
        wanted = {
            "offline_1.5": _wanted(truths, sort, OFFLINE, 1.5),
            "flaps_1.25": _wanted(truths, sort, FLAPS, 1.25),
            "p99_1.25": _wanted(truths, sort, LATENCY, 1.25),
            "p99_shift": {
                kind: {LATENCY}
                for kind, one in truths.items()
                if one.shifts and sort_of(kind) == sort
            },
        }
        told[sort] = {
            what: share_of(_shares(planted, name, kinds)) for what, kinds in wanted.items()
        }
        told[sort]["never"] = share_of(_never(name, planted, truths, sort))
    # phases as drawn leave nothing to chance: their alarms are right, and would flatter
    anew = [one for one in planted if one.kind.anew]
    right = [
        truths[one.kind].ratio[metric] > 1.0 or truths[one.kind].worst_stratum[metric] >= 1.1
        for one in anew
        for metric in one.found.get(name, ())
    ]
    wrong = sum(one.false.get(name, 0) for one in anew)
    told["alarms"] = len(right) + wrong
    told["right"] = share_of([float(one) for one in right] + [0.0] * wrong)
    asked = [one for one in nulls if name in one.false]
    told["null_nights"] = share_of([float(one.false[name] > 0) for one in asked])
    return told


def _never(
    name: str, planted: list[Played], truths: Mapping[Kind, Truth], sort: str
) -> list[float]:
    """What newly happens in one scenario of a hundred or more: the share of its nights."""
    found: dict[tuple[Kind, str], list[bool]] = {}
    for one in planted:
        if sort_of(one.kind) != sort or name not in one.found:
            continue
        for metric, share in truths[one.kind].appears.items():
            if share >= SEEN_SHARE:
                found.setdefault((one.kind, metric), []).append(metric in one.found[name])
    return [sum(hits) / len(hits) for hits in found.values()]


def _curve(
    planted: list[Played], truths: Mapping[Kind, Truth], metric: str, sort: str
) -> list[dict[str, Any]]:
    return [
        {
            "from": low,
            **share_of(_shares(planted, OWN, _wanted(truths, sort, metric, low, high))),
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
        "sort": sort_of(kind),
        "nights": len(nights),
        "true": {
            name: (round(value, 3) if math.isfinite(value) else None)
            for name, value in truth.ratio.items()
        },
        "never": {name: round(share, 4) for name, share in truth.appears.items()},
        "found": {name: sum(name in one.found[OWN] for one in nights) for name in truth.ratio},
    }


BARS = {
    "offline_1.5": 0.95,
    "flaps_1.25": 0.95,
    "p99_1.25": 0.95,
    "p99_shift": 0.99,
    "never": 1.0,
}
"""Sort of regression -> least share of the planted ones, phases drawn anew, that is to be found."""


def missed(told: Mapping[str, Any]) -> list[str]:
    """Bars that were not met, in words, with by how much."""
    own = told["contestants"][OWN]
    found = []
    for what, least in BARS.items():
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
