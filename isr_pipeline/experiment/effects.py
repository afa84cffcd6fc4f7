"""What a configuration comes to in a cluster: where that is equal, so is every outcome.

More is equal here than in the values that are written. Releases may differ in name only. A value
of the cluster means nothing to topics and brokers that have their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isr_pipeline.experiment.grid import Param, effective, resolved_params
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.releases import SWITCHES
from isr_pipeline.scenarios.model import TOPIC_KEYS, TOPICS, Scenario, Topic

Effects = tuple[tuple[str, str], ...]
"""What decides outcomes, and its value as a text, in a fixed order."""

_MIN_ISR = "min.insync.replicas"
_NAMES_ONLY = ("cluster.release", *(f"{TOPICS}.{key}" for key in TOPIC_KEYS))
"""What stands for other values, which are compared themselves."""


def effects_of(scenario: Scenario) -> Effects:
    """Everything that a scenario's configuration decides by.

    Args:
        scenario: with the configuration laid over it.
    """
    params = resolved_params(scenario)
    read = {key: value for key, value in effective(params).items() if key not in _NAMES_ONLY}
    found: dict[str, Any] = {
        **read,
        **dict(_switches(scenario, params)),
        **{
            key: of_topics(scenario, key, params[key], scenario.cluster.release)
            for key in TOPIC_KEYS
        },
        **{key: _of_brokers(scenario, key, read[key]) for key in _own_of_brokers(scenario, read)},
    }
    return tuple(sorted((key, str(value)) for key, value in found.items()))


def _switches(scenario: Scenario, params: dict[str, Param]) -> Iterator[tuple[str, object]]:
    """The release's switches, but for those that the parameters give as a rule."""
    rule_set = rule_set_of(scenario.cluster.release)
    for name in SWITCHES:
        if hasattr(rule_set, name) and f"rules.{name}" not in params:
            yield f"switch {name}", getattr(rule_set, name)


def of_topics(scenario: Scenario, key: str, value: Param, release: str) -> list[Param]:
    """The value that each topic's partitions apply.

    Args:
        scenario: its topics may have values of their own.
        key: of topics.
        value: the cluster's.
        release: that says whether min.insync.replicas may be more than the replicas.
    """
    capped = key == _MIN_ISR and rule_set_of(release).min_isr_capped
    own = [(topic, topic.settings.get(key, value)) for topic in scenario.topics]
    return [min(int(mine), _replicas(topic)) if capped else mine for topic, mine in own]


def _replicas(topic: Topic) -> int:
    """The most replicas of any partition: what is capped there is capped in all others too."""
    return max((len(replicas) for replicas in topic.assignment.values()), default=0)


def _of_brokers(scenario: Scenario, key: str, value: Param) -> list[object]:
    cluster = scenario.cluster
    return [cluster.broker_settings.get(one, {}).get(key, value) for one in cluster.brokers]


def _own_of_brokers(scenario: Scenario, read: dict[str, Param]) -> set[str]:
    """Keys that some broker has a value of its own for, and that some rule reads."""
    return {key for own in scenario.cluster.broker_settings.values() for key in own if key in read}
