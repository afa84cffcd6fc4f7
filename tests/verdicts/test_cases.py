"""Cases that once slipped past, and what the function that judges nights calls each of them now.

The panel has the strata, sizes and weights of `operators`; the outcomes are made, with the sizes
that its reference has there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.scenarios.panels import places
from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.looks import Look, call, call_open
from isr_pipeline.verdicts.quantities import load_settings
from isr_pipeline.verdicts.record import MetricVerdict, Redraw, Status
from isr_pipeline.verdicts.sentences import reason_of_metric
from isr_pipeline.verdicts.stages import decided_by
from tests.approved import Approved

OFFLINE = "leaderless_rate"
LATENCY = "commit_latency_p99_ms"
UNDER_MIN = "led_under_min_isr_rate"
UNAVAILABLE = "produce_unavailable_rate"
LOST = "records_lost"
SETTINGS = load_settings()
PLACES = places(load_experiment("operators").profile.strata, 200)
STRATA = np.array([place.stratum for place in PLACES])
HEALTHY = ("quiet", "load", "cpu", "follower", "slow-append", "network", "operations")

Columns = dict[str, np.ndarray]


def rows_of(*strata: str) -> np.ndarray:
    """Indices of the scenarios of some strata."""
    return np.flatnonzero(np.isin(STRATA, strata))


def base(configurations: int = 1) -> Columns:
    """Outcomes of a night, every configuration its own."""
    random = np.random.default_rng(3)
    shape = (len(PLACES), configurations)
    columns = {name: np.zeros(shape) for name in SETTINGS.metrics}
    columns[LATENCY] = random.gamma(2.0, 1_500.0, shape)
    healthy = rows_of(*HEALTHY)
    columns[LATENCY][healthy] = random.uniform(1.5, 1.7, (len(healthy), configurations))
    down = rows_of("offline")[:31]
    columns[OFFLINE][down] = random.gamma(1.0, 0.02, (31, configurations)) + 0.001
    columns[UNAVAILABLE][down] = columns[OFFLINE][down]
    columns[UNAVAILABLE][rows_of("leader-read")[:3]] = 0.1
    columns[UNAVAILABLE][rows_of("network")[:4]] = 0.05
    return columns


def panel(columns: Columns) -> PanelOutcomes:
    """A panel of twelve partitions and 115 s, or several of them one after the other."""
    shape = columns[LATENCY].shape
    panels = shape[0] // len(PLACES)
    return PanelOutcomes(
        scenario_ids=tuple(f"regression-{index:05d}" for index in range(shape[0])),
        config_ids=tuple(f"c{index}" for index in range(shape[1])),
        weights=np.tile([place.weight for place in PLACES], panels),
        exposure_us=np.full(shape[0], 12 * 115e6),
        strata=tuple(STRATA) * panels,
        fault_kinds=("",) * shape[0],
        values={**columns, "any_leaderless": (columns[OFFLINE] > 0).astype(float)},
        missing=np.zeros(shape, dtype=bool),
        failed=np.zeros(shape, dtype=bool),
    )


def called(
    metric: str, change: Callable[[Columns], None], configurations: int = 1
) -> list[MetricVerdict]:
    """What is said of a metric of each configuration after a change."""
    verdicts = called_all(change, base(configurations))
    return [next(one for one in metrics if one.metric == metric) for metrics in verdicts]


def called_all(
    change: Callable[[Columns], None], before: Columns | None = None
) -> list[tuple[MetricVerdict, ...]]:
    """What is said of every metric of each configuration after a change."""
    columns = base() if before is None else before
    old = panel({name: values.copy() for name, values in columns.items()})
    change(columns)
    return call(panel(columns), old, SETTINGS)[0]


def times(metric: str, rows: np.ndarray, factor: float) -> Callable[[Columns], None]:
    """Multiply a metric in some scenarios."""

    def change(columns: Columns) -> None:
        columns[metric][rows] *= factor

    return change


def becomes(metric: str, rows: np.ndarray, value: float) -> Callable[[Columns], None]:
    """Set a metric in some scenarios, for each configuration a little otherwise."""

    def change(columns: Columns) -> None:
        columns[metric][rows] = value - 1e-4 * np.arange(columns[metric].shape[1])

    return change


class TestWhoIsHurt:
    """What most of the population feels, or one stratum, moves no population mean."""

    @pytest.mark.parametrize("factor", [10.0, 50.0])
    def test_latency_of_quiet_and_load(self, factor: float) -> None:
        """1.5 ms to 15 ms in the strata where nothing is wrong."""
        (one,) = called(LATENCY, times(LATENCY, rows_of("quiet", "load"), factor))
        assert one.status is Status.SUSPECT
        assert {s.stratum for s in one.strata if s.status is Status.SUSPECT} == {"quiet", "load"}

    def test_latency_of_four_fifths_of_the_population(self) -> None:
        """Every scenario below 5 ms thirty times slower is never ok."""
        rows = np.flatnonzero(base()[LATENCY][:, 0] < 5.0)
        weights = np.array([place.weight for place in PLACES])
        assert weights[rows].sum() / weights.sum() > 0.8
        (one,) = called(LATENCY, times(LATENCY, rows, 30.0))
        assert one.status is Status.SUSPECT

    def test_latency_of_one_stratum_twice(self) -> None:
        """The stratum alone is worse by enough; the population is not."""
        (one,) = called(LATENCY, times(LATENCY, rows_of("isr-churn"), 2.0))
        assert one.status is Status.SUSPECT
        assert one.ratio is not None
        assert one.ratio < 1.05
        hurt = next(s for s in one.strata if s.status is Status.SUSPECT)
        assert (hurt.stratum, hurt.risen, hurt.fallen) == ("isr-churn", hurt.scenarios, 0)
        assert "in isr-churn 2 ×" in reason_of_metric(one)

    def test_the_first_alarm_is_at_twice(self) -> None:
        """It was at about a hundred times; a twentieth more is too little to matter still."""
        rows = rows_of("quiet", "load")
        (twice,) = called(LATENCY, times(LATENCY, rows, 2.0))
        assert twice.status is Status.SUSPECT
        (little,) = called(LATENCY, times(LATENCY, rows, 1.05))
        assert little.status is Status.OK

    def test_phases_drawn_anew_are_no_alarm(self) -> None:
        """Noise of no direction moves the mean by more than what matters, and is not called."""
        rows = np.flatnonzero(~np.isin(STRATA, HEALTHY))
        moved = []
        for seed in range(12):

            def change(columns: Columns, seed: int = seed) -> None:
                noise = np.random.default_rng(seed).lognormal(0.0, 1.0, (len(rows), 1))
                columns[LATENCY][rows] *= noise

            (one,) = called(LATENCY, change)
            assert one.status not in (Status.SUSPECT, Status.IMPROVED)
            assert one.value is not None
            assert one.baseline_value is not None
            moved.append(one.value / one.baseline_value)
        assert max(moved) > SETTINGS.ratio_min

    def test_the_other_strata_are_not_blamed(self) -> None:
        """Where nothing differs nothing is said."""
        (one,) = called(LATENCY, times(LATENCY, rows_of("isr-churn"), 2.0))
        rest = {s.status for s in one.strata if s.stratum != "isr-churn"}
        assert rest == {Status.UNCHANGED}


class TestFewAndTerrible:
    """Few scenarios, however terrible, were green."""

    def test_a_million_records_lost_in_one_scenario(self, approved: Approved) -> None:
        """One follower scenario is offline throughout and loses a million records."""
        row = rows_of("follower")[:1]

        def change(columns: Columns) -> None:
            columns[OFFLINE][row] = 1.0
            columns[LOST][row] = 1_000_000

        (lost,) = called(LOST, change)
        assert lost.status is Status.SUSPECT
        assert lost.newly == (f"regression-{row[0]:05d}",)
        (offline,) = called(OFFLINE, change)
        assert offline.status is Status.SUSPECT
        again = Redraw(
            scenario_id=lost.newly[0], draws=20, tonight=17, before=0, p=1e-8, level=0.005
        )
        red = decided_by(lost, (again,))
        assert red.status is Status.REGRESSED
        approved(reason_of_metric(red))

    def test_under_min_isr_in_eleven_scenarios(self) -> None:
        """From none to nine tenths of the time in eleven follower scenarios."""
        (one,) = called(UNDER_MIN, becomes(UNDER_MIN, rows_of("follower")[:11], 0.9))
        assert one.status is Status.SUSPECT

    def test_five_scenarios_of_all_configurations(self) -> None:
        """A bug of the kernel: the same few scenarios, in forty-one configurations."""
        found = called(UNDER_MIN, becomes(UNDER_MIN, rows_of("follower")[:5], 0.9), 41)
        assert {one.status for one in found} == {Status.SUSPECT}

    @pytest.mark.parametrize("new", [1, 2])
    def test_new_outages_among_shorter_ones(self, new: int) -> None:
        """Thirty-one outages a third shorter and one or two whole ones where there were none."""
        rows = rows_of("follower")[:new]

        def change(columns: Columns) -> None:
            columns[OFFLINE] *= 0.7
            columns[OFFLINE][rows] = 0.9

        (one,) = called(OFFLINE, change)
        assert one.status is Status.SUSPECT
        assert set(one.alone) == {f"regression-{row:05d}" for row in rows}

    def test_a_few_become_whole_outages(self, approved: Approved) -> None:
        """Twenty-six a fifth shorter, four the whole horizon: traded, shown and suspect."""
        rows = rows_of("offline")

        def change(columns: Columns) -> None:
            columns[OFFLINE][rows[:26]] *= 0.8
            columns[OFFLINE][rows[26:30]] = 1.0

        (one,) = called(OFFLINE, change)
        assert one.status is Status.SUSPECT
        assert one.traded
        assert (one.risen, one.fallen) == (4, 26)
        approved(reason_of_metric(one))

    @pytest.mark.parametrize("stratum", ["leader-read", "network"])
    def test_unavailability_five_times_in_one_stratum(self, stratum: str) -> None:
        """Three or four scenarios carry it, and it moves the population by much."""
        (one,) = called(UNAVAILABLE, times(UNAVAILABLE, rows_of(stratum), 5.0))
        assert one.ratio is not None
        assert one.ratio > 1.5
        assert one.status is Status.SUSPECT
        assert one.ratio_high is None or one.ratio_high > SETTINGS.ratio_min


class TestAfterAQuietLook:
    """A look in which nothing differs does not undo what the standing panel shows."""

    def after(
        self, metric: str, change: Callable[[Columns], None], panels: int = 1, lost: float = 0.0
    ) -> MetricVerdict:
        """What is said of a metric after a last look at so many quiet panels."""
        quiet = base()
        quiet[LOST][rows_of("follower")[:1]] = lost
        (before,) = called_all(change, {name: values.copy() for name, values in quiet.items()})
        further = panel({name: np.tile(values, (panels, 1)) for name, values in quiet.items()})
        scenarios = panels * len(PLACES)
        last = Look(("confirm",), scenarios, 1.0, is_last=True)
        (after,) = call_open([before], further, further, SETTINGS, look=last)
        return next(one for one in after if one.metric == metric)

    @pytest.mark.parametrize("before", [0.0, 1.0])
    def test_a_million_records_lost(self, before: float) -> None:
        """In one scenario that lost none, or one record; it is never ok."""
        row = rows_of("follower")[:1]
        lost = self.after(LOST, becomes(LOST, row, 1e6), lost=before)
        assert lost.newly == (f"regression-{row[0]:05d}",)
        assert lost.status is Status.SUSPECT

    def test_one_outage_of_the_whole_horizon(self, approved: Approved) -> None:
        """It is undecided, keeps its numbers, and its scenario is still shown."""
        row = rows_of("offline")[:1]
        one = self.after(OFFLINE, becomes(OFFLINE, row, 0.95))
        assert one.status is Status.UNDECIDED
        assert one.ratio is not None
        assert one.ratio > 1.1
        assert one.alone == (f"regression-{row[0]:05d}",)
        approved(reason_of_metric(one))

    def test_the_same_after_many_more_scenarios(self) -> None:
        """None of eight thousand further ones is like it: so rare a rise does not matter."""
        row = rows_of("offline")[:1]
        one = self.after(OFFLINE, becomes(OFFLINE, row, 0.95), 40)
        assert one.status is Status.OK
        assert (one.ratio, one.scenarios) == (1.0, 8_000)
        assert one.ratio_high is not None
        assert 1.0 < one.ratio_high < SETTINGS.ratio_min
        assert one.alone == (f"regression-{row[0]:05d}",)

    def test_latency_of_one_scenario(self) -> None:
        """A hundred times the latency in one of 200: of 8 000 others none is like it."""
        change = times(LATENCY, rows_of("quiet")[:1], 100.0)
        assert self.after(LATENCY, change).status is Status.UNDECIDED
        assert self.after(LATENCY, change, 40).status is Status.OK

    def test_what_only_got_better_is_ok(self) -> None:
        """No rise was seen, so none is missed."""
        one = self.after(OFFLINE, times(OFFLINE, rows_of("offline")[:2], 0.5))
        assert one.status is Status.OK
        assert one.ratio_high == 1.0
