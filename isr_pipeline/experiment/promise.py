"""What acks=all promises: so many replicas have an acknowledged record, and one of them leads."""

from __future__ import annotations

from collections.abc import Iterator

from isr_pipeline.experiment.effects import of_topics
from isr_pipeline.experiment.grid import resolved_params
from isr_pipeline.scenarios.model import TOPIC_KEYS, Scenario

ACKS = "acks"
"""Of a producer: what it waits for."""


def lowered(scenario: Scenario, reference: Scenario) -> tuple[str, ...]:
    """What keeps an acknowledged record less surely than the reference does, for any topic.

    It is ``min.insync.replicas`` where that is lower, ``unclean.leader.election.enable`` where that
    is allowed and was not, ``acks`` where a producer no longer waits for all. Values are those that
    topics apply, with the defaults of each release.

    Args:
        scenario: a configuration laid over the reference's cluster.
        reference: the same topics; its release says whether min.insync.replicas may ask for more
            than there are replicas.

    Returns:
        The keys; none if the promise is kept.
    """
    release = reference.cluster.release
    both = zip(_promises(scenario, release), _promises(reference, release), strict=True)
    return tuple(dict.fromkeys(key for (key, mine), (_, theirs) in both if mine < theirs))


def _promises(scenario: Scenario, release: str) -> Iterator[tuple[str, int]]:
    """Of each topic some keys with numbers: the larger each is, the better kept."""
    params = resolved_params(scenario)
    min_isr, unclean = TOPIC_KEYS
    for value in of_topics(scenario, min_isr, params[min_isr], release):
        yield min_isr, int(value)
    for allowed in of_topics(scenario, unclean, params[unclean], release):
        yield unclean, not allowed
    for topic in scenario.topics:
        for stream in topic.produce:
            yield ACKS, stream.acks == "all"
