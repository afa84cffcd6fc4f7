"""What every section of a night's page draws with: figures, tables, badges."""

from __future__ import annotations

from html import escape

from isr_pipeline.report import charts
from isr_pipeline.report.data import FLAPS, LATENCY, OFFLINE
from isr_pipeline.verdicts.model import Status

LABELS = {
    OFFLINE: "offline partition-time",
    FLAPS: "flaps per partition-hour",
    LATENCY: "commit latency p99 (ms)",
}


class Page:
    """Collects sections and charts, so that every chart is drawn under the id it was given."""

    def __init__(self) -> None:
        self.charts: dict[str, charts.Chart] = {}

    def figure(self, chart: charts.Chart | None, caption: str, *, why_not: str = "") -> str:
        """A figure with its caption in words; a sentence where there is nothing to draw."""
        if chart is None:
            return f"<p class=lead>{escape(why_not)}</p>" if why_not else ""
        name = f"chart-{len(self.charts) + 1}"
        self.charts[name] = chart
        height = chart["layout"]["height"]
        return (
            f"<figure><figcaption>{caption}</figcaption>"
            f'<div id="{name}" role="img" aria-label="{escape(_plain(caption))}" '
            f'style="height:{height}px"></div></figure>'
        )


def _plain(caption: str) -> str:
    return caption.replace("<strong>", "").replace("</strong>", "")


def badge(status: Status) -> str:
    """A verdict's word in its colour."""
    return f'<span class="status {status}">{status}</span>'


def table(caption: str, head: list[tuple[str, str]], rows: list[str]) -> str:
    """A table that scrolls sideways in a box of its own, reachable by keyboard."""
    cells = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in head)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption><span>{escape(caption)}</span></caption><thead><tr>{cells}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
