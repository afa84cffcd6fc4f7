"""Which strata further scenarios come from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.quantities import load_settings
from isr_pipeline.verdicts.stages import AS_THE_PANEL, QUANTILE, allocate, variances
from isr_pipeline.worlds.columns import METRICS

FLAPS = "isr_flaps_per_partition_hour"
P99 = "commit_latency_p99_ms"
LOST = "records_lost"
STRATA = ("common", "rare")
SETTINGS = load_settings()


def panel(**columns: list[float]) -> PanelOutcomes:
    """Four scenarios of a stratum of 90 % of the population and four of one of 10 %."""
    values = {name: np.zeros((8, 1)) for name in METRICS}
    for name, column in columns.items():
        values[name] = np.array(column, dtype=float)[:, None]
    return PanelOutcomes(
        scenario_ids=tuple(f"{index}" for index in range(8)),
        config_ids=("one",),
        weights=np.array([1.8] * 4 + [0.2] * 4),
        exposure_us=np.full(8, 3.6e9),
        strata=("common",) * 4 + ("rare",) * 4,
        fault_kinds=("",) * 8,
        values=values,
        missing=np.zeros((8, 1), dtype=bool),
        failed=np.zeros((8, 1), dtype=bool),
    )


class TestNeeds:
    """What a stratum leaves uncertain."""

    def test_by_hand(self) -> None:
        """Flaps that differ by 2 in one of four scenarios of a tenth of the population."""
        old = panel(**{FLAPS: [1.0] * 4 + [1.0] * 4})
        new = panel(**{FLAPS: [1.0] * 4 + [1.0, 1.0, 1.0, 3.0]})
        ((common, rare),) = variances(new, old, SETTINGS, [(FLAPS, "one")], STRATA)
        ratio = 0.9 + 0.1 * 1.5
        margin = 0.1 * 1.0
        one_more = 4**2 * (0.1 / 4 * (3 - ratio)) ** 2
        away = 4 * (1 - ratio) ** 2
        assert common == pytest.approx((0.9**2 * away + one_more) / 5 / margin**2)
        away = 3 * (1 - ratio) ** 2 + (3 - ratio) ** 2
        assert rare == pytest.approx((0.1**2 * away + one_more) / 5 / margin**2)

    def test_a_stratum_that_shows_nothing_is_asked_as_well(self) -> None:
        """Four scenarios that do not differ leave open whether the next one does."""
        new = panel(**{FLAPS: [0.0] * 7 + [2.0]})
        ((common, rare),) = variances(new, panel(), SETTINGS, [(FLAPS, "one")], STRATA)
        assert 0 < common < rare

    def test_every_scenario_alike_leaves_nothing(self) -> None:
        """Where all scenarios have the same ratio, more of them say nothing more."""
        old = panel(**{P99: [10.0, 20.0, 30.0, 40.0] * 2})
        new = panel(**{P99: [21.0, 41.0, 61.0, 81.0] * 2})
        (needs,) = variances(new, old, SETTINGS, [(P99, "one")], STRATA)
        assert needs == pytest.approx([0.0, 0.0], abs=1e-20)

    def test_what_must_never_happen_asks_for_nothing(self) -> None:
        """From none there is no margin: such scenarios are drawn again in other phases instead."""
        new = panel(**{LOST: [0.0] * 7 + [5.0]})
        (needs,) = variances(new, panel(), SETTINGS, [(LOST, "one")], STRATA)
        assert list(needs) == [0.0, 0.0]


class TestAllocate:
    """Sharing scenarios out."""

    @given(
        st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), max_size=5),
        st.tuples(st.integers(1, 50), st.integers(1, 50)),
        st.integers(0, 300),
    )
    def test_all_are_shared_out(
        self, needs: list[tuple[float, float]], counts: tuple[int, int], more: int
    ) -> None:
        """Every scenario goes somewhere, and no stratum loses any."""
        found = allocate(np.array(needs).reshape(-1, 2), counts, more, (1.0, 3.0))
        assert sum(found) == more
        assert min(found) >= 0

    def test_one_question_is_neymans_allocation(self) -> None:
        """Beyond what goes as the panel, strata are taken in the ratio of their deviations."""
        found = allocate(np.array([[1.0, 9.0]]), (1, 1), 4_000, (1.0, 1.0))
        assert found[1] / found[0] == pytest.approx(3.0, rel=0.01)

    def test_alike_questions_share(self) -> None:
        """Two questions that are alike but for their strata get as many scenarios each."""
        needs = np.array([[4.0, 0.0], [0.0, 4.0]])
        found = allocate(needs, (10, 10), 1_000, (1.0, 1.0))
        assert found[0] == found[1]

    def test_many_questions_outweigh_one(self) -> None:
        """A stratum that ten questions wait for gets more than one that a single one waits for."""
        needs = np.array([[100.0, 0.0]] * 10 + [[0.0, 100.0]])
        found = allocate(needs, (10, 10), 200, (1.0, 1.0))
        assert found[0] > 2 * found[1]

    def test_fewer_questions_stay_undecided_than_by_any_other_split(self) -> None:
        """The expected number of undecided questions is least where the scenarios went."""
        needs = np.array([[9.0, 0.0], [2.0, 12.0], [0.0, 25.0]])

        def undecided(first: float) -> float:
            variance = (needs / (10.0 + np.array([first, 400.0 - first]))).sum(axis=1)
            return float(stats.norm.sf(1.0 / np.sqrt(variance) - QUANTILE).sum())

        found = allocate(needs, (10, 10), 400, (1.0, 1.0))
        least = min(range(40, 361), key=undecided)
        assert found[0] == pytest.approx(least, abs=3)

    def test_a_part_goes_as_the_panel(self) -> None:
        """A stratum in which nothing differed is not forgotten."""
        found = allocate(np.array([[1.0, 0.0]]), (10, 10), 400, (1.0, 3.0))
        assert found == [400 - 300 * AS_THE_PANEL, 300 * AS_THE_PANEL]

    def test_nothing_varies(self) -> None:
        """Where no stratum varies all is shared out as the panels are."""
        assert allocate(np.zeros((1, 2)), (10, 10), 400, (1.0, 3.0)) == [100, 300]
