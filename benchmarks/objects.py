"""What an object store costs a night: the same night in a folder and in a store, in turns.

    python -m benchmarks.objects [PAIRS]

The store is the S3-compatible server of the tests, on the loopback. Homes are temporary; both have
run the night once before it counts, so kernels are compiled. Wall time of
`night run --in-process`, Java's start included. The requests of the last night are counted.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.storage.server import BUCKET, running
from tools.rehearsal import Site

EXPERIMENT, NIGHT = "smoke", "2026-11-20"


def seconds(variables: dict[str, str]) -> float:
    """Run the night; how long it took."""
    site = Site(Path(variables["ISR_PIPELINE_HOME"]), {**os.environ, **variables})
    began = time.monotonic()
    site.run("night", "run", "--in-process", "--experiment", EXPERIMENT, "--night", NIGHT)
    return time.monotonic() - began


def main() -> None:
    """Run pairs of nights and print each pair and the median ratio."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder, running() as server:
        here = {"ISR_PIPELINE_HOME": f"{folder}/here"}
        there = {
            **server.variables,
            "ISR_PIPELINE_HOME": f"{folder}/there",
            "ISR_PIPELINE_STORE": f"s3://{BUCKET}/all",
        }
        for variables in (here, there):
            seconds(variables)
        ratios = []
        for number in range(pairs):
            server.behave()  # counts anew
            order = (here, there) if number % 2 == 0 else (there, here)
            took = {id(variables): seconds(variables) for variables in order}
            ratios.append(took[id(there)] / took[id(here)])
            print(
                f"folder {took[id(here)]:.1f} s, store {took[id(there)]:.1f} s: {ratios[-1]:.2f} x",
                flush=True,
            )
        print(f"median of {pairs}: {statistics.median(ratios):.2f} x")
        print(f"requests of a night: {server.counts()['requests']}")


if __name__ == "__main__":
    main()
