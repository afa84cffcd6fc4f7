"""A scenario that decided, as the page shows it: its change, what happened, and how to see it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from isr_pipeline.report.data import replay_command
from isr_pipeline.report.names import breakable
from isr_pipeline.report.story import Story
from isr_pipeline.report.trace import drawn
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import number
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.report.data import Deciding, NightData
    from isr_pipeline.report.page import Page

LANES = 9
"""Lanes of a run: of three partitions with three replicas."""


def shown(page: Page, data: NightData, found: Deciding) -> str:
    """The scenario's HTML: how much it changed, its story, its lanes before above those after."""
    unit = METRICS[found.metric].unit.total
    head = (
        f"<p><strong>{escape(found.scenario_id)}</strong>: {quantities.label(found.metric)} "
        f"{number(found.before)} to {number(found.after)} {unit}</p>"
    )
    command = (
        f"<pre><code>{escape(replay_command(data.plan, found, data.name(found.config_id)))}"
        "</code></pre>"
    )
    if not found.runs:
        kept = (
            "<p class=lead>The events of this pair were not kept, and its code is not the one that "
            "runs now; the command shows what became of it.</p>"
        )
        return f"{head}{kept}{command}"
    return head + told(page, Story(found.runs), LANES) + command


def told(page: Page, story: Story, lanes: int) -> str:
    """A story in sentences, and its lanes.

    Args:
        page: it keeps the drawing.
        story: of one run, or of the baseline's and tonight's.
        lanes: that a run has room for.
    """
    count = len(story.shown(lanes))
    lines = "".join(f"<li>{breakable(line)}</li>" for line in story.lines(count))
    name = escape(story.scenario.scenario_id)
    titles = " above, ".join(run.title for run in story.runs)
    below = f"{titles} below" if len(story.runs) > 1 else titles
    caption = f"<strong>{name}</strong>: {below}; faults are shaded"
    return f'<ul class="story">{lines}</ul>{page.figure(drawn(story, most=lanes), caption)}'
