"""How the kernel does on clusters as large as real ones, by brute force, beside the default's size.

Each size is measured in a process of its own, which says how much memory it took. All have the
default cluster's load on each partition (20 batches a second) unless a name ends in `_light`, with
a tenth of it; 4 fetchers; partitions as Kafka assigns them, so that every broker replicates to
nearly every other. What is simulated is long enough to take about a second; rates and shares are
taken run by run, each beside the small cluster in the same turn.

Where all partitions send at one rate, a small world repeats every 50 ms, and the processor learns
which way each branch of it goes; a large world is too long for that. Measured rates never repeat.
So the sizes are also run with a rate of its own for each partition (``_own_rates``).

``python -m benchmarks.speed.scale BROKERS PARTITIONS RF BATCHES_PER_S [own]`` measures one and
prints JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks.speed.arms import Measured, measured, ratios
from isr_pipeline.base.errors import BudgetSpent
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.scenarios.model import apply, parse_scenario
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.reuse import Simulations
from isr_pipeline.worlds.run import advance

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario

FETCHERS = 4
HORIZON_MS = 120_000.0
LOAD, LIGHT = 20.0, 2.0
SPREAD = 0.3
"""How far a partition's own rate may be from the load, as a share of it."""
GOLDEN = 0.6180339887
EVENTS_WANTED = 4_000_000
MEMORY_EVENTS = 200_000


@dataclass(frozen=True, slots=True)
class Size:
    """A cluster.

    Attributes:
        brokers: how many; ``partitions``, ``rf`` likewise.
        batches_per_s: of each partition.
        own_rates: whether partitions send at rates of their own around that.
    """

    brokers: int
    partitions: int
    rf: int = 3
    batches_per_s: float = LOAD
    own_rates: bool = False

    @property
    def name(self) -> str:
        """``30x3000``."""
        light = "_light" if self.batches_per_s < LOAD else ""
        own = "_own_rates" if self.own_rates else ""
        return f"{self.brokers}x{self.partitions}{light}{own}"

    @property
    def own(self) -> Size:
        """The same with rates of their own."""
        return replace(self, own_rates=True)


SMALL, MIDDLE, LARGE = Size(6, 60), Size(30, 3000), Size(100, 20_000, 5)
LIGHTER = tuple(Size(s.brokers, s.partitions, s.rf, LIGHT) for s in (SMALL, MIDDLE, LARGE))
GROWTH = (Size(6, 240), Size(6, 960))


@dataclass(frozen=True, slots=True)
class Found:
    """What one size took.

    Attributes:
        entities: slots of its world; ``cells``: of 8 bytes.
        layout_s: of the first world of its shape; ``scenario_s``: of another scenario's;
            ``configuration_s``: of the scenario's under another lag limit.
        events_per_s: by brute force; ``us_per_partition_s``: time for a second of a partition.
        run_120_s: reckoned from that.
        peak_mb: of the process, with jumps and two configurations, one with another structure.
    """

    entities: int
    cells: int
    layout_s: float
    scenario_s: float
    configuration_s: float
    events_per_s: float
    us_per_partition_s: float
    run_120_s: float
    peak_mb: float

    @property
    def layout_share(self) -> float:
        """Time to lay the first world out over that of running it for 120 s."""
        return self.layout_s / self.run_120_s


@dataclass(frozen=True, slots=True)
class ScaleFigures:
    """What came out, by the sizes' names.

    Attributes:
        found: the last turn's figures.
        middle_over_small, large_over_small: events a second.
        layout_share: largest share of any size with the default load.
        growth: time a partition takes at 16 times as many partitions over that at one time.
        peak_mb: largest.

    A name that ends in ``_own_rates`` is of partitions that send at rates of their own.
    """

    found: dict[str, Found]
    middle_over_small: Measured
    large_over_small: Measured
    middle_over_small_light: Measured
    large_over_small_light: Measured
    layout_share: Measured
    growth: Measured
    middle_over_small_own_rates: Measured
    large_over_small_own_rates: Measured
    growth_own_rates: Measured
    peak_mb: Measured


def measure(runs: int, *, quick: bool = False) -> ScaleFigures:
    """Measure every size, one after the other, so many times over.

    Args:
        runs: turns.
        quick: leave the largest out: the middle one stands for it.
    """
    own = (SMALL.own, GROWTH[-1].own, MIDDLE.own, LARGE.own)
    sizes = {size.name: size for size in (SMALL, *GROWTH, MIDDLE, LARGE, *LIGHTER, *own)}
    turns = [
        {name: apart(_smaller(size) if quick else size) for name, size in sizes.items()}
        for _ in range(runs)
    ]

    def over(one: Size, other: Size) -> Measured:
        rates = [[turn[size.name].events_per_s for turn in turns] for size in (one, other)]
        return ratios(*rates)

    def growth(one: Size, other: Size) -> Measured:
        costs = [[turn[size.name].us_per_partition_s for turn in turns] for size in (one, other)]
        return ratios(*costs)

    full = [size.name for size in (SMALL, MIDDLE, LARGE)]
    return ScaleFigures(
        found=turns[-1],
        middle_over_small=over(MIDDLE, SMALL),
        large_over_small=over(LARGE, SMALL),
        middle_over_small_light=over(LIGHTER[1], LIGHTER[0]),
        large_over_small_light=over(LIGHTER[2], LIGHTER[0]),
        layout_share=measured([max(turn[name].layout_share for name in full) for turn in turns]),
        growth=growth(GROWTH[-1], SMALL),
        middle_over_small_own_rates=over(MIDDLE.own, SMALL.own),
        large_over_small_own_rates=over(LARGE.own, SMALL.own),
        growth_own_rates=growth(GROWTH[-1].own, SMALL.own),
        peak_mb=measured([max(one.peak_mb for one in turn.values()) for turn in turns]),
    )


def _smaller(size: Size) -> Size:
    """The middle size for the largest, which takes long."""
    if size.partitions < LARGE.partitions:
        return size
    return replace(MIDDLE, batches_per_s=size.batches_per_s, own_rates=size.own_rates)


def scenario(size: Size, horizon_ms: float, seed: int = 1) -> Scenario:
    """A healthy cluster of a size, partitions assigned as Kafka's `AdminUtils` does."""
    brokers = [*range(1, size.brokers + 1)]
    assignment = assigned(brokers, size.partitions // 2, size.rf)
    topics: list[dict[str, Any]] = []
    for name, acks in (("one", 1), ("all", "all")):
        produce = {"records_per_s": 10 * size.batches_per_s, "records_per_batch": 10, "acks": acks}
        whole = {"name": name, "assignment": assignment, "produce": produce}
        topics += _apart(whole) if size.own_rates else [whole]
    return parse_scenario(
        {
            "scenario_id": size.name,
            "seed": seed,
            "horizon_ms": horizon_ms,
            "warmup_ms": 0,
            "cluster": {
                "release": "3.7-3.9",
                "controller": "kraft",
                "brokers": brokers,
                "log_dirs_per_broker": 2,
            },
            "config": {"num.replica.fetchers": FETCHERS},
            "topics": topics,
        },
        size.name,
    )


def _apart(topic: dict[str, Any]) -> list[dict[str, Any]]:
    """A topic's partitions as topics of one, each with a rate of its own."""
    return [
        {
            "name": f"{topic['name']}-{p}",
            "assignment": {0: replicas},
            "produce": topic["produce"]
            | {
                "records_per_s": topic["produce"]["records_per_s"]
                * (1 - SPREAD + 2 * SPREAD * (p * GOLDEN % 1))
            },
        }
        for p, replicas in topic["assignment"].items()
    ]


def assigned(brokers: list[int], partitions: int, rf: int) -> dict[int, list[int]]:
    """Replicas of each partition: leaders in turn, followers shifted by one more with every round.

    `AdminUtils.assignReplicasToBrokersRackUnaware` of Kafka, from the first broker on.
    """
    n = len(brokers)
    found = {}
    for p in range(partitions):
        shift = p // n
        followers = [(p + 1 + (shift + j) % (n - 1)) % n for j in range(rf - 1)]
        found[p] = [brokers[p % n], *(brokers[i] for i in followers)]
    return found


def apart(size: Size) -> Found:
    """Measure a size in a process of its own."""
    words: list[Any] = [size.brokers, size.partitions, size.rf, size.batches_per_s]
    words += ["own"] if size.own_rates else []
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.scale", *map(str, words)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Found(**json.loads(done.stdout))


def here(size: Size) -> Found:
    """Measure a size in this process."""
    ready()
    healthy = scenario(size, HORIZON_MS)
    layout_s, _ = _timed(healthy)
    other_s, world = _timed(apply(healthy, {"replica.lag.time.max.ms": 20_000}))
    slots, cells = world.header.slot_count, int(world.w.size)
    del world
    scenario_s, _ = _timed(scenario(size, HORIZON_MS, seed=2))
    expected = size.partitions * size.batches_per_s * 40 + size.brokers * 1500
    horizon_ms = max(200.0, 1000 * EVENTS_WANTED / expected)
    _, world = _timed(scenario(size, horizon_ms), jumps=False)
    started = time.process_time()
    advance(world)
    seconds = time.process_time() - started
    per_second = seconds / horizon_ms * 1000
    events = world.header.event_count
    del world
    _as_a_worker(healthy)
    return Found(
        entities=slots,
        cells=cells,
        layout_s=layout_s,
        scenario_s=scenario_s,
        configuration_s=other_s,
        events_per_s=events / seconds,
        us_per_partition_s=1e6 * per_second / size.partitions,
        run_120_s=per_second * HORIZON_MS / 1000,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _timed(one: Scenario, *, jumps: bool = True) -> tuple[float, Any]:
    started = time.process_time()
    world = encode(one, jumps=jumps)
    return time.process_time() - started, world


def ready() -> None:
    """Load the kernel, and what laying out needs, before any clock runs."""
    advance(encode(scenario(Size(3, 6), 100.0), jumps=False))


def _as_a_worker(healthy: Scenario) -> None:
    """Begin two configurations of the scenario as a night's worker does."""
    runs = Simulations(budget=MEMORY_EVENTS)
    for fetchers in (FETCHERS, FETCHERS // 2):
        try:
            runs.result_for(apply(healthy, {"num.replica.fetchers": fetchers}))
        except BudgetSpent:
            continue


def main() -> int:
    """Measure one size and print what came out."""
    brokers, partitions, rf, rate, *own = sys.argv[1:]
    found = here(Size(int(brokers), int(partitions), int(rf), float(rate), bool(own)))
    print(json.dumps(asdict(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
