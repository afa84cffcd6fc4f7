"""Jumps over stretches in which everything repeats: exact, and about fifty times cheaper.

A healthy world is periodic, and so is one with a stalled disk: what happens in one period of
workload and clients happens again in the next, one period later and further on in the logs.

A jump takes three stages, once a period each (`detect`):

* STAGE_BEGIN takes a first snapshot of the world.
* STAGE_SEEK asks whether the world is that of the first snapshot again, with every cell moved as
  its motion allows (`motions`). If so, it takes a second snapshot.
* STAGE_CONFIRM asks the same one cycle later. If every cell moved by the same amount both times,
  the cycle goes on until something happens that is not part of it: a planned time in the future, or
  a clock that does not move and crosses replica.lag.time.max.ms. All cells advance at once, by the
  cycles that fit before that moment; then events are simulated one by one again.

Ticks of isr-expiration are not part of the cycle, because their period differs. Where a tick can
find no follower out of sync, and no read in progress holds a lock that it takes, it changes nothing
and is only counted (`ticks`).

Where a comparison could turn out differently later (an offset in front of one that moves, two
speeds in one log, a backlog), nothing is jumped. The proof is the comparison with the same code
without jumps: `tests/simulation/test_cycles.py`.

``z`` is this module's memory: a few numbers (Z_*), what the partitions' logs did, two snapshots of
the world, and three lists of the cells that moved: (cell, by how much) each. The lists are a tenth
of the world or less and fit into a core's caches; only taking and comparing a snapshot walk through
all cells.
"""

from __future__ import annotations

from isr_pipeline.kafka.record import Follower, Pending
from isr_pipeline.kafka.releases import Clock, Kip501, Rules
from isr_pipeline.kafka.replica import lag_clock
from isr_pipeline.kafka.rows import Cells, cells_of, counterpart, place_of
from isr_pipeline.simulation.clients import (
    backlog_reaches_back,
    expires_at,
    metadata_due,
    oldest_waiting,
    waiting,
)
from isr_pipeline.simulation.log import least_log_end
from isr_pipeline.simulation.shortcuts.motions import (
    GROWS,
    IGNORED,
    KEY,
    LIVE_MAX,
    LOG_FIELDS,
    MOTION_BITS,
    MOTION_MASK,
    MOVED_SHARE,
    OFFSET,
    RING_MAX,
    RINGS,
    SUM,
    TIME,
    UNTIL,
    Z_SIZE,
)
from isr_pipeline.simulation.shortcuts.ticks import (
    copy_world,
    count_ticks,
    first_counted,
    first_tick_after,
    is_tick,
    put_back,
    ticks_end,
    try_walks,
)
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.queue import leaf, refill, slot_of
from isr_pipeline.simulation.world.states import AlterItem, RequestKind, RequestState
from isr_pipeline.simulation.world.tables import (
    BATCH_CELLS,
    INF,
    QUEUED_CELLS,
    SLOT_BITS,
    Batch,
    Partition,
    Replica,
    Stream,
    World,
    batches_in_copy,
    world_in_copy,
)

Z_NEXT = 0  # time of the next stage
Z_STAGE = 1  # which stage that is
Z_STEPS = 2  # periods since the first snapshot was taken
Z_POWER = 3  # take a new first snapshot after so many
Z_SPAN = 4  # the cycle that was found
Z_LIMIT = 5  # end of the stretch
Z_TOO_SHORT = 6  # a cycle of so many periods was no cycle
Z_KNOWN = 7  # the cycle jumped last, whose movements are remembered
Z_KNOWN_EVENTS = 8  # events in it, without ticks
Z_MOVED = 9  # lengths of the lists of moved cells: MOVED_FIRST, MOVED_AGAIN, MOVED_KNOWN
Z_NOW = 12  # when the stage is done
Z_BEFORE = 13  # place of the snapshot that is compared with
Z_EARLIER = 14  # place of the one a cycle before that, or of the same
Z_LIST = 15  # the list that says what has moved since Z_BEFORE

STAGE_BEGIN = 0  # take the first snapshot
STAGE_SEEK = 1  # is the world that of the first snapshot again?
STAGE_CONFIRM = 2  # it was: is it again, a cycle later?

POWER_MAX = 32
MOVED_FIRST = 0  # between the first snapshot and the world that agreed with it
MOVED_AGAIN = 1  # between the second snapshot and one cycle after it
MOVED_KNOWN = 2  # in the cycle jumped last
BLOCK = 8  # cells that are compared at once

LOG_GROWTH, LOG_MOVES_FROM, LOG_MOVES_TO = 0, 1, 2  # of a partition, between two snapshots


_FIRST = World.cells_of["now"].place  # cells before it are constants


# ------------------------------------------------------------------ snapshots


@compiled
def _snapshot_size(world: World) -> int:
    """Cells of a snapshot: the compared part of the world, the brokers' queues, open batches."""
    batches = world.partition_count * LIVE_MAX * BATCH_CELLS
    return world.compared_cells + world.broker_count * RINGS + batches


@compiled
def _snapshot(world: World, number: int) -> int:
    """Place in ``z`` of snapshot 0 or 1."""
    return Z_SIZE + world.partition_count * LOG_FIELDS + number * _snapshot_size(world)


@compiled
def _moves(world: World, which: int) -> int:
    """Place in ``z`` of a list of moved cells: MOVED_FIRST, MOVED_AGAIN or MOVED_KNOWN."""
    return _snapshot(world, 2) + which * 2 * _moves_max(world)


@compiled
def _moves_max(world: World) -> int:
    """Cells that a list has room for."""
    return world.compared_cells // MOVED_SHARE


@compiled
def _straight(ring: Cells, head: int, tail: int, width: int) -> bool:
    """Let a ring begin at its beginning; False if it is long, or lies across its end."""
    count = tail - head
    if count < 0 or count > RING_MAX:
        return False
    if head > 0:
        for k in range(count * width):
            ring[k] = ring[head * width + k]
    return True


@compiled
def straighten(world: World) -> bool:
    """Let every queue begin at its ring's beginning, which changes nothing but is comparable.

    False if that cannot be: a queue is long, or lies across its ring's end.
    """
    for i in range(world.broker_count):
        broker = world.brokers[i]
        queue = cells_of(broker.queue)
        if not _straight(queue, broker.queue_head, broker.queue_tail, QUEUED_CELLS):
            return False
        broker.queue_tail -= broker.queue_head
        broker.queue_head = 0
    return True


@compiled
def _kept(z: Cells, s: int) -> World:
    """The world that the snapshot at ``s`` keeps."""
    return world_in_copy(z, s)


@compiled
def take_snapshot(world: World, z: Cells, s: int) -> None:
    """Keep the world as it is now, at ``s`` in ``z``."""
    now = cells_of(world)
    for i in range(_FIRST, world.compared_cells):
        z[s + i] = now[i]
    at = s + world.compared_cells
    for i in range(world.broker_count):
        broker = world.brokers[i]
        queue = cells_of(broker.queue)
        z[at] = broker.queue_tail
        for k in range(QUEUED_CELLS * broker.queue_tail):
            z[at + 1 + k] = queue[k]
        at += RINGS
    for i in range(world.partition_count):
        partition = world.partitions[i]
        live = partition.ledger_tail - partition.ledger_head
        if live <= LIVE_MAX:
            ledger = cells_of(partition.ledger[partition.ledger_head])
            for k in range(live * BATCH_CELLS):
                z[at + k] = ledger[k]
        at += LIVE_MAX * BATCH_CELLS


# ------------------------------------------------------------------ is it the same world again?


@compiled
def _keys_agree(world: World, z: Cells, s: int, span: int) -> bool:
    """Whether every slot's key stands still or has moved by ``span``: the cheap test."""
    before = _kept(z, s)
    shift = span << SLOT_BITS
    for number in range(world.slot_count):
        i = leaf(slot_of(world, number))
        moved = world.tree[i] - before.tree[i]
        if moved != 0 and moved != shift and not is_tick(world, number):
            return False
    return True


@compiled
def _cell_agrees(world: World, z: Cells, motions: Cells, i: int, moved: int, span: int) -> bool:
    """Whether cell ``i``, which is part of the cycle, may have moved by ``moved`` in ``span``."""
    motion = motions[i] & MOTION_MASK
    now = cells_of(world)
    if motion == OFFSET:
        log = Z_SIZE + (motions[i] >> MOTION_BITS) * LOG_FIELDS
        if z[log + LOG_GROWTH] == 0:
            z[log + LOG_GROWTH] = moved
        z[log + LOG_MOVES_FROM] = min(z[log + LOG_MOVES_FROM], now[i])
        z[log + LOG_MOVES_TO] = max(z[log + LOG_MOVES_TO], now[i])
        return moved > 0 and moved == z[log + LOG_GROWTH]
    if motion in (TIME, UNTIL):
        return moved == span
    if motion == KEY:
        return moved == span << SLOT_BITS
    return motion in (SUM, GROWS) and moved > 0


@compiled
def _block_agrees(world: World, z: Cells, motions: Cells, moves: int, begin: int, end: int) -> bool:
    """Whether the cells from ``begin`` to ``end`` moved as they may; lists those that did."""
    s, which, span = z[Z_BEFORE], z[Z_LIST], z[Z_SPAN]
    now = cells_of(world)
    for i in range(begin, end):
        moved = now[i] - z[s + i]
        if moved != 0 and motions[i] & MOTION_MASK != IGNORED:
            full = z[Z_MOVED + which] == _moves_max(world)
            if full or not _cell_agrees(world, z, motions, i, moved, span):
                return False
            place = moves + 2 * z[Z_MOVED + which]
            z[place] = i
            z[place + 1] = moved
            z[Z_MOVED + which] += 1
    return True


@compiled
def _agrees(world: World, z: Cells, motions: Cells) -> bool:
    """Whether the world is that of the snapshot at Z_BEFORE again, Z_SPAN later.

    The list Z_LIST holds the cells that moved then.
    """
    s, span = z[Z_BEFORE], z[Z_SPAN]
    if not _keys_agree(world, z, s, span):
        return False
    for i in range(world.partition_count):
        log = Z_SIZE + i * LOG_FIELDS
        z[log + LOG_GROWTH] = 0
        z[log + LOG_MOVES_FROM] = INF
        z[log + LOG_MOVES_TO] = -INF
    z[Z_MOVED + z[Z_LIST]] = 0
    moves = _moves(world, z[Z_LIST])
    now = cells_of(world)
    i = _FIRST
    end = world.compared_cells
    while i + BLOCK <= end:
        different = 0
        for k in range(BLOCK):
            different |= now[i + k] ^ z[s + i + k]
        if different != 0 and not _block_agrees(world, z, motions, moves, i, i + BLOCK):
            return False
        i += BLOCK
    return _block_agrees(world, z, motions, moves, i, end) and _queues_agree(world, z, s)


@compiled
def _same_moves(world: World, z: Cells, one: int, other: int) -> bool:
    """Whether two lists hold the same cells, moved by the same amounts."""
    if z[Z_MOVED + one] != z[Z_MOVED + other]:
        return False
    a = _moves(world, one)
    b = _moves(world, other)
    for i in range(2 * z[Z_MOVED + one]):  # noqa: SIM110 - numba compiles no all() over a generator
        if z[a + i] != z[b + i]:
            return False
    return True


@compiled
def _events_until(world: World) -> int:
    """Events without ticks that a world, or a snapshot of it, has seen."""
    return world.event_count - world.tick_count


@compiled
def _events_since(world: World, z: Cells, s: int) -> int:
    """Events since the snapshot at ``s``, without ticks."""
    return _events_until(world) - _events_until(_kept(z, s))


@compiled
def _cycles_of_offsets(world: World, z: Cells, motions: Cells, s: int) -> int:
    """After how many cycles an offset that moves would pass one that stands in front of it."""
    cycles = INF
    now = cells_of(world)
    offsets = world.compared_cells
    for k in range(offsets + 1, offsets + 1 + motions[offsets]):
        i = motions[k]
        if now[i] == z[s + i]:
            log = Z_SIZE + (motions[i] >> MOTION_BITS) * LOG_FIELDS
            if z[log + LOG_GROWTH] > 0 and now[i] > z[log + LOG_MOVES_FROM]:
                room = now[i] - z[log + LOG_MOVES_TO] - 1
                if room < 0:
                    return 0
                cycles = min(cycles, room // z[log + LOG_GROWTH] - 1)
    return cycles


@compiled
def _queues_agree(world: World, z: Cells, s: int) -> bool:
    """Whether the same requests wait as in the snapshot."""
    at = s + world.compared_cells
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if z[at] != broker.queue_tail:
            return False
        queue = cells_of(broker.queue)
        for k in range(QUEUED_CELLS * broker.queue_tail):
            if z[at + 1 + k] != queue[k]:
                return False
        at += RINGS
    return True


@compiled
def _moved_equally(world: World, z: Cells, a: int, b: int) -> bool:
    """Whether every cell moved since snapshot ``b`` by as much as from ``a`` to ``b``."""
    events_before = _events_until(_kept(z, b)) - _events_until(_kept(z, a))
    return (
        _same_moves(world, z, MOVED_FIRST, MOVED_AGAIN)
        and _events_since(world, z, b) == events_before
    )


@compiled
def _rates_fit(world: World, z: Cells, s: int, span: int) -> bool:
    """Whether all that comes at a rate comes a whole number of times in ``span``, to the ns."""
    before = _kept(z, s)
    for i in range(world.stream_count):
        stream = world.streams[i]
        earlier = counterpart(stream, before)
        batches = stream.batch_number - earlier.batch_number
        if batches > 0 and batches * stream.period_ns != span * 1000:
            return False
        if not _waits_alike(stream, earlier):
            return False
    for i in range(world.broker_count):
        broker = world.brokers[i]
        was = counterpart(broker, before)
        requests = broker.client_requests - was.client_requests
        if requests > 0 and requests * broker.client_period_ns != span * 1000:
            return False
        requests = broker.surge_count - was.surge_count
        if requests > 0 and requests * broker.surge_period_ns != span * 1000:
            return False
    return True


@compiled
def _waits_alike(stream: Stream, earlier: Stream) -> bool:
    """Whether a producer waits with the same records as before, or with as many that came later.

    More may gather behind a request that is sent again and again, or while nobody leads.
    """
    oldest = oldest_waiting(stream)
    if oldest == oldest_waiting(earlier):
        sends_new = stream.partition.leader >= 0 and stream.to_send_again == 0
        return stream.gathered == earlier.gathered or not sends_new
    # those that came before the last change of rate did not come at the period of now
    return stream.gathered == earlier.gathered and (oldest >= 0 or waiting(stream) == 0)


# ------------------------------------------------------------------ ledgers


@compiled
def _live_batches(world: World, z: Cells, s: int, i: int) -> Batch:
    """The first of the batches that the snapshot at ``s`` keeps of partition ``i``."""
    first = s + world.compared_cells + world.broker_count * RINGS
    return batches_in_copy(z, first + i * LIVE_MAX * BATCH_CELLS)


@compiled
def _ledger_returns(world: World, z: Cells, s: int, span: int, i: int) -> bool:
    """Whether the open batches of partition ``i`` are those of the snapshot, moved on."""
    partition = world.partitions[i]
    growth = z[Z_SIZE + i * LOG_FIELDS + LOG_GROWTH]
    if growth == 0:
        return True  # nothing is appended, and nothing committed
    live = partition.ledger_tail - partition.ledger_head
    if live > LIVE_MAX:
        return False
    kept = _live_batches(world, z, s, i)
    for k in range(live):
        batch = partition.ledger[partition.ledger_head + k]
        before = kept[k]
        if batch.end - before.end != growth or batch.appended_at - before.appended_at != span:
            return False
        if batch.bytes != before.bytes or batch.acks_all_records != before.acks_all_records:
            return False
        if batch.state != before.state:
            return False
    return True


@compiled
def _ledger_grows(partition: Partition, span: int, batches: int, growth: int) -> bool:
    """Whether the last ``batches`` entries of a ledger repeat those before them, moved on."""
    tail = partition.ledger_tail
    if tail - partition.ledger_head < 2 * batches:
        return False
    first = tail - batches
    size = partition.ledger[first].bytes - partition.ledger[first - batches].bytes
    for k in range(first, tail):
        last = partition.ledger[k]
        before = partition.ledger[k - batches]
        if (
            last.end - before.end != growth
            or last.bytes - before.bytes != size
            or last.appended_at - before.appended_at != span
            or last.acks_all_records != before.acks_all_records
        ):
            return False
    return True


@compiled
def _clock_growth(z: Cells, s: int, partition: Partition) -> int:
    """By how much the clock goes on, in a cycle, that stamps the batches of ``partition``."""
    broker = partition.replicas[partition.clock_of].broker
    return broker.clock - counterpart(broker, _kept(z, s)).clock


@compiled
def _cycles_of_ledger(world: World, z: Cells, s: int, span: int, i: int) -> int:
    """How many cycles the ledger of partition ``i`` can take at once: 0 if it does not repeat."""
    partition = world.partitions[i]
    before = counterpart(partition, _kept(z, s))
    if partition.ledger_head != before.ledger_head:
        return 0
    batches = partition.ledger_tail - before.ledger_tail
    committed = partition.ledger_uncommitted - before.ledger_uncommitted
    growth = z[Z_SIZE + i * LOG_FIELDS + LOG_GROWTH]
    if batches == 0:
        if growth > 0 and least_log_end(partition) - least_log_end(before) != growth:
            return 0  # a log that stands still keeps the ledger from forgetting again
        return INF if committed == 0 and _ledger_returns(world, z, s, span, i) else 0
    open_batches = partition.ledger_tail - partition.ledger_uncommitted
    if batches < 0 or not _ledger_grows(partition, span, batches, growth):
        return 0
    if committed != 0 and (committed != batches or open_batches > batches):
        return 0
    if committed == 0 and open_batches < 2 * batches:
        return 0
    return (partition.ledger_capacity - partition.ledger_tail) // batches - 1


@compiled
def _jump_ledger(world: World, z: Cells, s: int, span: int, cycles: int, i: int) -> None:
    """Move the ledger of partition ``i`` on by so many cycles."""
    partition = world.partitions[i]
    growth = z[Z_SIZE + i * LOG_FIELDS + LOG_GROWTH]
    before = counterpart(partition, _kept(z, s))
    clock = _clock_growth(z, s, partition)
    tail = partition.ledger_tail
    batches = tail - before.ledger_tail
    if batches == 0:
        if growth > 0:
            for k in range(partition.ledger_head, tail):
                batch = partition.ledger[k]
                batch.end += cycles * growth
                batch.clock += cycles * clock
                batch.appended_at += cycles * span
        return
    committed = partition.ledger_uncommitted - before.ledger_uncommitted
    size = partition.ledger[tail - 1].bytes - partition.ledger[tail - 1 - batches].bytes
    more = cycles * batches
    # The newest entries, up to the oldest that is still open, keep their places from the end ...
    closed = partition.ledger_uncommitted if committed > 0 else tail
    for k in range(tail - 1, closed - 1, -1):
        _copy_entry(
            partition.ledger[k],
            partition.ledger[k + more],
            cycles,
            growth,
            size,
            span,
        )
        partition.ledger[k + more].clock = partition.ledger[k].clock + cycles * clock
    # ... and before them the last cycle's closed ones come again and again.
    for k in range(closed, closed + more):
        back = (k - closed) // batches + 1
        source = partition.ledger[k - back * batches]
        _copy_entry(source, partition.ledger[k], back, growth, size, span)
        partition.ledger[k].clock = source.clock + back * clock
    partition.ledger_tail += more
    if committed > 0:
        partition.ledger_uncommitted += more


@compiled
def _copy_entry(
    source: Batch, target: Batch, cycles: int, growth: int, size: int, span: int
) -> None:
    """Repeat a batch so many cycles later."""
    target.end = source.end + cycles * growth
    target.bytes = source.bytes + cycles * size
    target.appended_at = source.appended_at + cycles * span
    target.acks_all_records = source.acks_all_records
    target.state = source.state


# ------------------------------------------------------------------ until when?


@compiled
def _plans_end(world: World, z: Cells, motions: Cells) -> int:
    """First moment after the present at which a plan or a time that stands still falls due.

    One that has passed since the first snapshot may show its effect only in the next cycle: then it
    is the present.
    """
    a, b, now, span = z[Z_EARLIER], z[Z_BEFORE], z[Z_NOW], z[Z_SPAN]
    end = INF
    cells = cells_of(world)
    second = _kept(z, b)
    times = world.compared_cells + 1 + motions[world.compared_cells]
    for k in range(times + 1, times + 1 + motions[times]):
        i = motions[k]
        time = cells[i]
        if time > now - 2 * span and time == z[b + i] and time == z[a + i]:
            motion = motions[i] & MOTION_MASK
            if motion == UNTIL or (motion == TIME and time > now):
                end = min(end, max(now, time))
    for number in range(world.slot_count):
        i = leaf(slot_of(world, number))
        if world.tree[i] == second.tree[i] and not is_tick(world, number):
            end = min(end, world.tree[i] >> SLOT_BITS)
    return end


@compiled
def _bytes_gather(world: World, z: Cells, s: int) -> bool:
    """Whether a fetch waits for more than one byte: its distance to the log's end grows."""
    for i in range(world.request_count):
        request = world.requests[i]
        was = counterpart(request, _kept(z, s))
        if request.state == RequestState.PURGATORY and request.deadline == was.deadline:
            if request.thread.follower.fetch_min_bytes > 1:
                return True
    return False


@compiled
def _streams_end(world: World, before: World, now: int) -> int:
    """First moment at which a producer does something else than it does now.

    It plans no further batch a period before it stops. It gives records up that have waited since
    the snapshot, or learns of a new leader by the age of its metadata.
    """
    end = INF
    for i in range(world.stream_count):
        stream = world.streams[i]
        if stream.next_batch < INF and stream.stops_at < INF:
            end = min(end, max(now, stream.stops_at - stream.period_ns // 1000 - 1))
        oldest = oldest_waiting(stream)
        if waiting(stream) > 0 and oldest == oldest_waiting(counterpart(stream, before)):
            end = min(end, max(now, expires_at(stream, oldest)))
        if stream.leader >= 0 and stream.leader != stream.partition.leader:
            end = min(end, max(now, metadata_due(stream)))
    return end


@compiled
def _oldest_visit(world: World, z: Cells, s: int, now: int, span: int) -> int:
    """Lower bound of `read_at` in all fetches under way, while it goes on; -INF if one stands."""
    oldest = now
    before = _kept(z, s)
    for i in range(world.request_count):
        request = world.requests[i]
        if request.kind != RequestKind.FETCH or request.state == RequestState.FREE:
            continue
        for k in range(request.entry_count):
            entry = request.entries[k]
            if entry.offset >= 0:
                if entry.read_at == counterpart(entry, before).read_at:
                    return -INF
                oldest = min(oldest, entry.read_at - span)
    return oldest


BOUNDED = {
    "Broker.lag_time_max_us": "_clocks_end",
    "Broker.lag_max_messages": "_behind_stays_small",
    "Broker.tick_period_us": "_first_held_up",
    "World.resign_cooldown_us": "_cooldowns_end",
    "Broker.fetch_min_bytes": "_bytes_gather",
    "World.warmup": "_counting_began",
    "World.horizon": "_cycle_until",
}
"""Time or threshold that a rule compares with a cell that may stand still -> its bound."""

PLANNED = frozenset(
    {
        "FIRST_ASK_US", "SHUTDOWN_LIMIT_US", "NEXT_GO_US", "NEW_CONTROLLER_CHECK_US", "WAKE_US",
        "CONTROLLER_ANSWERS_US",
        "Broker.fetch_wait_us", "Broker.fetch_backoff_us", "Broker.socket_timeout_us",
        "World.request_timeout_us", "Broker.session_timeout_us", "Broker.heartbeat_us",
        "World.fetch_process_time_max_us", "Broker.read_us", "Broker.produce_us", "Broker.send_us",
        "Broker.append_us", "World.half_rtt_us", "World.alter_partition_us",
        "World.zookeeper_write_us", "World.zookeeper_request_us", "Broker.shutdown_backoff_us",
        "World.metadata_low_us", "World.metadata_high_us",
        "Broker.client_us", "World.imbalance_check_us", "World.sample_period_us", "RETRY_US",
        "EXPIRY_RETRY_US", "LOG_DIR_NOTICE_US", "UNFENCE_LOW_US", "UNFENCE_HIGH_US",
        "METADATA_MAX_AGE_US",
        "READER_RETRY_US",
    }
)  # fmt: skip
"""Times that only say when a slot fires, or a cell that holds a time falls due: `_plans_end`, of
metadata `_streams_end`."""

REPEATS = frozenset(
    {
        "Broker.fetch_max_bytes", "Broker.fetch_response_max_bytes", "Broker.queued_max",
        "World.min_insync_replicas", "World.unclean_leader_election", "FLAP_WINDOW_US",
        "World.imbalance_percentage", "READERS_WAIT_US", "Broker.shutdown_tries",
        "Broker.quota_window_num", "Broker.quota_window_us", "Broker.leader_throttled_rate",
        "Broker.follower_throttled_rate", "World.consumer_byte_rate",
    }
)  # fmt: skip
"""Thresholds compared only with what every cycle repeats: sizes of a request, sets, how long ago a
member left that comes back in the same cycle, or a high watermark moved that moves in it; samples
of a quota, whose ends are an `Until` and whose time over the limit, `Quota.exceeded_us`, stands."""

NO_RULE = frozenset(
    {
        "World.seed",
        "World.event_budget",
        "World.events_max",
        "World.samples_max",
        "World.period_us",
    }
)
"""Cells of the header's settings that no rule compares with anything."""


@compiled
def _clocks_end(world: World, rules: Rules, z: Cells, s: int, now: int, span: int) -> int:
    """First moment at which a follower's lag clock may decide otherwise than now.

    Every leader, official or not, and every follower: a clock that moves stays young; one that
    stands crosses the lag once, which the HW notices; after that the tick does.
    """
    end = INF
    before = _kept(z, s)
    visits = -INF - 1
    for i in range(world.replica_count):
        replica = world.replicas[i]
        if not replica.is_leader:
            continue
        lag = replica.broker.lag_time_max_us
        for pos in range(replica.replication_factor):
            if pos == replica.position:
                continue
            follower = replica.followers[pos]
            caught_up = lag_clock(rules, follower)
            stands = caught_up == lag_clock(rules, counterpart(follower, before))
            ticks = (
                (replica.isr >> pos) & 1 != 0
                and replica.pending == Pending.NONE
                and replica.alter_item == AlterItem.NONE
            )
            if ticks and rules.message_lag:
                if not _behind_stays_small(before, replica, follower):
                    end = min(end, first_tick_after(replica.broker, now - 1))
            if not stands:
                if now - caught_up + span >= lag:
                    return now
                continue
            crossing = caught_up + lag
            if now - 2 * span < crossing < now:
                return now
            if crossing >= now:
                end = min(end, crossing)
            elif rules.clock == Clock.FETCH_TIME and crossing > now - 10 * lag:
                if visits < -INF:
                    visits = _oldest_visit(world, z, s, now, span)
                if visits <= crossing and visits > -INF:
                    return now
            if ticks:
                end = min(end, first_tick_after(replica.broker, max(now - 1, crossing)))
    return end


@compiled
def _behind_stays_small(before: World, leader: Replica, follower: Follower) -> bool:
    """0.8.2: whether the tick will not find the follower replica.lag.max.messages behind."""
    if follower.log_end_offset < 0:
        return True
    was = counterpart(follower, before).log_end_offset
    moved = leader.log_end_offset != counterpart(leader, before).log_end_offset
    if follower.log_end_offset == was and moved:
        return False
    return leader.log_end_offset - was <= leader.broker.lag_max_messages


@compiled
def _cooldowns_end(world: World, rules: Rules, now: int, span: int) -> int:
    """First end of a cooldown of Solution 2; one that has just passed counts as now."""
    end = INF
    if rules.kip501 == Kip501.S2 and world.resign_cooldown_us > 0:
        for i in range(world.partition_count):
            over = world.partitions[i].last_resignation + world.resign_cooldown_us
            if over > now - 2 * span:
                end = min(end, max(now, over))
    return end


@compiled
def _counting_began(world: World, before: World, now: int, span: int) -> bool:
    """Whether all that commits or is answered counts (or nothing yet): no older batch is open."""
    if world.warmup > now:
        return True
    counted_from = world.warmup + 2 * span
    if now < counted_from:
        return False
    for i in range(world.partition_count):
        partition = world.partitions[i]
        if partition.ledger_uncommitted < partition.ledger_tail:
            if partition.ledger[partition.ledger_uncommitted].appended_at < counted_from:
                return False
    for i in range(world.stream_count):
        stream = world.streams[i]
        stands = oldest_waiting(stream) == oldest_waiting(counterpart(stream, before))
        if not stands and backlog_reaches_back(stream, counted_from):
            return False
    return True


@compiled
def _cycle_until(world: World, rules: Rules, motions: Cells, z: Cells) -> int:
    """End of the stretch in which the cycle goes on."""
    b, now, span = z[Z_BEFORE], z[Z_NOW], z[Z_SPAN]
    if _bytes_gather(world, z, b):
        return now
    end = world.horizon
    if world.warmup > now:
        end = min(end, world.warmup)
    end = min(end, _plans_end(world, z, motions))
    end = min(end, _streams_end(world, _kept(z, b), now))
    end = min(end, ticks_end(world, rules, _kept(z, b), now, span))
    end = min(end, _clocks_end(world, rules, z, b, now, span))
    return min(end, _cooldowns_end(world, rules, now, span))


# ------------------------------------------------------------------ the jump


@compiled
def _jump(world: World, z: Cells, cycles: int) -> None:
    """Move the world on by so many cycles, each like the one since the snapshot at Z_BEFORE."""
    s, now, span = z[Z_BEFORE], z[Z_NOW], z[Z_SPAN]
    events = _events_since(world, z, s)
    for i in range(world.partition_count):
        _jump_ledger(world, z, s, span, cycles, i)
    _move(world, z, cycles, 0)
    ticks = count_ticks(world, now + cycles * span)
    world.tick_count += ticks
    world.event_count += cycles * events + ticks
    world.jumped_events += cycles * events + ticks
    world.jump_count += 1
    refill(world)


@compiled
def _move(world: World, z: Cells, cycles: int, first: int) -> None:
    """Move every cell of the list Z_LIST, from the place ``first`` on, by so many cycles."""
    which = z[Z_LIST]
    moves = _moves(world, which)
    cells = cells_of(world)
    for place in range(moves, moves + 2 * z[Z_MOVED + which], 2):
        if z[place] >= first:
            cells[z[place]] += cycles * z[place + 1]


@compiled
def _ticks_write(world: World, rules: Rules, z: Cells, cycles: int) -> bool:
    """Whether a tick that the jump would count writes anything, at its beginning or its end.

    The snapshot that is not at Z_BEFORE is no longer needed, and gives its place to a copy.
    """
    now = z[Z_NOW]
    until = now + cycles * z[Z_SPAN]
    if first_counted(world, until) == INF:
        return False
    copy = _snapshot(world, 0 if z[Z_BEFORE] == _snapshot(world, 1) else 1)
    copy_world(world, z, copy)
    writes = try_walks(world, rules, _kept(z, copy), now, until)
    if put_back(world, z, copy) or writes:
        return True
    rows = place_of(world.brokers)  # no walk reads a total of the header
    _move(world, z, cycles, rows)
    writes = try_walks(world, rules, _kept(z, copy), until, until)
    _move(world, z, -cycles, rows)
    return put_back(world, z, copy) or writes


@compiled
def _moved_as_known(world: World, z: Cells) -> bool:
    """Whether every cell has moved since the first snapshot as in the cycle jumped last."""
    return (
        z[Z_KNOWN] == z[Z_SPAN]
        and _events_since(world, z, z[Z_BEFORE]) == z[Z_KNOWN_EVENTS]
        and _same_moves(world, z, MOVED_FIRST, MOVED_KNOWN)
    )


@compiled
def _fast_forward(world: World, rules: Rules, motions: Cells, z: Cells) -> int:
    """Jump as far as the cycle since Z_BEFORE goes on; returns the time after the jump.

    Z_LIMIT tells until when nothing can be jumped again; 0 if the cycle was none.
    """
    b, now, span = z[Z_BEFORE], z[Z_NOW], z[Z_SPAN]
    z[Z_LIMIT] = 0
    if not _rates_fit(world, z, b, span):
        return now
    z[Z_LIMIT] = now
    if not _counting_began(world, _kept(z, b), now, span):
        return now
    cycles = _cycles_of_offsets(world, z, motions, b)
    for i in range(world.partition_count):
        cycles = min(cycles, _cycles_of_ledger(world, z, b, span, i))
    if cycles <= 0:
        return now
    end = _cycle_until(world, rules, motions, z)
    if cycles < (end - now) // span:
        end = now + cycles * span
    z[Z_LIMIT] = end
    cycles = (end - now) // span
    if cycles > 0 and _ticks_write(world, rules, z, cycles):
        end = first_counted(world, end)
        z[Z_LIMIT] = end
        cycles = (end - now) // span
    if cycles <= 0:
        return now
    _remember_moves(world, z)
    _jump(world, z, cycles)
    return now + cycles * span


@compiled
def _remember_moves(world: World, z: Cells) -> None:
    """Keep what moved since the snapshot at Z_BEFORE, and by how much."""
    which = z[Z_LIST]
    source = _moves(world, which)
    target = _moves(world, MOVED_KNOWN)
    for i in range(2 * z[Z_MOVED + which]):
        z[target + i] = z[source + i]
    z[Z_MOVED + MOVED_KNOWN] = z[Z_MOVED + which]
    z[Z_KNOWN_EVENTS] = _events_since(world, z, z[Z_BEFORE])
    z[Z_KNOWN] = z[Z_SPAN]


@compiled
def _rest(world: World, z: Cells, then: int) -> None:
    """Begin again when the event that ends or hinders the stretch is over."""
    z[Z_STAGE] = STAGE_BEGIN
    z[Z_NEXT] = then + max(1, (z[Z_LIMIT] - then) // world.period_us + 1) * world.period_us


@compiled
def _begin_again(world: World, z: Cells, now: int) -> None:
    """Take a new first snapshot and seek a cycle from here on."""
    take_snapshot(world, z, _snapshot(world, 0))
    z[Z_STAGE] = STAGE_SEEK
    z[Z_STEPS] = 0
    z[Z_NEXT] = now + world.period_us


@compiled
def _seek(world: World, rules: Rules, motions: Cells, z: Cells) -> None:
    """STAGE_SEEK: if the world is that of the first snapshot again, take the second."""
    now = z[Z_NOW]
    z[Z_STEPS] += 1
    z[Z_SPAN] = z[Z_STEPS] * world.period_us
    z[Z_BEFORE] = z[Z_EARLIER] = _snapshot(world, 0)
    z[Z_LIST] = MOVED_FIRST
    if z[Z_STEPS] > z[Z_TOO_SHORT] and _agrees(world, z, motions):
        if _moved_as_known(world, z):
            # the cycle of before, after something that changed nothing: once is enough
            then = _fast_forward(world, rules, motions, z)
            if z[Z_LIMIT] > now:
                _rest(world, z, then)
                return
        take_snapshot(world, z, _snapshot(world, 1))
        z[Z_STAGE] = STAGE_CONFIRM
        z[Z_NEXT] = now + z[Z_SPAN]
    elif z[Z_STEPS] >= z[Z_POWER]:
        z[Z_POWER] = min(2 * z[Z_POWER], POWER_MAX)
        _begin_again(world, z, now)


@compiled
def _confirm(world: World, rules: Rules, motions: Cells, z: Cells) -> None:
    """STAGE_CONFIRM: jump if every cell has moved twice by the same amount."""
    z[Z_LIMIT] = 0
    z[Z_BEFORE], z[Z_EARLIER] = _snapshot(world, 1), _snapshot(world, 0)
    z[Z_LIST] = MOVED_AGAIN
    if _agrees(world, z, motions) and _moved_equally(world, z, z[Z_EARLIER], z[Z_BEFORE]):
        then = _fast_forward(world, rules, motions, z)
        if z[Z_LIMIT] > 0:
            _rest(world, z, then)
            return
    # half a cycle can look like a whole one: try a longer span
    z[Z_TOO_SHORT] = z[Z_SPAN] // world.period_us
    z[Z_POWER] = min(2 * z[Z_POWER], POWER_MAX)
    if z[Z_TOO_SHORT] >= z[Z_POWER]:
        z[Z_TOO_SHORT] = 0
    _begin_again(world, z, z[Z_NOW])


@cold
def detect(world: World, rules: Rules, motions: Cells, z: Cells) -> None:
    """Do the stage that is due at Z_NEXT, before the events of that time; jump if it may.

    The first snapshot is renewed after 1, 2, 4, ... periods (Brent's cycle finding), so that a
    cycle of any length is found soon after the world has begun to repeat.
    """
    now = z[Z_NOW] = z[Z_NEXT]
    z[Z_NEXT] = now + world.period_us
    if not straighten(world):
        z[Z_STAGE] = STAGE_BEGIN
    elif z[Z_STAGE] == STAGE_BEGIN:
        z[Z_POWER] = 1
        z[Z_TOO_SHORT] = 0
        _begin_again(world, z, now)
    elif z[Z_STAGE] == STAGE_SEEK:
        _seek(world, rules, motions, z)
    else:
        _confirm(world, rules, motions, z)
