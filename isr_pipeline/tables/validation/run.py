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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.lock import alone
from isr_pipeline.base.home import SHIPPED, Home
from isr_pipeline.tables.validation import data_docs
from isr_pipeline.tables.validation.data_docs import CHECKED_TABLES
from isr_pipeline.tables.validation.frames import (
    Frame,
    Unreadable,
    columns_found,
    columns_given,
    columns_planned,
    frame,
)

if TYPE_CHECKING:
    from isr_pipeline.base.storage.places import Place
    from isr_pipeline.experiment.plan import Plan

OFFENDERS_SHOWN = 5

KEYS_KEPT_ROWS_MAX = 100_000
"""Rows of a table whose Data Docs name every row that breaks an expectation by its key."""

Expectation = dict[str, Any]
"""One of a suite, as its file has it; ``meta`` holds its name."""


class DataRefused(Refused):
    """A table breaks an expectation; nothing may be concluded from it.

    Attributes:
        table: which one.
        expectations: names of the expectations it breaks, in the suite's order.
        offenders: rows that break the first of them.
        docs: page to look at.
    """

    def __init__(self, table: str, night: str, broken: list[Broken], docs: Place) -> None:
        self.table = table
        self.expectations = [one.name for one in broken]
        self.offenders = broken[0].offenders
        self.docs = docs
        count = broken[0].count
        rows = "; ".join(_shown(row) for row in self.offenders)
        others = f" (also: {', '.join(self.expectations[1:])})" if len(broken) > 1 else ""
        text = (
            f"{table} of night {night} refused: {broken[0].name}: {count} "
            f"{'row' if count == 1 else 'rows'}: {rows}{others}; Data Docs: {docs}"
        )
        super().__init__(" ".join(text.split()))


@dataclass(frozen=True)
class Broken:
    """An expectation that does not hold.

    Attributes:
        name: of it.
        count: rows that break it.
        offenders: some of them: key, and the values that it is about.
    """

    name: str
    count: int
    offenders: list[dict[str, Any]]


def _shown(row: dict[str, Any]) -> str:
    """``scenario_id=r-17 config_id=3fa1 records_lost=5``."""
    return " ".join(f"{key}={value}" for key, value in row.items())


def check(table: str, plan: Plan) -> None:
    """Check one table of a night.

    Args:
        table: scenarios, outcomes or summary.
        plan: the night's plan.

    Raises:
        DataRefused: the table breaks an expectation. Data Docs are written first.
        StoreError: the object store that it lies in lost it, or does not answer.
    """
    if table not in CHECKED_TABLES:
        msg = f"no suite for table {table!r}; there are {', '.join(CHECKED_TABLES)}"
        raise ValueError(msg)
    site = Home.from_environment().data_docs(plan.experiment)
    with tempfile.TemporaryDirectory(prefix="isr-docs-") as folder:
        broken, of = broken_of(table, plan, Path(folder))
        names = [one.name for one in broken]
        with alone(Home.from_environment().locks, f"data-docs.{plan.experiment}"):
            page = data_docs.add(site, Path(folder), table, plan, refused=names, of=of)
    if broken:
        raise DataRefused(table, plan.night, broken, page)


def broken_of(table: str, plan: Plan, pages: Path | None = None) -> tuple[list[Broken], int]:
    """What a table breaks of its suite, in the suite's order, and how many expectations that has.

    Args:
        table: of the night.
        plan: the night's plan.
        pages: folder for Data Docs; none are made without.
    """
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
    suite = [_columns_expectation(name, planned)]
    _, of = _validated(table, suite, Frame(columns, columns), plan, pages)
    return [Broken(name, len(amiss), amiss)], of


def load_suite(table: str) -> list[Expectation]:
    """Expectations of a table: those of its file, and that what is never null is not."""
    content = json.loads((SHIPPED / "expectations" / f"{table}.json").read_text())
    given = [
        {
            "type": "expect_column_values_to_not_be_null",
            "kwargs": {"column": column},
            "meta": {"name": f"{column}_null"},
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
        "meta": {"name": name},
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
    broken = [
        _broken(one, found[one["meta"]["name"]], of)
        for one in suite
        if not found[one["meta"]["name"]].success
    ]
    return broken, len(suite)


def _results(
    table: str, suite: list[Expectation], of: Frame, plan: Plan, pages: Path | None
) -> list[Any]:
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    # The import, which sets this level anew, tells Airflow's log of each function that it looks at.
    said = logging.getLogger("great_expectations")
    said.setLevel(logging.ERROR)
    import great_expectations as gx  # noqa: PLC0415 - two seconds, and reads the variable above

    importlib.import_module("isr_pipeline.tables.validation.row_rule")  # registers it
    said.setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    actions = []
    if pages is not None:
        context.add_data_docs_site("experiment", _site(pages))
        actions = [gx.checkpoint.UpdateDataDocsAction(name="docs", site_names=["experiment"])]
    asset = context.data_sources.add_pandas(plan.experiment).add_dataframe_asset(table)
    expectations = context.suites.add(gx.ExpectationSuite(table, expectations=suite))
    validation = context.validation_definitions.add(
        gx.ValidationDefinition(
            name=table,
            data=asset.add_batch_definition_whole_dataframe("night"),
            suite=expectations,
        )
    )
    checkpoint = gx.Checkpoint(
        name=table,
        validation_definitions=[validation],
        actions=actions,
        result_format={
            "result_format": "COMPLETE" if len(of.rows) <= KEYS_KEPT_ROWS_MAX else "SUMMARY",
            "unexpected_index_column_names": [one for one in of.planned if one in of.rows],
        },
    )
    night = datetime.datetime.fromisoformat(plan.night).replace(tzinfo=datetime.UTC)
    result = context.checkpoints.add(checkpoint).run(
        batch_parameters={"dataframe": of.rows},
        expectation_parameters={"rows_planned": len(of.planned), **of.parameters},
        run_id=gx.RunIdentifier(run_name=plan.night, run_time=night),
    )
    (validated,) = result.run_results.values()
    return list(validated.results)


def _broken(expectation: Expectation, result: Any, of: Frame) -> Broken:
    """What is said of an expectation that does not hold."""
    name, found = expectation["meta"]["name"], result.result
    raised = [one["exception_message"] for one in _exceptions(result.exception_info)]
    if raised:
        return Broken(name, 1, [{"reason": raised[0]}])
    if "unexpected_count" in found:
        rows = pd.DataFrame(found["partial_unexpected_index_list"])
        key = expectation["meta"].get("key", list(of.planned.columns))
        about = [*key, *(column for column in rows if column not in {*key, *of.planned})]
        return Broken(name, int(found["unexpected_count"]), _first(rows[about]))
    missing = of.missing() if name == "rows" else pd.DataFrame()
    if len(missing):
        return Broken(name, len(missing), _first(missing))
    return Broken(name, 1, [{"rows": len(of.rows), "rows_planned": len(of.planned)}])


def _exceptions(info: dict[str, Any]) -> list[dict[str, Any]]:
    """What was raised: Great Expectations keeps one mapping, or one for each metric."""
    each = [info] if "raised_exception" in info else list(info.values())
    return [one for one in each if one["raised_exception"]]


def _first(rows: pd.DataFrame) -> list[dict[str, Any]]:
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
