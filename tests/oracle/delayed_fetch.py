"""A fetch in purgatory: may it be answered now? (server/DelayedFetch.scala @ 1eb7644349)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.oracle.machine import Machine, Operation, State, nothing
from tests.oracle.steps import Step
from tests.oracle.variants import Settings

_UNDEFINED: Final = -1


class DelayedFetch(Machine):
    """The machine `delayed_fetch`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._complete = False
        self._reason: str | None = None

    def operations(self) -> Mapping[str, Operation]:
        """One attempt to complete."""
        return {"try_complete": self._try_complete, "nop": nothing}

    def _try_complete(self, step: Step, _now: int) -> bool:
        if self._complete:
            return True
        self._complete, self._reason = self._decide(step)
        return self._complete

    def _decide(self, step: Step) -> tuple[bool, str | None]:
        """Whether to answer, and the reason where it is not simply enough bytes."""
        available = 0
        for partition in step.nested_list("partitions"):
            if partition.has("exception"):
                return True, partition.text("exception")
            if not partition.has("fetch"):
                continue
            fetch, end = partition.nested("fetch"), partition.nested("end")
            offset = fetch.integer("offset")
            if offset > end.integer("offset"):
                return True, "TRUNCATED_LEADER"
            if offset < end.integer("offset") and _has_position(fetch) and _has_position(end):
                throttled = partition.flag("throttled", default=False)
                older = fetch.integer("segment") < end.integer("segment")
                if older and not throttled:
                    return True, None
                if fetch.integer("segment") == end.integer("segment") and not throttled:
                    most = partition.integer("max_bytes", self.settings.fetch_max_bytes)
                    available += min(end.integer("pos") - fetch.integer("pos"), most)
            diverging = _diverging(partition, offset)
            if diverging is not None:
                return True, diverging
        return available >= step.integer("min_bytes", 1), None

    def state(self, now: int) -> State:
        """Whether the fetch is answered, and why if for a special reason."""
        return {"complete": self._complete, "reason": self._reason}


def _has_position(metadata: Step) -> bool:
    """Whether segment and position are known, not the offset alone."""
    return metadata.has("segment") and metadata.integer("segment") >= 0 and metadata.has("pos")


def _diverging(partition: Step, offset: int) -> str | None:
    """Why the leader's epochs end the wait, if they do (case H)."""
    if not partition.has("last_fetched_epoch") or "epoch_end" not in partition.values:
        return None
    epoch, end, error = _epoch_end(partition)
    if error is not None:
        return error
    undefined = _UNDEFINED in (epoch, end)
    if undefined or epoch < partition.integer("last_fetched_epoch") or end < offset:
        return "DIVERGING_EPOCH"
    return None


def _epoch_end(partition: Step) -> tuple[int, int, str | None]:
    """Read the leader's answer about an epoch's end: an object, a pair, or null (undefined)."""
    value = partition.values["epoch_end"]
    if value is None:
        return _UNDEFINED, _UNDEFINED, None
    if isinstance(value, list):
        pair = partition.integers("epoch_end")
        if len(pair) != 2:
            raise partition.place.at("epoch_end").refuse(repr(value), "[epoch, end offset]")
        return pair[0], pair[1], None
    if isinstance(value, int) and not isinstance(value, bool):
        return partition.integer("last_fetched_epoch"), value, None
    answer = partition.nested("epoch_end")
    if answer.has("error") and answer.text("error") != "NONE":
        return _UNDEFINED, _UNDEFINED, answer.text("error")
    epoch_name = "epoch" if answer.has("epoch") else "leader_epoch"
    names = [name for name in ("end", "end_offset", "offset") if answer.has(name)]
    end_name = names[0] if names else "end_offset"
    return answer.integer(epoch_name, _UNDEFINED), answer.integer(end_name, _UNDEFINED), None
