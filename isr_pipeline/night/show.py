"""A night as others see it: its tables, verdicts, metrics and places, for people and for tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isr_pipeline.base.errors import Refused, TableMissing, shortened
from isr_pipeline.base.home import Home
from isr_pipeline.night.publication import finish_publications
from isr_pipeline.night.status import WITHOUT_VERDICT, nights, read_runs
from isr_pipeline.tables.validation.data_docs import night_page

if TYPE_CHECKING:
    from isr_pipeline.base.storage.places import Place
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.record import ConfigVerdict


def show(experiment: str, night: str) -> dict[str, Any]:
    """Everything a night says of itself, as JSON has it.

    Returns:
        ``night, experiment, panel_digest, root, status, reason, headline, dag_run_id``,
        ``question`` (what was asked; empty where a configuration got worse or nothing was asked),
        ``asked`` (names of its configurations),
        ``to_do`` (commands that find the cause, and accept the night), ``began`` (of the run, in
        UTC), ``later`` (how a run since then came out that did not become the night), ``tables``
        (name -> rows and digest), ``configs`` (name, config_id, verdict, words, reason, decisions,
        changed, own figures of a year, params, metrics), ``changed`` (for all of them), ``stages``
        (of further scenarios, in order), ``scenarios_used`` (of the configuration that took most,
        over all its panels), ``reference`` (its name), ``against_reference`` (every other one; see
        :class:`isr_pipeline.verdicts.record.AgainstReference`), ``longer`` (what a longer panel
        would decide of that, and the command), ``limits`` (what is not modelled and touches the
        question) and ``places`` (report, data_docs, mlflow). Of a night that never got a plan: what
        is known.
    """
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads pydantic

    home = Home.from_environment()
    folder = home.night_dir(experiment, night)
    status, later = read_runs(experiment, night)
    shown: dict[str, Any] = {
        "night": night,
        "experiment": experiment,
        "panel_digest": None,
        "root": home.root,
        "status": status.state,
        "reason": status.reason,
        "began": status.began,
        "later": later,
        "headline": "",
        "question": "",
        "to_do": [],
        "changed": [],
        "stages": [],
        "scenarios_used": 0,
        "reference": "",
        "asked": [],
        "against_reference": [],
        "longer": ["", ""],
        "limits": [],
        "baseline": None,
        "last_compared": [],
        "times_asked": 0,
        "dag_run_id": status.dag_run_id,
        "tables": _tables(experiment, night),
        "configs": [],
        "places": {
            "report": str(folder / "report.html"),
            "data_docs": str(night_page(home.data_docs(experiment), night)),
            "mlflow": home.mlflow_uri,
        },
    }
    if (folder / "plan.json").is_file():
        plan = Plan.load(folder / "plan.json")
        shown |= {"panel_digest": plan.panel_digest, "root": plan.root}
        headline, to_do = _told(experiment, night, is_whole=status.state not in WITHOUT_VERDICT)
        shown |= {"configs": _configurations(plan), "headline": headline, "to_do": to_do}
        shown |= {"changed": _changed(folder), **_of_the_verdict(plan)}
        if shown["question"]:
            shown["to_do"] = []  # who asks does not keep watch
    return shown


REASON_CHARACTERS = 160
"""Of a night in the list; its own page has the rest."""


def listed(experiment: str | None) -> list[dict[str, str]]:
    """Every night with its status, and why it has no verdict or what came of a later run."""
    finish_publications(experiment)
    rows = []
    for name, night in nights(experiment):
        status, later = read_runs(name, night)
        reason = shortened(status.reason or later, REASON_CHARACTERS)
        rows.append({"night": night, "experiment": name, "status": status.state, "reason": reason})
    return rows


def _of_the_verdict(plan: Plan) -> dict[str, Any]:
    """What was simulated beyond the standing panel, and each configuration's differences."""
    from isr_pipeline.experiment.not_modelled import limits  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.report.differences import (  # noqa: PLC0415 - reads numpy
        asked,
        is_answer,
        longer,
        question,
    )
    from isr_pipeline.verdicts.record import verdict_of  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.sentences import worse  # noqa: PLC0415 - reads pydantic

    try:
        verdict = verdict_of(plan)
    except Refused:
        return {}
    return {
        "question": question(plan) if is_answer(plan, verdict) else "",
        "asked": asked(plan),
        "stages": [stage.model_dump(mode="json") for stage in verdict.stages],
        "scenarios_used": verdict.scenarios_used,
        "reference": plan.reference,
        "against_reference": [one.model_dump(mode="json") for one in verdict.against_reference],
        "longer": list(longer(plan, verdict.against_reference)),
        "limits": limits(plan.definition) if verdict.against_reference else [],
        "baseline": verdict.baseline and verdict.baseline.called,
        "last_compared": worse(verdict) if verdict.last_compared else [],
        "times_asked": verdict.times_asked,
    }


def _changed(folder: Place) -> list[dict[str, Any]]:
    """What changed for every configuration since the baseline."""
    from isr_pipeline.verdicts.changes import read_changes  # noqa: PLC0415 - reads pydantic

    return [one.as_json() for one in read_changes(folder).shared]


def changed_lines(folder: Place, most: int) -> list[str]:
    """What changed since the baseline, one line each, for people; nothing without a plan."""
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.changes import read_changes  # noqa: PLC0415 - reads pydantic

    file = folder / "plan.json"
    if not file.is_file():
        return []
    names = {one.config_id: one.name for one in Plan.load(file).configurations}
    return read_changes(folder).lines(names, most)


def worse_lines(experiment: str, night: str) -> list[str]:
    """What got worse, a line for each configuration: its verdict, each metric, by how much."""
    from isr_pipeline.verdicts import sentences  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.record import load_verdict  # noqa: PLC0415 - reads pydantic

    try:
        verdict = load_verdict(experiment, night)
    except Refused:
        return []
    return sentences.worse(verdict)


def _told(experiment: str, night: str, *, is_whole: bool) -> tuple[str, list[str]]:
    """Headline of a night's verdict, and commands that say what to do about it.

    The headline is empty if there is no verdict, and says why if it cannot be read. There is
    something to do about a whole night that is not the baseline already.
    """
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts import sentences  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.record import VerdictDamaged, load_verdict  # noqa: PLC0415

    try:
        verdict = load_verdict(experiment, night)
    except VerdictDamaged as damage:
        return str(damage), []
    except Refused:
        return "", []
    told, to_do = sentences.headline(verdict), sentences.what_to_do(verdict)
    if not is_whole or not to_do:
        return told, []
    from isr_pipeline.verdicts import baseline  # noqa: PLC0415 - reads scipy

    record = baseline.show_if_whole(experiment)
    if record and record.is_made_of(Plan.of_night(experiment, night), verdict):
        return f"{told}; this night is the baseline now", []
    return told, to_do


def _tables(experiment: str, night: str) -> dict[str, dict[str, Any]]:
    """Rows and digest of every table that the night has.

    Raises:
        Refused: a table is damaged.
    """
    from pyarrow import ArrowInvalid  # noqa: PLC0415 - reads Arrow

    from isr_pipeline.tables import store  # noqa: PLC0415 - reads Arrow

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
    """Every configuration with its verdict and its metrics over the standing panel."""
    from isr_pipeline.verdicts.changes import read_changes  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.record import verdict_of  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.sentences import reason  # noqa: PLC0415 - reads pydantic

    try:
        verdicts = {one.config_id: one for one in verdict_of(plan).configurations}
    except Refused:
        verdicts = {}
    metrics = _metrics(plan)
    changes = read_changes(plan.place)
    return [
        {
            "name": one.name,
            "config_id": one.config_id,
            "verdict": str(verdicts[one.config_id].status) if one.config_id in verdicts else None,
            "words": [str(word) for word in verdicts[one.config_id].words]
            if one.config_id in verdicts
            else [],
            "reason": reason(verdicts[one.config_id]) if one.config_id in verdicts else "",
            "decisions": _decisions(verdicts.get(one.config_id)),
            "changed": [change.as_json() for change in changes.of(one.config_id)],
            "own": verdicts[one.config_id].own if one.config_id in verdicts else {},
            "params": dict(one.params),
            "metrics": metrics.get(one.config_id, {}),
        }
        for one in plan.configurations
    ]


def _decisions(verdict: ConfigVerdict | None) -> dict[str, dict[str, Any]]:
    """Metric -> status, value, ratio, its interval, its scenarios, and the same of each stratum.

    Beside them, the change in a line.

    Strata are those that differ. The values are those that were judged: where further scenarios
    decided, theirs.
    """
    from isr_pipeline.verdicts.sentences import change  # noqa: PLC0415 - reads pydantic

    if verdict is None:
        return {}
    return {
        one.metric: {
            "status": str(one.status),
            "change": change(one) if one.seen is not None else "",
            "value": one.value,
            "baseline_value": one.baseline_value,
            "ratio": one.ratio,
            "interval": [one.ratio_low, one.ratio_high],
            "levels": [one.low_level, one.high_level],
            "pair": one.pair and one.pair.model_dump(mode="json"),
            "scenarios": one.scenarios,
            "traded": one.traded,
            "strata": {
                part.stratum: {
                    "status": str(part.status),
                    "value": part.value,
                    "baseline_value": part.baseline_value,
                    "ratio": part.ratio,
                    "interval": [part.ratio_low, part.ratio_high],
                    "pair": part.pair.model_dump(mode="json"),
                    "worse": part.risen,
                    "better": part.fallen,
                    "scenarios": part.scenarios,
                }
                for part in one.strata
            },
            "redraws": [draw.model_dump() for draw in one.redraws],
        }
        for one in verdict.metrics
    }


def _metrics(plan: Plan) -> dict[str, dict[str, float | None]]:
    """config_id -> metric -> value over the whole standing panel; empty without a summary."""
    from isr_pipeline.tables import store  # noqa: PLC0415 - reads Arrow

    try:
        rows = store.read_arrow("summary", plan.experiment, plan.night, root=plan.root).to_pylist()
    except TableMissing:
        return {}
    found: dict[str, dict[str, float | None]] = {}
    for row in rows:
        if row["panel"] == "regression" and row["stratum"] == "all":
            found.setdefault(row["config_id"], {})[row["metric"]] = row["value"]
    return found
