"""Real brokers over disks of known speed: who leaves an ISR by load, when, and when it is back.

A line of `recordings/load.jsonl` is a repetition: a scenario without a fault, whose load begins at
10 s, and the disk of one broker. Compared is each follower of each partition by itself, up to the
moment at which the disk's limit was taken away.
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
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.worlds.run import run

LOAD = Path(__file__).with_name("recordings") / "load.jsonl"
BEGIN_MS = 10_000
"""When the disk's limit, or what loads it, began in every recording."""

LEFT_WITHIN_MS, BACK_WITHIN_MS, WITHIN = 1_000, 2_000, 0.2

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


@dataclass(frozen=True, slots=True)
class Absence:
    """What became of a follower: when it first left, when it was last back; None if never."""

    left_ms: float | None
    back_ms: float | None


@dataclass(frozen=True, slots=True)
class Followed:
    """One follower of one repetition: what was seen, and what is simulated."""

    recording: LoadRecording
    follower: Follower
    observed: Absence
    simulated: Absence

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


def compare() -> list[Followed]:
    """Simulate every repetition that ships with the project."""
    return [one for recording in load_recordings() for one in followed(recording)]


def followed(recording: LoadRecording) -> list[Followed]:
    """Simulate a repetition, and compare its followers one by one."""
    simulated = run(recording.scenario, events=True).events
    return [
        Followed(
            recording,
            follower,
            absence(recording.observed, follower),
            absence(simulated, follower),
        )
        for follower in _followers(recording.scenario)
    ]


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


HEADS = ("experiment", "release", "left", "stayed", "left and back in time")
FIGURES = ("followers", "bar", "simulated", "a guess that all leave", "that all stay")


def by_experiment(found: Sequence[Followed]) -> list[tuple[str, ...]]:
    """Of each experiment and release how many followers do as was seen, in the columns of `HEADS`.

    Those that left and those that stayed are counted apart: a constant guess passes one alone.
    """
    groups: dict[tuple[str, str], list[Followed]] = {}
    for one in found:
        groups.setdefault((one.recording.case, one.recording.release), []).append(one)
    return [
        (*named, *(_share(*counts) for counts in _counts(group))) for named, group in groups.items()
    ]


def figures(found: Sequence[Followed]) -> list[tuple[str, ...]]:
    """The same of all together, with the bars, in the columns of `FIGURES`."""
    left, stayed, in_time = _counts(found)
    return [
        ("left by load, and leave", "90 %", _share(*left), "100 %", "0 %"),
        ("stayed, and stay", "90 %", _share(*stayed), "0 %", "100 %"),
        ("leave and are back in time", "80 %", _share(*in_time), "-", "-"),
    ]


def _counts(found: Iterable[Followed]) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """How many do as was seen, of how many: that left, that stayed, and in time of the first."""
    every = list(found)
    left = [one for one in every if one.observed.left_ms is not None]
    stayed = [one for one in every if one.observed.left_ms is None]
    both = [one for one in left if one.agrees]
    return (
        (len(both), len(left)),
        (sum(one.agrees for one in stayed), len(stayed)),
        (sum(one.in_time for one in both), len(both)),
    )


def _share(good: int, of: int) -> str:
    return f"{good} of {of}" if of else "-"
