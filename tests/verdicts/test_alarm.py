"""What an alarm takes, said before a night is run."""

from __future__ import annotations

from isr_pipeline.experiment.stages import Budget
from isr_pipeline.verdicts.looks import Reach, reach_of
from isr_pipeline.verdicts.quantities import load_settings
from tests.approved import Approved

SETTINGS = load_settings()
SHIPPED = reach_of({"regression": 200, "confirm": 200}, Budget(scenarios=4000), SETTINGS)


def test_seven_metrics_of_one_configuration() -> None:
    """Two thirds of 0.01 are left at the last look."""
    assert (SHIPPED.scenarios, SHIPPED.further, SHIPPED.least) == (200, 3800, 11)
    assert 7 * 2.0**-SHIPPED.least < 0.67 * SETTINGS.confirm_p < 7 * 2.0 ** -(SHIPPED.least - 1)


def test_in_words(approved: Approved) -> None:
    """How many scenarios must differ, and how many get worse."""
    approved(SHIPPED.line)


def test_a_budget_that_can_decide_nothing(approved: Approved) -> None:
    """Six scenarios beyond the standing panel confirm nothing; a larger budget does."""
    panels = {"regression": 5, "confirm": 6}
    approved(reach_of(panels, Budget(scenarios=11), SETTINGS).line)
    assert reach_of(panels, Budget(scenarios=4000), SETTINGS).decides


def test_as_many_as_an_alarm_takes_are_enough() -> None:
    """One fewer is not."""
    assert Reach(scenarios=8, further=10, least=10).decides
    assert not Reach(scenarios=8, further=9, least=10).decides
