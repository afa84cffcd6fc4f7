"""One scenario drawn: the page that ``simulate``, ``why`` and ``conform --trace`` write."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.errors import BudgetSpent, InputError
from isr_pipeline.base.files.words import counted
from isr_pipeline.report.lanes import MAX_LANES, draw, queues
from isr_pipeline.report.story import Run, Story
from isr_pipeline.report.templates import rendered
from isr_pipeline.verdicts import quantities
from isr_pipeline.worlds.columns import METRICS, OF_THE_RUN
from isr_pipeline.worlds.run import Result, Samples, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from isr_pipeline.report.charts import Chart
    from isr_pipeline.scenarios.model import Scenario


LEGEND = (
    "A lane for each replica. Dark blue leads, light blue is in the ISR, striped orange is out of "
    "it, crossed pink has failed, dotted grey is on a dead broker. A red bar along a lane: the "
    "partition has no leader (offline). A white stroke on a leader: a planned tick of its "
    "isr-expiration task, until it first dies. Shaded: a fault."
)
EVENT = ("t_ms", "kind", "topic", "partition", "broker", "leader", "leader_epoch", "isr")
"""What the table of events shows of each."""

SAMPLES = 800
"""Samples of LEO, HW and queue depth over a run: enough for a page's width."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A row of the outcome.

    Attributes:
        words: what was measured; ``column``: as tables and experiment files have it, if they do.
        values: of each run, in ``unit``.
    """

    words: str
    column: str
    values: list[str]
    unit: str


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
        outcome=_outcome([one.outcome for one in results]),
        events=_events(story.runs[-1].events),
    )


def write_runs(
    scenario: Scenario, runs: Mapping[str, Iterable[Mapping[str, Any]]], path: Path
) -> Path:
    """Write the lanes of several runs of one scenario, by their titles, as a page of its own."""
    return write_page(Story(tuple(Run(title, scenario, it) for title, it in runs.items())), path)


def write_page(
    story: Story,
    path: Path,
    *,
    samples: Samples | None = None,
    outcome: Sequence[Measure] = (),
    events: Sequence[Sequence[str]] = (),
) -> Path:
    """Write a story with its lanes as a page of its own.

    Args:
        story: what is told.
        path: the file to write; its folder is made.
        samples: of the last run, if curves are drawn.
        outcome: rows of a table of what was measured.
        events: rows of a table of events, its head first.
    """
    values = {
        "title": story.scenario.scenario_id,
        "about": _about(story.scenario),
        "lines": story.lines(len(story.shown(MAX_LANES))),
        "legend": LEGEND,
        "no_queue": samples is not None and not queues(samples),
        "headings": story.headings,
        "outcome": outcome,
        "events": events,
        "charts": {"timeline": drawn(story, samples)},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(rendered("trace.html", values) + "\n", encoding="utf-8")
    return path


def drawn(story: Story, samples: Samples | None = None, *, most: int = MAX_LANES) -> Chart:
    """The lanes of a story as a page keeps them; see :func:`isr_pipeline.report.lanes.draw`.

    Runs with the same events are drawn once.
    """
    one = Story(story.runs[-1:]) if story.is_same else story
    chart: Chart = json.loads(draw(one, samples, most=most).to_json())
    del chart["layout"]["template"]
    return chart


def _about(scenario: Scenario) -> str:
    """What the page is about, for who was sent it."""
    cluster = scenario.cluster
    own = "followers fetch over a listener of their own, " if cluster.replication_listener else ""
    return (
        f"A scenario of {scenario.horizon_ms / 1000:g} s for isr-pipeline, a simulator of Kafka's "
        f"replication rules: {counted(len(cluster.brokers), 'broker')} under the rules of Kafka "
        f"{cluster.release}, {own}{counted(len(scenario.faults), 'fault')}"
    )


def _outcome(outcomes: Sequence[Mapping[str, Any]]) -> list[Measure]:
    return [
        Measure(
            words=quantities.label(name),
            column=name if name in METRICS else "",
            values=[_value(name, one[name]) for one in outcomes],
            unit=quantities.unit(name) if name in METRICS else "",
        )
        for name in (*METRICS, *OF_THE_RUN)
        if name in outcomes[-1]
    ]


def _value(name: str, value: Any) -> str:
    return quantities.amount(name, value) if name in METRICS else _shown(value)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _events(events: list[dict[str, Any]]) -> list[Sequence[str]]:
    """The head of the table, then a row an event."""
    return [EVENT, *([_shown(event.get(name)) for name in EVENT] for event in events)]


def simulated(
    scenario: Scenario,
    read_before: Callable[[], Scenario | None],
    titles: tuple[str, str],
    *,
    sampled: bool,
    budget: int | None,
) -> tuple[Story, tuple[Result, ...]]:
    """Simulate a scenario, and what it is told beside.

    Args:
        scenario: its configuration laid over it.
        read_before: gives the scenario before the change; None if there is none. What it gives may
            be refused, or take too long: then the run is told alone.
        titles: of the run before and of this one.
        sampled: whether curves are drawn.
        budget: events after which to give up; None: as many as such a scenario needs.

    Returns:
        the runs, the one before first, and what each gave.

    Raises:
        BudgetSpent: the scenario needs more events than ``budget``.
    """
    sample_ms = sample_period_ms(scenario) if sampled else 0.0
    found = [(scenario, run(scenario, events=True, sample_ms=sample_ms, budget=budget))]
    with contextlib.suppress(InputError, BudgetSpent):
        before = read_before()
        if before is not None:
            found.insert(0, (before, run(before, events=True, budget=budget)))
    named = zip(titles[-len(found) :], found, strict=True)
    runs = tuple(
        Run(title, one, result.events, result.outcome["partitions_unavailable"])
        for title, (one, result) in named
    )
    return Story(runs), tuple(result for _, result in found)
