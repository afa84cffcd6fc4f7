"""Rows of tests: the table of a test stands in the YAML file beside its module, by its name.

A row has the arguments of the test, and an ``id`` where pytest would find none that can be read.
The rows of a test with one argument are the list of its values.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
import yaml

Test = TypeVar("Test", bound=Callable[..., Any])


@lru_cache
def tables(file: Path) -> dict[str, Any]:
    """Every table of a YAML file, by the name of what it is for."""
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def table_of(module: str, name: str) -> list[dict[str, Any]]:
    """The rows of one table.

    Args:
        module: `__file__` of the module that the YAML file is beside.
        name: of the table.
    """
    found = tables(Path(module).with_suffix(".yaml"))[name]
    if isinstance(found, dict):
        ((argument, values),) = found.items()
        return [{argument: value} for value in values]
    return list(found)


def rows_of(test: Test) -> list[dict[str, Any]]:
    """The rows of a test's own table."""
    module = sys.modules[test.__module__].__file__
    assert module is not None
    return table_of(module, test.__qualname__)


class Row(dict[str, Any]):
    """A row that notes which of its cells were read: what no test reads is written wrongly."""

    def __init__(self, cells: dict[str, Any]) -> None:
        super().__init__(cells)
        self.unread = set(cells) - {"id", "in"}

    def __getitem__(self, name: str) -> Any:
        self.unread.discard(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """A cell that not every row has."""
        self.unread.discard(name)
        return super().get(name, default)


def reads_all(test: Test) -> Test:
    """Let a test fail that leaves a cell of its `row` unread."""

    @wraps(test)
    def whole(*args: Any, row: Row, **more: Any) -> None:
        test(*args, row=row, **more)
        assert row.unread == set()

    return cast("Test", whole)


def in_rows(test: Test) -> Test:
    """Run a test with each row of its table as `row`; rows need an `id`, and may differ in form."""
    rows = [pytest.param(Row(row), id=row["id"]) for row in rows_of(test)]
    parametrized: Test = pytest.mark.parametrize("row", rows)(reads_all(test))
    return parametrized


def from_table(test: Test) -> Test:
    """Run a test with each row of the table that has its name (``Class.test``)."""
    given = rows_of(test)
    names = [name for name in given[0] if name != "id"]
    rows = [pytest.param(*(row[name] for name in names), id=row.get("id")) for row in given]
    parametrized: Test = pytest.mark.parametrize(names, rows)(test)
    return parametrized


def data_of(module: str, name: str) -> Any:
    """What a test works on, from the YAML file beside its module."""
    return copy.deepcopy(tables(Path(module).with_suffix(".yaml"))[name])
