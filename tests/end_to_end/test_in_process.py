"""A night without Airflow: the tables, verdict and exit status of the same night by Airflow."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import psutil
import pytest

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.night.status import KILLED, WITHOUT_VERDICT
from tests.end_to_end.conftest import EXPERIMENT, Site
from tests.end_to_end.test_night import digests

NIGHT = "2026-10-05"

pytestmark = pytest.mark.slow


def in_process(site: Site, *more: str, status: int = 0) -> str:
    """Run the night in one program."""
    return site.night(NIGHT, "--in-process", *more, status=status)


@pytest.fixture(scope="module")
def by_airflow(site: Site) -> dict[str, Any]:
    """The night as `make nightly` has it."""
    site.night(NIGHT)
    return site.show(NIGHT)


@pytest.fixture(scope="module")
def alone(site: Site, by_airflow: dict[str, Any]) -> dict[str, Any]:
    """The same night again, without Airflow; what it said, and the night."""
    said = in_process(site)
    return {"said": said, **site.show(NIGHT)}


class TestInProcess:
    """Airflow adds nothing to a result."""

    def test_same_tables(self, alone: dict[str, Any], by_airflow: dict[str, Any]) -> None:
        """Every table has the same bytes in the same order."""
        assert digests(alone) == digests(by_airflow)

    def test_same_verdict(self, alone: dict[str, Any], by_airflow: dict[str, Any]) -> None:
        """State, headline and every configuration's verdict."""
        for name in ("status", "headline", "configs", "panel_digest"):
            assert alone[name] == by_airflow[name]

    def test_says_every_step(self, alone: dict[str, Any]) -> None:
        """Each step, and how far the simulation is; then the night."""
        assert "simulate [kip-501]" in alone["said"]
        assert "pairs/s" in alone["said"]
        assert f"night {NIGHT} of {EXPERIMENT}: " in alone["said"]
        assert alone["dag_run_id"].startswith("in-process__")

    def test_mlflow_has_it_once(self, site: Site, alone: dict[str, Any]) -> None:
        """It replaces what the DAG run had logged."""
        assert site.mlflow_runs(NIGHT) == 1 + len(alone["configs"])

    def test_ends_clean(self, site: Site, alone: dict[str, Any]) -> None:
        """No process is left, and nothing half-written."""
        assert alone
        assert site.processes() == []
        assert site.debris() == []

    def test_red_night_is_exit_status_one(self, site: Site, alone: dict[str, Any]) -> None:
        """A red verdict, here `no-data`: the accepted baseline is of another panel."""
        site.run("baseline", "accept", NIGHT, "--experiment", EXPERIMENT, "--why", "first")
        accepted = digests(site.show(NIGHT))  # with its confirm panel
        refused = in_process(site, "--panel-size", "4", status=1)
        assert "--replace" in refused
        assert digests(site.show(NIGHT)) == accepted
        said = in_process(site, "--panel-size", "4", "--replace", status=1)
        assert "no-data" in said
        in_process(site, "--replace")
        assert digests(site.show(NIGHT))["outcomes"] == digests(alone)["outcomes"]


class TestOneDay:
    """README's steps on one day: accept it, change something, run the next."""

    CHANGED = "broker.session.timeout.ms: 18000"

    @pytest.fixture
    def config(self, tmp_path: Path) -> Path:
        """The shipped files, in which the reference waits longer for a dead broker."""
        config = Path(shutil.copytree(REPOSITORY / "config", tmp_path / "config"))
        file = config / "experiments" / f"{EXPERIMENT}.yaml"
        head, name, rest = file.read_text().partition("      - name: today\n")
        file.write_text(f"{head}{name}        set: {{{self.CHANGED}}}\n{rest}")
        return config

    def test_every_command_that_a_red_run_prints(
        self, site: Site, alone: dict[str, Any], config: Path
    ) -> None:
        """None of them refuses or hides what got worse, in whatever order they are run."""
        assert alone
        more = {"ISR_PIPELINE_CONFIG": str(config)}
        site.run("baseline", "accept", NIGHT, "--experiment", EXPERIMENT, "--why", "first")
        night = ("night", "run", "--experiment", EXPERIMENT, "--night", NIGHT, "--in-process")
        said = site.run(*night, status=1, more=more)
        told = [line.removeprefix("what to do").strip() for line in said.splitlines()]
        commands = [line.split()[1:] for line in told if line.startswith("isr-pipeline ")]
        ask, why, blame, accept = commands
        assert self.CHANGED.partition(":")[0] in site.run(*blame, more=more)
        assert "decided by broker.session.timeout.ms" in site.run(*why, more=more)
        site.run(*ask, "--in-process", status=1, more=more)
        assert site.show(NIGHT)["status"] == "regressed"
        accepted = site.run(*accept[: accept.index("--why")], "--why", "meant", more=more)
        assert "absorbed, and not called again:" in accepted


class TestStopped:
    """Cut off in the middle."""

    def start(self, site: Site) -> Any:
        """Start a night, and return when it simulates; nothing listens beyond the loopback."""
        command = ("night", "run", "--experiment", EXPERIMENT, "--night", NIGHT, "--in-process")
        started = site.start(*command)
        started.wait_for("simulate")
        assert site.open_ports() == []
        return started

    def later(self, site: Site) -> str:
        """What the list says of a run since the one that is the night, which stays."""
        rows = site.json("night", "list", "--experiment", EXPERIMENT)
        row = next(one for one in rows if one["night"] == NIGHT)
        assert row["status"] not in WITHOUT_VERDICT
        return str(row["reason"])

    def test_ctrl_c(self, site: Site, alone: dict[str, Any]) -> None:
        """Exit status 130, and the night says so."""
        assert alone
        assert self.start(site).interrupt() == 130
        assert self.later(site).endswith(" was interrupted: stopped by hand")
        assert site.processes() == []
        assert site.debris() == []

    def test_ctrl_c_while_it_waits_for_another(self, site: Site) -> None:
        """Nothing of it was begun, so nothing needs to be run again."""
        writing = self.start(site)
        command = ("night", "run", "--experiment", EXPERIMENT, "--night", "2026-10-06")
        waiting = site.start(*command, "--in-process")
        waiting.wait_for("another night is running")
        assert waiting.interrupt() == 130
        assert waiting.said().splitlines()[-1] == "stopped while waiting"
        assert writing.interrupt() == 130
        assert "2026-10-06" not in site.run("night", "list")

    def test_kill_9(self, site: Site, alone: dict[str, Any]) -> None:
        """Nobody notes it; the run is interrupted all the same, and the night is run again."""
        assert alone
        started = self.start(site)
        assert self.later(site).endswith(" is under way")
        started.kill()
        assert self.later(site).endswith(f" was interrupted: {KILLED}")
        site.wait_for_the_end()
        in_process(site)
        assert self.later(site) == ""
        assert site.debris() == []
        assert psutil.pid_exists(started.process.pid) is False
