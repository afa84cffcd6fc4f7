"""Published advice on the settings that decide ISR behaviour, and what of it a cluster can follow.

Read on 2026-11-23. None of these pages shows a measurement, and some contradict one another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from isr_pipeline.experiment.combinations import split
from isr_pipeline.experiment.configurations import Effects
from isr_pipeline.experiment.file import Candidate
from isr_pipeline.experiment.keys import all_have_own, why_not
from isr_pipeline.scenarios.model import TOPICS, Scenario

_CONDUKTOR = "kafka-options-explorer.conduktor.io"

PUBLISHED: tuple[Candidate, ...] = (
    Candidate(
        name="conduktor-throughput",
        why=f'Conduktor, "maximize throughput": {_CONDUKTOR}/config/replica-lag-time-max-ms',
        set={"replica.lag.time.max.ms": 30_000},
    ),
    Candidate(
        name="conduktor-durability",
        why=f'Conduktor, "ensure durability": {_CONDUKTOR}/kafka-broker/ensure-durability',
        set={
            "replica.lag.time.max.ms": 10_000,
            "min.insync.replicas": 2,
            "num.replica.fetchers": 4,
        },
    ),
    Candidate(
        name="conduktor-latency",
        why=f'Conduktor, "minimize latency": {_CONDUKTOR}/kafka-broker/minimize-latency',
        set={
            "replica.lag.time.max.ms": 10_000,
            "num.replica.fetchers": 4,
            "leader.imbalance.check.interval.seconds": 60,
            "num.network.threads": 8,
        },
    ),
    Candidate(
        name="fixwikihub-lag-60s",
        why="More time for slow followers: "
        "fixwikihub.com/articles/kafka-isr-shrinking-due-to-slow-follower-replication-lag",
        set={"replica.lag.time.max.ms": 60_000},
    ),
)
"""Advice that names values; advice without a value cannot be compared."""


@dataclass(frozen=True, slots=True)
class Followed:
    """Advice as a cluster can follow it: what of it does nothing there is left out.

    Attributes:
        advised: what this cluster can follow, and what does the same as nothing else.
        in_part: name of each -> which of its keys do nothing here and are left out, a line each.
        left_out: advice that is dropped, and why, one line each.
    """

    advised: list[Candidate]
    in_part: Mapping[str, list[str]]
    left_out: tuple[str, ...]


def followed(
    published: Sequence[Candidate],
    today: Scenario,
    overridden: Collection[str],
    effects: dict[Effects, str],
) -> Followed:
    """Tell which advice a cluster can follow.

    Args:
        published: all of it.
        today: the cluster as it stands.
        overridden: keys that the question also asks of topics that set them; so does the advice.
        effects: of today and of what is asked -> its name; those of the advice are added.
    """
    possible, in_part, left_out = [], {}, []
    for one in published:
        idle = {key: why for key in one.set if (why := _idle(key, today, overridden))}
        kept = {key: value for key, value in one.set.items() if key not in idle}
        if not kept:
            key, why = next(iter(idle.items()))
            left_out.append(f"{one.name}: {key} is {why}")
            continue
        both = {f"{TOPICS}.{key}": value for key, value in kept.items() if key in overridden}
        possible.append(one.model_copy(update={"set": kept | both}))
        in_part[one.name] = [f"{one.name}: without {key}, {why}" for key, why in idle.items()]
    advised, same = split(possible, effects, today)
    repeated = (f"{one.name}: does the same as {name}" for one, name in same)
    return Followed(advised, in_part, (*repeated, *left_out))


def _idle(key: str, today: Scenario, overridden: Collection[str]) -> str:
    """Why a key of the advice does nothing in this cluster, if so."""
    reason = why_not(key, today)
    who = "" if reason or key in overridden else all_have_own(key, today)
    return f"a key of which every {who} has its own value" if who else reason
