"""What a panel exercised of the keys that have a bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.exercised import BOUNDS, farther, not_exercised, reached
from isr_pipeline.verdicts.record import AgainstReference, Difference, Per, Word
from isr_pipeline.worlds.columns import METRICS, REACHED
from tests.approved import Approved

FETCH, ISR, LAG = "replica.fetch.max.bytes", "min.insync.replicas", "replica.lag.time.max.ms"
MIB = 1 << 20


def panel(**columns: list[float]) -> PanelOutcomes:
    """Two scenarios under two configurations: values of the first scenario, then of the second."""
    values = {name: np.zeros((2, 2)) for name in (*METRICS, *REACHED)}
    values |= {name: np.array(column).reshape(2, 2) for name, column in columns.items()}
    nothing = np.zeros((2, 2), dtype=bool)
    return PanelOutcomes(
        ("0", "1"), ("a", "b"), np.ones(2), np.full(2, 3.6e9), ("s", "s"), ("", ""),
        {name: values[name] for name in METRICS}, nothing, nothing,
        reached={name: values[name] for name in REACHED},
    )  # fmt: skip


def far(key: str, values: tuple[Any, Any], **columns: Any) -> list[str]:
    """What is said of a key that the two configurations differ in."""
    return said(key, values, keys=(key,), **columns)


def said(
    key: str,
    values: tuple[Any, Any],
    *,
    keys: tuple[str, ...],
    differing: int = 0,
    **columns: list[float],
) -> list[str]:
    """The same where other keys differ too, or scenarios do."""
    found = reached(panel(**columns), ({key: values[0]}, {key: values[1]}))
    none: dict[str, Any] = {"before": 0.0, "after": 0.0, "ratio": None, "low": None, "high": None}
    flaps = Difference.model_validate(
        {
            "metric": "isr_flaps_per_partition_hour", "word": Word.NONE, "scenarios": 2,
            "differing": differing, "pair": {"per": Per.MIX, "scenarios": 2, **none}, **none,
        }
    )  # fmt: skip
    one = AgainstReference(
        name="b", config_id="b", weaker=(), keys=keys, reached=found, differences=(flaps,)
    )
    return list(not_exercised(one))


class TestTable:
    """Keys with a bound, and what is measured of them."""

    def test_of_kafkas_keys(self) -> None:
        """Each key is one of Kafka's, and each measure a column."""
        assert set(BOUNDS) <= set(KEYS)
        assert {one.measure for one in BOUNDS.values()} <= {*REACHED, *METRICS}

    def test_nothing_is_measured_for_nothing(self) -> None:
        """Every column that says how far a run came is asked for."""
        assert {*REACHED} <= {one.measure for one in BOUNDS.values()}


class TestNotExercised:
    """A run that stays below all asked values says nothing about them."""

    def test_words(self, approved: Approved) -> None:
        """A measure and the nearest value, in a unit that a reader knows."""
        below = 0.02 * MIB
        approved(
            "\n".join(
                [
                    *far(FETCH, (MIB, 10 * MIB), largest_read_bytes=[below, 9.0, 8.0, below]),
                    *far(ISR, (1, 2), least_isr=[3, 3, 2, 3]),
                    *far(LAG, (30_000, 60_000), commit_latency_max_ms=[12.0, 9.0, 420.0, 8.0]),
                ]
            )
        )

    @pytest.mark.parametrize("measure", [MIB, 10 * MIB])
    def test_one_run_that_comes_to_it(self, measure: int) -> None:
        """Then the key was exercised, by either configuration."""
        assert not far(FETCH, (10 * MIB, MIB), largest_read_bytes=[0, 0, 0, measure])

    def test_a_floor(self) -> None:
        """min.insync.replicas is reached by an ISR that is smaller than the larger value."""
        assert not far(ISR, (1, 2), least_isr=[3, 3, 1, 3])

    def test_what_happens_at_the_bound(self) -> None:
        """A leader that removed a follower has exercised the lag limit, whatever commits took."""
        shrank = {"isr_shrinks_per_partition_hour": [0.0, 0.0, 0.0, 1.0]}
        assert not far(LAG, (30_000, 60_000), commit_latency_max_ms=[1.0] * 4, **shrank)

    def test_equal_values(self) -> None:
        """A key that is the same on both sides is no part of the question."""
        assert not far(FETCH, (MIB, MIB), largest_read_bytes=[1.0] * 4)

    def test_a_run_that_does_not_say(self) -> None:
        """Kernels of older releases measured none of it: nothing is claimed."""
        assert not far(FETCH, (MIB, 2 * MIB), largest_read_bytes=[1.0, float("nan"), 1.0, 1.0])

    def test_the_only_key_and_scenarios_differ(self) -> None:
        """It acts below its bound; beside another key that one may."""
        below = {"largest_read_bytes": [1.0] * 4}
        values = (MIB, 2 * MIB)
        assert not said(FETCH, values, keys=(FETCH,), differing=1, **below)
        assert said(FETCH, values, keys=(FETCH, "num.replica.fetchers"), differing=1, **below)

    def test_a_further_panel_that_comes_to_it(self) -> None:
        """What is said holds for every scenario of the night."""
        sides = ({FETCH: MIB}, {FETCH: 2 * MIB})
        first = reached(panel(largest_read_bytes=[1.0] * 4), sides)
        (found,) = farther(first, panel(largest_read_bytes=[1.0, 1.0, 3.0 * MIB, 1.0]))
        assert found.measure == 3 * MIB
