"""Run library scenarios with changes, and ask simple questions about what happened."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from isr_pipeline.scenarios.model import parse_scenario, with_settings
from isr_pipeline.worlds.run import Result, run

SHRINK = "isr_shrink"
EXPAND = "isr_expand"
OFFLINE = "partition_offline"
ONLINE = "partition_online"
ELECTED = "leader_elected"
UNCLEAN = "unclean_election"
FENCED = "broker_fenced"
UNFENCED = "broker_unfenced"
REMOVED = "controller_isr_remove"


@cache
def play(name: str, *settings: str, sample_ms: float = 0) -> Result:
    """The library's scenario ``name`` with ``KEY=VALUE`` settings, with its events."""
    text = (files("isr_pipeline.scenarios") / "library" / f"{name}.yaml").read_text("utf-8")
    raw = with_settings(yaml.safe_load(text), list(settings), name)
    return run(parse_scenario(raw, name), events=True, sample_ms=sample_ms)


def events(result: Result, *kinds: str, partition: int | None = None) -> list[dict[str, Any]]:
    """The events of some kinds, of one partition if that is named."""
    return [
        e
        for e in result.events
        if e["kind"] in kinds and (partition is None or e["partition"] == partition)
    ]


def times(result: Result, kind: str, partition: int | None = None) -> list[float]:
    """When events of a kind happened."""
    return [e["t_ms"] for e in events(result, kind, partition=partition)]


def partitions(result: Result, kind: str) -> set[int]:
    """The partitions that an event of the kind concerns."""
    return {e["partition"] for e in events(result, kind)}


def isr_at(
    result: Result, partition: int, t_ms: float, initial: tuple[int, ...]
) -> tuple[int, ...]:
    """The committed ISR of a partition just after a moment."""
    isr = initial
    for e in result.events:
        if e["partition"] == partition and e["t_ms"] <= t_ms:
            isr = tuple(e["isr"])
    return isr
