"""Which partitions have as many replicas as ``min.insync.replicas`` asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isr_pipeline.errors import InputError
from isr_pipeline.experiment.configurations import MIN_ISR
from isr_pipeline.files.words import counted
from isr_pipeline.scenarios.model import TOPICS, Scenario, Topic


def check_replicas(values: Iterable[int], today: Scenario, *, override_topics: bool) -> None:
    """Refuse an asked value that no partition can meet.

    Args:
        values: asked for the key.
        today: the cluster as it stands.
        override_topics: whether topics that set the key take the values too.

    Raises:
        InputError: the value, and the highest replication factor of the topics that take it.
    """
    takers = _takers(today, override_topics=override_topics)
    most = max((len(replicas) for one in takers for replicas in one.assignment.values()), default=0)
    for value in values:
        if value > most:
            allowed = f"1..{most}, the highest replication factor of the topics that take it"
            raise InputError("--ask", MIN_ISR, value, allowed)


def short_of_replicas(
    today: Scenario, configurations: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Say of each asked value for how many partitions it exceeds the replication factor.

    Args:
        today: the cluster as it stands.
        configurations: overrides of each; a key under ``topics`` is set by every topic.
    """
    asked = [one for one in configurations if MIN_ISR in one]
    everyone = any(f"{TOPICS}.{MIN_ISR}" in one for one in asked)
    takers = _takers(today, override_topics=everyone)
    for value in sorted({one[MIN_ISR] for one in asked}):
        short = sum(_short(topic, value) for topic in takers)
        if short:
            yield f"{MIN_ISR}={value}: more than the replicas of {counted(short, 'partition')}"


def _takers(today: Scenario, *, override_topics: bool) -> list[Topic]:
    """Topics that take the cluster's value."""
    return [one for one in today.topics if override_topics or MIN_ISR not in one.settings]


def _short(topic: Topic, value: int) -> int:
    """How many partitions have fewer replicas."""
    return sum(len(replicas) < value for replicas in topic.assignment.values())
