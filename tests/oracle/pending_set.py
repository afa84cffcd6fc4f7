"""KIP-501's multiset of pending reads (utils/PendingRequests.scala @ f6a21ebaf2)."""

from __future__ import annotations

from collections.abc import Mapping

from isr_pipeline.kafka import kip501
from tests.oracle.machine import Machine, Operation, State, nothing
from tests.oracle.steps import KafkaRefusal, Step
from tests.oracle.variants import Settings

_SLOTS = 64
"""Distinct offsets that fit; a follower's record has fewer (record.PENDING_SLOTS)."""


class PendingSet(Machine):
    """The machine `pending_set`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._offsets = [0] * _SLOTS
        self._counts = [0] * _SLOTS

    def operations(self) -> Mapping[str, Operation]:
        """Add, remove, contains."""
        return {
            "add": self._add,
            "remove": self._remove,
            "contains": self._contains,
            "nop": nothing,
        }

    def _add(self, step: Step, _now: int) -> int:
        count = kip501.add_pending(self._offsets, self._counts, _SLOTS, step.integer("offset"))
        if count == 0:
            raise KafkaRefusal("NO_SLOT_LEFT")
        return count

    def _remove(self, step: Step, _now: int) -> bool:
        return kip501.remove_pending(self._offsets, self._counts, _SLOTS, step.integer("offset"))

    def _contains(self, step: Step, _now: int) -> bool:
        return kip501.contains_pending(self._offsets, self._counts, _SLOTS, step.integer("offset"))

    def state(self, now: int) -> State:
        """Whether nothing is pending."""
        return {"empty": not kip501.any_pending(self._counts, _SLOTS)}
