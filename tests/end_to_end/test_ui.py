"""`make ui`: both programs come up, a backfill runs in any order, one Ctrl-C ends everything."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.file import dag_id_of
from isr_pipeline.night.stack import free_port
from tests.end_to_end.conftest import EXPERIMENT, Site
from tests.end_to_end.test_night import dag_runs, note
from tools.rehearsal import Started, wait_until

NIGHTS = ("2026-11-15", "2026-11-14")
RUN = "by-hand"
NIGHTLY = dag_id_of(EXPERIMENT)


@pytest.fixture(scope="module")
def served(site: Site) -> Iterator[tuple[Site, Started]]:
    """Both programs, on ports of their own."""
    ports = {
        "ISR_PIPELINE_AIRFLOW_PORT": str(free_port()),
        "ISR_PIPELINE_MLFLOW_PORT": str(free_port()),
    }
    config = site.home / "config"
    shutil.copytree(REPOSITORY / "config", config)
    ports["ISR_PIPELINE_CONFIG"] = str(config)
    scheduled = config / "experiments" / "smoke.yaml"  # Airflow backfills no DAG without a schedule
    scheduled.write_text(f'schedule: "0 0 * * *"\n{scheduled.read_text()}')
    site = replace(site, variables=site.variables | ports)
    started = site.start("ui")
    started.wait_for("Ctrl-C stops both", 240)
    yield site, started
    if started.process.poll() is None:
        started.interrupt()


def put_off(site: Site) -> int:
    """How often a task had to wait for another run."""
    ((count,),) = site.airflow("select count(*) from task_reschedule")
    return int(count)


def noted(site: Site, run_id: str) -> str:
    """The same, once it is there: Airflow calls a DAG's callbacks some seconds after its end."""
    wait_until(lambda: note(site, run_id), lambda: f"{run_id} has no note", 60)
    return note(site, run_id)


def triggered(site: Site, dag_id: str, conf: dict[str, str], run: str = RUN) -> str:
    """State in which a run ends that was triggered with some parameters."""
    site.run("airflow", "dags", "unpause", dag_id)
    site.run(
        *("airflow", "dags", "trigger", dag_id, "--run-id", run, "--conf", json.dumps(conf)),
    )

    def state() -> str:
        ((found,),) = site.airflow("select state from dag_run where run_id = ?", run)
        return str(found)

    wait_until(lambda: state() in ("success", "failed"), state)
    return state()


class TestUi:
    """The supervisor of `make ui`, in the order of a session."""

    def test_says_where_and_how_to_log_in(self, served: tuple[Site, Started]) -> None:
        """Both addresses answer; the password is the one that logs in."""
        _, started = served
        for address in re.findall(r"http://127\.0\.0\.1:\d+", started.said()):
            with urllib.request.urlopen(address, timeout=30) as page:
                assert page.status == 200
        assert re.search(r"user admin, password \w+", started.said())

    def test_a_second_one_is_refused(self, served: tuple[Site, Started]) -> None:
        """On the same home other ports would not help: who runs there is named."""
        site, _ = served
        assert re.fullmatch(
            r"make ui \(process \d+\) runs Airflow on this home; wait until it ends\n",
            site.run("ui", status=1),
        )

    def test_a_port_in_use(self, served: tuple[Site, Started], tmp_path: Path) -> None:
        """On another home the port is said in one line, with what to do."""
        site, _ = served
        port = site.variables["ISR_PIPELINE_AIRFLOW_PORT"]
        assert site.run("ui", status=1, more={"ISR_PIPELINE_HOME": str(tmp_path)}) == (
            f"port {port} for airflow is in use; choose another: "
            f"ISR_PIPELINE_AIRFLOW_PORT={int(port) + 1} make ui\n"
        )

    def test_switching_on_starts_nothing(self, served: tuple[Site, Started]) -> None:
        """No scheduled run appears for a night that is past."""
        site, _ = served
        said = site.run("airflow", "dags", "list-runs", "isr_nightly_smoke", "--output", "plain")
        assert "scheduled__" not in said

    def test_nothing_listens_beyond_the_loopback(self, served: tuple[Site, Started]) -> None:
        """No part of Airflow, MLflow or Spark can be reached from another machine."""
        site, _ = served
        assert site.open_ports() == []

    @pytest.mark.slow
    def test_new_experiment_file_is_run_at_once(self, served: tuple[Site, Started]) -> None:
        """A file that Airflow's last reading of the DAG did not know is known to the next night."""
        site, _ = served
        folder = site.home / "config" / "experiments"
        text = (folder / "smoke.yaml").read_text()
        (folder / "written-now.yaml").write_text(text.replace("name: smoke", "name: written-now"))
        said = site.run(*("night", "run", "--experiment", "written-now", "--panel-size", "4"),
                        *("--night", "2026-11-13"))  # fmt: skip
        assert "night 2026-11-13 of written-now: baseline" in said

    @pytest.mark.slow
    def test_backfill_in_reverse_order(self, served: tuple[Site, Started]) -> None:
        """Two nights at once, the later one first: neither waits, and each has its tables."""
        site, _ = served
        before = len(dag_runs(site))
        site.run("airflow", "dags", "unpause", NIGHTLY)
        site.run(
            *("airflow", "backfill", "create", "--dag-id", NIGHTLY, "--run-backwards"),
            *("--max-active-runs", "2"),
            *("--from-date", min(NIGHTS), "--to-date", max(NIGHTS)),
        )

        def ended() -> bool:
            states = dag_runs(site)[before:]
            assert "failed" not in states
            return states == ["success", "success"]

        wait_until(ended, lambda: dag_runs(site))
        later, earlier = (site.show(night) for night in NIGHTS)
        assert later["status"] == earlier["status"]
        assert later["panel_digest"] == earlier["panel_digest"]
        assert later["tables"]["scenarios"] == earlier["tables"]["scenarios"]
        assert later["dag_run_id"].startswith("backfill__2026-11-15")
        for night in NIGHTS:
            assert site.mlflow_runs(night) == 1 + len(later["configs"])
        assert put_off(site) == 0
        for told in (later, earlier):
            line, night = told["headline"], told["night"]
            which = "" if night in line else f"{night} of {EXPERIMENT}: "  # as without a baseline
            assert noted(site, told["dag_run_id"]).startswith(f"**{which}{line}**")

    @pytest.mark.slow
    def test_an_acceptance_has_a_note(self, served: tuple[Site, Started]) -> None:
        """Accepted in Airflow's form: the page of the run says who accepted what, and why."""
        site, _ = served
        conf = {"night": NIGHTS[0], "experiment": EXPERIMENT, "why": "meant", "who": "Ada"}
        assert triggered(site, "isr_baseline_accept", conf) == "success"
        said = f"**night {NIGHTS[0]} is the baseline of {EXPERIMENT}, accepted by Ada: meant"
        assert noted(site, RUN).startswith(said)

    @pytest.mark.slow
    def test_the_accepted_date_again(self, served: tuple[Site, Started]) -> None:
        """By the form, after a change: red, and every command of its note can be run."""
        site, _ = served
        file = site.home / "config" / "experiments" / "smoke.yaml"
        head, name, rest = file.read_text().partition("      - name: today\n")
        change = "        set: {broker.session.timeout.ms: 18000}\n"
        file.write_text(f"{head}{name}{change}{rest}")
        assert triggered(site, NIGHTLY, {"night": NIGHTS[0]}, run="again") == "failed"
        commands = re.findall(r"`isr-pipeline (.*)`", noted(site, "again"))
        why, blame, _ = (shlex.split(command) for command in commands)
        assert "decided by broker.session.timeout.ms" in site.run(*why)
        assert "cause: broker.session.timeout.ms: 9000 to 18000" in site.run(*blame)
        assert site.show(NIGHTS[0])["status"] == "regressed"

    @pytest.mark.slow
    def test_a_misspelt_parameter_is_refused(self, served: tuple[Site, Started]) -> None:
        """The note of the failed run says which, and which there are."""
        site, _ = served
        assert triggered(site, NIGHTLY, {"nigth": NIGHTS[0]}, run="misspelt") == "failed"
        assert "plan failed: params: nigth; allowed: the parameters " in noted(site, "misspelt")

    def test_one_ctrl_c_ends_both(self, served: tuple[Site, Started]) -> None:
        """Exit status 0, and no process is left."""
        site, started = served
        assert started.interrupt() == 0
        assert started.said().endswith("stopping …\nstopped\n")
        assert site.processes() == []
