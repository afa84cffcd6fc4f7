"""The tabs of a run's page: reports and Data Docs, read from the home, for who may read DAGs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from isr_pipeline.night.airflow.night_pages import NightPages, app, place_of
from isr_pipeline.night.status import Status, folder_of, write_status
from isr_pipeline.report.tracking.pages import remember
from tests.tables import from_table

NIGHT = "2026-11-19"
DAG_ID = "isr_nightly_smoke"
RUN = "scheduled__2026-11-19T00:00:00+00:00"


class Manager:
    """Airflow's auth manager, as far as pages ask it."""

    async def get_user_from_token(self, token: str) -> str:
        """Know two users."""
        if token not in ("reader", "stranger"):
            raise ValueError("JWT token is not valid")
        return token

    def is_authorized_dag(self, *, method: str, user: str) -> bool:
        """One of them may read DAGs."""
        return method == "GET" and user == "reader"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A browser that is logged in; the home is in the Airflow Variable alone."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", "")
    monkeypatch.delenv("ISR_PIPELINE_HOME")
    home = tmp_path / "home"
    monkeypatch.setenv("AIRFLOW_VAR_ISR_PIPELINE", json.dumps({"home": str(home)}))
    monkeypatch.setattr("airflow.api_fastapi.app.get_auth_manager", Manager)
    files = {
        f"nights/smoke/{NIGHT}/report.html": "<h1>report</h1>",
        f"nights/smoke/{NIGHT}/verdict.json": "{}",
        f"data_docs/smoke/nights/{NIGHT}.html": "<h1>docs</h1>",
        "airflow/secrets.html": "secret",
        "secret.html": "secret",
    }
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / "nights/smoke/link.html").symlink_to(home / "secret.html")
    with TestClient(app) as one:
        one.cookies.set("_token", "reader")
        one.get("/files/nights/x.html")  # sets the variables of the environment
        write_status(folder_of("smoke", NIGHT), Status("regressed", dag_run_id=RUN))
        yield one


class TestPages:
    """What is served."""

    @pytest.mark.parametrize(
        ("page", "way", "text"),
        [
            ("report", f"/files/nights/smoke/{NIGHT}/report.html", "<h1>report</h1>"),
            ("data-docs", f"/files/data_docs/smoke/nights/{NIGHT}.html", "<h1>docs</h1>"),
        ],
    )
    def test_of_a_run(self, client: TestClient, page: str, way: str, text: str) -> None:
        """A run leads to the pages of the night that it wrote."""
        found = client.get(f"/runs/{DAG_ID}/{RUN}/{page}")
        assert (found.url.path, found.text) == (way, text)
        assert found.headers["content-security-policy"].startswith("sandbox")

    def test_of_a_run_in_mlflow(self, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run leads to MLflow where that is now."""
        way = f"/runs/{DAG_ID}/{RUN}/mlflow"
        assert client.get(way).status_code == 404
        remember(folder_of("smoke", NIGHT), experiment_id="7", run_id="abc")
        monkeypatch.setenv("ISR_PIPELINE_MLFLOW_URL", "http://mlflow.example")
        found = client.get(way, follow_redirects=False)
        address = "http://mlflow.example/#/experiments/7/runs/abc?workflowType=machine_learning"
        assert (found.status_code, found.headers["location"]) == (307, address)

    def test_of_a_run_without_a_night(self, client: TestClient) -> None:
        """One line says so."""
        found = client.get(f"/runs/{DAG_ID}/another/report")
        assert found.status_code == 404
        assert found.text == "This run has written no night, or another has since."

    def test_before_the_report_is_made(self, client: TestClient) -> None:
        """One line says how far the night is, or why it has none."""
        refused = Status("failed", "outcomes refused: <b>", RUN)
        write_status(folder_of("smoke", "2026-11-20"), refused)
        write_status(folder_of("smoke", NIGHT), Status("regressed", dag_run_id="another"))
        found = client.get(f"/runs/{DAG_ID}/{RUN}/report")
        assert found.status_code == 404
        assert found.text == (
            "Night 2026-11-20 of smoke has no such page: outcomes refused: &lt;b&gt;."
        )


class TestWhatIsNotRead:
    """Pages and pictures of nights, and nothing else; nobody who is not logged in."""

    @from_table
    def test_path(self, client: TestClient, path: str) -> None:
        """Not found, whatever the path is written like."""
        found = client.get(f"/files/{path}")
        assert found.status_code == 404
        assert "secret" not in found.text

    @pytest.mark.parametrize("path", ["nights/../secret.html", "nights/a/../../secret.html", ""])
    def test_path_that_no_browser_sends(self, tmp_path: Path, path: str) -> None:
        """A browser takes dots out before it asks."""
        assert place_of(tmp_path, path) is None

    @pytest.mark.parametrize(("token", "status"), [("", 401), ("forged", 401), ("stranger", 403)])
    def test_login(self, client: TestClient, token: str, status: int) -> None:
        """Neither by cookie nor by header."""
        client.cookies.set("_token", token)
        page = f"/files/nights/smoke/{NIGHT}/report.html"
        assert client.get(page).status_code == status
        assert client.get(page, headers={"Authorization": "Bearer reader"}).status_code == 200

    def test_nothing_is_written(self) -> None:
        """Every route is one that reads."""
        routes: list[Any] = [one for one in app.routes if hasattr(one, "methods")]
        assert {method for one in routes for method in one.methods} <= {"GET", "HEAD"}


def test_tabs() -> None:
    """Both are on the run's page, and Airflow fills in which run."""
    for view in NightPages.external_views:
        assert view["destination"] == "dag_run"
        assert view["href"].startswith("/isr/runs/{DAG_ID}/{RUN_ID}/")
    assert SimpleNamespace(**NightPages.fastapi_apps[0]).url_prefix == "/isr"
