"""Airflow plugin: a night's report and Data Docs as tabs of its run's page.

Where Airflow runs in containers nobody can open their files. Airflow's API server, which sees the
home as its workers do, reads them for whoever is logged in there and may read DAGs. Nothing is
written, and nothing but pages and pictures of nights is read. A page is given an origin of its own
(`sandbox`): its scripts cannot use the login of who looks at it.
"""

from __future__ import annotations

from html import escape
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from isr_pipeline.report.tracking import pages

if TYPE_CHECKING:
    from isr_pipeline.base.storage.places import Place
    from isr_pipeline.night.status import NightRun

PREFIX = pages.BY_AIRFLOW

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
"""Ends of names that are served, and what they are."""

HEADERS = {
    "Content-Security-Policy": "sandbox allow-scripts allow-popups "
    "allow-top-navigation-by-user-activation",
    "X-Content-Type-Options": "nosniff",
}

ROOMS = ("nights", "data_docs")
"""Folders of what nights make that hold pages."""


async def may_read(request: Request) -> None:
    """Let in who is logged in to Airflow and may read DAGs.

    Raises:
        HTTPException: 401 without a login, 403 without the right.
    """
    from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415 - in the API server alone
    from airflow.api_fastapi.auth.managers.base_auth_manager import (  # noqa: PLC0415
        COOKIE_NAME_JWT_TOKEN,
    )

    _, _, given = request.headers.get("Authorization", "").partition("Bearer ")
    token = given or request.cookies.get(COOKIE_NAME_JWT_TOKEN)
    manager = get_auth_manager()
    try:
        user = await manager.get_user_from_token(token or "")
    except Exception:
        raise HTTPException(401, "log in to Airflow first") from None
    if not manager.is_authorized_dag(method="GET", user=user):
        raise HTTPException(403, "you may not read DAGs")


app = FastAPI(title="Pages of nights", dependencies=[Depends(may_read)], openapi_url=None)


def _made() -> Place:
    """Where what nights make lies, as the Airflow Variable says."""
    from isr_pipeline.base.home import Home  # noqa: PLC0415 - every part of Airflow reads this file
    from isr_pipeline.night.airflow.connections import (  # noqa: PLC0415
        into_environment,
        settings,
    )

    into_environment(settings())
    return Home.from_environment().made


@app.get("/runs/{dag_id}/{run_id}/{page}")
def of_run(dag_id: str, run_id: str, page: str, request: Request) -> Response:
    """Lead from a run to its night: the report, the Data Docs, or the run in MLflow."""
    made = _made()
    from isr_pipeline.experiment.file import experiment_of  # noqa: PLC0415
    from isr_pipeline.night.status import find_run  # noqa: PLC0415

    run = find_run(experiment_of(dag_id), run_id)
    if run is None:
        return HTMLResponse("This run has written no night, or another has since.", 404, HEADERS)
    experiment, night = run.experiment, run.night
    if page == "mlflow":
        address = pages.runs_of(run.folder, experiment, night)
        return RedirectResponse(address) if address else _missing(run)
    way = f"{str(run.folder).removeprefix(f'{made}/')}/report.html"
    if page == "data-docs":
        from isr_pipeline.tables.validation.data_docs import night_page  # noqa: PLC0415

        way = str(night_page(made / "data_docs" / experiment, night)).removeprefix(f"{made}/")
    if not (made / way).is_file():
        return _missing(run)
    return RedirectResponse(f"{request.scope.get('root_path', '')}/files/{quote(way)}")


def _missing(run: NightRun) -> Response:
    """Say that a night has no such page, and why."""
    why = run.status.reason or run.status.state
    said = f"Night {run.night} of {run.experiment} has no such page: {why}."
    return HTMLResponse(escape(said), 404, HEADERS)


@app.get("/files/{path:path}")
def file(path: str) -> Response:
    """Give a page or a picture of a night."""
    place = place_of(_made(), path)
    if place is None or not place.is_file():
        raise HTTPException(404, "no such page")
    kind = TYPES[PurePosixPath(path).suffix]
    return Response(place.read_bytes(), media_type=kind, headers=HEADERS)


def place_of(made: Place, path: str) -> Place | None:
    """File that a path names; None if it is none that may be read.

    Args:
        made: where what nights make lies.
        path: below it, with slashes.
    """
    parts = path.split("/")
    if parts[0] not in ROOMS or PurePosixPath(path).suffix not in TYPES:
        return None
    if any(part.startswith(".") or not part or "\\" in part for part in parts):
        return None
    place = made
    for part in parts:
        place = place / part
    if isinstance(place, Path) and isinstance(made, Path):
        room = (made / parts[0]).resolve()
        return place if place.resolve().is_relative_to(room) else None
    return place


def _tab(name: str, page: str) -> dict[str, Any]:
    root = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
    return {
        "name": name,
        "href": f"{root}{PREFIX}/runs/{{DAG_ID}}/{{RUN_ID}}/{page}",
        "destination": "dag_run",
        "url_route": f"isr-{page}",
    }


class NightPages(AirflowPlugin):
    """The app and its tabs, as Airflow wants them."""

    name = "isr_night_pages"
    fastapi_apps = [{"app": app, "url_prefix": PREFIX, "name": "isr-pipeline"}]  # noqa: RUF012
    external_views = [_tab("Report", "report"), _tab("Data Docs", "data-docs")]  # noqa: RUF012
