"""What has healed costs nothing more, however long the simulated world goes on."""

from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.model import Scenario, apply, scenario_from_json
from isr_pipeline.scenarios.panels import ScenarioRow
from isr_pipeline.worlds.columns import METRICS
from isr_pipeline.worlds.run import run

SMOKE = load_experiment("smoke")
TODAY = configurations(SMOKE)[0]
ROWS = list(draw_panel(SMOKE.source, "regression"))
TOTALS = [one.top for one in METRICS.values() if one.tested and one.unit.year]


def drawn(pattern: str) -> Scenario:
    """The first scenario of smoke's standing panel that a pattern drew."""
    row: ScenarioRow = next(one for one in ROWS if one.pattern == pattern)
    return apply(scenario_from_json(row.scenario_json), TODAY.overrides)


def test_twice_the_horizon_has_the_same_totals() -> None:
    """So has a year, which is made of totals; a share of time is half."""
    scenario = drawn("pause")
    longer = scenario.model_copy(update={"horizon_ms": 2 * scenario.horizon_ms})
    once, twice = (run(one).outcome for one in (scenario, longer))
    assert [once[name] for name in TOTALS] == [twice[name] for name in TOTALS]
    assert once["produce_unavailable_us"] > 0
    assert once["isr_flaps"] > 0
    assert twice["exposure_us"] > 2 * once["exposure_us"]
    assert once["partitions_unavailable_at_end"] == 0


def test_what_has_not_healed_goes_on() -> None:
    """A broker that dies and returns after the horizon leaves partitions without produce."""
    scenario = drawn("stall_then_death")
    once = run(scenario).outcome
    longer = scenario.model_copy(update={"horizon_ms": scenario.horizon_ms + 1_000})
    more = run(longer).outcome["produce_unavailable_us"] - once["produce_unavailable_us"]
    assert once["partitions_unavailable_at_end"] > 0
    assert more == once["partitions_unavailable_at_end"] * 1_000_000


def test_partitions_that_took_no_produce_are_counted_once() -> None:
    """However often and long: a dead broker's and those of a pause; none of a quiet scenario."""
    quiet = run(drawn("quiet")).outcome
    dead = run(drawn("stall_then_death")).outcome
    assert quiet["partitions_unavailable"] == 0
    assert quiet["produce_unavailable_us"] == 0
    assert dead["partitions_unavailable_at_end"] <= dead["partitions_unavailable"] <= 60
    assert dead["produce_unavailable_us"] <= dead["partitions_unavailable"] * 120_000_000
