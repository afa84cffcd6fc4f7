"""A scenario that decided, as the page shows it: its change, what happened, and how to see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isr_pipeline.report.data import Deciding, NightData, replay_command
from isr_pipeline.report.story import Story
from isr_pipeline.report.trace import drawn
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.report.page import Figure, Page

LANES = 9
"""Lanes of a run: of three partitions with three replicas."""


@dataclass(frozen=True, slots=True)
class Told:
    """A story in sentences, and its lanes."""

    lines: list[str]
    figure: Figure | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A scenario with its change.

    Attributes:
        metric: what changed, from ``before`` to ``after``, in ``unit``.
        told: what happened; None if no events of it can be had.
        command: shows it event by event.
    """

    scenario_id: str
    metric: str
    before: float
    after: float
    unit: str
    told: Told | None
    command: str


def shown(page: Page, data: NightData, found: Deciding) -> Shown:
    """How much a scenario changed, its story, its lanes before above those after."""
    return Shown(
        scenario_id=found.scenario_id,
        metric=found.metric,
        before=found.before,
        after=found.after,
        unit=METRICS[found.metric].unit.total,
        told=told(page, Story(found.runs), LANES) if found.runs else None,
        command=replay_command(data.plan, found, data.name(found.config_id)),
    )


def told(page: Page, story: Story, lanes: int) -> Told:
    """A story in sentences, and its lanes.

    Args:
        page: it keeps the drawing.
        story: of one run, or of the baseline's and tonight's.
        lanes: that a run has room for.
    """
    titles = " above, ".join(run.title for run in story.runs)
    below = f"{titles} below" if len(story.runs) > 1 else titles
    figure = page.figure(
        drawn(story, most=lanes), story.scenario.scenario_id, f": {below}; faults are shaded"
    )
    return Told(story.lines(len(story.shown(lanes))), figure)
