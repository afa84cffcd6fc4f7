"""One scenario drawn event by event: the page that ``isr-pipeline simulate --trace`` writes."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plotly.offline import get_plotlyjs

from isr_pipeline.report import charts
from isr_pipeline.report.data import Deciding
from isr_pipeline.scenarios.model import canonical_json

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.scenarios.run import Run

HERE = Path(__file__).parent


def write_trace(scenario: Scenario, run: Run, path: Path) -> Path:
    """Write a self-contained HTML page of one run: timeline, outcome, every event.

    Args:
        scenario: what was simulated.
        run: its outcome and events.
        path: the file to write; its folder is made.
    """
    found = Deciding(
        config_id="",
        metric="",
        scenario_id=scenario.scenario_id,
        before=0.0,
        after=0.0,
        scenario=json.loads(canonical_json(scenario)),
        events=[_with_text(event) for event in run.events],
    )
    chart = charts.timeline(found)
    title = escape(scenario.scenario_id)
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{_file('page.css')}</style></head><body>"
        f"<header><div><h1>{title}</h1></div></header><main>"
        "<figure><figcaption>Events over partitions; faults shaded</figcaption>"
        f'<div id="timeline" role="img" aria-label="Timeline of {title}" '
        f'style="height:{chart["layout"]["height"]}px"></div></figure>'
        f"<h2>Outcome</h2>{_outcome(run.outcome)}<h2>Events</h2>{_events(found.events)}</main>"
        '<script type="application/json" id="charts">'
        f"{charts.as_json({'timeline': chart})}</script>"
        f"<script>{get_plotlyjs()}</script><script>{_file('page.js')}</script></body></html>\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _with_text(event: dict[str, Any]) -> dict[str, Any]:
    """An event as the events table has it: its isr as text."""
    isr = event.get("isr")
    return {**event, "isr": json.dumps(isr)} if isinstance(isr, list | tuple) else dict(event)


def _outcome(outcome: dict[str, Any]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="n">{_shown(value)}</td></tr>'
        for name, value in outcome.items()
    )
    return f'<div class="scroll" tabindex="0"><table><tbody>{rows}</tbody></table></div>'


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _events(events: list[dict[str, Any]]) -> str:
    names = ("t_ms", "kind", "topic", "partition", "broker", "leader", "leader_epoch", "isr")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_shown(event.get(name)))}</td>" for name in names) + "</tr>"
        for event in events
    )
    return (
        '<div class="scroll" tabindex="0"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
