"""What only the further scenarios show: nothing of it is in the standing panel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.plan import Plan, code_version
from isr_pipeline.kernels.source import read_package
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.tables import store
from isr_pipeline.verdicts import acceptance
from isr_pipeline.verdicts.blame.case import Case, read_case
from isr_pipeline.verdicts.blame.culprit import Search
from isr_pipeline.verdicts.blame.why import explain
from isr_pipeline.verdicts.judge import judge_night
from tests.blame.cases import LAG, METRIC, SCENARIO, value
from tests.verdicts.synthetic import LATER, NIGHT, Change, World, decided, scaled

FLAPS = "isr_flaps_per_partition_hour"
LOST = "records_lost"
UNCLEAN = "unclean.leader.election.enable"
LAZY, STRICT = {LAG: 16_000}, {LAG: 4_000}

CAREFUL: dict[str, Any] = {
    **SCENARIO,
    "topics": [
        {
            **SCENARIO["topics"][0],
            "produce": [{**SCENARIO["topics"][0]["produce"][0], "acks": "all"}],
        }
    ],
}
"""Its producers wait for the ISR: an unclean election then loses what was acknowledged."""

LOST_THERE = 129
"""Records that the scenario loses if unclean elections are allowed."""


def night(before: dict[str, Any], after: dict[str, Any], change: Change) -> Case:
    """What is asked about `lag-20s`, whose settings changed, and its outcomes on the confirm panel.

    Its ISR flaps rise on the standing panel: further scenarios are simulated for what is open.
    """
    world = World(
        scenarios=16, code_version=code_version(), scenario=CAREFUL, values={"lag-20s": before}
    )
    none = scaled(METRIC, 0.0, *world.names)
    rising = scaled(FLAPS, 2.0, "lag-20s", panels=("regression",))

    def changed(
        panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
    ) -> None:
        none(panel, name, columns, rng)
        rising(panel, name, columns, rng)
        if (panel, name) == ("confirm", "lag-20s"):
            change(panel, name, columns, rng)

    judge_night(world.write(NIGHT, none))
    acceptance.accept("synthetic", NIGHT, "Ada", "first", version=world.code_version)
    plan = replace(world, values={"lag-20s": after}).write(LATER, changed)
    judge_night(plan)
    decided(plan)
    return read_case(Plan.of_night("synthetic", LATER), "lag-20s")


def offline() -> Case:
    """Every confirm scenario newly has offline seconds, no regression scenario has any."""

    def change(*given: Any) -> None:
        given[2][METRIC][:] = value(read_package(), STRICT, compiled=False)

    return night(LAZY, STRICT, change)


def loss() -> Case:
    """One confirm scenario newly loses records."""

    def change(*given: Any) -> None:
        given[2][LOST][3] = LOST_THERE

    return night(STRICT, STRICT | {UNCLEAN: True}, change)


def page() -> str:
    """The report of the night."""
    folder = Home.from_environment().night_dir("synthetic", LATER)
    return render(read_night(Plan.load(folder / "plan.json")))


def section(name: str, text: str) -> str:
    """One section of a page."""
    return text.split(f'<section id="{name}"')[1].partition("</section>")[0]


@pytest.mark.slow
@pytest.mark.usefixtures("home")
class TestChangedOnConfirm:
    """A metric that is identical on the standing panel and worse on the confirm panel."""

    def test_its_scenarios_decide(self) -> None:
        """The deciding scenarios are of the confirm panel, as the metric is `regressed` there."""
        case = offline()
        assert (case.metric, case.status) == (METRIC, "regressed")
        assert len(case.deciding) == 3
        assert all(one.scenario_id.startswith("confirm-") for one in case.deciding)

    def test_why(self) -> None:
        """The first event that differs in one of them, and the changed key."""
        found = explain(offline(), compiled=False)
        assert found.drawn.scenario_id.startswith("confirm-")
        assert found.first["after"]["kind"] == "isr_shrink"
        assert found.decided_by["name"] == LAG

    def test_blame(self) -> None:
        """The changed key makes all of the change, and its two values are told."""
        cause = Search(offline(), compiled=False).blame()["cause"]
        assert (cause["kind"], cause["name"]) == ("key", LAG)
        assert (cause["before"], cause["after"]) == (16_000, 4_000)
        assert cause["share"] == pytest.approx(1.0)

    def test_outcomes_that_are_the_same_after_all(self) -> None:
        """Where the kept rows no longer differ, one line says which command makes them anew."""
        offline()
        rows = store.read_table("outcomes", "synthetic", LATER)
        store.write_table("outcomes", "synthetic", LATER, rows[rows["panel"] == "regression"])
        with pytest.raises(Refused) as refusal:
            read_case(Plan.of_night("synthetic", LATER), "lag-20s")
        assert str(refusal.value) == (
            f"night {LATER} of synthetic: no scenario that both sides ran differs in {METRIC} "
            f"under lag-20s; run it again: isr-pipeline night run --night {LATER} "
            "--experiment synthetic"
        )


@pytest.mark.slow
@pytest.mark.usefixtures("home")
class TestLossOnConfirm:
    """One scenario of the confirm panel that newly loses records."""

    def test_it_decides(self) -> None:
        """It alone is asked about."""
        case = loss()
        assert (case.metric, case.status) == (LOST, "regressed")
        assert [one.scenario_id for one in case.deciding] == ["confirm-0003"]
        assert [one.scenario_id for one in case.differing] == ["confirm-0003"]

    def test_what_the_verdict_names_comes_before_a_larger_rise(self) -> None:
        """The scenario that it says newly loses some is first; one that rose more is second."""
        loss()
        rows = store.read_table("outcomes", "synthetic", LATER)
        rows.loc[rows["scenario_id"] == "regression-0005", LOST] = 2 * LOST_THERE
        store.write_table("outcomes", "synthetic", LATER, rows)
        case = read_case(Plan.of_night("synthetic", LATER), "lag-20s")
        names = [one.scenario_id for one in case.deciding]
        assert names == ["confirm-0003", "regression-0005"]

    def test_why(self) -> None:
        """The unclean election, the key that allows it, and the loss."""
        found = explain(loss(), compiled=False)
        assert found.drawn.scenario_id == "confirm-0003"
        assert found.first["after"]["kind"] == "unclean_election"
        assert found.decided_by["name"] == UNCLEAN
        assert "records_lost" in [one["kind"] for one in found.chain]

    def test_blame(self) -> None:
        """The key makes the whole loss in that one scenario."""
        cause = Search(loss(), compiled=False).blame()["cause"]
        assert (cause["name"], cause["scenarios"]) == (UNCLEAN, 1)
        assert cause["share"] == pytest.approx(1.0)

    def test_the_report(self) -> None:
        """It says where the runs part, and draws the scenario with the command that shows it."""
        loss()
        text = page()
        why = section("why", text)
        assert "scenario confirm-0003: " in why
        assert "both runs are the same" not in why
        assert (
            f"<strong>confirm-0003</strong>: acknowledged records lost 0 to {LOST_THERE} records"
            in text
        )
        assert "--scenario confirm-0003 --config lag-20s" in text
