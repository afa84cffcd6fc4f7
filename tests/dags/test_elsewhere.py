"""Steps in another Python, which the Airflow Variable names."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from airflow.sdk.exceptions import AirflowException

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.version import version
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.night import one_step, steps, task_work
from isr_pipeline.night.airflow import wiring
from isr_pipeline.night.airflow.connections import settings
from isr_pipeline.night.airflow.elsewhere import checked, do, step_in
from isr_pipeline.verdicts.record import verdict_of
from isr_pipeline.verdicts.sentences import headline
from tests.approved import Approved
from tests.bare import bare
from tests.night.test_one_step import claimed_plan
from tests.saying import finished, refused
from tests.verdicts.synthetic import home

__all__ = ["home"]


def environment(folder: Path, script: str, of: str | None = None) -> str:
    """A Python of an environment with this package, as pip leaves both; what it does is told."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    listed = folder / "lib/python3.13/site-packages/isr_pipeline-1.dist-info"
    listed.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: isr-pipeline\nVersion: {of or version()}\n"
    (listed / "METADATA").write_text(text)
    return str(python)


class TestWhichPython:
    """Who may edit the Variable must not run programs by it."""

    @pytest.mark.parametrize(
        "name",
        ["python", "/bin/sh", "/opt/../bin/python", "/opt/isr/bin/pip", "/a/python -c x", ""],
    )
    def test_no_whole_path_of_a_python(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        """It is refused before any file is looked for."""
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", json.dumps({"python": name}))
        with pytest.raises(InputError) as caught:
            settings()
        assert (caught.value.where, caught.value.field) == (
            "Airflow Variable isr_pipeline",
            "python",
        )

    def test_without_the_package(self, tmp_path: Path, approved: Approved) -> None:
        """A program that is only called python does not run."""
        python = tmp_path / "bin" / "python"
        python.parent.mkdir()
        python.write_text(f"#!/bin/sh\ntouch {tmp_path}/made\n")
        python.chmod(0o755)
        with approved.refusal(InputError, PYTHON=python, VERSION=version()):
            step_in(str(python), "judge", "plan.json")
        assert not (tmp_path / "made").exists()

    def test_of_another_version(self, tmp_path: Path, approved: Approved) -> None:
        """Its steps may be others."""
        python = environment(tmp_path, "", of="0.1.0")
        with approved.refusal(InputError, PYTHON=python, VERSION=version()):
            checked(python)

    def test_our_own(self) -> None:
        """An environment that pip or uv made is found to have it."""
        assert checked(sys.executable) == sys.executable


class TestAStepElsewhere:
    """What a task makes of how it ended."""

    def test_says(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Its last word is the task's, what it says meanwhile stands in the log."""
        python = environment(tmp_path, """echo working >&2; echo '{"said": "all is well"}'""")
        assert step_in(python, "judge", "plan.json") == "all is well"
        assert capsys.readouterr().out == "working\n"

    def test_command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is a command of ours, without what names modules of Airflow's Python."""
        monkeypatch.setenv("PYTHONPATH", "/opt/airflow")
        script = f"""echo "$@" "[$PYTHONPATH]" > {tmp_path}/given; echo '{{"said": ""}}'"""
        step_in(environment(tmp_path, script), "judge", "p.json")
        assert (tmp_path / "given").read_text() == (
            "-P -u -m isr_pipeline.cli night step judge --plan p.json --json []\n"
        )

    @pytest.mark.parametrize("status", [1, 2, 3])
    def test_refused(self, tmp_path: Path, status: int) -> None:
        """The last line is why, and it is not tried again."""
        python = environment(tmp_path, f"echo first >&2; echo 'no night' >&2; exit {status}")
        assert refused(lambda: step_in(python, "judge", "p"), Refused) == "no night"

    def test_broke_off(self, tmp_path: Path) -> None:
        """Airflow tries it again."""
        status = one_step.BrokeOff.exit_status
        python = environment(tmp_path, f"echo 'lost a worker' >&2; exit {status}")
        assert refused(lambda: step_in(python, "judge", "p"), AirflowException) == "lost a worker"

    def test_killed(self, tmp_path: Path, approved: Approved) -> None:
        """It says nothing any more; by the system, when memory is short."""
        python = environment(tmp_path, "kill -9 $$")
        with approved.refusal(AirflowException, PYTHON=python):
            step_in(python, "judge", "p")

    def test_a_task_that_is_broken_off(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its step ends with it: the claim may be another run's."""
        python = environment(tmp_path, f"echo $$ > {tmp_path}/pid; echo up >&2; exec sleep 60")

        def broken_off(_: str) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(sys, "stdout", SimpleNamespace(write=broken_off))
        with pytest.raises(KeyboardInterrupt):
            step_in(python, "judge", "p")
        pid, until = int((tmp_path / "pid").read_text()), time.monotonic() + 5
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < until
            time.sleep(0.05)

    @pytest.mark.slow
    def test_in_earnest(self, home: Path) -> None:
        """A whole Python of its own judges a night that this process has claimed."""
        plan = claimed_plan(home)
        said = step_in(sys.executable, "judge", plan)
        assert said == headline(verdict_of(Plan.load(plan)))


class TestTheTasks:
    """Where the tasks of a night do their steps."""

    CONTEXT: dict[str, Any] = {  # noqa: RUF012
        "ti": SimpleNamespace(xcom_pull=lambda **_: "plan.json")
    }

    def test_in_the_python_that_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By the name of the step and the plan of the run."""
        python = environment(tmp_path, """echo "{\\"said\\": \\"$7 of $9\\"}" """)
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", json.dumps({"python": python}))
        assert wiring.done(self.CONTEXT, "judge", steps.judge) == "judge of plan.json"

    def test_else_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In the same process."""
        monkeypatch.delenv("AIRFLOW_VAR_ISR_PIPELINE", raising=False)
        monkeypatch.setattr(wiring, "plan_of", lambda _: "a plan")
        said = wiring.done(self.CONTEXT, "judge", lambda plan: f"{plan}, {os.getpid()}")
        assert said == f"a plan, {os.getpid()}"

    def test_what_is_beside_steps(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Goes there by its name, with its arguments; the answer comes back."""
        python = environment(tmp_path, """echo "[\\"$7\\", $(cat)]" """)
        monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", json.dumps({"python": python}))
        assert do("prune", keep=3) == ["prune", {"keep": 3}]

    def test_is_done_here_without_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By the same function."""
        monkeypatch.delenv("AIRFLOW_VAR_ISR_PIPELINE", raising=False)
        monkeypatch.setitem(task_work.WORK, "prune", lambda keep: keep + 1)
        assert do("prune", keep=3) == 4

    def test_every_step_has_its_name_there(self) -> None:
        """What a task would ask another Python for is what the command knows."""
        of_no_job = tuple(one.name for one in steps.BETWEEN if not one.job)
        assert of_no_job == one_step.NAMES


GATE = """
import json, os
from types import SimpleNamespace
from isr_pipeline.night.airflow import run_end, wiring
from isr_pipeline.night.status import read_status
from isr_pipeline.night.airflow import night_pages, notifiers, upkeep

states = {"plan": "success", "judge": "failed"}
kept = {}
context = {
    "ti": SimpleNamespace(
        get_task_states=lambda **_: {"r": states},
        xcom_pull=lambda key, **_: kept.get(key),
        xcom_push=lambda key, value: kept.update({key: value}),
    ),
    "dag_run": SimpleNamespace(dag_id="isr_nightly_smoke", run_id="r", run_type="manual"),
    "params": {"night": "2026-11-19", "fail_on_regression": True},
    "dag": SimpleNamespace(dag_id="isr_nightly_smoke"),
}
with wiring.claimed(context, first=True):
    question = {"panel_size": 8, "scenarios": None, "replace": False}
    begun = wiring.do(
        "begin", experiment="smoke", night="2026-11-19", run="r", question=question
    )
kept["plan"] = begun["plan"]
task = SimpleNamespace(execution_timeout=None)
wiring.claim_and_limit({**context, "task": task})
assert task.execution_timeout.total_seconds() > 900
with wiring.claimed(context):
    wiring.done(context, "generate_scenarios", None)
of_run = SimpleNamespace(dag_id="isr_nightly_smoke", run_id="r")
wiring.NightLink().get_link(SimpleNamespace(task_id="report"), ti_key=of_run)
try:
    run_end.close(context, "smoke", frozenset(states))
except SystemExit:
    print(read_status("smoke", "2026-11-19").state, kept["line"])
"""
"""The tasks of a night that fails after its scenarios were drawn."""


@pytest.mark.slow
def test_airflows_python_needs_no_library_of_a_night(tmp_path: Path, approved: Approved) -> None:
    """Plan, a step, a Spark task's limit, the button and the gate."""
    (tmp_path / "tasks.py").write_text(bare() + GATE)
    done = finished(
        [sys.executable, str(tmp_path / "tasks.py")],
        env=os.environ | {
            "ISR_PIPELINE_HOME": str(tmp_path / "home"),
            "AIRFLOW_HOME": str(tmp_path / "airflow"),
            "AIRFLOW_VAR_ISR_PIPELINE": json.dumps({"python": sys.executable}),
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    approved(done.stdout.splitlines()[-1])
