"""What acks=all promises under a configuration, beside the reference."""

from __future__ import annotations

from typing import Any

from isr_pipeline.experiment.configurations import configurations, lowered
from isr_pipeline.experiment.file import healthy_scenario, load_experiment
from isr_pipeline.scenarios.model import Scenario, apply, parse_scenario
from tests.tables import from_table

MIN_ISR = "min.insync.replicas"


def cluster(
    release: str = "3.7-3.9", acks: str | int = "all", own: dict[str, Any] | None = None
) -> Scenario:
    """Two topics; `own` are settings of the one whose partition has two replicas."""
    produce = [{"acks": acks}]
    topics = [
        {"name": "own", "assignment": {0: [1, 2]}, "settings": own or {}, "produce": produce},
        {"name": "plain", "assignment": {0: [1, 2, 3], 1: [1]}, "produce": produce},
    ]
    controller = "zookeeper" if release.startswith("0.") else "kraft"
    return parse_scenario(
        {
            "scenario_id": "s",
            "horizon_ms": 10_000,
            "cluster": {"release": release, "controller": controller, "brokers": [1, 2, 3]},
            "topics": topics,
            "config": {MIN_ISR: 2},
        },
        "s",
    )


@from_table
def test_overrides(overrides: dict[str, Any], lowers: bool) -> None:
    """One topic with less is enough, wherever its value comes from."""
    today = cluster()
    assert bool(lowered(apply(today, overrides), today)) is lowers


def test_a_topic_keeps_its_own() -> None:
    """Another value of the cluster lowers nothing where every topic has its own."""
    today = cluster()
    own = apply(today, {f"topics.{MIN_ISR}": 2})
    assert not lowered(apply(own, {MIN_ISR: 1}), own)


def test_one_topic_of_many() -> None:
    """What one topic sets for itself is lost for the question: more for it, less for nobody."""
    today = cluster(own={MIN_ISR: 1})
    assert not lowered(apply(today, {f"topics.{MIN_ISR}": 2}), today)
    assert lowered(today, apply(today, {f"topics.{MIN_ISR}": 2}))


def test_more_than_there_are_replicas_promises_no_more() -> None:
    """From 3.7 on 3 of two replicas is 2, so 2 is as good there; to 3.6 it is what is written."""
    for release, lowers in (("3.7-3.9", False), ("3.3-3.6", True)):
        today = apply(cluster(release), {f"topics.{MIN_ISR}": 2})
        asked = today.topics[0].model_copy(update={"settings": {MIN_ISR: 3}})
        today = today.model_copy(update={"topics": (asked,)})
        assert bool(lowered(apply(today, {f"topics.{MIN_ISR}": 2}), today)) is lowers


def test_an_upgrade_that_caps_lowers_nothing() -> None:
    """What 3.7 no longer refuses on one replica has the copies that there are."""
    today = cluster("3.3-3.6")
    upgraded = cluster("3.7-3.9")
    assert not lowered(upgraded, today)


def test_defaults_are_those_of_the_release() -> None:
    """To 0.10 unclean elections are on where nobody says otherwise."""
    assert lowered(cluster("0.9-0.10.1"), cluster("3.3-3.6"))
    assert not lowered(cluster("3.3-3.6"), cluster("0.9-0.10.1"))


def test_producers_that_no_longer_wait() -> None:
    """acks=1 promises less than all."""
    assert lowered(cluster(acks=1), cluster())
    assert not lowered(cluster(), cluster(acks=1))


@from_table
def test_of_the_shipped_experiments(name: str, weaker: list[str]) -> None:
    """So do Kafka's default of min ISR, and unclean elections, the default up to 0.10.2."""
    experiment = load_experiment(name)
    healthy = healthy_scenario(experiment)
    every = {one.name: apply(healthy, one.overrides) for one in configurations(experiment)}
    today = every[experiment.reference]
    assert {one for one, scenario in every.items() if lowered(scenario, today)} == set(weaker)
