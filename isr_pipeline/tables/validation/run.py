"""Check a night's table before anything is concluded from it; refuse it, or go on.

``check(table, plan)`` lets Great Expectations judge the table by its suite, a JSON file in
``expectations/`` that is read and never written, and leaves Data Docs, whatever the verdict.
"""

from __future__ import annotations

import datetime
import importlib
import json
import logging
import os
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from isr_pipeline.base.errors import LINE_MAX, Refused, shortened
from isr_pipeline.base.files.lock import alone
from isr_pipeline.base.home import SHIPPED, Home
from isr_pipeline.tables.validation import data_docs, results
from isr_pipeline.tables.validation.data_docs import CRITICAL, FILES, SUITES, Broken
from isr_pipeline.tables.validation.frames import (
    Frame,
    Unreadable,
    columns_found,
    columns_given,
    columns_planned,
    files_frame,
    frame,
)
from isr_pipeline.tables.validation.rules import columns_that_break, kept

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.base.storage.places import Place
    from isr_pipeline.experiment.plan import Plan

OFFENDERS_SHOWN = 5

ROWS_SAID_MAX = 200
"""Characters of the rows in a refusal; the first is said whole, so that nothing cuts it."""

KEYS_KEPT_ROWS_MAX = 100_000
"""Rows of a table whose Data Docs name every row that breaks an expectation by its key."""

CONFIG_NAME = "config_name"

Expectation = dict[str, Any]
"""One of a suite, as its file has it; ``meta`` holds its name, and why it is critical or not."""

Offenders = list[dict[str, Any]]
"""Rows, values by the names of their columns."""


class DataRefused(Refused):
    """A table breaks an expectation; nothing may be concluded from it.

    Attributes:
        table: which one.
        expectations: names of the expectations it breaks, in the suite's order.
        offenders: rows that break the first of them.
        docs: page of the night to look at.
    """

    def __init__(self, table: str, night: str, broken: list[Broken], docs: Place) -> None:
        self.table = table
        self.expectations = [one.name for one in broken]
        self.offenders = broken[0].offenders
        self.docs = docs
        others = f" (also: {', '.join(self.expectations[1:])})" if len(broken) > 1 else ""
        text = f"{table} of night {night} refused: {_rows_of(broken[0])}{others}; Data Docs: {docs}"
        super().__init__(" ".join(text.split()))


def told(broken: Broken) -> str:
    """``warning: event_budget_spent: 3 rows: scenario_id=r-17 failed=1``."""
    said = " ".join(f"{broken.severity}: {_rows_of(broken)}".split())
    return shortened(said, LINE_MAX)


def _rows_of(broken: Broken) -> str:
    """``more_lost_than_acked: 1 row: scenario_id=r-17 records_lost=5``."""
    rows = "1 row" if broken.count == 1 else f"{broken.count} rows"
    return f"{broken.name}: {rows}: {_rows_said(broken.offenders)}"


def _rows_said(offenders: list[dict[str, Any]]) -> str:
    """The first row, and of the others as many as there is room for."""
    said = _shown(offenders[0])
    for row in offenders[1:]:
        longer = f"{said}; {_shown(row)}"
        if len(longer) > ROWS_SAID_MAX:
            break
        said = longer
    return said


def _shown(row: dict[str, Any]) -> str:
    """``scenario_id=r-17 config_id=3fa1 records_lost=5``."""
    return " ".join(f"{key}={value}" for key, value in row.items())


def check(table: str, plan: Plan) -> list[Broken]:
    """Check one table of a night before it goes on.

    Args:
        table: scenarios, outcomes or summary.
        plan: the night's plan.

    Returns:
        What it breaks that does not stop the night.

    Raises:
        DataRefused: the table breaks a critical expectation. Data Docs are written first.
        StoreError: the object store that it lies in lost it, or does not answer.
    """
    broken, _, page = checked(table, plan)
    critical = [one for one in broken if one.severity == CRITICAL]
    if critical:
        raise DataRefused(table, plan.night, critical, page)
    return broken


def checked(suite: str, plan: Plan) -> tuple[list[Broken], int, Place]:
    """Check a night by one suite; keep what was found, and write Data Docs.

    Returns:
        What does not hold, how many expectations the suite has, the night's page in Data Docs.

    Raises:
        StoreError: the object store that the tables lie in does not answer.
    """
    if suite not in SUITES:
        msg = f"no suite for table {suite!r}; there are {', '.join(SUITES)}"
        raise ValueError(msg)
    site = Home.from_environment().data_docs(plan.experiment)
    with tempfile.TemporaryDirectory(prefix="isr-docs-") as folder:
        broken, of = broken_of(suite, plan, Path(folder))
        with alone(Home.from_environment().locks, f"data-docs.{plan.experiment}"):
            page = data_docs.add(site, Path(folder), suite, plan, broken, of)
    return broken, of, page


def broken_of(table: str, plan: Plan, pages: Path | None = None) -> tuple[list[Broken], int]:
    """What a table breaks of its suite, in the suite's order, and how many expectations that has.

    Args:
        table: of the night, or the suite of its files.
        plan: the night's plan.
        pages: folder for Data Docs; without it nothing is written.
    """
    if table == FILES:
        return _validated(table, load_suite(table), files_frame(plan), plan, pages)
    planned = columns_planned(table)
    found: list[str] = []
    try:
        found = columns_found(table, plan)
        if set(found) == set(planned):
            return _validated(table, load_suite(table), frame(table, plan), plan, pages)
        name, amiss = "columns_amiss", _columns_amiss(found, planned)
    except Unreadable as error:
        name, found, amiss = "unreadable", [], [error.shown]
    # Nothing can be said of the rows: the suite is the columns alone.
    columns = pd.DataFrame(columns=found)
    expected = _columns_expectation(name, planned)
    _, of = _validated(table, [expected], Frame(columns, columns), plan, pages)
    return [Broken(name, expected["description"], len(amiss), amiss)], of


def load_suite(table: str) -> list[Expectation]:
    """Expectations of a table: those of its file, and that what is never null is not."""
    content = json.loads((SHIPPED / "expectations" / f"{table}.json").read_text())
    if table == FILES:
        return list(content["expectations"])
    given = [
        {
            "type": "expect_column_values_to_not_be_null",
            "kwargs": {"column": column},
            "meta": {"name": f"{column}_null", "why": "incomplete"},
            "severity": "critical",
            "description": f"{column} is never null.",
        }
        for column in columns_given(table)
    ]
    return [*content["expectations"], *given]


def _columns_expectation(name: str, planned: list[str]) -> Expectation:
    return {
        "type": "expect_table_columns_to_match_set",
        "kwargs": {"column_set": planned, "exact_match": True},
        "meta": {"name": name, "why": "incomplete"},
        "severity": "critical",
        "description": "The table can be read; its columns and their types are the schema's.",
    }


def _columns_amiss(found: list[str], planned: list[str]) -> list[dict[str, Any]]:
    """Columns that are absent, added or of another type."""
    there, wanted = (dict(one.split(" ", 1) for one in names) for names in (found, planned))
    return [
        {
            "column": name,
            "type": there.get(name, "absent"),
            "planned": wanted.get(name, "absent"),
        }
        for name in sorted(there.keys() | wanted.keys())
        if there.get(name) != wanted.get(name)
    ]


def _validated(
    table: str, suite: list[Expectation], of: Frame, plan: Plan, pages: Path | None
) -> tuple[list[Broken], int]:
    """Let Great Expectations judge, and write its pages.

    Raises:
        RuntimeError: an expectation has no result; it must not pass unseen.
    """
    results = _results(table, suite, of, plan, pages)
    found = {str(one.expectation_config.meta["name"]): one for one in results}
    unseen = [one["meta"]["name"] for one in suite if one["meta"]["name"] not in found]
    if unseen:
        msg = f"suite {table}: no result for {unseen}"
        raise RuntimeError(msg)
    names = {one.config_id: one.name for one in plan.configurations}
    broken = [
        replace(
            _with_names(_broken(one, found[one["meta"]["name"]], of), names),
            severity=one["severity"],
        )
        for one in suite
        if not found[one["meta"]["name"]].success
    ]
    return broken, len(suite)


def _with_names(broken: Broken, names: Mapping[str, str]) -> Broken:
    """The same, with the name of each row's configuration beside its id."""
    offenders = []
    for row in broken.offenders:
        named = {}
        for column, value in row.items():
            named[column] = value
            if column == "config_id":
                named["configuration"] = names.get(value, "none of the plan")
        offenders.append(named)
    return replace(broken, offenders=offenders)


def _results(
    table: str, suite: list[Expectation], of: Frame, plan: Plan, pages: Path | None
) -> list[Any]:
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    # The import, which sets this level anew, tells Airflow's log of each function that it looks at.
    said = logging.getLogger("great_expectations")
    said.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pyspark, which nothing here uses
        import great_expectations as gx  # noqa: PLC0415 - two seconds; reads the variable above

    importlib.import_module("isr_pipeline.tables.validation.row_rule")  # registers it
    said.setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    actions = []
    if pages is not None:
        context.add_data_docs_site("experiment", _site(pages))
        actions = [gx.checkpoint.UpdateDataDocsAction(name="docs", site_names=["experiment"])]
    asset = context.data_sources.add_pandas(plan.experiment).add_dataframe_asset(table)
    told = [{**one, "description": _told(one)} for one in suite]
    expectations = context.suites.add(gx.ExpectationSuite(table, expectations=told))
    validation = context.validation_definitions.add(
        gx.ValidationDefinition(
            name=table,
            data=asset.add_batch_definition_whole_dataframe("night"),
            suite=expectations,
        )
    )
    key = [*of.planned, *([CONFIG_NAME] if "config_id" in of.planned else [])]
    checkpoint = gx.Checkpoint(
        name=table,
        validation_definitions=[validation],
        actions=actions,
        result_format={
            "result_format": "COMPLETE" if len(of.rows) <= KEYS_KEPT_ROWS_MAX else "SUMMARY",
            "unexpected_index_column_names": [one for one in key if one in of.rows],
            "return_unexpected_index_query": False,
        },
    )
    night = datetime.datetime.fromisoformat(plan.night).replace(tzinfo=datetime.UTC)
    result = context.checkpoints.add(checkpoint).run(
        batch_parameters={"dataframe": of.rows},
        expectation_parameters={"rows_planned": len(of.planned), **of.parameters},
        run_id=gx.RunIdentifier(run_name=plan.night, run_time=night),
    )
    (validated,) = result.run_results.values()
    if pages is not None:
        results.write(plan, table, validated.to_json_dict())
    return list(validated.results)


def _told(expectation: Expectation) -> str:
    """What its page says of it: the name that logs have, the sentence, and what a pair is of."""
    said, of = f"{expectation['meta']['name']}: {expectation['description']}", expectation["kwargs"]
    if "column_A" in of:
        said += f" (values: {of['column_A']}, {of['column_B']})"
    return said


def _broken(expectation: Expectation, result: Any, of: Frame) -> Broken:
    """What is said of an expectation that does not hold."""
    name, says = expectation["meta"]["name"], expectation["description"]
    found = result.result
    raised = [one["exception_message"] for one in _exceptions(result.exception_info)]
    if raised:
        return Broken(name, says, 1, [{"reason": raised[0]}])
    if "unexpected_count" in found:
        offenders = _offenders(expectation, found["partial_unexpected_index_list"], of)
        return Broken(name, says, int(found["unexpected_count"]), offenders)
    missing = of.missing() if name == "rows" else pd.DataFrame()
    if len(missing):
        return Broken(name, says, len(missing), _first(missing))
    return Broken(name, says, 1, [{"rows": len(of.rows), "rows_planned": len(of.planned)}])


def _offenders(expectation: Expectation, unexpected: list[dict[str, Any]], of: Frame) -> Offenders:
    """The first rows that break it: key, and the values that it is about.

    Args:
        expectation: of one column or several.
        unexpected: rows that Great Expectations names.
        of: what the suite is about.
    """
    planned, about = list(of.planned.columns), expectation["kwargs"]
    key = expectation["meta"].get("key", planned)
    if "rule" in about:
        return _rule_breakers(about["rule"], about["column_list"], key, of.rows)
    rows = pd.DataFrame(unexpected)
    named = set() if CONFIG_NAME in about.values() else {CONFIG_NAME}
    rest = [column for column in rows if column not in {*key, *planned, *named}]
    return _first(rows[[*key, *rest]])


def _rule_breakers(rule: str, columns: list[str], key: list[str], rows: pd.DataFrame) -> Offenders:
    """The first rows that do not keep a rule, each with those values that break it."""
    about = list(dict.fromkeys([*key, *columns]))
    first = rows.loc[~kept(rows[columns], rule), about].drop_duplicates().head(OFFENDERS_SHOWN)
    breaking = [columns_that_break(rule, first.loc[[place]]) for place in first.index]
    return [
        {name: row[name] for name in dict.fromkeys([*key, *names])}
        for row, names in zip(_first(first), breaking, strict=True)
    ]


def _exceptions(info: dict[str, Any]) -> list[dict[str, Any]]:
    """What was raised: Great Expectations keeps one mapping, or one for each metric."""
    each = [info] if "raised_exception" in info else list(info.values())
    return [one for one in each if one["raised_exception"]]


def _first(rows: pd.DataFrame) -> Offenders:
    records = rows.drop_duplicates().head(OFFENDERS_SHOWN).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in records]


def _site(folder: Path) -> dict[str, Any]:
    """Great Expectations' description of a site of static pages."""
    return {
        "class_name": "SiteBuilder",
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        "store_backend": {
            "class_name": "TupleFilesystemStoreBackend",
            "base_directory": str(folder),
        },
    }
