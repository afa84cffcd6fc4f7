"""Check a night's table before anything is concluded from it; refuse it, or go on.

``check(table, plan)`` measures the table with Spark, lets Great Expectations judge the measures
by the suite in expectations/, and leaves Data Docs, whatever the verdict: static pages under
`isr_pipeline.home.Home.data_docs`, with an ``index.html`` to open.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from isr_pipeline.errors import Refused
from isr_pipeline.home import Home
from isr_pipeline.host.spark_errors import store_trouble
from isr_pipeline.host.spark_session import step_session
from isr_pipeline.storage.published import replacing_pages
from isr_pipeline.storage.remote import StoreError
from isr_pipeline.validation import docs_index
from isr_pipeline.validation.measure import Measured, measure, unreadable
from isr_pipeline.validation.suites import CHECKED_TABLES, Suite, load_suite, name_of

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.storage.places import Place

MEASURES_SHOWN = 1000
_INDEX_COLUMNS = ("panel", "config_id", "config_name")


class DataRefused(Refused):
    """A table breaks an expectation; nothing may be concluded from it.

    Attributes:
        table: which one.
        expectations: names of the expectations it breaks, in the suite's order.
        offenders: rows that break the first of them.
        docs: page to look at.
    """

    def __init__(
        self,
        table: str,
        night: str,
        *,
        expectations: list[str],
        offenders: list[dict[str, Any]],
        count: int,
        docs: Place,
    ) -> None:
        self.table = table
        self.expectations = expectations
        self.offenders = offenders
        self.docs = docs
        rows = "; ".join(_shown(row) for row in offenders)
        others = f" (also: {', '.join(expectations[1:])})" if len(expectations) > 1 else ""
        text = (
            f"{table} of night {night} refused: {expectations[0]}: {count} "
            f"{'row' if count == 1 else 'rows'}: {rows}{others}; Data Docs: {docs}"
        )
        super().__init__(" ".join(text.split()))


def _shown(row: dict[str, Any]) -> str:
    """``scenario_id=r-17 config_id=3fa1 records_lost=5``."""
    return " ".join(f"{key}={value}" for key, value in row.items())


def check(table: str, plan: Plan, spark: SparkSession | None = None) -> None:
    """Check one table of a night.

    Args:
        table: scenarios, outcomes or summary.
        plan: the night's plan.
        spark: session to use; if None the running one, else the run's, else one for this check
            alone.

    Raises:
        DataRefused: the table breaks an expectation. Data Docs are written first.
    """
    if table not in CHECKED_TABLES:
        msg = f"no suite for table {table!r}; there are {', '.join(CHECKED_TABLES)}"
        raise ValueError(msg)
    running = spark or SparkSession.getActiveSession()
    with contextlib.nullcontext(running) if running else step_session("validate") as session:
        _check(load_suite(table), plan, session)


def _check(suite: Suite, plan: Plan, spark: SparkSession) -> None:
    """Check a table by its suite; see `check`."""
    measured = _measured(spark, suite, plan)
    folder = Home.from_environment().data_docs(plan.experiment, plan.night)
    results = _judge(suite, measured.frame, folder / suite.table)
    failed = [place for place, success in enumerate(results) if not success]
    names = [name_of(suite.expectations[place]) for place in failed]
    docs_index.note(folder, suite.table, names, len(results))
    docs_index.write_index(folder, plan.experiment, plan.night)
    if failed:
        offenders, count = _offenders(suite.expectations[failed[0]], measured)
        raise DataRefused(
            suite.table,
            plan.night,
            expectations=names,
            offenders=offenders,
            count=count,
            docs=folder / "index.html",
        )


def _measured(spark: SparkSession, suite: Suite, plan: Plan) -> Measured:
    """Measures of the table, also of one that breaks off while it is read.

    Raises:
        StoreError: the object store that it lies in lost it, or does not answer.
    """
    try:
        return measure(spark, suite, plan)
    except (Py4JJavaError, PySparkException) as error:
        trouble = store_trouble(str(error))
        if trouble:
            raise StoreError(trouble) from None
        return unreadable(suite, _first_line(error))


def _first_line(error: Exception) -> str:
    """Say why Spark gave up, without its stack."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error)
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__


def _offenders(expectation: dict[str, Any], measured: Measured) -> tuple[list[dict[str, Any]], int]:
    """Rows behind a failed expectation (else its groups), and how many there are."""
    name = name_of(expectation)
    find = measured.offenders.get(name)
    if find is not None:
        return find(), int(measured.frame[name].sum())
    kwargs = expectation["kwargs"]
    index = [column for column in _INDEX_COLUMNS if column in measured.frame.columns]
    shown = [kwargs[key] for key in ("column", "column_A", "column_B") if key in kwargs]
    frame = measured.frame
    if "column_B" in kwargs:
        frame = frame[frame[kwargs["column_A"]] != frame[kwargs["column_B"]]]
    records = frame[[*index, *shown]].head(5).to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in records], len(frame)


def _judge(suite: Suite, measures: pd.DataFrame, docs: Place) -> list[bool]:
    """Let Great Expectations judge the measures and write its pages.

    Returns:
        Success of each expectation, in the suite's order.
    """
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx  # noqa: PLC0415 - two seconds, and reads the variable above

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    with replacing_pages(docs) as writing:
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        context.add_data_docs_site("night", _site(writing))
        source = context.data_sources.add_pandas("measures")
        asset = source.add_dataframe_asset(suite.table)
        batch = asset.add_batch_definition_whole_dataframe("night")
        expectations = context.suites.add(
            gx.ExpectationSuite(suite.table, expectations=list(suite.expectations))
        )
        validation = context.validation_definitions.add(
            gx.ValidationDefinition(name=suite.table, data=batch, suite=expectations)
        )
        checkpoint = context.checkpoints.add(
            gx.Checkpoint(
                name=suite.table,
                validation_definitions=[validation],
                actions=[gx.checkpoint.UpdateDataDocsAction(name="docs", site_names=["night"])],
                result_format={
                    "result_format": "COMPLETE",
                    "unexpected_index_column_names": [
                        name for name in _INDEX_COLUMNS if name in measures.columns
                    ],
                },
            )
        )
        result = checkpoint.run(batch_parameters={"dataframe": measures})
    (validated,) = result.run_results.values()
    return _in_order(suite, validated.results)


def _in_order(suite: Suite, results: Any) -> list[bool]:
    """Success by the suite's order: results come back in another one.

    Raises:
        RuntimeError: an expectation has no result; it must not pass unseen.
    """
    found: dict[tuple[str, str], bool] = {}
    for result in results:
        config = result.expectation_config
        expectation = {"type": config.type, "kwargs": config.kwargs}
        found[config.type, name_of(expectation)] = bool(result.success)
    keys = [(e["type"], name_of(e)) for e in suite.expectations]
    unseen = [key for key in keys if key not in found]
    if unseen:
        msg = f"suite {suite.table}: no result for {unseen}"
        raise RuntimeError(msg)
    return [found[key] for key in keys]


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
