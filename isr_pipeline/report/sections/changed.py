"""What is not as it was when the baseline was made."""

from __future__ import annotations

from html import escape

from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, table
from isr_pipeline.verdicts.changes import Change, read_changes

TITLE = "What changed"
ORDER = 5

WORDS = {
    "key": "Kafka key",
    "rule": "rule",
    "service": "service time",
    "cluster": "cluster",
    "faults": "faults",
    "panel": "panel",
    "configuration": "configuration",
    "commit": "commit",
    "code": "code",
    "library": "library",
}


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    del page
    changes = read_changes(data.plan.experiment, data.plan.night)
    if not changes.baseline:
        return ""
    listed = [("all", one) for one in changes.shared]
    listed += [
        (one.name, change)
        for one in data.plan.configurations
        for change in changes.of(one.config_id)
    ]
    if not listed:
        same = "Settings, rule sets, cluster, faults, code and libraries are the baseline's."
        return f"<p class=lead>{same}</p>"
    caption = f"Since night {changes.baseline}, which is the baseline"
    head = [("configuration", ""), ("kind", ""), ("what", "")]
    return table(caption, head, [_row(name, change) for name, change in listed])


def _row(name: str, change: Change) -> str:
    return (
        f'<tr><th scope="row">{breakable(name)}</th><td>{WORDS.get(change.kind, change.kind)}</td>'
        f"<td>{escape(change.text)}</td></tr>"
    )
