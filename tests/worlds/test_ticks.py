"""When brokers look for followers to remove."""

from __future__ import annotations

import pytest

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.worlds.encoder import planned_ticks
from isr_pipeline.worlds.run import run


def test_a_leader_decides_to_shrink_at_a_planned_tick() -> None:
    """In w3b the leader 1001 drops two followers: at its own tick, five seconds from the next."""
    scenario = load_scenario(REPOSITORY / "isr_pipeline" / "scenarios" / "library" / "w3b.yaml")
    first_ms, period_ms = planned_ticks(scenario)[1001]
    shrinks = [one for one in run(scenario, events=True).events if one["kind"] == "isr_shrink"]
    assert shrinks
    for one in shrinks:
        assert (one["decided_ms"] - first_ms) % period_ms == pytest.approx(0.0, abs=1e-6)
    assert period_ms == 5_000
