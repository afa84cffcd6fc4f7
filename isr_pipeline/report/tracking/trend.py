"""One run per configuration that lives from night to night: its metrics are curves over nights.

Trends are an experiment of their own in MLflow, beside that of the nights. Its charts draw the ten
runs that its list shows first: what regressed, then the reference, then the others.
``trend: <configuration>`` holds a point per night, so that MLflow's own charts draw it. Another
panel begins other trends, and those of the panel before it name their panel from then on. A night
that is logged again replaces its points. Nights that are pruned keep theirs: a few numbers, which
say how a configuration came to where it is.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from isr_pipeline.report.tracking import names, pages
from isr_pipeline.report.tracking.client import experiment_id as own_experiment_id
from isr_pipeline.report.tracking.client import find_runs, remove_runs
from isr_pipeline.verdicts.record import RED, ConfigVerdict, NightVerdict, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlflow import MlflowClient
    from mlflow.entities import Metric, Run

KIND = "trend"
"""Value of the tag `kind`."""

REGRESSED = "regressed"
"""Metric that every point has: 1 in a night in which the configuration regressed, else 0."""

MOST_POINTS = 1_000
"""What MLflow takes in one batch."""

DIGEST_CHARACTERS = 8
"""As much of a panel's digest as tells two of them apart."""

SECONDS_PER_DAY = 86_400
MS_PER_DAY = 1_000 * SECONDS_PER_DAY

NOTE = (
    "One point per night: see *Model metrics*, or chart it beside others. *Step* counts days since "
    "{first}; *Time (wall)* has the dates. `regressed` is 1 in a night in which the configuration "
    "was called so, else 0."
)


def experiment_id(client: MlflowClient, experiment: str) -> str:
    """Id of the experiment that holds the trends of another one."""
    return own_experiment_id(client, f"{experiment}/trends")


def page(known: str, panel_digest: str, name: str | None = None) -> str:
    """Address within MLflow of all trends of an experiment charted, or of one of them.

    Args:
        known: id of the trends' experiment in the store.
        panel_digest: of the panel whose trends are meant.
        name: of a configuration.
    """
    wanted = f"tags.kind = '{KIND}' and tags.panel_digest = '{panel_digest}'"
    if name:
        wanted += f" and tags.config_name = '{name}'"
    return pages.charted(known, wanted)


def log_trends(
    client: MlflowClient,
    known: str,
    verdict: NightVerdict,
    values: Mapping[str, Mapping[str, float]],
    reference: str,
) -> None:
    """Add a night to every configuration's trend, in the place of points it has there already.

    May be run again after it was cut off.

    Args:
        client: of the store.
        known: id of the trends' experiment in the store.
        verdict: the night's.
        values: config_id -> MLflow metric -> value over the standing panel. The verdict's own may
            be of further scenarios, which no other night has.
        reference: name of the configuration that the others are compared with.
    """
    trends = find_runs(client, f"{verdict.experiment}/trends", kind=KIND)
    _name_apart(client, trends, verdict.panel_digest)
    runs: dict[str, Run] = {}
    replaced = []
    # newest first: what an attempt that was cut off left behind is removed
    for run in trends:
        if run.data.tags["panel_digest"] != verdict.panel_digest:
            continue
        whole = run.data.tags.get("status") == names.COMPLETE
        if not whole or runs.setdefault(run.data.tags["config_name"], run) is not run:
            replaced.append(run.info.run_id)
    day = _day(verdict.night)
    first_day = _first_day(client, next(iter(runs.values()), None), day)
    first = datetime.fromtimestamp(first_day * SECONDS_PER_DAY, UTC).date().isoformat()
    tags = {
        "kind": KIND,
        "experiment": verdict.experiment,
        "panel_digest": verdict.panel_digest,
        "mlflow.note.content": NOTE.format(first=first),
    }
    step = day - first_day
    # What is made last is what a list of the newest shows first.
    for one in sorted(verdict.configurations, key=lambda one: _order(one, reference), reverse=True):
        points = _points(one, values.get(one.config_id, {}), day, step)
        own = {**tags, "config_name": one.name, pages.ORDER: _order(one, reference)}
        if one.name not in runs:
            _write(client, known, own, points)
            continue
        trend = runs[one.name]
        if any(point.step == step for point in _history(client, trend, REGRESSED)):
            kept = [p for name in trend.data.metrics for p in _history(client, trend, name)]
            _write(
                client,
                known,
                own,
                [p for p in kept if p.step != step] + points,
            )
            replaced.append(trend.info.run_id)
        else:
            client.log_batch(trend.info.run_id, metrics=points)
            if trend.data.tags.get(pages.ORDER) != own[pages.ORDER]:
                client.set_tag(trend.info.run_id, pages.ORDER, own[pages.ORDER])
    remove_runs(client, replaced)


def _order(one: ConfigVerdict, reference: str) -> str:
    """Place of a configuration's trend, a text that sorts."""
    if one.status in RED:
        return "0 red"
    return "1 reference" if one.name == reference else "2 other"


def _name_apart(client: MlflowClient, trends: list[Run], tonight: str) -> None:
    """Name the panel in the names of trends of any other panel than the night's.

    Args:
        client: of the store.
        trends: all of the experiment.
        tonight: digest of the night's panel, whose trends are named by the configuration alone.
    """
    for run in trends:
        panel = run.data.tags["panel_digest"]
        name = _name(run.data.tags["config_name"])
        if panel != tonight:
            name += f" (panel {panel[:DIGEST_CHARACTERS]})"
        if run.info.run_name != name:
            client.update_run(run.info.run_id, name=name)


def _name(configuration: str) -> str:
    """Name of a configuration's trend."""
    return f"trend: {configuration}"


def _first_day(client: MlflowClient, trend: Run | None, day: int) -> int:
    """Day of the step 0, the same one for all configurations: told by any point of a trend."""
    points = [] if trend is None else _history(client, trend, REGRESSED)
    return points[0].timestamp // MS_PER_DAY - points[0].step if points else day


def _write(client: MlflowClient, known: str, tags: dict[str, str], points: list[Metric]) -> None:
    """Make the trend of a configuration; it counts once its tag says `complete`."""
    run = client.create_run(
        known, run_name=_name(tags["config_name"]), tags={**tags, "status": names.WRITING}
    )
    for start in range(0, len(points), MOST_POINTS):
        client.log_batch(run.info.run_id, metrics=points[start : start + MOST_POINTS])
    client.set_tag(run.info.run_id, "status", names.COMPLETE)
    client.set_terminated(run.info.run_id)


def _history(client: MlflowClient, run: Run, name: str) -> list[Metric]:
    return list(client.get_metric_history(run.info.run_id, name))


def _points(one: ConfigVerdict, values: Mapping[str, float], day: int, step: int) -> list[Metric]:
    """The tested metrics of a configuration in a night, and whether it regressed."""
    from mlflow.entities import Metric  # noqa: PLC0415

    points = {REGRESSED: float(one.status is Status.REGRESSED)}
    for name in (names.metric_name(metric.metric) for metric in one.metrics):
        if math.isfinite(values.get(name, math.nan)):
            points[name] = values[name]
    return [Metric(name, value, day * MS_PER_DAY, step) for name, value in points.items()]


def _day(night: str) -> int:
    """Days since 1970."""
    midnight = datetime.strptime(night, "%Y-%m-%d").replace(tzinfo=UTC)
    return int(midnight.timestamp()) // SECONDS_PER_DAY
