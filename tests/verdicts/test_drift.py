"""Change points over nights of the fresh panel."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isr_pipeline.verdicts.drift import NIGHTS_MIN, change_points, split


def trend(**series: np.ndarray) -> pd.DataFrame:
    """Nights of one metric per configuration."""
    return pd.DataFrame(
        [
            {
                "night": f"2026-11-{night + 1:02d}",
                "config_name": name,
                "metric": "offline_partition_rate",
                "value": value,
            }
            for name, values in series.items()
            for night, value in enumerate(values)
        ]
    )


def test_a_new_level_is_found_with_its_night() -> None:
    """Nights one to twelve around 1, from the thirteenth on around 2; the others only vary."""
    random = np.random.default_rng(1)
    moved = np.where(np.arange(24) < 12, 1.0, 2.0) * random.lognormal(0.0, 0.2, 24)
    still = {f"still{index}": random.lognormal(0.0, 0.2, 24) for index in range(10)}
    (found,) = change_points(trend(moved=moved, **still), 0.05)
    assert (found.config_name, found.since) == ("moved", "2026-11-13")
    assert found.after > 1.5 * found.before
    assert found.q < 0.02


def test_nights_that_only_vary_drift_as_rarely_as_promised() -> None:
    """Of 40 experiments of 10 series without drift about one in twenty shows any."""
    random = np.random.default_rng(2)
    alarms = [
        bool(
            change_points(
                trend(**{f"c{index}": random.lognormal(0.0, 1.0, 15) for index in range(10)}), 0.05
            )
        )
        for _ in range(40)
    ]
    assert sum(alarms) <= 6


def test_one_bad_night_is_no_drift() -> None:
    """A hundredfold night among twenty is an outlier: ranks do not care how far it lies out."""
    values = np.random.default_rng(3).lognormal(0.0, 0.2, 20)
    values[9] *= 100.0
    assert change_points(trend(one=values), 0.05) == []


def test_too_few_nights_and_constant_series_say_nothing() -> None:
    """Fewer nights than it takes, or the same value every night, and no division by zero."""
    few = np.arange(NIGHTS_MIN - 1, dtype=float)
    assert change_points(trend(few=few, same=np.ones(20)), 0.05) == []
    nothing = trend(few=few).iloc[:0]
    assert change_points(nothing, 0.05) == []


def test_the_split_lies_between_the_levels() -> None:
    """The position is the first value of the later part."""
    at, p = split(np.array([1.0, 1.1, 0.9, 1.05, 0.95, 3.0, 3.1, 2.9, 3.05, 2.95]))
    assert at == 5
    assert p < 0.02
