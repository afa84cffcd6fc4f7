"""Which setting to take, measured on scenarios that did not choose it, and the Pareto front."""

from __future__ import annotations

from html import escape

import numpy as np

from isr_pipeline.report import charts, scatter
from isr_pipeline.report.answer import Answer
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.between import Between
from isr_pipeline.verdicts.quantities import (
    FLAPS,
    LATENCY,
    OFFLINE,
    PRODUCE,
    label,
    quantity,
)
from isr_pipeline.worlds.columns import MAIN

TITLE = "Which setting"
ORDER = 30

SAME = 1.01
"""Values within that ratio of each other are said to be the same."""


def short(data: NightData) -> str:
    """What the top of the page says of it; nothing if there is nothing to compare.

    Where today's setting is kept, what was left out is said here too: who asked would take it.
    """
    answer = data.answer
    if answer is None:
        return ""
    left_out = f"<p>{breakable(answer.decides)}</p>" if answer.keeps and answer.decides else ""
    return f"<p>{breakable(answer.short)}</p>{left_out}"


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
            charts.forest(data, between, name),
            f"<strong>{label(name)}</strong>{_beside(between, name)}",
        )
        for name in dict.fromkeys((PRODUCE, *data.settings.pareto))
        if name in between.versus.metrics
    )
    front = ", ".join(breakable(data.name(one)) for one in between.front)
    return (
        _answer(data)
        + page.figure(scatter.pareto(data, between), _circles(between))
        + f"<p>On the Pareto front: {front}.</p><p class=lead>{lead}</p>"
        + f'<div class="pair">{forests}</div>'
    )


def _circles(between: Between) -> str:
    """What the scatter plot shows, and whether a circle's size says anything."""
    if scatter.alike(between.panel.means(LATENCY)):
        name = f"{label(OFFLINE)} and {label(FLAPS)}"
        return f"<strong>{name}</strong>; lower left is better; {label(LATENCY)} is alike"
    name = f"{label(OFFLINE)}, {label(FLAPS)} and {label(LATENCY)}"
    return f"<strong>{name}</strong> (a circle's area); lower left is better"


def _beside(between: Between, metric: str) -> str:
    """Why a latency that is the same everywhere decides nothing, and what to look at instead."""
    if metric != LATENCY or not _same(between, LATENCY):
        return ""
    differing = [name for name in MAIN if not _same(between, name)]
    if not differing:
        return ""
    value = quantity(LATENCY, float(between.panel.means(LATENCY)[0]))
    return (
        f": {value} everywhere, because a fault touches too few batches to reach the slowest "
        f"hundredth; look at {label(differing[0])} instead"
    )


def _same(between: Between, metric: str) -> bool:
    """Whether every configuration has the same of a metric, within 1 %."""
    means = between.panel.means(metric)
    return bool(np.max(means) <= SAME * np.min(means))


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
    listed = "".join(f"<dt>{title}</dt><dd>{breakable(text)}</dd>" for title, text in parts if text)
    return (
        f"<blockquote>{breakable(answer.short)}</blockquote>{_asked(data, answer)}<dl>{listed}</dl>"
    )


def _asked(data: NightData, answer: Answer) -> str:
    """What was asked about, one line each."""
    if not answer.asked_each:
        return ""
    items = "".join(f"<li>{breakable(one)}</li>" for one in answer.asked_each)
    against = escape(data.plan.reference)
    return f"<p>What was asked, against <strong>{against}</strong>:</p><ul>{items}</ul>"
