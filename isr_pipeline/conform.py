"""Simulated against observed: every repetition that was run on real brokers.

The measure of agreement: the time in which the simulated committed ISR of a partition differs from
the observed one (and the leader likewise), from 1 s before the fault to 2 s after the last observed
change, over the number of observed changes. Experiments that a race decides are compared in numbers
of changes over their repetitions.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from isr_pipeline.errors import InputError
from isr_pipeline.home import REPOSITORY
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.scenarios.run import run

OBSERVATIONS = REPOSITORY / "tests" / "data" / "real" / "observations.jsonl"
AGREEMENT = REPOSITORY / "benchmarks" / "results" / "agreement.json"

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

Key = tuple[str, int]
Steps = list[tuple[float, Any]]
"""A value over time: (from this time on, value), ascending."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One repetition of one experiment on real brokers."""

    id: str
    case: str
    release: str
    compare: str
    scenario: Scenario
    observed: list[dict[str, Any]]


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
        shrinks, elections: (simulated, observed) numbers.
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
    shrinks: tuple[int, int]
    elections: tuple[int, int]

    @property
    def isr_ms_per_change(self) -> float:
        """Disagreement about the ISR, per observed change."""
        return self.isr_ms / max(1, self.isr_changes)


def load_observations(path: Path) -> list[Observation]:
    """Read a file of observations, one JSON object a line.

    Raises:
        InputError: the file cannot be read, or a line is not of the form.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", error, "a readable file of observations") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}: line {number}"
        try:
            raw = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(where, "", error, "one JSON object a line") from None
        for name in ("id", "case", "release", "compare", "scenario", "observed"):
            if not isinstance(raw, dict) or name not in raw:
                raise InputError(where, name, "missing", "an observation of a real broker")
        found.append(
            Observation(
                raw["id"],
                raw["case"],
                raw["release"],
                raw["compare"],
                parse_scenario(raw["scenario"], where),
                raw["observed"],
            )
        )
    return found


def _histories(
    scenario: Scenario, events: list[dict[str, Any]]
) -> tuple[dict[Key, Steps], dict[Key, Steps]]:
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
            leader[key].append((event["t_ms"], event["leader"]))
    return isr, leader


def _difference_ms(a: Steps, b: Steps, begin: float, end: float) -> float:
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


def compare(observation: Observation) -> Agreement:
    """Simulate one repetition and measure how far it is from what was observed."""
    simulated = run(observation.scenario, events=True).events
    return measure(observation, simulated)


def measure(observation: Observation, simulated: list[dict[str, Any]]) -> Agreement:
    """Measure how far simulated events are from the observed ones."""
    scenario, observed = observation.scenario, observation.observed
    changes = [e for e in observed if e["kind"] in ISR_KINDS | LEADER_KINDS]
    begin = min((f.start_ms for f in scenario.faults), default=0.0) - LEAD_MS
    end = max([e["t_ms"] for e in changes], default=begin + LEAD_MS) + TAIL_MS
    end = min(end, scenario.horizon_ms)
    sim_isr, sim_leader = _histories(scenario, simulated)
    obs_isr, obs_leader = _histories(scenario, observed)
    isr_ms = sum(_difference_ms(sim_isr[k], obs_isr[k], begin, end) for k in obs_isr)
    leader_ms = sum(_difference_ms(sim_leader[k], obs_leader[k], begin, end) for k in obs_leader)
    n_isr = sum(e["kind"] in ISR_KINDS for e in changes)
    n_leader = sum(e["kind"] in LEADER_KINDS for e in changes)
    returned = sum(_returns(fault, end) for fault in scenario.faults)
    agrees = (
        isr_ms <= ISR_MS_PER_CHANGE * max(1, n_isr) + RETURN_MS * (n_leader + returned) + SLACK_MS
        and leader_ms <= LEADER_MS_PER_CHANGE * n_leader + SLACK_MS
    )

    def number(events: list[dict[str, Any]], kinds: frozenset[str]) -> int:
        return sum(e["kind"] in kinds for e in events)

    shrink = frozenset({"isr_shrink"})
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
        (number(simulated, shrink), number(observed, shrink)),
        (number(simulated, ELECTIONS), number(observed, ELECTIONS)),
    )


def _returns(fault: Any, end: float) -> int:
    """Whether a fault brings a broker back before ``end``."""
    if fault.kind == "crash":
        return int(
            fault.restart_after_ms is not None and fault.start_ms + fault.restart_after_ms < end
        )
    if fault.kind == "controlled_restart":
        return int(fault.start_ms + fault.downtime_ms < end)
    return 0


def _within(simulated: list[int], observed: list[int]) -> bool:
    """Whether a mean lies in the observed range, widened by 1 or 20 %."""
    mean = sum(simulated) / len(simulated)
    low, high = min(observed), max(observed)
    return low - max(1, COUNT_WIDENING * low) <= mean <= high + max(1, COUNT_WIDENING * high)


@dataclass(frozen=True, slots=True)
class Experiment:
    """All repetitions of one experiment on one release."""

    case: str
    release: str
    compare: str
    repetitions: tuple[Agreement, ...]

    @property
    def agrees(self) -> bool:
        """Every repetition in time, or the mean numbers in the observed range."""
        if self.compare == "timeline":
            return all(r.agrees for r in self.repetitions)
        return _within(
            [r.shrinks[0] for r in self.repetitions], [r.shrinks[1] for r in self.repetitions]
        ) and _within(
            [r.elections[0] for r in self.repetitions], [r.elections[1] for r in self.repetitions]
        )


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was compared, and the three figures that sum it up."""

    experiments: tuple[Experiment, ...]

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
    def counts_share(self) -> float:
        """Share of the count experiments that agree."""
        counts = [e for e in self.experiments if e.compare == "counts"]
        return sum(e.agrees for e in counts) / max(1, len(counts))

    def as_json(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "median_isr_ms_per_change": round(self.median_isr_ms_per_change, 1),
            "timeline_repetitions": len(self.timeline),
            "timeline_share_agreeing": round(self.timeline_share, 4),
            "count_experiments": sum(e.compare == "counts" for e in self.experiments),
            "counts_share_agreeing": round(self.counts_share, 4),
            "experiments": [
                {
                    "case": e.case,
                    "release": e.release,
                    "compare": e.compare,
                    "agrees": e.agrees,
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
                            "isr_shrinks": {"simulated": r.shrinks[0], "observed": r.shrinks[1]},
                            "elections": {"simulated": r.elections[0], "observed": r.elections[1]},
                        }
                        for r in e.repetitions
                    ],
                }
                for e in self.experiments
            ],
        }


def compare_all(observations: list[Observation]) -> Report:
    """Compare every observation, grouped by experiment and release."""
    groups: dict[tuple[str, str, str], list[Agreement]] = defaultdict(list)
    for observation in observations:
        key = (observation.case, observation.release, observation.compare)
        groups[key].append(compare(observation))
    return Report(
        tuple(Experiment(c, r, how, tuple(reps)) for (c, r, how), reps in sorted(groups.items()))
    )


def _table(report: Report) -> Table:
    """One line an experiment and release."""
    table = Table("experiment", "release", "compared", "agrees", "simulated against observed")
    for e in report.experiments:
        if e.compare == "timeline":
            said = ", ".join(
                f"{r.isr_ms_per_change:.0f} ms a change"
                + (f", leader {r.leader_ms:.0f} ms" if r.leader_changes else "")
                + ("" if r.agrees else " (!)")
                for r in e.repetitions
            )
        else:
            said = ", ".join(
                f"{r.shrinks[0]}:{r.shrinks[1]} shrinks {r.elections[0]}:{r.elections[1]} elections"
                for r in e.repetitions
            )
        good = sum(r.agrees for r in e.repetitions)
        counted = f"{good} of {len(e.repetitions)}" if e.compare == "timeline" else ""
        table.add_row(e.case, e.release, e.compare, counted or ("yes" if e.agrees else "no"), said)
    return table


def _record_agreement(report: Report, observations: list[Observation]) -> None:
    """Keep, per rule set, how many repetitions agree: what a report's backing column says."""
    rule_set = {o.id: o.scenario.cluster.release for o in observations}
    agreeing: dict[str, int] = defaultdict(int)
    for e in report.experiments:
        for r in e.repetitions:
            ok = r.agrees if e.compare == "timeline" else e.agrees
            agreeing[rule_set[r.id]] += int(ok)
    AGREEMENT.parent.mkdir(parents=True, exist_ok=True)
    AGREEMENT.write_text(json.dumps(dict(sorted(agreeing.items())), indent=2) + "\n")


def _trace(observations: list[Observation], wanted: str, folder: Path) -> Path:
    """Draw one repetition: what was simulated above what was observed."""
    from isr_pipeline.report.trace import write_page  # noqa: PLC0415 - plotly is slow to load

    by_id = {o.id: o for o in observations}
    if wanted not in by_id:
        raise InputError("--trace", "", wanted, "the id of a repetition in the file")
    chosen = by_id[wanted]
    simulated = run(chosen.scenario, events=True).events
    return write_page(
        chosen.scenario,
        {"simulated": simulated, f"observed on Kafka {chosen.release}": chosen.observed},
        folder / f"conform-{wanted}.html",
    )


def conform(
    path: Path | None = None,
    json_out: str | None = None,
    trace_id: str | None = None,
    *,
    record: bool = False,
) -> int:
    """The command: compare, print, and draw if asked.

    Args:
        path: file of observations; those that ship with the project if None.
        json_out: where the report goes as JSON, ``-`` for standard output; a table is printed if
            it goes to a file or nowhere.
        trace_id: draw this repetition instead of comparing all.
        record: keep the agreement per rule set for the report's backing column.

    Returns:
        Exit status 0.

    Raises:
        InputError: a file that cannot be used, an unknown id, a place that cannot be written.
    """
    observations = load_observations(path or OBSERVATIONS)
    console = Console()
    if trace_id is not None:
        console.print(f"wrote {_trace(observations, trace_id, Path.cwd())}")
        return 0
    report = compare_all(observations)
    if json_out == "-":
        print(json.dumps(report.as_json(), indent=1))  # noqa: T201 - the command's output
        return 0
    if json_out is not None:
        try:
            Path(json_out).write_text(json.dumps(report.as_json(), indent=1) + "\n")
        except OSError as error:
            raise InputError("--json", "", error.strerror, "a file that can be written") from None
    if record:
        _record_agreement(report, observations)
    console.print(_table(report))
    counts = sum(e.compare == "counts" for e in report.experiments)
    console.print(
        f"median disagreement {report.median_isr_ms_per_change:.0f} ms per ISR change (bar 150); "
        f"{report.timeline_share:.1%} of {len(report.timeline)} timeline repetitions agree "
        f"(bar 95 %); {report.counts_share:.1%} of {counts} count experiments (bar 90 %)"
    )
    return 0
