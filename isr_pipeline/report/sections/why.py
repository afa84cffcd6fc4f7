"""Where the worst three part from their baseline, both histories drawn one above the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isr_pipeline.base.errors import USER_ERRORS
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.report.scenario import Told, told
from isr_pipeline.report.story import story_of
from isr_pipeline.report.trace import LEGEND
from isr_pipeline.verdicts.blame.case import read_case
from isr_pipeline.verdicts.blame.why import Explanation, explain

WORST = 3
LANES = 12
"""Lanes of a run: of four partitions with three replicas."""


@dataclass(frozen=True, slots=True)
class Parted:
    """A configuration, where it parts from the baseline in words, and its story if it has one."""

    name: str
    text: str
    told: Told | None


def values(page: Page, data: NightData) -> dict[str, Any] | None:
    """The worst configurations; None if none got worse."""
    if not data.flagged:
        return None
    return {
        "worst": [_parted(page, data, one.name) for one in data.flagged[:WORST]],
        "legend": LEGEND,
    }


def explanation(page: Page, data: NightData, name: str) -> Explanation | str:
    """Where a configuration's history parts from the baseline's; a line if nobody can say."""
    if name not in page.explained:
        try:
            case = read_case(data.plan, name)
            page.explained[name] = explain(case)
        except USER_ERRORS as refusal:
            page.explained[name] = str(refusal)
    return page.explained[name]


def _parted(page: Page, data: NightData, name: str) -> Parted:
    found = explanation(page, data, name)
    if isinstance(found, str):
        return Parted(name, found, None)
    return Parted(name, "\n".join(found.lines()), told(page, story_of(found), LANES))
