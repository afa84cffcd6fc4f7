"""The event loop: take the earliest slot, let its entity act, until the horizon."""

from __future__ import annotations

from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import LINE, Array, Cells, cells, fetch_ahead
from isr_pipeline.simulation.alter_partition import alter_fires, tick_fires
from isr_pipeline.simulation.clients import (
    ask_for_cold_data,
    client_fires,
    close_stream,
    produce_answered,
    stream_fires,
    surge_fires,
)
from isr_pipeline.simulation.controller import check_fires
from isr_pipeline.simulation.faults import dir_fires, fault_fires
from isr_pipeline.simulation.follower import fetch_answered, metadata_fires, thread_fires
from isr_pipeline.simulation.handlers import handler_fires, request_arrives
from isr_pipeline.simulation.log import close_ledgers
from isr_pipeline.simulation.measures import (
    book,
    count_dead,
    count_failed,
    count_untracked,
    hw_moved,
    note_silence,
    watch_detection_delay,
)
from isr_pipeline.simulation.purgatory import expire_steps
from isr_pipeline.simulation.responses import sender_fires
from isr_pipeline.simulation.sessions import session_fires
from isr_pipeline.simulation.shortcuts.cycles import Z_NEXT, detect
from isr_pipeline.simulation.world.jit import cold, compiled, entry, hot
from isr_pipeline.simulation.world.queue import cancel, schedule
from isr_pipeline.simulation.world.states import RequestKind, RequestState, Slot
from isr_pipeline.simulation.world.tables import (
    KIND_BITS,
    KIND_MASK,
    SLOT_BITS,
    SLOT_MASK,
    Request,
    World,
    broker_at,
    fault_at,
    handler_at,
    request_at,
    rules_in,
    sender_at,
    stream_at,
    thread_at,
    world_in,
)


@compiled
def _request_fires(world: World, rules: Rules, request: Request) -> None:
    """A request's own moment: it reaches its broker, its wait ends, its answer comes back."""
    state = request.state
    if state == RequestState.TO_BROKER:
        request_arrives(world, rules, request)
    elif state == RequestState.TO_OWNER:
        if request.kind == RequestKind.COLD_READ:
            ask_for_cold_data(world, request)
            return
        if request.kind != RequestKind.FETCH:
            produce_answered(world, request.stream, request)
            return
        broker = request.thread.follower
        if not broker.is_up:
            request.state = RequestState.FREE
            cancel(world, request.slot)
        elif broker.paused_until > world.now:
            schedule(world, request.slot, broker.paused_until)
        else:
            fetch_answered(world, rules, request.thread, request)
    elif state in (RequestState.PURGATORY, RequestState.EXPIRING, RequestState.EXPIRING_READ):
        expire_steps(world, rules, request)
    else:
        cancel(world, request.slot)


@compiled
def _sample(world: World) -> None:
    """Note LEO and HW of every leader and the queue of every broker, for the trace's curves."""
    n = world.sample_count
    width = 1 + 2 * world.partition_count + world.broker_count
    if n >= world.samples_max:
        cancel(world, world.sample_slot)
        return
    first = n * width
    world.samples[first] = world.now
    for i in range(world.partition_count):
        partition = world.partitions[i]
        if partition.leader >= 0:
            leader = partition.replicas[partition.leader]
            world.samples[first + 1 + 2 * i] = leader.log_end_offset
            world.samples[first + 2 + 2 * i] = leader.high_watermark
        else:
            world.samples[first + 1 + 2 * i] = -1
            world.samples[first + 2 + 2 * i] = -1
    for k in range(world.broker_count):
        queued = world.brokers[k].queue_length
        world.samples[first + 1 + 2 * world.partition_count + k] = queued
    world.sample_count = n + 1
    schedule(world, world.sample_slot, world.now + world.sample_period_us)


@hot
def act(world: World, rules: Rules, kind: int, who: int) -> None:
    """Let the entity of a slot act. Its kind is tested bit by bit, frequent kinds first.

    LLVM would turn a chain of equalities into a balanced tree, so frequent events would cost as
    many comparisons as rare ones; bit tests keep the order.
    """
    if kind & Slot.HANDLER:
        handler_fires(world, rules, handler_at(world, who))
    elif kind & Slot.SENDER:
        sender_fires(world, sender_at(world, who))
    elif kind & Slot.REQUEST:
        _request_fires(world, rules, request_at(world, who))
    elif kind & Slot.CLIENT:
        client_fires(world, rules, broker_at(world, who))
    elif kind & Slot.THREAD:
        thread_fires(world, rules, thread_at(world, who))
    elif kind & Slot.STREAM:
        stream_fires(world, stream_at(world, who))
    elif kind & Slot.SURGE:
        surge_fires(world, rules, broker_at(world, who))
    elif kind & Slot.TICK:
        tick_fires(world, rules, broker_at(world, who))
    else:
        world.rare_events += 1
        _act_rarely(world, rules, kind, who)


@cold
def _act_rarely(world: World, rules: Rules, kind: int, who: int) -> None:
    """Let an entity act whose events are no part of requests.

    Only here do a replica's role, epoch, fetch state or log dir change, or a log's end fall;
    a fetcher thread changes those of its own partitions besides, when it meets an error.
    """
    if kind == Slot.ALTER:
        alter_fires(world, rules, broker_at(world, who))
    elif kind == Slot.METADATA:
        metadata_fires(world, rules, broker_at(world, who))
    elif kind == Slot.FAULT:
        fault_fires(world, rules, fault_at(world, who))
    elif kind == Slot.SESSION:
        session_fires(world, rules, broker_at(world, who))
    elif kind == Slot.LOG_DIR:
        dir_fires(world, rules, broker_at(world, who))
    elif kind == Slot.CONTROLLER:
        check_fires(world, rules)
    else:
        _sample(world)


@cold
def finish(world: World) -> None:
    """Close every account at the horizon."""
    world.now = world.horizon
    for i in range(world.partition_count):
        partition = world.partitions[i]
        book(world, partition)
        hw_moved(world, partition, False)
        close_ledgers(world, partition)
    for i in range(world.broker_count):
        note_silence(world, world.brokers[i])
    for i in range(world.stream_count):
        close_stream(world, world.streams[i])
    for i in range(world.replica_count):
        watch_detection_delay(world, world.replicas[i])
    count_failed(world, 0)
    count_dead(world, 0)
    count_untracked(world, 0)


@cold
def _fetch_ahead(world: World) -> None:
    """Let the processor fetch the rows of whoever acts soon: who wins near the tree's root.

    They are fetched in two steps: first where the row is, then, nearer to the root, the row.
    """
    for i in range(4, 8):
        fetch_ahead(world.entities, world.tree[i] & SLOT_MASK)
    for i in range(2, 4):
        row = broker_at(world, world.entities[world.tree[i] & SLOT_MASK] >> KIND_BITS)
        fetch_ahead(row, 0)  # of whatever table
        fetch_ahead(row, LINE)


@compiled
def take_until(world: World, rules: Rules, end: int, most: int) -> int:
    """Let slot after slot act, at most so many, until one fires at ``end`` or later.

    Returns how many acted. `World.event_count` is brought up to date afterwards: no event reads it.

    `World.fetches_ahead` never changes, yet every turn reads it. Read once before, it makes LLVM
    build two loops, one for each answer. What acts then has two callers, so LLVM inlines it in
    neither.
    """
    entities = world.entities
    last = end << SLOT_BITS
    left = min(most, world.event_budget - world.event_count)
    begun = left
    key = world.tree[1]
    while key < last and left > 0:
        left -= 1
        world.now = key >> SLOT_BITS
        entity = entities[key & SLOT_MASK]
        if world.fetches_ahead:
            _fetch_ahead(world)
        act(world, rules, entity & KIND_MASK, entity >> KIND_BITS)
        key = world.tree[1]
    fired = begun - left
    world.event_count += fired
    left = world.event_budget - world.event_count  # below 0: a jump spent it
    if left < 0 or (key < last and left == 0):
        world.budget_spent = 1
    return fired


@compiled
def run(world: World, rules: Rules, motions: Cells, z: Cells) -> None:
    """Take event after event; with jumps, look once a period whether the world repeats."""
    while True:
        end = world.horizon
        if world.period_us > 0:
            end = min(end, z[Z_NEXT])
        take_until(world, rules, end, world.event_budget)
        if end == world.horizon or world.budget_spent:
            break
        detect(world, rules, motions, z)
    finish(world)


@entry
def run_world(w: Array, rules: Array, motions: Array, z: Array) -> None:
    """Run the world to its horizon, or until its event budget is spent (`World.budget_spent`).

    Args:
        w: the world, as encoded.
        rules: the switches (`releases.as_cells`).
        motions: `motions.motions_of` the world; not read where there is no common period.
        z: memory for `cycles`, of `motions.memory_size` cells, with zeros in its first.
    """
    run(world_in(w), rules_in(rules), cells(motions), cells(z))
