"""Why: the deciding scenario under both kernels, and where the two runs first differ."""

from __future__ import annotations

import json
import shlex
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.errors import Refused
from isr_pipeline.kernels.difference import changed_parts
from isr_pipeline.kernels.process import Kernel, Ran
from isr_pipeline.scenarios.model import Scenario, apply, scenario_from_json
from isr_pipeline.verdicts.blame.lines import of_parts
from isr_pipeline.verdicts.changes import in_full, kind_of_setting, shown
from isr_pipeline.verdicts.quantities import label, plain
from isr_pipeline.worlds.columns import METRICS
from isr_pipeline.worlds.events import waits_by_load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isr_pipeline.verdicts.blame.case import Case, Drawn, Side

COMPARED = ("t_ms", "kind", "topic", "partition", "broker", "leader", "leader_epoch", "isr")
"""What of an event must be alike."""

DECISION = ("decided_ms", "cause")
"""What else must be, where both kernels say it: older ones do not."""

CHAIN_MAX = 12
SAMPLES = 2_400

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was found.

    Attributes:
        drawn: the scenario; ``scenario``: the same under tonight's configuration.
        first: ``t_ms``, ``before`` and ``after`` (events; None where one has ended), ``text``.
        decided_by: what decided that first difference, which need not be the cause of the change:
            ``kind``, ``name``, ``text`` and, of a setting, ``before`` and ``after``.
        chain: events of tonight from there on, each with a ``text``.
        before, after: the two runs.
        libraries: which are not as they were when the baseline was accepted.
    """

    case: Case
    drawn: Drawn
    scenario: Scenario
    first: dict[str, Any]
    decided_by: dict[str, Any]
    chain: list[Event]
    before: Ran
    after: Ran
    libraries: list[str]

    @property
    def part(self) -> str:
        """What differs first: an event, or a sample where no event does."""
        return "event" if _sides(self.first) else "sample"

    @property
    def command(self) -> str:
        """What names the cause of the change, where more than one thing changed; else empty.

        What decided the first difference may be noise, as phases that are drawn anew are, beside
        what made the change.
        """
        case = self.case
        if case.changed_things <= 1:
            return ""
        of = f"{case.night} {shlex.quote(case.config)} --experiment {case.experiment}"
        return f"isr-pipeline blame {of}" + (f" --metric {case.metric}" if case.is_named else "")

    def as_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "night": self.case.night,
            "experiment": self.case.experiment,
            "config": self.case.config,
            "metric": self.case.metric,
            "scenario": self.drawn.scenario_id,
            "change": self.case.change,
            "values": {"before": self.drawn.before, "after": self.drawn.after},
            "first_difference": self.first,
            "decided_by": self.decided_by,
            "chain": self.chain,
            "libraries": self.libraries,
        }

    def lines(self, story: Sequence[str] = ()) -> list[str]:
        """For people: what the night's page leads with, the scenario, where the runs part.

        Args:
            story: what happened in the scenario, a line each.
        """
        case, drawn = self.case, self.drawn
        before, after = (plain(one * drawn.divisor) for one in (drawn.before, drawn.after))
        totals = f"{before} to {after} {METRICS[case.metric].unit.total}"
        lines = [
            f"{case.config}: {case.status}: {case.change}",
            case.runs,
            f"scenario {drawn.scenario_id}: {label(case.metric)} {totals}",
            *(f"    {line}" for line in story),
            _first_line(self.first),
            f"first differing {self.part} decided by {self.decided_by['text']}",
        ]
        if command := self.command:
            lines.append(f"more than one thing changed: `{command}` names the cause")
        lines += [f"    {one['t_ms']:>12.3f} ms  {one['text']}" for one in self.chain]
        return [*lines, *(f"other library: {one}" for one in self.libraries)]


def explain(case: Case, *, compiled: bool = True) -> Explanation:
    """Find where the two runs first differ.

    Args:
        case: what is asked about.
        compiled: False runs the kernels as plain Python.

    Raises:
        Refused: a side cannot be run, or both runs are the same.
    """
    with ExitStack() as stack:
        old = stack.enter_context(Kernel(case.before.source, case.before.name, compiled=compiled))
        new = old
        if not case.same_code:
            new = stack.enter_context(Kernel(case.after.source, case.after.name, compiled=compiled))
        for drawn in case.deciding[:3]:
            before = _run(old, drawn, case.before.overrides)
            after = _run(new, drawn, case.after.overrides)
            first = first_difference(before, after)
            if first is None:
                continue
            decided = _decided_by(case, drawn, first, old, before)
            return Explanation(
                case=case,
                drawn=drawn,
                scenario=apply(scenario_from_json(json.dumps(drawn.scenario)),
                               case.after.overrides),
                first=first,
                decided_by=decided,
                chain=chain(first, before, after),
                before=before,
                after=after,
                libraries=old.other_libraries(),
            )  # fmt: skip
    raise Refused(
        f"night {case.night} of {case.experiment}: {case.config}: run again, both "
        "runs are the same in every deciding scenario"
    )


def _run(kernel: Kernel, drawn: Drawn, overrides: Mapping[str, Any]) -> Ran:
    sample_ms = max(1.0, float(drawn.scenario["horizon_ms"]) / SAMPLES)
    ran = kernel.run(drawn.scenario, overrides, sample_ms=sample_ms)
    if ran.problem:
        raise Refused(f"{kernel.name} refuses scenario {drawn.scenario_id}: {ran.problem}")
    return ran


def _sides(first: Mapping[str, Any]) -> list[Event]:
    """The events of a difference, tonight's first; none if it is one of samples."""
    return [one for one in (first["after"], first["before"]) if isinstance(one, dict)]


def _first_line(first: Mapping[str, Any]) -> str:
    """Where the runs first differ, and when that was decided if a side says so."""
    sides = _sides(first)
    what = "event" if sides else "sample"
    decided = [one["decided_ms"] for one in sides if one["t_ms"] == first["t_ms"]
               and one.get("decided_ms") is not None]  # fmt: skip
    when = f" (decided at {decided[0]:.3f} ms)" if decided else ""
    return f"the first {what} that differs is at {first['t_ms']:.3f} ms{when}; {first['text']}"


# -- where they differ -------------------------------------------------------------------------


def first_difference(before: Ran, after: Ran) -> dict[str, Any] | None:
    """The first event that is not alike; of alike events the first sample; None if all is alike."""
    curve = _first_sample(before, after)
    for index in range(max(len(before.events), len(after.events))):
        old = before.events[index] if index < len(before.events) else None
        new = after.events[index] if index < len(after.events) else None
        if not _alike(old, new):
            t_ms = min(one["t_ms"] for one in (old, new) if one is not None)
            found = {"t_ms": t_ms, "before": old, "after": new, "text": _apart(old, new)}
            if curve is not None and curve["t_ms"] < t_ms:
                found["seen_before"] = {"t_ms": curve["t_ms"], "what": curve["what"]}
            return found
    return curve


def _core(event: Event | None) -> tuple[Any, ...] | None:
    return None if event is None else tuple(event.get(name) for name in COMPARED)


def _alike(old: Event | None, new: Event | None) -> bool:
    if old is None or new is None or _core(old) != _core(new):
        return old is new
    return all(
        old.get(name) == new.get(name)
        for name in DECISION
        if old.get(name) is not None and new.get(name) is not None
    )


def _apart(old: Event | None, new: Event | None) -> str:
    """What differs: an event that one side has earlier, or alone, or two of the same moment."""
    if old is None:
        assert new is not None, "one side has an event"
        return f"the baseline has no further event; tonight: {_described(new)}"
    if new is None:
        return f"tonight has no further event; the baseline: {_described(old)}"
    before, after = _described(old), _described(new)
    if new["t_ms"] < old["t_ms"]:
        return f"only tonight: {after}; the baseline's next is {before} at {old['t_ms']:.3f} ms"
    if old["t_ms"] < new["t_ms"]:
        return f"only in the baseline: {before}; tonight's next is {after} at {new['t_ms']:.3f} ms"
    if _core(old) == _core(new):
        before, after = f"{before} {_decision(old)}", f"{after} {_decision(new)}"
    return f"before: {before}; tonight: {after}"


def _described(event: Event) -> str:
    """An event in a few words."""
    words = [str(event["kind"])]
    if event.get("topic") is not None:
        words.append(f"{event['topic']}-{event['partition']}")
    if event.get("broker") is not None:
        words.append(f"broker {event['broker']}")
    if event.get("leader") is not None:
        words.append(f"leader {event['leader']}, epoch {event['leader_epoch']}, ISR {event['isr']}")
    return " ".join(words)


def _decision(event: Event) -> str:
    """When an event was decided, and why."""
    decided = event.get("decided_ms")
    when = [] if decided is None else [f"decided at {decided:.3f} ms"]
    said = "; ".join(waits_by_load(event)) or str(event.get("cause") or "")
    return " ".join([*when, said]).strip()


def _first_sample(before: Ran, after: Ran) -> dict[str, Any] | None:
    names = [name for name in before.curves if name in after.curves]
    for index in range(min(len(before.t_ms), len(after.t_ms))):
        for name in names:
            old, new = before.curves[name][index], after.curves[name][index]
            if old != new:
                text = f"{name}: {old} before, {new} tonight (no event differs so far)"
                return {
                    "t_ms": before.t_ms[index], "before": old, "after": new, "what": name,
                    "text": text,
                }  # fmt: skip
    return None


# -- what decided it --------------------------------------------------------------------------


def _decided_by(
    case: Case,
    drawn: Drawn,
    first: dict[str, Any],
    old: Kernel,
    before: Ran,
) -> dict[str, Any]:
    keys = case.changed_keys

    def parts_alike(kernel: Kernel, overrides: Mapping[str, Any]) -> bool:
        ran = _run(kernel, drawn, overrides)
        found = first_difference(before, ran)
        return found is not None and _place(found) == _place(first)

    if keys and (case.same_code or parts_alike(old, case.after.overrides)):
        alone = [
            key
            for key in keys
            if len(keys) == 1 or parts_alike(old, swapped(case, key, alone=True))
        ]
        return cause_of_settings(case, alone or keys)
    if not case.same_code:
        return _code(case)
    return _unknown("nothing that is known to have changed")


def _place(first: dict[str, Any]) -> tuple[Any, ...]:
    after = first["after"]
    return first["t_ms"], _core(after) if isinstance(after, dict) else after


def swapped(case: Case, key: str, *, alone: bool) -> dict[str, Any]:
    """The baseline's settings with one key as tonight, or tonight's with one as in the baseline."""
    one, other = case.before.overrides, case.after.overrides
    if not alone:
        one, other = other, one
    rest = {name: value for name, value in one.items() if name != key}
    return {**rest, key: other[key]} if key in other else rest


def cause_of_settings(case: Case, keys: list[str]) -> dict[str, Any]:
    """One or more settings as a cause."""
    old, new = _in_full(case, case.before), _in_full(case, case.after)
    texts = [f"{key}: {shown(old.get(key))} to {shown(new.get(key))}" for key in keys]
    cause: dict[str, Any] = {
        "kind": kind_of_setting(keys[0]),
        "name": ", ".join(keys),
        "text": "; ".join(texts),
    }
    if len(keys) == 1:
        cause |= {"before": old.get(keys[0]), "after": new.get(keys[0])}
    return cause


def _in_full(case: Case, side: Side) -> dict[str, Any]:
    """A side's settings with the defaults of the rest, by today's code."""
    text = json.dumps(case.deciding[0].scenario)
    return in_full(lambda: scenario_from_json(text), side.overrides)


def _code(case: Case) -> dict[str, Any]:
    """The one function that changed; of several nobody can say which."""
    parts = changed_parts(case.before.source, case.after.source)
    if len(parts) == 1:
        return {"kind": "rule", "name": str(parts[0]), "text": f"changed code, {parts[0]}"}
    if not parts:
        return _unknown("changed code, no function of it alone")
    return _unknown(f"one of the changed functions: {of_parts(parts)}")


def _unknown(text: str) -> dict[str, Any]:
    return {"kind": "unknown", "name": "", "text": text}


# -- what followed ----------------------------------------------------------------------------


def chain(first: dict[str, Any], before: Ran, after: Ran) -> list[Event]:
    """Events of tonight from the first difference to the first offline second of its own.

    Of the partition that goes offline, and of brokers; of the first event's partition if none does.
    """
    since = float(first["t_ms"])
    offline = _first_offline(since, before, after)
    event = first["after"] if isinstance(first["after"], dict) else first["before"]
    partition = _partition(offline or (event if isinstance(event, dict) else {}))
    until = offline["t_ms"] if offline else float("inf")
    found = [
        one
        for one in after.events
        if since <= one["t_ms"] <= until and _partition(one) in {partition, (None, None)}
    ]
    if len(found) > CHAIN_MAX:
        found = [*found[: CHAIN_MAX - 1], found[-1]] if offline else found[:CHAIN_MAX]
    return [{name: one.get(name) for name in COMPARED} | {"text": _described(one)} for one in found]


def _partition(event: Mapping[str, Any]) -> tuple[Any, Any]:
    return event.get("topic"), event.get("partition")


def _first_offline(since: float, before: Ran, after: Ran) -> Event | None:
    """The first time tonight that a partition goes offline which the baseline does not have."""
    then = {(_partition(one), one["t_ms"]) for one in before.events if _is_offline(one)}
    for one in after.events:
        if one["t_ms"] >= since and _is_offline(one) and (_partition(one), one["t_ms"]) not in then:
            return one
    return None


def _is_offline(event: Event) -> bool:
    return bool(event["kind"] == "partition_offline")
