"""Print what short random scenarios give, one JSON line each.

`python -m tests.simulation.print_runs` is a process of its own, with or without the JIT; its lines
are compared with those of another. With `--visit-all`, which needs the JIT to be off, none of the
short cuts that fetches take is taken.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from isr_pipeline.base.errors import BudgetSpent
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.simulation import fetches
from isr_pipeline.simulation.world.columns import table_of
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import advance, run
from tests.simulation.random_scenarios import FromSeed, raw_scenario

SEEDS = range(24)
BUDGET = 8000
HORIZON_MS = 2000  # in plain Python the kernel does some ten thousand events a second


@contextmanager
def visit_all() -> Iterator[None]:
    """Pass over no partition of a fetch, and keep each release's order."""
    with ExitStack() as changes:
        for module, name, instead in (
            (fetches, "_skip_unchanged", _itself),
            (fetches, "_reads_nothing", _never),
        ):
            changes.enter_context(patch.object(module, name, instead))
        yield


def _itself(*given: Any) -> int:
    """The first entry that is left is the first."""
    first: int = given[-1]
    return first


def _never(*_: object) -> bool:
    return False


def kip_501(kip501: str, **more: Any) -> Scenario:
    """Three partitions that each broker leads, their followers, and little else."""
    raw: dict[str, Any] = {
        "scenario_id": kip501,
        "horizon_ms": HORIZON_MS,
        "warmup_ms": 0,
        "cluster": {"release": "3.7-3.9", "controller": "kraft", "brokers": [1, 2, 3]},
        "config": {
            "replica.lag.time.max.ms": 400,
            "replica.fetch.wait.max.ms": 400,
            "follower.fetch.pending.reads.insync.enable": True,
            "follower.fetch.process.time.max.ms": 600,
        },
        "rules": {"kip501": kip501},
        "service": {"client_requests_per_s": 0},
        "topics": [
            {
                "name": "t",
                "partitions": 9,
                "replication_factor": 3,
                "produce": {"records_per_s": 10, "records_per_batch": 1, "acks": "all"},
            }
        ],
        **more,
    }
    return parse_scenario(raw, raw["scenario_id"])


def stalled(kip501: str, reads: str) -> Scenario:
    """Fetches stall at one of a broker's partitions: ticks find reads of all of them pending."""
    stall = {"kind": "read_stall", "broker": 1, "start_ms": 500, "duration_ms": 900}
    return kip_501(kip501, faults=[{**stall, "partitions": ["t-3"], "reads": reads}])


def slow(kip501: str) -> Scenario:
    """Reads take long; a partition without data is recorded when all of its fetch are read."""
    return kip_501(
        kip501,
        cluster={"release": "2.1-2.6", "controller": "zookeeper", "brokers": [1, 2, 3]},
        service={"client_requests_per_s": 0, "handler_read_us": 20_000, "network_rtt_ms": 20},
    )


def scenarios() -> Iterator[Scenario]:
    """Random ones, and pending reads."""
    for seed in SEEDS:
        raw = raw_scenario(FromSeed(seed), horizons=(HORIZON_MS,))
        raw["warmup_ms"] = 0
        yield parse_scenario(raw, f"seed {seed}")
    for kip501 in ("s1-doc", "s1-pr", "s2"):
        for reads in ("all", "visits"):
            yield stalled(kip501, reads)
    yield slow("s1-pr")


def lines() -> Iterator[str]:
    """What each scenario gives."""
    for scenario in scenarios():
        try:
            done = run(scenario, events=True, budget=BUDGET)
        except BudgetSpent as error:
            yield str(error)
        else:
            known = known_at_the_end(scenario)
            yield json.dumps({"outcome": done.outcome, "events": done.events, "known": known})


def known_at_the_end(scenario: Scenario) -> list[list[list[int]]]:
    """What leaders know of followers at the horizon, everybody's LEO and HW, the last answers."""
    world = encode(scenario)
    advance(world)
    known = {
        "followers": (
            "log_end_offset",
            "last_caught_up_time",
            "last_fetch_leader_log_end_offset",
            "last_fetch_time",
        ),
        "replicas": ("log_end_offset", "high_watermark"),
        "entries": ("offset", "high_watermark"),
    }
    return [
        [table_of(world.w, table)[cell].tolist() for cell in cells]
        for table, cells in known.items()
    ]


if __name__ == "__main__":
    with visit_all() if "--visit-all" in sys.argv else nullcontext():
        for line in lines():
            print(line)  # noqa: T201 - its output is its purpose
