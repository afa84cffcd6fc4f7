"""A pair of a night again, and what is run beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.experiment.plan import code_version
from isr_pipeline.night.pair import baseline_of_night, scenario_of_night
from isr_pipeline.verdicts import acceptance
from isr_pipeline.verdicts.judge import judge_night
from tests.verdicts.synthetic import LATER, NIGHT, World, home, scaled

__all__ = ["home"]

LAG = "replica.lag.time.max.ms"
CHOSEN = ("synthetic", LATER, "regression-0003", "lag-20s")


def two_nights(after: dict[str, int], version: str | None = None) -> None:
    """A night that was accepted, and a later one with some settings of `lag-20s`."""
    world = World(values={"lag-20s": {LAG: 20_000}}, code_version=version or code_version())
    judge_night(world.write(NIGHT))
    acceptance.accept("synthetic", NIGHT, "Ada", "first", version=world.code_version)
    later = replace(world, values={"lag-20s": after}, code_version=code_version())
    judge_night(later.write(LATER, scaled("isr_flaps_per_partition_hour", 2.0, "lag-20s")))


@pytest.mark.usefixtures("home")
class TestBaseline:
    """The run that stands above tonight's."""

    def test_it_has_the_baselines_settings(self) -> None:
        """The same scenario, another configuration."""
        two_nights({LAG: 6_000})
        before = baseline_of_night(*CHOSEN)
        assert before is not None
        assert before.config[LAG] == 20_000
        assert scenario_of_night(*CHOSEN).config[LAG] == 6_000

    def test_the_same_settings_are_not_run_twice(self) -> None:
        """There is nothing to compare."""
        two_nights({LAG: 20_000})
        assert baseline_of_night(*CHOSEN) is None

    def test_a_baseline_of_another_kernel_is_not_imitated(self) -> None:
        """This kernel would not make that run."""
        two_nights({LAG: 6_000}, "1234abc+kernel.0123456789ab")
        assert baseline_of_night(*CHOSEN) is None

    def test_no_baseline(self) -> None:
        """A first night stands alone."""
        judge_night(World().write(LATER))
        assert baseline_of_night(*CHOSEN) is None


def test_an_unknown_scenario_is_refused(home: Path) -> None:
    """The line names some that there are, and how many more."""
    del home
    judge_night(World().write(LATER))
    with pytest.raises(InputError, match=r"--scenario: x; allowed: confirm-0000, .* more"):
        scenario_of_night("synthetic", LATER, "x", "lag-20s")
