"""The statistics against scipy, against enumeration, and under the hypothesis of no change."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from isr_pipeline.verdicts.comparison import paired_differences
from isr_pipeline.verdicts.statistics import (
    Tails,
    _enumerated,
    discordant_needed,
    ratio,
    rejectable,
    sign_flip,
    signed_ranks,
)


def flipped(
    differences: np.ndarray,
    alike: np.ndarray | None = None,
    *,
    exact_up_to: int = 20,
    level: float = 0.05,
) -> Tails:
    """The test with the settings that the nights use, of one statistic unless there is another."""
    return sign_flip(
        (differences,) if alike is None else (differences, alike),
        flips=9_999,
        flips_max=99_999,
        exact_up_to=exact_up_to,
        level=level,
    )


class TestSignedRanks:
    """Ranks that a sign-flip test turns into Wilcoxon's."""

    @settings(max_examples=30)
    @given(
        st.lists(st.floats(-3, 3, width=32), min_size=2, max_size=12, unique_by=abs).filter(
            lambda values: all(abs(value) > 1e-3 for value in values)
        )
    )
    def test_flipped_ranks_are_wilcoxons_test(self, values: list[float]) -> None:
        """Without ties the p-value is the one of scipy's exact signed-rank test."""
        column = np.array(values, dtype=float)
        assume(len(set(np.abs(signed_ranks(column[:, None])[:, 0]))) == len(values))
        found = flipped(signed_ranks(column[:, None]))
        for p, side in ((found.worse[0], "greater"), (found.better[0], "less")):
            expected = stats.wilcoxon(column, alternative=side, method="exact").pvalue
            assert p == pytest.approx(expected)

    def test_zeros_take_no_rank_and_ties_share_one(self) -> None:
        """Two that differ by rounding have the same rank; what does not differ has none."""
        column = np.array([[0.0], [-0.5], [0.3 - 0.1], [0.2], [0.0], [7.0]])
        assert signed_ranks(column)[:, 0].tolist() == [0.0, -3.0, 1.5, 1.5, 0.0, 4.0]


class TestSignFlip:
    """Paired sign-flip permutation test."""

    @given(st.lists(st.integers(-5, 5), min_size=1, max_size=11))
    def test_enumeration_counts_every_sign_vector(self, values: list[int]) -> None:
        """Up to 20 discordant pairs the p-value is the share of all 2^k sums, ties included."""
        column = np.array(values, dtype=float)
        nonzero = column[column != 0]
        signs = itertools.product((-1, 1), repeat=len(nonzero))
        sums = [sum(s * abs(v) for s, v in zip(one, nonzero, strict=True)) for one in signs]
        expected = np.mean([one >= column.sum() for one in sums])
        assert flipped(column[:, None]).worse[0] == pytest.approx(expected)

    @settings(max_examples=15)
    @given(st.lists(st.floats(-3, 3, width=32), min_size=2, max_size=10))
    def test_agrees_with_scipy(self, values: list[float]) -> None:
        """Both tails are scipy's exact permutation_test of paired samples."""
        column = np.array(values, dtype=float)
        column[np.abs(column) < 1e-3] = 0.0
        found = flipped(column[:, None])
        for p, side in ((found.worse[0], "greater"), (found.better[0], "less")):
            expected = stats.permutation_test(
                (column,),
                lambda x, axis: x.sum(axis=axis),
                permutation_type="samples",
                alternative=side,
                n_resamples=np.inf,
                vectorized=True,
            ).pvalue
            assert p == pytest.approx(expected, abs=1e-9)

    def test_sampling_approaches_enumeration(self) -> None:
        """Random flips estimate what enumeration gives."""
        column = np.random.default_rng(3).normal(0.9, 1.0, 18)[:, None]
        exact, sampled = flipped(column), flipped(column, exact_up_to=1)
        assert sampled.worse[0] == pytest.approx(exact.worse[0], abs=0.01)

    def test_changing_sides_swaps_the_tails(self) -> None:
        """Worse for x is better for -x."""
        column = np.random.default_rng(4).normal(size=(15, 1))
        assert flipped(column).worse[0] == pytest.approx(flipped(-column).better[0])

    def test_no_difference_is_no_evidence(self) -> None:
        """A column of zeros has p = 1 on both sides."""
        found = flipped(np.zeros((30, 2)))
        assert found.worse.tolist() == found.better.tolist() == [1.0, 1.0]

    def test_equal_magnitudes_tie_in_float32_noise(self) -> None:
        """Sums that differ by rounding alone are ties: half of them up gives p above one half."""
        noise = np.float32(0.1) + np.arange(40) * 1e-12
        column = (noise * np.tile([1.0, -1.0], 20))[:, None]
        found = flipped(column)
        assert found.worse[0] > 0.5
        assert found.better[0] > 0.5

    def test_more_flips_where_p_is_near_its_floor(self) -> None:
        """A strong effect gets a p below what the first batch can give, an absent one does not."""
        rng = np.random.default_rng(5)
        columns = np.column_stack((rng.normal(1.5, 1, 60), rng.normal(0, 1, 60)))
        found = flipped(columns, level=0.05 / 400)
        assert 0.0 < found.worse[0] < 1e-5
        assert found.worse[1] > 0.01

    def test_is_deterministic(self) -> None:
        """The same outcomes give the same p-values."""
        columns = np.random.default_rng(6).normal(size=(80, 5))
        assert np.array_equal(flipped(columns).worse, flipped(columns).worse)

    def test_null_p_values_are_valid(self) -> None:
        """Under no change P(p <= a) <= a: a tie or a sign counted wrongly would show here."""
        rng = np.random.default_rng(7)
        base = rng.gamma(0.5, 4.0, (120, 1))
        new, old = (rng.poisson(base, (120, 600)).astype(float) for _ in range(2))
        found = flipped(paired_differences(new, old, np.ones(120)))
        for p in (found.worse, found.better):
            for level in (0.01, 0.05, 0.2):
                share = float((p <= level).mean())
                assert share <= level + 3 * np.sqrt(level / 600)


class TestBothStatistics:
    """The smaller of two p-values under the same flips."""

    @settings(max_examples=60)
    @given(
        st.lists(
            st.tuples(st.integers(-5, 5).filter(bool), st.integers(-3, 3)), min_size=1, max_size=8
        ).filter(lambda values: any(other for _, other in values))
    )
    def test_enumeration_counts_the_smaller_p(self, values: list[tuple[int, int]]) -> None:
        """The p-value is the share of sign vectors whose smaller p is as small as observed."""
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(values))))
        sums = (signs @ np.array(values, dtype=float)).T
        for side, tail in ((1.0, "worse"), (-1.0, "better")):
            each = [np.mean(side * s[None, :] >= side * s[:, None], axis=1) for s in sums]
            smaller = np.minimum(*each)
            one, other = np.array(values, dtype=float).T
            found = getattr(flipped(one[:, None], other[:, None]), tail)[0]
            assert found == pytest.approx(np.mean(smaller <= smaller[0] + 1e-12))

    def test_all_one_way_is_one_sign_vector(self) -> None:
        """Twelve scenarios that all got worse: p is 2^-12 whatever their sizes."""
        sizes = np.random.default_rng(1).gamma(0.3, 5.0, (12, 1)) + 0.1
        assert flipped(sizes, signed_ranks(sizes)).worse[0] == 2.0**-12

    def test_never_more_than_twice_the_smaller(self) -> None:
        """Joint flips lose less than doubling the smaller of two p-values does."""
        rng = np.random.default_rng(11)
        for _ in range(40):
            sizes = rng.normal(0.6, 1.0, (14, 1)) * rng.gamma(0.5, 3.0, (14, 1))
            ranks = signed_ranks(sizes)
            joint = flipped(sizes, ranks).worse[0]
            twice = 2.0 * min(flipped(sizes).worse[0], flipped(ranks).worse[0])
            assert joint <= twice + 1e-12

    def test_sampling_approaches_enumeration(self) -> None:
        """Random flips estimate the joint p-value as well."""
        sizes = np.random.default_rng(3).normal(0.9, 1.0, (18, 1))
        ranks = signed_ranks(sizes)
        exact, sampled = flipped(sizes, ranks), flipped(sizes, ranks, exact_up_to=1)
        assert sampled.worse[0] == pytest.approx(exact.worse[0], abs=0.01)
        assert sampled.better[0] == pytest.approx(exact.better[0], abs=0.01)

    def test_null_p_values_are_valid(self) -> None:
        """Under no change P(p <= a) <= a, with both statistics."""
        rng = np.random.default_rng(12)
        base = rng.gamma(0.2, 4.0, (60, 1))
        new, old = (rng.poisson(base, (60, 600)).astype(float) for _ in range(2))
        sizes = paired_differences(new, old, rng.gamma(0.5, 2.0, 60))
        found = flipped(sizes, signed_ranks(np.log1p(new) - np.log1p(old)) * (sizes != 0))
        for p in (found.worse, found.better):
            for level in (0.01, 0.05, 0.2):
                share = float((p <= level).mean())
                assert share <= level + 3 * np.sqrt(level / 600)

    @settings(deadline=None)
    @given(st.integers(1, 30), st.integers(0, 30))
    def test_flags_alone_are_mcnemars_test(self, appeared: int, vanished: int) -> None:
        """Sign flips of paired flags are scipy's binomtest at one half."""
        flags = np.array([1.0] * appeared + [-1.0] * vanished)[:, None]
        found = flipped(flags, flags)
        expected = stats.binomtest(appeared, appeared + vanished, 0.5, "greater").pvalue
        assert found.worse[0] == pytest.approx(expected, abs=0.07)


class TestRejectable:
    """Tests that no sign of their differences could make significant are not counted."""

    def test_one_changed_column_among_many(self) -> None:
        """Of 246 tests only one differs in scenarios: it alone is counted, and needs three."""
        discordant = np.zeros(246, dtype=np.int64)
        discordant[7] = 8
        found = rejectable(discordant, 0.2)
        assert (found.count, found.needed) == (1, 3)
        assert found.tests[7]

    @given(st.lists(st.integers(0, 25), min_size=1, max_size=80), st.floats(0.01, 0.3))
    def test_is_tarones_number(self, discordant: list[int], level: float) -> None:
        """At most K tests can reach level / K, and no smaller K has that."""
        found = rejectable(np.array(discordant), level)
        smallest = 2.0 ** -np.array(discordant, dtype=float)
        for k in range(1, len(discordant) + 1):
            able = int((smallest <= level / k).sum())
            if able == 0:
                break
            if able <= k:
                assert found.count == able
                return
        assert found.count == int((smallest <= level).sum())

    def test_many_of_few_are_counted_together(self) -> None:
        """Five scenarios of forty-one configurations: none could be rejected alone, all can be."""
        found = rejectable(np.full(41, 5), 0.2)
        assert found.count == 41
        assert (stats.false_discovery_control(np.full(41, 2.0**-5)) <= 0.2).all()

    def test_false_discoveries_stay_below_the_level(self) -> None:
        """Under no change at most one night in five has a q of 0.2 or less, discrete p and all."""
        rng = np.random.default_rng(21)
        alarms = 0
        for _ in range(300):
            counts = rng.integers(0, 14, 30)
            p = np.ones(30)
            for index, count in enumerate(counts):
                if count:
                    column = rng.choice((-1.0, 1.0), (count, 1)) * rng.gamma(0.5, 2.0, (count, 1))
                    p[index] = flipped(column, signed_ranks(column)).worse[0]
            able = rejectable(counts, 0.2).tests
            alarms += bool(able.any() and (stats.false_discovery_control(p[able]) <= 0.2).any())
        assert alarms <= 300 * 0.2 + 3 * np.sqrt(300 * 0.2 * 0.8)

    def test_nothing_to_test(self) -> None:
        """Without a differing scenario there is no test."""
        assert rejectable(np.zeros(5, dtype=np.int64), 0.2).count == 0


class TestPowerAndRatio:
    """How many scenarios significance takes, and what is shown of a change."""

    def test_thirteen_scenarios_for_four_hundred_tests(self) -> None:
        """2^-k <= q / m."""
        assert discordant_needed(400, 0.05) == 13

    @given(st.integers(1, 5_000), st.floats(0.001, 0.5))
    def test_is_the_least_that_suffices(self, tests: int, q: float) -> None:
        """K suffices and k - 1 does not."""
        k = discordant_needed(tests, q)
        assert 2.0**-k <= q / tests * (1 + 1e-9)
        assert 2.0 ** -(k - 1) > q / tests * (1 - 1e-9)

    def test_ratio_of_zeros(self) -> None:
        """Nothing to nothing is 1, something from nothing is infinite."""
        found = ratio(np.array([0.0, 2.0, 3.0]), np.array([0.0, 0.0, 2.0]))
        assert found.tolist() == [1.0, np.inf, 1.5]


class TestPairedDifferences:
    """What enters the test."""

    def test_rounding_noise_is_a_tie(self) -> None:
        """Values that differ in the last bits differ by exactly zero."""
        new, old = np.array([[0.1 + 0.2]]), np.array([[0.3]])
        assert new[0, 0] != old[0, 0]
        assert paired_differences(new, old, np.ones(1))[0, 0] == 0.0

    def test_weights_scale_each_scenario(self) -> None:
        """A scenario that stands for three counts three times."""
        new, old = np.array([[1.0], [1.0]]), np.zeros((2, 1))
        found = paired_differences(new, old, np.array([1.0, 3.0]))
        assert found[1, 0] == pytest.approx(3 * found[0, 0])


class TestBounds:
    """P-values that no number of sign vectors would show."""

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 4))
    def test_a_bound_is_never_below_the_p_value(self, seed: int, rows: int, groups: int) -> None:
        """Against enumeration, jointly and in each group, whatever the differences."""
        random = np.random.default_rng(seed)
        columns = [random.normal(1.0, 1.0, rows), random.exponential(1.0, rows)]
        labels = random.integers(0, groups, rows)
        column = _enumerated(columns, labels)
        for sign in (1.0, -1.0):
            assert column.bound(sign) >= column._joint(sign) - 1e-12
            for one in column.sums:
                assert one.bound(sign) >= one.reaching(sign) / len(one.values) - 1e-12

    def test_a_large_effect_is_found_at_any_level(self) -> None:
        """300 scenarios of 15 strata all got worse: chance is one in more than 10^20."""
        differences = np.abs(np.random.default_rng(1).normal(1.0, 0.2, (300, 1)))
        labels = np.arange(300) % 15
        found = sign_flip(
            (differences, np.sign(differences)),
            labels,
            flips=9_999,
            flips_max=49_999,
            exact_up_to=20,
            level=1e-7,
        )
        assert found.worse[0] < 1e-20
        assert found.better[0] == 1.0
        assert (found.worse_in[:, 0] < 1e-3).all()

    def test_counted_p_values_stay_where_they_are_fine_enough(self) -> None:
        """One in ten thousand is enough for a level of one in a thousand."""
        differences = np.ones((24, 1))
        assert flipped(differences, level=0.001).worse[0] == pytest.approx(1e-4)
