"""What a panel can find, said before a night is run."""

from __future__ import annotations

import pytest

from isr_pipeline.experiment.file import Panels, load_experiment
from isr_pipeline.experiment.grid import configurations
from isr_pipeline.experiment.stages import Budget
from isr_pipeline.verdicts.power import (
    findable,
    needed,
    needed_to_confirm,
    simulated_outcomes,
    smallest_ratio,
)
from isr_pipeline.verdicts.settings import load_settings
from tests.verdicts.synthetic import World
from tests.verdicts.test_judge import accepted

SETTINGS = load_settings()


def test_what_a_suspicion_and_a_confirmation_take() -> None:
    """Seven metrics of one configuration at 0.20, and a p below 0.01."""
    assert needed(SETTINGS) == 6
    assert needed_to_confirm(SETTINGS) == 7
    assert 2.0 ** -needed_to_confirm(SETTINGS) < SETTINGS.confirm_p


@pytest.mark.parametrize(
    ("above", "scenarios", "ratio"),
    [(0, 200, None), (5, 8, None), (8, 8, 1.10), (100, 200, 1.11), (11, 200, 2.0)],
)
def test_smallest_ratio(above: int, scenarios: int, ratio: float | None) -> None:
    """Eleven more scenarios make sure of six; where there is no room, those that have it must."""
    found = smallest_ratio(above, scenarios, SETTINGS)
    assert found == (None if ratio is None else pytest.approx(ratio))


@pytest.mark.usefixtures("home")
class TestLines:
    """What `experiment check` says."""

    def test_before_any_night_the_number_of_scenarios(self) -> None:
        """Without outcomes nothing is known but how many scenarios must differ."""
        experiment = load_experiment("smoke")
        (line,) = findable(experiment, list(configurations(experiment)), SETTINGS)
        assert line.startswith("a change of one configuration must show in 6 of 8 scenarios")

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
        """Six scenarios beyond the regression panel confirm nothing; a larger budget does."""
        experiment = load_experiment("smoke")
        panels = Panels(regression=5, confirm=6, fresh=0)
        spent = {"panels": panels, "budget": Budget(scenarios=11)}
        small = experiment.model_copy(update=spent)
        lines = findable(small, list(configurations(small)), SETTINGS)
        assert lines[1:] == [
            (
                "warning: smoke can decide nothing: 6 further scenarios within the budget, "
                "p < 0.01 takes 7"
            ),
        ]
        larger = experiment.model_copy(update={"panels": panels})
        assert len(findable(larger, list(configurations(larger)), SETTINGS)) == 1

    def test_by_the_baseline_a_ratio_for_each_metric(self) -> None:
        """An accepted night says where each configuration has some of each metric."""
        world = accepted(World(experiment="smoke"))
        panels = Panels(regression=world.scenarios, confirm=world.scenarios, fresh=0)
        experiment = load_experiment("smoke").model_copy(update={"panels": panels})
        lines = findable(experiment, list(configurations(experiment)), SETTINGS)
        assert lines[0].endswith("by the outcomes of the baseline (night 2026-11-19):")
        assert lines[1].startswith("  today: offline_partition_rate 1.")
        assert "commit_latency_p99_ms 1.10 x" in lines[1]
        assert "records_lost from none only" in lines[1]
        assert lines[2] == "  today-without-lock: not part of that night"
