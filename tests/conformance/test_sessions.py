"""Sessions, deaths and failed log dirs on real brokers: the order of leaders and ISRs, and when.

The phase of a heartbeat is in no recording, so a session may end a heartbeat interval earlier or
later here, and from 4.0 on an eighth of the session later. Case 07 of `tests.cases` has the eighth.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from isr_pipeline.conformance.comparison import ISR_KINDS, LEADER_KINDS, compare
from isr_pipeline.conformance.observations import SESSIONS, Observation, load_observations
from isr_pipeline.worlds.run import run

OTHER_PHASE = {
    "T1-two-die-4.3.1-1",
    "T2-join-beside-dead-3.9.1-1",
    "T4-dir-1-of-2-4.3.1-4",
    "T4-only-dir-3.9.1-1",
    "T4-only-dir-4.3.1-1",
}
"""Their leaders move with the end of a session, whose last heartbeat came at another moment."""

ONE_RECORD_MS = 60
"""Several events within it tell of one record of the controller."""

LATE_MS = 4700
"""Of it 2 600 for a session's end, the rest for a retry of 4.x or a JVM that still loads."""

State = tuple[int | None, tuple[int, ...]]
"""Leader, None if nobody, and ISR."""

Changes = dict[tuple[str, int], list[tuple[float, State]]]


def changes(one: Observation, events: list[dict[str, Any]]) -> Changes:
    """When leader or ISR of each partition became what."""
    found: Changes = {
        (topic.name, number): [(-ONE_RECORD_MS, (replicas[0], tuple(sorted(replicas))))]
        for topic in one.scenario.topics
        for number, replicas in topic.assignment.items()
    }
    for event in sorted(events, key=lambda each: float(each["t_ms"])):
        if event["kind"] not in ISR_KINDS | LEADER_KINDS or event["t_ms"] > one.scenario.horizon_ms:
            continue
        history = found[event["topic"], event["partition"]]
        at, (leader, isr) = history[-1]
        if event.get("isr") is not None:
            isr = tuple(sorted(event["isr"]))
        if event["kind"] in LEADER_KINDS or event.get("leader") == -1:
            leader = None if event["kind"] == "partition_offline" else event["leader"]
            leader = None if leader == -1 else leader
        if event["t_ms"] - at < ONE_RECORD_MS:
            history[-1] = (at, (leader, isr))
        elif (leader, isr) != history[-1][1]:
            history.append((event["t_ms"], (leader, isr)))
    return {
        partition: [later for (_, before), later in pairwise(history) if later[1] != before]
        for partition, history in found.items()
    }


EVERY = [pytest.param(one, id=one.id) for one in load_observations(SESSIONS)]


@pytest.mark.parametrize("one", EVERY)
def test_leaders_and_isrs_change_in_the_same_order(one: Observation) -> None:
    """The same states of each partition, each at about the same time."""
    seen, simulated = (
        changes(one, events) for events in (one.observed, run(one.scenario, events=True).events)
    )
    states = [
        {partition: [state for _, state in history] for partition, history in each.items()}
        for each in (simulated, seen)
    ]
    assert states[0] == states[1]
    off = [
        abs(mine - theirs)
        for partition, history in seen.items()
        for (theirs, _), (mine, _) in zip(history, simulated[partition], strict=True)
    ]
    assert max(off, default=0) <= LATE_MS


@pytest.mark.parametrize("one", EVERY)
def test_times_agree(one: Observation) -> None:
    """By the measure of all recordings, but where a session's unknown phase decides."""
    assert compare(one).agrees is (one.id not in OTHER_PHASE)


def test_the_order_of_a_recording_is_read() -> None:
    """A leader dies, a dead one is elected, then the last one: three states in all."""
    one = next(each for each in load_observations(SESSIONS) if each.id == "T1-two-die-3.9.1-1")
    assert changes(one, one.observed) == {
        ("t", 0): [(17999, (2, (2, 3))), (23023, (3, (3,)))],
    }


def test_a_recording_has_the_rules_of_its_release() -> None:
    """Whatever its scenario names."""
    named = {one.release: one.scenario.cluster.release for one in load_observations(SESSIONS)}
    assert (named["3.9.1"], named["4.0.0"], named["4.3.1"]) == ("3.7-3.9", "4.0", "4.1+")
