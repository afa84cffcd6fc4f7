"""What Great Expectations found in a night, as its own JSON: a file for each suite.

They lie in the folder of the run, which becomes the night together with its tables. The last
check of a suite replaces the one before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.tables.validation.data_docs import CRITICAL, SUITES

if TYPE_CHECKING:
    from isr_pipeline.base.storage.places import Place
    from isr_pipeline.experiment.plan import Plan


@dataclass(frozen=True, slots=True)
class Warned:
    """An expectation that does not hold and stops nothing.

    Attributes:
        suite: of it.
        name: of it.
        says: what it expects, in a sentence.
        count: rows that break it.
    """

    suite: str
    name: str
    says: str
    count: int

    def __str__(self) -> str:
        """``outcomes: event_budget_spent: 3 rows: Every pair ends within its event budget.``."""
        rows = "1 row" if self.count == 1 else f"{self.count} rows"
        return f"{self.suite}: {self.name}: {rows}: {self.says}"


def result_file(plan: Plan, suite: str) -> Place:
    """Where the result of a suite lies."""
    return plan.place / "checks" / f"{suite}.json"


def write(plan: Plan, suite: str, result: dict[str, Any]) -> None:
    """Keep what Great Expectations found, as it says it."""
    write_whole(result_file(plan, suite), json.dumps(result, indent=1) + "\n")


def warnings(plan: Plan) -> list[Warned]:
    """What did not hold at the last check of each suite, and stopped nothing."""
    return [one for suite in SUITES for one in _warned(plan, suite)]


def _warned(plan: Plan, suite: str) -> list[Warned]:
    file = result_file(plan, suite)
    if not file.is_file():
        return []  # a night of before 0.3.0
    found = json.loads(file.read_text(encoding="utf-8"))["results"]
    broken = [(one["expectation_config"], one["result"]) for one in found if not one["success"]]
    return [
        Warned(
            suite,
            config["meta"]["name"],
            config["description"].partition(": ")[2],
            result.get("unexpected_count", 1),
        )
        for config, result in broken
        if config["severity"] != CRITICAL
    ]
