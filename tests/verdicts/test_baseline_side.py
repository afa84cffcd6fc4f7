"""A baseline whose code no longer runs, or gives other numbers: the night goes on without it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from isr_pipeline.base.home import Home
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.kernels.source import Source, read_package, write_archive
from isr_pipeline.verdicts import acceptance, baseline, stages
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import OPEN, NightVerdict, Status, load_verdict
from isr_pipeline.verdicts.sentences import reason
from isr_pipeline.worlds.columns import ADDED, COUNTED
from tests.approved import Approved
from tests.blame.cases import SCENARIO
from tests.verdicts.synthetic import LATER, NIGHT, Change, World

if TYPE_CHECKING:
    import numpy as np

    from isr_pipeline.experiment.plan import Plan

FLAPS = "isr_flaps_per_partition_hour"
THIRD = "2026-11-21"
ADVICE = (
    "; accept a night of today's code: "
    "isr-pipeline baseline accept NIGHT --experiment synthetic --why 'REASON'"
)


@dataclass
class OneScenario(World):
    """A world whose scenarios are all one that a kernel runs within a second."""

    def scenario_rows(self, panel: str) -> pd.DataFrame:
        """The panel's rows of the scenarios table."""
        return super().scenario_rows(panel).assign(scenario_json=json.dumps(SCENARIO))


def kept(source: Source) -> str:
    """Keep sources as nights do; the code version that they are found by."""
    version = f"1234abc+kernel.{source.kernel_digest[:12]}"
    home = Home.from_environment()
    file = home.kernels / f"{source.kernel_digest[:12]}.tar.xz"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_archive(replace(source, code_version=version), file)
    return version


def broken() -> Source:
    """A kernel that a newer library keeps from starting."""
    whole = read_package()
    files = {**whole.files, "worlds/run.py": b"raise ImportError('numba has no jitclass')\n"}
    return replace(whole, files=files)


def open_and_worse(
    panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
) -> None:
    """Flaps of `today` rise in every scenario; those of `lag-20s` in too few to tell."""
    if name == "today":
        columns[FLAPS] *= 3.0
    if name == "lag-20s":
        columns[FLAPS][::20] *= 6.0


def both_open(
    panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
) -> None:
    """Flaps of two configurations rise in too few scenarios to tell."""
    if name in ("today", "lag-20s"):
        columns[FLAPS][::20] *= 6.0


def accepted(world: World, night: str = NIGHT, only: tuple[str, ...] = ()) -> None:
    """Judge and accept a night in which nothing changed."""
    plan = world.write(night)
    judge_night(plan)
    acceptance.accept(
        world.experiment, night, "Ada", f"of {night}", only=only, version=world.code_version
    )


def looked_at(world: World, night: str, change: Change) -> Plan:
    """A night after its confirm panel, before the first stage that has a side of the baseline."""
    plan = world.write(night, change)
    judge_night(plan)
    assert stages.why_not(plan, "confirm") == ""
    stages.look_night(plan, 1)
    return plan


def of_new_code(world: World) -> World:
    """The same world, simulated by the code that runs now."""
    version = f"5678def+kernel.{read_package().kernel_digest[:12]}"
    return replace(world, code_version=version)


def given_up(verdict: NightVerdict, name: str, why: str) -> None:
    """Check that a configuration stays open and says why."""
    one = verdict.configuration(f"id-{name}")
    assert one.metric(FLAPS).status in OPEN
    assert reason(one).endswith(f"; {why}")


@pytest.mark.usefixtures("home")
class TestNoLongerRuns:
    """The kept sources do not start with today's libraries."""

    WORLD = World(scenarios=60, budget=660)

    def test_what_was_found_before_is_told(self, approved: Approved) -> None:
        """The night has a verdict, with the regression; what is open says how to go on."""
        world = replace(self.WORLD, code_version=kept(broken()))
        accepted(world)
        plan = looked_at(of_new_code(world), LATER, open_and_worse)
        assert load_verdict("synthetic", LATER).awaits_confirm == ("id-lag-20s",)
        why = stages.why_not(plan, "further-1")
        approved(why)
        verdict = stages.decide(plan)
        assert verdict.red
        assert verdict.configuration("id-today").status is Status.REGRESSED
        given_up(verdict, "lag-20s", why)

    def test_configurations_of_another_code_go_on(self) -> None:
        """One that was accepted with today's code since is simulated further; the other is not."""
        world = replace(self.WORLD, code_version=kept(broken()))
        accepted(world)
        accepted(of_new_code(world), LATER, only=("lag-20s",))
        plan = looked_at(of_new_code(world), THIRD, both_open)
        assert load_verdict("synthetic", THIRD).awaits_confirm == ("id-today", "id-lag-20s")
        assert stages.why_not(plan, "further-1") == ""
        verdict = load_verdict("synthetic", THIRD)
        assert verdict.awaits_confirm == ("id-lag-20s",)
        why = f"the baseline's code cannot be run: ImportError: numba has no jitclass{ADVICE}"
        given_up(verdict, "today", why)

    def test_it_can_be_accepted_away(self) -> None:
        """After a night of today's code was accepted, the next one is simulated further."""
        world = replace(self.WORLD, code_version=kept(broken()))
        accepted(world)
        accepted(of_new_code(world), LATER)
        plan = looked_at(of_new_code(world), THIRD, both_open)
        assert stages.why_not(plan, "further-1") == ""
        assert len(load_verdict("synthetic", THIRD).awaits_confirm) == 2


@pytest.mark.usefixtures("home")
def test_another_outcome(monkeypatch: pytest.MonkeyPatch, approved: Approved) -> None:
    """A pair that is repeated and is not what was accepted: nothing is added, and it says so."""
    monkeypatch.setattr(baseline, "Kernel", partial(Kernel, compiled=False))
    world = OneScenario(scenarios=60, budget=660, code_version=kept(read_package()))
    accepted(world)
    later = replace(world, code_version="5678def+kernel.000000000000")
    plan = looked_at(later, LATER, open_and_worse)
    why = stages.why_not(plan, "further-1")
    approved(why)
    given_up(stages.decide(plan), "lag-20s", why)


def test_a_table_of_an_older_release() -> None:
    """It has what was measured then, and that is compared; what both have must agree."""
    outcome = dict.fromkeys(COUNTED, 1)
    older = {name: 1 for name in COUNTED if name not in ADDED}
    assert baseline._is_as_accepted(outcome, older)
    assert not baseline._is_as_accepted(outcome, {**older, "records_lost": 2})
