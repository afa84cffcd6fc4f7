"""A follower's fetcher threads and its failed partitions (server/AbstractFetcherManager.scala)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.oracle.machine import Machine, Operation, State, nothing
from tests.oracle.steps import Step
from tests.oracle.variants import Settings


def java_hash(text: str) -> int:
    """Return `String.hashCode` of a text."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def fetcher_id(topic: str, partition: int, fetchers: int) -> int:
    """Return the fetcher thread that a partition belongs to (getFetcherId @ 1eb7644349)."""
    value = (31 * java_hash(topic) + partition) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return abs(signed) % fetchers if signed != -(1 << 31) else 0


@dataclass(slots=True)
class _Thread:
    """A fetcher thread, alive or not, in the manager's map."""

    partitions: set[str] = field(default_factory=set)
    dead: bool = False


class FetcherManager(Machine):
    """The machine `fetcher_mgr`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._threads: dict[tuple[int, int], _Thread] = {}
        self._failed: set[str] = set()

    def operations(self) -> Mapping[str, Operation]:
        """What the replica manager and the threads do to the manager."""
        return {
            "add_fetcher": self._add,
            "remove_fetcher": self._remove,
            "mark_failed": self._mark_failed,
            "thread_dead": self._thread_dead,
            "shutdown_idle": self._shutdown_idle,
            "nop": nothing,
        }

    def _key(self, step: Step) -> tuple[int, int]:
        topic, _, number = step.text("tp").rpartition("-")
        partition = int(number) if topic and number.isdigit() else 0
        name = topic or step.text("tp")
        return step.integer("leader", 0), fetcher_id(name, partition, self.settings.fetchers)

    def _add(self, step: Step, _now: int) -> None:
        """A dead thread stays in the map, and takes partitions that it will never fetch."""
        thread = self._threads.setdefault(self._key(step), _Thread())
        thread.partitions.add(step.text("tp"))
        self._failed.discard(step.text("tp"))

    def _remove(self, step: Step, _now: int) -> None:
        for thread in self._threads.values():
            thread.partitions.discard(step.text("tp"))
        self._failed.discard(step.text("tp"))

    def _mark_failed(self, step: Step, _now: int) -> None:
        for thread in self._threads.values():
            thread.partitions.discard(step.text("tp"))
        self._failed.add(step.text("tp"))

    def _thread_dead(self, step: Step, _now: int) -> None:
        dead = step.flag("value", default=True)
        keys = [self._key(step)] if step.has("tp") else list(self._threads)
        for key in keys:
            if key in self._threads:
                self._threads[key].dead = dead

    def _shutdown_idle(self, _step: Step, _now: int) -> None:
        self._threads = {key: thread for key, thread in self._threads.items() if thread.partitions}

    def state(self, now: int) -> State:
        """Threads in the map, partitions they track, and the metrics that the release has."""
        variant = self.settings.variant
        dead = sum(thread.dead for thread in self._threads.values())
        return {
            "threads": len(self._threads),
            "tracked": sorted(set().union(*(t.partitions for t in self._threads.values()))),
            "failed": sorted(self._failed),
            "FailedPartitionsCount": (
                len(self._failed) if variant.failed_partitions_metric else None
            ),
            "DeadThreadCount": dead if variant.dead_threads_metric else None,
        }
