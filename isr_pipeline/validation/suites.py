"""Expectation suites: JSON files in expectations/, read, never written.

A suite is Great Expectations' own: expectations over a small table of *measures*, which Spark
makes in one pass over the real table, one row per group (a panel, or a configuration). Where
an expectation is about rows, its ``meta`` holds the ``rule`` that every row must keep, as a
condition in SQL, and the columns that show why a row breaks it; the measure is then the number
of rows of the group that break the rule, under the name of the rule.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.home import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

CHECKED_TABLES = ("scenarios", "outcomes", "summary")


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that every row of a table must keep.

    Attributes:
        name: column of the measures that counts the rows which do not.
        condition: SQL; a row for which it is null breaks the rule.
        shows: columns that tell a reader why a row breaks it.
    """

    name: str
    condition: str
    shows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """One table's expectations, as its file has them."""

    table: str
    expectations: tuple[dict[str, Any], ...]

    @property
    def rules(self) -> list[Rule]:
        """Rules about rows, in the file's order."""
        return [
            Rule(e["kwargs"]["column"], e["meta"]["rule"], tuple(e["meta"]["shows"]))
            for e in self.expectations
            if "rule" in e["meta"]
        ]

    @property
    def measures(self) -> list[str]:
        """Every column that an expectation reads, in the file's order."""
        keys = ("column", "column_A", "column_B")
        columns = [
            e["kwargs"][key] for e in self.expectations for key in keys if key in e["kwargs"]
        ]
        return list(dict.fromkeys(columns))


def suites_dir() -> Path:
    """Folder of the suites."""
    return SHIPPED / "expectations"


def load_suite(table: str) -> Suite:
    """Read the suite of one of `CHECKED_TABLES`."""
    content = json.loads((suites_dir() / f"{table}.json").read_text())
    return Suite(table, tuple(content["expectations"]))


def name_of(expectation: dict[str, Any]) -> str:
    """Short name of an expectation: the measure that it is about, else its type."""
    kwargs = expectation["kwargs"]
    return str(kwargs.get("column") or kwargs.get("column_A") or expectation["type"])
