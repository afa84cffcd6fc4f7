"""Rates that follow the hour: drawn by seed and number alone, the same for every configuration."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.experiment.cost import cost_lines, load_by_hour
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.scenarios.cluster_file import load_cluster_file, read_cluster
from isr_pipeline.scenarios.generator import DrawSource, draw_panel, draw_scenario
from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.worlds.run import run
from tests.saying import refused
from tests.scenario import one_topic_scenario
from tests.tables import from_table

SMOKE = load_experiment("smoke")
HOURS = tuple(1 + hour / 24 for hour in range(24))


def source(hourly_load: tuple[float, ...], size: int = 16, **more: Any) -> DrawSource:
    """Give what smoke's scenarios are drawn from, with another day."""
    sizes = dict.fromkeys(SMOKE.source.sizes, size)
    return dataclasses.replace(SMOKE.source, sizes=sizes, hourly_load=hourly_load, **more)


def factors(of: DrawSource) -> list[float]:
    """Give the factor of each scenario of the standing panel."""
    lines = [json.loads(row.scenario_json) for row in draw_panel(of, "regression")]
    return [line["load_factor"] for line in lines]


class TestDraws:
    """Which hour a scenario gets."""

    def test_seed_and_number_decide(self) -> None:
        """A longer panel begins with the shorter one; another seed draws other hours."""
        short, long = factors(source(HOURS)), factors(source(HOURS, 32))
        assert long[:16] == short
        assert factors(source(HOURS, seed=7)) != short
        alone = json.loads(draw_scenario(source(HOURS, 32), "regression", 20).scenario_json)
        assert alone["load_factor"] == long[20]

    def test_no_other_draw_moves(self) -> None:
        """Faults and phases are those of the same panel without a day."""
        for plain, daily in zip(
            draw_panel(source(()), "regression"),
            draw_panel(source(HOURS), "regression"),
            strict=True,
        ):
            line = json.loads(daily.scenario_json)
            del line["load_factor"]
            assert line == json.loads(plain.scenario_json)

    def test_every_hour_is_as_likely(self) -> None:
        """Of 480 scenarios about 20 for each hour: six standard deviations are 27 more or less."""
        drawn = Counter(factors(source(HOURS, 480)))
        assert set(drawn) == set(HOURS)
        assert max(drawn.values()) < 47


class TestRates:
    """What the factor does."""

    def scenario(self, rate: float, **more: Any) -> Scenario:
        """Give three partitions with that rate, one of them with half of it, and a crash."""
        produce = {"records_per_s": rate, "partition_rates": {"1": rate / 2}}
        return one_topic_scenario(
            {"partitions": 3, "replication_factor": 3, "produce": produce},
            horizon_ms=20_000,
            faults=[{"kind": "crash", "broker": 1, "start_ms": 5_000}],
            **more,
        )

    def test_it_multiplies_every_rate(self) -> None:
        """Twice 40 a second is 80 a second, for partitions of their own rate too."""
        doubled = run(self.scenario(40, load_factor=2), events=True)
        plain = run(self.scenario(80), events=True)
        assert doubled.outcome == plain.outcome
        assert doubled.events == plain.events

    def test_worlds_of_two_hours_are_two(self) -> None:
        """What is kept of one scenario's world is not taken for another hour's."""
        once = self.scenario(40)
        busy = once.model_copy(update={"load_factor": 2})
        first, second, third = (run(one).outcome for one in (once, busy, once))
        assert first == third != second


def cluster_file(tmp_path: Path, hourly_load: str) -> Path:
    """Write smoke's cluster with a day."""
    text = Path("config/clusters/tiny.yaml").read_text()
    path = tmp_path / "tiny.yaml"
    path.write_text(f"{text}\nhourly_load: {hourly_load}\n")
    assert read_mapping(path)
    return path


class TestFiles:
    """Where it is written."""

    def test_an_experiments_panels_have_it(self, tmp_path: Path) -> None:
        """From the cluster file to the scenarios, the digest and the cost."""
        path = cluster_file(tmp_path, f"[{', '.join(['1'] * 12 + ['3'] * 12)}]")
        parts = read_cluster(path, "F")
        cluster = SMOKE.cluster.model_validate(parts)
        daily = SMOKE.model_copy(update={"cluster": cluster})
        assert daily.digest != SMOKE.digest
        assert set(factors(daily.source)) == {1, 3}
        assert load_by_hour(daily).events_per_s > 1.2 * load_by_hour(SMOKE).events_per_s
        assert "it follows the hour" in cost_lines(daily, 5)[0]
        assert "it follows the hour" not in cost_lines(SMOKE, 5)[0]

    def test_what_is_shown_has_it(self, tmp_path: Path) -> None:
        """The factors of the file."""
        path = cluster_file(tmp_path, f"[{', '.join(['2'] * 24)}]")
        assert load_cluster_file(path, "F").hourly_load == (2,) * 24

    @from_table
    def test_refused(self, tmp_path: Path, given: str, line: str) -> None:
        """One line: where, what was given, what is allowed."""
        said = refused(lambda: load_cluster_file(cluster_file(tmp_path, given), "F"))
        assert said == f"F: {line}"
