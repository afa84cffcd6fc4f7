"""Which configuration tonight's panel speaks for, and the Pareto front."""

from __future__ import annotations

from html import escape

from isr_pipeline.report import charts, words
from isr_pipeline.report.data import (
    NightData,
)
from isr_pipeline.report.page import Page
from isr_pipeline.report.words import LABELS, PRODUCE

TITLE = "Which setting"
ORDER = 30


def short(data: NightData) -> str:
    """What the top of the page says of it; nothing if the reference has no data."""
    if data.between is None:
        return ""
    return f"<p>{escape(words.reason(data.between.recommendation.text))}</p>"


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    between = data.between
    if between is None:
        return "<p class=lead>The reference has no data tonight: nothing to compare with.</p>"
    chosen = between.recommendation
    lead = (
        f"Every configuration met the same {len(between.panel.scenario_ids)} scenarios; ratios are "
        f"to <strong>{escape(data.plan.reference)}</strong>, left of 1 is better."
    )
    forests = "".join(
        page.figure(
            charts.forest(data, between, name), f"<strong>{LABELS.get(name, name)}</strong>"
        )
        for name in dict.fromkeys((PRODUCE, *data.settings.pareto))
        if name in between.versus.metrics
    )
    front = ", ".join(escape(data.name(one)) for one in between.front)
    return (
        f"<blockquote>{escape(words.reason(chosen.text))}</blockquote>"
        + page.figure(
            charts.pareto(data, between),
            "<strong>Offline rate, flaps and commit latency</strong> (size); lower left is better",
        )
        + f"<p>On the Pareto front: {front}.</p><p class=lead>{lead}</p>"
        + f'<div class="pair">{forests}</div>'
    )
