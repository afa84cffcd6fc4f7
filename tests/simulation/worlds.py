"""Small worlds for single facts: three brokers, one partition, no other clients."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from isr_pipeline.worlds.run import Result, run
from tests.scenario import one_topic_scenario
from tests.tables import Row, Test, reads_all, rows_of

FAST = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 4000,
}
ACKS_1 = {"records_per_s": 20, "records_per_batch": 1, "record_bytes": 100, "acks": 1}
ACKS_ALL = {**ACKS_1, "acks": "all"}


STREAMS: dict[str, dict[str, Any]] = {"acks_1": ACKS_1, "acks_all": ACKS_ALL}
"""What the `produce` of a row calls them; `like` one, a stream may send within a window."""


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
    dirs = {"log_dirs_per_broker": more.pop("log_dirs", 1)}
    cluster = {"release": release, "controller": controller, **dirs, **more.pop("cluster", {})}
    scenario = one_topic_scenario(
        {
            "assignment": {p: list(replicas) for p in range(partitions)},
            "produce": [dict(p) for p in produce],
        },
        cluster=cluster,
        config=FAST if config is None else {**FAST, **config},
        service=more.pop("service", {"client_requests_per_s": 0}),
        faults=list(faults),
        **{"seed": 1, "horizon_ms": 60000, **more},
    )
    return run(scenario, events=True)


def in_worlds(test: Test) -> Test:
    """Run a test with each row of its table, and with each of the values that `each` gives."""
    rows = []
    for row in rows_of(test):
        each = row.get("each", {})
        for values in product(*each.values()):
            given = {**row.get("world", {}), **dict(zip(each, values, strict=True))}
            cells = {name: cell for name, cell in row.items() if name != "each"}
            name = "-".join([row["id"], *(str(value) for value in values)])
            rows.append(pytest.param(Row({**cells, "world": given}), id=name))
    in_each: Test = pytest.mark.parametrize("row", rows)(reads_all(test))
    return in_each


def hold(row: Row, **more: Any) -> None:
    """Run a row's world; all that the row tells of it is so.

    `kinds` are those of all events in order; `at_ms` has a kind's only event, and `times` how many
    there are. An `outcome` is a value, or between two; so is `share_ms`, of a minute.
    """
    given = {**more, **row["world"]}
    if "produce" in row["world"]:
        given["produce"] = tuple(_stream(one) for one in given["produce"])
    result = world(*row.get("faults", ()), **given)
    for kind, t_ms in row.get("at_ms", {}).items():
        assert _is(at(result, kind), t_ms), (kind, at(result, kind))
    for kind, count in row.get("times", {}).items():
        assert len(happened(result, kind)) == count, kind
    for metric, value in row.get("outcome", {}).items():
        assert _is(result.outcome[metric], value), (metric, result.outcome[metric])
    for metric, ms in row.get("share_ms", {}).items():
        assert _is(result.outcome[metric] * 60000, ms), (metric, result.outcome[metric])
    if "kinds" in row:
        assert kinds(result) == row["kinds"]
    assert row.keys() & {"at_ms", "times", "outcome", "share_ms", "kinds"}


def _stream(told: str | dict[str, Any]) -> dict[str, Any]:
    window: dict[str, Any] = {"like": told} if isinstance(told, str) else dict(told)
    return {**STREAMS[window.pop("like")], **window}


def _is(value: float, wanted: float | list[float]) -> bool:
    low, high = wanted if isinstance(wanted, list) else (wanted, wanted)
    return low - 1e-6 <= value <= high + 1e-6


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
