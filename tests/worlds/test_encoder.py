"""A world laid out like the one before is the world laid out from nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.model import Scenario, apply, scenario_from_json
from isr_pipeline.simulation.world.tables import World
from isr_pipeline.worlds import encoder, entities, size, template
from isr_pipeline.worlds.choices import choices_of
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.events import events_of
from isr_pipeline.worlds.run import advance, outcome_of


def configured(index: int) -> list[Scenario]:
    """One scenario of the default experiment under all configurations of the experiment."""
    experiment = load_experiment("operators")
    row = draw_scenario(experiment.source, "regression", index)
    drawn = scenario_from_json(row.scenario_json)
    return [apply(drawn, one.overrides) for one in configurations(experiment)]


def forget() -> None:
    """Make the next world one that is laid out from nothing."""
    for made in (encoder._layouts, template._templates, entities._listed):
        made.clear()
    for known in (choices_of, size._shape):
        known.cache_clear()


class TestAlike:
    """Configurations of a scenario share a structure, scenarios of one shape a template."""

    @pytest.mark.parametrize("index", [0, 9])
    def test_same_cells(self, index: int) -> None:
        """Every cell is the one of a world laid out alone, in whatever order they come."""
        scenarios = configured(index)
        together = [encode(scenario) for scenario in scenarios]
        for scenario, world in zip(scenarios, together, strict=True):
            forget()
            alone = encode(scenario)
            assert np.array_equal(world.w, alone.w)
            assert np.array_equal(world.motions, alone.motions)

    def test_laid_out_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One layout serves all settings of a scenario that lay nothing out anew."""
        drawn = configured(0)[0]
        limits = [apply(drawn, {"replica.lag.time.max.ms": ms}) for ms in (10_000, 20_000, 30_000)]
        made: list[encoder.Layout] = []

        class Counted(encoder.Layout):
            """Counts them."""

            def __init__(self, *given: Any) -> None:
                super().__init__(*given)
                made.append(self)

        monkeypatch.setattr(encoder, "Layout", Counted)
        forget()
        for scenario in limits:
            encode(scenario)
        assert len(made) == 1
        encode(apply(drawn, {"num.replica.fetchers": 4}))
        assert len(made) == 2

    def test_same_cells_in_any_order(self) -> None:
        """So is every cell where scenarios of a panel, of one shape and others, come in turn."""
        scenarios = [scenario for index in range(12) for scenario in configured(index)[::11]]
        for scenario in scenarios:
            encode(scenario)
        together = [encode(scenario) for scenario in reversed(scenarios)]
        for scenario, world in zip(reversed(scenarios), together, strict=True):
            forget()
            alone = encode(scenario)
            assert np.array_equal(world.w, alone.w)
            assert world.rules == alone.rules
            assert np.array_equal(world.switches, alone.switches)
            assert np.array_equal(world.motions, alone.motions)
            assert (world.partitions, world.brokers) == (alone.partitions, alone.brokers)

    def test_a_run_leaves_no_trace(self) -> None:
        """What one world becomes does not show in the next one laid out like it."""
        scenarios = configured(0)
        first = encode(scenarios[0])
        first.w[World.cells_of["tree"].place :] = 7
        encoder_again = encode(scenarios[0])
        forget()
        assert np.array_equal(encoder_again.w, encode(scenarios[0]).w)

    def test_any_array_will_do(self) -> None:
        """A world in the array of a larger one, whatever it holds, is the one in a new array."""
        scenario, other = configured(0)[0], configured(9)[0]
        large = np.full(encode(other).w.size + encode(scenario).w.size, 7, dtype=np.int64)
        for each in (scenario, other, scenario):
            forget()
            _, laid_out = encoder.prepare(each, events=True)
            new, used = laid_out(None), laid_out(large)
            begins = new.header.ledgers.first
            assert np.array_equal(used.w[:begins], new.w[:begins])
            advance(new)
            advance(used)
            assert outcome_of(used) == outcome_of(new)
            assert events_of(used).named() == events_of(new).named()
            large[:] = 7

    def test_another_scenario_is_another_structure(self) -> None:
        """Two scenarios never share, even where all sizes are alike."""
        worlds = [encode(configured(index)[0]) for index in range(3)]
        forget()
        for one, other in pairwise(worlds):
            assert not np.array_equal(one.w, other.w)
