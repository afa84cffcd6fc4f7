"""Published advice on the settings that decide ISR behaviour, and what of it a cluster can follow.

Read on 2026-11-23. None of these pages shows a measurement, and some contradict one another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isr_pipeline.experiment.distinct import Asked, clash
from isr_pipeline.experiment.own_values import everyone
from isr_pipeline.experiment.reads import why_not
from isr_pipeline.scenarios.model import TOPICS, Scenario

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


@dataclass(frozen=True, slots=True)
class Followed:
    """Advice as a cluster can follow it: what of it does nothing there is left out.

    Attributes:
        configurations: of what this cluster can follow.
        in_part: which keys of them do nothing here and are left out, one line each.
        left_out: advice that it cannot follow at all, and why, one line each.
    """

    configurations: tuple[Asked, ...]
    in_part: tuple[str, ...]
    left_out: tuple[str, ...]


def followed(published: Sequence[Advice], today: Scenario, overridden: Collection[str]) -> Followed:
    """Tell which advice a cluster can follow.

    Args:
        published: all of it.
        today: the cluster as it stands.
        overridden: keys that the question also asks of topics that set them; so does the advice.
    """
    whole, in_part, left_out = [], [], []
    for advice in published:
        one = Asked(advice.name, dict(advice.settings), advice.why)
        idle = {key: why for key in one.overrides if (why := _idle(key, today, overridden))}
        kept = {key: value for key, value in one.overrides.items() if key not in idle}
        if not kept:
            key, why = next(iter(idle.items()))
            left_out.append(f"{one.name}: {key} is {why}")
            continue
        both = {f"{TOPICS}.{key}": value for key, value in kept.items() if key in overridden}
        one = replace(one, overrides=kept | both)
        if reason := clash(one, today):
            left_out.append(f"{one.name}: {reason}")
            continue
        whole.append(one)
        in_part += [f"{one.name}: without {key}, {why}" for key, why in idle.items()]
    return Followed(tuple(whole), tuple(in_part), tuple(left_out))


def _idle(key: str, today: Scenario, overridden: Collection[str]) -> str:
    """Why a key of the advice does nothing in this cluster, if so."""
    reason = why_not(key, today)
    who = "" if reason or key in overridden else everyone(today, key)
    return f"a key of which every {who} has its own value" if who else reason
