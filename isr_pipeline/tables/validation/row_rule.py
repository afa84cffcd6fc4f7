"""An expectation for what no built-in one says: a condition that every row keeps."""

from __future__ import annotations

from typing import Any

import pandas as pd
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import MulticolumnMapExpectation
from great_expectations.expectations.metrics.map_metric_provider import (
    MulticolumnMapMetricProvider,
)
from great_expectations.expectations.metrics.map_metric_provider.multicolumn_condition_partial import (  # noqa: E501
    multicolumn_condition_partial,
)
from great_expectations.render import LegacyDiagnosticRendererType, RenderedTableContent
from great_expectations.render.renderer.renderer import renderer

from isr_pipeline.tables.validation.rules import kept

_METRIC = "multicolumn_values.keep_rule"


class RowsKeepRule(MulticolumnMapMetricProvider):  # type: ignore[misc]
    """Which rows keep a rule."""

    condition_metric_name = _METRIC
    condition_domain_keys = (
        "batch_id",
        "table",
        "column_list",
        "row_condition",
        "condition_parser",
        "ignore_row_if",
    )
    condition_value_keys = ("rule",)

    @multicolumn_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, column_list: pd.DataFrame, rule: str, **_: Any) -> Any:  # noqa: N805
        return kept(column_list, rule)


class ExpectRowsToKeepRule(MulticolumnMapExpectation):  # type: ignore[misc]
    """Expect every row to keep a rule; a row for which it is null breaks it.

    Args:
        rule: condition on columns, as `pandas.DataFrame.eval` reads it.
    """

    rule: str

    map_metric = _METRIC
    success_keys = ("rule", "mostly")
    args_keys = ("column_list", "rule")

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)  # type: ignore[untyped-decorator]
    def rows_that_break_it(
        cls,
        configuration: Any = None,  # noqa: ARG003 - every renderer is given it
        result: Any = None,
        runtime_configuration: Any = None,  # noqa: ARG003 - likewise
    ) -> list[RenderedTableContent] | None:
        """Give the rows with the names of their columns; the built-in page has values alone."""
        found = {} if result is None else result.result
        rows = found.get("unexpected_index_list") or found.get("partial_unexpected_index_list")
        if not rows:
            return None
        return [
            RenderedTableContent(
                content_block_type="table",
                header_row=list(rows[0]),
                table=[[str(value) for value in row.values()] for row in rows],
                styling={"body": {"classes": ["table-bordered", "table-sm", "mt-3"]}},
            )
        ]
