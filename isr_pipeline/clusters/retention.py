"""For how long a topic keeps its records, and whether their age ends them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from isr_pipeline.base.files.words import scalar
from isr_pipeline.clusters.facts import TopicFacts

_NEARLY = 0.9
"""A partition of so much of `retention.bytes` may be ended by its size."""


def kept_by_time_s(said: Sequence[TopicFacts], largest_bytes: int) -> float | None:
    """For how long a topic keeps records; None if nobody says it, or if not their age ends them.

    Args:
        said: what sources say of the topic, those believed most first.
        largest_bytes: of its largest partition.
    """
    policy = _told(said, "cleanup.policy") or "delete"
    kept_ms, most = _number(said, "retention.ms"), _number(said, "retention.bytes")
    if policy != "delete" or kept_ms is None or kept_ms <= 0:
        return None
    if most is not None and 0 <= most * _NEARLY < largest_bytes:
        return None
    return kept_ms / 1000


def _told(said: Sequence[TopicFacts], key: str) -> str | None:
    texts = ((topic.settings.get(key), topic.effective.get(key)) for topic in said)
    return next((text for pair in texts for text in pair if text is not None), None)


def _number(said: Sequence[TopicFacts], key: str) -> float | None:
    text = _told(said, key)
    value = None if text is None else scalar(text)
    return value if isinstance(value, int | float) and math.isfinite(value) else None
