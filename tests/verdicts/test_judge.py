"""Every status, by a night whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from isr_pipeline.base.errors import InputError, Refused, TableMissing
from isr_pipeline.base.home import Home
from isr_pipeline.tables import store
from isr_pipeline.verdicts import acceptance, baseline
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import NightVerdict, Status, load_verdict, worst
from isr_pipeline.verdicts.sentences import headline, reason, reason_of_metric
from tests.approved import Approved
from tests.verdicts.synthetic import EXPOSURE_S, LATER, NIGHT, Change, World, decided, scaled

OFFLINE = "leaderless_rate"
FLAPS = "isr_flaps_per_partition_hour"
LATENCY = "commit_latency_p99_ms"


def accepted(world: World) -> World:
    """Judge and accept a first night."""
    judge_night(world.write(NIGHT))
    acceptance.accept(world.experiment, NIGHT, "Ada", "first", version=world.code_version)
    return world


def judged(world: World, change: Change | None = None) -> NightVerdict:
    """Judge a later night, confirm panel included."""
    plan = world.write(LATER, change)
    judge_night(plan)
    return decided(plan)


def since(world: World, change: Callable[[bool], Change]) -> NightVerdict:
    """Accept a night of the columns that ``change(False)`` makes; judge one of ``change(True)``.

    The confirm panel is not looked at.
    """
    judge_night(world.write(NIGHT, change(False)))
    acceptance.accept(world.experiment, NIGHT, None, "first", version=world.code_version)
    return judge_night(world.write(LATER, change(True)))


def status_of(verdict: NightVerdict, name: str) -> Status:
    """Status of a configuration by name."""
    return verdict.configuration(f"id-{name}").status


@pytest.mark.usefixtures("home")
class TestStatuses:
    """baseline, unchanged, ok, improved, suspect, regressed, undecided, no-data."""

    def test_never_accepted_is_baseline_and_green(self, approved: Approved) -> None:
        """The first night says how to accept it and does not turn the gate red."""
        verdict = judge_night(World().write(NIGHT))
        assert verdict.status is Status.BASELINE
        assert not verdict.red
        approved(headline(verdict))

    def test_identical_outcomes_are_unchanged(self) -> None:
        """Bit-identical outcomes run no test: no p, no q."""
        verdict = judged(accepted(World()))
        assert headline(verdict) == "3 of 3 configurations unchanged"
        metric = verdict.configurations[0].metrics[0]
        assert (metric.status, metric.p, metric.q) == (Status.UNCHANGED, None, None)
        assert reason_of_metric(metric) == "bit-identical outcomes"

    def test_worse_on_both_panels_is_regressed(self, approved: Approved) -> None:
        """What the confirm panel repeats is a regression, and red."""
        verdict = judged(accepted(World()), scaled(FLAPS, 2.0, "lag-20s"))
        approved(headline(verdict))
        assert verdict.red
        assert verdict.counts() == {Status.REGRESSED: 1, Status.UNCHANGED: 2}
        metric = verdict.configuration("id-lag-20s").metric(FLAPS)
        assert metric.ratio == pytest.approx(2.0)
        assert metric.p_confirm is not None
        assert metric.p_confirm < 0.01

    def test_worse_on_one_panel_is_suspect(self, approved: Approved) -> None:
        """What the confirm panel does not repeat stays a suspicion, and green."""
        world = accepted(World())
        verdict = judged(world, scaled(FLAPS, 2.0, "lag-20s", panels=("regression",)))
        approved(headline(verdict))
        assert not verdict.red
        assert verdict.counts() == {Status.SUSPECT: 1, Status.UNCHANGED: 2}

    def test_what_matters_on_further_scenarios_is_regressed(self) -> None:
        """A ratio of 1.07 is looked at again; 1.3 on the other panel is what counts."""

        def rising(
            panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
        ) -> None:
            if name == "lag-20s":
                columns[LATENCY] *= 1.07 if panel == "regression" else 1.3

        metric = judged(accepted(World()), rising).configuration("id-lag-20s").metric(LATENCY)
        assert metric.status is Status.REGRESSED
        assert metric.ratio == pytest.approx(1.3, abs=0.02)
        assert reason_of_metric(metric).endswith("; confirmed on 120 further scenarios")

    def test_what_is_small_on_both_panels_is_dropped(self, approved: Approved) -> None:
        """A ratio of 1.07 on both panels is real, too small to matter, and no suspicion."""
        verdict = judged(accepted(World()), scaled(LATENCY, 1.07, "lag-20s"))
        metric = verdict.configuration("id-lag-20s").metric(LATENCY)
        assert metric.status is Status.OK
        assert metric.p_confirm is not None
        approved(reason_of_metric(metric))
        assert verdict.configuration("id-lag-20s").status is Status.OK
        assert not verdict.red

    def test_flagged_awaits_the_confirm_panel(self, approved: Approved) -> None:
        """Before the second look a flagged configuration is suspect and listed."""
        plan = accepted(World()).write(LATER, scaled(FLAPS, 2.0, "lag-20s"))
        verdict = judge_night(plan)
        assert verdict.awaits_confirm == ("id-lag-20s",)
        approved(headline(verdict))

    def test_better_is_improved(self, approved: Approved) -> None:
        """An improvement is called as a regression is, without a second look."""
        verdict = judged(accepted(World()), scaled(LATENCY, 0.7, "today"))
        assert status_of(verdict, "today") is Status.IMPROVED
        approved(headline(verdict))

    def test_real_and_small_is_ok(self, approved: Approved) -> None:
        """Two per cent more everywhere is certain, and ten per cent more is ruled out."""
        verdict = judged(accepted(World()), scaled(LATENCY, 1.02, "today"))
        one = verdict.configuration("id-today")
        assert one.status is Status.OK
        approved(reason(one))

    def test_noise_that_rules_nothing_out_is_undecided(self, approved: Approved) -> None:
        """Latencies go up and down by so much that ten per cent more could hide in it."""
        one = judged(accepted(World()), up_and_down(4.0)).configuration("id-today")
        assert one.status is Status.UNDECIDED
        approved(reason(one))

    def test_noise_that_rules_a_rise_out_is_ok(self, approved: Approved) -> None:
        """Small noise differs everywhere as well, and ten per cent more cannot hide in it."""
        one = judged(accepted(World()), up_and_down(1.02)).configuration("id-today")
        assert one.status is Status.OK
        approved(reason(one))

    def test_few_scenarios_among_many_changes_are_undecided(self, approved: Approved) -> None:
        """Two scenarios ten times as bad cannot be significant, and are not called ok."""

        def two(
            panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
        ) -> None:
            if name == "today":
                columns["led_under_min_isr_rate"][:2] *= 10

        plan = accepted(World()).write(LATER, two)
        one = judge_night(plan).configuration("id-today")
        assert one.status is Status.UNDECIDED
        approved(reason(one))

    def test_three_scenarios_are_enough_if_nothing_else_changed(self) -> None:
        """Tests that cannot be rejected do not count: one changed metric is one test."""

        def three(
            panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
        ) -> None:
            if name == "today":
                columns["led_under_min_isr_rate"][:3] *= 10

        verdict = judge_night(accepted(World()).write(LATER, three))
        assert (verdict.tests, verdict.discordant_needed) == (1, 3)
        assert verdict.configuration("id-today").status is Status.SUSPECT

    def test_copies_count_once(self) -> None:
        """Two configurations with the same outcomes on both sides are one test."""

        def both(tonight: bool) -> Change:
            def change(
                panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
            ) -> None:
                for values in columns.values():
                    values[:] = 0
                columns[FLAPS][:] = np.arange(len(columns[FLAPS]))
                if panel == "regression" and name != "kip-501-s1" and tonight:
                    columns[FLAPS][:9] += 5

            return change

        verdict = since(World(), both)
        assert verdict.tests == 1
        found = [one.metric(FLAPS) for one in verdict.configurations]
        assert found[0].q == found[2].q == found[0].p == 2.0**-9
        assert found[1].status is Status.UNCHANGED

    def test_a_tail_that_eighty_per_cent_feel_is_never_ok(self, approved: Approved) -> None:
        """Thirty times the latency where it was small moves no mean, and everybody feels it."""

        def healthy(tonight: bool) -> Change:
            def change(
                panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
            ) -> None:
                columns[LATENCY][:] = 1.5
                columns[LATENCY][::5] = 8_000.0
                if name == "today" and tonight:
                    columns[LATENCY][columns[LATENCY] < 5.0] *= 30.0

            return change

        world = World()
        since(world, healthy)
        one = decided(world.plan(LATER)).configuration("id-today")
        assert one.status is Status.REGRESSED
        approved(reason(one))

    def test_records_lost_in_one_scenario_are_suspect(self, approved: Approved) -> None:
        """What must never happen is looked at again however few scenarios have it."""

        def lost(
            panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
        ) -> None:
            if name == "today" and panel == "regression":
                columns["records_lost"][7] = 1_000_000

        verdict = judged(accepted(World()), lost)
        metric = verdict.configuration("id-today").metric("records_lost")
        assert metric.status is Status.SUSPECT
        approved([reason_of_metric(metric), headline(verdict)])

    def test_one_catastrophe_among_gains_is_not_ok(self) -> None:
        """Thirty scenarios a little better and one that newly is under min ISR throughout."""

        def mixed(
            panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
        ) -> None:
            if name == "today":
                columns["led_under_min_isr_rate"][:30] *= 0.7
                columns["led_under_min_isr_rate"][40] = 0.9

        one = judged(accepted(World()), mixed).configuration("id-today")
        assert one.metric("led_under_min_isr_rate").status is not Status.OK

    def test_change_in_an_untested_column_is_not_unchanged(self, approved: Approved) -> None:
        """Tested metrics alike and another column changed: ok, and it is named."""
        verdict = judged(accepted(World()), scaled("detection_delay_ms", 1.5, "today"))
        one = verdict.configuration("id-today")
        assert one.status is Status.OK
        approved(reason(one))

    def test_from_zero_is_judged_by_the_floor(self) -> None:
        """Losing records where none were lost has no ratio and is a regression."""

        def losing(
            panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
        ) -> None:
            if name == "today":
                columns["records_lost"][:40] = 5.0

        metric = judged(accepted(World()), losing).configuration("id-today").metric("records_lost")
        assert metric.status is Status.REGRESSED
        assert metric.ratio is None
        assert reason_of_metric(metric).startswith("from none")

    def test_spent_budget_is_no_data(self, approved: Approved) -> None:
        """A failed pair makes its configuration no-data, and red."""

        def failing(
            panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
        ) -> None:
            if name == "today":
                columns["failed"][3] = 1

        verdict = judged(accepted(World()), failing)
        assert status_of(verdict, "today") is Status.NO_DATA
        assert verdict.red
        approved(reason(verdict.configuration("id-today")))

    def test_missing_pair_is_no_data(self) -> None:
        """A pair that is not in the table is never taken for a zero."""
        world = accepted(World())
        plan = world.write(LATER)
        rows = store.read_table("outcomes", world.experiment, LATER)
        store.write_table("outcomes", world.experiment, LATER, rows.iloc[:-1])
        verdict = judge_night(plan)
        assert verdict.counts()[Status.NO_DATA] == 1

    def test_worst_metric_decides(self) -> None:
        """no-data, regressed, suspect, undecided, improved, ok, unchanged: in this order."""
        order = ["no-data", "regressed", "suspect", "undecided", "improved", "ok", "unchanged"]
        for index, name in enumerate(order):
            assert worst([Status(one) for one in reversed(order[index:])]) == name


@pytest.mark.usefixtures("home")
class TestBaseline:
    """What a night is compared with, and what may become of that."""

    def test_show_says_who_when_and_why(self) -> None:
        """The record names the person and the reason."""
        accepted(World())
        record = baseline.show("synthetic")
        assert record is not None
        assert (record.night, record.accepted_by, record.why) == (NIGHT, "Ada", "first")

    def test_never_accepted_shows_nothing(self) -> None:
        """No baseline is None, not an error."""
        assert baseline.show("synthetic") is None

    def test_other_panel_is_no_data(self, approved: Approved) -> None:
        """A baseline of another panel is never compared with."""
        accepted(World())
        verdict = judged(World(panel_digest="e" * 64))
        assert verdict.status is Status.NO_DATA
        assert verdict.red
        approved(reason(verdict.configurations[0]))

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("baseline.json", None),
            ("baseline.json", b"{"),
            ("outcomes.parquet", None),
            ("scenarios.parquet", b"PAR1"),
        ],
    )
    def test_damage_is_no_data(self, name: str, content: bytes | None, approved: Approved) -> None:
        """A half-deleted or changed baseline is said, and never taken for an absent one."""
        world = accepted(World())
        file = Home.from_environment().baseline_dir("synthetic") / name
        file.unlink()
        if content is not None:
            file.write_bytes(content)
        verdict = judged(world)
        assert verdict.status is Status.NO_DATA
        approved(headline(verdict))

    def test_examination_after_an_acceptance(self, approved: Approved) -> None:
        """A baseline is a folder; the ledger beside it is none, and is none when it is alone."""
        accepted(World())
        assert baseline.examined() == f"synthetic of {NIGHT}"
        baseline.forget("synthetic")
        approved(baseline.examined())

    def test_named_candidate_is_matched_by_name(self) -> None:
        """New values of a named candidate are compared with its old ones."""
        world = accepted(World())
        world.values["today"] = {"replica.lag.time.max.ms": 2}
        assert status_of(judged(world), "today") is Status.UNCHANGED

    def test_grid_point_is_matched_by_its_values(self) -> None:
        """A grid point with other values is new, whatever it is called."""
        world = accepted(World(grid=("lag-20s",)))
        world.values["lag-20s"] = {"replica.lag.time.max.ms": 77}
        record = baseline.show("synthetic")
        assert record is not None
        found = record.partner(
            name="x", config_id="other", is_grid=True, overrides=world.overrides("lag-20s")
        )
        assert found is None
        same = {"replica.lag.time.max.ms": 12_000}
        assert record.partner(name="x", config_id="y", is_grid=True, overrides=same) == "id-lag-20s"

    def test_new_configuration_is_baseline_and_green(self, approved: Approved) -> None:
        """A configuration that the baseline does not know has nothing to be worse than."""
        accepted(World())
        verdict = judged(World(names=("today", "kip-501-s1", "lag-20s", "brand-new")))
        approved(headline(verdict))
        assert not verdict.red
        assert verdict.counts() == {Status.UNCHANGED: 3, Status.BASELINE: 1}

    def test_accepting_the_regression_ends_it(self) -> None:
        """Once a person accepts the worse night, the next one like it is unchanged."""
        world = accepted(World())
        change = scaled(FLAPS, 2.0, "lag-20s")
        judged(world, change)
        acceptance.accept(world.experiment, LATER, None, "meant", version=world.code_version)
        assert headline(judged(world, change)) == "3 of 3 configurations unchanged"

    def test_missing_confirm_outcomes_are_computed(self) -> None:
        """Accepting asks for the confirm panel of exactly the configurations that lack it."""
        world = World()
        judge_night(world.write(NIGHT, confirm=("today",)))
        asked: list[tuple[str, ...]] = []

        def simulate(plan: object, config_ids: tuple[str, ...]) -> None:
            asked.append(config_ids)
            world.write(NIGHT)

        acceptance.accept(
            "synthetic", NIGHT, "Ada", "first",
            simulate_confirm=simulate, version=world.code_version,
        )  # fmt: skip
        assert asked == [("id-kip-501-s1", "id-lag-20s")]

    def test_a_later_commit_of_the_same_kernel_computes_them(self) -> None:
        """A commit that leaves the kernel as it is changes no outcome."""
        world = World(code_version="aaaaaaa+kernel.0123456789ab")
        judge_night(world.write(NIGHT, confirm=()))

        def simulate(*_: object) -> None:
            world.write(NIGHT)

        acceptance.accept(
            "synthetic", NIGHT, "Ada", "first", simulate_confirm=simulate,
            version="bbbbbbb+kernel.0123456789ab",
        )  # fmt: skip
        assert baseline.load("synthetic") is not None

    def test_other_code_cannot_compute_them(self, approved: Approved) -> None:
        """Confirm outcomes by other code than the night's own would not be its baseline."""
        judge_night(World().write(NIGHT, confirm=()))
        with approved.refusal(Refused):
            acceptance.accept("synthetic", NIGHT, "Ada", "first", version="newer")

    def test_changed_outcomes_are_refused(self, approved: Approved) -> None:
        """A table that is not the one judged cannot be accepted."""
        world = World()
        judge_night(world.write(NIGHT))
        world.write(NIGHT, scaled(FLAPS, 2.0, "today"))
        with approved.refusal(Refused):
            acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")

    def test_night_never_judged_is_refused(self, approved: Approved) -> None:
        """What was not judged was not validated either."""
        with approved.refusal(Refused):
            acceptance.accept("synthetic", NIGHT, "Ada", "first")

    def test_reason_is_owed(self) -> None:
        """Accepting without a reason is an input error."""
        with pytest.raises(InputError) as refusal:
            acceptance.accept("synthetic", NIGHT, "Ada", " ")
        assert str(refusal.value) == "baseline accept: why: empty; allowed: a reason, in one line"


@pytest.mark.usefixtures("home")
class TestRecord:
    """verdict.json and the verdicts table."""

    def test_verdict_is_read_back(self) -> None:
        """What was written is what is read, infinities and all."""
        verdict = judged(accepted(World()), scaled(FLAPS, 2.0, "lag-20s"))
        assert load_verdict("synthetic", LATER) == verdict

    def test_table_has_a_row_per_configuration_and_metric(self) -> None:
        """Three configurations and seven metrics make twenty-one rows."""
        judged(accepted(World()))
        rows = store.read_table("verdicts", "synthetic", LATER)
        assert len(rows) == 21
        assert set(rows["status"]) == {"unchanged"}

    def test_the_same_night_gives_the_same_table(self) -> None:
        """Verdicts are deterministic to the last bit."""
        world = accepted(World())
        change = scaled(OFFLINE, 1.5, "today")
        judged(world, change)
        first = store.table_digest("verdicts", "synthetic", LATER)
        judged(world, change)
        assert store.table_digest("verdicts", "synthetic", LATER) == first

    def test_a_failed_judge_leaves_no_verdict(self) -> None:
        """The verdict of an earlier run never stands for a night that could not be judged."""
        world = accepted(World())
        judged(world)
        plan = world.plan(LATER)
        store.delete_night("synthetic", LATER, tables=["outcomes"])
        with pytest.raises(TableMissing):
            judge_night(plan)
        with pytest.raises(Refused):
            load_verdict("synthetic", LATER)

    def test_confirm_without_its_outcomes_is_refused(self, approved: Approved) -> None:
        """A flagged configuration whose confirm panel was not simulated is not decided."""
        plan = accepted(World()).write(LATER, scaled(FLAPS, 2.0, "lag-20s"), confirm=())
        judge_night(plan)
        with approved.refusal(Refused):
            decided(plan)


@pytest.mark.slow
class TestNullNights:
    """The night that a team must never be woken for."""

    def test_jitter_drawn_anew_flags_nothing(self, home: Path) -> None:
        """In 8 nights of 12 configurations with re-drawn outcomes: few suspicions, all dropped.

        Without the correction for many comparisons there would be several.
        """
        del home
        world = accepted(World(names=tuple(f"c{index}" for index in range(12)), scenarios=60))
        flagged = 0
        for night in range(8):
            verdict = judged(world, _redrawn(night))
            flagged += verdict.counts()[Status.SUSPECT]
            assert verdict.counts()[Status.REGRESSED] == 0
        assert flagged <= 4

    def test_a_handful_of_scenarios_has_no_smaller_p_than_its_signs(self, home: Path) -> None:
        """Six scenarios, each up or down by as much: p is at least 2^-6, whatever the signs.

        What is observed ties with itself. If ties do not count, p is 0 as soon as all signs agree,
        which here is in every fourth test.
        """
        del home
        world = accepted(World(names=tuple(f"c{index}" for index in range(12)), scenarios=60))
        for night in range(8):
            verdict = judged(world, _handful(night))
            found = [one.metric(FLAPS).p for one in verdict.configurations]
            assert all(p is not None and p >= 2.0**-6 for p in found)
            assert not verdict.red


def up_and_down(factor: float) -> Change:
    """Latencies of `today` times a factor or divided by it, half of the scenarios each."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
    ) -> None:
        if name == "today":
            count = len(columns[LATENCY])
            up = np.random.default_rng(5).permutation(count) < count // 2
            columns[LATENCY] = np.where(up, columns[LATENCY] * factor, columns[LATENCY] / factor)

    return change


def _handful(night: int) -> Change:
    """Change the flaps of six scenarios by a factor, up or down by chance."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        rng = np.random.default_rng([night, len(panel), *name.encode()])
        flaps = columns[FLAPS].copy()
        for row in rng.permutation(np.flatnonzero(flaps > 0))[:6]:
            flaps[row] *= 1.6 if rng.random() < 0.8 else 0.4
        columns[FLAPS] = flaps

    return change


def _redrawn(night: int) -> Change:
    """Re-draw what would be drawn otherwise by another jitter: half of the scenarios change."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        rng = np.random.default_rng([night, len(panel), *name.encode()])
        base = np.random.default_rng([7, len(panel)]).gamma(0.8, 1.0, len(columns[FLAPS]))
        touched = rng.random(len(base)) < 0.5
        flaps = rng.poisson(6 * base) * 3600 / EXPOSURE_S
        columns[FLAPS] = np.where(touched, flaps, columns[FLAPS])
        latency = rng.gamma(2.0, 20.0, len(base))
        columns[LATENCY] = np.where(touched, latency, columns[LATENCY])
        down = rng.random(len(base)) < 0.4
        offline = np.where(down, rng.gamma(1.0, 20.0, len(base)), 0.0) / EXPOSURE_S
        columns[OFFLINE] = np.where(touched, offline, columns[OFFLINE]).astype(np.float32)

    return change


def test_table_holds_numbers_only_where_there_are_some(home: Path) -> None:
    """A night without a baseline has null p, q and ratio, not zeros."""
    del home
    judge_night(World().write(NIGHT))
    rows = store.read_table("verdicts", "synthetic", NIGHT)
    assert rows[["p", "q", "ratio", "baseline_total"]].isna().all(axis=None)
    assert pd.notna(rows["value"]).all()
