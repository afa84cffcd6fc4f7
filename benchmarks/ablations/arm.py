"""``python -m benchmarks.ablations.arm NAME``: a process in which one way to be faster is off.

It reads questions from its standard input, a line each, and answers each with a line of JSON:

* ``panel N``: processor time of the first N scenarios of the reference panel under all its
  configurations, as a task of a night simulates them.
* ``large KIND``: processor time of 30 brokers with 3 000 partitions. ``events`` is brute force with
  a rate of its own for each partition. ``repeats`` is 20 s at equal rates, which repeat.
  ``configurations`` is a healthy moment under all configurations of the reference panel.
* ``digest``: what a few scenarios of the panel give: the same in every arm.

The first answer comes unasked: processor time of compiling the kernel, or of loading it.
"""

from __future__ import annotations

# ruff: noqa: PLC0415 - the kernel is imported after the switch
import contextlib
import hashlib
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.ablations.switches import switch_off

if TYPE_CHECKING:
    from collections.abc import Callable

BASE = "nothing"
"""The arm in which nothing is switched off."""
DIGEST_SCENARIOS = 2
EVENTS_MS, EVENTS_TIMES = 1_500.0, 3
REPEATS_MS = 20_000.0
CONFIGURATIONS_MS = 200.0

Answer = dict[str, Any]


def compiled() -> Answer:
    """Compile the kernel, or load it."""
    from isr_pipeline.worlds.ready import compile_kernel

    started = time.process_time()
    with contextlib.redirect_stdout(sys.stderr):
        compile_kernel()
    return {"seconds": time.process_time() - started}


def panel(scenarios: str) -> Answer:
    """Simulate the first scenarios of the reference panel."""
    from benchmarks.speed.kernel import run_panel

    return {"seconds": run_panel(int(scenarios)).seconds}


def large(kind: str) -> Answer:
    """Simulate the large cluster."""
    found: Answer = {"events": _events, "repeats": _repeats, "configurations": _configurations}[
        kind
    ]()
    return found


def _events() -> Answer:
    from benchmarks.speed.scale import MIDDLE

    return _worlds(MIDDLE.own, EVENTS_MS, EVENTS_TIMES, jumps=False)


def _repeats() -> Answer:
    from benchmarks.speed.scale import MIDDLE

    return _worlds(MIDDLE, REPEATS_MS, 1, jumps=True)


def _worlds(size: Any, horizon_ms: float, times: int, *, jumps: bool) -> Answer:
    from benchmarks.speed.scale import scenario
    from isr_pipeline.worlds.encoder import encode
    from isr_pipeline.worlds.run import advance, outcome_of

    healthy, seconds, outcome = scenario(size, horizon_ms), 0.0, {}
    for _ in range(times):
        world = encode(healthy, jumps=jumps)
        started = time.process_time()
        advance(world)
        seconds += time.process_time() - started
        outcome = outcome_of(world)
        del world
    return {"seconds": seconds, "gave": _digest(outcome)}


def _configurations() -> Answer:
    from benchmarks import reference
    from benchmarks.speed.scale import MIDDLE, scenario
    from isr_pipeline.scenarios.model import apply
    from isr_pipeline.worlds.reuse import Simulations, reuse_order

    healthy = scenario(MIDDLE.own, CONFIGURATIONS_MS)
    configured = [apply(healthy, one.overrides) for one in reference.configurations()]
    started = time.process_time()
    runs = Simulations()
    outcomes = [runs.result_for(one)[0] for one in sorted(configured, key=reuse_order)]
    seconds = time.process_time() - started
    return {"seconds": seconds, "gave": _digest(outcomes)}


def _digest(outcome: Any) -> str:
    return hashlib.sha256(json.dumps(outcome, sort_keys=True, default=str).encode()).hexdigest()


def digest(_: str) -> Answer:
    """Say what a few scenarios of the panel give."""
    from benchmarks.digest import digest as of_panel

    started = time.process_time()
    pairs, gave = of_panel(DIGEST_SCENARIOS)
    return {"seconds": time.process_time() - started, "gave": f"{pairs} {gave}"}


ASKED: dict[str, Callable[[str], Answer]] = {"panel": panel, "large": large, "digest": digest}


def main() -> int:
    """Answer until the input ends."""
    (name,) = sys.argv[1:]
    if name != BASE:
        switch_off(name)
    print(json.dumps(compiled()), flush=True)
    for line in sys.stdin:
        what, _, of = line.strip().partition(" ")
        print(json.dumps(ASKED[what](of)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
