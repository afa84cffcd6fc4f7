"""What acks=all promises: so many replicas have an acknowledged record, and one of them leads."""

from __future__ import annotations

from collections.abc import Iterator

from isr_pipeline.experiment.effects import of_topics
from isr_pipeline.experiment.grid import resolved_params
from isr_pipeline.scenarios.model import TOPIC_KEYS, Scenario


def lowers_promise(scenario: Scenario, reference: Scenario) -> bool:
    """Whether a record that acks=all acknowledged is kept less surely for any topic.

    It is where min.insync.replicas is lower, where an unclean election is allowed and was not, or
    where a producer no longer waits for all. Values are those that topics apply, with the defaults
    of each release.

    Args:
        scenario: a configuration laid over the reference's cluster.
        reference: the same topics; its release says whether min.insync.replicas may ask for more
            than there are replicas.
    """
    release = reference.cluster.release
    mine, theirs = ([*_promises(one, release)] for one in (scenario, reference))
    return any(one < other for one, other in zip(mine, theirs, strict=True))


def _promises(scenario: Scenario, release: str) -> Iterator[int]:
    """Of each topic some numbers: the larger each is, the better kept."""
    params = resolved_params(scenario)
    min_isr, unclean = (of_topics(scenario, key, params[key], release) for key in TOPIC_KEYS)
    yield from map(int, min_isr)
    yield from (not allowed for allowed in unclean)
    yield from (stream.acks == "all" for topic in scenario.topics for stream in topic.produce)
