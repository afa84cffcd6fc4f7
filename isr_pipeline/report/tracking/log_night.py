"""A night in MLflow: one parent run, and one child run per configuration.

A night is logged whole or not at all. New runs carry ``status = writing`` until everything is in
them; then those of an earlier run of the same night become ``replaced``, debris of one that was
killed is removed, and the tag becomes ``complete``. A log that fails removes what it made.
"""

from __future__ import annotations

import contextlib
import json
import time
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from isr_pipeline.base.processes import user_name
from isr_pipeline.base.storage.places import at_hand, modified_s
from isr_pipeline.experiment.file import dag_id_of
from isr_pipeline.report import differences
from isr_pipeline.report.tracking import compared, names, pages, trend
from isr_pipeline.report.tracking.client import (
    ACCEPTED,
    BASELINE_TAG,
    connect,
    experiment_id,
    find_runs,
    refused_in_one_line,
    remove_runs,
)
from isr_pipeline.tables import store
from isr_pipeline.tables.validation import results
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.changes import read_changes
from isr_pipeline.verdicts.record import RED, NightVerdict, Status, verdict_of
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlflow import MlflowClient
    from mlflow.entities import Run

    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.baseline import BaselineRecord

NIGHT_FILES = (
    "plan.json",
    "verdict.json",
    "strata.json",
    "changed.json",
    "status.json",
    "report.html",
)
"""Files of the night's folder that become artifacts of the parent, those that are there."""

TABLES = ("summary", "verdicts")
"""Small tables that become artifacts."""

CHANGES_SHOWN = 12
"""Changes since the baseline that a note lists."""

REPORT, SIDE_BY_SIDE, CHARTED, TRENDS = (
    "report",
    "configurations side by side",
    "their ratios, charted",
    "trends of nights",
)
"""Texts of links."""

COMPARED_MAX = 40
"""Configurations that one page of MLflow shows side by side: an address has an end."""


def log_night(plan: Plan, dag_run_id: str) -> str:
    """Log a judged night, and mark what an earlier run of that night logged as replaced.

    Args:
        plan: the night's plan.
        dag_run_id: Airflow's run id, or what else started the night.

    Returns:
        Run id of the parent.

    Raises:
        Refused: the night was not judged, or the store cannot be read or written; then nothing
            of this attempt remains.
    """
    verdict = verdict_of(plan)
    client = connect()
    made: list[str] = []
    with refused_in_one_line(), _undone_if_it_fails(client, made):
        before = find_runs(client, plan.experiment, night=plan.night)
        parent = _log_parent(client, plan, verdict, dag_run_id, made)
        failed = _log_children(client, plan, verdict, dag_run_id, made)
        failed += [parent] if verdict.red else []
        _attach_files(client, parent, plan)
        _log_tables(client, parent, plan, verdict)
        known = experiment_id(client, plan.experiment)
        trends = trend.experiment_id(client, plan.experiment)
        links = _links(plan, dag_run_id, known, made, trends=trends)
        asked = plan if differences.is_answer(plan, verdict) else None
        told = [*_changed(plan), *(f"warning: {one}" for one in results.warnings(plan))]
        note = names.night_note(verdict, links, told, plan.reference, asked)
        client.set_tag(parent, pages.NOTE_TAG, note)
        _replace(client, before, parent)
        for run_id in reversed(made):
            client.set_tag(run_id, "status", names.COMPLETE)
            client.set_terminated(run_id, "FAILED" if run_id in failed else "FINISHED")
        _pin(client, plan.experiment)
        trend.log_trends(client, trends, verdict, _values(plan), plan.reference)
        _describe(client, plan, known, links, verdict)
    pages.remember(plan.place, experiment_id=known, run_id=parent)
    return parent


def attach_report(plan: Plan) -> str | None:
    """Add the report and figures, which are made after the night was logged, to its parent run.

    Returns:
        Run id of the parent; None if the night is not in the store.

    Raises:
        Refused: the store cannot be written.
    """
    client = connect()
    with refused_in_one_line():
        parent = find_parent(client, plan.experiment, plan.night)
        if parent is not None:
            _attach_files(client, parent, plan)
        return parent


def _replace(client: MlflowClient, before: list[Run], parent: str) -> None:
    """Mark the runs that a night had as replaced, and remove what was never whole.

    Args:
        client: of the store.
        before: its runs so far.
        parent: run id of the one that replaces them.
    """
    ended = {
        run.info.run_id: run
        for run in before
        if run.data.tags.get("status") in (names.COMPLETE, names.REPLACED, names.NO_VERDICT)
    }
    # A parent is the last to be called complete: children without one are debris.
    whole = {
        run_id: run
        for run_id, run in ended.items()
        if run.data.tags.get("mlflow.parentRunId", run_id) in ended
    }
    for run_id, run in whole.items():
        if run.data.tags["status"] == names.COMPLETE:
            _mark(client, run, names.REPLACED)
            client.set_tag(run_id, "superseded_by", parent)
    remove_runs(client, [run.info.run_id for run in before if run.info.run_id not in whole])


def _mark(client: MlflowClient, run: Run, status: str) -> None:
    """Say in a run's tag and name that it is not the night's any more."""
    client.set_tag(run.info.run_id, "status", status)
    client.update_run(run.info.run_id, name=f"{run.info.run_name} ({status})")


def retract(experiment: str, night: str, dag_run_id: str, why: str, *, restore: bool) -> None:
    """Say of what a run logged that it has no verdict: it failed afterwards.

    Args:
        experiment: name.
        night: YYYY-MM-DD.
        dag_run_id: of the run; does nothing if it logged nothing.
        why: one line.
        restore: whether what its runs had replaced is what the night is again.

    Raises:
        Refused: the store cannot be written.
    """
    client = connect()
    with refused_in_one_line():
        runs = find_runs(
            client, experiment, night=night, dag_run_id=dag_run_id, status=names.COMPLETE
        )
        for run in runs:
            run_id = run.info.run_id
            _mark(client, run, names.NO_VERDICT)
            if run.data.tags.get("kind") == "night":
                client.set_tag(run_id, pages.NOTE_TAG, f"**{why}**")
                if restore:
                    _restore(client, experiment, run_id)
        if runs:
            _pin(client, experiment)


def _restore(client: MlflowClient, experiment: str, parent: str) -> None:
    """Have the runs that a run had replaced count again."""
    for run in find_runs(client, experiment, superseded_by=parent):
        run_id = run.info.run_id
        client.set_tag(run_id, "status", names.COMPLETE)
        client.delete_tag(run_id, "superseded_by")
        name = str(run.info.run_name).removesuffix(f" ({names.REPLACED})")
        client.update_run(run_id, name=name)


def find_parent(client: MlflowClient, experiment: str, night: str) -> str | None:
    """Run id of a night that was logged completely, or None."""
    found = find_runs(client, experiment, night=night, kind="night", status=names.COMPLETE)
    return str(found[0].info.run_id) if found else None


def pin_baseline(experiment: str) -> str | None:
    """Mark the accepted run's parent with who, when and why, and unmark every other.

    Returns:
        Run id of the parent that is now marked; None if that run is not in the store.

    Raises:
        Refused: the store cannot be written.
    """
    client = connect()
    with refused_in_one_line():
        return _pin(client, experiment)


@contextlib.contextmanager
def _undone_if_it_fails(client: MlflowClient, made: list[str]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        # The store may be what failed: a run that cannot be removed still lacks `complete`.
        with contextlib.suppress(Exception):
            remove_runs(client, made)
        raise


def _log_parent(
    client: MlflowClient, plan: Plan, verdict: NightVerdict, dag_run_id: str, made: list[str]
) -> str:
    known = experiment_id(client, plan.experiment)
    tags = {
        **_shared_tags(plan, dag_run_id),
        **names.verdict_tags(verdict),
        "warnings": ",".join(f"{one.suite}.{one.name}" for one in results.warnings(plan)),
        "kind": "night",
        "status": names.WRITING,
    }
    run = client.create_run(
        known, run_name=names.night_name(verdict), tags=tags, start_time=_began_ms(plan)
    )
    made.append(run.info.run_id)
    _log_panel(client, run.info.run_id, plan)
    counts = verdict.counts()
    metrics = {f"configurations.{status}": float(counts[status]) for status in Status}
    metrics["tests"] = float(verdict.tests)
    params = {
        "reference": plan.reference,
        **{f"panel.{name}.scenarios": size for name, size in sorted(plan.panels.items())},
    }
    _log_batch(client, run.info.run_id, metrics, params)
    return str(run.info.run_id)


def _shared_tags(plan: Plan, dag_run_id: str) -> dict[str, str]:
    """Tags of the night and of each of its children, with those that MLflow's columns show."""
    return {
        **names.night_tags(plan, dag_run_id),
        "mlflow.user": user_name(),
        "mlflow.source.type": "JOB",
        "mlflow.source.name": f"isr-pipeline {plan.version}",
        "mlflow.source.git.commit": plan.code_version.partition("+")[0],
    }


def _began_ms(plan: Plan) -> int:
    """When the run began, milliseconds since 1970: where it does not say, its plan was first."""
    if plan.began:
        return round(datetime.fromisoformat(plan.began).timestamp() * 1_000)
    file = plan.place / "plan.json"
    return round(modified_s(file) * 1_000) if file.is_file() else time.time_ns() // 1_000_000


def _log_panel(client: MlflowClient, run_id: str, plan: Plan) -> None:
    """Name the panel as the run's dataset: a filter on datasets sees one run at a time.

    MLflow keeps the first address of a name and digest, and the panel of every night has the same
    digest: so the name tells the night.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag  # noqa: PLC0415

    place = store.table_path("scenarios", plan.experiment, plan.night)
    panel = Dataset(
        name=f"{plan.experiment} standing panel of {plan.night}",
        digest=plan.panel_digest[:36],
        source_type=urlsplit(str(place)).scheme or "local",
        source=json.dumps({"uri": str(place)}),
        profile=json.dumps({"scenarios": plan.panels["regression"]}),
    )
    context = [InputTag("mlflow.data.context", "standing panel")]
    client.log_inputs(run_id, datasets=[DatasetInput(panel, context)])


def _changed(plan: Plan) -> list[str]:
    """What changed since the baseline, for the note."""
    config_names = {one.config_id: one.name for one in plan.configurations}
    lines = read_changes(plan.place).lines(config_names, CHANGES_SHOWN)
    return [f"changed: {line}" for line in lines]


def _log_children(
    client: MlflowClient, plan: Plan, verdict: NightVerdict, dag_run_id: str, made: list[str]
) -> list[str]:
    """Log every configuration, and return the runs of those that turn the night red.

    MLflow lists the newest first, so the experiment's first began the latest, by milliseconds.
    """
    failed = []
    experiment = experiment_id(client, plan.experiment)
    trends = trend.experiment_id(client, plan.experiment)
    shared, began_ms = _shared_tags(plan, dag_run_id), _began_ms(plan)
    against = {one.config_id: one for one in verdict.against_reference}
    metrics = compared.metrics_of(verdict)
    for after, configuration in enumerate(plan.configurations, start=1):
        one = verdict.configuration(configuration.config_id)
        beside = against.get(one.config_id)
        tags = {
            **shared,
            **names.config_tags(configuration, one),
            **names.reference_tags(beside),
            "kind": "configuration",
            "status": names.WRITING,
            pages.ORDER: f"{after:04d}",
            "mlflow.parentRunId": made[0],
            "mlflow.note.content": names.config_note(
                one,
                trend.page(trends, plan.panel_digest, one.name),
                plan.reference,
                beside,
            ),
        }
        run = client.create_run(
            experiment,
            run_name=configuration.name,
            tags=tags,
            start_time=began_ms + len(plan.configurations) - after,
        )
        made.append(run.info.run_id)
        _log_panel(client, run.info.run_id, plan)
        failed += [run.info.run_id] if one.status in RED else []
        params: dict[str, object] = {"configuration": configuration.name}
        _log_batch(client, run.info.run_id, metrics[one.config_id], params | configuration.params)
    return failed


def _values(plan: Plan) -> dict[str, dict[str, float]]:
    """What the summary of the whole standing panel says, in MLflow's names and units of trends.

    Returns:
        config_id -> metric -> value, shares in percent.
    """
    rows = store.read_table("summary", plan.experiment, plan.night, root=plan.root)
    whole = rows[(rows["panel"] == "regression") & (rows["stratum"] == "all")]
    values: dict[str, dict[str, float]] = {one.config_id: {} for one in plan.configurations}
    for row in whole.to_dict("records"):
        config_id, metric = row["config_id"], row["metric"]
        if config_id in values and metric in METRICS:
            value = float(row["value"]) * METRICS[metric].unit.factor
            values[config_id][names.metric_name(metric)] = value
    return values


def _log_batch(
    client: MlflowClient, run_id: str, metrics: dict[str, float], params: dict[str, object]
) -> None:
    from mlflow.entities import Metric, Param  # noqa: PLC0415

    now = time.time_ns() // 1_000_000
    client.log_batch(
        run_id,
        metrics=[Metric(name, value, now, 0) for name, value in metrics.items()],
        params=[Param(name, _text(value)) for name, value in params.items()],
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _attach_files(client: MlflowClient, parent: str, plan: Plan) -> None:
    """Attach the night's files, those that are there."""
    with at_hand(plan.place) as folder:
        for name in NIGHT_FILES:
            if (folder / name).is_file():
                client.log_artifact(parent, str(folder / name))
        if (folder / "figures").is_dir():
            client.log_artifacts(parent, str(folder / "figures"), "figures")


def _log_tables(client: MlflowClient, parent: str, plan: Plan, verdict: NightVerdict) -> None:
    """Log the small tables so that MLflow shows and compares them; a second time adds rows."""
    for table in TABLES:
        if store.has_table(table, plan.experiment, plan.night, plan.root):
            rows = store.read_table(table, plan.experiment, plan.night, root=plan.root)
            client.log_table(parent, rows, f"tables/{table}.json")
    beside = compared.reference_table(verdict)
    if len(beside):
        client.log_table(parent, beside, "tables/reference.json")


def _describe(
    client: MlflowClient, plan: Plan, known: str, links: dict[str, str], verdict: NightVerdict
) -> None:
    """Tell above the list of runs what is asked, and what the latest night says of it."""
    nights = find_runs(client, plan.experiment, kind="night", status=names.COMPLETE)
    if any(run.data.tags["night"] > plan.night for run in nights):
        return  # of a backfill
    of_night = {f"{plan.night}: {REPORT}": links[REPORT]}
    shown = of_night | {name: links[name] for name in (SIDE_BY_SIDE, CHARTED, TRENDS)}
    note = names.experiment_note(plan.experiment, plan.definition.description, shown, verdict)
    client.set_experiment_tag(known, pages.NOTE_TAG, note)


def _links(
    plan: Plan, dag_run_id: str, known: str, made: list[str], *, trends: str
) -> dict[str, str]:
    """Where to look further: the DAG run, the report, other views of MLflow.

    MLflow's pages drop a link to a file, so Data Docs are not among them: the report names them.

    Args:
        plan: of the night.
        dag_run_id: of Airflow, which does not know those of nights without it.
        known: id of the experiment in the store.
        made: runs of the night, the parent first.
        trends: id of the experiment that holds its trends.
    """
    parent, *children = made
    links = {}
    if not dag_run_id.startswith(pages.IN_PROCESS):
        dag_id = dag_id_of(plan.experiment)
        links["DAG run"] = f"{pages.airflow()}/dags/{dag_id}/runs/{quote(dag_run_id, safe='')}"
    return {
        **links,
        REPORT: pages.report_of(known, parent),
        SIDE_BY_SIDE: pages.comparison(known, children[:COMPARED_MAX]),
        CHARTED: pages.charted(known, f"tags.mlflow.parentRunId = '{parent}'"),
        TRENDS: trend.page(trends, plan.panel_digest),
    }


def _run_of(client: MlflowClient, record: BaselineRecord) -> str | None:
    """Run id of the parent of what was accepted whole, which a later run may have replaced.

    A run that began after the acceptance is another one, though it be of the same date. One that
    was logged again counts as it was logged last.
    """
    accepted_s = datetime.fromisoformat(record.accepted_at).timestamp()
    same = {"dag_run_id": record.run} if record.run else {}
    before = [
        run
        for run in find_runs(client, record.experiment, night=record.night, kind="night", **same)
        if run.info.start_time // 1_000 <= accepted_s
    ]
    for status in (names.COMPLETE, names.REPLACED):
        for run in before:
            if run.data.tags["status"] == status:
                return str(run.info.run_id)
    return None


def _pin(client: MlflowClient, experiment: str) -> str | None:
    try:
        record = baselines.show(experiment)
    except baselines.BaselineDamaged:
        return None
    accepted = None if record is None else _run_of(client, record)
    for run in find_runs(client, experiment, **{BASELINE_TAG: ACCEPTED}):
        if run.info.run_id != accepted:
            client.set_tag(run.info.run_id, BASELINE_TAG, "former")
    if accepted is None or record is None:
        return None
    tags = client.get_run(accepted).data.tags
    for name, value in {
        BASELINE_TAG: ACCEPTED,
        pages.NOTE_TAG: names.note_of_baseline(tags.get(pages.NOTE_TAG, "")),
        "baseline_accepted_by": record.accepted_by,
        "baseline_accepted_at": record.accepted_at,
        "baseline_why": record.why,
    }.items():
        client.set_tag(accepted, name, value)
    return accepted
