"""Names that columns and strata had in earlier releases, so that older nights can be read.

A reader gives today's name to whatever an older night calls otherwise. A digest is taken over the
first name that a thing had: a new name changes no value, so an accepted night or a panel stays the
one it was. A name that was once given is never given to something else.
"""

from __future__ import annotations

from collections.abc import Iterable

COLUMNS: dict[str, str] = {
    "missed_lag_ms": "detection_delay_ms",  # 0.1.0
}
"""Former name of an outcome column, which is also a metric's name -> its name now."""

STRATA: dict[str, str] = {
    "thrash": "isr-churn",  # 0.1.0
}
"""Former name of a stratum of the shipped fault profiles -> its name now."""

VALUES: dict[str, dict[str, str]] = {"metric": COLUMNS, "stratum": STRATA}
"""Column of texts -> former text -> text now."""

FIRST_COLUMNS = {now: before for before, now in COLUMNS.items()}
FIRST_STRATA = {now: before for before, now in STRATA.items()}
FIRST_VALUES: dict[str, dict[str, str]] = {"metric": FIRST_COLUMNS, "stratum": FIRST_STRATA}


def column_now(name: str) -> str:
    """Today's name of a column or metric."""
    return COLUMNS.get(name, name)


def first_column(name: str) -> str:
    """The first name that a column or metric had."""
    return FIRST_COLUMNS.get(name, name)


def first_stratum(name: str) -> str:
    """The first name that a stratum had."""
    return FIRST_STRATA.get(name, name)


def columns_in(held: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Names under which a file that holds some columns has those that are wanted."""
    names = set(held)
    return [one if one in names else first_column(one) for one in wanted]
