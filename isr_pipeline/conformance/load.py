"""Real brokers over disks of known speed: who leaves an ISR by load, when, and when it is back.

A line of `recordings/load.jsonl` is a repetition: a scenario without a fault, whose load begins at
10 s, and the disk of one broker. Compared is each follower of each partition by itself, up to the
moment at which the disk's limit was taken away.

Or a broker returns at 10 s to what it has missed. The recordings' crashes begin up to a second
before their first moment; here each begins with it, and `behind` says what was missed before that.
Compared is how long that broker takes to its last join, and whether others leave meanwhile.

The phase of a leader's isr-expiration tick is that of its first that shrank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict

from isr_pipeline.base.files.checks import Check
from isr_pipeline.base.files.models import validated
from isr_pipeline.conformance.observations import NAME, json_lines, of_release
from isr_pipeline.scenarios.faults import Crash
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.worlds.run import run

LOAD = Path(__file__).with_name("recordings") / "load.jsonl"
BEGIN_MS = 10_000
"""When the disk's limit, or what loads it, began in every recording."""

LEFT_WITHIN_MS, BACK_WITHIN_MS, WITHIN = 1_000, 2_000, 0.2
CAUGHT_UP_WITHIN = 0.3
TIMED = ("E1", "E3", "E4", "E8")
"""Experiments whose times are compared: chance decides which of a replay's threads serves whom."""

Follower = tuple[str, int, int]
"""Topic, partition, broker."""


class _Line(BaseModel):
    """What is read of a line."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[str, NAME]
    case: Annotated[str, NAME]
    release: Annotated[str, NAME]
    scenario: Annotated[Any, Check("a scenario", lambda v: v)]
    until_ms: float
    observed: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class LoadRecording:
    """One repetition.

    Attributes:
        id, case, release: as in other recordings.
        scenario: under the rules of that release.
        observed: ISR changes, in scenario time.
    """

    id: str
    case: str
    release: str
    scenario: Scenario
    observed: tuple[dict[str, Any], ...]

    @property
    def is_timed(self) -> bool:
        """Whether its times are compared."""
        return self.case.startswith(TIMED)

    @property
    def returned(self) -> tuple[int, float] | None:
        """The broker that comes back, and when; None if none does."""
        for fault in self.scenario.faults:
            if isinstance(fault, Crash) and fault.broker and fault.restart_after_ms is not None:
                return fault.broker, fault.start_ms + fault.restart_after_ms
        return None


@dataclass(frozen=True, slots=True)
class Absence:
    """What became of a follower: when it first left, when it was last back; None if never."""

    left_ms: float | None
    back_ms: float | None


@dataclass(frozen=True, slots=True)
class Followed:
    """One follower of one repetition: what was seen, and what is simulated.

    Attributes:
        crashed: it is on the broker that crashed: only its return is compared.
    """

    recording: LoadRecording
    follower: Follower
    observed: Absence
    simulated: Absence
    crashed: bool = False

    @property
    def agrees(self) -> bool:
        """Whether it leaves, or stays, in both."""
        return (self.observed.left_ms is None) == (self.simulated.left_ms is None)

    @property
    def in_time(self) -> bool:
        """Whether it leaves and is back when it was seen to, counted from the load's begin."""
        return _close(self.observed.left_ms, self.simulated.left_ms, LEFT_WITHIN_MS) and _close(
            self.observed.back_ms, self.simulated.back_ms, BACK_WITHIN_MS
        )


@dataclass(frozen=True, slots=True)
class CatchUp:
    """How long a broker that returned took to its last join; None: it did not join everywhere."""

    recording: LoadRecording
    observed_ms: float | None
    simulated_ms: float | None

    @property
    def agrees(self) -> bool:
        """Whether it takes as long as was seen."""
        seen, mine = self.observed_ms, self.simulated_ms
        if seen is None or mine is None:
            return seen is mine
        return abs(mine - seen) <= CAUGHT_UP_WITHIN * seen


def _close(seen: float | None, mine: float | None, within_ms: float) -> bool:
    if seen is None or mine is None:
        return seen is mine
    return abs(seen - mine) <= max(within_ms, WITHIN * (seen - BEGIN_MS))


def load_recordings(path: Path = LOAD) -> list[LoadRecording]:
    """Read a file of such repetitions, one JSON object a line.

    Raises:
        InputError: the file cannot be read, or a line is not of the form.
    """
    found = []
    for where, raw in json_lines(path):
        read = validated(_Line, raw, where)
        scenario = parse_scenario(of_release(read.scenario, read.release), where)
        observed = tuple(one for one in read.observed if one["t_ms"] <= read.until_ms)
        found.append(LoadRecording(read.id, read.case, read.release, scenario, observed))
    return found


@dataclass(frozen=True, slots=True)
class Compared:
    """Repetitions, seen and simulated."""

    followed: tuple[Followed, ...]
    caught_up: tuple[CatchUp, ...]
    changes: tuple[tuple[LoadRecording, int, int], ...]
    """ISR changes from the load's begin on: seen, and simulated."""


def compare() -> Compared:
    """Simulate every repetition that ships with the project."""
    every = [_compared(recording) for recording in load_recordings()]
    return Compared(
        tuple(one for each in every for one in each.followed),
        tuple(one for each in every for one in each.caught_up),
        tuple(one for each in every for one in each.changes),
    )


def _compared(recording: LoadRecording) -> Compared:
    """Simulate a repetition, and compare its followers one by one, but for a broker's own crash."""
    simulated = run(recording.scenario, events=True).events
    returned = recording.returned
    followed = tuple(
        Followed(
            recording,
            follower,
            absence(recording.observed, follower),
            absence(simulated, follower),
        )
        for follower in _followers(recording.scenario)
        if returned is None or follower[2] != returned[0]
    )
    changes = ((recording, _changes(recording.observed), _changes(simulated)),)
    if returned is None:
        return Compared(followed, (), changes)
    both = (recording.observed, simulated)
    seen, mine = (catch_up_ms(events, recording.scenario, *returned) for events in both)
    joined, simulated_joins = (_joins(events, *returned) for events in both)
    own = tuple(
        Followed(
            recording,
            follower,
            Absence(returned[1], joined.get(follower[:2])),
            Absence(returned[1], simulated_joins.get(follower[:2])),
            crashed=True,
        )
        for follower in _followers(recording.scenario)
        if follower[2] == returned[0]
    )
    return Compared((*followed, *own), (CatchUp(recording, seen, mine),), changes)


def _changes(events: Iterable[dict[str, Any]]) -> int:
    """How often an ISR changed from the load's begin on."""
    kinds = ("isr_shrink", "isr_expand")
    return sum(one["kind"] in kinds and one["t_ms"] >= BEGIN_MS for one in events)


def catch_up_ms(
    events: Iterable[dict[str, Any]], scenario: Scenario, broker: int, since_ms: float
) -> float | None:
    """Time from a broker's return to its last join; None if a partition is still without it.

    Args:
        events: in order, as for `absence`.
        scenario: its partitions.
        broker: that was out of every ISR.
        since_ms: when it returned.
    """
    joined = _joins(events, broker, since_ms)
    missed = [follower for follower in _followers(scenario) if follower[2] == broker]
    return max(joined.values()) - since_ms if len(joined) == len(missed) else None


def _joins(
    events: Iterable[dict[str, Any]], broker: int, since_ms: float
) -> dict[tuple[str, int], float]:
    """Partition -> when a broker that returned joined its ISR and did not leave again."""
    joined: dict[tuple[str, int], float] = {}
    for one in events:
        if one["kind"] not in ("isr_shrink", "isr_expand") or one["t_ms"] < since_ms:
            continue
        if broker in one["isr"]:
            joined.setdefault((one["topic"], one["partition"]), one["t_ms"])
        else:
            joined.pop((one["topic"], one["partition"]), None)
    return joined


def _followers(scenario: Scenario) -> Iterable[Follower]:
    for topic in scenario.topics:
        for partition, (leader, *replicas) in topic.assignment.items():
            yield from ((topic.name, partition, one) for one in replicas if one != leader)


def absence(events: Iterable[dict[str, Any]], follower: Follower) -> Absence:
    """What events say of a follower.

    Args:
        events: in order, with ``kind``, ``topic``, ``partition``, ``isr`` and ``t_ms``.
        follower: whose.
    """
    topic, partition, broker = follower
    left = back = None
    for one in events:
        if one["kind"] not in ("isr_shrink", "isr_expand"):
            continue
        if (one["topic"], one["partition"]) != (topic, partition):
            continue
        if broker in one["isr"]:
            back = one["t_ms"] if left is not None and back is None else back
        else:
            left = one["t_ms"] if left is None else left
            back = None
    return Absence(left, back)


HEADS = (
    "experiment", "release", "left", "stayed", "left and back in time", "ISR changes seen",
    "simulated",
)  # fmt: skip
FIGURES = ("followers", "bar", "simulated", "a guess that all leave", "that all stay")


def by_experiment(found: Compared) -> list[tuple[str, ...]]:
    """Of each experiment and release how many followers do as was seen, in the columns of `HEADS`.

    Those that left and those that stayed are counted apart: a constant guess passes one alone. ISR
    changes are those of each repetition.
    """
    groups: dict[tuple[str, str], list[Followed]] = {}
    for one in found.followed:
        groups.setdefault((one.recording.case, one.recording.release), []).append(one)
    rows = []
    for named, group in groups.items():
        changes = [
            both
            for recording, *both in found.changes
            if (recording.case, recording.release) == named
        ]
        seen, mine = (", ".join(map(str, column)) for column in zip(*changes, strict=True))
        rows.append((*named, *(_share(*counts) for counts in _counts(group)), seen, mine))
    return rows


def figures(found: Sequence[Followed]) -> list[tuple[str, ...]]:
    """The same of all together, with the bars, in the columns of `FIGURES`."""
    left, stayed, in_time = _counts(found)
    return [
        ("left by load, and leave", "90 %", _share(*left), "100 %", "0 %"),
        ("stayed, and stay", "90 %", _share(*stayed), "0 %", "100 %"),
        ("leave and are back in time", "80 %", _share(*in_time), "-", "-"),
    ]


RETURNS = ("return", "release", "caught up, s", "simulated, s", "within 30 %")


def by_return(found: Sequence[CatchUp]) -> list[tuple[str, ...]]:
    """How long each broker that returned took, in the columns of `RETURNS`; at last all of them."""
    rows = [
        (
            one.recording.case,
            one.recording.release,
            _seconds(one.observed_ms),
            _seconds(one.simulated_ms),
            "yes" if one.agrees else "no",
        )
        for one in found
    ]
    return [*rows, ("all", "", "", "", _share(sum(one.agrees for one in found), len(found)))]


def _seconds(time_ms: float | None) -> str:
    return "never" if time_ms is None else f"{time_ms / 1000:.1f}"


def _counts(found: Iterable[Followed]) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """How many do as was seen, of how many: that left, that stayed, and in time of the first."""
    every = list(found)
    left = [one for one in every if one.observed.left_ms is not None and not one.crashed]
    stayed = [one for one in every if one.observed.left_ms is None]
    both = [one for one in left if one.agrees]
    timed = [one for one in every if one.recording.is_timed and (one.crashed or one in both)]
    return (
        (len(both), len(left)),
        (sum(one.agrees for one in stayed), len(stayed)),
        (sum(one.in_time for one in timed), len(timed)),
    )


def _share(good: int, of: int) -> str:
    return f"{good} of {of}" if of else "-"
