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
    differences: Floats,
    alike: Floats,
    *,
    flips: int,
    flips_max: int,
    exact_up_to: int,
    level: float,
) -> Tails:
    """Sign-flip permutation test of m columns of paired differences, by two statistics at once.

    Under the hypothesis of no change each scenario's differences are as likely to have the other
    sign. A column has two sums, of ``differences`` and of ``alike``. The statistic is the smaller
    of their two p-values; both take the same flips, so its own permutation distribution is known
    (Westfall and Young's minimum) and nothing is lost as by doubling. Ties count as at least as
    extreme, within :data:`TIE_TOLERANCE` of a sum of absolute values.

    Args:
        differences: (n, m); zero where a pair does not differ.
        alike: (n, m); zero wherever ``differences`` is; all zero for a single statistic.
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
        rows = differences[:, test] != 0
        one, other = differences[rows, test], alike[rows, test]
        sums = _Sums(_all_sums(one), _all_sums(other), _tolerance(one), _tolerance(other))
        tails.worse[test], tails.better[test] = sums.tails()
    many = np.flatnonzero(discordant > exact_up_to)
    _sampled(differences, alike, many, tails, flips=flips, flips_max=flips_max, level=level)
    return tails


def _tolerance(values: Floats) -> float:
    return TIE_TOLERANCE * float(np.abs(values).sum())


@dataclass(frozen=True)
class _Sums:
    """Sums of one column's two statistics under N sign vectors; the first is what was observed.

    Attributes:
        one, other: (N,) the sums.
        one_tolerance, other_tolerance: within which two sums are the same.
    """

    one: Floats
    other: Floats
    one_tolerance: float
    other_tolerance: float

    def tails(self) -> tuple[float, float]:
        """p-values of the smaller of the two p-values: for larger sums, and for smaller."""
        return self._tail(self.one, self.other), self._tail(-self.one, -self.other)

    def _tail(self, one: Floats, other: Floats) -> float:
        count = len(one)
        fewest = int((one >= one[0] - self.one_tolerance).sum())
        single = self.other_tolerance == 0.0
        if single:
            return fewest / count
        fewest = min(fewest, int((other >= other[0] - self.other_tolerance).sum()))
        extreme = one >= _from(one, fewest, self.one_tolerance)
        extreme |= other >= _from(other, fewest, self.other_tolerance)
        return int(extreme.sum()) / count


def _from(values: Floats, most: int, tolerance: float) -> float:
    """Smallest bound that at most so many values reach, ties together; infinite if none is."""
    place = len(values) - most
    bound = float(np.partition(values, place)[place])
    if int((values >= bound - tolerance).sum()) <= most:
        return bound - tolerance
    above = values[values > bound + tolerance]
    return float(above.min()) - tolerance if len(above) else math.inf


def _all_sums(values: Floats) -> Floats:
    """Sums under all 2^k signs, that of the values as they are first."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    return sums


def _sampled(
    differences: Floats,
    alike: Floats,
    tests: Ints,
    tails: Tails,
    *,
    flips: int,
    flips_max: int,
    level: float,
) -> None:
    """Fill in p-values from random signs, ten times as many wherever p is near its floor."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    done, batch = 0, flips // CLEARLY_NOTHING
    one = differences[:, tests].sum(axis=0)[None, :]
    other = alike[:, tests].sum(axis=0)[None, :]
    while len(tests):
        more, others = _flip_sums(differences[:, tests], alike[:, tests], batch, generator)
        one, other, done = np.vstack((one, more)), np.vstack((other, others)), done + batch
        for column, test in enumerate(tests):
            sums = _Sums(
                one[:, column],
                other[:, column],
                _tolerance(differences[:, test]),
                _tolerance(alike[:, test]),
            )
            tails.worse[test], tails.better[test] = sums.tails()
        looked = done >= flips
        if done >= flips_max or (looked and 1.0 / (1.0 + done) <= level / 10.0):
            return
        smaller = np.minimum(tails.worse[tests], tails.better[tests]) * (1.0 + done) - 1.0
        near = smaller < (10 if looked else done / CLEARLY_NOTHING)
        tests, one, other = tests[near], one[:, near], other[:, near]
        batch = min(flips_max, 10 * (done + 1) - 1 if looked else flips) - done


def _flip_sums(
    differences: Floats, alike: Floats, flips: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Sums of both statistics under the same random sign vectors, (flips, m) each."""
    rows = (differences != 0).any(axis=1)
    both = np.hstack((differences[rows], alike[rows]))
    n = len(both)
    found = np.empty((flips, both.shape[1]))
    for start in range(0, flips, ROWS_PER_PRODUCT):
        count = min(ROWS_PER_PRODUCT, flips - start)
        packed = np.frombuffer(generator.bytes(count * -(-n // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed.reshape(count, -1), axis=1, count=n).astype(np.float64)
        # signs s in {-1, 1} from bits b: s.d = 2 b.d - sum(d)
        found[start : start + count] = 2.0 * (bits @ both)
    found -= both.sum(axis=0)
    half = both.shape[1] // 2
    return found[:, :half], found[:, half:]


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


@dataclass(frozen=True)
class Rejectable:
    """Which of m tests could be rejected at all, whatever the signs of their differences.

    Attributes:
        tests: (m,) those that could.
        needed: differing scenarios that such a test has at least.
    """

    tests: Bools
    needed: int

    @property
    def count(self) -> int:
        """How many could."""
        return int(self.tests.sum())


def rejectable(discordant: Ints, level: float) -> Rejectable:
    """Leave out the tests that cannot be rejected (Tarone 1990; Gilbert 2005 for the FDR).

    With k differing scenarios the smallest p is 2^-k, which depends on the sizes of the differences
    alone and not on their signs: leaving such tests out before the correction is valid. K is the
    smallest number for which at most K tests could reach level / K; those are the tests.

    Args:
        discordant: (m,) differing scenarios of each test; copies of a test come once.
        level: of the correction that follows.
    """
    smallest = 2.0 ** -discordant.astype(np.float64)
    for k in range(1, len(discordant) + 1):
        able = smallest <= level / k
        if able.sum() <= k:
            return Rejectable(able, discordant_needed(k, level))
    return Rejectable(np.zeros(len(discordant), dtype=bool), discordant_needed(1, level))


def discordant_needed(tests: int, q: float) -> int:
    """Fewest discordant scenarios that could reach significance: 2^-k <= q / tests."""
    return math.ceil(math.log2(max(tests, 1) / q) - 1e-12)


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


def bootstrap_geometric(
    logarithms: Floats, weights: Floats, resamples: int, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Paired percentile bootstrap of a weighted geometric mean of ratios, for display only.

    Args:
        logarithms: (n, m) logarithms of the scenarios' ratios.
        weights: (n,).
        resamples: how often the n scenarios are drawn anew.
        level: of the interval.

    Returns:
        lower and upper ends, (m,) each.
    """
    n = len(logarithms)
    generator = np.random.Generator(np.random.PCG64(SEED + 1))
    counts = generator.multinomial(n, np.full(n, 1.0 / n), size=resamples) * weights
    means = np.sort(counts @ logarithms / counts.sum(axis=1, keepdims=True), axis=0)
    tail = (1.0 - level) / 2.0
    low, high = int(tail * resamples), math.ceil((1.0 - tail) * resamples) - 1
    return np.exp(means[low]), np.exp(means[high])
