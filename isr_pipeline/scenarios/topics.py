"""Which topics of a cluster are simulated: all, or those whose names match a pattern.

A topic is simulated whole or not at all, and nothing is scaled up: rates are those of the simulated
partitions, and brokers carry the load of these alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import Bad, list_of, text
from isr_pipeline.base.files.words import shown

PATTERN = text(
    r"[a-zA-Z0-9._*?\[\]!-]{1,249}", "the name of a topic, or a pattern such as orders-*"
)
PATTERNS = list_of(PATTERN, "a list of names of topics, or of patterns such as orders-*")

NAMES_SHOWN = 8


def matching(topics: Mapping[str, int], patterns: Sequence[str], where: str) -> tuple[str, ...]:
    """Names of the topics that are simulated, in the cluster's order.

    Args:
        topics: name -> number of partitions.
        patterns: as a shell has them; of a topic one of them has to match the whole name.
        where: who says so, for the error line.

    Raises:
        InputError: what is no pattern, or one that no topic matches.
    """
    for pattern in patterns:
        _check(pattern, where)
        if not any(fnmatchcase(name, pattern) for name in topics):
            more = len(topics) - NAMES_SHOWN
            names = ", ".join([*topics][:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
            raise InputError(where, "topics", shown(pattern), f"what some topic matches: {names}")
    return tuple(name for name in topics if any(fnmatchcase(name, pattern) for pattern in patterns))


def _check(pattern: str, where: str) -> None:
    try:
        PATTERN.read(pattern)
    except Bad as bad:
        raise InputError(where, "topics", shown(pattern), bad.allowed) from None


def simulated(topics: Mapping[str, int], kept: Sequence[str]) -> str:
    """Say how much of a cluster is simulated; empty if it is all.

    Args:
        topics: name -> number of partitions, of the whole.
        kept: names of those that are simulated.
    """
    if len(kept) == len(topics):
        return ""
    partitions = sum(topics[name] for name in kept)
    return (
        f"{partitions} of {sum(topics.values())} partitions simulated "
        f"({len(kept)} of {len(topics)} topics), nothing is scaled up"
    )
