"""Two sets of outcomes of the same scenarios: what enters the tests, and how two tests are one."""

from __future__ import annotations

import numpy as np
import pytest

from isr_pipeline.verdicts.comparison import Comparison, PanelOutcomes, compare
from isr_pipeline.verdicts.quantities import parse_settings

FLAPS = "isr_flaps_per_partition_hour"
LATENCY = "commit_latency_p99_ms"
OFFLINE = "leaderless_rate"


def panel(values: np.ndarray, weights: np.ndarray, metric: str = FLAPS) -> PanelOutcomes:
    """One metric of some configurations; an hour of one partition, so that rates are counts."""
    n, c = values.shape
    return PanelOutcomes(
        scenario_ids=tuple(f"s{index}" for index in range(n)),
        config_ids=tuple(f"c{index}" for index in range(c)),
        weights=weights,
        exposure_us=np.full(n, 3.6e9),
        strata=("all",) * n,
        fault_kinds=("",) * n,
        values={metric: values, "any_leaderless": (values > 0).astype(float)},
        missing=np.zeros((n, c), dtype=bool),
        failed=np.zeros((n, c), dtype=bool),
    )


def compared(
    new: np.ndarray, old: np.ndarray, weights: np.ndarray, metric: str = FLAPS
) -> Comparison:
    """Compare with the settings that the nights use."""
    settings = parse_settings({"metrics": {metric: {"floor": 0}}}, "test")
    return compare(panel(new, weights, metric), panel(old, weights, metric), settings)


@pytest.fixture
def strata() -> np.ndarray:
    """Thirty scenarios that stand for many, and ninety that stand for few."""
    return np.concatenate([np.full(30, 3.9), np.full(90, 1 / 30)])


def test_a_change_in_rare_strata_is_seen_among_noise_in_common_ones(strata: np.ndarray) -> None:
    """Forty rare scenarios got worse, thirty common ones differ either way: that is no chance."""
    random = np.random.default_rng(1)
    old = random.poisson(5.0, (120, 1)).astype(float)
    new = old.copy()
    new[:30, 0] = random.poisson(5.0, 30)
    new[40:80] += 4.0
    assert compared(new, old, strata).worse[0, 0] < 1e-3


def test_one_scenario_that_went_far_the_other_way_does_not_hide_the_rest() -> None:
    """Twenty got a little worse and one much better: the sum says nothing, the ranks do."""
    old = np.full((120, 1), 8.0)
    new = old.copy()
    new[:20] = 10.0
    old[20] = 600.0
    new[20] = 1.0
    assert compared(new, old, np.ones(120)).worse[0, 0] < 1e-3


def test_a_change_in_common_strata_is_seen_among_noise_in_rare_ones(strata: np.ndarray) -> None:
    """Twenty-five common scenarios got worse, ninety rare ones differ either way."""
    random = np.random.default_rng(2)
    old = random.poisson(5.0, (120, 1)).astype(float)
    new = old.copy()
    new[30:, 0] = random.poisson(5.0, 90)
    new[:25] += 2.0
    assert compared(new, old, strata).worse[0, 0] < 1e-3


@pytest.mark.parametrize("metric", [FLAPS, OFFLINE])
def test_two_tests_are_one_valid_test(strata: np.ndarray, metric: str) -> None:
    """Under no change P(p <= a) <= a for the smaller of the two, doubled."""
    random = np.random.default_rng(3)
    base = random.gamma(0.5, 4.0, (120, 1))
    new, old = (random.poisson(base, (120, 400)).astype(float) for _ in range(2))
    found = compared(new, old, strata, metric)
    for p in (found.worse[0], found.better[0]):
        for level in (0.01, 0.05, 0.2):
            assert float((p <= level).mean()) <= level + 3 * np.sqrt(level / 400)


def test_columns_do_not_disturb_each_other(strata: np.ndarray) -> None:
    """A configuration's exact p-value is the same alone and among others."""
    random = np.random.default_rng(4)
    old = np.ones((120, 3))
    new = old.copy()
    for column in range(3):
        new[random.choice(120, 9, replace=False), column] += 1.0
    together = compared(new, old, strata)
    alone = compared(new[:, 1:2], old[:, 1:2], strata)
    assert together.worse[0, 1] == alone.worse[0, 0] == 2.0**-9


def test_other_scenarios_are_refused(strata: np.ndarray) -> None:
    """Outcomes of other scenarios are never paired, in whatever order they come."""
    one = panel(np.ones((120, 1)), strata)
    other = panel(np.ones((119, 1)), strata[:119])
    settings = parse_settings({"metrics": {FLAPS: {"floor": 0}}}, "test")
    with pytest.raises(ValueError, match="same scenarios"):
        compare(one, other, settings)
