"""Situations that operators ask about, as scenarios of a few lines.

Each is a function of a cluster: which broker pauses, which zone is cut off. The library has each
for a cluster of three brokers (``library/broker-pauses.yaml``); ``isr-pipeline cluster scenarios``
writes the same for a cluster file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.whole import write_asked
from isr_pipeline.base.files.words import flow
from isr_pipeline.scenarios.model import Scenario, Topic

Faults = list[dict[str, Any]]

BEGIN_MS = 10_000
AFTER_MS = 50_000
"""How long a scenario goes on after its last fault began: sessions end, replicas catch up."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A kind of trouble.

    Attributes:
        faults: in a cluster.
        words: what happens, in a sentence.
        asks: a setting that is worth trying.
    """

    faults: Callable[[Scenario], Faults]
    words: str
    asks: str


def _busiest(cluster: Scenario) -> tuple[int, ...]:
    """Brokers of the partition with most records a second: its leader, then its followers.

    Of those alike the one with most replicas, then the first.
    """
    every = [
        (_rate(topic, number), len(replicas), topic, number)
        for topic in cluster.topics
        for number, replicas in topic.assignment.items()
    ]
    _, _, topic, number = max(every, key=lambda one: one[:2])
    replicas = topic.assignment[number]
    leader = topic.leaders.get(number, replicas[0])
    out = topic.behind.get(number, {})
    followers = [one for one in replicas if one != leader and one not in out]
    return leader, *followers


def _rate(topic: Topic, number: int) -> float:
    return sum(
        stream.rates().get(number, stream.records_per_s)
        for stream in topic.produce
        if stream.partitions is None or number in stream.partitions
    )


def _follower(cluster: Scenario) -> int:
    """The first follower of the busiest partition; its leader, where it has none."""
    return _busiest(cluster)[:2][-1]


def _broker_pauses(cluster: Scenario) -> Faults:
    leader = _busiest(cluster)[0]
    return [{"kind": "pause", "broker": leader, "start_ms": BEGIN_MS, "duration_ms": 10_000}]


def _rolling_restart(cluster: Scenario) -> Faults:
    """One broker after the other, a minute each, while a follower appends slowly."""
    each_ms = 60_000
    brokers = cluster.cluster.brokers
    slow = {
        "kind": "slow_append",
        "broker": _follower(cluster),
        "start_ms": BEGIN_MS,
        "duration_ms": each_ms * len(brokers),
        "append_ms": 5_000,
    }
    restarts = [
        {
            "kind": "controlled_restart",
            "broker": broker,
            "start_ms": BEGIN_MS + at * each_ms,
            "downtime_ms": 20_000,
        }
        for at, broker in enumerate(brokers)
    ]
    return [slow, *restarts]


def _leader_dies(cluster: Scenario) -> Faults:
    """The follower lags first, then the leader is killed and comes back after half a minute."""
    return [
        {
            "kind": "slow_append",
            "broker": _follower(cluster),
            "start_ms": BEGIN_MS,
            "duration_ms": 40_000,
            "append_ms": 20_000,
        },
        {
            "kind": "crash",
            "broker": _busiest(cluster)[0],
            "start_ms": BEGIN_MS + 15_000,
            "restart_after_ms": 30_000,
        },
    ]


def _zone_cut_off(cluster: Scenario) -> Faults:
    """The zone of the busiest leader: its rack, or itself where it has none or all are in one."""
    racks, leader = cluster.cluster.racks, _busiest(cluster)[0]
    zone = racks.get(leader, leader)
    inside = [one for one in cluster.cluster.brokers if racks.get(one, one) == zone]
    inside = [leader] if len(inside) == len(cluster.cluster.brokers) else inside
    outside = [one for one in cluster.cluster.brokers if one not in inside]
    return [
        {
            "kind": "link",
            "from": one,
            "to": other,
            "start_ms": BEGIN_MS,
            "duration_ms": 30_000,
            "drop": True,
            "both_ways": True,
        }
        for one in inside
        for other in (*outside, "controller")
    ]


SITUATIONS: Mapping[str, Situation] = {
    "broker-pauses": Situation(
        _broker_pauses,
        "A broker pauses for 10 s; its session decides whether its leads move.",
        "broker.session.timeout.ms=18000",
    ),
    "rolling-restart": Situation(
        _rolling_restart,
        "Every broker is restarted, one after the other, while one appends slowly.",
        "replica.lag.time.max.ms=60000",
    ),
    "leader-dies": Situation(
        _leader_dies,
        "A leader dies while a follower lags; the ISR of that moment decides who may lead.",
        "unclean.leader.election.enable=true",
    ),
    "zone-cut-off": Situation(
        _zone_cut_off,
        "A zone is cut off from the others and from the controller for 30 s.",
        "min.insync.replicas=1",
    ),
}
"""Name of the file -> what happens in it."""


def write_all(cluster: Scenario, file: Path, folder: Path) -> list[tuple[str, str]]:
    """Write each situation as a scenario of a cluster file.

    Args:
        cluster: as the file has it.
        file: the cluster's, which the scenarios name.
        folder: where they are written; it is made.

    Returns:
        what happens in each, and a command that simulates it with a setting of another value.

    Raises:
        InputError: a file is there already, or cannot be written.
    """
    paths = {name: folder / f"{file.stem}-{name}.yaml" for name in SITUATIONS}
    for path in paths.values():
        if path.exists():
            raise InputError("--out", "", f"{path} is there", "a folder without it")
    named = os.path.relpath(file, folder)
    for name, path in paths.items():
        write_asked(path, text(name, cluster, path.stem, " " + flow({"file": named})), "--out")
    return [
        (one.words, f"isr-pipeline simulate {paths[name]} --set {one.asks}")
        for name, one in SITUATIONS.items()
    ]


def text(name: str, cluster: Scenario, scenario_id: str, named: str) -> str:
    """A situation as a file: its sentence, then six lines and its faults.

    Args:
        name: of the situation.
        cluster: whose brokers it meets.
        scenario_id: of the scenario.
        named: the cluster, as YAML that follows the colon.
    """
    faults = SITUATIONS[name].faults(cluster)
    ends = max(one["start_ms"] + one.get("duration_ms", 0) for one in faults)
    horizon_ms = max(ends + BEGIN_MS, faults[-1]["start_ms"] + AFTER_MS)
    return "\n".join(
        [
            f"# {SITUATIONS[name].words}",
            f"scenario_id: {scenario_id}",
            f"horizon_ms: {horizon_ms}",
            f"cluster:{named}",
            "faults:",
            *(f"  - {flow(one)}" for one in faults),
            "",
        ]
    )
