"""Paired tests for many configurations at once. No I/O, no knowledge of Kafka.

Every random number comes from a fixed seed: the same outcomes give the same verdict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SEED = 5010461
"""Fixed for ever: verdicts must not depend on when they are computed."""

TIE_TOLERANCE = 1e-9
"""Share of the sum of |d| within which two sums of signed differences are the same sum."""

RANK_DIGITS = 9
"""Digits to which two differences must agree to share a rank: the rest is rounding."""

CLEARLY_NOTHING = 10
"""Early stop: after a tenth of the first batch, drop tests whose estimated p exceeds 0.1."""

ROWS_PER_PRODUCT = 2_000
"""Flips per matrix product: 2 000 x 1 000 scenarios are 16 MB of doubles."""


@dataclass(frozen=True)
class Tails:
    """One-sided p-values of m tests: ``worse`` for a larger sum, ``better`` for a smaller."""

    worse: Floats
    better: Floats


def sign_flip(
    differences: Floats, *, flips: int, flips_max: int, exact_up_to: int, level: float
) -> Tails:
    """Sign-flip permutation test of m columns of paired differences.

    Under the hypothesis of no change each difference is as likely to have the other sign. The
    statistic is the sum of a column; ties count as at least as extreme, within
    :data:`TIE_TOLERANCE` of the sum of |d|.

    Args:
        differences: (n, m); zero where a pair does not differ.
        flips: random sign vectors of the first batch.
        flips_max: the most that any test gets.
        exact_up_to: number of non-zero differences up to which all signs are enumerated.
        level: p-value that must be reachable (q / m): batches grow until a tenth of it is.

    Returns:
        p-values per column; 1 where no pair differs.
    """
    m = differences.shape[1]
    tails = Tails(worse=np.ones(m), better=np.ones(m))
    discordant = (differences != 0).sum(axis=0)
    for test in np.flatnonzero((discordant > 0) & (discordant <= exact_up_to)):
        column = differences[:, test]
        tails.worse[test], tails.better[test] = _enumerated(column[column != 0])
    many = np.flatnonzero(discordant > exact_up_to)
    _sampled(differences, many, tails, flips=flips, flips_max=flips_max, level=level)
    return tails


def _enumerated(values: Floats) -> tuple[float, float]:
    """Both tails over all 2^k signs: the sums of two halves, one sorted, meet in the middle."""
    half = len(values) // 2
    left, right = _all_sums(values[:half]), np.sort(_all_sums(values[half:]))
    observed, tolerance = values.sum(), TIE_TOLERANCE * np.abs(values).sum()
    at_least = len(right) - np.searchsorted(right, observed - tolerance - left, side="left")
    at_most = np.searchsorted(right, observed + tolerance - left, side="right")
    every = float(len(left) * len(right))
    return float(at_least.sum()) / every, float(at_most.sum()) / every


def _all_sums(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    return sums


def _sampled(
    differences: Floats, tests: Ints, tails: Tails, *, flips: int, flips_max: int, level: float
) -> None:
    """Fill in p-values from random signs, ten times as many wherever p is near its floor."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    done, batch = 0, flips // CLEARLY_NOTHING
    at_least, at_most = np.zeros(len(tests)), np.zeros(len(tests))
    while len(tests):
        more_least, more_most = _count_flips(differences[:, tests], batch, generator)
        at_least, at_most, done = at_least + more_least, at_most + more_most, done + batch
        tails.worse[tests] = (1.0 + at_least) / (1.0 + done)
        tails.better[tests] = (1.0 + at_most) / (1.0 + done)
        looked = done >= flips
        if done >= flips_max or (looked and 1.0 / (1.0 + done) <= level / 10.0):
            return
        near = np.minimum(at_least, at_most) < (10 if looked else done / CLEARLY_NOTHING)
        tests, at_least, at_most = tests[near], at_least[near], at_most[near]
        batch = min(flips_max, 10 * (done + 1) - 1 if looked else flips) - done


def _count_flips(
    columns: Floats, flips: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """How many of ``flips`` random sign vectors give a sum as large, and as small, as observed."""
    columns = columns[(columns != 0).any(axis=1)]
    observed, scale = columns.sum(axis=0), np.abs(columns).sum(axis=0)
    # A sum with signs s in {-1, 1} is 2 b.d - sum(d) for bits b: compare b.d with a bound instead.
    lower = observed - TIE_TOLERANCE * scale / 2
    upper = observed + TIE_TOLERANCE * scale / 2
    at_least, at_most = np.zeros(columns.shape[1]), np.zeros(columns.shape[1])
    n = len(columns)
    for start in range(0, flips, ROWS_PER_PRODUCT):
        rows = min(ROWS_PER_PRODUCT, flips - start)
        packed = np.frombuffer(generator.bytes(rows * -(-n // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed.reshape(rows, -1), axis=1, count=n).astype(np.float64)
        sums = bits @ columns
        at_least += (sums >= lower).sum(axis=0)
        at_most += (sums <= upper).sum(axis=0)
    return at_least, at_most


def signed_ranks(differences: Floats) -> Floats:
    """Rank the absolute differences of each column, ties alike, and give them their signs.

    Zeros stay zero and take no rank, so that a sign-flip test of the result is the exact
    conditional form of Wilcoxon's signed-rank test.

    Args:
        differences: (n, m); values alike to :data:`RANK_DIGITS` digits are ties.
    """
    sizes = np.abs(differences)
    with np.errstate(divide="ignore"):
        scale = 10.0 ** (np.floor(np.log10(np.where(sizes > 0, sizes, 1.0))) - RANK_DIGITS)
    ranks = stats.rankdata(np.round(sizes / scale) * scale, axis=0)
    zeros = (differences == 0).sum(axis=0)
    return np.asarray(np.sign(differences) * (ranks - zeros))


def mcnemar(new: Bools, old: Bools) -> Tails:
    """Exact McNemar test of m columns of paired flags: is the event more (less) frequent now?"""
    appeared = (new & ~old).sum(axis=0)
    vanished = (old & ~new).sum(axis=0)
    changed = appeared + vanished
    return Tails(
        worse=np.asarray(stats.binom.sf(appeared - 1, changed, 0.5)),
        better=np.asarray(stats.binom.sf(vanished - 1, changed, 0.5)),
    )


def either(one: Tails, other: Tails) -> Tails:
    """Two tests of one hypothesis: p = min(1, 2 min(p1, p2))."""
    return Tails(
        worse=np.minimum(1.0, 2.0 * np.minimum(one.worse, other.worse)),
        better=np.minimum(1.0, 2.0 * np.minimum(one.better, other.better)),
    )


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted p-values (q): rejecting those <= q keeps the false discovery rate at q."""
    m = len(p)
    if m == 0:
        return p
    order = np.argsort(p, kind="stable")
    scaled = p[order] * m / np.arange(1, m + 1)
    adjusted = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    result = np.empty(m)
    result[order] = adjusted
    return result


def discordant_needed(tests: int, q: float) -> int:
    """Fewest discordant scenarios that could reach significance: 2 x 2^-k <= q / tests."""
    return math.ceil(math.log2(2.0 * max(tests, 1) / q) - 1e-12)


def discordant_found(needed: int, share: float = 0.95) -> int:
    """Fewest expected discordant scenarios of which ``needed`` or more come with that probability.

    How many a panel holds of a rare thing is about Poisson distributed.
    """
    expected = needed
    while stats.poisson.sf(needed - 1, expected) < share:
        expected += 1
    return expected


def ratio(new: Floats, old: Floats) -> Floats:
    """Quotient new / old; 1 where both are zero, inf from zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((new == 0) & (old == 0), 1.0, new / old))


def bootstrap_ratio(
    new: Floats, old: Floats, weights: Floats, resamples: int, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Paired percentile bootstrap of the ratio of weighted totals, for display only.

    Percentile intervals of zero-inflated ratios cover less than they say (0.89 to 0.93).

    Args:
        new: (n, m) natural units.
        old: (n, m).
        weights: (n,).
        resamples: how often the n scenarios are drawn anew.
        level: of the interval.

    Returns:
        lower and upper ends, (m,) each; NaN where a resample has nothing in either total.
    """
    n, m = new.shape
    generator = np.random.Generator(np.random.PCG64(SEED + 1))
    counts = generator.multinomial(n, np.full(n, 1.0 / n), size=resamples) * weights
    totals = counts @ np.hstack((new, old))
    ratios = ratio(totals[:, :m], totals[:, m:])
    tail = (1.0 - level) / 2.0
    # Order statistics, not interpolation: inf - inf is NaN.
    ranks = np.sort(ratios, axis=0)
    low, high = int(tail * resamples), math.ceil((1.0 - tail) * resamples) - 1
    return ranks[low], ranks[high]
