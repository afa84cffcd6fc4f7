"""The locks of a partition on its leader: its own, and its log's.

Who reads or appends holds its own shared, who changes the ISR alone: Kafka's
`Partition.leaderIsrUpdateLock`. Who appends holds the log's alone, `UnifiedLog.lock`: one append
comes after the other, and a follower's fetch that has moved waits for them.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import (
    write_waits,
)
from isr_pipeline.kafka.releases import Lock, Rules
from isr_pipeline.simulation.disk import begin_write, disk_of, is_limited, written_at
from isr_pipeline.simulation.network import append_us
from isr_pipeline.simulation.shortcuts.depends import (
    note,
)
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.queue import cancel, schedule
from isr_pipeline.simulation.world.states import (
    Appends,
    Depends,
    HandlerState,
    WriteLock,
)
from isr_pipeline.simulation.world.tables import (
    LOCKED_MAX,
    Handler,
    Replica,
    World,
)


@compiled
def wake_lock_waiters(world: World, leader: Replica) -> None:
    """The write lock of ``leader`` is free: handlers that waited for it go on, in order."""
    broker = leader.broker
    handler = broker.handlers
    for _ in range(broker.io_threads):
        if handler.locked == leader and handler.state in (
            HandlerState.FETCH_LOCK,
            HandlerState.PRODUCE_LOCK,
            HandlerState.RECORD_LOCK,
            HandlerState.COMPLETE_LOCK,
        ):
            schedule(world, handler.slot, world.now)
        handler = handler[1]


@compiled
def begin_locked_read(world: World, leader: Replica, end: int) -> None:
    """A read begins that holds the partition's lock until its end; the last ones are listed."""
    leader.readers += 1
    _list_read(world, leader, world.now, end)


@compiled
def _list_read(world: World, leader: Replica, begin: int, end: int) -> None:
    """List what holds the partition's lock between two moments."""
    read = world.locked_reads[world.locked_read_count & (LOCKED_MAX - 1)]
    read.begin = begin
    read.end = end
    read.broker = leader.broker
    world.locked_read_count += 1


@compiled
def release_read(world: World, leader: Replica) -> bool:
    """A read that held the lock is over; True if whoever waits to write goes first."""
    leader.readers -= 1
    return (
        leader.write_lock != WriteLock.FREE and leader.readers == 0 and _call_writers(world, leader)
    )


@cold
def _call_writers(world: World, leader: Replica) -> bool:
    """Nobody reads ``leader`` any longer: who waits to write goes on now. False if nobody does.

    At one instant a tick comes before an answer, that before metadata.
    """
    broker = leader.broker
    if leader.write_lock & WriteLock.TICK_WAITS:
        schedule(world, broker.tick_slot, world.now)
    if leader.write_lock & WriteLock.ANSWER_WAITS:
        schedule(world, broker.alter_slot, world.now)
    if leader.write_lock & WriteLock.METADATA_WAIT:
        schedule(world, broker.metadata_slot, world.now)
    return leader.write_lock & ~WriteLock.HELD != 0


@compiled
def lock_is_busy(world: World, leader: Replica, mark: int) -> bool:
    """Whether a writer has to wait for the lock; it then stands in line (a `WriteLock` bit)."""
    if not write_waits(leader.readers, leader.write_lock & WriteLock.HELD != 0):
        return False
    note(world, Depends.LOCK)
    leader.write_lock |= mark
    return True


@compiled
def leave_lock(world: World, leader: Replica, mark: int) -> None:
    """A writer that held the lock of ``leader``, or waited for it (`WriteLock` bits), is done."""
    if leader.write_lock & mark == 0:
        return
    leader.write_lock &= ~mark
    if leader.write_lock == WriteLock.FREE:
        wake_lock_waiters(world, leader)
    elif leader.readers == 0:
        _call_writers(world, leader)


@compiled
def append_must_wait(leader: Replica) -> bool:
    """Whether an append to ``leader`` has to wait for a writer, or one that waits itself."""
    return leader.write_lock != WriteLock.FREE


@compiled
def read_must_wait(rules: Rules, leader: Replica) -> bool:
    """Whether a new handler-stage read has to wait for a writer, or one that waits."""
    return leader.write_lock != WriteLock.FREE and rules.isr_lock >= Lock.RW_ALWAYS


@compiled
def come_to_log(world: World, handler: Handler, leader: Replica) -> None:
    """An append comes to the log: it holds the partition's lock, and waits for those before it."""
    handler.locked = leader
    handler.came_at = world.now
    handler.appends_before = leader.appending
    leader.appending += 1
    leader.broker.appending += 1
    leader.readers += 1
    if handler.appends_before == 0:
        _write(world, handler, leader)
    else:
        handler.state = HandlerState.PRODUCE_LOG
        cancel(world, handler.slot)


@compiled
def _write(world: World, handler: Handler, leader: Replica) -> None:
    """An append that has the log's lock takes what the disk takes now."""
    took = append_us(world, leader.broker, leader.partition, Appends.OF_LEADERS)
    handler.state = HandlerState.PRODUCE_DISK
    handler.read_end = world.now + took
    disk = disk_of(leader.broker, leader.log_dir)
    if is_limited(disk):
        handler.disk_target = begin_write(world, disk, handler.request.bytes)
    look_at_disk(world, handler)


@compiled
def look_at_disk(world: World, handler: Handler) -> None:
    """An append that is written waits as long as its disk takes, whose speed may have changed."""
    leader = handler.locked
    disk = disk_of(leader.broker, leader.log_dir)
    end = handler.read_end
    if is_limited(disk):
        end = max(end, written_at(world, disk, handler.disk_target))
    leader.log_until = end
    _list_read(world, leader, handler.came_at, end)
    schedule(world, handler.slot, end)


@compiled
def end_append(world: World, leader: Replica) -> None:
    """The append that was written is done: who waits for the log, or to write, goes on."""
    broker = leader.broker
    broker.appending -= 1
    leader.appending -= 1
    handler = broker.handlers
    for _ in range(broker.io_threads):
        if handler.locked == leader and handler.state in (
            HandlerState.PRODUCE_LOG,
            HandlerState.LOG_WAIT,
        ):
            handler.appends_before -= 1
            if handler.appends_before == 0:
                if handler.state == HandlerState.PRODUCE_LOG:
                    _write(world, handler, leader)
                else:
                    schedule(world, handler.slot, world.now)
        handler = handler[1]
    release_read(world, leader)


@compiled
def write_in_progress_until(world: World, leader: Replica) -> int:
    """When the append ends that is being written now.

    A network thread that sends the log's data waits for it: `FileRecords.writeTo` asks for the
    file's size, which `FileChannelImpl` answers under the lock of the write.
    """
    return leader.log_until if leader.appending > 0 else world.now


@compiled
def wait_for_log(world: World, handler: Handler, leader: Replica, rule_time: int) -> None:
    """A fetch's handler waits for the appends that it finds, to raise the high watermark then."""
    handler.state = HandlerState.LOG_WAIT
    handler.came_at = world.now
    handler.locked = leader
    handler.rule_time = rule_time
    handler.appends_before = leader.appending
    cancel(world, handler.slot)
