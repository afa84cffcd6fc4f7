"""What happens where a place of the world is full: docs/project/model-rules.md, "Bounds"."""

from __future__ import annotations

import re
from itertools import takewhile
from random import Random
from typing import Any

import numba
import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.cli import app
from isr_pipeline.kafka.record import PENDING_SLOTS
from isr_pipeline.kafka.rows import TABLES, Ref, Row, Several, Span
from isr_pipeline.scenarios.faults import CONNECTIONS_MAX
from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.simulation import controller, log
from isr_pipeline.simulation.world.columns import numbers_of
from isr_pipeline.simulation.world.states import RequestState, ThreadState
from isr_pipeline.simulation.world.tables import (
    EPOCHS_MAX,
    LOCKED_MAX,
    MAX_RF,
    REQUESTS_PER_THREAD,
    World,
    world_in,
)
from isr_pipeline.worlds import encoder
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import advance, run
from tests.scenario import one_topic_scenario
from tests.simulation.worlds import ACKS_1, ACKS_ALL, FAST, fault

ONE_EACH = {
    *("brokers", "partitions", "replicas", "followers", "threads", "fetched", "entries"),
    *("streams", "handlers", "senders", "faults", "touched", "links", "reports", "entities"),
    *("slots", "fetching", "threads_by_broker", "hosted", "rack_distances"),
    *("disk_faults", "change", "quotas"),
}
"""Tables with a place for each of what stands in the scenario: there is never more."""


def scenario(
    *faults: dict[str, Any], brokers: int = 3, partitions: int = 1, **more: Any
) -> Scenario:
    """A minute of topic t, whose every partition broker 1 leads."""
    every = [*range(1, brokers + 1)]
    produce = more.pop("produce", [ACKS_1])
    config, service = more.pop("config", {}), more.pop("service", {})
    return one_topic_scenario(
        {"assignment": dict.fromkeys(range(partitions), every), "produce": produce},
        cluster={"brokers": every, **more.pop("cluster", {})},
        config={**FAST, **config},
        service={"client_requests_per_s": 0, **service},
        faults=list(faults),
        **{"horizon_ms": 60000, **more},
    )


def at_the_end(given: Scenario, **how: Any) -> World:
    """The header of the world after a run."""
    world = encode(given, **how)
    advance(world)
    return world.header


def elections(count: int, partition: int = 0) -> list[dict[str, Any]]:
    """So many elections, 50 ms apart from 10 s on: leaders 2 and 1 in turn, 1 at last."""
    return [
        fault(
            "preferred_election",
            10000 + 50 * k,
            topic="t",
            partition=partition,
            leader=1 + (count - k + 1) % 2,
        )
        for k in range(count)
    ]


class TestEveryPlace:
    """The page's table has every place that can be full."""

    def test_the_table_is_complete(self) -> None:
        """Tables of the world but those with a place each, and cells that hold several numbers."""
        tables = {
            f"World.{name}"
            for name, field in World.cells_of.items()
            if issubclass(field.kind, (Ref, Span)) and name not in ONE_EACH
        } - {"World.last_stream"}
        several = {
            f"{table.__name__}.{name}"
            for table in TABLES.values()
            if issubclass(table, Row) and table.__module__.startswith("isr_pipeline")
            for name, field in table.cells_of.items()
            if field.kind is Several
        }
        text = (REPOSITORY / "docs/project/model-rules.md").read_text(encoding="utf-8")
        section = text.partition("**Bounds**")[2].partition("**Limits**")[0]
        listed = {
            name
            for line in section.splitlines()
            if line.startswith("|")
            for name in re.findall(r"`([A-Z]\w*\.\w+)`", line.split("|")[1])
        }
        assert listed == tables | several


# ------------------------------------------------------------------ metadata


@numba.njit
def _send(w, partition, broker, full):  # type: ignore[no-untyped-def]
    world = world_in(w)
    controller._send_record(world, world.partitions[partition], world.brokers[broker], full)


class Line:
    """Records on their way to broker 3, which applies none of them."""

    def __init__(self, partitions: int) -> None:
        self.world = encode(scenario(partitions=partitions))
        self.broker = self.world.header.brokers[2]

    def send(self, partition: int, full: bool = False) -> None:
        """One more state of a partition, a millisecond later."""
        header = self.world.header
        header.now += 1000
        header.partitions[partition].partition_epoch += 1
        _send(self.world.w, partition, 2, int(full))

    def records(self) -> list[tuple[int, int, int]]:
        """Partition, partition epoch and time of each, in order."""
        broker, found = self.broker, []
        first = self.world.header.partitions.first
        place = broker.metadata_head
        while place != broker.metadata_tail:
            row = broker.metadata[place]
            size = type(row.partition).size
            found.append(((row.partition.first - first) // size, row.partition_epoch, row.due))
            place = (place + 1) % broker.metadata_capacity
        return found


def sent(partitions: int, count: int, seed: int = 1) -> tuple[Line, list[tuple[int, int, int]]]:
    """A line after so many records of partitions in turn of chance, and all that were sent."""
    line, draw, everything = Line(partitions), Random(seed), []
    for _ in range(count):
        line.send(draw.randrange(partitions))
        everything.append(line.records()[-1])
    return line, everything


class TestMetadata:
    """A full line: a partition's newest record stands for its older ones."""

    @pytest.mark.parametrize("partitions", [1, 2, 7])
    def test_the_newest_of_each_partition_is_there(self, partitions: int) -> None:
        """However many came before it, and whichever partition came last."""
        line, everything = sent(partitions, 400)
        newest = {partition: epoch for partition, epoch, _ in everything}
        assert len(line.records()) < line.broker.metadata_capacity < 400
        assert {partition: epoch for partition, epoch, _ in line.records()} == newest

    def test_what_stays_keeps_its_time_and_its_order(self) -> None:
        """Nothing is applied sooner, or overtakes."""
        line, everything = sent(3, 400)
        left = iter(everything)
        assert all(record in left for record in line.records())

    def test_the_first_stays(self) -> None:
        """The broker may be waiting for its partition's lock."""
        line, everything = sent(3, 400)
        assert line.records()[0] == everything[0]

    def test_records_of_a_start_stay(self) -> None:
        """Without it the broker's replica would not begin anew."""
        line = Line(2)
        line.send(0)
        line.send(1, full=True)
        begins = line.records()[1]
        for _ in range(200):
            line.send(1)
        assert line.records()[1] == begins

    def test_a_shutdown_waits_for_all_that_stays(self) -> None:
        """A report that counted on a record that is gone counts on the last one."""
        line = Line(2)
        for _ in range(10):
            line.send(1)
        line.world.header.brokers[0].reports[2] = -line.broker.metadata_sent
        sizes: list[int] = []
        while not sizes or len(line.records()) > sizes[-1]:
            sizes.append(len(line.records()))
            line.send(0)
        merged = len(line.records()) - 1
        assert line.world.header.brokers[0].reports[2] == -merged
        assert line.broker.metadata_sent == merged + 1

    @pytest.mark.parametrize("partitions", [1, 5])
    def test_there_is_room_afterwards(self, partitions: int) -> None:
        """At worst the first, one of a start and the newest of each partition stay."""
        line = Line(partitions)
        line.send(0)
        for partition in range(partitions):
            line.send(partition, full=True)
        while len(line.records()) < line.broker.metadata_capacity - 1:
            line.send(len(line.records()) % partitions)
        line.send(0)
        assert len(line.records()) == 2 * partitions + 2

    def test_a_broker_cut_off_from_the_controller_ends_with_the_newest_state(self) -> None:
        """A hundred elections of one partition, then one of another: it follows both leaders."""
        cut = fault("link", 5000, from_="controller", to=3, drop=True, duration_ms=20000)
        other = fault("preferred_election", 20000, topic="t", partition=1, leader=2)
        header = at_the_end(scenario(cut, *elections(101), other, partitions=2))
        for number, leader in enumerate((0, 1)):
            partition = header.partitions[number]
            replica = partition.replicas[2]
            assert (partition.leader, replica.leader, partition.isr) == (leader, leader, 0b111)
            assert replica.leader_epoch == partition.leader_epoch


# ------------------------------------------------------------------ logs


@numba.njit
def _append(w, replica, epoch, records):  # type: ignore[no-untyped-def]
    leader = world_in(w).replicas[replica]
    log.add_epoch(leader, epoch, leader.log_end_offset)
    leader.log_end_offset += records


@numba.njit
def _follow(w, follower, leader, end):  # type: ignore[no-untyped-def]
    world = world_in(w)
    replica = world.replicas[follower]
    replica.log_end_offset = end
    n = replica.epoch_count
    while n > 1 and replica.epochs[n - 1].start >= end:
        n -= 1
    replica.epoch_count = n
    replica.newest_epoch = replica.epochs[n - 1].epoch
    replica.log_end_offset = world.replicas[leader].log_end_offset
    log.copy_epochs(world.replicas[leader], replica)


@numba.njit
def _common(w, follower, leader):  # type: ignore[no-untyped-def]
    world = world_in(w)
    return log.common_end(world.replicas[follower], world.replicas[leader])


def same_up_to(one: list[int], other: list[int]) -> int:
    """How many records two logs have in common, of each of which the epoch is given."""
    return sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(one, other, strict=False)))


class TestEpochs:
    """A log of more leader epochs than there is room for."""

    @pytest.mark.parametrize("replicas", [2, 3, 5])
    def test_logs_part_where_their_records_do(self, replicas: int) -> None:
        """However long a replica was away; what its log has beyond the leader's is cut off."""
        for seed in range(8):
            draw = Random(seed)
            world = encode(scenario(brokers=replicas))
            logs = [[0] for _ in range(replicas)]
            for k in range(replicas):
                world.header.replicas[k].log_end_offset = 1
            back = [0] * replicas
            for epoch in range(1, 6 * EPOCHS_MAX):
                leader = draw.choice([k for k in range(replicas) if back[k] <= epoch] or [0])
                records = draw.randrange(1, 4)
                _append(world.w, leader, epoch, records)
                logs[leader] += [epoch] * records
                if draw.random() < 0.2:
                    back[leader] = epoch + draw.randrange(3 * EPOCHS_MAX)
                for follower in range(replicas):
                    if follower == leader or back[follower] > epoch or draw.random() < 0.5:
                        continue
                    end = same_up_to(logs[follower], logs[leader])
                    assert _common(world.w, follower, leader) == end
                    _follow(world.w, follower, leader, end)
                    logs[follower] = [*logs[leader]]

    def test_the_largest_partition_leaves_room(self) -> None:
        """Two epochs for each other replica, the oldest and the newest."""
        assert 2 * (MAX_RF - 1) + 2 < EPOCHS_MAX


def crowded(*faults: dict[str, Any], **more: Any) -> Scenario:
    """A ledger made for 64 times its batches, which are soon more."""
    faster = fault("produce_rate", 1000, topic="t", partition="all", factor=1e6, duration_ms=20000)
    slow = {"records_per_s": 0.1, "records_per_batch": 1, "record_bytes": 100}
    produce = [{**slow, "acks": more.pop("acks", "all")}]
    return scenario(faster, *faults, produce=produce, horizon_ms=30000, **more)


class TestLedger:
    """Batches that some replica has not are kept, beyond the room as one."""

    def test_committed_neighbours_are_joined_and_totals_stay(self) -> None:
        """A dead broker's log needs all; what is acknowledged is all that was appended."""
        header = at_the_end(crowded(fault("crash", 500, broker=3)))
        partition = header.partitions
        assert partition.ledger_joins > 0
        assert partition.acknowledged_records == partition.replicas[0].high_watermark > 0

    def test_the_oldest_of_open_ones_counts_as_never_committed(self) -> None:
        """Nobody fetches while more batches come than there is room for."""
        away = [fault("pause", 1500, broker=b, duration_ms=12000) for b in (2, 3)]
        config = {"replica.lag.time.max.ms": 30000, "broker.session.timeout.ms": 30000}
        header = at_the_end(crowded(*away, acks=1, config=config))
        assert header.partitions.ledger_joins == 0
        assert header.uncommitted_batches > 0
        assert header.partitions.replicas[0].high_watermark > header.partitions.ledger_capacity


# ------------------------------------------------------------------ requests


class TestAnswers:
    """Answers that wait for a network thread."""

    def test_every_answer_but_those_to_other_clients_leaves(self) -> None:
        """The one network thread hangs; a surge of all connections and other clients gather."""
        stall = fault("read_stall", 1000, broker=1, stage="send", duration_ms=3000)
        surge = fault(
            "client_surge",
            1500,
            broker=1,
            requests_per_s=50_000,
            request_us=5,
            connections=CONNECTIONS_MAX,
            duration_ms=1000,
        )
        header = at_the_end(
            scenario(
                stall,
                surge,
                config={"num.network.threads": 1, "queued.max.requests": 100_000},
                service={"client_requests_per_s": 30_000, "client_request_us": 5, "send_us": 5},
                horizon_ms=10_000,
            )
        )
        broker = header.brokers
        assert header.partitions.isr == 0b111
        assert broker.surge_requests == 0


class TestQueues:
    """Requests that wait for a handler."""

    def test_there_is_room_for_each_and_for_those_between(self) -> None:
        """Neighbours that are alike share a place, so at most one lies before each other one."""
        surge = {"requests_per_s": 10, "request_us": 5, "connections": 777, "duration_ms": 1000}
        header = encode(scenario(fault("client_surge", 0, broker=1, **surge))).header
        assert header.brokers.queue_capacity > 2 * (header.request_count + 777) + 1

    def test_more_connections_are_refused(self) -> None:
        """Before the run, in one line."""
        surge = {"requests_per_s": 10, "request_us": 5, "duration_ms": 1000}
        with pytest.raises(InputError, match=r"connections: 20001; allowed: .* 1\.\.20000"):
            scenario(fault("client_surge", 0, broker=1, connections=CONNECTIONS_MAX + 1, **surge))


class TestRequests:
    """Requests that were given up may still lie on a broker that hangs."""

    def hangs(self) -> World:
        """The world 15 s after broker 1 was paused; a request is given up after 1 s."""
        config = {
            "broker.session.timeout.ms": 60000,
            "replica.socket.timeout.ms": 1000,
            "request.timeout.ms": 1000,
        }
        pause = fault("pause", 5000, broker=1, duration_ms=15000)
        return at_the_end(scenario(pause, config=config, horizon_ms=20000))

    def test_a_producer_waits_for_one_of_two(self) -> None:
        """Its records gather."""
        header = self.hangs()
        stream = header.streams
        assert all(stream.requests[j].state != RequestState.FREE for j in range(2))
        assert not stream.request
        assert stream.gathered > 0

    def test_a_fetcher_thread_waits_for_one_of_three(self) -> None:
        """It looks again every back-off."""
        header = self.hangs()
        threads = [header.threads[k] for k in range(header.thread_count)]
        waiting = [one for one in threads if one.leader.number == 0]
        assert {one.state for one in waiting} == {ThreadState.BACKOFF}
        free = [one.requests[j].state == RequestState.FREE for one in waiting for j in range(3)]
        assert not any(free)

    def test_each_may_have_another_pending_offset(self) -> None:
        """A follower's record has room for one of each request of its thread."""
        assert REQUESTS_PER_THREAD <= PENDING_SLOTS


# ------------------------------------------------------------------ what is measured


class TestEvents:
    """More events than are listed."""

    def test_they_are_counted_and_nothing_else_changes(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first are listed."""
        many = scenario(*elections(9))
        everything = run(many, events=True)
        monkeypatch.setattr(encoder, "EVENTS_LISTED", 4)
        few = run(many, events=True)
        assert few.events == everything.events[:4]
        assert (few.unlisted, everything.unlisted) == (len(everything.events) - 4, 0)
        assert few.outcome == everything.outcome

    def test_simulate_says_how_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One line."""
        monkeypatch.setattr(encoder, "EVENTS_LISTED", 1)
        found = CliRunner().invoke(
            app,
            ["simulate", str(REPOSITORY / "isr_pipeline/scenarios/library/w3.yaml"), "--json", "-"],
        )
        assert re.search(r"^1 events are listed; \d+ later ones are not$", found.stderr, re.M)


class TestSamples:
    """Curves of a trace."""

    @pytest.mark.parametrize("period_ms", [1, 7, 333.3, 999, 1000, 1001])
    def test_there_is_room_for_each_period(self, period_ms: float) -> None:
        """Up to the horizon, and never all of it is used."""
        header = at_the_end(scenario(horizon_ms=1000), sample_ms=period_ms)
        assert header.sample_count == -(-1000 * 1000 // round(period_ms * 1000))
        assert header.sample_count < header.samples_max


class TestLatencies:
    """Histograms."""

    @pytest.mark.parametrize("horizon_ms", [1, 1000, 65536, 131072])
    def test_a_wait_for_the_whole_run_has_its_bucket(self, horizon_ms: float) -> None:
        """No batch is committed or acknowledged before the horizon."""
        away = [fault("pause", 0, broker=b, duration_ms=horizon_ms) for b in (2, 3)]
        config = dict.fromkeys(
            ("replica.lag.time.max.ms", "broker.session.timeout.ms", "request.timeout.ms"), 300_000
        )
        produce = [{**ACKS_ALL, "records_per_s": 50_000}]
        given = scenario(*away, config=config, produce=produce, horizon_ms=horizon_ms)
        world = encode(given)
        advance(world)
        assert world.header.latency_max > 500 * horizon_ms
        assert numbers_of(world.w, "latencies").sum() == world.header.latency_batches > 0


class TestLockedReads:
    """Reads that a jump has to know, since a tick may meet the locks that they hold."""

    def test_where_a_cycle_has_more_the_result_is_the_same(self) -> None:
        """As without jumps: a jump goes no further than to a tick then."""
        many = scenario(
            partitions=LOCKED_MAX + 40,
            produce=[{**ACKS_1, "records_per_s": 10}],
            rules={"isr_lock": "rw_always"},
            service={"handler_read_us": 100},
            horizon_ms=10000,
        )
        header = at_the_end(many)
        cycles = 10 * 10
        assert header.jump_count > 0
        assert header.locked_read_count > cycles * LOCKED_MAX
        assert run(many).outcome == run(many, jumps=False).outcome


class TestReplicas:
    """As many replicas as a partition may have."""

    def test_each_has_its_time_in_the_cause(self) -> None:
        """The last of fifteen leaves: when it had caught up is told."""
        away = fault("pause", 10000, broker=MAX_RF, duration_ms=20000)
        config = {"broker.session.timeout.ms": 60000}
        events = run(scenario(away, brokers=MAX_RF, config=config), events=True).events
        (shrink,) = [one for one in events if one["kind"] == "isr_shrink"]
        assert re.fullmatch(
            r'\{"replicas": \{"15": \{"lastCaughtUpTimeMs": 9\d\d\d(\.\d+)?\}\}\}', shrink["cause"]
        )

    def test_more_are_refused(self) -> None:
        """Before the run, in one line."""
        with pytest.raises(InputError, match="topics: 16 replicas; allowed: at most 15"):
            encode(scenario(brokers=MAX_RF + 1))

    def test_more_log_dirs_are_refused(self) -> None:
        """Likewise."""
        with pytest.raises(InputError, match=r"log_dirs_per_broker: 9; allowed: 1\.\.8"):
            encode(scenario(cluster={"log_dirs_per_broker": 9}))
