"""Rows of tests: the table of a test stands in the YAML file beside its module, by its name.

A row has the arguments of the test, and an ``id`` where pytest would find none that can be read.
The rows of a test with one argument are the list of its values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

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


def from_table(test: Test) -> Test:
    """Run a test with each row of the table that has its name (``Class.test``)."""
    given = rows_of(test)
    names = [name for name in given[0] if name != "id"]
    rows = [pytest.param(*(row[name] for name in names), id=row.get("id")) for row in given]
    parametrized: Test = pytest.mark.parametrize(names, rows)(test)
    return parametrized
