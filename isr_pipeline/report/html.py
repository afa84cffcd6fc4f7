"""The page of a night: one HTML file that needs nothing else, on a phone and in the dark too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.report.data import NightData, read_night
from isr_pipeline.report.page import Page
from isr_pipeline.report.sections import SECTIONS, answer
from isr_pipeline.report.templates import rendered
from isr_pipeline.verdicts.record import WORST_FIRST
from isr_pipeline.verdicts.sentences import headline

if TYPE_CHECKING:
    from isr_pipeline.base.storage.places import Place
    from isr_pipeline.experiment.plan import Plan


def write_report(plan: Plan) -> Place:
    """Write ``report.html`` of a judged night into its folder.

    Raises:
        Refused: the night was not judged.
    """
    text = render(read_night(plan))
    return write_whole(plan.place / "report.html", text)


def render(data: NightData) -> str:
    """The whole page as text."""
    page, worse = Page(), bool(data.flagged)
    drawn = [(one, text) for one in SECTIONS if (text := one.drawn(page, data))]
    counts, verdict = data.verdict.counts(), data.verdict
    told = answer.headline(data) if data.is_answer else headline(verdict)
    values = {
        "title": f"{data.plan.experiment} {data.plan.night}: {told}",
        "headline": told,
        "asked": data.is_answer,
        "answer": answer.headline(data),
        "verdict": verdict,
        "plan": data.plan,
        "counts": [(status, counts[status]) for status in WORST_FIRST if counts[status]],
        "links": [one for one, _ in drawn if one.linked or not worse],
        "sections": [(one, one.is_folded(worse=worse), text) for one, text in drawn],
        "charts": page.charts,
    }
    return rendered("night.html", values) + "\n"
