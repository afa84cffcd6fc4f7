"""What a scenario is expected to cost the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import reference
from isr_pipeline.scenarios.cost import costs, expected_cost
from isr_pipeline.scenarios.model import Scenario, parse_scenario, scenario_from_json
from isr_pipeline.worlds.reuse import Simulations

EVERY = 5


def scenario(**changed: Any) -> Scenario:
    """The first scenario of the reference panel without its faults, changed."""
    plain = scenario_from_json(reference.scenarios()[0].scenario_json).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    return parse_scenario({**plain, "faults": [], **changed}, "test")


class TestExpectedCost:
    """Rough, and enough to cut tasks by."""

    def test_cycles(self) -> None:
        """Without faults it is the same for a cluster like the reference's, however long."""
        assert expected_cost(scenario()) == pytest.approx(costs().without_faults, rel=0.05)
        assert expected_cost(scenario(horizon_ms=600_000)) == expected_cost(scenario())

    def test_faults(self) -> None:
        """A fault that lasts longer costs more, and two cost more than one."""
        fault = {"kind": "read_stall", "broker": 1001, "duration_ms": 5_000}
        starts = [{**fault, "start_ms": start_ms} for start_ms in (40_000, 60_000)]
        long = [{**starts[0], "duration_ms": 15_000}]
        one, longer, two = (
            expected_cost(scenario(faults=faults)) for faults in (starts[:1], long, starts)
        )
        assert costs().without_faults < one < longer
        assert two > one

    def test_it_tells_dear_scenarios_from_cheap_ones(self) -> None:
        """Of the reference panel's scenarios it goes along with the events that fire."""
        some = [scenario_from_json(row.scenario_json) for row in reference.scenarios()[::EVERY]]
        fired = []
        for each in some:
            runs = Simulations()
            runs.result_for(each)
            fired.append(runs.events_fired)
        expected = [expected_cost(each) for each in some]
        assert np.corrcoef(expected, fired)[0, 1] > 0.7
