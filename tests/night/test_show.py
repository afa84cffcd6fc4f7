"""What other programs read of a night: `night show --json`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.cli import app
from isr_pipeline.night.publication import find_experiment
from isr_pipeline.night.status import (
    Status,
    check_has_come,
    check_night,
    folder_of,
    write_status,
)
from isr_pipeline.verdicts import acceptance
from isr_pipeline.verdicts.baseline import forget
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import VERDICT, accept_command
from tests.saying import refused
from tests.tables import from_table
from tests.verdicts.synthetic import LATER, NIGHT, World, decided, home, scaled

__all__ = ["home"]

FLAPS = "isr_flaps_per_partition_hour"
LAG = "replica.lag.time.max.ms"


def refuse(constant: str) -> None:
    """What JSON does not have: NaN and infinity."""
    pytest.fail(f"{constant} is no JSON")


@pytest.fixture
def told(home: Path) -> dict[str, Any]:
    """A night with one regression, and one configuration whose key changed, as the command has it.

    Args:
        home: a state folder.
    """
    assert home
    world = World(experiment="smoke")
    judge_night(world.write(NIGHT))
    acceptance.accept("smoke", NIGHT, "Ada", "first", version=world.code_version)
    world.values["lag-20s"] = {LAG: 12_500}
    plan = world.write(LATER, scaled(FLAPS, 2.0, "today"))
    judge_night(plan)
    decided(plan)
    write_status(folder_of("smoke", LATER), Status("regressed"))
    done = CliRunner().invoke(app, ["night", "show", LATER, "--experiment", "smoke", "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout, parse_constant=refuse)
    return found


def test_decisions_of_each_metric(told: dict[str, Any]) -> None:
    """Status, ratio, interval, scenarios, in all and by stratum; the interval holds the ratio."""
    today, *_ = told["configs"]
    assert today["name"] == "today"
    decisions = today["decisions"]
    flaps = decisions[FLAPS]
    assert flaps["status"] == today["verdict"] == "regressed"
    low, high = flaps["interval"]
    assert low <= flaps["ratio"] <= high
    assert flaps["ratio"] == pytest.approx(2.0)
    assert flaps["scenarios"] == 120
    assert set(flaps["strata"]) == {"stratum-0", "stratum-1"}
    for stratum in flaps["strata"].values():
        assert stratum["status"] == "regressed"
        assert stratum["ratio"] == pytest.approx(2.0)
    rest = [one for name, one in decisions.items() if name != FLAPS]
    assert {one["status"] for one in rest} == {"unchanged"}
    assert all({"ratio", "interval", "scenarios", "strata"} <= set(one) for one in rest)


def test_changed_of_each_configuration(told: dict[str, Any]) -> None:
    """The settings that are not the baseline's; nothing where nothing changed."""
    changed = {one["name"]: one["changed"] for one in told["configs"]}
    (one,) = changed["lag-20s"]
    assert (one["kind"], one["name"]) == ("key", LAG)
    assert (one["before"], one["after"]) == (12_000, 12_500)
    assert changed["today"] == []
    assert told["changed"] == []


def test_stages_and_scenarios(told: dict[str, Any]) -> None:
    """What was simulated further, and how many scenarios the longest took in all."""
    (stage,) = told["stages"]
    assert (stage["panel"], stage["scenarios"]) == ("confirm", 120)
    assert told["scenarios_used"] == 240


@pytest.mark.usefixtures("told")
def test_a_night_that_is_not_whole_is_not_to_be_accepted() -> None:
    """It was judged before it was stopped: what was found is said, and no advice to accept it."""
    forget("smoke")
    judge_night(World(experiment="smoke").write(LATER))
    to_do = {}
    for state in ("baseline", "interrupted"):
        write_status(folder_of("smoke", LATER), Status(state))
        done = CliRunner().invoke(app, ["night", "show", LATER, "--experiment", "smoke", "--json"])
        to_do[state] = json.loads(done.stdout)["to_do"]
    assert to_do == {"baseline": [accept_command("smoke", LATER)], "interrupted": []}


@pytest.mark.usefixtures("told")
def test_an_accepted_night_says_so() -> None:
    """It was a first night when it was judged; it is no longer advised to accept it."""
    forget("smoke")
    world = World(experiment="smoke")
    judge_night(world.write(NIGHT))
    acceptance.accept("smoke", NIGHT, "Ada", "first", version=world.code_version)
    write_status(folder_of("smoke", NIGHT), Status("baseline"))
    done = CliRunner().invoke(app, ["night", "show", NIGHT, "--experiment", "smoke", "--json"])
    told = json.loads(done.stdout)
    assert told["headline"].endswith("; this night is the baseline now")
    assert told["to_do"] == []


@pytest.mark.usefixtures("told")
def test_an_experiment_without_nights() -> None:
    """A name that was mistyped: the experiments that have nights are named."""
    said = refused(lambda: find_experiment(LATER, "smok"), Refused)
    assert said == f"there is no night {LATER} of smok; there are nights of smoke"


def test_a_damaged_verdict_is_said(told: dict[str, Any]) -> None:
    """The headline says so, on the screen and in JSON."""
    assert told["headline"]
    (folder_of("smoke", LATER) / VERDICT).write_text("{")
    done = CliRunner().invoke(app, ["night", "show", LATER, "--experiment", "smoke", "--json"])
    assert json.loads(done.stdout)["headline"] == (
        f"experiment smoke, night {LATER}: verdict.json is damaged; run the night again"
    )


@from_table
def test_a_night_is_a_date(night: str, said: str) -> None:
    """A night's name is a day of the calendar, written in one way."""
    assert refused(lambda: check_night(night)) == f"--night: {said}; allowed: a date, YYYY-MM-DD"


class TestToCome:
    """A night of a day that is to come is refused: Airflow would begin none of its tasks."""

    def test_tomorrow(self) -> None:
        """By UTC, which is said."""
        today = datetime.now(UTC).date()
        tomorrow = (today + timedelta(days=1)).isoformat()
        with pytest.raises(InputError) as caught:
            check_has_come(tomorrow)
        allowed = f"today ({today}, UTC) or an earlier date"
        assert str(caught.value) == f"--night: {tomorrow}; allowed: {allowed}"

    def test_today(self) -> None:
        """It may run from its first second on."""
        today = datetime.now(UTC).date().isoformat()
        assert check_has_come(today) == today

    @pytest.mark.parametrize("way", [[], ["--in-process"]])
    def test_on_the_command_line(self, home: object, way: list[str]) -> None:
        """Before anything starts, in Airflow and without."""
        assert home
        command = ["night", "run", "--experiment", "smoke", "--night", "2999-01-01", *way]
        refused = CliRunner().invoke(app, command)
        assert isinstance(refused.exception, InputError)
        assert refused.exception.args[:3] == ("--night", "", "2999-01-01")
