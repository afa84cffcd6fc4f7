"""Who has a value of its own for a key, and so does not take the cluster's, as in Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isr_pipeline.files.words import counted, shown
from isr_pipeline.scenarios.model import TOPIC_KEYS, TOPICS, Scenario

BROKERS_LISTED = 3
"""Brokers whose own value is told; of more, only how many there are."""


def everyone(scenario: Scenario, key: str) -> str:
    """Who has a value of its own for a key: ``topic``, ``broker``; empty unless all of them do."""
    if all(key in topic.settings for topic in scenario.topics):
        return "topic"
    settings, brokers = scenario.cluster.broker_settings, scenario.cluster.brokers
    return "broker" if all(key in settings.get(one, {}) for one in brokers) else ""


def own_values(scenario: Scenario, configurations: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Say of each key for which topics and brokers it does not change, one sentence each.

    Args:
        scenario: the cluster as it stands.
        configurations: overrides of each; a key under ``topics`` is set by every topic.
    """
    keys = list(dict.fromkeys(key for overrides in configurations for key in overrides))
    for key in keys:
        yield from _of_topics(scenario, key, gives_way=f"{TOPICS}.{key}" in keys)
        yield from _of_brokers(scenario, key)


def _of_topics(scenario: Scenario, key: str, *, gives_way: bool) -> Iterator[str]:
    own = [topic for topic in scenario.topics if key in topic.settings and key in TOPIC_KEYS]
    if own:
        partitions = counted(sum(len(topic.assignment) for topic in own), "partition")
        keeps = "lose it for the question" if gives_way else "keep it"
        yield f"{key}: {partitions} of {counted(len(own), 'topic')} have their own, and {keeps}"


def _of_brokers(scenario: Scenario, key: str) -> Iterator[str]:
    cluster = scenario.cluster
    settings = {one: cluster.broker_settings.get(one, {}) for one in cluster.brokers}
    own = [(broker, shown(mine[key])) for broker, mine in settings.items() if key in mine]
    if len(own) == 1:
        ((broker, value),) = own
        yield f"{key}: broker {broker} has its own ({value}), and keeps it"
    elif own:
        listed = ", ".join(f"{broker}: {value}" for broker, value in own[:BROKERS_LISTED])
        more = len(own) - BROKERS_LISTED
        rest = f" and {more} more" if more > 0 else ""
        yield f"{key}: {len(own)} brokers have their own ({listed}{rest}), and keep it"
