"""The page of a night: one HTML file that needs nothing else, on a phone and in the dark too."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from plotly.offline import get_plotlyjs

from isr_pipeline.files.whole import write_whole
from isr_pipeline.home import Home
from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData, read_night
from isr_pipeline.report.page import Page, badge
from isr_pipeline.report.sections import sections
from isr_pipeline.verdicts.model import WORST_FIRST

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

HERE = Path(__file__).parent


def write_report(plan: Plan) -> Path:
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
    listed = sections()
    bodies = "\n".join(
        f'<section id="{one.name}" aria-labelledby="h-{one.name}">'
        f'<h2 id="h-{one.name}">{one.title}</h2>{one.body(page, data)}</section>'
        for one in listed
    )
    links = "".join(f'<li><a href="#{one.name}">{one.title}</a></li>' for one in listed)
    title = escape(f"{data.plan.experiment} {data.plan.night}: {data.verdict.headline}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{_file('page.css')}</style></head><body>"
        '<a class="skip" href="#main">Skip to the verdicts</a>'
        f"{_header(data)}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>'
        f'<main id="main">{bodies}</main>{_footer(data)}'
        f'<script type="application/json" id="charts">{charts.as_json(page.charts)}</script>'
        f"<script>{get_plotlyjs()}</script><script>{_file('page.js')}</script></body></html>\n"
    )


def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _header(data: NightData) -> str:
    verdict = data.verdict
    counts = verdict.counts()
    chips = "".join(
        f"<li>{counts[status]} {badge(status)}</li>" for status in WORST_FIRST if counts[status]
    )
    note = verdict.baseline
    compared = "No baseline is accepted yet."
    if note is not None:
        compared = (
            f"Compared with night {escape(note.night)}, accepted by {escape(note.accepted_by)} "
            f"on {escape(note.accepted_at[:10])}: {escape(note.why)}"
        )
    return (
        f"<header><div><p class=where>{escape(verdict.experiment)} · night "
        f"{escape(verdict.night)}</p><h1>{escape(verdict.headline)}</h1>"
        f'<ul class="counts" aria-label="Configurations by verdict">{chips}</ul>'
        f"<p class=where>{compared}</p></div></header>"
    )


def _footer(data: NightData) -> str:
    return (
        "<footer>KIP-501 was never merged into Apache Kafka: what is said of it here is about its "
        f"text, simulated. Made by isr-pipeline {escape(data.plan.version)}, "
        f"code {escape(data.plan.code_version)}.</footer>"
    )
