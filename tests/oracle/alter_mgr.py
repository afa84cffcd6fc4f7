"""A broker's queue of ISR changes (server/AlterPartitionManager.scala @ 1eb7644349)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.oracle.machine import Machine, Operation, State, nothing
from tests.oracle.steps import KafkaRefusal, Step
from tests.oracle.variants import Settings

RETRY_MS: Final = 50
"""Delay of the next request after one that failed as a whole."""


class AlterManager(Machine):
    """The machine `alter_mgr`: one request in flight, one queued item a partition."""

    ordered_keys = frozenset({"unsent"})

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._unsent: list[str] = []
        self._request: list[str] | None = None
        self._sent = 0
        self._retry_at: int | None = None

    def operations(self) -> Mapping[str, Operation]:
        """Submit, response, tick."""
        return {
            "submit": self._submit,
            "response": self._response,
            "tick": self._tick,
            "nop": nothing,
        }

    def _submit(self, step: Step, _now: int) -> bool:
        partition = step.text("tp")
        if partition in self._unsent:
            raise KafkaRefusal("OPERATION_NOT_ATTEMPTED", returned=False)
        self._unsent.append(partition)
        self._send()
        return True

    def _response(self, step: Step, now: int) -> None:
        if self._request is None:
            raise step.place.at("op").refuse(
                "'response'", "a submit before it: nothing is in flight"
            )
        answered = list(self._request)
        if step.has("partitions"):
            names = step.texts("partitions")
            answered = [partition for partition in self._request if partition in names]
        self._request = None
        if step.has("error") and step.text("error") != "NONE":
            self._retry_at = now + RETRY_MS
            return
        self._unsent = [partition for partition in self._unsent if partition not in answered]
        self._send()

    def _tick(self, _step: Step, now: int) -> None:
        if self._retry_at is not None and now >= self._retry_at:
            self._retry_at = None
            self._send()

    def _send(self) -> None:
        """Send everything queued, unless a request is out."""
        if self._unsent and self._request is None:
            self._request = list(self._unsent)
            self._sent += 1

    def state(self, now: int) -> State:
        """Requests so far, whether one is out, and what is not answered yet."""
        return {
            "sent": self._sent,
            "inflight": self._request is not None,
            "unsent": list(self._unsent),
        }
