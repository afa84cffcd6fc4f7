"""One scenario drawn: the page that ``simulate``, ``why`` and ``conform --trace`` write."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from isr_pipeline.files.words import counted
from isr_pipeline.report.assets import asset, drawing
from isr_pipeline.report.lanes import MAX_LANES, draw, queues
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import fold
from isr_pipeline.report.story import Run, Story
from isr_pipeline.verdicts import quantities
from isr_pipeline.worlds.columns import METRICS, OF_THE_RUN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from isr_pipeline.report.charts import Chart
    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.results import Result, Samples

LEGEND = (
    "A lane for each replica. Dark blue leads, light blue is in the ISR, striped orange is out of "
    "it, crossed pink has failed, dotted grey is on a dead broker. A red bar along a lane: the "
    "partition has no leader (offline). A white stroke on a leader: a planned tick of its "
    "isr-expiration task, until it first dies. Shaded: a fault."
)
SAMPLES = 800
"""Samples of LEO, HW and queue depth over a run: enough for a page's width."""


def sample_period_ms(scenario: Scenario) -> float:
    """Period of the curves' samples."""
    return max(1.0, scenario.horizon_ms / SAMPLES)


def write_trace(story: Story, results: Sequence[Result], path: Path) -> Path:
    """Write a self-contained HTML page of a simulated scenario.

    What happened in sentences, a lane for each replica of the partitions that were hit; HW and LEO
    and queue depth if the run was sampled (`sample_period_ms`); then the outcome and every event.

    Args:
        story: of one run, or of the one before a change too, which is drawn above it.
        results: of each run: its outcome; curves are those of the last.
        path: the file to write; its folder is made.
    """
    return write_page(
        story,
        path,
        samples=results[-1].samples,
        tables=fold(
            "<h2>Outcome</h2>",
            _outcome([one.outcome for one in results], story.headings),
            opened=True,
        )
        + fold("<h2>Events</h2>", _events(story.runs[-1].events), opened=True),
    )


def write_runs(
    scenario: Scenario, runs: Mapping[str, Iterable[Mapping[str, Any]]], path: Path
) -> Path:
    """Write the lanes of several runs of one scenario, by their titles, as a page of its own."""
    return write_page(Story(tuple(Run(title, scenario, it) for title, it in runs.items())), path)


def write_page(
    story: Story, path: Path, *, samples: Samples | None = None, tables: str = ""
) -> Path:
    """Write a story with its lanes as a page of its own."""
    scenario = story.scenario
    chart: Chart = drawn(story, samples)
    title = escape(scenario.scenario_id)
    told = "".join(f"<li>{escape(line)}</li>" for line in story.lines(len(story.shown(MAX_LANES))))
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{asset('page.css')}</style></head><body>"
        '<a class="skip" href="#main">Skip to the lanes</a>'
        f"<header><div><p class=where>{_what(scenario)}</p>"
        f"<h1>{breakable(scenario.scenario_id)}</h1></div></header>"
        f'<main id="main" tabindex="-1"><ul class="story">{told}</ul><figure>'
        f"<figcaption>{LEGEND}{_no_queue(samples)}</figcaption>"
        f'<div id="timeline" class="chart" role="img" aria-label="Timeline of {title}" '
        f'style="height:{chart["layout"]["height"]}px"></div></figure>'
        f"{tables}</main>{drawing({'timeline': chart})}</body></html>\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def drawn(story: Story, samples: Samples | None = None, *, most: int = MAX_LANES) -> Chart:
    """The lanes of a story as a page keeps them; see :func:`isr_pipeline.report.lanes.draw`."""
    chart: Chart = json.loads(draw(story, samples, most=most).to_json())
    del chart["layout"]["template"]
    return chart


def _no_queue(samples: Samples | None) -> str:
    """A sentence in place of the queues' panel where it would be all zero."""
    if samples is None or queues(samples):
        return ""
    return " No request waits in a broker's queue at any sampled moment."


def _what(scenario: Scenario) -> str:
    """What the page is about, for who was sent it."""
    cluster = scenario.cluster
    return escape(
        f"A scenario of {scenario.horizon_ms / 1000:g} s for isr-pipeline, a simulator of Kafka's "
        f"replication rules: {counted(len(cluster.brokers), 'broker')} of release "
        f"{cluster.release}, {counted(len(scenario.faults), 'fault')}"
    )


def _outcome(outcomes: Sequence[Mapping[str, Any]], headings: Sequence[str]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_measure(name)}</th>'
        + "".join(f'<td class="n">{_value(name, one[name])}</td>' for one in outcomes)
        + f"<td>{escape(quantities.unit(name)) if name in METRICS else ''}</td></tr>"
        for name in (*METRICS, *OF_THE_RUN)
        if name in outcomes[-1]
    )
    values = "".join(f'<th scope="col" class="n">{name}</th>' for name in headings)
    head = f'<tr><th scope="col">measure</th>{values}<th scope="col">unit</th></tr>'
    return _scrolled("Outcome", head, rows)


def _measure(name: str) -> str:
    """A column's name in words, and as tables and experiment files have it."""
    if name not in METRICS:
        return name.replace("_", " ")
    return f"{escape(quantities.label(name))}<br><small><code>{breakable(name)}</code></small>"


def _value(name: str, value: Any) -> str:
    return quantities.amount(name, value) if name in METRICS else _shown(value)


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
    return _scrolled("Events", f"<tr>{head}</tr>", rows)


def _scrolled(name: str, head: str, rows: str) -> str:
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>'
        f"<thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    )
