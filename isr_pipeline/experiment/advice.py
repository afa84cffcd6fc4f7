"""Published advice on the settings that decide ISR behaviour: the rivals of an operator's choice.

Read on 2026-11-23. None of these pages shows a measurement, and some contradict one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ADVICE = "published-advice"
"""Group of an experiment that holds what others advise."""

ASKED = "asked"
"""Group that holds what an operator asked about (``experiment new --ask``)."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What a page advises.

    Attributes:
        name: of the configuration.
        why: who says it, and where.
        settings: Kafka's keys.
    """

    name: str
    why: str
    settings: Mapping[str, Any]


_CONDUKTOR = "kafka-options-explorer.conduktor.io"

PUBLISHED: tuple[Advice, ...] = (
    Advice(
        "conduktor-throughput",
        f'Conduktor, "maximize throughput": {_CONDUKTOR}/config/replica-lag-time-max-ms',
        {"replica.lag.time.max.ms": 30_000},
    ),
    Advice(
        "conduktor-durability",
        f'Conduktor, "ensure durability": {_CONDUKTOR}/kafka-broker/ensure-durability',
        {
            "replica.lag.time.max.ms": 10_000,
            "min.insync.replicas": 2,
            "num.replica.fetchers": 4,
        },
    ),
    Advice(
        "conduktor-latency",
        f'Conduktor, "minimize latency": {_CONDUKTOR}/kafka-broker/minimize-latency',
        {
            "replica.lag.time.max.ms": 10_000,
            "num.replica.fetchers": 4,
            "leader.imbalance.check.interval.seconds": 60,
            "num.network.threads": 8,
        },
    ),
    Advice(
        "fixwikihub-lag-60s",
        "More time for slow followers: "
        "fixwikihub.com/articles/kafka-isr-shrinking-due-to-slow-follower-replication-lag",
        {"replica.lag.time.max.ms": 60_000},
    ),
)
"""Advice that names values; advice without a value cannot be compared."""
