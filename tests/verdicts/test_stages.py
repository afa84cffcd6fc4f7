"""What is not decided is simulated further: looks, levels, and what each may say."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.base.errors import Refused
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.experiment.stages import BASELINE_SIDE, Budget, planned_stages
from isr_pipeline.tables import store
from isr_pipeline.verdicts import acceptance, changes, looks, stages
from isr_pipeline.verdicts.comparison import PanelOutcomes, as_one_panel
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.looks import call
from isr_pipeline.verdicts.quantities import load_settings
from isr_pipeline.verdicts.record import OPEN, MetricVerdict, NightVerdict, Status, load_verdict
from isr_pipeline.verdicts.sentences import headline, reason, reason_of_metric
from isr_pipeline.worlds.columns import METRICS
from tests.approved import Approved
from tests.verdicts.synthetic import LATER, NIGHT, Change, World

FLAPS = "isr_flaps_per_partition_hour"
LOST = "records_lost"
SETTINGS = load_settings()


class TestLevels:
    """What each look may err."""

    @given(st.integers(1, 500), st.integers(1, 500), st.integers(1, 50_000))
    def test_shares_sum_to_one(self, regression: int, confirm: int, scenarios: int) -> None:
        """All looks together may err as often as one look could."""
        panels = {"regression": regression, "confirm": confirm}
        found = looks.looks(planned_stages(panels, Budget(scenarios=scenarios)))
        assert sum(look.share for look in found) == pytest.approx(1.0)
        assert all(look.share > 0 for look in found)
        assert [look.is_last for look in found] == [False] * (len(found) - 1) + [True]

    def test_what_is_spent(self) -> None:
        """Lan and DeMets' function: ln(1 + (e - 1) t)."""
        assert looks.spent(0.0) == 0.0
        assert looks.spent(1.0) == pytest.approx(1.0)
        assert looks.spent(1 / 9) == pytest.approx(0.1747, abs=1e-4)


def panel(values: npt.NDArray[np.float64]) -> PanelOutcomes:
    """Flaps of some scenarios under some configurations; nothing else happens in them."""
    count, width = values.shape
    columns = {name: np.zeros((count, width)) for name in METRICS}
    columns[FLAPS] = values
    return PanelOutcomes(
        scenario_ids=tuple(f"{index:04d}" for index in range(count)),
        config_ids=tuple(f"{index}" for index in range(width)),
        weights=np.ones(count),
        exposure_us=np.full(count, 3.6e9),
        strata=("all",) * count,
        fault_kinds=("",) * count,
        values=columns,
        missing=np.zeros((count, width), dtype=bool),
        failed=np.zeros((count, width), dtype=bool),
    )


def first(outcomes: PanelOutcomes, count: int) -> PanelOutcomes:
    """The first scenarios of some outcomes."""
    return replace(
        outcomes,
        scenario_ids=outcomes.scenario_ids[:count],
        weights=outcomes.weights[:count],
        exposure_us=outcomes.exposure_us[:count],
        strata=outcomes.strata[:count],
        fault_kinds=outcomes.fault_kinds[:count],
        values={name: matrix[:count] for name, matrix in outcomes.values.items()},
        missing=outcomes.missing[:count],
        failed=outcomes.failed[:count],
    )


def looked(new: PanelOutcomes, old: PanelOutcomes, found: tuple[looks.Look, ...]) -> list[Status]:
    """What the looks make of flaps that the standing panel left open, worst case: no floor."""
    flaps = SETTINGS.metrics[FLAPS].model_copy(update={"floor": 0.0})
    tuned = SETTINGS.model_copy(
        update={
            "metrics": {FLAPS: flaps},
            "ratio_min": 1.0 + 1e-9,
            "flips": 999,
            "flips_max": 999,
            "exact_up_to": 10,
            "bootstrap": 10,
        }
    )
    called, _ = call(first(new, found[0].scenarios), first(old, found[0].scenarios), tuned)
    called = [
        tuple(one.model_copy(update={"status": Status.UNDECIDED}) for one in metrics)
        for metrics in called
    ]
    for look in found:
        here = first(new, look.scenarios), first(old, look.scenarios)
        called = looks.call_open(called, *here, tuned, look=look)
    return [metrics[0].status for metrics in called]


class TestSeenLater:
    """What only further scenarios show, of a metric that nothing asked about."""

    LOOK = looks.Look(("confirm", "further-1"), 200, 1.0, is_last=True)

    def called(self, metric: str, worse: int, rise: float = 3.0) -> MetricVerdict:
        """The verdict on a metric that differs in some scenarios behind the first twenty."""
        old = panel(np.ones((200, 1)))
        new = replace(old, values={name: matrix.copy() for name, matrix in old.values.items()})
        new.values[metric][50 : 50 + worse] += rise
        before, _ = call(first(new, 20), first(old, 20), SETTINGS)
        assert {one.status for one in before[0]} == {Status.UNCHANGED}
        (after,) = looks.call_open(before, new, old, SETTINGS, look=self.LOOK)
        (found,) = (one for one in after if one.metric == metric)
        return found

    def test_a_rise_is_called(self) -> None:
        """Unchanged in the standing panel, worse in forty further scenarios."""
        found = self.called(FLAPS, 40)
        assert found.status is Status.REGRESSED
        assert "confirmed on 200 further scenarios" in reason_of_metric(found)

    def test_what_must_never_happen_is_suspect(self) -> None:
        """One further scenario that loses records is drawn again as any other is."""
        found = self.called(LOST, 1)
        assert (found.status, found.newly) == (Status.SUSPECT, ("0050",))

    def test_what_does_not_matter_changes_nothing(self) -> None:
        """A rise of 4.5 % in three scenarios, which nobody had asked about."""
        assert self.called(FLAPS, 3).status is Status.UNCHANGED

    def test_a_rise_that_is_not_certain_opens_the_question(self) -> None:
        """Four scenarios that rise by a quarter of all rule out nothing, and prove nothing."""
        found = self.called(FLAPS, 4, 12.0)
        assert found.status is Status.UNDECIDED
        assert "on 200 further scenarios" in reason_of_metric(found)


class TestError:
    """The realised level of all looks together."""

    LOOKS = looks.looks(planned_stages({"regression": 25, "confirm": 25}, Budget(scenarios=250)))

    def night(
        self, random: np.random.Generator, width: int, effect: float = 0.0
    ) -> tuple[PanelOutcomes, PanelOutcomes]:
        """A night in which a third of the scenarios differ, and those rise by the effect too."""
        count = self.LOOKS[-1].scenarios
        before = random.gamma(1.0, 5.0, (count, width))
        differs = random.random((count, width)) < 1 / 3
        after = np.where(differs, before * np.exp(random.normal(0.0, 0.5, before.shape)), before)
        swapped = random.random(before.shape) < 0.5
        new, old = np.where(swapped, before, after), np.where(swapped, after, before)
        return panel(np.where(differs, new * np.exp(effect), new)), panel(old)

    def alarms(self, looks: tuple[looks.Look, ...], nights: int) -> int:
        """Of so many null nights of five configurations, those with an alarm."""
        random = np.random.default_rng(20_261_123)
        return sum(Status.REGRESSED in looked(*self.night(random, 5), looks) for _ in range(nights))

    def test_null_nights_are_quiet(self) -> None:
        """Whatever rises counts as large here: 40 nights, 1 % of which may alarm."""
        assert self.alarms(self.LOOKS, 40) <= 2

    @pytest.mark.slow
    def test_null_nights_alarm_as_seldom_as_one_look_would(self) -> None:
        """One night in a hundred at most; more of them if every look had the whole level."""
        alarms = self.alarms(self.LOOKS, 300)
        assert alarms <= 0.01 * 300
        whole = tuple(replace(look, share=1.0) for look in self.LOOKS)
        assert self.alarms(whole, 300) > alarms

    def test_a_plain_rise_is_found_at_once(self) -> None:
        """Scenarios that rise by half are called on the confirm panel or soon after."""
        random = np.random.default_rng(3)
        statuses = looked(*self.night(random, 5, effect=1.0), self.LOOKS)
        assert statuses == [Status.REGRESSED] * 5


# -- nights -----------------------------------------------------------------------------------


def accepted(world: World) -> World:
    """Judge and accept a first night."""
    judge_night(world.write(NIGHT))
    acceptance.accept(world.experiment, NIGHT, "Ada", "first", version=world.code_version)
    return world


def add(world: World, plan: Plan, name: str, change: Change | None) -> None:
    """Put a further stage into the tables, as its job does: scenarios and both sides."""
    outcomes = store.read_table("outcomes", plan.experiment, plan.night)
    scenarios = store.read_table("scenarios", plan.experiment, plan.night)
    stage = next(one for one in plan.stages if one.panel == name)
    larger = replace(world, scenarios=stage.scenarios)
    verdict = load_verdict(plan.experiment, plan.night)
    asked = {plan.reference_id, *verdict.awaits_reference} if verdict.awaits_reference else {}
    wanted = {
        name: ({*verdict.awaits_confirm, *asked}, change),
        name + BASELINE_SIDE: (verdict.awaits_confirm, None),
    }
    sides = [
        larger.outcome_rows(name, one, how).assign(panel=panel)
        for one in world.names
        for panel, (ids, how) in wanted.items()
        if f"id-{one}" in ids
    ]
    rows = larger.scenario_rows(name)
    store.write_table("outcomes", plan.experiment, plan.night, pd.concat([outcomes, *sides]))
    store.write_table("scenarios", plan.experiment, plan.night, pd.concat([scenarios, rows]))


def rising(factor: float, *panels: str, every: int = 6) -> Change:
    """Flaps of `lag-20s` rise in one of so many scenarios of some panels."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        if name == "lag-20s" and panel in panels:
            columns[FLAPS][::every] *= factor

    return change


def staged(world: World, change: Change | None) -> NightVerdict:
    """Judge a night with as many stages as it asks for."""
    plan = world.write(LATER, change)
    judge_night(plan)
    for number, stage in enumerate(plan.stages, start=1):
        if not load_verdict(plan.experiment, plan.night).awaiting:
            break
        if number > 1:
            add(world, plan, stage.panel, change)
        stages.look_night(plan, number)
    return stages.decide(plan)


@pytest.mark.usefixtures("home")
class TestNights:
    """Nights through their stages."""

    WORLD = World(scenarios=60, budget=660)

    def test_a_quiet_night_has_no_stage(self) -> None:
        """Nothing differs: nothing awaits anything."""
        verdict = staged(accepted(self.WORLD), rising(1.0))
        assert verdict.stages == ()
        assert verdict.scenarios_used == 60
        assert verdict.configurations[0].metrics[0].scenarios == 60

    def test_only_what_is_open_goes_on(self) -> None:
        """One configuration differs, and a stage is about one configuration."""
        verdict = staged(accepted(self.WORLD), rising(3.0, "regression", "confirm", "further-1"))
        assert [stage.panel for stage in verdict.stages] == ["confirm"]
        assert verdict.stages[0].configurations == verdict.stages[0].decided == 1
        one = verdict.configuration("id-lag-20s").metric(FLAPS)
        assert one.status is Status.REGRESSED
        assert one.scenarios == 60
        assert verdict.configuration("id-today").metric(FLAPS).scenarios == 60

    def test_what_the_confirm_panel_leaves_open_goes_on(self) -> None:
        """A rise in one of twenty scenarios is too little for 60 scenarios, not for 190."""
        panels = ("regression", "confirm", "further-1", "further-2")
        verdict = staged(accepted(self.WORLD), rising(6.0, *panels, every=12))
        one = verdict.configuration("id-lag-20s").metric(FLAPS)
        assert one.status is Status.REGRESSED
        assert one.scenarios == verdict.stages[-1].scenarios_together
        assert one.scenarios > 60
        assert verdict.scenarios_used == 60 + one.scenarios
        assert f"confirmed on {one.scenarios} further scenarios" in reason_of_metric(one)

    def test_the_same_again(self) -> None:
        """A look that is repeated says what it said, and nothing twice."""
        panels = ("regression", "confirm", "further-1", "further-2")
        world = accepted(self.WORLD)
        verdict = staged(world, rising(6.0, *panels, every=12))
        plan = world.plan(LATER)
        for number in range(1, len(verdict.stages) + 1):
            assert stages.look_night(plan, number) == verdict

    def test_a_night_that_was_never_looked_at_is_not_final(self, approved: Approved) -> None:
        """The decision names the panel that is missing."""
        plan = accepted(self.WORLD).write(LATER, rising(3.0, "regression"))
        judge_night(plan)
        with approved.refusal(Refused):
            stages.decide(plan)

    def test_the_fuse_says_so(self, approved: Approved) -> None:
        """A night whose minutes are over keeps what is open, and its headline names the limit."""
        plan = accepted(self.WORLD).write(LATER, rising(3.0, "regression"))
        judge_night(plan)
        os.utime(str(plan.place / changes.FILE), (0.0, 0.0))
        why = stages.why_not(plan, "confirm")
        verdict = stages.decide(plan)
        approved([why, headline(verdict)])
        assert verdict.configuration("id-lag-20s").metric(FLAPS).status in OPEN

    def test_a_baseline_without_its_code(self, approved: Approved) -> None:
        """Other code, none of it kept: the confirm panel is looked at, and no further one."""
        accepted(self.WORLD)
        world = replace(self.WORLD, code_version="5678def+kernel.000000000000")
        plan = world.write(LATER, rising(6.0, "regression", "confirm", every=20))
        judge_night(plan)
        assert stages.why_not(plan, "confirm") == ""
        stages.look_night(plan, 1)
        assert load_verdict(plan.experiment, LATER).awaits_confirm == ("id-lag-20s",)
        why = stages.why_not(plan, "further-1")
        approved(why)
        verdict = stages.decide(plan)
        one = verdict.configuration("id-lag-20s")
        assert one.metric(FLAPS).status in OPEN
        assert reason(one).endswith(why)

    def test_nothing_to_do(self, approved: Approved) -> None:
        """A stage of a night in which nothing is open says that."""
        plan = accepted(self.WORLD).write(LATER, rising(1.0))
        judge_night(plan)
        approved(stages.why_not(plan, "confirm"))

    def test_what_must_never_happen_stays(self, approved: Approved) -> None:
        """Records lost in one scenario of the standing panel are not washed out by others."""

        def lost(
            panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
        ) -> None:
            if name == "today" and panel == "regression":
                columns[LOST][7] = 1_000

        verdict = staged(accepted(self.WORLD), lost)
        one = verdict.configuration("id-today").metric(LOST)
        assert one.status is Status.SUSPECT
        approved(reason_of_metric(one))


class TestWeights:
    """Scenarios of several stages as one panel."""

    SHARES: ClassVar = {("a", "p"): 0.6, ("a", "q"): 0.3, ("b", "p"): 0.1}

    def together(self) -> pd.Series[float]:
        """Of a confirm panel without one of the patterns, and a stage that has it."""
        rows = pd.DataFrame(
            {
                "panel": ["confirm"] * 4 + ["further-1"] * 6,
                "stratum": ["a", "a", "a", "b"] + ["b", "b", "b", "b", "a", "a"],
                "pattern": ["p", "p", "p", "p"] + ["p", "p", "p", "p", "q", "q"],
                "weight": [1.2, 1.2, 1.2, 0.4] + [9.0] * 6,
            }
        )
        found = as_one_panel(rows, self.SHARES)
        return found.groupby(["stratum", "pattern"])["weight"].sum() / 10

    def test_strata_and_patterns_keep_their_share_of_the_population(self) -> None:
        """However many scenarios stand for them, they weigh what the profile says."""
        assert self.together().to_dict() == pytest.approx(self.SHARES)
