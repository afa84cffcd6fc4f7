"""How large a scenario's world is, reckoned before anything of it is laid out.

A night's tasks are spread over workers for hours; what does not fit is refused while it is planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.errors import InputError
from isr_pipeline.simulation.world import layout as at
from isr_pipeline.worlds.choices import choices_for
from isr_pipeline.worlds.entities import MAX_RF, entities_of
from isr_pipeline.worlds.template import Shape

if TYPE_CHECKING:
    import numpy.typing as npt

    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.choices import Choices
    from isr_pipeline.worlds.entities import Entities

EVENT_BUDGET = 100_000_000
"""Events after which a run is given up, for each so many replicas or part of them."""

REPLICAS_OF_A_BUDGET = 1000
MAX_LOG_DIRS = 8
LEDGER_MAX = 1 << 16
BYTES_MAX = 4_000_000_000
COPIES = 4  # of a world's tables: of two shapes, of its scenario, and the one that runs
JUMPS = 5  # times the tables: two snapshots, three lists of what moved, and motions
LEDGERS_MAX = 1 << 27  # cells of all of them, one gigabyte


@dataclass(frozen=True, slots=True)
class Size:
    """What has a slot of its own in a world.

    Attributes:
        brokers: how many; ``of_brokers``: slots of all of them, handlers, network threads, and
            seven of its own for each.
        threads: fetcher threads that can ever have a partition; each has three requests.
        streams: producers' connections; each has two requests.
        others: faults, and two for the world.
    """

    brokers: int
    of_brokers: int
    threads: int
    streams: int
    others: int

    @property
    def entities(self) -> int:
        """Slots of all of them."""
        requesters = self.threads * (1 + at.REQS_PER_THREAD)
        requesters += self.streams * (1 + at.REQS_PER_STREAM)
        return self.of_brokers + requesters + self.others

    def formula(self) -> str:
        """How the entities are reckoned."""
        each, rest = divmod(self.of_brokers, self.brokers)
        of_brokers = f"{self.of_brokers} of" if rest else f"{each} x"
        return (
            f"{self.entities} entities = {1 + at.REQS_PER_THREAD} x {self.threads} fetcher threads"
            f" + {1 + at.REQS_PER_STREAM} x {self.streams} streams"
            f" + {of_brokers} {self.brokers} brokers + {self.others}"
        )


def size_of(shape: Shape) -> Size:
    """Size of a shape's worlds."""
    counts = dict(shape.slots())
    brokers, threads, streams = len(shape.entities.brokers), counts[at.SK_THREAD], 0
    streams = counts[at.SK_STREAM]
    others = shape.faults + counts[at.SK_CONTROLLER] + counts[at.SK_SAMPLE]
    requests = counts[at.SK_REQUEST]
    of_brokers = sum(counts.values()) - others - threads - streams - requests
    return Size(brokers, of_brokers, threads, streams, others)


def event_budget(entities: Entities) -> int:
    """Events after which a run is given up, if nobody says otherwise."""
    return EVENT_BUDGET * -(-entities.n_rows // REPLICAS_OF_A_BUDGET)


def batches_of(entities: Entities, horizon_ms: float) -> npt.NDArray[np.float64]:
    """Batches that each partition's streams can send, with some to spare."""
    batches = np.full(len(entities.partitions), 64.0)
    for i, stream in entities.streams:
        batches[i] += 1.1 * (horizon_ms / 1000) * stream.records_per_s / stream.records_per_batch
    return batches


def shape_of(scenario: Scenario, choices: Choices) -> Shape:
    """Shape of a scenario's world under its configuration."""
    return Shape(
        entities_of(scenario),
        choices.fetchers,
        choices.io,
        choices.net,
        len(scenario.faults),
    )


def check_size(scenario: Scenario, where: str) -> None:
    """Refuse a scenario under its configuration whose world does not fit.

    Raises:
        InputError: more replicas or log dirs than a row has room for, more entities than there are
            numbers of slots, or more memory than a worker should take; the line has the formula.
    """
    most, cluster = entities_of(scenario).max_rf, scenario.cluster
    if most > MAX_RF:
        raise InputError(where, "topics", f"{most} replicas", f"at most {MAX_RF}")
    for broker in cluster.brokers:
        dirs = cluster.log_dirs_of(broker)
        if dirs > MAX_LOG_DIRS:
            named = broker in cluster.log_dirs
            field = f"cluster.log_dirs.{broker}" if named else "cluster.log_dirs_per_broker"
            raise InputError(where, field, dirs, f"1..{MAX_LOG_DIRS}")
    shape = shape_of(scenario, choices_for(scenario))
    size = size_of(shape)
    if size.entities > at.SLOT_MASK:
        raise InputError(where, "topics", size.formula(), f"at most {at.SLOT_MASK}")
    needed = bytes_of(shape, scenario.horizon_ms)
    if needed > BYTES_MAX:
        given = (
            f"{needed / 1e9:.1f} GB a worker ({size.formula()}; horizon_ms {scenario.horizon_ms:g})"
        )
        raise InputError(where, "topics", given, f"at most {BYTES_MAX / 1e9:g} GB")


def bytes_of(shape: Shape, horizon_ms: float) -> int:
    """Memory of a worker with such a world: copies of its tables, ledgers, jumps."""
    tables = sum(shape.tables().values())
    batches = np.minimum(batches_of(shape.entities, horizon_ms), LEDGER_MAX)
    ledgers = min(int(batches.sum()) * at.L_SIZE, LEDGERS_MAX)
    return 8 * ((COPIES + JUMPS) * tables + ledgers)
