"""Logs: batches of a partition, leader epochs of a replica, what is committed and what is lost.

The *ledger* of a partition lists the batches on the log of the leader that the controller names,
oldest first. It is trimmed when every replica has them. A zombie leader's own appends move its LEO
only: they will be truncated, and no report counts them.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import Produce, produce_error, size_of
from isr_pipeline.kafka.recovery import forgets_epoch
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import cells_of
from isr_pipeline.simulation.measures import emit, note_latency
from isr_pipeline.simulation.shortcuts.depends import min_isr
from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.states import BatchState, EventKind
from isr_pipeline.simulation.world.tables import (
    BATCH_CELLS,
    EPOCHS_MAX,
    INF,
    Partition,
    Replica,
    World,
)


@compiled
def least_log_end(partition: Partition) -> int:
    """Least LEO of the replicas of ``partition`` whose log still exists, and survives."""
    least = 1 << 60
    for pos in range(partition.replication_factor):
        replica = partition.replicas[pos]
        if replica.is_online:
            least = min(least, min(replica.log_end_offset, replica.survives_to))
    return least


@compiled
def _move(partition: Partition, source: int, target: int, count: int) -> None:
    """Copy ``count`` batches of the ledger of ``partition`` towards its beginning."""
    before = cells_of(partition.ledger[source])
    after = cells_of(partition.ledger[target])
    for k in range(BATCH_CELLS * count):
        after[k] = before[k]


@compiled
def _join_pairs(partition: Partition) -> None:
    """Join committed neighbours: totals stay exact, boundaries at which a loss may begin do not."""
    committed = partition.ledger_uncommitted
    tail = partition.ledger_tail
    kept = 0
    for i in range(0, committed - 1, 2):
        batch = partition.ledger[i]
        b = partition.ledger[i + 1]
        acked = batch.acks_all_records * (
            batch.state == BatchState.ACKNOWLEDGED
        ) + b.acks_all_records * (b.state == BatchState.ACKNOWLEDGED)
        _move(partition, i + 1, kept, 1)
        partition.ledger[kept].acks_all_records = acked
        partition.ledger[kept].state = BatchState.ACKNOWLEDGED
        kept += 1
    rest = committed & ~1
    _move(partition, rest, kept, tail - rest)
    partition.ledger_uncommitted = committed - (rest - kept)
    partition.ledger_tail = tail - (rest - kept)
    partition.ledger_joins += 1


@compiled
def _give_up_oldest(world: World, partition: Partition) -> None:
    """The ledger is full of open batches: the oldest counts as never committed."""
    batch = partition.ledger[0]
    if batch.appended_at >= world.warmup:
        note_latency(world, world.now - batch.appended_at)
        world.uncommitted_batches += 1
    partition.ledger_start = batch.end
    tail = partition.ledger_tail
    _move(partition, 1, 0, tail - 1)
    partition.ledger_tail = tail - 1
    partition.ledger_uncommitted = max(0, partition.ledger_uncommitted - 1)


@compiled
def _make_room(world: World, partition: Partition) -> None:
    """Drop batches that every replica has; if all are still needed, keep them less exactly."""
    head = partition.ledger_head
    least = least_log_end(partition)
    while head < partition.ledger_uncommitted and partition.ledger[head].end <= least:
        partition.ledger_start = partition.ledger[head].end
        head += 1
    if head > 0:
        tail = partition.ledger_tail
        _move(partition, head, 0, tail - head)
        partition.ledger_head = 0
        partition.ledger_tail = tail - head
        partition.ledger_uncommitted -= head
    elif partition.ledger_uncommitted >= 2:
        _join_pairs(partition)
    else:
        _give_up_oldest(world, partition)


@hot
def add_batch(
    world: World, partition: Partition, end: int, size_bytes: int, acks_all_records: int, clock: int
) -> None:
    """Enter a batch whose last record is at ``end - 1`` into the ledger of ``partition``.

    ``clock``: its stamp, by which the page cache forgets it (`disk.stamp`).
    """
    head = partition.ledger_head
    tail = partition.ledger_tail
    before = 0
    if tail > head:
        last = partition.ledger[tail - 1]
        before = last.bytes
        if partition.ledger_uncommitted == tail and last.end <= least_log_end(partition):
            partition.ledger_start = last.end
            head = 0
            tail = 0
            partition.ledger_head = 0
            partition.ledger_uncommitted = 0
            before = 0
    if tail == partition.ledger_capacity:
        partition.ledger_tail = tail
        _make_room(world, partition)
        tail = partition.ledger_tail
    batch = partition.ledger[tail]
    batch.end = end
    batch.bytes = before + size_bytes
    batch.appended_at = world.now
    batch.clock = clock
    batch.acks_all_records = acks_all_records
    batch.state = BatchState.OPEN
    partition.ledger_tail = tail + 1


@compiled
def left_end(replica: Replica) -> int:
    """Where the log of ``replica`` ends, or will once its broker, which is dead, has recovered it.

    A broker that runs reads from the page cache what a power cut to come will take.
    """
    if replica.broker.is_up:
        return replica.log_end_offset
    return min(replica.log_end_offset, replica.survives_to)


@compiled
def _held_by_others(partition: Partition, hw: int) -> int:
    """Offset up to which some other log that still exists has what the leader's has.

    If that is ``hw`` or more, it may be further.
    """
    leader = partition.replicas[partition.leader]
    held = 0
    for pos in range(partition.replication_factor):
        other = partition.replicas[pos]
        if pos != leader.position and other.is_online:
            held = max(held, min(common_end(other, leader), left_end(other)))
            if held >= hw:
                break
    return held


@compiled
def commit_up_to(world: World, rules: Rules, partition: Partition, hw: int, isr: int) -> None:
    """Every batch of ``partition`` that ends at or below ``hw`` is committed now.

    ``isr`` is the leader's maximal ISR: with fewer than min.insync.replicas in it an acks=all
    producer is told so, and the records count as not acknowledged.
    """
    i = partition.ledger_uncommitted
    tail = partition.ledger_tail
    members = size_of(isr)
    fewest = min_isr(world, rules, partition)
    held = -1
    while i < tail:
        batch = partition.ledger[i]
        error = produce_error(batch.end, hw, members, fewest)
        if error == Produce.WAITING:
            break
        batch.state = BatchState.COMMITTED
        waited = world.now - batch.appended_at
        if batch.appended_at >= world.warmup:
            note_latency(world, waited)
            if (
                batch.acks_all_records > 0
                and error == Produce.NONE
                and waited <= world.request_timeout_us
            ):
                batch.state = BatchState.ACKNOWLEDGED
                partition.acknowledged_records += batch.acks_all_records
                world.acknowledged_records += batch.acks_all_records
                if held < 0:
                    held = _held_by_others(partition, hw)
                if batch.end > held:
                    world.records_of_one_replica += batch.acks_all_records
        i += 1
    partition.ledger_uncommitted = i


@compiled
def lose_from(world: World, partition: Partition, leo: int, broker: int) -> None:
    """Of the log of ``partition`` no more is left than up to ``leo``: what lies behind is lost.

    A leader is elected with such a log, or nobody is left who could lead with more.
    """
    tail = partition.ledger_tail
    lost = 0
    while tail > partition.ledger_head:
        batch = partition.ledger[tail - 1]
        if batch.end <= leo:
            break
        if batch.state == BatchState.ACKNOWLEDGED:
            lost += batch.acks_all_records
        elif batch.state == BatchState.OPEN and batch.appended_at >= world.warmup:
            note_latency(world, world.now - batch.appended_at)
            world.uncommitted_batches += 1
        tail -= 1
    partition.ledger_tail = tail
    partition.ledger_uncommitted = min(partition.ledger_uncommitted, tail)
    if leo <= 0:  # also what the ledger has forgotten, since every replica had it
        lost = partition.acknowledged_records - partition.lost_records
    partition.lost_records += lost
    if lost > 0:
        world.lost_records += lost
        emit(world, EventKind.RECORDS_LOST, partition, broker, -1, lost)


@compiled
def close_ledgers(world: World, partition: Partition) -> None:
    """At the horizon: what is still open counts with the latency it has reached."""
    for i in range(partition.ledger_uncommitted, partition.ledger_tail):
        batch = partition.ledger[i]
        if batch.appended_at >= world.warmup:
            note_latency(world, world.now - batch.appended_at)
            world.uncommitted_batches += 1


@hot
def data_end(partition: Partition, offset: int, leo: int, max_bytes: int) -> tuple[int, int]:
    """Where a read of ``partition`` from ``offset`` ends: (offset, bytes).

    Whole batches up to ``max_bytes``, the first always; never past ``leo``. Below the ledger, where
    batches are no longer known apart, records of the partition's usual size are counted.
    """
    if offset >= leo:
        return leo, 0
    head = partition.ledger_head
    tail = partition.ledger_tail
    if tail == head or offset < partition.ledger_start:
        limit = min(leo, partition.ledger_start) if tail > head else leo
        size = partition.record_bytes
        end = min(limit, offset + max(1, max_bytes // size))
        if end <= offset:
            end = leo
        return end, (end - offset) * size
    low = head
    high = tail - 1
    if low < high and partition.ledger[high - 1].end <= offset:
        low = high  # as a rule only the newest is new
    while low < high:  # first batch that ends behind offset
        middle = (low + high) >> 1
        if partition.ledger[middle].end > offset:
            high = middle
        else:
            low = middle + 1
    before = partition.ledger[low - 1].bytes if low > head else _bytes_before_head(partition)
    last = low
    while (
        last + 1 < tail
        and partition.ledger[last + 1].end <= leo
        and partition.ledger[last + 1].bytes - before <= max_bytes
    ):
        last += 1
    end = partition.ledger[last].end
    if end <= offset or end > leo:
        return leo, (leo - offset) * partition.record_bytes
    return end, partition.ledger[last].bytes - before


@compiled
def newest_within(partition: Partition, offset: int, clock: int) -> int:
    """Where the batches end that were stamped at ``clock`` or before, for a read from ``offset``.

    0 if none was. Below the ledger all batches are as old as the first.
    """
    head = partition.ledger_head
    low = head
    high = partition.ledger_tail
    if low == high or offset < partition.ledger_start:
        return INF if partition.begins_cold or clock >= 0 else 0
    while low < high:
        middle = (low + high) >> 1
        if partition.ledger[middle].clock <= clock:
            low = middle + 1
        else:
            high = middle
    return partition.ledger[low - 1].end if low > head else 0


@compiled
def _bytes_before_head(partition: Partition) -> int:
    """Cumulative bytes at which the ledger's first batch begins."""
    if partition.ledger_head > 0:
        return partition.ledger[partition.ledger_head - 1].bytes
    return 0


@compiled
def _newest_common(replica: Replica, other: Replica) -> int:
    """Place among the epochs of ``replica`` of the newest that ``other`` has too; -1 if none."""
    i = replica.epoch_count - 1
    j = other.epoch_count - 1
    while i >= 0 and j >= 0 and replica.epochs[i].epoch != other.epochs[j].epoch:
        if replica.epochs[i].epoch > other.epochs[j].epoch:
            i -= 1
        else:
            j -= 1
    return i if j >= 0 else -1


@compiled
def _forget_epochs(replica: Replica, count: int) -> int:
    """Make room among the epochs of ``replica``, of which there are ``count``; how many are left.

    Kafka keeps all. Kept are the oldest, the newest, and those in which `common_end` ends: for each
    other log the newest that both have, and the next one, where that ends. These are two for each
    other replica and two more: fewer than `EPOCHS_MAX`.

    Two logs part nowhere else, whichever of them is cut off where it parts from a third. A log that
    a power cut shortens, or that is still far behind, may end between: it is then cut off at an
    earlier epoch than it had to be, and fetches again what it had.
    """
    kept = 1 | 1 << (count - 1)
    partition = replica.partition
    for pos in range(partition.replication_factor):
        common = _newest_common(replica, partition.replicas[pos])
        if pos != replica.position and common >= 0:
            kept |= 3 << common
    epochs = replica.epochs
    n = 0
    for i in range(count):
        if (kept >> i) & 1:
            epochs[n].epoch = epochs[i].epoch
            epochs[n].start = epochs[i].start
            n += 1
    return n


@compiled
def add_epoch(replica: Replica, epoch: int, start: int) -> None:
    """The log has records of ``epoch`` from ``start`` on."""
    epochs = replica.epochs
    n = replica.epoch_count
    while n > 0 and epochs[n - 1].start >= start and epochs[n - 1].epoch < epoch:
        n -= 1  # an epoch without a record leaves no trace
    if n == EPOCHS_MAX:
        n = _forget_epochs(replica, n)
    epochs[n].epoch = epoch
    epochs[n].start = start
    replica.epoch_count = n + 1
    replica.newest_epoch = epoch


@compiled
def copy_epochs(source: Replica, target: Replica) -> None:
    """The follower ``target`` has appended what it read from ``source``: epochs come along."""
    newest = target.newest_epoch
    if source.newest_epoch <= newest:
        return
    for i in range(source.epoch_count):
        leader_epoch = source.epochs[i]
        if leader_epoch.epoch > newest and leader_epoch.start < target.log_end_offset:
            add_epoch(target, leader_epoch.epoch, leader_epoch.start)


@compiled
def cut_log(replica: Replica, leo: int) -> None:
    """Truncate the log of ``replica`` to ``leo``."""
    replica.log_end_offset = min(replica.log_end_offset, leo)
    replica.recovery_point = min(replica.recovery_point, replica.log_end_offset)
    if replica.survives_to < INF:
        replica.survives_to = min(replica.survives_to, replica.log_end_offset)
    n = replica.epoch_count
    while n > 1 and replica.epochs[n - 1].start >= replica.log_end_offset:
        n -= 1
    replica.epoch_count = n
    replica.newest_epoch = replica.epochs[n - 1].epoch


@compiled
def common_end(follower: Replica, leader: Replica) -> int:
    """Offset up to which the logs of two replicas are the same (KIP-101, KIP-279, KIP-595).

    The newest epoch that both have decides: the logs agree up to where the first of them leaves it.
    """
    if follower.newest_epoch == leader.newest_epoch:
        return min(follower.log_end_offset, leader.log_end_offset)
    i = follower.epoch_count - 1
    j = leader.epoch_count - 1
    while i >= 0 and j >= 0:
        ours = follower.epochs[i]
        theirs = leader.epochs[j]
        if ours.epoch == theirs.epoch:
            is_newest = i == follower.epoch_count - 1
            our_end = follower.log_end_offset if is_newest else follower.epochs[i + 1].start
            is_newest = j == leader.epoch_count - 1
            their_end = leader.log_end_offset if is_newest else leader.epochs[j + 1].start
            return min(our_end, their_end)
        if ours.epoch > theirs.epoch:
            i -= 1
        else:
            j -= 1
    return min(follower.log_end_offset, leader.log_end_offset)


@compiled
def truncation_offset(rules: Rules, follower: Replica, leader: Replica) -> int:
    """Where ``follower`` truncates its log: one that is new where its leader answers it."""
    oldest = leader.epochs[0].epoch
    if follower.must_truncate and forgets_epoch(rules, follower.newest_epoch, oldest):
        return follower.high_watermark
    return common_end(follower, leader)
