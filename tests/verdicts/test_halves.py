"""Intervals by random halves: they are the inversion of the test, and they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest

from isr_pipeline.verdicts.comparison import Intervals, compare, intervals
from isr_pipeline.verdicts.quantities import parse_settings
from isr_pipeline.verdicts.statistics import sign_flip
from tests.verdicts.test_comparison import FLAPS, LATENCY, panel


def ends(
    new: np.ndarray,
    old: np.ndarray,
    metric: str = FLAPS,
    floor: float = 0.0,
    levels: tuple[float, float] = (0.05, 0.05),
) -> Intervals:
    """Intervals with the settings that nights use; every scenario weighs the same."""
    weights = np.ones(len(new))
    settings = parse_settings({"metrics": {metric: {"floor": floor}}}, "test")
    sides = panel(new, weights, metric), panel(old, weights, metric)
    return intervals(*sides, compare(*sides, settings), settings, levels)


def test_a_constant_factor_has_no_width() -> None:
    """Every scenario doubled: both ends are 2, of a rate and of a latency."""
    old = np.random.default_rng(1).gamma(1.0, 50.0, (80, 1)) + 1.0
    for metric in (FLAPS, LATENCY):
        found = ends(2.0 * old, old, metric)
        assert [found.low[0, 0, 0], found.high[0, 0, 0]] == pytest.approx([2.0, 2.0], rel=1e-4)


def test_the_end_is_where_the_test_turns() -> None:
    """Flipping the signs of `new - r old` has a p of about 5 % at either end, and not within."""
    random = np.random.default_rng(2)
    old = random.gamma(1.0, 4.0, (60, 1))
    new = old * random.lognormal(0.2, 0.4, (60, 1))
    found = ends(new, old)
    for end, side in ((found.high[0, 0, 0], "better"), (found.low[0, 0, 0], "worse")):
        tails = sign_flip(
            (new - end * old,), flips=9_999, flips_max=9_999, exact_up_to=5, level=0.05
        )
        assert float(getattr(tails, side)[0]) == pytest.approx(0.05, abs=0.01)


def test_a_rise_that_matters_is_ruled_out_where_the_end_is_below_it() -> None:
    """The p-value and the upper end say the same of every column."""
    random = np.random.default_rng(3)
    old = random.gamma(1.0, 4.0, (60, 40))
    new = old * random.lognormal(0.0, np.linspace(0.05, 0.6, 40), (60, 40))
    found = ends(new, old)
    below = found.high[0, 0] < 1.10
    assert 5 < below.sum() < 35
    assert np.array_equal(found.at_least_margin[0, 0] <= 0.05, below)


def test_a_floor_that_is_more_than_the_factor_decides() -> None:
    """A hundred times almost nothing is ruled out to matter, and the ratio's end says how large."""
    old = np.full((60, 1), 1e-4)
    found = ends(100.0 * old, old, floor=1.0)
    assert found.at_least_margin[0, 0, 0] <= 0.05
    assert found.high[0, 0, 0] == pytest.approx(100.0)


def test_from_nothing_there_is_no_ratio() -> None:
    """Where the baseline has none both ends are missing, and a rise is not ruled out."""
    new = np.zeros((60, 1))
    new[:30] = 5.0
    found = ends(new, np.zeros((60, 1)))
    assert np.isnan(found.low[0, 0, 0])
    assert np.isnan(found.high[0, 0, 0])
    assert found.at_least_margin[0, 0, 0] > 0.05


def test_lower_levels_are_wider() -> None:
    """The level after the correction moves its end outwards."""
    random = np.random.default_rng(4)
    old = random.gamma(1.0, 4.0, (60, 1))
    new = random.gamma(1.0, 4.0, (60, 1))
    plain, strict = ends(new, old), ends(new, old, levels=(0.001, 0.05))
    assert strict.low[0, 0, 0] < plain.low[0, 0, 0]
    assert strict.high[0, 0, 0] == plain.high[0, 0, 0]


def test_holds_the_truth_as_often_as_it_says() -> None:
    """Symmetric noise about a factor: each end errs in about one panel of twenty."""
    random = np.random.default_rng(5)
    old = random.gamma(1.0, 4.0, (100, 400)) + 0.5
    new = old * 1.3 + random.normal(0.0, 1.0, (100, 400))
    found = ends(np.maximum(new, 0.0), old)
    assert np.mean(found.high[0, 0] >= 1.3) == pytest.approx(0.95, abs=0.035)
    assert np.mean(found.low[0, 0] <= 1.3) == pytest.approx(0.95, abs=0.035)
