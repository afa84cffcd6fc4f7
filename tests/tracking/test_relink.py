"""Links in MLflow's notes, when `make ui` has other ports than before."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from isr_pipeline.night.status import folder_of
from isr_pipeline.report.tracking.pages import remember
from isr_pipeline.report.tracking.relink import relink, relinked

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

AIRFLOW = "http://127.0.0.1:8571"
DAG_RUN = "/dags/isr_nightly_smoke/runs/manual__a"


class TestRelinked:
    """Which links of a note are changed."""

    def test_a_dag_run_on_this_machine(self) -> None:
        """Whatever Airflow made it, its database is that of the one that runs now."""
        note = f"[DAG run](http://127.0.0.1:53205{DAG_RUN})"
        assert relinked(note, AIRFLOW) == f"[DAG run]({AIRFLOW}{DAG_RUN})"

    def test_a_page_of_mlflow(self) -> None:
        """Older notes named a port; a link within MLflow needs none."""
        note = "[report](http://127.0.0.1:5000/#/experiments/1/runs/2)"
        assert relinked(note, AIRFLOW) == "[report](#/experiments/1/runs/2)"

    def test_another_machine(self) -> None:
        """Somebody named it: it stays."""
        note = f"[DAG run](https://airflow.example{DAG_RUN}) [x](http://127.0.0.1:9/y)"
        assert relinked(note, AIRFLOW) == note


class Mlflow(BaseHTTPRequestHandler):
    """Answers as MLflow's REST API does, for two nights of which one has a link that is right."""

    asked: list[tuple[str, Any]]

    def log_message(self, *_: object) -> None:
        """Say nothing on the terminal."""

    def do_POST(self) -> None:
        """Give the nights, or take a tag."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body))
        notes = [f"[DAG run](http://127.0.0.1:{port}{DAG_RUN})" for port in (53205, 8571)]
        runs = [
            {
                "info": {"run_id": str(number)},
                "data": {"tags": [{"key": "mlflow.note.content", "value": note}]},
            }
            for number, note in enumerate(notes)
        ]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"runs": runs} if "search" in self.path else {}).encode())


def test_notes_of_all_nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that lead elsewhere are written anew, and no others."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    monkeypatch.delenv("ISR_PIPELINE_STORE", raising=False)
    folder = folder_of("smoke", "2026-11-19")
    assert isinstance(folder, type(tmp_path))
    folder.mkdir(parents=True)
    remember(folder, experiment_id="7", run_id="0")
    Mlflow.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Mlflow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert relink(f"http://127.0.0.1:{server.server_port}", AIRFLOW) == 1
    server.shutdown()
    server.server_close()
    (_, searched), (path, tag) = Mlflow.asked
    assert searched["experiment_ids"] == ["7"]
    assert path == "/api/2.0/mlflow/runs/set-tag"
    note = f"[DAG run]({AIRFLOW}{DAG_RUN})"
    assert tag == {"run_id": "0", "key": "mlflow.note.content", "value": note}
