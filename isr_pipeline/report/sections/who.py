"""Who is hurt, and who gains: what got worse or better in each stratum, side by side."""

from __future__ import annotations

from html import escape

from isr_pipeline.report.data import REGRESSIONS_SHOWN, NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, badges, table
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import (
    ConfigVerdict,
    MetricVerdict,
    Status,
    StratumVerdict,
    number,
)
from isr_pipeline.verdicts.sentences import in_order

TITLE = "Who is hurt, who gains"
ORDER = 10

LEAD = (
    "<p class=lead>A stratum is a class of scenarios, named by its faults; its share of the "
    "population is how often the fault profile lets such scenarios happen.</p>"
)

TOLD = (Status.REGRESSED, Status.SUSPECT, Status.IMPROVED)
WORD = {Status.REGRESSED: "worse", Status.SUSPECT: "perhaps worse", Status.IMPROVED: "better"}


def body(_: Page, data: NightData) -> str:
    """The section's HTML; nothing if no metric of any configuration is worse or better."""
    telling = [
        (one, metrics)
        for one in data.verdict.configurations
        if (metrics := [m for m in one.metrics if m.status in TOLD and m.strata])
    ]
    telling.sort(key=lambda pair: TOLD.index(_first(pair[1])))
    drawn = [_matrix(one, metrics) for one, metrics in telling[:REGRESSIONS_SHOWN]]
    if drawn:
        drawn.insert(0, LEAD)
    more = len(telling) - REGRESSIONS_SHOWN
    if more > 0:
        drawn.append(f"<p class=lead>and {more} more configurations</p>")
    return "".join(drawn)


def _first(metrics: list[MetricVerdict]) -> Status:
    return min((metric.status for metric in metrics), key=TOLD.index)


def _matrix(one: ConfigVerdict, metrics: list[MetricVerdict]) -> str:
    """Strata down, metrics across: the ratio and how many scenarios got worse."""
    by_stratum = {
        name: {part.stratum: part for part in metric.strata}
        for name, metric in ((metric.metric, metric) for metric in in_order(metrics))
    }
    strata = {part.stratum: part.share for metric in metrics for part in metric.strata}
    ranked = sorted(strata, key=lambda name: _rank([of.get(name) for of in by_stratum.values()]))
    rows = [
        f'<tr><th scope="row">{escape(name)}</th>'
        f'<td class="n">{quantities.plain(100 * strata[name])} %</td>'
        + "".join(_cell(of.get(name)) for of in by_stratum.values())
        + "</tr>"
        for name in ranked
    ]
    head = [("stratum", ""), ("of the population", "n")]
    head += [(quantities.label(name), "n") for name in by_stratum]
    caption = f"{one.name}: tonight against the baseline by stratum"
    return f"<h3>{breakable(one.name)} {badges(one)}</h3>{table(caption, head, rows)}"


def _rank(parts: list[StratumVerdict | None]) -> tuple[int, int]:
    """Strata that are worse in most metrics first."""
    present = [part for part in parts if part is not None]
    called = [TOLD.index(part.status) if part.status in TOLD else len(TOLD) for part in present]
    return min(called, default=len(TOLD)), -sum(part.risen for part in present)


def _cell(part: StratumVerdict | None) -> str:
    if part is None or part.status is Status.UNCHANGED:
        return '<td class="n">same</td>'
    ratio = "from none" if part.ratio is None else f"{number(part.ratio)} ×"
    said = WORD.get(part.status, "")
    return (
        f'<td class="n {part.status}"><strong>{ratio}</strong> {said}<br><small>worse in '
        f"{part.risen}, better in {part.fallen} of {part.scenarios}</small></td>"
    )
