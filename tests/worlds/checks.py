"""The debug build of one run, and what must hold of its outcome and its events.

`tests.simulation.invariants` looks at the world after every event; what can only be told of a run
as a whole (offline time against the events, removals against returns) is checked here.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from isr_pipeline.kafka.partition import effective_min_isr
from isr_pipeline.kafka.session import outlives_fence
from isr_pipeline.scenarios.faults import LogDirFailure
from isr_pipeline.worlds.encoder import World, encode
from isr_pipeline.worlds.run import result_of
from tests.simulation.assertions import AssertionBroken
from tests.simulation.invariants import INVARIANTS, remembered, run_checked_world

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.run import Result

SLACK = 1e-9  # sums of floats in another order

Event = dict[str, Any]


class InvariantBroken(AssertionError):
    """The simulator contradicts itself: an error of the kernel, never of the scenario.

    Attributes:
        invariant: what does not hold.
        scenario_id: in which scenario.
        t_ms: when, None where only the run as a whole tells.
    """

    def __init__(self, invariant: str, scenario_id: str, t_ms: float | None) -> None:
        self.invariant = invariant
        self.scenario_id = scenario_id
        self.t_ms = t_ms
        super().__init__(invariant, scenario_id, t_ms)

    def __str__(self) -> str:
        """``scenario S, 1250.5 ms: does not hold: a leader is in its own ISR (4)``."""
        when = "" if self.t_ms is None else f", {self.t_ms} ms"
        return f"scenario {self.scenario_id}{when}: does not hold: {self.invariant}"


def checked_run(scenario: Scenario, *, events: bool = False, budget: int | None = None) -> Result:
    """Simulate a scenario in the debug build: every invariant after every event.

    Args:
        scenario: a checked scenario, its configuration laid over it.
        events: list the events, and check them as well.
        budget: events after which to give up; `size.event_budget` if not said.

    Raises:
        BudgetSpent: the scenario needs more events than ``budget``.
        InvariantBroken: an error of the simulator.
    """
    world = encode(scenario, events=events, budget=budget)
    run_checked(scenario.scenario_id, world)
    run = result_of(scenario, world, events=events, samples=False)
    check_run(scenario, world, run)
    return run


def run_checked(scenario_id: str, world: World) -> None:
    """Run a world to its horizon: an assertion at every write, every invariant after every event.

    Raises:
        InvariantBroken: the first that does not hold, and when.
    """
    try:
        run_checked_world(world.w, world.switches, remembered(world.w))
    except AssertionBroken as broken:
        now = world.header.now / 1000
        raise InvariantBroken(broken.told(world.w), scenario_id, now) from broken
    number = world.header.broken_invariant
    if number:
        raise InvariantBroken(
            f"{INVARIANTS[number]} ({number})", scenario_id, world.header.now / 1000
        )


def check_run(scenario: Scenario, world: World, run: Result) -> None:
    """Check the outcome of a run, and its events if all were listed.

    Raises:
        InvariantBroken: the first statement that does not hold.
    """
    checker = _Checker(scenario, world, run)
    checker.outcome()
    if run.events and not world.header.dropped_events:
        checker.order()
        checker.partitions()
        checker.counts()


class _Checker:
    """One run against what must hold of it."""

    def __init__(self, scenario: Scenario, world: World, run: Result) -> None:
        self.scenario = scenario
        self.world = world
        self.run = run
        self.span_ms = scenario.horizon_ms - scenario.warmup_ms
        self.partition_count = sum(len(topic.assignment) for topic in scenario.topics)
        self.first_isrs = {
            (topic.name, partition): set(replicas) - set(topic.behind.get(partition, ()))
            for topic in scenario.topics
            for partition, replicas in topic.assignment.items()
        }

    def holds(self, statement: bool, text: str, t_ms: float | None = None) -> None:
        """Let a statement hold, or raise."""
        if not statement:
            raise InvariantBroken(text, self.scenario.scenario_id, t_ms)

    @property
    def may_lose_logs(self) -> bool:
        """Whether acknowledged records can be gone without an unclean election."""
        return self.world.rules.truncate_to_hw or any(
            isinstance(fault, LogDirFailure) or getattr(fault, "lost", "nothing") != "nothing"
            for fault in self.scenario.faults
        )

    def outcome(self) -> None:
        """Of the outcome row by itself."""
        row = self.run.outcome
        for name, value in row.items():
            self.holds(math.isfinite(value) and value >= 0, f"{name} is finite and not negative")
        for name in (
            "leaderless_rate",
            "offline_partition_rate",
            "led_under_min_isr_rate",
            "under_min_isr_rate",
            "under_replicated_rate",
            "produce_unavailable_rate",
            "readers_wait_rate",
            "one_replica_rate",
        ):
            self.holds(row[name] <= 1 + SLACK, f"{name} is at most 1")
        self.holds(
            row["commit_latency_p50_ms"]
            <= row["commit_latency_p99_ms"]
            <= row["commit_latency_max_ms"],
            "commit latencies: p50 <= p99 <= max",
        )
        for acks in ("acks_1", "acks_all"):
            self.holds(
                row[f"produce_latency_{acks}_p50_ms"] <= row[f"produce_latency_{acks}_p99_ms"],
                "produce latencies: p50 <= p99",
            )
        for some in ("records_lost", "records_acked_by_one_replica"):
            self.holds(row[some] <= row["records_acked"], f"{some} <= records_acked")
        self.holds(
            (row["longest_produce_ms"] == 0) <= (row["record_errors"] == 0),
            "a record that its producer gave up has waited",
        )
        self.holds(
            row["any_offline"] == int(row["offline_partition_rate"] > 0),
            "any_offline says whether offline_partition_rate is more than 0",
        )
        self.holds(
            row["any_leaderless"] == int(row["leaderless_rate"] > 0),
            "any_leaderless says whether leaderless_rate is more than 0",
        )
        self.holds(
            row["offline_partition_rate"]
            <= row["leaderless_rate"] + SLACK
            <= row["produce_unavailable_rate"] + 2 * SLACK,
            "who has no leader has no living one, and is unavailable",
        )
        self.holds(
            row["led_under_min_isr_rate"] <= row["under_min_isr_rate"] + SLACK,
            "some of the time under min ISR has a living leader",
        )
        self.holds(
            row["one_replica_rate"] + row["leaderless_rate"] <= 1 + SLACK,
            "a partition without a living leader has no replica that takes acks=all",
        )
        self.holds(
            (row["failed_partitions_max"] == 0) <= (row["failed_partition_rate"] == 0),
            "failed partition time needs a failed partition",
        )
        self.holds(
            (row["dead_fetcher_threads"] == 0) <= (row["untracked_partition_rate"] == 0),
            "untracked replicas need a dead thread",
        )

    def order(self) -> None:
        """Events are listed by time, decisions before their commits."""
        before = 0.0
        fenced: dict[int, bool] = defaultdict(bool)
        for event in self.run.events:
            t_ms = event["t_ms"]
            self.holds(t_ms >= before, "events are in order of time", t_ms)
            before = t_ms
            self.holds(event.get("decided_ms", t_ms) <= t_ms, "decided_ms <= t_ms", t_ms)
            if event["kind"] in ("broker_fenced", "broker_unfenced"):
                fences = event["kind"] == "broker_fenced"
                # where a session outlives a fence, its end is a second one
                again = fences and outlives_fence(self.world.rules)
                self.holds(
                    fenced[event["broker"]] != fences or again,
                    "fencing and unfencing alternate",
                    t_ms,
                )
                fenced[event["broker"]] = fences

    def partitions(self) -> None:
        """Each partition's own events tell one story."""
        by_partition: dict[tuple[str, int], list[Event]] = defaultdict(list)
        for event in self.run.events:
            if event["partition"] is not None:
                by_partition[event["topic"], event["partition"]].append(event)
        offline_ms = under_min_ms = 0.0
        for i, name in enumerate(self.world.partitions):
            first = self.first_isrs[name.topic, name.number]
            story = _Story(self, set(first))
            if self._begins_under_min(
                len(first), len(name.replicas), self.world.header.partitions[i].min_insync_replicas
            ):
                story.since["under_min"] = 0.0
            for event in by_partition[name.topic, name.number]:
                story.read(event)
            offline_ms += story.total("offline")
            under_min_ms += story.total("under_min")
        whole = self.span_ms * self.partition_count
        for column, total in (
            ("offline_partition_rate", offline_ms),
            ("under_min_isr_rate", under_min_ms),
        ):
            sums_to = self.run.outcome[column] * whole
            same = math.isclose(sums_to, total, rel_tol=1e-9, abs_tol=1e-3)
            self.holds(same, f"{column} is the sum of the gaps between its events")

    def _begins_under_min(self, members: int, rf: int, own: int) -> bool:
        """Whether min.insync.replicas exceeds the members from the beginning: no event says so."""
        wanted = own or self.world.header.min_insync_replicas
        return members < effective_min_isr(self.world.rules, wanted, rf)

    def counts(self) -> None:
        """What the outcome counts is what the events list after the warm-up."""
        hours = self.span_ms * self.partition_count / 3_600_000
        late = [e for e in self.run.events if e["t_ms"] >= self.scenario.warmup_ms]
        for column, kind in (
            ("isr_shrinks_per_partition_hour", "isr_shrink"),
            ("isr_expands_per_partition_hour", "isr_expand"),
            ("resignations_per_partition_hour", "leader_resigned"),
        ):
            listed = sum(event["kind"] == kind for event in late)
            counted = self.run.outcome[column] * hours
            self.holds(math.isclose(counted, listed, abs_tol=1e-6), f"{column} counts {kind}")
        listed = sum(e["kind"] == "unclean_election" for e in late)
        self.holds(
            self.run.outcome["unclean_elections"] == listed, "unclean_elections counts its events"
        )
        lost = sum(json.loads(e["cause"])["records"] for e in late if e["kind"] == "records_lost")
        self.holds(self.run.outcome["records_lost"] == lost, "records_lost counts its events")


class _Story:
    """One partition's events, read one after the other."""

    def __init__(self, checker: _Checker, replicas: set[int]) -> None:
        self.checker = checker
        self.isr = set(replicas)
        self.replicas = replicas
        self.epoch = 0
        self.since: dict[str, float | None] = {"offline": None, "under_min": None}
        self.sums = {"offline": 0.0, "under_min": 0.0}
        self.unclean_at: float | None = None

    def read(self, event: Event) -> None:
        """Take the next event."""
        kind, t_ms = event["kind"], event["t_ms"]
        holds = self.checker.holds
        holds(event["leader_epoch"] >= self.epoch, "leader epochs never fall", t_ms)
        self.epoch = event["leader_epoch"]
        self._members(event)
        holds(set(event["isr"]) == self.isr, "removals from the ISR and returns alternate", t_ms)
        if kind in ("leader_elected", "partition_online", "unclean_election"):
            holds(event["leader"] in self.isr, "who is elected is in the ISR", t_ms)
        if kind == "unclean_election":
            self.unclean_at = t_ms
        if kind == "records_lost" and not self.checker.may_lose_logs:
            holds(self.unclean_at == t_ms, "acknowledged records are lost uncleanly only", t_ms)
        if kind == "partition_offline":
            self._begin("offline", t_ms)
        elif kind == "partition_online":
            self._end("offline", t_ms)
        elif kind == "under_min_isr_start":
            self._begin("under_min", t_ms)
        elif kind == "under_min_isr_end":
            self._end("under_min", t_ms)

    def _members(self, event: Event) -> None:
        """Follow the ISR: each removal takes a member out, each return brings one back."""
        kind, t_ms = event["kind"], event["t_ms"]
        holds = self.checker.holds
        if kind in ("isr_shrink", "isr_expand"):
            changed = {int(broker) for broker in json.loads(event["cause"])["replicas"]}
            holds(bool(changed), "an ISR change changes somebody", t_ms)
            if kind == "isr_shrink":
                holds(changed <= self.isr, "only a member is removed from the ISR", t_ms)
                self.isr -= changed
            else:
                holds(not changed & self.isr, "only a removed replica returns to the ISR", t_ms)
                self.isr |= changed
        elif kind == "controller_isr_remove":
            removed = set(json.loads(event["cause"])["removed"])
            holds(removed <= self.isr, "only a member is removed from the ISR", t_ms)
            self.isr -= removed
            if not self.isr and len(event["isr"]) == 1:
                self.isr = set(event["isr"])  # the same change elects from the ELR (KIP-966)
        elif kind == "unclean_election" or (
            kind in ("partition_online", "leader_elected") and not self.isr
        ):
            self.isr = {event["leader"]}

    def _begin(self, what: str, t_ms: float) -> None:
        self.checker.holds(self.since[what] is None, f"{what}: begins and ends alternate", t_ms)
        self.since[what] = t_ms

    def _end(self, what: str, t_ms: float) -> None:
        since = self.since[what]
        self.checker.holds(since is not None, f"{what}: begins and ends alternate", t_ms)
        self.sums[what] += self._counted(since or 0.0, t_ms)
        self.since[what] = None

    def _counted(self, begin: float, end: float) -> float:
        """What of a stretch lies behind the warm-up."""
        return max(0.0, end - max(begin, self.checker.scenario.warmup_ms))

    def total(self, what: str) -> float:
        """Milliseconds after the warm-up; what has not ended by the horizon ends there."""
        since = self.since[what]
        rest = 0.0 if since is None else self._counted(since, self.checker.scenario.horizon_ms)
        return self.sums[what] + rest
