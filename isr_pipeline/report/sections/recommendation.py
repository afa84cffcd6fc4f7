"""Which setting to take, measured on scenarios that did not choose it, and the Pareto front."""

from __future__ import annotations

from html import escape

from isr_pipeline.report import charts
from isr_pipeline.report.answer import Answer
from isr_pipeline.report.data import (
    NightData,
)
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import LABELS, PRODUCE

TITLE = "Which setting"
ORDER = 30


def short(data: NightData) -> str:
    """What the top of the page says of it; nothing if there is nothing to compare."""
    return "" if data.answer is None else f"<p>{escape(data.answer.short)}</p>"


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    between = data.between
    if between is None:
        return "<p class=lead>The reference has no data tonight: nothing to compare with.</p>"
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
        _answer(data)
        + page.figure(
            charts.pareto(data, between),
            "<strong>Offline rate, flaps and commit latency</strong> (size); lower left is better",
        )
        + f"<p>On the Pareto front: {front}.</p><p class=lead>{lead}</p>"
        + f'<div class="pair">{forests}</div>'
    )


def _answer(data: NightData) -> str:
    """The answer and its parts, what other releases and proposals would change apart from it."""
    answer = data.answer
    if answer is None:
        return "<p>Nothing stands beside the reference.</p>"
    parts = (
        ("What decides it", answer.decides),
        ("Published advice", answer.rivals),
        ("Another release", answer.releases),
        ("Proposals", answer.proposals),
        ("How far real brokers back it", answer.backing),
    )
    listed = "".join(f"<dt>{title}</dt><dd>{escape(text)}</dd>" for title, text in parts if text)
    return f"<blockquote>{escape(answer.short)}</blockquote>{_asked(data, answer)}<dl>{listed}</dl>"


def _asked(data: NightData, answer: Answer) -> str:
    """What was asked about, one line each."""
    if not answer.asked_each:
        return ""
    items = "".join(f"<li>{escape(one)}</li>" for one in answer.asked_each)
    against = escape(data.plan.reference)
    return f"<p>What was asked, against <strong>{against}</strong>:</p><ul>{items}</ul>"
