"""A scenario of one topic: what most tests of the simulation begin with."""

from __future__ import annotations

from typing import Any

from isr_pipeline.scenarios.model import Scenario, parse_scenario


def one_topic(topic: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A scenario of topic t as it is read from a file: KRaft of 3.7-3.9, three brokers, no warm-up.

    Args:
        topic: its fields but the name.
        more: other fields of the scenario, and those of `cluster` that differ.
    """
    cluster = {"release": "3.7-3.9", "controller": "kraft", "brokers": [1, 2, 3]}
    return {
        "scenario_id": "one-topic",
        "warmup_ms": 0,
        "topics": [{"name": "t", **topic}],
        **more,
        "cluster": cluster | more.get("cluster", {}),
    }


def one_topic_scenario(topic: dict[str, Any], **more: Any) -> Scenario:
    """The same, checked."""
    return parse_scenario(one_topic(topic, **more), "one-topic")
