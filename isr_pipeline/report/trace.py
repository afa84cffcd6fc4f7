"""One scenario drawn: the page that ``simulate --trace`` and ``conform --trace`` write."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plotly.offline import get_plotlyjs

from isr_pipeline.report.lanes import draw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.results import Result, Samples

HERE = Path(__file__).parent
SAMPLES = 800
"""Samples of LEO, HW and queue depth over a run: enough for a page's width."""


def sample_period_ms(scenario: Scenario) -> float:
    """Period of the curves' samples."""
    return max(1.0, scenario.horizon_ms / SAMPLES)


def write_trace(scenario: Scenario, run: Result, path: Path) -> Path:
    """Write a self-contained HTML page of one run.

    A lane per replica, faults shaded, offline periods in red; HW and LEO and queue depth if the run
    was sampled (`sample_period_ms`); then the outcome and every event.

    Args:
        scenario: what was simulated.
        run: its outcome and events.
        path: the file to write; its folder is made.
    """
    return write_page(
        scenario,
        {"replicas": run.events},
        path,
        samples=run.samples,
        tables=f"<h2>Outcome</h2>{_outcome(run.outcome)}<h2>Events</h2>{_events(run.events)}",
    )


def write_page(
    scenario: Scenario,
    runs: Mapping[str, Iterable[Mapping[str, Any]]],
    path: Path,
    *,
    samples: Samples | None = None,
    tables: str = "",
) -> Path:
    """Write the lanes of one or more runs of a scenario as a page of its own."""
    figure = draw(scenario, runs, samples)
    title = escape(scenario.scenario_id)
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{_file('page.css')}</style></head><body>"
        f"<header><div><h1>{title}</h1></div></header><main><figure>"
        "<figcaption>Blue leads, green is in the ISR, yellow is out of it, violet has failed; "
        "red: the partition is offline; grey: a fault</figcaption>"
        f'<div id="timeline" role="img" aria-label="Timeline of {title}"></div></figure>'
        f"{tables}</main><script>{get_plotlyjs()}</script><script>"
        f"const figure = {figure.to_json()};"
        "const dark = matchMedia('(prefers-color-scheme: dark)').matches;"
        "figure.layout.font.color = dark ? '#e6e6e6' : '#222';"
        "(figure.layout.annotations || []).forEach(a => a.font.color = figure.layout.font.color);"
        "delete figure.layout.template;"
        "Plotly.newPlot('timeline', figure.data, figure.layout, {responsive: true});"
        "</script></body></html>\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("</main><script>", "</main>\n<script>"), encoding="utf-8")
    return path


def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


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
