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
        kept = column_list.eval(rule, engine="python")
        return pd.Series(kept, index=column_list.index).fillna(False).astype(bool)


class ExpectRowsToKeepRule(MulticolumnMapExpectation):  # type: ignore[misc]
    """Expect every row to keep a rule; a row for which it is null breaks it.

    Args:
        rule: condition on columns, as `pandas.DataFrame.eval` reads it.
    """

    rule: str

    map_metric = _METRIC
    success_keys = ("rule", "mostly")
    args_keys = ("column_list", "rule")
