"""What must hold after every event, in every scenario: checked by a debug build of the kernel.

`run_checked_world` is the loop of `kernel.run_world` with a check behind every event. It calls the
very same functions, compiled once more with an assertion at every write (`assertions`). Each
invariant is one function over a row of the world, with a number and a text; the number of the first
that breaks is left in `World.broken_invariant`, and the run stops there.

What an invariant has to remember between events stands in ``seen``: one row a replica (what
concerns a partition in the row of its first replica), and one last row for the whole world.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numba
import numpy as np

from isr_pipeline.kafka.election import last_member_leaves
from isr_pipeline.kafka.partition import maximal_isr, size_of
from isr_pipeline.kafka.record import Pending
from isr_pipeline.kafka.releases import UNKNOWN, Clock, Kip501, Rules
from isr_pipeline.kafka.rows import Array, Row, number_of
from isr_pipeline.simulation.clients import waiting
from isr_pipeline.simulation.disk import disk_of, is_limited, write_rate
from isr_pipeline.simulation.eligible import eligible_now
from isr_pipeline.simulation.follower import expects, nothing_against, of_thread
from isr_pipeline.simulation.kernel import finish, take_until
from isr_pipeline.simulation.leader import leads_officially
from isr_pipeline.simulation.shortcuts.depends import may_elect_uncleanly, min_isr
from isr_pipeline.simulation.shortcuts.validated import is_validated
from isr_pipeline.simulation.world.jit import compiled, entry
from isr_pipeline.simulation.world.queue import due, leaf, slot_of
from isr_pipeline.simulation.world.states import (
    AlterItem,
    Caller,
    FaultState,
    FetchState,
    HandlerState,
    Leaving,
    Mover,
    RequestError,
    RequestState,
    Standing,
    ThreadState,
    Tick,
    WriteLock,
)
from isr_pipeline.simulation.world.tables import (
    INF,
    LOG_DIRS_MAX,
    REQUESTS_PER_THREAD,
    SLOT_BITS,
    Broker,
    FetcherThread,
    Handler,
    Partition,
    Replica,
    Sender,
    World,
    rules_in,
)
from tests.simulation import assertions
from tests.simulation.assertions import asserted_world_in

# a row of ``seen``
_EPOCH = 0  # leader epoch in which the replica led at the last event, -1 if it did not
_HW = 1
_LEPOCH = 2  # the partition's (first replica only)
_PEPOCH = 3
_LEADER = 4
_EXCUSED = 5  # the last event left the tick an excuse not to have checked this leader
_EXCUSED_AT = 6
_LEO0 = 7  # and on: what it has known each follower to have, since it leads in this epoch
# its last row
_NOW = 0
_LOST = 1
_UNCLEAN = 2
_READ_UNTIL = 3  # of all disks, summed
_CACHED = 4  # bytes that have entered all page caches


def remembered(w: Array) -> Array:
    """What the invariants remember of a world before its first event."""
    world = World(w)
    seen = np.zeros((world.replica_count + 1, _LEO0 + world.replicas_max), dtype=np.int64)
    remember(w, seen)
    return seen


# ------------------------------------------------------------------ the controller's record


@compiled
def _clock(world: World, rules: Rules, seen: Array, _: World) -> bool:
    """The clock never goes back, and the earliest plan comes next."""
    first = world.tree[leaf(slot_of(world, 0))]
    for number in range(1, world.slot_count):
        first = min(first, world.tree[leaf(slot_of(world, number))])
    return (
        world.now >= seen[world.replica_count, _NOW]
        and first >> SLOT_BITS >= world.now
        and world.tree[1] == first
    )


@compiled
def _faults_counted(world: World, rules: Rules, seen: Array, broker: Broker) -> bool:
    """Cached values are right."""
    running = 0
    for k in range(broker.disk_fault_count):
        running += world.faults[broker.disk_faults[k]].state == FaultState.RUNNING
    return running == broker.faults_on


@compiled
def _kept(world: World, rules: Rules, seen: Array, partition: Partition) -> bool:
    """Cached values are right."""
    for pos in range(partition.replication_factor):
        replica = partition.replicas[pos]
        if (
            replica.epoch_count > 0
            and replica.newest_epoch != replica.epochs[replica.epoch_count - 1].epoch
        ):
            return False
    return partition.eligible == eligible_now(partition)


@compiled
def _epochs(world: World, rules: Rules, seen: Array, partition: Partition) -> bool:
    """Epochs never fall, and another leader is another epoch."""
    i = number_of(partition.replicas, world.replicas)
    if partition.leader_epoch < seen[i, _LEPOCH] or partition.partition_epoch < seen[i, _PEPOCH]:
        return False
    another = partition.leader != seen[i, _LEADER] and seen[i, _LEADER] >= 0
    return not another or partition.leader_epoch > seen[i, _LEPOCH]


@compiled
def _one_leader(world: World, rules: Rules, seen: Array, partition: Partition) -> bool:
    """At most one leader acts in a leader epoch, none in a future one."""
    for a in range(partition.replication_factor):
        replica = partition.replicas[a]
        if replica.leader_epoch > partition.leader_epoch:
            return False
        if not replica.is_leader:
            continue
        if replica.leader_epoch == partition.leader_epoch and partition.leader not in (-1, a):
            return False
        for b in range(a):
            other = partition.replicas[b]
            if other.is_leader and other.leader_epoch == replica.leader_epoch:
                return False
    return True


@compiled
def _leader_in_isr(world: World, rules: Rules, seen: Array, partition: Partition) -> bool:
    """A leader is in its own ISR."""
    leader = partition.leader
    if leader >= 0 and not (partition.isr >> leader) & 1:
        return False
    for pos in range(partition.replication_factor):
        replica = partition.replicas[pos]
        if replica.is_leader and not (replica.isr >> pos) & 1:
            return False
    return True


@compiled
def _isr_sound(world: World, rules: Rules, seen: Array, partition: Partition) -> bool:
    """Only ELR, or ZooKeeper's controller to 1.0, leaves an ISR without a member."""
    isr = partition.isr
    elr = partition.elr
    everybody = (1 << partition.replication_factor) - 1
    if isr & ~everybody or elr & ~everybody or isr & elr:
        return False
    if not rules.elr and elr != 0:
        return False
    may_be_empty = rules.elr or last_member_leaves(rules, may_elect_uncleanly(world, partition))
    return isr != 0 or (may_be_empty and partition.leader < 0)


@compiled
def _leader_alive(world: World, rules: Rules, seen: Array, partition: Partition) -> bool:
    """But a last known leader, which 4.0 elects whatever it is."""
    leader = partition.leader
    may_be_dead = rules.elr and not rules.last_known_must_live
    if leader < 0 or (partition.is_recovering and may_be_dead):
        return True
    broker = partition.replicas[leader].broker
    waits = broker.leaving in (Leaving.ELECT, Leaving.ELECT_ONLY)  # ZooKeeper's controller works
    return not broker.is_fenced or waits


# ------------------------------------------------------------------ logs and high watermarks


@compiled
def _maximal(world: World, rules: Rules, seen: Array, replica: Replica) -> bool:
    """The maximal ISR contains the committed ISR."""
    partition = replica.partition
    if replica.isr & ~maximal_isr(replica):
        return False
    if leads_officially(replica) and replica.partition_epoch == partition.partition_epoch:
        return replica.isr == partition.isr
    return True


@compiled
def _hw_in_log(world: World, rules: Rules, seen: Array, replica: Replica) -> bool:
    """No high watermark lies outside its log."""
    return 0 <= replica.high_watermark <= replica.log_end_offset or not replica.is_online


@compiled
def _hw_rises(world: World, rules: Rules, seen: Array, replica: Replica) -> bool:
    """A high watermark never decreases within a leader epoch."""
    i = number_of(replica, world.replicas)
    if not replica.is_leader or seen[i, _EPOCH] != replica.leader_epoch:
        return True
    return bool(replica.high_watermark >= seen[i, _HW])


@compiled
def _may_truncate_committed(rules: Rules, partition: Partition) -> bool:
    """Whether a replica may have cut records off below the HW of another: before KIP-101."""
    if not rules.truncate_to_hw:
        return False
    if partition.leader_epoch > 0:
        return True
    for pos in range(partition.replication_factor):
        if partition.replicas[pos].broker.epoch > 1:
            return True
    return False


@compiled
def _members_have_hw(world: World, rules: Rules, seen: Array, replica: Replica) -> bool:
    """Every ISR member that is alive has the log up to the high watermark."""
    partition = replica.partition
    if not leads_officially(replica) or _may_truncate_committed(rules, partition):
        return True
    for pos in range(partition.replication_factor):
        if not (partition.isr >> pos) & 1:
            continue
        follower = partition.replicas[pos]
        alive = follower.broker.is_up and follower.is_online
        if alive and follower.log_end_offset < replica.high_watermark:
            return False
    return True


@compiled
def _members_known(world: World, rules: Rules, seen: Array, replica: Replica) -> bool:
    """UNKNOWN is no knowledge. Guarantee 4 of KAFKA-4485.

    What is known goes back when a fetch that its follower gave up is read after a later one.
    """
    partition = replica.partition
    if not leads_officially(replica) or _may_truncate_committed(rules, partition):
        return True
    i = number_of(replica, world.replicas)
    led_before = seen[i, _EPOCH] == replica.leader_epoch
    for pos in range(partition.replication_factor):
        if pos != replica.position and (partition.isr >> pos) & 1:
            leo = replica.followers[pos].log_end_offset
            if leo != UNKNOWN and leo < replica.high_watermark:
                if not led_before or seen[i, _LEO0 + pos] < replica.high_watermark:
                    return False
    return True


@compiled
def _ledger_in_log(world: World, rules: Rules, seen: Array, partition: Partition) -> bool:
    """Once that leader acts; until then it may still truncate as a follower."""
    leader = partition.leader
    tail = partition.ledger_tail
    if leader < 0 or tail == partition.ledger_head:
        return True
    replica = partition.replicas[leader]
    last = partition.ledger[tail - 1]
    acts = replica.is_leader and leads_officially(replica)
    return not acts or last.end <= replica.log_end_offset


@compiled
def _losses(world: World, rules: Rules, seen: Array, _: World) -> bool:
    """Only an unclean election loses acknowledged records (from KIP-101 on), or a log that did."""
    last = world.replica_count
    if world.lost_records == seen[last, _LOST] or rules.truncate_to_hw or world.shortened_logs > 0:
        return True
    return bool(world.unclean_elections > seen[last, _UNCLEAN])


# ------------------------------------------------------------------ KAFKA-4485 as it was worded


@compiled
def _hw_waits(world: World, rules: Rules, seen: Array, replica: Replica) -> bool:
    """KAFKA-4485, 1: the high watermark does not pass a replica within its lag."""
    i = number_of(replica, world.replicas)
    risen = seen[i, _EPOCH] == replica.leader_epoch and replica.high_watermark > seen[i, _HW]
    if rules.clock != Clock.ISSUE_TEXT or not risen:
        return True
    for pos in range(replica.partition.replication_factor):
        follower = replica.followers[pos]
        within = world.now - follower.last_caught_up_time <= replica.broker.lag_time_max_us
        if pos != replica.position and within and follower.log_end_offset < replica.high_watermark:
            return False
    return True


@compiled
def _excused(world: World, leader: Replica) -> bool:
    """Whether the tick may not have checked ``leader``: stopped, held up, or a write on."""
    broker = leader.broker
    return (
        not broker.is_up
        or broker.paused_until > world.now
        or broker.paused_until >= broker.tick_due
        or broker.tick_position >= 0
        or leader.pending != Pending.NONE
        or not leads_officially(leader)
        or leader.partition.partition_epoch != leader.partition_epoch
    )


@compiled
def _laggards_out(world: World, rules: Rules, seen: Array, replica: Replica) -> bool:
    """A tick after its last excuse, and the lag limit after the last catch-up."""
    i = number_of(replica, world.replicas)
    if rules.clock != Clock.ISSUE_TEXT or rules.log_end_exempt or rules.kip501 != Kip501.NONE:
        return True
    if seen[i, _EXCUSED] == 1 or _excused(world, replica):
        return True
    since = world.now - seen[i, _EXCUSED_AT]
    for pos in range(replica.partition.replication_factor):
        if pos != replica.position and (replica.isr >> pos) & 1:
            lag = world.now - replica.followers[pos].last_caught_up_time
            broker = replica.broker
            if (
                lag > broker.lag_time_max_us + broker.tick_period_us
                and since > broker.tick_period_us
            ):
                return False
    return True


# ------------------------------------------------------------------ what is counted


@compiled
def _fetchers_counted(world: World, rules: Rules, seen: Array, _: World) -> bool:
    """Failed partitions, dead threads and lost replicas are as many as counted."""
    failed = 0
    dead = 0
    untracked = 0
    for i in range(world.replica_count):
        replica = world.replicas[i]
        failed += replica.fetch_state == FetchState.FAILED
        failed += replica.mover_state == Mover.FAILED
        untracked += replica.fetch_state == FetchState.DEAD
        dead += replica.mover_state == Mover.DEAD
    for i in range(world.thread_count):
        dead += world.threads[i].state == ThreadState.DEAD
    return (
        failed == world.failed_partitions
        and dead == world.dead_threads
        and untracked == world.untracked_partitions
    )


@compiled
def _flags_true(world: World, rules: Rules, seen: Array, partition: Partition) -> bool:
    """At the very end of a pause the fault's own event is still to come."""
    flags = 0
    ending = 0
    leader = partition.leader
    members = size_of(partition.isr)
    if leader < 0:
        flags = Standing.OFFLINE | Standing.UNAVAILABLE | Standing.UNLED
    else:
        replica = partition.replicas[leader]
        broker = replica.broker
        if members < min_isr(world, rules, partition):
            flags |= Standing.UNDER_MIN_ISR | Standing.UNAVAILABLE
        if members < partition.replication_factor:
            flags |= Standing.UNDER_REPLICATED
        if not broker.is_up or broker.paused_until > world.now or not replica.is_online:
            flags |= Standing.UNAVAILABLE | Standing.UNLED
        elif broker.paused_until == world.now:
            ending = Standing.UNAVAILABLE | Standing.UNLED | Standing.ONE_REPLICA
        if members == 1 and not flags & Standing.UNAVAILABLE:
            flags |= Standing.ONE_REPLICA
    return flags | ending == partition.flags | ending


@compiled
def _totals(world: World, rules: Rules, seen: Array, _: World) -> bool:
    """Totals agree with one another."""
    return (
        0 <= world.lost_records <= world.acknowledged_records
        and 0 <= world.records_of_one_replica <= world.acknowledged_records
        and world.isr_flaps >= 0
        and world.isr_flaps <= world.isr_expands * world.replica_count
        and world.spurious_removals >= 0
        and 0 <= world.uncommitted_batches <= world.latency_batches
    )


@compiled
def _records_found(world: World, rules: Rules, seen: Array, _: World) -> bool:
    """A producer's record is acknowledged, waits, or is given up: of those that count."""
    for i in range(world.stream_count):
        stream = world.streams[i]
        if stream.request and stream.to_send_again not in (0, stream.request.records):
            return False
        told = stream.acknowledged + stream.given_up
        came = stream.batch_number * stream.batch_records
        if stream.counted_from >= world.warmup and stream.last_before == 0:
            if told + waiting(stream) != came:
                return False
    return True


# ------------------------------------------------------------------ the request path


@compiled
def _answers_waiting(sender: Sender) -> int:
    """Answers in the queue of a network thread; -1 of one whose queue is not as counted."""
    waiting = sender.clients + sender.surges
    request = sender.oldest
    while request:
        waiting += 1 + request.clients_before + request.surges_before
        if not request.next_answer and request != sender.newest:
            return -1
        request = request.next_answer
    return waiting if waiting == sender.waiting else -1


@compiled
def _broker_counted(world: World, rules: Rules, seen: Array, broker: Broker) -> bool:
    """Queues, handlers and network threads are as busy as counted."""
    idle = 0
    for i in range(broker.io_threads):
        idle += broker.handlers[i].state == HandlerState.IDLE
    waiting = 0
    for i in range(broker.sender_count):
        waiting += _answers_waiting(broker.senders[i])
    queued = 0
    cell = broker.queue_head
    while cell != broker.queue_tail:
        queued += broker.queue[cell].count
        cell = (cell + 1) % broker.queue_capacity
    if broker.is_up and idle > 0 and queued > 0 and broker.paused_until <= world.now:
        return False
    return (
        idle == broker.idle_handlers
        and waiting == broker.waiting_answers
        and queued == broker.queue_length
    )


@compiled
def _waits_for_lock(handler: Handler) -> bool:
    """Whether ``handler`` waits for a partition's lock."""
    return handler.state in (
        HandlerState.FETCH_LOCK,
        HandlerState.PRODUCE_LOCK,
        HandlerState.COMPLETE_LOCK,
        HandlerState.RECORD_LOCK,
    )


@compiled
def _waits_for_log(handler: Handler) -> bool:
    """Whether ``handler`` waits for appends to a log that are not done."""
    waits = handler.state in (HandlerState.PRODUCE_LOG, HandlerState.LOG_WAIT)
    return waits and 0 < handler.appends_before <= handler.locked.appending


@compiled
def _writers_in_line(world: World, broker: Broker, replica: Replica) -> bool:
    """Whether an answer and metadata wait for the lock of ``replica`` only while it is held."""
    writer = replica.write_lock
    free = replica.readers == 0 and writer & WriteLock.HELD == 0
    if writer & WriteLock.ANSWER_WAITS:
        if not broker.alter_answered or replica.alter_item != AlterItem.ANSWERED:
            return False
        if free and due(world, broker.alter_slot) == INF:
            return False
    if writer & WriteLock.METADATA_WAIT:
        record = broker.metadata[broker.metadata_head]
        if broker.metadata_head == broker.metadata_tail or record.partition != replica.partition:
            return False
        if free and due(world, broker.metadata_slot) == INF:
            return False
    return True


@compiled
def _locks(world: World, rules: Rules, seen: Array, _: World) -> bool:
    """A lock is held by its holders, and no request waits for a free one."""
    for i in range(world.replica_count):
        replica = world.replicas[i]
        broker = replica.broker
        readers = 0
        writers = 0
        appending = 0
        for k in range(broker.io_threads):
            handler = broker.handlers[k]
            if handler.locked == replica:
                readers += handler.state == HandlerState.FETCH
                appending += handler.state in (HandlerState.PRODUCE_DISK, HandlerState.PRODUCE_LOG)
                writers += handler.state == HandlerState.EXPAND
        for k in range(world.request_count):
            request = world.requests[k]
            if request.locked == replica and request.state in (
                RequestState.COMPLETING,
                RequestState.EXPIRING,
                RequestState.EXPIRING_READ,
            ):
                readers += 1
        waits = False
        if broker.tick_position >= 0 and broker.hosted[broker.tick_position].replica == replica:
            writers += broker.tick_state == Tick.WRITES
            waits = broker.tick_state == Tick.WAITS
        if appending != replica.appending or readers + appending != replica.readers:
            return False
        if writers != (replica.write_lock & WriteLock.HELD != 0):
            return False
        if replica.write_lock & WriteLock.TICK_WAITS and not waits:
            return False
        if not _writers_in_line(world, broker, replica):
            return False
    for i in range(world.handler_count):
        handler = world.handlers[i]
        if _waits_for_lock(handler) and handler.locked.write_lock == WriteLock.FREE:
            if due(world, handler.slot) == INF:
                return False
    return True


@compiled
def _stands_still(broker: Broker, log_dir: int) -> bool:
    """Whether a disk writes nothing: appends wait for the end of the fault, which has its event."""
    disk = disk_of(broker, log_dir)
    return is_limited(disk) and write_rate(disk) == 0


@compiled
def _waits_for_disk(handler: Handler) -> bool:
    """Whether a handler's append waits for a disk that stands still."""
    leader = handler.locked
    writes = handler.state == HandlerState.PRODUCE_DISK
    return writes and _stands_still(leader.broker, leader.log_dir)


@compiled
def _thread_waits_for_disk(thread: FetcherThread) -> bool:
    """Whether a fetcher thread's append waits for a disk that stands still."""
    if thread.state != ThreadState.APPENDING or not thread.holds_back:
        return False
    follower = thread.fetched[thread.append_place].follower
    return _stands_still(thread.follower, follower.log_dir)


@compiled
def _at_work(world: World, rules: Rules, seen: Array, _: World) -> bool:
    """An entity at work has a next event, or waits for a disk that stands still."""
    for i in range(world.handler_count):
        handler = world.handlers[i]
        waits = _waits_for_lock(handler) or _waits_for_log(handler) or _waits_for_disk(handler)
        if handler.state != HandlerState.IDLE and not waits:
            if due(world, handler.slot) == INF or not handler.broker.is_up:
                return False
    for i in range(world.sender_count):
        sender = world.senders[i]
        if sender.code != Caller.NONE and due(world, sender.slot) == INF:
            return False
    for i in range(world.request_count):
        request = world.requests[i]
        if request.state in (
            RequestState.TO_BROKER,
            RequestState.PURGATORY,
            RequestState.EXPIRING,
            RequestState.EXPIRING_READ,
            RequestState.TO_OWNER,
        ):
            if due(world, request.slot) == INF:
                return False
    for i in range(world.thread_count):
        thread = world.threads[i]
        if thread.state in (ThreadState.WAITING, ThreadState.APPENDING, ThreadState.BACKOFF):
            if not thread.follower.is_up:
                return False
            if due(world, thread.slot) == INF and not _thread_waits_for_disk(thread):
                return False
        if thread.state == ThreadState.WAITING and thread.request.state == RequestState.FREE:
            return False
    for i in range(world.broker_count):
        broker = world.brokers[i]
        walks = broker.is_up and broker.tick_state != Tick.WAITS
        if walks and due(world, broker.tick_slot) == INF:
            return False
    return True


@compiled
def _fetched(world: World, rules: Rules, seen: Array, replica: Replica) -> bool:
    """A replica that is to fetch is fetched."""
    if replica.fetch_state not in (FetchState.FETCHING, FetchState.DELAYED):
        return True
    if replica.leader < 0 or replica.leader == replica.position:
        return False
    thread = replica.partition.replicas[replica.leader].fetching[replica.position].thread
    return due(world, thread.slot) < INF or _thread_waits_for_disk(thread)


@compiled
def _asks_validated(world: World, thread: FetcherThread) -> bool:
    """24, of a thread: what its next fetch will ask for without a check."""
    if thread.validated_at != world.rare_events:
        return True
    request = thread.request
    if not request:
        return False
    for i in range(request.entry_count):
        fetched = thread.fetched[i]
        replica = fetched.follower
        if request.entries[i].offset >= 0:
            if replica.fetch_state != FetchState.FETCHING or not of_thread(thread, i):
                return False
            if not nothing_against(replica, fetched.leader):
                return False
            if replica.high_watermark < min(
                fetched.answered_high_watermark, replica.log_end_offset
            ):
                return False
    return True


@compiled
def _sent_validated(world: World, thread: FetcherThread) -> bool:
    """24, of the fetches it has sent: what brokers will answer, and it append, without one."""
    for j in range(REQUESTS_PER_THREAD):
        request = thread.requests[j]
        if request.state == RequestState.FREE or not is_validated(world, request):
            continue
        for i in range(request.entry_count):
            entry = request.entries[i]
            if entry.offset < 0:
                continue
            fetched = thread.fetched[i]
            if (
                not nothing_against(fetched.follower, fetched.leader)
                or entry.error != RequestError.NONE
            ):
                return False
            if entry.leader_epoch != fetched.leader.leader_epoch:
                return False
            if entry.offset > fetched.leader.log_end_offset:
                return False
            waits = thread.request == request and thread.state == ThreadState.WAITING
            if waits and not expects(thread, i, entry):
                return False
    return True


@compiled
def _validated(world: World, rules: Rules, seen: Array, _: World) -> bool:
    """A validated fetch would pass every check."""
    for i in range(world.thread_count):
        thread = world.threads[i]
        if not _asks_validated(world, thread) or not _sent_validated(world, thread):
            return False
    return True


@compiled
def _changes_counted(world: World, rules: Rules, seen: Array, broker: Broker) -> bool:
    """ISR changes on their way are as many as counted."""
    queued = 0
    flying = 0
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        queued += replica.alter_item == AlterItem.QUEUED
        flying += replica.alter_item == AlterItem.IN_FLIGHT
    if flying > 0 and broker.alter_due == INF:
        return False
    answered = broker.alter_answered
    if answered and (flying > 0 or broker.alter_due == INF):
        return False
    if broker.alter_due < INF and due(world, broker.alter_slot) == INF and not answered:
        return False
    return queued == broker.alter_queued


# ------------------------------------------------------------------ disks


@compiled
def _reads_until(world: World) -> int:
    """When the reads of each disk end, summed: each only moves on."""
    total = 0
    for k in range(world.broker_count):
        for log_dir in range(LOG_DIRS_MAX):
            total += world.brokers[k].disks[log_dir].read_until
    return total


@compiled
def _cached_bytes(world: World) -> int:
    """Bytes that have entered the page caches, summed."""
    total = 0
    for k in range(world.broker_count):
        total += world.brokers[k].clock
    return total


@compiled
def _largest_write(world: World, broker: Broker) -> int:
    """No append to a log of ``broker`` is larger."""
    largest = broker.fetch_max_bytes
    for i in range(world.stream_count):
        stream = world.streams[i]
        largest = max(largest, stream.request_records_max * stream.record_bytes)
    return largest


@compiled
def _disks(world: World, rules: Rules, seen: Array, _: World) -> bool:
    """Dirty bytes stay within their bound; no disk reads backwards, no cache forgets its clock."""
    last = world.replica_count
    for k in range(world.broker_count):
        broker = world.brokers[k]
        writers = 1 + broker.io_threads + broker.thread_count
        room = writers * _largest_write(world, broker)
        for log_dir in range(LOG_DIRS_MAX):
            disk = broker.disks[log_dir]
            if not 0 <= disk.dirty <= min(disk.entered, disk.dirty_bytes_max + room):
                return False
    read = _reads_until(world) >= seen[last, _READ_UNTIL]
    return bool(read and _cached_bytes(world) >= seen[last, _CACHED])


# ------------------------------------------------------------------ all of them


Check = Callable[..., bool]
Checks = tuple[tuple[int, str, Check], ...]

OF_PARTITIONS = (
    (2, "epochs never fall, and another leader is another epoch", _epochs),
    (3, "at most one leader acts in a leader epoch, none in a future one", _one_leader),
    (4, "a leader is in its own ISR", _leader_in_isr),
    (
        5,
        "the ISR is part of the assignment, not empty without a cause, disjoint from the ELR",
        _isr_sound,
    ),
    (6, "the controller's leader is on a broker that it has not fenced", _leader_alive),
    (
        12,
        "the ledger ends within the log of the controller's leader, once that acts",
        _ledger_in_log,
    ),
    (17, "what a partition is counted for is what it is", _flags_true),
    (25, "cached values are right: eligible brokers, newest epochs, number of disk faults", _kept),
)
"""Number, text and function of what holds of every partition."""

OF_REPLICAS = (
    (8, "no high watermark lies outside its log", _hw_in_log),
    (22, "a replica that is to fetch is fetched", _fetched),
)
"""Of every replica."""

OF_LEADERS = (
    (7, "the maximal ISR contains the committed ISR", _maximal),
    (9, "a high watermark never decreases within a leader epoch", _hw_rises),
    (10, "every ISR member that is alive has the log up to the high watermark", _members_have_hw),
    (11, "no ISR member has only ever been known to be behind the high watermark", _members_known),
    (14, "KAFKA-4485, 1: the high watermark does not pass a replica within its lag", _hw_waits),
    (15, "KAFKA-4485, 2: a lagging replica is out of the ISR by the next tick", _laggards_out),
)
"""Of every replica that leads, or thinks that it does."""

OF_BROKERS = (
    (19, "queues, handlers and network threads are as busy as counted", _broker_counted),
    (23, "ISR changes on their way are as many as counted", _changes_counted),
    (
        25,
        "cached values are right: eligible brokers, newest epochs, number of disk faults",
        _faults_counted,
    ),
)
"""Of every broker."""

OF_THE_WORLD = (
    (1, "the clock never goes back, and the earliest plan comes next", _clock),
    (13, "only an unclean election loses acknowledged records (from KIP-101 on)", _losses),
    (
        16,
        "failed partitions, dead threads and lost replicas are as many as counted",
        _fetchers_counted,
    ),
    (18, "totals agree with one another", _totals),
    (20, "a partition's lock is held by its holders, and no request waits for a free one", _locks),
    (21, "an entity at work has a next event, or its disk stands still", _at_work),
    (24, "a validated fetch would pass every check", _validated),
    (26, "a producer's record is acknowledged, waits, or is given up", _records_found),
    (27, "dirty bytes are within their bound, and no disk reads backwards", _disks),
)
"""Of the world as a whole."""

INVARIANTS: Mapping[int, str] = MappingProxyType(
    {
        number: text
        for number, text, _ in sorted(
            (*OF_PARTITIONS, *OF_REPLICAS, *OF_LEADERS, *OF_BROKERS, *OF_THE_WORLD),
            key=lambda one: one[0],
        )
    }
)
"""Number of an invariant -> what it says."""


def _first_of(checks: Checks) -> Callable[..., int]:
    """Join checks to one compiled function: the number of the first that fails, 0 if none does."""
    if not checks:

        @compiled
        def nothing_broken(world: World, rules: Rules, seen: Array, row: Row) -> int:
            return 0

        return nothing_broken
    (number, _, holds), others = checks[0], _first_of(checks[1:])

    @compiled
    def broken(world: World, rules: Rules, seen: Array, row: Row) -> int:
        if not holds(world, rules, seen, row):
            return number
        return others(world, rules, seen, row)

    return broken


_partition_broken = _first_of(OF_PARTITIONS)
_replica_broken = _first_of(OF_REPLICAS)
_leader_broken = _first_of(OF_LEADERS)
_broker_broken = _first_of(OF_BROKERS)
_world_broken = _first_of(OF_THE_WORLD)


@compiled
def _remember(world: World, seen: Array) -> None:
    """Keep what the next check compares with."""
    last = world.replica_count
    seen[last, _NOW] = world.now
    seen[last, _LOST] = world.lost_records
    seen[last, _UNCLEAN] = world.unclean_elections
    seen[last, _READ_UNTIL] = _reads_until(world)
    seen[last, _CACHED] = _cached_bytes(world)
    for i in range(world.partition_count):
        partition = world.partitions[i]
        first = number_of(partition.replicas, world.replicas)
        seen[first, _LEPOCH] = partition.leader_epoch
        seen[first, _PEPOCH] = partition.partition_epoch
        seen[first, _LEADER] = partition.leader
    for i in range(world.replica_count):
        replica = world.replicas[i]
        leads = replica.is_leader
        led_before = leads and seen[i, _EPOCH] == replica.leader_epoch
        for pos in range(replica.partition.replication_factor):
            leo = replica.followers[pos].log_end_offset
            known = led_before and leo != UNKNOWN
            seen[i, _LEO0 + pos] = max(leo, seen[i, _LEO0 + pos]) if known else leo
        seen[i, _EPOCH] = replica.leader_epoch if leads else -1
        seen[i, _HW] = replica.high_watermark
        if seen[i, _EXCUSED] == 1:
            seen[i, _EXCUSED_AT] = world.now
        seen[i, _EXCUSED] = 1 if not leads or _excused(world, replica) else 0


@compiled
def _first_broken(world: World, rules: Rules, seen: Array) -> int:
    """Number of an invariant that does not hold now, 0 if all do."""
    for i in range(world.partition_count):
        broken = _partition_broken(world, rules, seen, world.partitions[i])
        if broken != 0:
            return broken
    for i in range(world.replica_count):
        replica = world.replicas[i]
        broken = _replica_broken(world, rules, seen, replica)
        if broken == 0 and replica.is_leader:
            broken = _leader_broken(world, rules, seen, replica)
        if broken != 0:
            return broken
    for i in range(world.broker_count):
        broken = _broker_broken(world, rules, seen, world.brokers[i])
        if broken != 0:
            return broken
    return _world_broken(world, rules, seen, world)


F = TypeVar("F", bound=Callable[..., object])


def _kept_apart(function: F) -> F:
    """An `entry` whose machine code is kept by what `assertions` says, which numba does not see."""
    shared = numba.config.CACHE_DIR
    text = Path(assertions.__file__).read_bytes()
    numba.config.CACHE_DIR = f"{shared}/debug-{hashlib.sha256(text).hexdigest()[:16]}"
    try:
        return entry(function)
    finally:
        numba.config.CACHE_DIR = shared


@_kept_apart
def remember(w: Array, seen: Array) -> None:
    """Keep what the next check compares with."""
    _remember(asserted_world_in(w), seen)


@_kept_apart
def first_broken(w: Array, rules: Array, seen: Array) -> int:
    """Number of the first invariant that does not hold now, 0 if all do."""
    return _first_broken(asserted_world_in(w), rules_in(rules), seen)


@compiled
def _run_checked(world: World, rules: Rules, seen: Array) -> None:
    """Take event after event, each followed by the checks."""
    while take_until(world, rules, world.horizon, 1) == 1:
        world.broken_invariant = _first_broken(world, rules, seen)
        if world.broken_invariant != 0:
            return
        _remember(world, seen)
    finish(world)


@_kept_apart
def run_checked_world(w: Array, rules: Array, seen: Array) -> None:
    """`kernel.run_world`, with every invariant checked after every event.

    Args:
        w: the world.
        rules: the switches (`releases.as_cells`).
        seen: `remembered` of this world.

    Stops at the first event after which one does not hold: `World.broken_invariant` is its number.

    Raises:
        AssertionBroken: a write that the cell's declaration excludes.
    """
    _run_checked(asserted_world_in(w), rules_in(rules), seen)
