"""What a cluster's own values make worth asking: the commands that ``experiment new`` proposes.

What concerns records that were acknowledged comes first. No question is an answer, and none asks
what a weaker promise would gain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import counted
from isr_pipeline.experiment.combinations import combined, distinct
from isr_pipeline.experiment.configurations import (
    MIN_ISR,
    UNCLEAN,
    most_replicas,
    of_topics,
    resolved_params,
)
from isr_pipeline.experiment.file import find_named, standing_cluster
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.scenarios.cluster_file import ELR
from isr_pipeline.scenarios.model import Scenario, Topic
from isr_pipeline.scenarios.situations import write_all

QUESTIONS_MAX = 4
LAG = "replica.lag.time.max.ms"
SESSIONS = {"kraft": "broker.session.timeout.ms", "zookeeper": "zookeeper.session.timeout.ms"}
FETCHERS, TIMEOUT = "num.replica.fetchers", "request.timeout.ms"

LAG_LIMITS_MS = (10_000, 20_000, 30_000, 60_000)
SESSIONS_MS = (6_000, 9_000, 18_000)
FETCHER_THREADS = (2, 4)


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        name: ends the experiment's.
        asks: ``KEY=V1,V2`` each.
        why: what of the cluster makes it worth asking, a sentence.
        override_topics: ask it of topics that set the key for themselves, too.
    """

    name: str
    asks: tuple[str, ...]
    why: str
    override_topics: bool = False

    def command(self, cluster: str, faults: str) -> str:
        """What asks it.

        Args:
            cluster: name of a file in ``config/clusters``.
            faults: name of a file in ``config/faults``; empty: the command's default.
        """
        words = ["isr-pipeline experiment new", cluster, f"--name {cluster}-{self.name}"]
        words += [f"--faults {faults}"] if faults else []
        words += [f"--ask {one}" for one in self.asks]
        words += ["--override-topics"] if self.override_topics else []
        return " ".join(words)


def questions(today: Scenario) -> tuple[Question, ...]:
    """What is worth asking of a cluster, at most four, most urgent first.

    Args:
        today: the cluster as it stands.
    """
    finders = _min_isr, _unclean, _elr, _lag_limit, _session, _fetchers
    every = (one for find in finders for one in find(today))
    return tuple(one for one in every if _compares(one, today))[:QUESTIONS_MAX]


def proposed(cluster: str, faults: str, default_faults: str) -> list[tuple[str, str]]:
    """Reason and command of each question of a cluster.

    Args:
        cluster: name of a file in ``config/clusters``.
        faults: name of a file in ``config/faults``.
        default_faults: the one that a command need not name.

    Raises:
        InputError: there is no such file.
    """
    found = questions(standing_cluster(cluster))
    find_named("experiment new", "--faults", "faults", faults)
    named = "" if faults == default_faults else faults
    return [(one.why, one.command(cluster, named)) for one in found]


def scenarios(cluster: str, folder: Path) -> list[tuple[str, str]]:
    """Write the situations of a cluster; see :func:`isr_pipeline.scenarios.situations.write_all`.

    Args:
        cluster: name of a file in ``config/clusters``.
        folder: where to.
    """
    file = find_named("cluster scenarios", "NAME", "clusters", cluster)
    return write_all(standing_cluster(cluster, "cluster scenarios", "NAME"), file, folder)


def _compares(question: Question, today: Scenario) -> bool:
    """Whether some configuration would be left: the key is read here, and somebody takes it."""
    try:
        asked = combined(question.asks, today, override_topics=question.override_topics)
    except InputError:
        return False
    return bool(distinct(asked, today).asked)


def _min_isr(today: Scenario) -> Iterator[Question]:
    alone = [
        topic
        for topic, value in _values(today, MIN_ISR)
        if value == 1
        and most_replicas(topic) > 2
        and any(one.acks == "all" for one in topic.produce)
    ]
    own = all(MIN_ISR in topic.settings for topic in alone)
    lowers = own and any(value > 2 for _, value in _values(today, MIN_ISR))
    if alone and not lowers:
        why = f"A leader alone may acknowledge records of acks=all in {_partitions(alone)}."
        yield Question("min-isr", (f"{MIN_ISR}=2",), why, override_topics=own)


def _unclean(today: Scenario) -> Iterator[Question]:
    allowed = [topic for topic, value in _values(today, UNCLEAN) if value]
    if allowed:
        own = all(UNCLEAN in topic.settings for topic in allowed)
        why = f"An unclean election may lose acknowledged records of {_partitions(allowed)}."
        yield Question("unclean", (f"{UNCLEAN}=false",), why, override_topics=own)


def _elr(today: Scenario) -> Iterator[Question]:
    if not any(value > 1 for _, value in _values(today, MIN_ISR)):
        return
    if today.cluster.controller != "kraft":
        return
    if not rule_set_of(today.cluster.release).has_elr:
        why = (
            "Releases before 4.0 have no eligible leader replicas: what do the binaries of 4.1 "
            "change, and what the feature?"
        )
        yield Question("release", ("release=4.1",), why)
    elif not resolved_params(today)[ELR]:
        why = (
            "Eligible leader replicas are off: when the last replica in sync dies, none is elected."
        )
        yield Question("elr", (f"{ELR}=1",), why)


def _lag_limit(today: Scenario) -> Iterator[Question]:
    limit_ms, timeout_ms = _number(today, LAG), _number(today, TIMEOUT)
    leaves_ms = 1.5 * limit_ms  # the leader looks every half limit
    hint = (
        "a shorter limit lets them go on"
        if leaves_ms > timeout_ms
        else "a longer limit keeps more replicas in the ISR"
    )
    why = (
        f"A follower that hangs leaves the ISR after up to {_s(leaves_ms)}, and produce requests "
        f"with acks=all time out after {_s(timeout_ms)}: {hint}."
    )
    yield Question("lag-limit", (_others(LAG, LAG_LIMITS_MS, limit_ms),), why)


def _session(today: Scenario) -> Iterator[Question]:
    key = SESSIONS[today.cluster.controller]
    session_ms = _number(today, key)
    why = (
        f"A dead broker keeps its partitions until its session ends, {_s(session_ms)} at most; "
        "a shorter one fences brokers that only pause."
    )
    yield Question("session", (_others(key, SESSIONS_MS, session_ms),), why)


def _fetchers(today: Scenario) -> Iterator[Question]:
    threads, brokers = int(_number(today, FETCHERS)), len(today.cluster.brokers)
    followed = sum(
        len(replicas) - 1 for topic in today.topics for replicas in topic.assignment.values()
    )
    each = round(followed / (brokers * (brokers - 1))) if brokers > 1 else 0
    more = [one for one in FETCHER_THREADS if one > threads]
    if more and each > threads:
        why = (
            f"A broker follows about {counted(each, 'partition')} of each other broker with "
            f"{counted(threads, 'fetcher thread')}, where one slow append holds up the rest."
        )
        yield Question("fetchers", (_others(FETCHERS, tuple(more), threads),), why)


def _values(today: Scenario, key: str) -> list[tuple[Topic, int]]:
    """Each topic with the value that its partitions apply."""
    cluster_wide = resolved_params(today)[key]
    values = of_topics(today, key, cluster_wide, today.cluster.release)
    return [(topic, int(value)) for topic, value in zip(today.topics, values, strict=True)]


def _number(today: Scenario, key: str) -> float:
    return float(cast(float, resolved_params(today)[key]))


def _others(key: str, values: tuple[int, ...], now: float) -> str:
    """A key's values but for today's, as they are asked."""
    return f"{key}={','.join(str(one) for one in values if one != now)}"


def _partitions(topics: list[Topic]) -> str:
    return counted(sum(len(topic.assignment) for topic in topics), "partition")


def _s(milliseconds: float) -> str:
    return f"{milliseconds / 1000:g} s"
