"""Running one timeline, and comparing what it shows with what it expects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tests.oracle.alter_mgr import AlterManager
from tests.oracle.delayed_fetch import DelayedFetch
from tests.oracle.election import ElectionKraft, ElectionZk, Solution2
from tests.oracle.fetcher import Fetcher
from tests.oracle.fetcher_mgr import FetcherManager
from tests.oracle.leader import Leader
from tests.oracle.machine import Machine
from tests.oracle.pending_set import PendingSet
from tests.oracle.replica import Replica
from tests.oracle.steps import KafkaRefusal, Place, Step
from tests.oracle.variants import resolve

MACHINES: Final[Mapping[str, type[Machine]]] = MappingProxyType(
    {
        "replica": Replica,
        "leader": Leader,
        "fetcher": Fetcher,
        "fetcher_mgr": FetcherManager,
        "alter_mgr": AlterManager,
        "delayed_fetch": DelayedFetch,
        "election_zk": ElectionZk,
        "election_kraft": ElectionKraft,
        "pending_set": PendingSet,
        "s2": Solution2,
    }
)

_MISSING: Final = object()


def run_timeline(vector: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Run one timeline from its first step to its last.

    Args:
        vector: the timeline, as one line of the file has it.
        place: where it stands, for errors.

    Returns:
        ``id``, ``passed`` (null if the timeline expects nothing), ``state`` (the final one), and
        ``mismatch``: texts that say what was expected where and what was there.

    Raises:
        InputError: an unknown op, machine, variant or config key, or a missing argument.
    """
    read = Step(vector, place)
    name = vector.get("id", place.field.removesuffix(": "))
    kind = read.one_of("machine", tuple(MACHINES))
    config = read.nested("config").values if read.has("config") else {}
    machine = MACHINES[kind](resolve(vector.get("variant"), config, place))
    operations = machine.operations()
    found = _Comparison(machine)
    now = 0
    for step in read.nested_list("timeline"):
        now = step.integer("t", now)
        operation = operations[step.one_of("op", tuple(operations))]
        where = step.place.field.split(": ", 1)[-1]
        try:
            found.check_answer(step, where, operation(step, now), None)
        except KafkaRefusal as refusal:
            found.check_answer(step, where, refusal.returned, refusal.error)
        if step.has("expect"):
            found.check_state(step.nested("expect").values, now, where)
    if read.has("expect"):
        found.check_state(read.nested("expect").values, now, "end")
    passed = None if not found.checked else not found.mismatches
    return {
        "id": name,
        "passed": passed,
        "state": machine.state(now),
        "mismatch": found.mismatches,
    }


class _Comparison:
    """What a timeline expected and did not find.

    Args:
        machine: the machine it drives.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.mismatches: list[str] = []
        self.checked = False

    def check_answer(self, step: Step, where: str, returned: object, error: str | None) -> None:
        """Compare what a step returned, or was refused with."""
        if step.has("error_expected"):
            self.checked = True
            wanted = step.text("error_expected")
            if error != wanted:
                self.mismatches.append(f"{where}: error {wanted!r} expected, {error!r} met")
        elif error is not None and returned is None and "returns" not in step.values:
            self.mismatches.append(f"{where}: no error expected, {error!r} met")
        if "returns" in step.values:
            self.checked = True
            wanted = step.values["returns"]
            if wanted not in (returned, error):
                self.mismatches.append(f"{where}: returns {wanted!r} expected, {returned!r} met")

    def check_state(self, expected: Mapping[str, Any], now: int, where: str) -> None:
        """Compare the state with the keys that are expected of it."""
        state = self._machine.state(now)
        for key, wanted in expected.items():
            self.checked = True
            self._compare(f"{where}: {key}", key, wanted, state.get(key, _MISSING))

    def _compare(self, where: str, key: str, wanted: object, met: object) -> None:
        if isinstance(wanted, dict) and isinstance(met, dict):
            for inner, value in wanted.items():
                self._compare(f"{where}.{inner}", inner, value, met.get(inner, _MISSING))
        elif not self._equal(key, wanted, met):
            shown = "nothing of that name" if met is _MISSING else repr(met)
            self.mismatches.append(f"{where}: {wanted!r} expected, {shown} met")

    def _equal(self, key: str, wanted: object, met: object) -> bool:
        """Compare two values; lists are sets of ids unless the machine says they are ordered."""
        if isinstance(wanted, bool) or isinstance(met, bool):
            return wanted is met
        if isinstance(wanted, list) and isinstance(met, list):
            if key.split("_", maxsplit=1)[0] in self._machine.ordered_keys:
                return wanted == met
            return sorted(wanted, key=repr) == sorted(met, key=repr)
        return wanted == met
