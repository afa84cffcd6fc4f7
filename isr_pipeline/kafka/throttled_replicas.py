"""Lists of throttled replicas, as topics have them: read with an experiment file, uncompiled."""

from __future__ import annotations

import re
from typing import Final

_LIST: Final = re.compile(r"(?:\s*\d+:\d+\s*(?:,|$))*")
EVERYONE: Final = "*"


def is_list(text: str) -> bool:
    """Whether a topic can have this list (server/config/ThrottledReplicaListValidator @ 3.9.0)."""
    return text.strip() == EVERYONE or _LIST.fullmatch(text) is not None


def names_replica(text: str, partition: int, broker: int) -> bool:
    """Whether a topic's list names a partition's replica on a broker (ConfigHandler.scala @ 3.9.0).

    Args:
        text: ``*``, or ``partition:broker`` once or more, with commas between.
        partition: number in the topic.
        broker: its id.
    """
    if text.strip() == EVERYONE:
        return True
    return f"{partition}:{broker}" in {one.strip() for one in text.split(",")}
