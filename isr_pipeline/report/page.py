"""What every section of a night's page draws with: figures, tables, badges."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from isr_pipeline.report.names import breakable
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict, Status, number

if TYPE_CHECKING:
    from isr_pipeline.blame.why import Explanation
    from isr_pipeline.report import charts


class Page:
    """Collects sections and charts, so that every chart is drawn under the id it was given."""

    def __init__(self) -> None:
        self.charts: dict[str, charts.Chart] = {}
        self.explained: dict[str, Explanation | str] = {}
        """Configuration -> where its history parts from the baseline's, or why nobody can say."""

    def figure(self, chart: charts.Chart | None, caption: str, *, why_not: str = "") -> str:
        """A figure with its caption in words; a sentence where there is nothing to draw."""
        if chart is None:
            return f"<p class=lead>{escape(why_not)}</p>" if why_not else ""
        name = f"chart-{len(self.charts) + 1}"
        self.charts[name] = chart
        height = chart["layout"]["height"]
        return (
            f"<figure><figcaption>{caption}</figcaption>"
            f'<div id="{name}" class="chart" role="img" aria-label="{escape(_plain(caption))}" '
            f'style="height:{height}px"></div></figure>'
        )


def _plain(caption: str) -> str:
    return caption.replace("<strong>", "").replace("</strong>", "")


def badge(status: Status) -> str:
    """A verdict's word in its colour."""
    return f'<span class="status {status}">{status}</span>'


def badges(one: ConfigVerdict) -> str:
    """A configuration's words, each in its colour."""
    return " ".join(badge(word) for word in one.words)


def fold(summary: str, body: str, *, opened: bool = False) -> str:
    """Something that opens at a click or at Enter, without a script; ``summary`` is HTML."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>{body}</details>"


def strata_table(metric: MetricVerdict) -> str:
    """Who is hurt and who gains: one metric in each stratum; nothing if it does not differ."""
    if not metric.strata:
        return ""
    name = metric.metric
    rows = [
        f'<tr><th scope="row">{breakable(one.stratum)}</th><td>{badge(one.status)}</td>'
        f'<td class="n">{100 * one.share:.3g} %</td>'
        f'<td class="n">{quantities.amount(name, one.baseline_value)}</td>'
        f'<td class="n">{quantities.amount(name, one.value)}</td>'
        f'<td class="n">{number(one.ratio)}</td>'
        f'<td class="n">{number(one.ratio_low)} to {number(one.ratio_high)}</td>'
        f'<td class="n">{one.risen}</td><td class="n">{one.fallen}</td>'
        f'<td class="n">{one.scenarios}</td></tr>'
        for one in metric.strata
    ]
    head = [
        ("stratum", ""),
        ("verdict", ""),
        ("of the population", "n"),
        ("baseline", "n"),
        ("tonight", "n"),
        ("ratio", "n"),
        ("interval", "n"),
        ("worse in", "n"),
        ("better in", "n"),
        ("scenarios", "n"),
    ]
    caption = (
        f"{quantities.label(name)} by stratum, {quantities.unit(name)}; the true ratio lies above "
        "an interval in 5 % of cases at most, and below it in as many"
    )
    return table(caption, head, rows)


def command(text: str) -> str:
    """A command to paste."""
    return f"<pre><code>{escape(text)}</code></pre>"


def table(caption: str, head: list[tuple[str, str]], rows: list[str]) -> str:
    """A table that scrolls sideways in a box of its own, reachable by keyboard."""
    cells = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in head)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption><span>{escape(caption)}</span></caption><thead><tr>{cells}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
