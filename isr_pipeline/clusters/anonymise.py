"""Names that say nothing, and change nothing.

A fetcher thread is chosen, and the isr-expiration tick walks, by the Java hash code of a topic's
name. So a topic gets a made-up name with the very hash code of its own; Kafka's own topics keep
theirs, as everybody has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isr_pipeline.clusters.assumptions import is_internal
from isr_pipeline.clusters.facts import Facts
from isr_pipeline.kafka.fetcher import java_string_hash
from isr_pipeline.scenarios.model import TOPIC_KEYS

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_LENGTH = 7
"""Letters behind the prefix: 31^7 exceeds 2^32, so that most prefixes have a name with the hash."""


def name_of_hash(prefix: str, wanted: int) -> str | None:
    """Find a name with a prefix and a hash code.

    ``hash(prefix + s) = hash(prefix) * 31^n + hash(s)`` modulo 2^32, so the letters of ``s`` are
    the digits, to base 31, of some number with the remainder that is wanted.

    Args:
        prefix: what it begins with.
        wanted: its ``String.hashCode``.

    Returns:
        None if no such name has seven more letters.
    """
    rest = (wanted - java_string_hash(prefix) * 31**_LENGTH) % 2**32
    low, high = ord(min(_LETTERS)), ord(max(_LETTERS))
    ones = (31**_LENGTH - 1) // 30
    for k in range((low * ones - rest) // 2**32, (high * ones - rest) // 2**32 + 1):
        found = _letters(rest + k * 2**32, _LENGTH)
        if found is not None:
            return prefix + found
    return None


def _letters(value: int, length: int) -> str | None:
    """Write a number with letters as digits to base 31, as many as that."""
    if length == 0:
        return "" if value == 0 else None
    for letter in _LETTERS:
        if (value - ord(letter)) % 31 == 0 and value >= ord(letter):
            before = _letters((value - ord(letter)) // 31, length - 1)
            if before is not None:
                return before + letter
    return None


def new_names(names: Iterable[str]) -> dict[str, str]:
    """Give every topic a name of its own with the hash code of its name."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for i, name in enumerate(sorted(set(names))):
        if is_internal(name):
            found[name] = name
            continue
        wanted, made, k = java_string_hash(name), None, 0
        while made is None or made in taken:
            made = name_of_hash(f"topic-{i}-{k}-", wanted)
            k += 1
        found[name] = made
        taken.add(made)
    return found


def anonymise(sources: Sequence[Facts]) -> dict[str, str]:
    """Rename topics, racks and log dirs in what sources say, and forget what else could tell.

    Broker ids stay, as do numbers: replicas, settings and rates are what the simulation needs.

    Returns:
        name of a topic -> the name that it has now.
    """
    topics = new_names(name for facts in sources for name in facts.topics)
    racks = _numbered("rack", (b.rack for f in sources for b in f.brokers.values()))
    dirs = _numbered(
        "/log-dir",
        (
            one
            for facts in sources
            for one in (
                *facts.log_dirs,
                *(d for broker in facts.brokers.values() for d in broker.log_dirs),
                *(
                    d
                    for topic in facts.topics.values()
                    for partition in topic.partitions.values()
                    for d in partition.log_dirs.values()
                ),
            )
        ),
    )
    for number, facts in enumerate(sources, 1):
        facts.source = f"source {number}"
        facts.cluster_id = None
        if facts.left_out:
            facts.left_out = [f"{len(facts.left_out)} notes that name things"]
        facts.unread = set()
        facts.log_dirs = tuple(dirs[one] for one in facts.log_dirs)
        for broker in facts.brokers.values():
            broker.rack = racks.get(broker.rack or "")
            broker.log_dirs = tuple(dirs[one] for one in broker.log_dirs)
        facts.topics = {topics[name]: topic for name, topic in facts.topics.items()}
        for topic in facts.topics.values():
            topic.topic_id = None
            topic.settings = {k: v for k, v in topic.settings.items() if k in TOPIC_KEYS}
            for partition in topic.partitions.values():
                partition.log_dirs = {b: dirs[one] for b, one in partition.log_dirs.items()}
    return topics


def _numbered(prefix: str, names: Iterable[str | None]) -> dict[str, str]:
    known = sorted({name for name in names if name})
    return {name: f"{prefix}-{i}" for i, name in enumerate(known, 1)}
