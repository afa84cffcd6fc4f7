"""The page of one scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.report.lanes import (
    DEAD,
    FAULT_COLOUR,
    IN_ISR,
    LEADER,
    OUT,
    SESSION_OVER,
    SHUT_DOWN,
    UNFENCED,
    Segment,
    dead_times,
    draw,
    lanes_of,
    moments,
)
from isr_pipeline.report.story import Run, Story
from isr_pipeline.report.trace import drawn, sample_period_ms, write_trace
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.worlds.run import Result, Samples
from tests.approved import Approved

SCENARIO: dict[str, Any] = {
    "scenario_id": "one",
    "horizon_ms": 60_000,
    "cluster": {"release": "3.7-3.9", "controller": "kraft", "brokers": [1, 2, 3]},
    "topics": [{"name": "t", "assignment": {0: [1, 2, 3]}}],
    "faults": [{"kind": "crash", "broker": 1, "start_ms": 30_000, "restart_after_ms": None}],
}

EVENT = {
    "t_ms": 39_012.5, "kind": "leader_elected", "topic": "t", "partition": 0, "broker": 1,
    "leader": 2, "leader_epoch": 1, "isr": [2, 3], "cause": None,
}  # fmt: skip


def one(*events: dict[str, Any], title: str = "run", **fields: Any) -> Run:
    """A run of the scenario with some events."""
    return Run(title, parse_scenario({**SCENARIO, **fields}, "test"), events)


def test_shows_outcome_and_events(tmp_path: Path) -> None:
    """Every event is a row; every column of the outcome too, in words and by its name."""
    run = Result(outcome={"offline_partition_rate": 0.25, "commit_latency_p50_ms": None})
    path = write_trace(Story((one(EVENT),)), [run], tmp_path / "deep" / "trace.html")
    text = path.read_text().replace("<wbr>", "")
    assert "<td>39012.5</td><td>leader_elected</td><td>t</td>" in text
    for words, name, value, unit in (
        ("offline to the controller", "offline_partition_rate", "25", "% of time"),
        ("commit latency p50", "commit_latency_p50_ms", "–", "ms"),
    ):
        named = f'<th scope="row">{words}<br><small><code>{name}</code></small></th>'
        assert f'{named}<td class="n">{value}</td><td>{unit}</td>' in text


def test_equal_runs_are_drawn_once() -> None:
    """Two pictures without a difference would be searched for one."""
    runs = [one(EVENT, title=title) for title in ("before", "after")]
    later = one({**EVENT, "t_ms": 40_000.0}, title="after")
    alone, twice = drawn(Story((runs[1],))), drawn(Story((runs[0], later)))
    assert drawn(Story(tuple(runs))) == alone
    assert len(twice["data"]) > len(alone["data"])


@pytest.mark.parametrize(("depth", "is_drawn"), [(0, False), (3, True)])
def test_a_queue_is_drawn_if_something_waits(tmp_path: Path, depth: int, is_drawn: bool) -> None:
    """A panel of zeros is a sentence instead."""
    run = Result(outcome={}, samples=Samples([0.0], {}, {}, {1: [depth]}))
    page = write_trace(Story((one(),)), [run], tmp_path / "trace.html").read_text()
    assert ("requests that wait in the queue" in page) is is_drawn
    assert ("No request waits in a broker" in page) is not is_drawn


def test_a_lane_per_replica() -> None:
    """Broker 1 leads until it dies, and is dead then, whoever the controller thinks leads."""
    lanes, offline = lanes_of(one(EVENT), [("t", 0)])
    assert lanes["t", 0, 1] == [Segment(0, 30_000, LEADER), Segment(30_000, 60_000, DEAD)]
    assert lanes["t", 0, 2] == [Segment(0, 39_012.5, IN_ISR), Segment(39_012.5, 60_000, LEADER)]
    assert lanes["t", 0, 3] == [Segment(0, 60_000, IN_ISR)]
    assert offline == {("t", 0): []}


def test_a_broker_is_dead_until_it_is_unfenced() -> None:
    """It may start at 40 s, but serves nothing before it is unfenced at 41 s; then it is out."""
    fault = {"kind": "crash", "broker": 1, "start_ms": 30_000, "restart_after_ms": 10_000}
    unfenced = {"t_ms": 41_000.0, "kind": "broker_unfenced", "broker": 1}
    lanes, _ = lanes_of(one(EVENT, unfenced, faults=[fault]), [("t", 0)])
    assert lanes["t", 0, 1][1:] == [
        Segment(30_000, 41_000, DEAD),
        Segment(41_000, 60_000, OUT),
    ]


def test_a_controlled_shutdown_leads_until_it_is_let_go() -> None:
    """Dead is what the controller fenced, not what began to shut down."""
    fault = {"kind": "controlled_restart", "broker": 1, "start_ms": 30_000, "downtime_ms": 20_000}
    events = [
        {"t_ms": 32_000.0, "kind": "broker_fenced", "broker": 1},
        {"t_ms": 51_000.0, "kind": "broker_unfenced", "broker": 1},
    ]
    scenario = parse_scenario({**SCENARIO, "faults": [fault]}, "test")
    assert dead_times(scenario, events) == {1: [(32_000.0, 51_000.0)]}
    assert [one.what for one in moments(scenario, events)] == [SHUT_DOWN, UNFENCED]


def test_the_end_of_a_session_is_marked_on_every_lane_of_the_broker() -> None:
    """A killed broker is fenced because its session ran out."""
    fenced = {"t_ms": 38_500.0, "kind": "broker_fenced", "broker": 1}
    figure = draw(Story((one(fenced, EVENT),)))
    (signs,) = [trace for trace in figure.data if trace.name == SESSION_OVER]
    assert (list(signs.x), list(signs.y)) == ([38.5], ["t-0 on 1"])


def test_ticks_are_where_the_simulator_has_them() -> None:
    """On the leader's lane, every half lag limit from the given first tick, until it dies."""
    cluster = {**SCENARIO["cluster"], "isr_expiration_phase_ms": {1: 2_000}}
    figure = draw(Story((one(cluster=cluster),)))
    (ticks,) = [trace for trace in figure.data if trace.name == "isr-expiration tick"]
    assert list(ticks.x) == [2.0, 17.0]
    assert set(ticks.y) == {"t-0 on 1"}


def test_offline_periods_are_red(approved: Approved) -> None:
    """A period without a leader lasts from offline to online, or to the horizon."""
    gone = {**EVENT, "kind": "partition_offline", "leader": -1, "t_ms": 31_000}
    back = {**EVENT, "kind": "partition_online", "leader": 1, "t_ms": 42_000}
    again = {**gone, "t_ms": 50_000}
    run = one(gone, back, again)
    _, offline = lanes_of(run, [("t", 0)])
    assert offline == {("t", 0): [(31_000, 42_000), (50_000, 60_000)]}
    approved(sorted({trace.name for trace in draw(Story((run,))).data if trace.name}))


def test_two_runs_stand_above_one_another() -> None:
    """Simulated and observed have lanes of their own, and titles, on one axis of time."""
    figure = draw(Story((one(EVENT, title="simulated"), one(title="observed"))))
    titles = [note.text for note in figure.layout.annotations]
    assert titles[:2] == ["simulated", "observed"]
    assert figure.layout.xaxis.matches == "x2"
    assert figure.layout.xaxis2.range == (0, 60)


def test_each_run_has_the_ticks_of_its_own_lag_limit() -> None:
    """A run before a change of the limit does not have those after it."""
    lazy = one(title="before", config={"replica.lag.time.max.ms": 40_000})
    figure = draw(Story((lazy, one(title="after"))))
    before, after = (trace.x for trace in figure.data if trace.name == "isr-expiration tick")
    assert [round(x[1] - x[0]) for x in (before, after) if len(x) > 1] == [20, 15]


def test_curves_have_a_point_for_every_pixel_or_so() -> None:
    """The samples' period follows the horizon."""
    assert sample_period_ms(parse_scenario(SCENARIO, "test")) == 75


def test_faults_are_as_dark_in_both_runs() -> None:
    """Each run's lanes have one band for the fault; the label's own is not seen."""
    figure = draw(Story((one(EVENT, title="baseline"), one(EVENT, title="tonight"))))
    bands = [one.yref for one in figure.layout.shapes if one.fillcolor == FAULT_COLOUR]
    assert sorted(bands) == ["y domain", "y2 domain"]
