"""The same world, the same handlers, three event loops: compiled, plain Python, SimPy.

All run one short stretch of the default cluster and must come to the same outcome:

* the kernel, brute force;
* plain Python: the kernel's own functions with numba's JIT off;
* SimPy: those functions with SimPy's `Environment` in place of the winner tree. `schedule` puts an
  event into it whose priority is the slot, so that ties fall as they do in the kernel.

In both Python arms the world is a list of ints, not an array. They follow the same rows as the
kernel: without the compiler each cell costs a call, and the ratios to them include it. A further
SimPy arm has no world at all: processes that wait, as many as the world has slots. It is what
SimPy's own loop costs, whatever the handlers are written in.

``python -m benchmarks.speed.loops`` (with NUMBA_DISABLE_JIT=1) runs the Python arms and prints one
JSON object; `measure` starts it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import simpy
from simpy.events import Event, EventPriority

from benchmarks import reference
from benchmarks.speed.arms import Measured, measured, ratios
from benchmarks.speed.tree import periods_of
from isr_pipeline import simulation
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.file import scenario_frame
from isr_pipeline.kafka.rows import Cells
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.simulation.world import tables
from isr_pipeline.simulation.world.queue import due, key, leaf, slot_of
from isr_pipeline.simulation.world.tables import INF, KIND_BITS, KIND_MASK, SLOT_MASK
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import advance, outcome_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.encoder import World

BARE_WAITS = 300_000
KERNEL_TIMES = 20
"""The kernel runs the stretch so often: once takes milliseconds."""


@dataclass(frozen=True, slots=True)
class LoopFigures:
    """Events a second of processor time of each loop, on the same stretch.

    Attributes:
        events: of the stretch; ``horizon_ms``: its length.
        simpy_bare: processes that only wait.
    """

    events: int
    horizon_ms: float
    kernel: Measured
    python: Measured
    simpy: Measured
    simpy_bare: Measured
    kernel_over_python: Measured
    kernel_over_simpy: Measured
    kernel_over_simpy_bare: Measured


class LoopsDiffer(RuntimeError):
    """An arm came to another outcome: it did not do the same work."""


def stretch(horizon_ms: float) -> Scenario:
    """The reference's cluster and load, with a disk that stalls for a third of the time."""
    frame = scenario_frame(reference.experiment())
    broker = frame["cluster"]["brokers"][0]
    third = int(horizon_ms // 3)
    stall = {"kind": "read_stall", "broker": broker, "start_ms": third, "duration_ms": third}
    written = {**frame, "scenario_id": "stretch", "horizon_ms": horizon_ms, "warmup_ms": 0}
    return parse_scenario({**written, "faults": [stall]}, "the stretch")


def measure(horizon_ms: float, runs: int) -> LoopFigures:
    """Measure every loop, one after the other, so many times over.

    Raises:
        LoopsDiffer: an arm's outcome is not the kernel's.
    """
    scenario = stretch(horizon_ms)
    expected = _kernel_outcome(scenario)
    kernel: list[float] = []
    others: list[dict[str, float]] = []
    for _ in range(runs):
        kernel.append(_kernel_rate(scenario))
        timed = _python_arms(horizon_ms)
        for arm in ("python", "simpy"):
            if timed["outcomes"][arm] != json.loads(json.dumps(expected)):
                msg = f"{arm}: another outcome than the kernel's"
                raise LoopsDiffer(msg)
        others.append(timed["events_per_s"])
    arms = {name: [one[name] for one in others] for name in others[0]}
    return LoopFigures(
        events=int(expected["kernel_events"]),
        horizon_ms=horizon_ms,
        kernel=measured(kernel),
        python=measured(arms["python"]),
        simpy=measured(arms["simpy"]),
        simpy_bare=measured(arms["simpy_bare"]),
        kernel_over_python=ratios(kernel, arms["python"]),
        kernel_over_simpy=ratios(kernel, arms["simpy"]),
        kernel_over_simpy_bare=ratios(kernel, arms["simpy_bare"]),
    )


def _kernel_outcome(scenario: Scenario) -> dict[str, Any]:
    world = encode(scenario, jumps=False)
    advance(world)
    return outcome_of(world)


def _kernel_rate(scenario: Scenario) -> float:
    worlds = [encode(scenario, jumps=False) for _ in range(KERNEL_TIMES)]
    started = time.process_time()
    for world in worlds:
        advance(world)
    seconds = time.process_time() - started
    return sum(world.header.event_count for world in worlds) / seconds


def _python_arms(horizon_ms: float) -> dict[str, Any]:
    """Run the arms without the JIT, in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.loops", "--horizon-ms", str(horizon_ms)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# ------------------------------------------------------------------ the arms without the JIT


def run_python(world: World) -> float:
    """Run a world in the kernel's own loop; returns seconds of processor time."""
    from isr_pipeline.simulation import kernel  # noqa: PLC0415 - only without the JIT

    w = world.w.tolist()
    nothing = Cells(w, 0)
    started = time.process_time()
    kernel.run(tables.World(w), world.rules, nothing, nothing)
    seconds = time.process_time() - started
    world.w[:] = w
    return seconds


class SimpyLoop:
    """Slots of a world as events of a SimPy environment, one at most for each slot.

    A plan that is changed leaves its old event behind, which does nothing when it comes: SimPy has
    no cheaper way to take one back.
    """

    def __init__(self, world: World) -> None:
        self.w: list[int] = world.w.tolist()
        self._world = tables.World(self.w)
        self._rules = world.rules
        self._env = simpy.Environment()
        self._planned: list[Event | None] = [None] * self._world.slot_count

    def schedule(self, world: tables.World, slot: int, time: int) -> None:
        """Take the place of `simulation.queue.schedule` and `again`."""
        number = slot & SLOT_MASK
        world.tree[leaf(slot)] = key(slot, time)
        if time >= INF:
            self._planned[number] = None
            return
        event = Event(self._env)
        event._ok, event._value = True, None
        event.callbacks.append(partial(self._fires, number))
        self._planned[number] = event
        self._env.schedule(event, EventPriority(number), time - self._env.now)

    def cancel(self, world: tables.World, slot: int) -> None:
        """Take the place of `simulation.queue.cancel` and `retire`."""
        self.schedule(world, slot, INF)

    def _fires(self, number: int, event: Event) -> None:
        if self._planned[number] is not event:
            return
        world = self._world
        world.now = int(self._env.now)
        world.event_count += 1
        entity = world.entities[number]
        self._act(world, self._rules, entity & KIND_MASK, entity >> KIND_BITS)

    def run(self) -> float:
        """Run to the horizon; returns seconds of processor time."""
        from isr_pipeline.simulation import kernel  # noqa: PLC0415 - only without the JIT

        self._act, world = kernel.act, self._world
        for number in range(world.slot_count):
            slot = slot_of(world, number)
            self.schedule(world, slot, due(world, slot))
        plan, drop = self.schedule, self.cancel
        with _queue_replaced({"schedule": plan, "again": plan, "cancel": drop, "retire": drop}):
            started = time.process_time()
            self._env.run(until=world.horizon)
            kernel.finish(world)
            return time.process_time() - started


class _queue_replaced:  # noqa: N801 - reads as a statement
    """Every function of the simulation plans with others while this holds."""

    def __init__(self, new: dict[str, Any]) -> None:
        self._new = new
        self._old: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        for module in _modules():
            for name, new in self._new.items():
                if hasattr(module, name):
                    self._old.append((module, name, getattr(module, name)))
                    setattr(module, name, new)

    def __exit__(self, *_: object) -> None:
        for module, name, old in self._old:
            setattr(module, name, old)


def _modules() -> Iterator[Any]:
    for found in iter_modules(simulation.__path__):
        yield import_module(f"{simulation.__name__}.{found.name}")


def run_simpy(world: World) -> float:
    """Run a world on SimPy; returns seconds of processor time."""
    loop = SimpyLoop(world)
    seconds = loop.run()
    world.w[:] = loop.w
    return seconds


def bare_simpy_rate(slots: int, waits: int = BARE_WAITS) -> float:
    """Waits a second of so many SimPy processes that do nothing else."""
    env = simpy.Environment()
    periods = periods_of(slots).tolist()
    count = 0

    def entity(period: int) -> Generator[Event, None, None]:
        nonlocal count
        while True:
            yield env.timeout(period)
            count += 1

    for period in periods:
        env.process(entity(period))
    rate = sum(1 / period for period in periods)
    started = time.process_time()
    env.run(until=int(waits / rate))
    return count / (time.process_time() - started)


def main() -> int:
    """Run the Python arms once and print what came out."""
    parser = argparse.ArgumentParser(description="the loops without the JIT")
    parser.add_argument("--horizon-ms", type=float, required=True)
    scenario = stretch(parser.parse_args().horizon_ms)
    rates: dict[str, float] = {}
    outcomes: dict[str, Any] = {}
    for name, arm in (("python", run_python), ("simpy", run_simpy)):
        world = encode(scenario, jumps=False)
        seconds = arm(world)
        rates[name] = world.header.event_count / seconds
        outcomes[name] = outcome_of(world)
    rates["simpy_bare"] = bare_simpy_rate(world.header.slot_count)
    print(json.dumps({"events_per_s": rates, "outcomes": outcomes}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
