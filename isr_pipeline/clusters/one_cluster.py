"""Whether several sources can be of one cluster; those that cannot are refused."""

from __future__ import annotations

from collections.abc import Sequence

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import few
from isr_pipeline.clusters.facts import Facts

_OURS_MIN = 2
"""Known brokers whose own files make that of an unknown one a new broker's."""


def refuse_two_clusters(sources: Sequence[Facts]) -> None:
    """Refuse sources of which two cannot be of the same cluster.

    Raises:
        InputError: other cluster ids, other ids of the same topics, brokers that have nothing in
            common, replicas that mostly differ, or a broker that the cluster does not have.
    """
    for i, other in enumerate(sources):
        for one in sources[:i]:
            why = _differ(one, other)
            if why:
                allowed = f"sources of one cluster: {one.source} {why[1]}"
                raise InputError(other.source, "", why[0], allowed)
    _refuse_strange_brokers(sources)


def _refuse_strange_brokers(sources: Sequence[Facts]) -> None:
    """Refuse a source of one broker that no source with partitions knows.

    Beside the sources of several brokers that are known, it is a new broker, still empty.

    Raises:
        InputError: the source, its broker, and the brokers that are known.
    """
    whole = [facts for facts in sources if _has_replicas(facts)]
    known = {broker for facts in whole for broker in _brokers_of(facts)}
    alone = [
        (broker, facts)
        for facts in sources
        for broker in _brokers_of(facts)
        if len(_brokers_of(facts)) == 1
    ]
    ours = {broker for broker, _ in alone if broker in known}
    strange = [(broker, facts) for broker, facts in alone if known and broker not in known]
    if len(ours) >= _OURS_MIN and len(ours) > len({broker for broker, _ in strange}):
        return
    for broker, facts in strange:
        allowed = f"sources of one cluster: {whole[0].source} has {few(known)}"
        raise InputError(facts.source, "", f"broker {broker}", allowed)


def _has_replicas(facts: Facts) -> bool:
    """Whether a source says which brokers hold partitions."""
    return any(p.replicas for topic in facts.topics.values() for p in topic.partitions.values())


def _differ(one: Facts, other: Facts) -> tuple[str, str] | None:
    """Why two sources are of two clusters: what the other has, and what the one has."""
    if one.cluster_id and other.cluster_id and one.cluster_id != other.cluster_id:
        return f"cluster id {other.cluster_id}", f"has {one.cluster_id}"
    mine, its = _brokers_of(one), _brokers_of(other)
    alone = len(mine) == 1 or len(its) == 1  # see _refuse_strange_brokers
    if mine and its and not mine & its and not alone:
        return f"brokers {few(its)}", f"has {few(mine)}"
    compared = differ = 0
    for name in one.topics.keys() & other.topics.keys():
        a, b = one.topics[name], other.topics[name]
        if a.topic_id and b.topic_id and a.topic_id != b.topic_id:
            return f"topic {name} with id {b.topic_id}", f"has id {a.topic_id}"
        for number in a.partitions.keys() & b.partitions.keys():
            left, right = a.partitions[number].replicas, b.partitions[number].replicas
            if left and right:
                compared += 1
                differ += set(left) != set(right)
    if compared >= 4 and differ > compared / 2:
        return f"other replicas of {differ} of {compared} partitions", "has them elsewhere"
    return None


def _brokers_of(facts: Facts) -> set[int]:
    found = set(facts.brokers)
    for topic in facts.topics.values():
        for partition in topic.partitions.values():
            found |= set(partition.replicas or ())
    return found
