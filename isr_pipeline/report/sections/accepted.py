"""What was accepted since the first baseline, and what that adds up to."""

from __future__ import annotations

from html import escape

from isr_pipeline.errors import Refused
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, table
from isr_pipeline.verdicts import ledger
from isr_pipeline.verdicts.quantities import label

TITLE = "Accepted so far"
ORDER = 85
FOLDED = True

TOTALS_MAX = 12
ENTRIES_MAX = 8


def body(_: Page, data: NightData) -> str:
    """The section's HTML."""
    try:
        entries = ledger.read(data.plan.experiment)
    except Refused as damage:
        return f"<p>{escape(str(damage))}</p>"
    if not entries:
        return "<p class=lead>Nothing was accepted yet.</p>"
    return _totals(entries) + _newest(entries)


def _totals(entries: list[ledger.Entry]) -> str:
    """Largest sums of accepted changes: where a slow decline shows."""
    totals = ledger.compounded(entries)
    if not totals:
        since = " since the sums began anew" if any(one.remarks for one in entries) else ""
        return f"<p class=lead>No accepted night changed a metric{since}.</p>"
    rows = [
        f'<tr><th scope="row">{breakable(one.config)}</th>'
        f"<td>{escape(label(one.metric))}</td>"
        f'<td class="n">{escape(one.change)}</td>'
        f'<td class="n">{one.acceptances}</td><td>{escape(one.since)}</td></tr>'
        for one in totals[:TOTALS_MAX]
    ]
    more = len(totals) - TOTALS_MAX
    hidden = f"<p class=lead>and {more} smaller ones</p>" if more > 0 else ""
    drawn = table(
        "What accepted changes add up to",
        [("configuration", ""), ("metric", ""), ("change", "n"), ("acceptances", "n"),
         ("since", "")],
        rows,
    )  # fmt: skip
    return drawn + hidden


def _newest(entries: list[ledger.Entry]) -> str:
    """Who accepted what last, and why."""
    rows = [
        f'<tr><th scope="row">{escape(one.night)}</th><td>{breakable(_subject(one))}</td>'
        f"<td>{escape(one.accepted_by)}</td><td>{escape(one.accepted_at)}</td>"
        f"<td>{'<br>'.join(escape(line) for line in (one.why, *one.remarks))}</td></tr>"
        for one in reversed(entries[-ENTRIES_MAX:])
    ]
    return table(
        "Newest acceptances",
        [("night", ""), ("configurations", ""), ("by", ""), ("at", ""), ("why", "")],
        rows,
    )


def _subject(one: ledger.Entry) -> str:
    names = list(one.absorbed)
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} configurations"
