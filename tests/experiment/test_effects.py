"""What a configuration comes to: equal effects are equal outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.experiment.configurations import effects_of
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import Scenario, apply
from isr_pipeline.worlds.run import run
from tests.tables import data_of

SCENARIO: str = data_of(__file__, "SCENARIO")
ALL_OWN = (
    "{1: {replica.lag.time.max.ms: 9000}, 2: {replica.lag.time.max.ms: 9000}, "
    "3: {replica.lag.time.max.ms: 5000}}"
)
SOME_OWN = "{3: {replica.lag.time.max.ms: 5000}}"
LAG, MIN_ISR, RELEASE = "replica.lag.time.max.ms", "min.insync.replicas", "cluster.release"
AUTO = "auto.leader.rebalance.enable"
KRAFT_4_3 = str(rule_set_text("4.3"))


def scenario(
    folder: Path, *, release: str = "4.1", brokers: str = "{}", topics: str = "{}"
) -> Scenario:
    """Two faults in a cluster of three brokers."""
    text = SCENARIO.replace("RELEASE", release).replace("BROKERS", brokers)
    (folder / "s.yaml").write_text(text.replace("TOPICS", topics))
    return load_scenario(folder / "s.yaml")


class TestEqual:
    """Values that differ and come to the same."""

    @pytest.mark.parametrize(
        ("given", "one", "other"),
        [
            ({}, {}, {RELEASE: KRAFT_4_3}),
            ({"topics": "{min.insync.replicas: 2}"}, {}, {MIN_ISR: 3}),
            ({"topics": "{min.insync.replicas: 2}"}, {}, {f"topics.{MIN_ISR}": 2}),
            ({"brokers": ALL_OWN}, {}, {LAG: 4000}),
            ({"release": "3.9"}, {MIN_ISR: 3}, {MIN_ISR: 4}),
            ({}, {}, {"broker.session.timeout.ms": 9000}),
            ({}, {AUTO: False}, {AUTO: False, "leader.imbalance.check.interval.seconds": 1}),
        ],
        ids=[
            *("release", "topics", "asked of topics", "brokers", "replication factor", "default"),
            "switched off",
        ],
    )
    def test_equal_effects_are_equal_outcomes(
        self, tmp_path: Path, given: dict[str, str], one: dict[str, Any], other: dict[str, Any]
    ) -> None:
        """The same effects, and the very same events in a run with faults."""
        today = scenario(tmp_path, **given)
        both = [apply(today, overrides) for overrides in (one, other)]
        assert effects_of(both[0]) == effects_of(both[1])
        first, second = (run(each, events=True) for each in both)
        assert first.outcome == second.outcome
        assert first.events == second.events


class TestDifferent:
    """Values that a rule tells apart."""

    @pytest.mark.parametrize(
        ("given", "one", "other"),
        [
            ({}, {}, {RELEASE: str(rule_set_text("4.0"))}),
            ({"topics": "{min.insync.replicas: 2}"}, {}, {f"topics.{MIN_ISR}": 3}),
            ({"brokers": SOME_OWN}, {}, {LAG: 4000}),
            ({"release": "3.6"}, {MIN_ISR: 3}, {MIN_ISR: 4}),
            ({"topics": "{min.insync.replicas: 2}"}, {}, {"unclean.leader.election.enable": True}),
        ],
        ids=["release", "asked of topics", "some brokers", "no cap before 3.7", "another key"],
    )
    def test_what_some_rule_reads_differs(
        self, tmp_path: Path, given: dict[str, str], one: dict[str, Any], other: dict[str, Any]
    ) -> None:
        """A release with other rules, and a value that one topic or broker takes."""
        today = scenario(tmp_path, **given)
        assert effects_of(apply(today, one)) != effects_of(apply(today, other))
