"""Which ticks of isr-expiration a jump only counts: those whose walk provably changes nothing.

Their period is not that of the cycle, so they are no part of it. A tick is counted where

* each cell that its walk reads is one of LOOKED_AT, which names what bounds it: a rule that reads
  another cell makes every tick an event, until somebody has listed that cell;
* its walk, tried at both ends of the jump, writes nothing but its own count and due time.

Any other tick ends the jump, and is simulated.
"""

from __future__ import annotations

from typing import Final

from isr_pipeline.kafka.releases import Lock, Rules
from isr_pipeline.kafka.rows import Cells, cells_of, counterpart
from isr_pipeline.simulation.alter_partition import tick_fires
from isr_pipeline.simulation.shortcuts.rows_used import cells_read
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.queue import due, key, leaf, schedule
from isr_pipeline.simulation.world.states import Tick
from isr_pipeline.simulation.world.tables import (
    INF,
    LOCKED_MAX,
    SLOT_MASK,
    Broker,
    World,
)

LOOKED_AT: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            *("Broker.lag_time_max_us", "Leader.replication_factor", "Leader.position"),
            *("Leader.isr", "Leader.pending", "Replica.alter_item", "Replica.is_leader"),
            *("Follower.last_caught_up_time", "Follower.log_end_offset_time"),
            # who has a read pending only stays longer: its clock is bounded as if there were none
            "Follower.pending_counts",
        ),
        "cycles._clocks_end",
    ),
    **dict.fromkeys(
        ("Broker.lag_max_messages", "Leader.log_end_offset", "Follower.log_end_offset"),
        "cycles._behind_stays_small",
    ),
    **dict.fromkeys(
        (
            *("Broker.paused_until", "Broker.tick_position", "Broker.tick_state"),
            *("Broker.tick_due", "Broker.tick_slot"),
        ),
        "ticks._is_regular",
    ),
    "World.now": "ticks.try_walks",
    "Broker.tick_period_us": "ticks.count_ticks",
    **dict.fromkeys(
        ("Broker.hosted_count", "Replica.readers", "Replica.write_lock"), "ticks._locks_held"
    ),
}
"""Cell that a walk reads before it finds something to do -> what bounds it. What a walk alone
writes is bounded by its trial, `ticks.try_walks`."""

ACTS: Final = frozenset(
    {
        *("finish_sync_write", "leave_lock", "note_isr", "min_isr_for"),
        *("transfers_instead_of_shrinking", "resign", "propose", "submit", "sync_write_end"),
        *("schedule", "cancel", "tick_wakes_us"),
    }
)
"""What a walk calls once it has found something to do, or at its end: its trial shows that.
An ordinary tick waits for no thread."""

COUNTED: Final = cells_read(tick_fires, ACTS) <= LOOKED_AT.keys()
"""Whether any tick is counted."""

_FIRST = World.cells_of["now"].place  # cells before it are constants


@compiled
def is_tick(world: World, number: int) -> bool:
    """Whether a slot, by its number, is that of a broker's isr-expiration tick."""
    first = world.brokers.tick_slot & SLOT_MASK
    return first <= number < first + world.broker_count


@compiled
def _is_regular(world: World, broker: Broker) -> bool:
    """Whether the tick of ``broker`` is one of the ordinary ones, so that it may be counted."""
    return (
        broker.is_up
        and broker.paused_until <= world.now
        and broker.tick_position < 0
        and broker.tick_state == Tick.READY
        and due(world, broker.tick_slot) == broker.tick_due
    )


@compiled
def _meets_locks(rules: Rules) -> bool:
    """Whether a walk that finds nothing to do takes locks all the same."""
    return rules.isr_lock in (Lock.COMPLETION, Lock.RW_ALWAYS)


@compiled
def first_tick_after(broker: Broker, time: int) -> int:
    """The first tick of ``broker`` later than ``time``."""
    due = broker.tick_due
    if due > time:
        return due
    return due + ((time - due) // broker.tick_period_us + 1) * broker.tick_period_us


@compiled
def count_ticks(world: World, until: int) -> int:
    """Let every ordinary tick before ``until`` pass; returns how many."""
    count = 0
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if _is_regular(world, broker) and broker.tick_due < until:
            passed = (until - 1 - broker.tick_due) // broker.tick_period_us + 1
            broker.tick_due += passed * broker.tick_period_us
            slot = broker.tick_slot
            world.tree[leaf(slot)] = key(slot, broker.tick_due)
            count += passed
    return count


# ------------------------------------------------------------------ until when?


@compiled
def ticks_end(world: World, rules: Rules, before: World, now: int, span: int) -> int:
    """First tick that cannot just be counted because it may meet a lock, or is out of turn."""
    end = INF
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if not COUNTED or not _is_regular(world, broker):
            end = min(end, due(world, broker.tick_slot))
        elif _meets_locks(rules):
            end = min(end, _first_held_up(world, before, broker, now, span, end))
    return end


@compiled
def _first_held_up(
    world: World, before: World, broker: Broker, now: int, span: int, end: int
) -> int:
    """First tick of ``broker`` before ``end`` at which a lock that it takes may be held.

    Reads hold locks at the same moments of every cycle: those listed since the snapshot.
    """
    first = before.locked_read_count
    count = world.locked_read_count - first
    due = broker.tick_due
    if count > LOCKED_MAX or _locks_held(broker) > _listed_and_open(
        world, broker, first, count, now
    ):
        return due
    while due < min(end, world.horizon):
        for k in range(first, first + count):
            read = world.locked_reads[k & (LOCKED_MAX - 1)]
            if read.broker == broker:
                if (due - read.begin) % span <= read.end - read.begin:
                    return due
        due += broker.tick_period_us
    return INF


@compiled
def _locks_held(broker: Broker) -> int:
    """Reads and writes in progress on ``broker`` that hold a partition's lock."""
    held = 0
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        held += replica.readers + replica.write_lock
    return held


@compiled
def _listed_and_open(world: World, broker: Broker, first: int, count: int, now: int) -> int:
    """Reads on ``broker`` that are listed and not over."""
    open_reads = 0
    for k in range(first, first + count):
        read = world.locked_reads[k & (LOCKED_MAX - 1)]
        if read.broker == broker and read.end >= now:
            open_reads += 1
    return open_reads


# ------------------------------------------------------------------ the trial


@compiled
def first_counted(world: World, until: int) -> int:
    """The first tick that would be counted before ``until``; INF if there is none."""
    first = INF
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if broker.tick_due < until and _is_regular(world, broker):
            first = min(first, broker.tick_due)
    return first


@compiled
def copy_world(world: World, z: Cells, s: int) -> None:
    """Keep the compared part of the world at ``s``, for `try_walks`."""
    cells = cells_of(world)
    for i in range(_FIRST, world.compared_cells):
        z[s + i] = cells[i]


@compiled
def try_walks(world: World, rules: Rules, before: World, now: int, until: int) -> bool:
    """Do the walk of each tick that would be counted before ``until``, at ``now``.

    Takes back what a counted tick does, and all locks meanwhile; whether one was taken.
    """
    locked = False
    world.now = now
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if broker.tick_due < until and _is_regular(world, broker):
            if _meets_locks(rules):
                _free_locks(broker)
            tick_fires(world, rules, broker)
            if _meets_locks(rules):
                locked |= _locks_held(broker) > 0
                _lock_again(broker, before)
            broker.tick_due = counterpart(broker, before).tick_due
            schedule(world, broker.tick_slot, broker.tick_due)
    world.now = before.now
    world.tick_count = before.tick_count
    return locked


@compiled
def _free_locks(broker: Broker) -> None:
    """Take the locks from who reads now: no tick that is counted meets one (`_first_held_up`)."""
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        replica.readers = 0
        replica.write_lock = 0


@compiled
def _lock_again(broker: Broker, before: World) -> None:
    """Give the locks back."""
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        was = counterpart(replica, before)
        replica.readers = was.readers
        replica.write_lock = was.write_lock


@compiled
def put_back(world: World, z: Cells, s: int) -> bool:
    """Make the world that of the copy at ``s`` again; whether it was another."""
    cells = cells_of(world)
    different = 0
    for i in range(_FIRST, world.compared_cells):
        different |= cells[i] ^ z[s + i]
    if different == 0:
        return False
    for i in range(_FIRST, world.compared_cells):
        cells[i] = z[s + i]
    return True
