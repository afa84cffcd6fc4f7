"""A state folder of an older release: shown, compared with, accepted and pruned by today's code.

`tests/data/state/README.md` says how the folders were made.
"""

from __future__ import annotations

import json
import tarfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from isr_pipeline.cli import app
from isr_pipeline.errors import Refused
from isr_pipeline.experiment.plan import Plan, make_plan
from isr_pipeline.home import Home
from isr_pipeline.night.status import Status as NightStatus
from isr_pipeline.night.status import nights, write_status
from isr_pipeline.outcomes import pairs, store
from isr_pipeline.outcomes.schemas import SCHEMAS
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.scenarios.former_names import STRATA
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.verdicts import acceptance, baseline
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.model import Status
from isr_pipeline.worlds.columns import METRICS, OUTCOME_COLUMNS

STATES = Path(__file__).resolve().parents[1] / "data" / "state"
EXPERIMENT = "smoke"
ACCEPTED, LATER, TONIGHT = "2026-11-21", "2026-11-22", "2026-11-23"

CONFIGURATIONS = (
    "today",
    "today-without-lock",
    "solution-1",
    "solution-1-locked",
    "solution-2",
)


@pytest.fixture(params=sorted(STATES.glob("*.tar.xz")), ids=lambda file: file.name)
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home that an older release wrote, brought to another place."""
    with tarfile.open(request.param) as packed:
        # Python 3.11.2, which Debian 12 has, knows no filters yet
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(tmp_path)
    for name in ("ISR_PIPELINE_ROOT", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    return Home.from_environment()


def run(*arguments: str) -> str:
    """Run a command of today's; its output."""
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def plan_of(night: str) -> Plan:
    """The plan that the older release wrote."""
    return Plan.load(Home.from_environment().night_dir(EXPERIMENT, night) / "plan.json")


def simulated(night: str) -> Plan:
    """Plan a night with today's code and simulate its regression panel, without Spark."""
    plan = make_plan(EXPERIMENT, night)
    schemas = {name: SCHEMAS[name] for name in ("outcomes", "events")}
    drawn = [asdict(row) for row in draw_panel(plan.definition.source, "regression", night)]
    schema = SCHEMAS["scenarios"]
    scenarios = pa.Table.from_pylist(drawn, schema=schema)
    store.write_table("scenarios", EXPERIMENT, night, scenarios.to_pandas(), schema=schema)
    found = pairs.simulate(scenarios, plan.configurations, schemas, lambda _count, _cost: None)
    rows = pa.concat_tables([table for name, table in found if name == "outcomes"])
    store.write_table("outcomes", EXPERIMENT, night, rows.to_pandas(), schema=schemas["outcomes"])
    plan.save(Home.from_environment().night_dir(EXPERIMENT, night) / "plan.json")
    write_status(EXPERIMENT, night, NightStatus("unchanged"))
    return plan


@pytest.mark.usefixtures("home")
class TestShown:
    """`night list`, `night show`, `baseline show` and the report."""

    def test_list(self) -> None:
        """Both nights are listed with their status."""
        rows = json.loads(run("night", "list", "--json"))
        assert [(row["night"], row["status"]) for row in rows] == [
            (ACCEPTED, "baseline"),
            (LATER, "unchanged"),
        ]

    def test_show(self) -> None:
        """Headline, verdicts, every metric of today by its name of today, rows of every table."""
        shown: dict[str, Any] = json.loads(run("night", "show", LATER, "--json"))
        assert shown["headline"] == "5 of 5 configurations unchanged"
        assert [(one["name"], one["verdict"]) for one in shown["configs"]] == [
            (name, "unchanged") for name in CONFIGURATIONS
        ]
        assert {name: one["rows"] for name, one in shown["tables"].items()} == {
            "scenarios": 20, "outcomes": 44, "events": 54, "summary": 690, "verdicts": 30,
        }  # fmt: skip
        for one in shown["configs"]:
            assert set(one["metrics"]) == set(METRICS)
        today = shown["configs"][0]["metrics"]
        assert today["isr_flaps_per_partition_hour"] == pytest.approx(5.5556, abs=1e-4)

    def test_on_a_terminal(self) -> None:
        """No column of the table is empty."""
        lines = run("night", "show", LATER).splitlines()
        (row,) = (line for line in lines if line.startswith("today "))
        assert row.split() == ["today", "1.71", "0.0664", "0", "5.56", "1335", "unchanged"]

    def test_outcomes_have_the_names_of_today(self) -> None:
        """Every outcome column of today is in an older table, under today's name."""
        for rows in (
            store.read_table("outcomes", EXPERIMENT, LATER),
            store.read_arrow("outcomes", EXPERIMENT, LATER).to_pandas(),
        ):
            assert set(OUTCOME_COLUMNS) <= set(rows.columns)
        loaded = baseline.load(EXPERIMENT)
        assert loaded is not None
        assert set(OUTCOME_COLUMNS) <= set(loaded.outcomes.columns)

    def test_strata_and_metrics_have_the_names_of_today(self) -> None:
        """A stratum or metric that has another name now is not found under its former one."""
        summary = store.read_table("summary", EXPERIMENT, LATER)
        assert set(METRICS) == set(summary["metric"])
        now = set(plan_of(LATER).definition.profile.strata) - set(STRATA) | set(STRATA.values())
        assert set(summary["stratum"]) - {"all"} <= now
        loaded = baseline.load(EXPERIMENT)
        assert loaded is not None
        assert not set(loaded.scenarios["stratum"]) & set(STRATA)

    def test_digests_are_those_that_were_written(self) -> None:
        """A new name changes no digest: the outcomes are still those that were judged."""
        rows = store.read_table("outcomes", EXPERIMENT, LATER)
        regression = rows[rows["panel"] == "regression"]
        written = json.loads(
            (Home.from_environment().night_dir(EXPERIMENT, LATER) / "verdict.json").read_text()
        )
        digest = store.digest(regression, store.TABLES["outcomes"])
        assert digest == written["outcomes_digest"]

    def test_baseline_show(self) -> None:
        """Who accepted what, and why."""
        said = run("baseline", "show", "--experiment", EXPERIMENT)
        assert said.startswith(f"{EXPERIMENT}: night {ACCEPTED}, accepted by root at 2026-11-23T")
        assert said.endswith(": first night\n")

    def test_report(self) -> None:
        """The report of an older night is drawn again, and names the version that made it."""
        page = render(read_night(plan_of(LATER)))
        assert "5 of 5 configurations unchanged" in page
        assert "Made by isr-pipeline 0.1.0, code ea3dc14+kernel." in page

    def test_a_pair_again(self) -> None:
        """A pair of an older night is simulated again."""
        arguments = ("--scenario", "regression-00003", "--config", "solution-2", "--json", "-")
        found = json.loads(run("simulate", "--night", LATER, *arguments))
        assert set(found["outcome"]) == set(OUTCOME_COLUMNS)


@pytest.mark.usefixtures("home")
class TestCompared:
    """A night against a baseline that an older release accepted."""

    def test_every_metric_is_compared(self) -> None:
        """No configuration is new, refused or without data; each tested metric has two values."""
        verdict = judge_night(plan_of(LATER))
        assert verdict.baseline is not None
        assert verdict.baseline.night == ACCEPTED
        assert sum(len(one.metrics) for one in verdict.configurations) == len(CONFIGURATIONS) * 7
        assert {one.status for one in verdict.configurations} == {Status.UNCHANGED}
        for one in verdict.configurations:
            assert all(metric.baseline_value is not None for metric in one.metrics)

    def test_tonights_report_shows_the_older_nights(self) -> None:
        """The report of tonight is drawn with older nights in its trend."""
        plan = simulated(TONIGHT)
        judge_night(plan)
        data = read_night(plan)
        assert "compared with night" in render(data).lower()

    def test_another_panel_says_how_to_go_on(self) -> None:
        """Panels of 0.1.0 were no sequences: no data, in one line that says what to do."""
        verdict = judge_night(simulated(TONIGHT))
        assert verdict.status is Status.NO_DATA
        reason = verdict.configurations[0].reason
        assert "\n" not in reason
        assert reason.startswith(f"baseline of night {ACCEPTED} is of another regression panel (")
        assert reason.endswith(
            f"; accept this night: isr-pipeline baseline accept {TONIGHT} "
            "--experiment smoke --why 'REASON'"
        )


@pytest.mark.usefixtures("home")
class TestKept:
    """Accepting and pruning what an older release wrote."""

    def test_accept_a_whole_night(self) -> None:
        """A night whose confirm panel was simulated can be accepted again."""
        record = acceptance.accept(EXPERIMENT, ACCEPTED, "Ada", "again")
        assert (record.night, record.accepted_by) == (ACCEPTED, "Ada")
        loaded = baseline.load(EXPERIMENT)
        assert loaded is not None
        assert isinstance(loaded.outcomes, pd.DataFrame)
        assert set(OUTCOME_COLUMNS) <= set(loaded.outcomes.columns)

    def test_a_night_without_its_confirm_panel_is_refused_in_one_line(self) -> None:
        """Other code cannot add the missing outcomes: the line says to run the night again."""
        with pytest.raises(Refused) as refused:
            acceptance.accept(EXPERIMENT, LATER, "Ada", "again")
        line = str(refused.value)
        assert line.startswith(f"night {LATER}: confirm outcomes are missing and its code version")
        assert line.endswith(
            f"run it again: isr-pipeline night run --night {LATER} --experiment smoke"
        )

    def test_prune(self, home: Home) -> None:
        """Older nights go whole; the accepted one stays, and with it the baseline."""
        write_status(EXPERIMENT, TONIGHT, NightStatus("unchanged"))
        assert run("night", "prune", "--keep", "1") == (
            f"removed {LATER} of {EXPERIMENT}\n1 nights removed\n"
        )
        assert nights() == [(EXPERIMENT, ACCEPTED), (EXPERIMENT, TONIGHT)]
        assert not list(home.path.rglob(f"night={LATER}"))
        assert baseline.load(EXPERIMENT) is not None
