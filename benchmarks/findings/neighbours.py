"""The stuck read and its neighbours, counted: `python -m benchmarks.findings.neighbours --write`.

Scenarios of the finding `stuck-read` in which a read of some partitions of a broker hangs in a
handler are simulated under the locks that releases have had. Counted are the stuck partitions and
their neighbours (led by the same broker, not stuck): how many lose a follower by their leader while
the read hangs, and how many go offline.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from multiprocessing import get_context
from typing import Any

from benchmarks.findings import record
from benchmarks.findings.panel import PANEL
from benchmarks.findings.question import question
from benchmarks.findings.show import BROKERS, neighbours_table
from isr_pipeline.base.compiling import use_kernel_cache
from isr_pipeline.experiment.plan import code_version
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.model import Scenario, apply, scenario_from_json

NAME = "stuck-read-neighbours"
SCENARIOS = 800
STRETCH = 8


def stuck_read(scenario: Scenario) -> Any | None:
    """The fault whose neighbours are counted: a read of some partitions hangs in a handler."""
    for fault in scenario.faults:
        if fault.kind == "read_stall" and fault.stage == "handler" and fault.partitions != "all":
            return fault
    return None


def counted(start: int) -> Counter[tuple[str, str, str]]:
    """Count partitions of a stretch of scenarios: (broker, stuck or neighbour, what happened)."""
    use_kernel_cache()
    from isr_pipeline.worlds.run import run  # noqa: PLC0415 - loads the kernel

    source = question("stuck-read").experiment.resized(SCENARIOS).source
    counts: Counter[tuple[str, str, str]] = Counter()
    for index in range(start, start + STRETCH):
        row = draw_scenario(source, PANEL, index)
        scenario = scenario_from_json(row.scenario_json)
        fault = stuck_read(scenario)
        if fault is None:
            continue
        led = {
            f"{topic.name}-{number}"
            for topic in scenario.topics
            for number, replicas in topic.assignment.items()
            if replicas[0] == fault.broker
        }
        sides = {"stuck": set(fault.partitions), "neighbour": led - set(fault.partitions)}
        end = fault.start_ms + fault.duration_ms
        for broker, (_, settings) in BROKERS.items():
            events = run(apply(scenario, settings), events=True).events
            shrunk = {
                f"{e['topic']}-{e['partition']}"
                for e in events
                if e["kind"] == "isr_shrink" and fault.start_ms <= e["t_ms"] < end
            }
            offline = {
                f"{e['topic']}-{e['partition']}" for e in events if e["kind"] == "partition_offline"
            }
            for side, partitions in sides.items():
                counts[broker, side, "all"] += len(partitions)
                counts[broker, side, "shrunk"] += len(partitions & shrunk)
                counts[broker, side, "offline"] += len(partitions & offline)
    return counts


def main(arguments: list[str] | None = None) -> int:
    """Count, print, and with `--write` keep the count and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.findings.neighbours")
    parser.add_argument("--write", action="store_true", help="keep the count and write the page")
    given = parser.parse_args(arguments)
    total: Counter[tuple[str, str, str]] = Counter()
    # spawn: numba's threads and caches do not like to be forked
    with get_context("spawn").Pool(len(os.sched_getaffinity(0))) as workers:
        for part in workers.imap_unordered(counted, range(0, SCENARIOS, STRETCH)):
            total.update(part)
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for (broker, side, what), number in total.items():
        counts.setdefault(broker, {}).setdefault(side, {})[what] = number
    line = {
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "code_version": code_version(),
        "finding": NAME,
        "scenarios": SCENARIOS,
        "counts": counts,
    }
    print("\n".join(neighbours_table(line)))
    if given.write:
        with record.RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        record.write_pages()
    return 0


if __name__ == "__main__":
    use_kernel_cache()
    sys.exit(main())
