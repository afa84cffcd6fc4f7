"""A state folder of an older release: what of it is refused, and what goes on beside it.

`tests/data/state/README.md` says how the folders were made.
"""

from __future__ import annotations

import json
import tarfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import Home
from isr_pipeline.cli import app
from isr_pipeline.experiment.plan import Plan, make_plan
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.night.status import Status as NightStatus
from isr_pipeline.night.status import folder_of, nights, write_status
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.tables import pairs, store
from isr_pipeline.tables.schemas import SCHEMAS
from isr_pipeline.verdicts import acceptance, baseline
from isr_pipeline.verdicts.changes import changes_of
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.quantities import load_settings
from isr_pipeline.verdicts.record import Status, VerdictDamaged, load_verdict
from isr_pipeline.verdicts.sentences import reason
from isr_pipeline.worlds.columns import METRICS
from isr_pipeline.worlds.run import run as run_today
from tests.approved import Approved
from tests.blame.cases import LAG, SCENARIO

STATES = Path(__file__).resolve().parents[1] / "data" / "state"
EXPERIMENT = "smoke"
ACCEPTED, LATER, TONIGHT = "2026-11-21", "2026-11-22", "2026-11-23"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home that 0.1.0 wrote, brought to another place."""
    return unpacked_home("0.1.0", tmp_path, monkeypatch)


@pytest.fixture
def last_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home that 0.2.0 wrote, brought to another place."""
    return unpacked_home("0.2.0", tmp_path, monkeypatch)


def unpacked_home(release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Unpack the home of a release."""
    with tarfile.open(STATES / f"{release}.tar.xz") as packed:
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


def refused(*arguments: str) -> str:
    """Run a command of today's that is refused; why."""
    with pytest.raises((InputError, Refused)) as refusal:
        CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    line = str(refusal.value)
    assert "\n" not in line
    return line


def simulated(night: str) -> Plan:
    """Plan a night with today's code and simulate its standing panel, without Spark."""
    plan = make_plan(EXPERIMENT, night)
    schemas = {name: SCHEMAS[name] for name in ("outcomes", "events")}
    drawn = [asdict(row) for row in draw_panel(plan.definition.source, "regression")]
    schema = SCHEMAS["scenarios"]
    scenarios = pa.Table.from_pylist(drawn, schema=schema)
    store.write_table("scenarios", EXPERIMENT, night, scenarios.to_pandas(), schema=schema)
    found = pairs.simulate(scenarios, plan.configurations, schemas, lambda _count, _cost: None)
    rows = pa.concat_tables([table for name, table in found if name == "outcomes"])
    store.write_table("outcomes", EXPERIMENT, night, rows.to_pandas(), schema=schemas["outcomes"])
    plan.save(Home.from_environment().night_dir(EXPERIMENT, night) / "plan.json")
    write_status(folder_of(EXPERIMENT, night), NightStatus("unchanged"))
    return plan


@pytest.mark.usefixtures("home")
class TestRefused:
    """Each file of another format is refused in one line that says what to do."""

    @pytest.mark.parametrize("command", [("night", "show"), ("why",), ("blame",)])
    def test_a_plan(self, home: Home, command: tuple[str, ...]) -> None:
        """Whatever is asked about a night reads its plan first."""
        config = () if command == ("night", "show") else ("today",)
        file = home.night_dir(EXPERIMENT, LATER) / "plan.json"
        line = refused(*command, LATER, *config, "--experiment", EXPERIMENT)
        assert line == f"{file}: format: 1; allowed: 4; run the night again"

    def test_a_pair_again(self, home: Home) -> None:
        """So does a pair of it."""
        pair = ("--scenario", "regression-00003", "--config", "solution-2", "--json", "-")
        line = refused("simulate", "--night", LATER, *pair)
        assert line.endswith("plan.json: format: 1; allowed: 4; run the night again")

    def test_a_verdict(self) -> None:
        """With the command."""
        with pytest.raises(VerdictDamaged) as refusal:
            load_verdict(EXPERIMENT, LATER)
        assert str(refusal.value) == (
            f"experiment {EXPERIMENT}, night {LATER}: verdict.json has format 1, this release "
            f"reads 5; run it again: isr-pipeline night run --night {LATER} "
            f"--experiment {EXPERIMENT}"
        )

    def test_a_baseline(self) -> None:
        """`baseline show` says that one has to be accepted."""
        assert refused("baseline", "show", "--experiment", EXPERIMENT) == (
            "baseline.json has format 1, this release reads 5: "
            "a night of today's code has to be accepted"
        )

    def test_an_acceptance(self) -> None:
        """A night of another format cannot be accepted."""
        with pytest.raises(VerdictDamaged, match=r"verdict\.json has format 1"):
            acceptance.accept(EXPERIMENT, LATER, "Ada", "again")


@pytest.mark.usefixtures("home")
class TestBeside:
    """Nights of today beside older ones."""

    def test_list(self) -> None:
        """Older nights are listed with their status."""
        rows = json.loads(run("night", "list", "--json"))
        assert [(row["night"], row["status"]) for row in rows] == [
            (ACCEPTED, "baseline"),
            (LATER, "unchanged"),
        ]

    def test_tonight(self) -> None:
        """It is no data against the older baseline; its report is drawn; it can be accepted."""
        plan = simulated(TONIGHT)
        verdict = judge_night(plan)
        assert verdict.status is Status.NO_DATA
        assert reason(verdict.configurations[0]).startswith("baseline.json has format 1, ")
        assert "has to be accepted" in render(read_night(plan))

    def test_prune(self, home: Home) -> None:
        """Nights stay as long as nobody can tell which was accepted; then older ones go whole."""
        write_status(folder_of(EXPERIMENT, TONIGHT), NightStatus("unchanged"))
        line = refused("night", "prune", "--keep", "1")
        assert line.startswith(f"{EXPERIMENT}: baseline.json has format 1, ")
        assert line.endswith("; nothing was removed")
        baseline.forget(EXPERIMENT)
        assert run("night", "prune", "--keep", "1").endswith("2 nights removed\n")
        assert nights() == [(EXPERIMENT, TONIGHT)]
        assert not list(home.path.rglob(f"night={LATER}"))


class TestTheLastRelease:
    """0.2.0: its baseline, and the kernel that is kept with it, are served by today's code."""

    OVERRIDES: ClassVar[dict[str, Any]] = {LAG: 4_000}

    @pytest.mark.usefixtures("last_home")
    def test_a_night_is_judged_against_its_baseline(self) -> None:
        """Every configuration is compared: none is without data."""
        verdict = judge_night(simulated(TONIGHT))
        assert verdict.baseline is not None
        assert Status.NO_DATA not in {one.status for one in verdict.configurations}

    @pytest.mark.usefixtures("last_home")
    def test_what_its_baseline_does_not_have_is_said(self, approved: Approved) -> None:
        """Later metrics are not compared, all others are; one line says which."""
        plan = simulated(TONIGHT)
        verdict = judge_night(plan)
        compared = {one.metric for each in verdict.configurations for one in each.metrics}
        accepted = baseline.load(EXPERIMENT)
        assert accepted is not None
        had = {name for name, one in METRICS.items() if one.top in accepted.outcomes}
        tested = set(load_settings().metrics)
        assert compared == tested & had != tested
        lines = changes_of(plan).lines({}, 100)
        approved([line for line in lines if "accepted without" in line])

    @pytest.mark.usefixtures("last_home")
    def test_its_kernel_runs(self) -> None:
        """Its files lie where that release had them; it gives today's outcome, in other steps."""
        record = baseline.show(EXPERIMENT)
        assert record is not None
        source = baseline.baseline_source(record)
        assert "errors.py" in source.files
        with Kernel(source, "the baseline's code", compiled=False) as kernel:
            ran = kernel.run(SCENARIO, self.OVERRIDES)
        assert ran.problem == ""
        today = run_today(apply(scenario_from_json(json.dumps(SCENARIO)), self.OVERRIDES))
        same = {name: value for name, value in ran.outcome.items() if name != "kernel_events"}
        assert same == {name: today.outcome[name] for name in same}
