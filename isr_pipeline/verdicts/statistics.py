"""Paired tests for many configurations at once. No I/O, no knowledge of Kafka.

Every random number comes from a fixed seed: the same outcomes give the same verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
    """One-sided p-values of m tests: ``worse`` for a larger sum, ``better`` for a smaller.

    Attributes:
        worse, better: (m,) of all statistics and groups jointly.
        worse_in, better_in: (g, m) of each group alone, by the first statistic.
    """

    worse: Floats
    better: Floats
    worse_in: Floats
    better_in: Floats


def sign_flip(
    statistics: Sequence[Floats],
    groups: Ints | None = None,
    *,
    flips: int,
    flips_max: int,
    exact_up_to: int,
    level: float,
) -> Tails:
    """Sign-flip permutation test of m columns of paired differences, by several sums at once.

    Under the hypothesis of no change each scenario's differences are as likely to have the other
    sign. A column has one sum for each statistic, and one of the first statistic for each group of
    rows. What is tested with is the smallest of their p-values; all take the same flips, so its own
    permutation distribution is known (Westfall and Young 1993) and nothing is lost as by a factor
    for each sum. Ties count as at least as extreme, within :data:`TIE_TOLERANCE` of a sum of
    absolute values.

    Args:
        statistics: (n, m) each; zero where a pair does not differ.
        groups: (n,) group of each row, from 0; None for one group.
        flips: random sign vectors of the first batch.
        flips_max: the most that any test gets.
        exact_up_to: number of non-zero differences up to which all signs are enumerated.
        level: p-value that must be reachable (q / m): batches grow until a tenth of it is, or a
            bound is below that.

    Returns:
        p-values per column; 1 where no pair differs.
    """
    n, m = statistics[0].shape
    labels = np.zeros(n, dtype=np.int64) if groups is None else groups
    count = int(labels.max(initial=0)) + 1
    tails = Tails(np.ones(m), np.ones(m), np.ones((count, m)), np.ones((count, m)))
    discordant = (statistics[0] != 0).sum(axis=0)
    for test in np.flatnonzero((discordant > 0) & (discordant <= exact_up_to)):
        _enumerated([one[:, test] for one in statistics], labels).into(tails, int(test))
    many = np.flatnonzero(discordant > exact_up_to)
    _sampled(statistics, labels, many, tails, flips=flips, flips_max=flips_max, level=level)
    return tails


@dataclass(frozen=True)
class _Sum:
    """One sum of a column under sign vectors; the first value is what was observed.

    Attributes:
        values: one for each choice of the signs that matter to it.
        times: sign vectors of the whole column behind each value.
        shape: that puts the values into the whole column's sign vectors.
        tolerance: within which two values are the same.
        squares: sum of the squares of what it sums.
        group: whose rows it sums; -1 for all.
        counted: whether it takes part; a group that has all differences is no sum of its own.
    """

    values: Floats
    times: int
    shape: tuple[int, ...]
    tolerance: float
    squares: float
    group: int
    counted: bool

    def bound(self, sign: float) -> float:
        """What the p-value of this sum is at most, whatever the signs: Hoeffding (1963)."""
        observed = sign * float(self.values[0])
        if observed <= 0.0:
            return 1.0
        return math.exp(-(observed**2) / (2.0 * self.squares))

    def reaching(self, sign: float) -> int:
        """How many values are at least what was observed (at most, if ``sign`` is -1)."""
        values = sign * self.values
        return int((values >= values[0] - self.tolerance).sum())

    def extreme(self, sign: float, most: int) -> Bools | None:
        """Where the values are whose p-value is that of so many sign vectors, or less."""
        bound = _from(sign * self.values, most // self.times, self.tolerance)
        if not math.isfinite(bound):
            return None
        return np.asarray((sign * self.values >= bound).reshape(self.shape))


@dataclass(frozen=True)
class _Column:
    """The sums of one column, and the shape of its sign vectors."""

    sums: list[_Sum]
    shape: tuple[int, ...]

    def into(self, tails: Tails, test: int) -> None:
        """Fill in the p-values of a test."""
        tails.worse[test], tails.better[test] = self._joint(1.0), self._joint(-1.0)
        for one in self.sums:
            if one.group >= 0:
                tails.worse_in[one.group, test] = one.reaching(1.0) / len(one.values)
                tails.better_in[one.group, test] = one.reaching(-1.0) / len(one.values)

    def bound(self, sign: float) -> float:
        """What the joint p-value is at most: the sums' bounds, added up (Boole)."""
        counted = [one.bound(sign) for one in self.sums if one.counted]
        return min(1.0, len(counted) * min(counted))

    def bounded(self, tails: Tails, test: int, enough: float) -> bool:
        """Take bounds for p-values that more sign vectors could only lower.

        Args:
            tails: of all tests; changed.
            test: which one.
            enough: a bound at or below it is taken.

        Returns:
            Whether a joint p-value was replaced: the test needs no more sign vectors.
        """
        done = False
        for sign, joint, within in (
            (1.0, tails.worse, tails.worse_in),
            (-1.0, tails.better, tails.better_in),
        ):
            if (bound := self.bound(sign)) <= min(enough, joint[test]):
                joint[test], done = bound, True
            for one in self.sums:
                if one.group >= 0 and (alone := one.bound(sign)) <= enough:
                    within[one.group, test] = min(alone, within[one.group, test])
        return done

    def _joint(self, sign: float) -> float:
        """P-value of the smallest of the sums' p-values."""
        counted = [one for one in self.sums if one.counted]
        fewest = min(one.reaching(sign) * one.times for one in counted)
        if len(counted) == 1:
            return fewest / math.prod(self.shape)
        extreme = np.zeros(self.shape, dtype=bool)
        for one in counted:
            found = one.extreme(sign, fewest)
            if found is not None:
                extreme |= found
        return int(extreme.sum()) / extreme.size


def _from(values: Floats, most: int, tolerance: float) -> float:
    """Smallest bound that at most so many values reach, ties together; infinite if none is."""
    if most == 0:
        return math.inf
    place = len(values) - most
    bound = float(np.partition(values, place)[place])
    if int((values >= bound - tolerance).sum()) <= most:
        return bound - tolerance
    above = values[values > bound + tolerance]
    return float(above.min()) - tolerance if len(above) else math.inf


def _tolerance(values: Floats) -> float:
    return TIE_TOLERANCE * float(np.abs(values).sum())


def _squares(values: Floats) -> float:
    return float(values @ values)


def _enumerated(columns: list[Floats], labels: Ints) -> _Column:
    """All 2^k sign vectors of a column: an axis for each group, the last group's first."""
    rows = np.flatnonzero(columns[0])
    rows = rows[np.argsort(labels[rows], kind="stable")]
    present, sizes = np.unique(labels[rows], return_counts=True)
    shape = tuple(2 ** int(size) for size in sizes[::-1])
    whole = 2 ** len(rows)
    sums = [
        _Sum(_all_sums(one[rows]), 1, shape, _tolerance(one), _squares(one), -1, counted=True)
        for one in columns
        if one.any()
    ]
    for index, group in enumerate(present):
        mine = columns[0][rows[labels[rows] == group]]
        axis = len(present) - 1 - index
        own = tuple(size if at == axis else 1 for at, size in enumerate(shape))
        sums.append(
            _Sum(
                _all_sums(mine),
                whole // 2 ** len(mine),
                own,
                _tolerance(mine),
                _squares(mine),
                int(group),
                counted=len(mine) < len(rows),
            )
        )
    return _Column(sums, shape)


def _all_sums(values: Floats) -> Floats:
    """Sums under all 2^k signs, that of the values as they are first."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    return sums


@dataclass
class _Flipped:
    """A column whose signs are drawn.

    Attributes:
        test: its index.
        parts: (n, s) what its sums are made of.
        groups: of each sum; -1 for all rows.
        sums: (flips so far + 1, s).
    """

    test: int
    parts: Floats
    groups: list[int]
    sums: Floats

    @classmethod
    def of(cls, test: int, columns: list[Floats], labels: Ints) -> _Flipped:
        """Take a column's statistics apart."""
        parts = [one for one in columns if one.any()]
        groups = [-1] * len(parts)
        for group in np.unique(labels[columns[0] != 0]):
            parts.append(np.where(labels == group, columns[0], 0.0))
            groups.append(int(group))
        matrix = np.column_stack(parts)
        return cls(test, matrix, groups, matrix.sum(axis=0)[None, :])

    def column(self) -> _Column:
        """Its sums so far."""
        shape = (len(self.sums),)
        several = sum(group >= 0 for group in self.groups) > 1
        return _Column(
            [
                _Sum(
                    self.sums[:, at],
                    1,
                    shape,
                    _tolerance(self.parts[:, at]),
                    _squares(self.parts[:, at]),
                    group,
                    counted=group < 0 or several,
                )
                for at, group in enumerate(self.groups)
            ],
            shape,
        )


def _sampled(
    statistics: Sequence[Floats],
    labels: Ints,
    tests: Ints,
    tails: Tails,
    *,
    flips: int,
    flips_max: int,
    level: float,
) -> None:
    """Fill in p-values from random signs, ten times as many wherever p is near its floor.

    The floor is higher the more sums there are, since any of them may be the extreme one. Where
    the first batch is not fine enough, a small p-value is bounded instead of counted.
    """
    generator = np.random.Generator(np.random.PCG64(SEED))
    done, batch = 0, flips // CLEARLY_NOTHING
    active = [_Flipped.of(int(t), [one[:, t] for one in statistics], labels) for t in tests]
    while active:
        sums = _flip_sums(np.hstack([one.parts for one in active]), batch, generator)
        done, start = done + batch, 0
        looked = done >= flips
        last = done >= flips_max or (looked and 1.0 / (1.0 + done) <= level / 10.0)
        bounded: set[int] = set()
        for one in active:
            width = one.parts.shape[1]
            one.sums = np.vstack((one.sums, sums[:, start : start + width]))
            start += width
            column = one.column()
            column.into(tails, one.test)
            if looked and not last and column.bounded(tails, one.test, level / 10.0):
                bounded.add(one.test)
        if last:
            return
        most = 10 if looked else done / CLEARLY_NOTHING
        active = [
            one
            for one in active
            if one.test not in bounded
            and min(tails.worse[one.test], tails.better[one.test]) * (1.0 + done) - 1.0 < most
        ]
        batch = min(flips_max, 10 * (done + 1) - 1 if looked else flips) - done


def _flip_sums(columns: Floats, flips: int, generator: np.random.Generator) -> Floats:
    """Sums of all columns under the same random sign vectors, (flips, columns)."""
    rows = (columns != 0).any(axis=1)
    found = np.empty((flips, columns.shape[1]))
    for start, bits in drawn_signs(int(rows.sum()), flips, generator):
        # signs s in {-1, 1} from bits b: s.d = 2 b.d - sum(d)
        found[start : start + len(bits)] = 2.0 * (bits @ columns[rows])
    found -= columns.sum(axis=0)
    return found


def drawn_signs(n: int, flips: int, generator: np.random.Generator) -> Iterator[tuple[int, Floats]]:
    """Draw random signs as bits: (first flip, (flips, n) of 0 and 1), a stretch at a time."""
    for start in range(0, flips, ROWS_PER_PRODUCT):
        count = min(ROWS_PER_PRODUCT, flips - start)
        packed = np.frombuffer(generator.bytes(count * -(-n // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed.reshape(count, -1), axis=1, count=n)
        yield start, bits.astype(np.float64)


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


def holm(p: Floats) -> Floats:
    """Adjusted p-values: rejecting those <= a keeps the chance of any false rejection at a.

    It is the shortcut of closed testing in which every intersection is tested by Bonferroni
    (Marcus, Peritz and Gabriel 1976; Holm 1979).
    """
    order = np.argsort(p, kind="stable")
    scaled = p[order] * np.arange(len(p), 0, -1)
    result = np.empty(len(p))
    result[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
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
    smallest number for which at most K tests could reach level / K; those are the tests. Where none
    could, because a change shows in as few scenarios of very many tests, all that could reach the
    level are taken: together they may.

    Args:
        discordant: (m,) differing scenarios of each test; copies of a test come once.
        level: of the correction that follows.
    """
    smallest = 2.0 ** -discordant.astype(np.float64)
    for k in range(1, len(discordant) + 1):
        able = smallest <= level / k
        if not able.any():
            break
        if able.sum() <= k:
            return Rejectable(able, discordant_needed(k, level))
    return Rejectable(smallest <= level, discordant_needed(1, level))


def discordant_needed(tests: int, q: float) -> int:
    """Fewest discordant scenarios that could reach significance: 2^-k <= q / tests."""
    return math.ceil(math.log2(max(tests, 1) / q) - 1e-12)


def finite(number: float) -> float | None:
    """The number, or None where there is none that JSON has."""
    return float(number) if math.isfinite(number) else None


def ratio(new: Floats, old: Floats) -> Floats:
    """Quotient new / old; 1 where both are zero, inf from zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((new == 0) & (old == 0), 1.0, new / old))
