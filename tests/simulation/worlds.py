"""Small worlds for single facts: three brokers, one partition, no other clients."""

from __future__ import annotations

from typing import Any

from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.worlds.run import Result, run

FAST = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 4000,
}
ACKS_1 = {"records_per_s": 20, "records_per_batch": 1, "record_bytes": 100, "acks": 1}
ACKS_ALL = {**ACKS_1, "acks": "all"}


def fault(kind: str, start_ms: float, **fields: Any) -> dict[str, Any]:
    """One fault of a scenario; ``from_`` stands for ``from``."""
    if "from_" in fields:
        fields["from"] = fields.pop("from_")
    return {"kind": kind, "start_ms": start_ms, **fields}


def world(
    *faults: dict[str, Any],
    config: dict[str, Any] | None = None,
    release: str = "4.1+",
    controller: str = "kraft",
    produce: tuple[dict[str, Any], ...] = (ACKS_1,),
    partitions: int = 1,
    replicas: tuple[int, ...] = (1, 2, 3),
    **more: Any,
) -> Result:
    """Run a minute (``horizon_ms``) of topic t, partition 0 led by broker 1, with events."""
    cluster = {
        "release": release,
        "controller": controller,
        "brokers": [1, 2, 3],
        "log_dirs_per_broker": more.pop("log_dirs", 1),
    }
    raw = {
        "scenario_id": "small",
        "seed": 1,
        "horizon_ms": 60000,
        "warmup_ms": 0,
        "cluster": cluster,
        "topics": [
            {
                "name": "t",
                "assignment": {p: list(replicas) for p in range(partitions)},
                "produce": [dict(p) for p in produce],
            }
        ],
        "config": FAST if config is None else {**FAST, **config},
        "service": {"client_requests_per_s": 0},
        "faults": list(faults),
        **more,
    }
    return run(parse_scenario(raw, "small"), events=True)


def happened(result: Result, *kinds: str) -> list[tuple[str, float]]:
    """(kind, time) of the events of some kinds, in order; all but stopped threads if none given."""
    return [
        (e["kind"], e["t_ms"])
        for e in result.events
        if (e["kind"] in kinds if kinds else e["kind"] != "fetcher_thread_stopped")
    ]


def kinds(result: Result) -> list[str]:
    """Kinds of all events in order, without stopped threads."""
    return [kind for kind, _ in happened(result)]


def at(result: Result, kind: str) -> float:
    """Time of the only event of a kind."""
    ((_, t_ms),) = happened(result, kind)
    return t_ms
