"""Short ways to write timelines."""

from __future__ import annotations

from typing import Any

from tests.oracle import replay_vector

T = 1_000_000
"""Where timelines begin, in ms."""


def step(
    op: str, t: int | None = None, *, expect: dict[str, Any] | None = None, **arguments: Any
) -> dict[str, Any]:
    """One step; `t` counts from T."""
    made: dict[str, Any] = {"op": op, **arguments}
    if t is not None:
        made["t"] = T + t
    if expect is not None:
        made["expect"] = expect
    return made


def run(
    machine: str, variant: str, *steps: dict[str, Any], config: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Run a timeline, insist that every expectation holds, and return the final state."""
    vector = {
        "id": "t",
        "machine": machine,
        "variant": variant,
        "config": config or {},
        "timeline": list(steps),
    }
    result = replay_vector(vector, 1)
    assert result["mismatch"] == []
    return dict(result["state"])


def lead(
    isr: list[int], *, leo: int = 10, replicas: list[int] | None = None, **more: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two steps that make broker 101 leader of a log of 10 records."""
    given: dict[str, Any] = {
        "leader_epoch": 5,
        "partition_epoch": 1,
        "replicas": replicas or [101, 102],
        "isr": isr,
    }
    return step("init_log", 0, leo=leo), step("make_leader", 0, **(given | more))
