"""A plan on paper: what a hundred thousand pairs of a large cluster need.

``python -m benchmarks.speed.large`` measures single pairs of 60 brokers with 10 000 partitions (a
few minutes), notes them in ``results/large.jsonl`` and fills the plan into results/sizing.md.
With ``--fill`` it only fills in what was noted last.

Nobody ran the hundred thousand. Three pairs bound what one of them costs: a healthy one, most of
which is jumped over; one whose broker crashes and comes back; and one by brute force, the most that
any can cost.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from benchmarks.speed import record, scale, sizing
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.tables.events import Kept, event_table
from isr_pipeline.tables.pairs import EVENTS_PER_PAIR
from isr_pipeline.tables.schemas import EVENTS
from isr_pipeline.worlds.reuse import Simulations

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario

SIZE = scale.Size(60, 10_000)
PAIRS = 100_000
MACHINES = ((4, 16), (32, 64))
"""(machines, cores of each)."""

CRASH = {"kind": "crash", "broker": 1, "start_ms": 30_000, "restart_after_ms": 40_000}
BUDGET = 2_000_000_000
KINDS = {"healthy": "healthy_s", "a broker crashes": "crash_s", "by brute force": "brute_s"}
RESULTS = REPOSITORY / "benchmarks" / "results" / "large.jsonl"
BEGIN, END = "<!-- figures:large -->", "<!-- figures:large:end -->"


@dataclass(frozen=True, slots=True)
class Large:
    """What single pairs took.

    Attributes:
        healthy_s: core-seconds of a pair without faults; ``crash_s`` of one with a crash;
            ``brute_s`` of one by brute force, reckoned from a part of it.
        peak_mb: of a worker.
        event_bytes: on disk, of the events that the crash left, as far as they are kept.
        events: how many that are.
    """

    healthy_s: float
    crash_s: float
    brute_s: float
    peak_mb: float
    event_bytes: int
    events: int


def measure() -> Large:
    """Measure the pairs, one after the other."""
    found = scale.apart(SIZE)
    scale.ready()
    healthy = scale.scenario(SIZE, scale.HORIZON_MS)
    healthy_s, _ = _timed(healthy)
    crash_s, events = _timed(_with_crash(healthy))
    kept = events.first(EVENTS_PER_PAIR)
    return Large(
        healthy_s=healthy_s,
        crash_s=crash_s,
        brute_s=found.run_120_s,
        peak_mb=found.peak_mb,
        event_bytes=_bytes(kept),
        events=len(kept.rows),
    )


def _with_crash(healthy: Scenario) -> Scenario:
    """The same cluster and load; the broker that leads a sixtieth of it is gone for 40 s."""
    content = json.loads(healthy.model_dump_json(by_alias=True, exclude_unset=True))
    return parse_scenario({**content, "faults": [CRASH]}, "crash")


def _timed(one: Scenario) -> tuple[float, Any]:
    started = time.process_time()
    _, events = Simulations(budget=BUDGET).result_for(one)
    return time.process_time() - started, events


def _bytes(events: Any) -> int:
    """Size of the events as the events table has them."""
    table = event_table([Kept("p", "s", "c", events)], EVENTS)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.parquet"
        pq.write_table(table, file, compression="zstd")
        return file.stat().st_size


def line(found: Large) -> dict[str, Any]:
    """What is noted of a measurement."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 2),
        **asdict(found),
    }


def block(noted: dict[str, Any], usual: dict[str, Any]) -> str:
    """The plan as Markdown.

    Args:
        noted: a line of our results.
        usual: a line of the benchmark's: a row of outcomes and Spark's Java have one size on any
            cluster.
    """
    outcome = usual["bytes_per_pair"]["outcomes"]
    java_mb = usual["java_peak_rss_mb"]
    event = noted["event_bytes"] / noted["events"]
    gigabytes = PAIRS * (outcome + EVENTS_PER_PAIR * event) / 1e9
    heads = [
        f"{count} x {cores} cores, {(noted['peak_mb'] * cores + java_mb) / 1e3:.0f} GB each"
        for count, cores in MACHINES
    ]
    rows = []
    for name, key in KINDS.items():
        seconds = PAIRS * noted[key]
        times = [sizing.duration(seconds / (count * cores)) for count, cores in MACHINES]
        cells = [name, f"{noted[key]:.3g}", f"{seconds / 3600:,.0f}", *times]
        rows.append(f"| {' | '.join(cells)} |")
    where = (
        f"Measured {noted['date'][:10]} at {noted['commit'][:7]} on {noted['machine']} (load "
        f"{noted['load']:g}), pairs of 120 s on {SIZE.brokers} brokers with {SIZE.partitions} "
        f"partitions, replication factor {SIZE.rf}:"
    )
    room = (
        f"Memory is {noted['peak_mb']:.0f} MB for the worker of each core, and {java_mb:.0f} MB "
        f"for Java. The crash left {noted['events']} events of {event:.0f} bytes. Tables take at "
        f"most {gigabytes:.1f} GB, with {EVENTS_PER_PAIR} events a pair and {outcome:.0f} bytes of "
        "outcomes."
    )
    head = f"| a pair | core-seconds | core-hours of {PAIRS} | {' | '.join(heads)} |"
    return "\n".join([where, "", head, "|---" * (3 + len(heads)) + "|", *rows, "", room])


def fill() -> None:
    """Write the plan into the page, from what was noted last."""
    noted = json.loads(RESULTS.read_text().splitlines()[-1])
    measured = sizing.usable(record.read(record.RESULTS))
    assert measured is not None
    text = block(noted, measured)
    page = sizing.PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    sizing.PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main() -> int:
    """Measure, note and fill in."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.large")
    parser.add_argument("--fill", action="store_true", help="measure nothing")
    if not parser.parse_args().fill:
        with RESULTS.open("a") as results:
            results.write(json.dumps(line(measure())) + "\n")
    fill()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
