"""The two figures of a comparison: their quotient is the ratio that is printed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isr_pipeline.night.show import show
from isr_pipeline.report import differences
from isr_pipeline.report.data import NightData, read_night
from isr_pipeline.report.html import render
from isr_pipeline.report.terminal import print_night
from isr_pipeline.report.tracking import names
from isr_pipeline.scenarios.profile import FaultProfile
from isr_pipeline.verdicts import acceptance
from isr_pipeline.verdicts.figures import figure_of_each, floor_figure
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.quantities import FLAPS, LATENCY
from isr_pipeline.verdicts.record import LOST, Figures, NightVerdict, Per
from isr_pipeline.verdicts.sentences import change, figures_of, ratio_of, unit_per
from isr_pipeline.verdicts.years import incidents_of
from tests.verdicts.synthetic import LATER, NIGHT, PROFILE, scaled
from tests.verdicts.test_reference import alike_but, world_of
from tests.verdicts.test_year import counted


def half() -> FaultProfile:
    """Scenarios of one stratum stand for incidents, those of the other for none."""
    every = counted()
    incidents = {
        kind: one.model_copy(update={"scenarios": {place: 1.0}})
        for (kind, one), place in zip(
            every.incidents.items(), ("stratum-1.link", "stratum-1.read_stall"), strict=True
        )
    }
    return every.model_copy(update={"incidents": incidents})


def night(profile: FaultProfile, factor: float = 1.5) -> NightVerdict:
    """A night in which lag-20s has so many times the flaps and 20 % more latency than before."""
    world = world_of()
    world.profile = profile
    judge_night(world.write(NIGHT, alike_but()))
    acceptance.accept(world.experiment, NIGHT, "Ada", "first", version=world.code_version)
    changes = scaled(FLAPS, factor, "lag-20s"), scaled(LATENCY, 1.2, "lag-20s")
    return judge_night(world.write(LATER, alike_but(*changes)))


def every_pair(node: Any) -> Iterator[dict[str, Any]]:
    """All pairs of a record, however deep."""
    if isinstance(node, dict):
        if {"per", "before", "after", "ratio"} <= node.keys():
            yield node
        for one in node.values():
            yield from every_pair(one)
    elif isinstance(node, list):
        for one in node:
            yield from every_pair(one)


@pytest.mark.usefixtures("home")
class TestPairs:
    """What a night keeps of its comparisons."""

    @pytest.mark.parametrize("profile", [counted(), half(), PROFILE], ids=["all", "half", "none"])
    def test_after_over_before_is_the_ratio(self, profile: FaultProfile) -> None:
        """Against the baseline and the reference, of all scenarios and of every stratum."""
        found = list(every_pair(night(profile).model_dump(mode="json")))
        assert sum(one["ratio"] not in (None, 1.0) for one in found) > 6
        for one in found:
            if one["before"]:
                assert one["ratio"] == pytest.approx(one["after"] / one["before"], rel=1e-9)
            else:
                assert one["ratio"] == (None if one["after"] else 1.0)

    def test_scenarios_without_an_incident_are_told_beside(self) -> None:
        """They are in neither figure nor interval; the word is of all scenarios as it was."""
        verdicts = {one: night(one()).configuration("id-lag-20s") for one in (counted, half)}
        whole, part = (one.metric(FLAPS) for one in verdicts.values())
        assert whole.pair is not None
        assert part.pair is not None
        assert (whole.status, whole.q, whole.ratio) == (part.status, part.q, part.ratio)
        assert whole.without_incident is None
        assert part.without_incident is not None
        assert part.without_incident.per is Per.SCENARIO
        assert part.pair.scenarios + part.without_incident.scenarios == whole.pair.scenarios
        (stratum,) = (one for one in part.strata if one.stratum == "stratum-1")
        assert part.pair.before == pytest.approx(stratum.pair.before)

    def test_strata_add_up_to_the_year(self) -> None:
        """Of every metric that a year has."""
        for metric in night(counted()).configuration("id-lag-20s").metrics:
            if metric.strata and metric.pair is not None and metric.pair.per is Per.YEAR:
                sides = [math.fsum(getattr(one.pair, side) for one in metric.strata)
                         for side in ("before", "after")]  # fmt: skip
                assert sides == pytest.approx([metric.pair.before, metric.pair.after])


@pytest.mark.usefixtures("home")
class TestCharts:
    """What heat maps, the scatter and the floors of a night are of."""

    def data(self, profile: FaultProfile) -> NightData:
        """A first night in which lag-20s has half as many flaps again."""
        world = world_of()
        world.profile = profile
        plan = world.write(NIGHT, alike_but(scaled(FLAPS, 1.5, "lag-20s")))
        judge_night(plan)
        return read_night(plan)

    @pytest.mark.parametrize("profile", [counted(), half()], ids=["all", "half"])
    def test_they_have_the_year_that_tables_have(self, profile: FaultProfile) -> None:
        """Of every configuration, in its unit."""
        data = self.data(profile)
        found = data.figures(FLAPS)
        assert found is not None
        own = [data.verdict.configuration(one).own[FLAPS] for one in data.panel.config_ids]
        assert found[0] == unit_per(FLAPS, Per.YEAR)
        assert list(found[1]) == pytest.approx(own)

    def test_without_counts_they_have_the_ratio_to_the_reference(self) -> None:
        """As it is told of the whole panel."""
        data = self.data(PROFILE)
        found = data.figures(FLAPS)
        assert found is not None
        assert found[0] == "ratio to today"
        ratios = dict(zip(data.panel.config_ids, found[1], strict=True))
        assert ratios["id-today"] == 1.0
        assert ratios["id-lag-20s"] == pytest.approx(1.5)

    def test_nothing_of_the_reference_has_no_ratio(self) -> None:
        """Then there is no chart."""
        assert self.data(PROFILE).figures(LOST) is None

    def test_a_floor_is_the_year_that_it_moves(self) -> None:
        """A mean that differs by the floor, in scenarios that stand for incidents, moves it."""
        data, profile = self.data(half()), half()
        incidents = incidents_of(data.panel, profile)
        assert incidents is not None
        more = np.where(incidents > 0, 3.0, 0.0)
        values = data.panel.values[FLAPS] + (more / data.panel.divisors(FLAPS))[:, None]
        risen = replace(data.panel, values={**data.panel.values, FLAPS: values})
        floor = float((risen.means(FLAPS) - data.panel.means(FLAPS))[0])
        (_, after), (_, before) = (
            figure_of_each(one, FLAPS, data.settings, profile) for one in (risen, data.panel)
        )
        per, year = floor_figure(data.panel, FLAPS, floor, profile)
        assert per is Per.YEAR
        assert list(after - before) == pytest.approx([year] * len(after))


@pytest.mark.usefixtures("home")
def test_every_surface_prints_the_same_pair(capsys: pytest.CaptureFixture[str]) -> None:
    """Terminal, page, MLflow's texts and `night show --json`, of one night."""
    verdict = night(counted())
    one = verdict.configuration("id-lag-20s")
    flaps = one.metric(FLAPS)
    assert flaps.pair is not None
    said, ratio = figures_of(FLAPS, flaps.pair), ratio_of(flaps.pair)
    plan = world_of().plan(LATER)
    shown = show("synthetic", LATER)
    decisions = next(each for each in shown["configs"] if each["name"] == one.name)["decisions"]
    assert Figures.model_validate(decisions[FLAPS]["pair"]) == flaps.pair
    assert f"{ratio} from {said}" in decisions[FLAPS]["change"]
    print_night(shown)
    assert f"{ratio} from {said}" in " ".join(capsys.readouterr().out.split())
    note = names.config_note(one, "x", "today", verdict.against_reference[0])
    assert f"| {said} | {ratio} |" in note
    assert differences.sentence(verdict.against_reference[0]) in note
    page = render(read_night(plan)).replace("<wbr>", "")
    assert figures_of(FLAPS, flaps.pair, unit=False) in page
    assert ratio in page
    assert f"{ratio} from {said}" in change(flaps)
