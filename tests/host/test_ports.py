"""Where `make ui` is: its ports are known to the home while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.home import Home, served_port, ui_ports
from isr_pipeline.night.airflow.airflow_lock import AirflowLock
from isr_pipeline.night.airflow.airflow_rest import Silent, rest_of_ui
from isr_pipeline.night.stack import free_port
from tests.saying import refused

if TYPE_CHECKING:
    from pathlib import Path

PORTS = {"airflow": 8571, "mlflow": 5571}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home on which nothing runs, and ports that are wanted."""
    monkeypatch.setenv("ISR_PIPELINE_AIRFLOW_PORT", "8380")
    monkeypatch.setenv("ISR_PIPELINE_MLFLOW_PORT", "5300")
    return Home(tmp_path, str(tmp_path))


class TestPorts:
    """Of the `make ui` that runs, else those that are wanted."""

    def test_nothing_runs(self, home: Home) -> None:
        """The variables say where it would be."""
        assert ui_ports(home) == {}
        assert (served_port(home, "airflow"), served_port(home, "mlflow")) == (8380, 5300)

    def test_make_ui_runs(self, home: Home) -> None:
        """On whatever ports, until it ends."""
        lock = AirflowLock(home)
        assert lock.try_hold("make ui", ports=PORTS)
        assert ui_ports(home) == PORTS
        assert (served_port(home, "airflow"), served_port(home, "mlflow")) == (8571, 5571)
        lock.release()
        assert served_port(home, "airflow") == 8380

    def test_make_nightly_runs(self, home: Home) -> None:
        """Its Airflow has no pages for a person."""
        lock = AirflowLock(home)
        assert lock.try_hold("make nightly", night="2026-11-19")
        assert ui_ports(home) == {}
        lock.release()

    def test_make_ui_was_killed(self, home: Home) -> None:
        """What it wrote counts no more."""
        text = (
            "import os, sys\n"
            "from pathlib import Path\n"
            "from isr_pipeline.base.home import Home\n"
            "from isr_pipeline.night.airflow.airflow_lock import AirflowLock\n"
            f"AirflowLock(Home(Path({str(home.path)!r}), '')).try_hold('make ui', ports={PORTS})\n"
            "os.kill(os.getpid(), 9)\n"
        )
        done = subprocess.run([sys.executable, "-c", text], check=False, env=dict(os.environ))
        assert done.returncode == -9
        assert '"mlflow": 5571' in home.airflow_lock.read_text()
        assert ui_ports(home) == {}

    def test_who_does_not_answer_is_named(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The port, and the variable that says it."""
        port = free_port()
        monkeypatch.setenv("ISR_PIPELINE_AIRFLOW_PORT", str(port))
        assert refused(lambda: rest_of_ui(home).ask("GET", "dags"), Silent) == (
            f"http://127.0.0.1:{port} (connection refused); "
            "ISR_PIPELINE_AIRFLOW_PORT is the port of `make ui`"
        )
