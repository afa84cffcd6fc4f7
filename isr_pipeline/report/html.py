"""The page of a night: one HTML file that needs nothing else, on a phone and in the dark too."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from isr_pipeline.files.whole import write_whole
from isr_pipeline.home import Home
from isr_pipeline.report.assets import asset, drawing
from isr_pipeline.report.data import NightData, read_night
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, badge, fold
from isr_pipeline.report.sections import Section, answer, sections
from isr_pipeline.verdicts.record import WORST_FIRST, Status
from isr_pipeline.verdicts.sentences import headline

LINKED = ("answer", "who", "why", "configurations", "data")
"""Sections that the top of a page links to where something got worse; else it links to all."""

OF_THE_CHANGE = ("answer", "changed", "who", "regressions", "single", "why", "improvements")
"""Sections that stay open where something got worse."""

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.storage.places import Place


def write_report(plan: Plan) -> Place:
    """Write ``report.html`` of a judged night into its folder.

    Raises:
        Refused: the night was not judged.
    """
    text = render(read_night(plan))
    folder = Home.from_environment().night_dir(plan.experiment, plan.night)
    return write_whole(folder / "report.html", text)


def render(data: NightData) -> str:
    """The whole page as text."""
    page = Page()
    drawn = [(_folded(one, data), text) for one in sections() if (text := one.body(page, data))]
    bodies = "\n".join(_section(one, text) for one, text in drawn)
    links = "".join(
        f'<li><a href="#{one.name}">{one.title}</a></li>'
        for one, _ in drawn
        if one.name in LINKED or not data.flagged
    )
    title = escape(f"{data.plan.experiment} {data.plan.night}: {headline(data.verdict)}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{asset('page.css')}</style></head><body>"
        '<a class="skip" href="#main">Skip to the answer</a>'
        f"{_header(data)}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>'
        f'<main id="main" tabindex="-1">{bodies}</main>{_footer(data)}'
        f"{drawing(page.charts)}</body></html>\n"
    )


def _folded(one: Section, data: NightData) -> Section:
    """A section; of a night with something worse folded if it is not about that."""
    beside = bool(data.flagged) and one.name not in OF_THE_CHANGE
    return replace(one, folded=one.folded or beside)


def _section(one: Section, text: str) -> str:
    heading = f'<h2 id="h-{one.name}">{one.title}</h2>'
    inner = fold(heading, text) if one.folded else heading + text
    return f'<section id="{one.name}" aria-labelledby="h-{one.name}">{inner}</section>'


def _header(data: NightData) -> str:
    verdict = data.verdict
    counts = verdict.counts()
    chips = "".join(
        f"<li>{counts[status]} {badge(status)}</li>" for status in WORST_FIRST if counts[status]
    )
    note = verdict.baseline
    # the verdict of a first night says so itself
    compared = "" if verdict.status is Status.BASELINE else " No baseline is accepted yet."
    if note is not None:
        compared = (
            f" Compared with night {escape(note.night)}, accepted by {escape(note.accepted_by)} "
            f"on {escape(note.accepted_at[:10])}: {escape(note.why)}"
        )
    return (
        f"<header><div><p class=where>{escape(verdict.experiment)} · night "
        f"{escape(verdict.night)}</p><h1>{breakable(answer.headline(data))}</h1>"
        f'<ul class="counts" aria-label="Configurations by verdict">{chips}</ul>'
        f"<p class=where>{escape(headline(verdict))}.{compared}</p></div></header>"
    )


def _footer(data: NightData) -> str:
    return (
        "<footer>A simulator made every number here; no broker was touched. Commands run in the "
        "checkout, after <code>. .venv/bin/activate</code>. KIP-501 was never merged into Apache "
        "Kafka: what is said of it here is about its "
        f"text, simulated. Made by isr-pipeline {escape(data.plan.version)}, "
        f"code {escape(data.plan.code_version)}.</footer>"
    )
