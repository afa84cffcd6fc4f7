"""What the DAG `isr_maintenance` removes, and what it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.configuration import conf
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.night import doctor, keep
from isr_pipeline.night.airflow import upkeep
from isr_pipeline.night.doctor import Finding
from isr_pipeline.night.status import Status, folder_of, nights, write_status
from tests.saying import refused

DAY = 86_400


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty home with an Airflow of its own."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    monkeypatch.delenv("ISR_PIPELINE_ROOT", raising=False)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    return Home.from_environment()


class TestNights:
    """The same as `night prune`, experiment by experiment."""

    def test_an_experiment_that_is_busy_stays(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The others are pruned, and its refusal is the task's failure."""
        assert home
        for experiment in ("busy", "smoke"):
            for day in (1, 2, 3):
                write_status(folder_of(experiment, f"2026-11-0{day}"), Status("ok"))

        def prune(keep: int, experiment: str) -> Iterator[tuple[str, str]]:
            if experiment == "busy":
                raise Refused("night 2026-11-03 of busy is being written")
            yield from nights(experiment)[:-keep]

        monkeypatch.setattr(keep, "prune", prune)
        with pytest.raises(Refused, match=r"^night 2026-11-03 of busy is being written$"):
            upkeep.prune_nights(2)
        assert capsys.readouterr().out == "removed 2026-11-01 of smoke\n"


class TestDoctor:
    """The checks of `isr-pipeline doctor`, where tasks are."""

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What the checks are told of Spark; the home is found to be wrong."""
        told: list[str] = []

        def examine(*_: object) -> list[Finding]:
            told.append(os.environ["SPARK_MASTER"])
            return [Finding("Java", good=True, text="21"), Finding("home", good=False, text="gone")]

        monkeypatch.setenv("SPARK_MASTER", "")
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://master:7077")
        monkeypatch.setattr(doctor, "examine", examine)
        return told

    def test_fails_with_what_is_wrong(
        self, home: Home, asked: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Its log has every part; Spark is that of the connection."""
        assert home
        assert refused(upkeep.examine, Refused) == "home: gone"
        assert capsys.readouterr().out.splitlines() == [
            "ok     Java          21",
            "WRONG  home          gone",
        ]
        assert asked == ["spark://master:7077"]

    def test_asks_what_the_first_task_asks(
        self, home: Home, asked: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A notifier that is not there is found before a night."""
        assert home
        monkeypatch.setattr(doctor, "examine", lambda *_: [])
        monkeypatch.setenv("ISR_PIPELINE_NOTIFY", "nowhere:tell")
        with pytest.raises(AirflowFailException, match="ISR_PIPELINE_NOTIFY: nowhere:tell"):
            upkeep.examine()
        assert asked == []


class TestLogs:
    """Task logs of our DAGs."""

    def test_old_ones_of_ours_go(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Runs that still write stay, and so do other people's DAGs."""
        monkeypatch.setattr(conf, "get", lambda *_, **__: str(tmp_path))
        made = {}
        for name, days in (
            ("dag_id=isr_nightly_smoke/run_id=old", 9),
            ("dag_id=isr_nightly_smoke/run_id=new", 1),
            ("dag_id=etl/run_id=old", 9),
        ):
            made[name] = tmp_path / name / "task_id=plan" / "attempt=1.log"
            made[name].parent.mkdir(parents=True)
            made[name].touch()
            then = time.time() - days * DAY
            for one in (made[name], *list(made[name].parents)[:2]):
                os.utime(one, (then, then))
        upkeep.remove_logs(7)
        assert [name for name, file in made.items() if not file.exists()] == [
            "dag_id=isr_nightly_smoke/run_id=old"
        ]
        assert capsys.readouterr().out == "logs of 1 runs removed\n"


class TestDatabase:
    """Airflow's own command cleans it."""

    def test_anothers_airflow_is_left_alone(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It holds runs of other DAGs."""
        monkeypatch.setenv("AIRFLOW_HOME", str(home.path / "elsewhere"))
        with pytest.raises(AirflowSkipException):
            upkeep.clean_airflow(90)

    @pytest.mark.slow  # a database of Airflow's is made
    def test_ours(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """It is asked past the barrier that Airflow puts before tasks."""
        variables = os.environ | {"AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        command = [sys.executable, "-m", "airflow", "db", "migrate"]
        subprocess.run(command, env=variables, check=True, capture_output=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "airflow-db-not-allowed:///")
            upkeep.clean_airflow(90)
        assert home
        assert "Checking table task_instance" in capsys.readouterr().out

    def test_what_airflow_says_is_the_reason(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its last line."""
        assert home

        def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            return subprocess.CompletedProcess(command, 1, "", "Traceback\nno such table: log\n")

        monkeypatch.setattr(subprocess, "run", run)
        with pytest.raises(Refused, match=r"^airflow db clean failed: no such table: log$"):
            upkeep.clean_airflow(90)
