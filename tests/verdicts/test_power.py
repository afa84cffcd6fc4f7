"""What a panel can find, said before a night is run."""

from __future__ import annotations

import re

import numpy as np
import pytest

from isr_pipeline.experiment.configurations import Configuration, configurations
from isr_pipeline.experiment.file import Experiment, Panels, load_experiment
from isr_pipeline.experiment.stages import Budget
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.panels import panel_digest
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.power import (
    Reach,
    findable,
    reach_of,
    simulated_outcomes,
    smallest_ratio,
    uniform_ratio,
)
from isr_pipeline.verdicts.settings import load_settings
from tests.verdicts.synthetic import NIGHT, World
from tests.verdicts.test_judge import accepted

SETTINGS = load_settings()


SHIPPED = reach_of({"regression": 200, "confirm": 200}, Budget(scenarios=4000), SETTINGS)
ALONE = Reach(scenarios=200, further=200, least=10)


def test_what_an_alarm_takes() -> None:
    """Seven metrics of one configuration, and two thirds of 0.01 at the last look."""
    assert (SHIPPED.scenarios, SHIPPED.further, SHIPPED.least) == (200, 3800, 11)
    assert 7 * 2.0**-SHIPPED.least < 0.67 * SETTINGS.confirm_p < 7 * 2.0 ** -(SHIPPED.least - 1)
    assert not Reach(scenarios=8, further=8, least=10).decides


@pytest.mark.parametrize(
    ("above", "reach", "ratio"),
    [
        (0, SHIPPED, None),
        (4, SHIPPED, 1 + 3 / 4),  # the standing panel has to hold one more
        (150, SHIPPED, 1.110),  # more than a tenth more must come out as a tenth more
        (199, SHIPPED, 1.10),  # no room for more: all that have it must have more of it
        (100, ALONE, 1.16),  # sixteen more make sure of ten
        (5, Reach(scenarios=8, further=8, least=10), None),
    ],
)
def test_smallest_ratio(above: int, reach: Reach, ratio: float | None) -> None:
    """What is looked at further decides, not the standing panel alone."""
    found = smallest_ratio(above, reach, SETTINGS)
    assert found == (None if ratio is None else pytest.approx(ratio, abs=0.001))


def test_a_short_latency_must_rise_by_more() -> None:
    """The floor of 1 ms is added to both sides: below it a factor shows little of itself."""
    values, weights = np.array([0.87, 0.87, 100.0]), np.array([0.6, 0.2, 0.2])
    factor = uniform_ratio(values, weights, 1.0, 1.1)
    shown = np.exp(weights @ np.log((factor * values + 1) / (values + 1)))
    assert shown == pytest.approx(1.1)
    assert factor > 1.15
    assert uniform_ratio(values, weights, 0.0, 1.1) == pytest.approx(1.1)
    assert uniform_ratio(np.zeros(3), weights, 1.0, 1.1) == np.inf


def _of_size(scenarios: int) -> Experiment:
    """The smoke experiment with panels of so many scenarios."""
    panels = Panels(regression=scenarios, confirm=scenarios)
    return load_experiment("smoke").model_copy(update={"panels": panels})


def _as_synthetic(experiment: Experiment) -> list[Configuration]:
    """Its configurations with the ids that synthetic nights have by name."""
    every = configurations(experiment)
    return [one.model_copy(update={"config_id": f"id-{one.name}"}) for one in every]


def _panel_of(experiment: Experiment) -> str:
    """The digest of its standing panel."""
    return panel_digest(draw_panel(experiment.source, "regression"))


@pytest.mark.usefixtures("home")
class TestLines:
    """What `experiment check` says."""

    def test_before_any_night_the_number_of_scenarios(self) -> None:
        """Without outcomes nothing is known but how many scenarios must differ."""
        experiment = load_experiment("smoke")
        (line,) = findable(experiment, list(configurations(experiment)), SETTINGS)
        assert line.startswith(
            "an alarm takes a difference in at least one of 8 scenarios, "
            "and a rise in at least 10 of 392 further ones; how small a ratio that finds is known"
        )

    def test_before_any_night_the_panel_can_be_simulated(self) -> None:
        """Each metric of each configuration has its smallest ratio, as after a night."""
        experiment = load_experiment("smoke").resized(48)
        listed = list(configurations(experiment))[:2]
        done: list[int] = []
        known = simulated_outcomes(experiment, listed, SETTINGS, lambda: done.append(1))
        assert len(done) == 48
        assert known.above["today"]["commit_latency_p99_ms"] == 48
        assert known.above["today"]["offline_partition_rate"] == 12
        lines = findable(experiment, listed, SETTINGS, known)
        assert lines[0].endswith("by the outcomes of this panel, simulated by the present code:")
        assert "today: offline_partition_rate 1." in lines[1]
        assert "records_lost from none only" in lines[1]
        assert len(lines) == 3

    def test_a_panel_that_can_decide_nothing(self) -> None:
        """Six scenarios beyond the standing panel confirm nothing; a larger budget does."""
        experiment = load_experiment("smoke")
        panels = Panels(regression=5, confirm=6)
        spent = {"panels": panels, "budget": Budget(scenarios=11)}
        small = experiment.model_copy(update=spent)
        lines = findable(small, list(configurations(small)), SETTINGS)
        assert lines == [
            (
                "warning: smoke can decide nothing: 6 further scenarios within the budget, "
                "an alarm takes 10 that got worse"
            ),
        ]
        known = simulated_outcomes(small, list(configurations(small))[:1], SETTINGS)
        lines = findable(small, list(configurations(small))[:1], SETTINGS, known)
        assert set(re.findall(r"(?<=[a-z_] )[a-z ]+(?=,|$)", lines[2])) == {"nothing"}
        larger = experiment.model_copy(update={"panels": panels})
        assert len(findable(larger, list(configurations(larger)), SETTINGS)) == 1

    def test_by_the_baseline_a_ratio_for_each_metric(self) -> None:
        """An accepted night says where each configuration has some of each metric."""
        experiment = _of_size(120)
        accepted(World(experiment="smoke", panel_digest=_panel_of(experiment)))
        lines = findable(experiment, _as_synthetic(experiment), SETTINGS)
        assert lines[0].endswith("by the outcomes of the baseline (night 2026-11-19):")
        assert lines[1].startswith("  today: offline_partition_rate 1.")
        assert "commit_latency_p99_ms 1.1" in lines[1]
        assert "records_lost from none only" in lines[1]
        assert lines[2] == "  today-without-lock: not part of that night, with these values"

    @pytest.mark.parametrize("kept", ["baseline", "night"])
    def test_outcomes_of_other_scenarios_say_nothing(self, kept: str) -> None:
        """After the cluster file was replaced, as before any night; so many scenarios are alike."""
        experiment = _of_size(120)
        world = World(experiment="smoke", panel_digest="e" * 64)
        accepted(world) if kept == "baseline" else judge_night(world.write(NIGHT))
        (line,) = findable(experiment, _as_synthetic(experiment), SETTINGS)
        assert line.startswith("an alarm takes a difference in at least one of 120 scenarios")

    def test_outcomes_of_other_values_say_nothing(self) -> None:
        """A configuration that has its name and other values has no outcomes."""
        experiment = _of_size(120)
        accepted(World(experiment="smoke", panel_digest=_panel_of(experiment)))
        (line,) = findable(experiment, list(configurations(experiment)), SETTINGS)
        assert line.startswith("an alarm takes a difference")
