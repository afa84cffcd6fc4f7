"""Simulated against observed: every repetition that was run on real brokers.

The measure of agreement: the time in which the simulated committed ISR of a partition differs from
the observed one (and the leader likewise), from 1 s before the fault to 2 s after the last observed
change, over the number of observed changes. Experiments that a race decides are compared in numbers
of changes over their repetitions: within the observed range, and within that range widened, which
hardly any guess misses (`isr_pipeline.conformance.guesses`).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from isr_pipeline.worlds.run import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from isr_pipeline.conformance.observations import Observation
    from isr_pipeline.scenarios.model import Scenario

LEAD_MS = 1_000
TAIL_MS = 2_000
ISR_MS_PER_CHANGE = 400
LEADER_MS_PER_CHANGE = 1_000
RETURN_MS = 1_300
SLACK_MS = 100
COUNT_WIDENING = 0.20

ISR_KINDS = frozenset({"isr_shrink", "isr_expand", "controller_isr_remove"})
LEADER_KINDS = frozenset(
    {"leader_elected", "unclean_election", "partition_offline", "partition_online"}
)
ELECTIONS = frozenset({"leader_elected", "unclean_election", "partition_online"})

NUMBERS = ("isr_shrinks", "isr_expands", "elections")
"""What is counted of a repetition."""

WIDENED = ("isr_shrinks", "elections")
"""What the older measure looks at."""

Key = tuple[str, int]
Events = list[dict[str, Any]]
Steps = list[tuple[float, Any]]
"""A value over time: (from this time on, value), ascending."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How one repetition came out.

    Attributes:
        id, case, release, compare: which.
        isr_ms: time in which the ISRs differ.
        leader_ms: time in which the leaders differ.
        isr_changes: observed changes of an ISR.
        leader_changes: observed changes of a leader.
        returned: brokers that came back.
        agrees: within the tolerance (timeline only).
        numbers: (simulated, observed) of each of `NUMBERS`.
    """

    id: str
    case: str
    release: str
    compare: str
    isr_ms: float
    leader_ms: float
    isr_changes: int
    leader_changes: int
    returned: int
    agrees: bool
    numbers: dict[str, tuple[int, int]]

    @property
    def isr_ms_per_change(self) -> float:
        """Disagreement about the ISR, per observed change."""
        return self.isr_ms / max(1, self.isr_changes)


def histories(scenario: Scenario, events: Events) -> tuple[dict[Key, Steps], dict[Key, Steps]]:
    """Committed ISR and leader of every partition over time."""
    isr: dict[Key, Steps] = {}
    leader: dict[Key, Steps] = {}
    for topic in scenario.topics:
        for number, replicas in topic.assignment.items():
            isr[topic.name, number] = [(0.0, frozenset(replicas))]
            leader[topic.name, number] = [(0.0, replicas[0])]
    for event in sorted(events, key=lambda e: float(e["t_ms"])):
        if event.get("topic") is None:
            continue
        key = (event["topic"], event["partition"])
        if key not in isr:
            continue
        if event["kind"] in ISR_KINDS | LEADER_KINDS and event.get("isr") is not None:
            isr[key].append((event["t_ms"], frozenset(event["isr"])))
        if event["kind"] in LEADER_KINDS:
            leader[key].append((event["t_ms"], event.get("leader")))
    return isr, leader


def difference_ms(a: Steps, b: Steps, begin: float, end: float) -> float:
    """Time in [begin, end] in which two values over time differ."""
    moments = sorted({begin, end} | {t for t, _ in a + b if begin < t < end})
    total = 0.0
    for left, right in itertools.pairwise(moments):
        if _at(a, left) != _at(b, left):
            total += right - left
    return total


def _at(steps: Steps, t: float) -> Any:
    """Value that holds from ``t`` on."""
    value = steps[0][1]
    for moment, later in steps:
        if moment > t:
            break
        value = later
    return value


def simulate(observation: Observation) -> Events:
    """What happens in the scenario of a repetition."""
    return run(observation.scenario, events=True).events


def compare(observation: Observation) -> Agreement:
    """Simulate one repetition and measure how far it is from what was observed."""
    return measure(observation, simulate(observation))


def _changes(observation: Observation) -> Events:
    return [e for e in observation.observed if e["kind"] in ISR_KINDS | LEADER_KINDS]


def compared_ms(observation: Observation) -> tuple[float, float]:
    """From when until when a repetition is compared."""
    scenario = observation.scenario
    begin = min((f.start_ms for f in scenario.faults), default=0.0) - LEAD_MS
    last = max((e["t_ms"] for e in _changes(observation)), default=begin + LEAD_MS)
    return begin, min(last + TAIL_MS, scenario.horizon_ms)


def measure(observation: Observation, simulated: Events) -> Agreement:
    """Measure how far simulated events are from the observed ones."""
    scenario, observed = observation.scenario, observation.observed
    changes = _changes(observation)
    begin, end = compared_ms(observation)
    sim_isr, sim_leader = histories(scenario, simulated)
    obs_isr, obs_leader = histories(scenario, observed)
    isr_ms = sum(difference_ms(sim_isr[k], obs_isr[k], begin, end) for k in obs_isr)
    leader_ms = sum(difference_ms(sim_leader[k], obs_leader[k], begin, end) for k in obs_leader)
    n_isr = sum(e["kind"] in ISR_KINDS for e in changes)
    n_leader = sum(e["kind"] in LEADER_KINDS for e in changes)
    returned = sum(_returns(fault, end) for fault in scenario.faults)
    agrees = (
        isr_ms <= ISR_MS_PER_CHANGE * max(1, n_isr) + RETURN_MS * (n_leader + returned) + SLACK_MS
        and leader_ms <= LEADER_MS_PER_CHANGE * n_leader + SLACK_MS
    )
    simulated_numbers, observed_numbers = _numbers(simulated), _numbers(observed)
    return Agreement(
        observation.id,
        observation.case,
        observation.release,
        observation.compare,
        isr_ms,
        leader_ms,
        n_isr,
        n_leader,
        returned,
        agrees,
        {name: (simulated_numbers[name], observed_numbers[name]) for name in NUMBERS},
    )


def _numbers(events: Events) -> dict[str, int]:
    """How many there are of each of `NUMBERS`.

    A recording tells of an election that puts somebody into an empty ISR twice: no expand.
    """

    def changes(kinds: frozenset[str]) -> list[tuple[Any, ...]]:
        told = [e for e in events if e["kind"] in kinds]
        return [(e["t_ms"], e.get("topic"), e.get("partition")) for e in told]

    elections = changes(ELECTIONS)
    expands = [one for one in changes(frozenset({"isr_expand"})) if one not in elections]
    return {
        "isr_shrinks": len(changes(frozenset({"isr_shrink"}))),
        "isr_expands": len(expands),
        "elections": len(elections),
    }


def _returns(fault: Any, end: float) -> int:
    """Whether a fault brings a broker back before ``end``."""
    if fault.kind == "crash":
        return int(
            fault.restart_after_ms is not None and fault.start_ms + fault.restart_after_ms < end
        )
    if fault.kind == "controlled_restart":
        return int(fault.start_ms + fault.downtime_ms < end)
    return 0


def _within(pairs: list[tuple[int, int]], *, widened: bool) -> bool:
    """Whether the mean simulated lies in the observed range, or in it widened by 1 or 20 %."""
    mean = fmean(simulated for simulated, _ in pairs)
    low, high = min(seen for _, seen in pairs), max(seen for _, seen in pairs)
    below, above = (max(1, COUNT_WIDENING * one) if widened else 0 for one in (low, high))
    return low - below <= mean <= high + above


def _one_sided(pairs: list[tuple[int, int]]) -> bool:
    """Whether all differ by the same sign."""
    signs = {(simulated > seen) - (simulated < seen) for simulated, seen in pairs}
    return len(signs) == 1 and 0 not in signs


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """All repetitions of one experiment on one release."""

    case: str
    release: str
    compare: str
    repetitions: tuple[Agreement, ...]

    @property
    def agrees(self) -> bool:
        """Every repetition in time, or the mean numbers in the observed range, widened."""
        if self.compare == "timeline":
            return all(r.agrees for r in self.repetitions)
        return all(_within(self.numbers(name), widened=True) for name in WIDENED)

    @property
    def in_range(self) -> bool:
        """Every mean number in the observed range, and none off by one sign throughout."""
        return not self.one_sided and all(
            _within(self.numbers(name), widened=False) for name in NUMBERS
        )

    @property
    def one_sided(self) -> tuple[str, ...]:
        """Numbers that are too low in every repetition, or too high in every one."""
        return tuple(name for name in NUMBERS if _one_sided(self.numbers(name)))

    def numbers(self, name: str) -> list[tuple[int, int]]:
        """Simulated and observed of each repetition: one of `NUMBERS`."""
        return [one.numbers[name] for one in self.repetitions]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was compared, and the four figures that sum it up."""

    experiments: tuple[ComparedCase, ...]

    @property
    def timeline(self) -> list[Agreement]:
        """Repetitions that are compared in time."""
        return [r for e in self.experiments if e.compare == "timeline" for r in e.repetitions]

    @property
    def median_isr_ms_per_change(self) -> float:
        """Median disagreement per observed ISR change."""
        return median([r.isr_ms_per_change for r in self.timeline] or [0.0])

    @property
    def timeline_share(self) -> float:
        """Share of the timeline repetitions that agree."""
        return sum(r.agrees for r in self.timeline) / max(1, len(self.timeline))

    @property
    def counts(self) -> list[ComparedCase]:
        """Experiments that are compared in numbers."""
        return [e for e in self.experiments if e.compare == "counts"]

    @property
    def counts_share(self) -> float:
        """Share of the count experiments that agree within the range, widened."""
        return sum(e.agrees for e in self.counts) / max(1, len(self.counts))

    @property
    def counts_in_range_share(self) -> float:
        """Share of the count experiments whose numbers are such as were observed."""
        return sum(e.in_range for e in self.counts) / max(1, len(self.counts))

    def as_json(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "median_isr_ms_per_change": round(self.median_isr_ms_per_change, 1),
            "timeline_repetitions": len(self.timeline),
            "timeline_share_agreeing": round(self.timeline_share, 4),
            "count_experiments": len(self.counts),
            "counts_share_agreeing": round(self.counts_share, 4),
            "counts_share_in_range": round(self.counts_in_range_share, 4),
            "experiments": [
                {
                    "case": e.case,
                    "release": e.release,
                    "compare": e.compare,
                    "agrees": e.agrees,
                    "in_range": e.in_range,
                    "one_sided": list(e.one_sided),
                    "repetitions": [
                        {
                            "id": r.id,
                            "agrees": r.agrees,
                            "isr_ms": round(r.isr_ms, 1),
                            "isr_ms_per_change": round(r.isr_ms_per_change, 1),
                            "leader_ms": round(r.leader_ms, 1),
                            "isr_changes": r.isr_changes,
                            "leader_changes": r.leader_changes,
                            "returned_brokers": r.returned,
                            **{
                                name: {"simulated": simulated, "observed": seen}
                                for name, (simulated, seen) in r.numbers.items()
                            },
                        }
                        for r in e.repetitions
                    ],
                }
                for e in self.experiments
            ],
        }


def compare_all(
    observations: list[Observation],
    done: Callable[[], object] = lambda: None,
    events_of: Callable[[Observation], Events] = simulate,
) -> Report:
    """Compare every observation, grouped by experiment and release.

    Args:
        observations: of real brokers.
        done: called after each.
        events_of: what is compared with them.
    """
    groups: dict[tuple[str, str, str], list[Agreement]] = defaultdict(list)
    for observation in observations:
        key = (observation.case, observation.release, observation.compare)
        groups[key].append(measure(observation, events_of(observation)))
        done()
    return Report(
        tuple(ComparedCase(c, r, how, tuple(reps)) for (c, r, how), reps in sorted(groups.items()))
    )
