"""What is counted while the world runs: events, time integrals, latencies.

A partition's conditions (offline, under min ISR, ...) hold as flags since a moment; whoever changes
something that a flag depends on calls `refresh`, which books the time until now and sets the flags
anew. Everything is counted after the warm-up; events are listed from 0.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import size_of
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import bit_length, nothing_like, number_of
from isr_pipeline.simulation.network import names
from isr_pipeline.simulation.shortcuts.depends import min_isr, note_isr
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.states import EventKind, FaultState, Standing, Touch
from isr_pipeline.simulation.world.tables import (
    INF,
    LATENCY_SUB_BITS,
    Broker,
    Event,
    Fault,
    Partition,
    Replica,
    Stream,
    World,
)

READERS_WAIT_US = 1_000_000
"""A high watermark that stands so long below the log's end keeps readers waiting.

In ordinary running it stands for a follower's round trip after each append. A consumer at the mark
asks again after its fetch.max.wait.ms, 500 by default: within this time it has asked twice.
"""


@compiled
def emit(
    world: World, kind: int, partition: Partition, broker: int, decided: int, mask: int
) -> Event:
    """List an event of ``partition`` now; nothing where the list is full.

    Leader, epoch and ISR are those the controller has committed. Past the list's size events are
    counted, not listed.
    """
    event = emit_of_broker(world, kind, broker)
    if event:
        event.decided_at = decided
        event.mask = mask
        event.partition = number_of(partition, world.partitions)
        event.leader = partition.leader
        event.leader_epoch = partition.leader_epoch
        event.isr = partition.isr
    return event


@compiled
def emit_of_broker(world: World, kind: int, broker: int) -> Event:
    """List an event of no partition now; nothing where the list is full."""
    n = world.listed_events
    event = world.events[n]
    if n >= world.events_max:
        world.dropped_events += 1
        return nothing_like(event)
    world.listed_events = n + 1
    event.time = world.now
    event.kind = kind
    event.broker = broker
    event.decided_at = -1
    event.mask = 0
    event.partition = -1
    event.leader = -1
    event.leader_epoch = -1
    event.isr = 0
    return event


@compiled
def _since(world: World, begin: int) -> int:
    """Time from ``begin`` to now, as far as it lies after the warm-up."""
    start = max(begin, world.warmup)
    return max(0, world.now - start)


@compiled
def book(world: World, partition: Partition) -> None:
    """Add the time since the flags of ``partition`` were set to its totals."""
    passed = _since(world, partition.flags_since)
    partition.flags_since = world.now
    if passed == 0:
        return
    flags = partition.flags
    if flags & Standing.OFFLINE:
        partition.offline_time += passed
    if flags & Standing.UNDER_MIN_ISR:
        partition.under_min_isr_time += passed
        if not flags & Standing.UNLED:
            partition.led_under_min_isr_time += passed
    if flags & Standing.UNDER_REPLICATED:
        partition.under_replicated_time += passed
    if flags & Standing.UNAVAILABLE:
        partition.unavailable_time += passed
    if flags & Standing.UNLED:
        partition.unled_time += passed
    if flags & Standing.ONE_REPLICA:
        partition.one_replica_time += passed


@compiled
def refresh(world: World, rules: Rules, partition: Partition) -> None:
    """Set the flags of ``partition`` anew, after its leader, its ISR or a broker changed."""
    book(world, partition)
    note_isr(world, partition, partition.isr)
    leader = partition.leader
    members = size_of(partition.isr)
    fewest = min_isr(world, rules, partition)
    before = partition.flags
    flags = 0
    if leader < 0:
        flags = Standing.OFFLINE | Standing.UNAVAILABLE | Standing.UNLED
    else:
        replica = partition.replicas[leader]
        broker = replica.broker
        if members < fewest:
            flags |= Standing.UNDER_MIN_ISR | Standing.UNAVAILABLE
        if members < partition.replication_factor:
            flags |= Standing.UNDER_REPLICATED
        if not broker.is_up or broker.paused_until > world.now or not replica.is_online:
            flags |= Standing.UNAVAILABLE | Standing.UNLED
        if members == 1 and not flags & Standing.UNAVAILABLE:
            flags |= Standing.ONE_REPLICA
    partition.flags = flags
    if (flags ^ before) & Standing.UNDER_MIN_ISR:
        kind = (
            EventKind.UNDER_MIN_ISR_START
            if flags & Standing.UNDER_MIN_ISR
            else EventKind.UNDER_MIN_ISR_END
        )
        emit(world, kind, partition, -1, -1, 0)


@compiled
def _so_far(world: World, partition: Partition, booked: int, standing: Standing) -> int:
    """Time in which ``partition`` stood so, up to now: what is booked, and what is not yet."""
    if partition.flags & standing:
        return booked + _since(world, partition.flags_since)
    return booked


@compiled
def _unavailable_so_far(world: World, partition: Partition) -> int:
    return _so_far(world, partition, partition.unavailable_time, Standing.UNAVAILABLE)


@compiled
def _unled_so_far(world: World, partition: Partition) -> int:
    return _so_far(world, partition, partition.unled_time, Standing.UNLED)


@compiled
def hw_stands(world: World, partition: Partition) -> None:
    """The HW of ``partition`` is below the LEO from now on."""
    if partition.stands_since < 0:
        partition.stands_since = world.now
        partition.unavailable_before = _unavailable_so_far(world, partition)
        partition.unled_before = _unled_so_far(world, partition)


@compiled
def hw_moved(world: World, partition: Partition, still_below: int) -> None:
    """The HW of ``partition`` has moved: how long did it stand?

    A standstill of request.timeout.ms counts as a whole: no acks=all producer gets an answer.
    Readers wait in one of `READERS_WAIT_US`, as far as a live leader is there: without one nothing
    is appended, and offline time and produce unavailability tell it.
    """
    since = partition.stands_since
    if since >= 0:
        if world.now - since >= READERS_WAIT_US:
            unled = _unled_so_far(world, partition) - partition.unled_before
            waited = _since(world, since) - unled
            if waited >= READERS_WAIT_US:
                world.readers_wait_time += waited
        if world.now - since >= world.request_timeout_us:
            other = _unavailable_so_far(world, partition) - partition.unavailable_before
            partition.unavailable_time += max(0, _since(world, since) - other)
        partition.stands_since = -1
    if still_below:
        hw_stands(world, partition)


@compiled
def _bucket_of(latency: int) -> int:
    """Number of the bucket for a latency in microseconds, in any histogram of latencies."""
    shift = max(0, bit_length(latency) - (LATENCY_SUB_BITS + 1))
    return (shift << LATENCY_SUB_BITS) + (latency >> shift)


@compiled
def note_latency(world: World, latency: int) -> None:
    """Put the commit latency (microseconds) of a batch into the histogram."""
    v = max(0, latency)
    world.latency_max = max(world.latency_max, v)
    world.latency_batches += 1
    world.latencies[_bucket_of(v)] += 1


@compiled
def note_produce_latency(world: World, stream: Stream, latency: int) -> None:
    """Put the produce latency (microseconds) of a batch of ``stream`` into that of its acks."""
    histogram = world.acks_all_latencies if stream.acks_all else world.acks_1_latencies
    histogram[_bucket_of(latency)] += 1


@compiled
def count_failed(world: World, change: int) -> None:
    """So many partitions more (or less) are marked failed by a fetcher."""
    world.failed_time += world.failed_partitions * _since(world, world.failed_since)
    world.failed_since = world.now
    before = world.failed_partitions
    world.failed_partitions += change
    if world.now >= world.warmup:
        world.failed_partitions_max = max(
            world.failed_partitions_max, max(before, world.failed_partitions)
        )


@compiled
def count_dead(world: World, change: int) -> None:
    """One fetcher thread more (or less) is dead."""
    before = world.dead_threads
    world.dead_threads += change
    if world.now >= world.warmup:
        world.dead_threads_max = max(world.dead_threads_max, max(before, world.dead_threads))


@compiled
def count_untracked(world: World, change: int) -> None:
    """So many replicas more (or less) lie on dead threads."""
    world.untracked_time += world.untracked_partitions * _since(world, world.untracked_since)
    world.untracked_since = world.now
    world.untracked_partitions += change


@compiled
def note_silence(world: World, broker: Broker) -> None:
    """The controller has missed ``broker`` until now: since the heartbeat that it reckons from."""
    if 0 < broker.fence_at < INF and not broker.is_fenced:
        since = broker.fence_at - broker.session_timeout_us
        world.longest_silence = max(world.longest_silence, world.now - since)


@compiled
def note_response(
    world: World, follower: Broker, size: int, cut: bool, response: int, full: bool
) -> None:
    """A read for ``follower`` took ``size`` bytes, its answer has ``response`` so far.

    What a limit cut short counts as the limit: more was there.
    """
    read = max(size, follower.fetch_max_bytes) if cut else size
    world.largest_read = max(world.largest_read, read)
    whole = max(response, follower.fetch_response_max_bytes) if full else response
    world.largest_response = max(world.largest_response, whole)


@compiled
def watch_detection_delay(world: World, follower: Replica) -> None:
    """Book the time in which the faulty ``follower`` should have been out of the ISR already.

    It counts from `Replica.overdue_from` (fault start + replica.lag.time.max.ms) on, while the
    replica is in the committed ISR and behind its leader's LEO.
    """
    if follower.overdue_since >= 0:
        begin = max(follower.overdue_since, follower.overdue_from)
        if world.now > begin:
            world.detection_delay += _since(world, begin)
        follower.overdue_since = -1
    if follower.overdue_from == INF:
        return
    partition = follower.partition
    leader = partition.leader
    if leader < 0 or leader == follower.position:
        return
    member = (partition.isr >> follower.position) & 1
    if member and follower.log_end_offset < partition.replicas[leader].log_end_offset:
        follower.overdue_since = world.now


@compiled
def touches(
    world: World, fault: Fault, follower: Replica, leader_broker: Broker, named: int
) -> bool:
    """Whether a fault touches ``follower``, or its link to its leader.

    Args:
        world: the world.
        fault: the fault.
        follower: the follower.
        leader_broker: the leader's broker, or nothing.
        named: `Touch` bits of those kinds that count for the partitions that they name.
    """
    kinds = fault.touches
    broker = follower.broker
    if kinds & Touch.LINK:
        if not leader_broker:
            return False
        here = broker.number
        there = leader_broker.number
        return (fault.from_node == here and fault.to_node == there) or (
            fault.from_node == there and fault.to_node == here
        )
    if fault.broker != broker:
        return False
    if kinds & Touch.LOG_DIR:
        return fault.log_dir == follower.log_dir
    if kinds & named:
        return names(world, fault, follower.partition)
    return kinds & Touch.PROCESS != 0


@compiled
def _fault_since(world: World, follower: Replica) -> int:
    """Start of the earliest fault that touches ``follower`` now: INF if none does."""
    partition = follower.partition
    leader = partition.leader
    leader_broker = (
        partition.replicas[leader].broker if leader >= 0 else nothing_like(follower.broker)
    )
    since = follower.touched_from
    for i in range(world.fault_count):
        fault = world.faults[i]
        running = fault.state in (FaultState.RUNNING, FaultState.SECOND_STEP)
        earlier = running and fault.start < since
        if earlier and touches(world, fault, follower, leader_broker, Touch.APPEND):
            since = fault.start
    return since


@compiled
def _lag_limit(partition: Partition) -> int:
    """replica.lag.time.max.ms of the leader of ``partition``: of the last one, if it has none."""
    leader = partition.leader if partition.leader >= 0 else partition.last_leader
    return partition.replicas[leader].broker.lag_time_max_us


@compiled
def rearm(world: World, replica: Replica) -> None:
    """A fault of ``replica``, or its leader, has changed: when is it overdue?

    Its detection is overdue from the fault's start + the leader's replica.lag.time.max.ms on.
    """
    watch_detection_delay(world, replica)
    since = _fault_since(world, replica)
    armed = INF if since == INF else since + _lag_limit(replica.partition)
    if (armed == INF) != (replica.overdue_from == INF):
        replica.partition.watched_followers += -1 if armed == INF else 1
    replica.overdue_from = armed
    replica.overdue_since = -1
    watch_detection_delay(world, replica)


@compiled
def touch(world: World, replica: Replica) -> None:
    """A fault of a moment hits ``replica``; it shows until the next successful append."""
    if replica.touched_from == INF:
        replica.touched_from = world.now
    rearm(world, replica)
