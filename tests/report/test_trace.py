"""The page of one scenario."""

from __future__ import annotations

from pathlib import Path

from isr_pipeline.report.trace import write_trace
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.scenarios.run import Run

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
    """Every event is a row and a mark, every outcome column a row."""
    run = Run(
        outcome={"offline_partition_rate": 0.25, "commit_latency_p50_ms": None}, events=[EVENT]
    )
    path = write_trace(parse_scenario(SCENARIO, "test"), run, tmp_path / "deep" / "trace.html")
    text = path.read_text()
    assert "<td>39012.5</td><td>leader_elected</td><td>t</td>" in text
    assert '"x":[39.013]' in text or '"x":[39.012]' in text
    assert '<th scope="row">offline_partition_rate</th><td class="n">0.25</td>' in text
    assert '<th scope="row">commit_latency_p50_ms</th><td class="n">–</td>' in text
