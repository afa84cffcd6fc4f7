"""The page of one scenario."""

from __future__ import annotations

from pathlib import Path

from isr_pipeline.report.lanes import IN_ISR, LEADER, OUT, Segment, draw, lanes_of
from isr_pipeline.report.trace import sample_period_ms, write_trace
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.worlds.results import Result

SCENARIO = {
    "scenario_id": "one",
    "horizon_ms": 60_000,
    "cluster": {"release": "3.7+", "controller": "kraft", "brokers": [1, 2, 3]},
    "topics": [{"name": "t", "assignment": {0: [1, 2, 3]}}],
    "faults": [{"kind": "crash", "broker": 1, "start_ms": 30_000, "restart_after_ms": None}],
}

EVENT = {
    "t_ms": 39_012.5, "kind": "leader_elected", "topic": "t", "partition": 0, "broker": 1,
    "leader": 2, "leader_epoch": 1, "isr": [2, 3], "cause": None,
}  # fmt: skip


def test_shows_outcome_and_events(tmp_path: Path) -> None:
    """Every event is a row, every outcome column a row."""
    run = Result(
        outcome={"offline_partition_rate": 0.25, "commit_latency_p50_ms": None}, events=[EVENT]
    )
    path = write_trace(parse_scenario(SCENARIO, "test"), run, tmp_path / "deep" / "trace.html")
    text = path.read_text()
    assert "<td>39012.5</td><td>leader_elected</td><td>t</td>" in text
    assert '<th scope="row">offline_partition_rate</th><td class="n">0.25</td>' in text
    assert '<th scope="row">commit_latency_p50_ms</th><td class="n">–</td>' in text


def test_a_lane_per_replica() -> None:
    """Before the election 1 leads; after it 2 does, and 1 is out of the ISR."""
    lanes, offline = lanes_of(parse_scenario(SCENARIO, "test"), [EVENT])
    assert lanes["t", 0, 1] == [Segment(0, 39_012.5, LEADER), Segment(39_012.5, 60_000, OUT)]
    assert lanes["t", 0, 2] == [Segment(0, 39_012.5, IN_ISR), Segment(39_012.5, 60_000, LEADER)]
    assert lanes["t", 0, 3] == [Segment(0, 60_000, IN_ISR)]
    assert offline == {("t", 0): []}


def test_offline_periods_are_red() -> None:
    """A period without a leader lasts from offline to online, or to the horizon."""
    gone = {**EVENT, "kind": "partition_offline", "leader": -1, "t_ms": 31_000}
    back = {**EVENT, "kind": "partition_online", "leader": 1, "t_ms": 42_000}
    again = {**gone, "t_ms": 50_000}
    scenario = parse_scenario(SCENARIO, "test")
    _, offline = lanes_of(scenario, [gone, back, again])
    assert offline == {("t", 0): [(31_000, 42_000), (50_000, 60_000)]}
    names = {trace.name for trace in draw(scenario, {"run": [gone, back, again]}).data}
    assert "offline" in names


def test_two_runs_stand_above_one_another() -> None:
    """Simulated and observed have lanes of their own, and titles."""
    figure = draw(parse_scenario(SCENARIO, "test"), {"simulated": [EVENT], "observed": []})
    titles = [note.text for note in figure.layout.annotations]
    assert titles[:2] == ["simulated", "observed"]


def test_curves_have_a_point_for_every_pixel_or_so() -> None:
    """The samples' period follows the horizon."""
    assert sample_period_ms(parse_scenario(SCENARIO, "test")) == 75
