"""A night as others see it: its tables, verdicts, metrics and places, for people and for tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isr_pipeline.errors import Refused, TableMissing
from isr_pipeline.home import Home
from isr_pipeline.night.status import read_status

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan


def show(experiment: str, night: str) -> dict[str, Any]:
    """Everything a night says of itself, as JSON has it.

    Returns:
        ``night, experiment, panel_digest, root, status, reason, headline, dag_run_id``, ``tables``
        (name -> rows and digest), ``configs`` (name, config_id, verdict, reason, changed, params,
        metrics), ``changed`` (for all of them) and ``places`` (report, data_docs, mlflow). Of a
        night that never got a plan: what is known.
    """
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads pydantic

    home = Home.from_environment()
    folder = home.night_dir(experiment, night)
    status = read_status(experiment, night)
    shown: dict[str, Any] = {
        "night": night,
        "experiment": experiment,
        "panel_digest": None,
        "root": home.root,
        "status": status.state,
        "reason": status.reason,
        "headline": "",
        "changed": [],
        "dag_run_id": status.dag_run_id,
        "tables": _tables(experiment, night),
        "configs": [],
        "places": {
            "report": str(folder / "report.html"),
            "data_docs": str(home.data_docs(experiment, night)),
            "mlflow": home.mlflow_uri,
        },
    }
    if (folder / "plan.json").is_file():
        plan = Plan.load(folder / "plan.json")
        shown |= {"panel_digest": plan.panel_digest, "root": plan.root}
        shown |= {"configs": _configurations(plan), "headline": headline_of(experiment, night)}
        shown |= {"changed": _changed(experiment, night)}
    return shown


def _changed(experiment: str, night: str) -> list[dict[str, Any]]:
    """What changed for every configuration since the baseline."""
    from isr_pipeline.verdicts.changes import read_changes  # noqa: PLC0415 - reads pydantic

    return [one.told() for one in read_changes(experiment, night).shared]


def changed_lines(experiment: str, night: str, most: int) -> list[str]:
    """What changed since the baseline, one line each, for people; nothing without a plan."""
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.changes import read_changes  # noqa: PLC0415 - reads pydantic

    file = Home.from_environment().night_dir(experiment, night) / "plan.json"
    if not file.is_file():
        return []
    names = {one.config_id: one.name for one in Plan.load(file).configurations}
    return read_changes(experiment, night).lines(names, most)


def headline_of(experiment: str, night: str) -> str:
    """Headline of a night's verdict; empty if it has none."""
    from isr_pipeline.verdicts.model import load_verdict  # noqa: PLC0415 - reads pydantic

    try:
        return load_verdict(experiment, night).headline
    except Refused:
        return ""


def _tables(experiment: str, night: str) -> dict[str, dict[str, Any]]:
    """Rows and digest of every table that the night has.

    Raises:
        Refused: a table is damaged.
    """
    from pyarrow import ArrowInvalid  # noqa: PLC0415 - reads Arrow

    from isr_pipeline.outcomes import store  # noqa: PLC0415 - reads Arrow

    tables = {}
    for name in store.TABLES:
        if not store.has_table(name, experiment, night):
            continue
        try:
            rows = store.count_rows(name, experiment, night)
            digest = store.table_digest(name, experiment, night)
        except (ArrowInvalid, OSError) as damage:
            what = str(damage).splitlines()[0]
            raise Refused(
                f"table {name} of night {night} of {experiment} is damaged, "
                f"run the night again: {what}"
            ) from None
        tables[name] = {"rows": rows, "digest": digest}
    return tables


def _configurations(plan: Plan) -> list[dict[str, Any]]:
    """Every configuration with its verdict and its metrics over the regression panel."""
    from isr_pipeline.verdicts.changes import read_changes  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.model import load_verdict  # noqa: PLC0415 - reads pydantic

    try:
        verdicts = {
            one.config_id: one for one in load_verdict(plan.experiment, plan.night).configurations
        }
    except Refused:
        verdicts = {}
    metrics = _metrics(plan)
    changes = read_changes(plan.experiment, plan.night)
    return [
        {
            "name": one.name,
            "config_id": one.config_id,
            "verdict": str(verdicts[one.config_id].status) if one.config_id in verdicts else None,
            "reason": verdicts[one.config_id].reason if one.config_id in verdicts else "",
            "changed": [change.told() for change in changes.of(one.config_id)],
            "params": dict(one.params),
            "metrics": metrics.get(one.config_id, {}),
        }
        for one in plan.configurations
    ]


def _metrics(plan: Plan) -> dict[str, dict[str, float | None]]:
    """config_id -> metric -> value over the whole regression panel; empty without a summary."""
    from isr_pipeline.outcomes import store  # noqa: PLC0415 - reads Arrow

    try:
        rows = store.read_arrow("summary", plan.experiment, plan.night).to_pylist()
    except TableMissing:
        return {}
    found: dict[str, dict[str, float | None]] = {}
    for row in rows:
        if row["panel"] == "regression" and row["stratum"] == "all":
            found.setdefault(row["config_id"], {})[row["metric"]] = row["value"]
    return found
