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
and is only counted.

Where a comparison could turn out differently later (an offset in front of one that moves, two
speeds in one log, a backlog), nothing is jumped. The proof is the comparison with the same code
without jumps: `tests/simulation/test_cycles.py`.

``z`` is this module's memory: a few numbers (Z_*), what the partitions' logs did, two snapshots of
the world, and three lists of the cells that moved: (cell, by how much) each. The lists are a tenth
of the world or less and fit into a core's caches; only taking and comparing a snapshot walk through
all cells.
"""

from __future__ import annotations

from isr_pipeline.kafka.record import LAST_CAUGHT_UP, LEO, LEO_TIME, N_FIELDS
from isr_pipeline.kafka.releases import (
    CLOCK,
    ISR_LOCK,
    KIP501,
    MESSAGE_LAG,
    Clock,
    Kip501,
    Lock,
)
from isr_pipeline.simulation.leader import record_base
from isr_pipeline.simulation.log import batch_at
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
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.layout import (
    B_CLIENT_K,
    B_CLIENT_PERIOD,
    B_FETCH_MIN_BYTES,
    B_LAG,
    B_LAG_MESSAGES,
    B_PAUSED_UNTIL,
    B_QBASE,
    B_QHEAD,
    B_QTAIL,
    B_SBASE,
    B_SHEAD,
    B_SIZE,
    B_SLOT_TICK,
    B_STAIL,
    B_SURGE_K,
    B_SURGE_PERIOD,
    B_TICK,
    B_TICK_DUE,
    B_TICK_POS,
    B_TICK_STATE,
    B_UP,
    B_WALK,
    B_WALK_N,
    C_HORIZON,
    C_PERIOD,
    C_S2_COOLDOWN,
    C_WARMUP,
    E_OFFSET,
    E_SIZE,
    E_TIME,
    G_EVENTS,
    G_JUMPED,
    G_JUMPS,
    G_LOCKED_READS,
    G_NOW,
    G_TICKS,
    H_BRK,
    H_BROKERS,
    H_BYKIND,
    H_LOCKED,
    H_PART,
    H_PARTITIONS,
    H_QUEUE,
    H_REC,
    H_REQ,
    H_REQUESTS,
    H_ROW,
    H_ROWS,
    H_SENDQ,
    H_SLOTS,
    H_STR,
    H_STREAMS,
    H_WALK,
    INF,
    L_ACKS_ALL,
    L_BYTES,
    L_END,
    L_SIZE,
    L_STATE,
    L_TIME,
    LOCKED_MAX,
    P_LEADER,
    P_LED_CAP,
    P_LED_HEAD,
    P_LED_NEXT,
    P_LED_TAIL,
    P_RF,
    P_S2_LAST,
    P_SIZE,
    Q_DEADLINE,
    Q_ENT,
    Q_KIND,
    Q_N,
    Q_OWNER,
    Q_SIZE,
    Q_STATE,
    QS_FREE,
    QS_PURGATORY,
    R_BROKER,
    R_IS_LEADER,
    R_ISR,
    R_ITEM,
    R_LEO,
    R_PART,
    R_PENDING,
    R_POS,
    R_READERS,
    R_SIZE,
    R_WRITER,
    REQ_FETCH,
    S_GATHERED,
    S_K,
    S_NEXT,
    S_PART,
    S_PERIOD,
    S_SIZE,
    S_STOP,
    SLOT_BITS,
    SLOT_MASK,
    T_FOLLOWER,
    U_BEGIN,
    U_BROKER,
    U_END,
    U_SIZE,
)
from isr_pipeline.simulation.world.queue import due, key, leaf, refill, slot_of

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

STAGE_BEGIN = 0  # take the first snapshot
STAGE_SEEK = 1  # is the world that of the first snapshot again?
STAGE_CONFIRM = 2  # it was: is it again, a cycle later?

POWER_MAX = 32
MOVED_FIRST = 0  # between the first snapshot and the world that agreed with it
MOVED_AGAIN = 1  # between the second snapshot and one cycle after it
MOVED_KNOWN = 2  # in the cycle jumped last
BLOCK = 8  # cells that are compared at once

LOG_GROWTH, LOG_MOVES_FROM, LOG_MOVES_TO = 0, 1, 2  # of a partition, between two snapshots

_ANY_FETCH = int(Clock.ANY_FETCH)
_FETCH_TIME = int(Clock.FETCH_TIME)
_S2 = int(Kip501.S2)
_LOCK_COMPLETION = int(Lock.COMPLETION)
_LOCK_RW_ALWAYS = int(Lock.RW_ALWAYS)

_FIRST = G_NOW  # cells before it are constants


# ------------------------------------------------------------------ snapshots


@compiled
def _snapshot_size(w):
    """Cells of a snapshot: the world up to H_BYKIND, the brokers' queues, open batches."""
    return w[H_BYKIND] + w[H_BROKERS] * RINGS + w[H_PARTITIONS] * LIVE_MAX * L_SIZE


@compiled
def _snapshot(w, number):
    """Place in ``z`` of snapshot 0 or 1."""
    return Z_SIZE + w[H_PARTITIONS] * LOG_FIELDS + number * _snapshot_size(w)


@compiled
def _moves(w, which):
    """Place in ``z`` of a list of moved cells: MOVED_FIRST, MOVED_AGAIN or MOVED_KNOWN."""
    return _snapshot(w, 2) + which * 2 * _moves_max(w)


@compiled
def _moves_max(w):
    """Cells that a list has room for."""
    return w[H_BYKIND] // MOVED_SHARE


@compiled
def _straight(w, b, head, tail, base, width):
    """Let a ring of broker ``b`` begin at its beginning; False if it is long, or lies across."""
    count = w[b + tail] - w[b + head]
    if count < 0 or count > RING_MAX:
        return False
    if w[b + head] > 0:
        for k in range(count * width):
            w[base + k] = w[base + w[b + head] * width + k]
        w[b + head] = 0
        w[b + tail] = count
    return True


@compiled
def straighten(w):
    """Let every queue begin at its ring's beginning, which changes nothing but is comparable.

    False if that cannot be: a queue is long, or lies across its ring's end.
    """
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        if not _straight(w, b, B_QHEAD, B_QTAIL, w[H_QUEUE] + 2 * w[b + B_QBASE], 2):
            return False
        if not _straight(w, b, B_SHEAD, B_STAIL, w[H_SENDQ] + w[b + B_SBASE], 1):
            return False
    return True


@compiled
def take_snapshot(w, z, s):
    """Keep the world as it is now, at ``s`` in ``z``."""
    for i in range(_FIRST, w[H_BYKIND]):
        z[s + i] = w[i]
    at = s + w[H_BYKIND]
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        z[at] = w[b + B_QTAIL]
        z[at + 1] = w[b + B_STAIL]
        for k in range(2 * w[b + B_QTAIL]):
            z[at + 2 + k] = w[w[H_QUEUE] + 2 * w[b + B_QBASE] + k]
        for k in range(w[b + B_STAIL]):
            z[at + 2 + 2 * RING_MAX + k] = w[w[H_SENDQ] + w[b + B_SBASE] + k]
        at += RINGS
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        live = w[p + P_LED_TAIL] - w[p + P_LED_HEAD]
        if live <= LIVE_MAX:
            e = batch_at(w, p, w[p + P_LED_HEAD])
            for k in range(live * L_SIZE):
                z[at + k] = w[e + k]
        at += LIVE_MAX * L_SIZE


# ------------------------------------------------------------------ is it the same world again?


@compiled
def _keys_agree(w, z, s, span):
    """Whether every slot's key stands still or has moved by ``span``: the cheap test."""
    shift = span << SLOT_BITS
    for number in range(w[H_SLOTS]):
        i = leaf(slot_of(w, number))
        moved = w[i] - z[s + i]
        if moved != 0 and moved != shift and not _is_tick(w, number):
            return False
    return True


@compiled
def _is_tick(w, number):
    """Whether a slot, by its number, is that of a broker's isr-expiration tick."""
    first = w[w[H_BRK] + B_SLOT_TICK] & SLOT_MASK
    return first <= number < first + w[H_BROKERS]


@compiled
def _cell_agrees(w, z, motions, i, moved, span):
    """Whether cell ``i``, which is part of the cycle, may have moved by ``moved`` in ``span``."""
    motion = motions[i] & MOTION_MASK
    if motion == OFFSET:
        log = Z_SIZE + (motions[i] >> MOTION_BITS) * LOG_FIELDS
        if z[log + LOG_GROWTH] == 0:
            z[log + LOG_GROWTH] = moved
        z[log + LOG_MOVES_FROM] = min(z[log + LOG_MOVES_FROM], w[i])
        z[log + LOG_MOVES_TO] = max(z[log + LOG_MOVES_TO], w[i])
        return moved > 0 and moved == z[log + LOG_GROWTH]
    if motion in (TIME, UNTIL):
        return moved == span
    if motion == KEY:
        return moved == span << SLOT_BITS
    return motion in (SUM, GROWS) and moved > 0


@compiled
def _block_agrees(w, z, motions, s, span, begin, end, which):
    """Whether the cells from ``begin`` to ``end`` moved as they may; lists those that moved."""
    moves = _moves(w, which)
    for i in range(begin, end):
        moved = w[i] - z[s + i]
        if moved != 0 and motions[i] & MOTION_MASK != IGNORED:
            full = z[Z_MOVED + which] == _moves_max(w)
            if full or not _cell_agrees(w, z, motions, i, moved, span):
                return False
            place = moves + 2 * z[Z_MOVED + which]
            z[place] = i
            z[place + 1] = moved
            z[Z_MOVED + which] += 1
    return True


@compiled
def agrees(w, z, motions, s, span, which):
    """Whether the world is that of the snapshot at ``s`` again, ``span`` later.

    The list ``which`` holds the cells that moved then.
    """
    if not _keys_agree(w, z, s, span):
        return False
    for i in range(w[H_PARTITIONS]):
        log = Z_SIZE + i * LOG_FIELDS
        z[log + LOG_GROWTH] = 0
        z[log + LOG_MOVES_FROM] = INF
        z[log + LOG_MOVES_TO] = -INF
    z[Z_MOVED + which] = 0
    i = _FIRST
    end = w[H_BYKIND]
    while i + BLOCK <= end:
        different = 0
        for k in range(BLOCK):
            different |= w[i + k] ^ z[s + i + k]
        if different != 0 and not _block_agrees(w, z, motions, s, span, i, i + BLOCK, which):
            return False
        i += BLOCK
    return _block_agrees(w, z, motions, s, span, i, end, which) and _queues_agree(w, z, s)


@compiled
def _same_moves(w, z, one, other):
    """Whether two lists hold the same cells, moved by the same amounts."""
    if z[Z_MOVED + one] != z[Z_MOVED + other]:
        return False
    a = _moves(w, one)
    b = _moves(w, other)
    for i in range(2 * z[Z_MOVED + one]):  # noqa: SIM110 - numba compiles no all() over a generator
        if z[a + i] != z[b + i]:
            return False
    return True


@compiled
def _events_until(cells, s):
    """Events without ticks that the world (at 0 of ``w``), or a snapshot of it, has seen."""
    return cells[s + G_EVENTS] - cells[s + G_TICKS]


@compiled
def _events_since(w, z, s):
    """Events since the snapshot at ``s``, without ticks."""
    return _events_until(w, 0) - _events_until(z, s)


@compiled
def _cycles_of_offsets(w, z, motions, s):
    """After how many cycles an offset that moves would pass one that stands in front of it."""
    cycles = INF
    offsets = w[H_BYKIND]
    for k in range(offsets + 1, offsets + 1 + motions[offsets]):
        i = motions[k]
        if w[i] == z[s + i]:
            log = Z_SIZE + (motions[i] >> MOTION_BITS) * LOG_FIELDS
            if z[log + LOG_GROWTH] > 0 and w[i] > z[log + LOG_MOVES_FROM]:
                room = w[i] - z[log + LOG_MOVES_TO] - 1
                if room < 0:
                    return 0
                cycles = min(cycles, room // z[log + LOG_GROWTH] - 1)
    return cycles


@compiled
def _queues_agree(w, z, s):
    """Whether the same requests wait as in the snapshot."""
    at = s + w[H_BYKIND]
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        if z[at] != w[b + B_QTAIL] or z[at + 1] != w[b + B_STAIL]:
            return False
        for k in range(2 * w[b + B_QTAIL]):
            if z[at + 2 + k] != w[w[H_QUEUE] + 2 * w[b + B_QBASE] + k]:
                return False
        for k in range(w[b + B_STAIL]):
            if z[at + 2 + 2 * RING_MAX + k] != w[w[H_SENDQ] + w[b + B_SBASE] + k]:
                return False
        at += RINGS
    return True


@compiled
def _moved_equally(w, z, a, b):
    """Whether every cell moved since snapshot ``b`` by as much as from ``a`` to ``b``."""
    events_before = _events_until(z, b) - _events_until(z, a)
    return _same_moves(w, z, MOVED_FIRST, MOVED_AGAIN) and _events_since(w, z, b) == events_before


@compiled
def _rates_fit(w, z, s, span):
    """Whether all that comes at a rate comes a whole number of times in ``span``, to the ns."""
    for i in range(w[H_STREAMS]):
        x = w[H_STR] + i * S_SIZE
        batches = w[x + S_K] - z[s + x + S_K]
        if batches > 0 and batches * w[x + S_PERIOD] != span * 1000:
            return False
        if w[x + S_GATHERED] != z[s + x + S_GATHERED] and w[w[x + S_PART] + P_LEADER] >= 0:
            return False
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        requests = w[b + B_CLIENT_K] - z[s + b + B_CLIENT_K]
        if requests > 0 and requests * w[b + B_CLIENT_PERIOD] != span * 1000:
            return False
        requests = w[b + B_SURGE_K] - z[s + b + B_SURGE_K]
        if requests > 0 and requests * w[b + B_SURGE_PERIOD] != span * 1000:
            return False
    return True


# ------------------------------------------------------------------ ledgers


@compiled
def _live_place(w, s, i):
    """Place in ``z`` of the batches that the snapshot at ``s`` keeps of partition ``i``."""
    return s + w[H_BYKIND] + w[H_BROKERS] * RINGS + i * LIVE_MAX * L_SIZE


@compiled
def _ledger_returns(w, z, s, span, i):
    """Whether the open batches of partition ``i`` are those of the snapshot, moved on."""
    p = w[H_PART] + i * P_SIZE
    growth = z[Z_SIZE + i * LOG_FIELDS + LOG_GROWTH]
    if growth == 0:
        return True  # nothing is appended, and nothing committed
    live = w[p + P_LED_TAIL] - w[p + P_LED_HEAD]
    if live > LIVE_MAX:
        return False
    e = batch_at(w, p, w[p + P_LED_HEAD])
    before = _live_place(w, s, i)
    for at in range(0, live * L_SIZE, L_SIZE):
        if w[e + at + L_END] - z[before + at + L_END] != growth:
            return False
        if w[e + at + L_TIME] - z[before + at + L_TIME] != span:
            return False
        for field in (L_BYTES, L_ACKS_ALL, L_STATE):
            if w[e + at + field] != z[before + at + field]:
                return False
    return True


@compiled
def _ledger_grows(w, p, span, batches, growth):
    """Whether the last ``batches`` entries of a ledger repeat those before them, moved on."""
    tail = w[p + P_LED_TAIL]
    if tail - w[p + P_LED_HEAD] < 2 * batches:
        return False
    last = batch_at(w, p, tail - batches)
    before = batch_at(w, p, tail - 2 * batches)
    size = w[last + L_BYTES] - w[before + L_BYTES]
    for k in range(0, batches * L_SIZE, L_SIZE):
        if (
            w[last + k + L_END] - w[before + k + L_END] != growth
            or w[last + k + L_BYTES] - w[before + k + L_BYTES] != size
            or w[last + k + L_TIME] - w[before + k + L_TIME] != span
            or w[last + k + L_ACKS_ALL] != w[before + k + L_ACKS_ALL]
        ):
            return False
    return True


@compiled
def _cycles_of_ledger(w, z, s, span, i):
    """How many cycles the ledger of partition ``i`` can take at once: 0 if it does not repeat."""
    p = w[H_PART] + i * P_SIZE
    if w[p + P_LED_HEAD] != z[s + p + P_LED_HEAD]:
        return 0
    batches = w[p + P_LED_TAIL] - z[s + p + P_LED_TAIL]
    committed = w[p + P_LED_NEXT] - z[s + p + P_LED_NEXT]
    if batches == 0:
        return INF if committed == 0 and _ledger_returns(w, z, s, span, i) else 0
    growth = z[Z_SIZE + i * LOG_FIELDS + LOG_GROWTH]
    open_batches = w[p + P_LED_TAIL] - w[p + P_LED_NEXT]
    if batches < 0 or not _ledger_grows(w, p, span, batches, growth):
        return 0
    if committed != 0 and (committed != batches or open_batches > batches):
        return 0
    if committed == 0 and open_batches < 2 * batches:
        return 0
    return (w[p + P_LED_CAP] - w[p + P_LED_TAIL]) // batches - 1


@compiled
def _jump_ledger(w, z, s, span, cycles, i):
    """Move the ledger of partition ``i`` on by so many cycles."""
    p = w[H_PART] + i * P_SIZE
    growth = z[Z_SIZE + i * LOG_FIELDS + LOG_GROWTH]
    tail = w[p + P_LED_TAIL]
    batches = tail - z[s + p + P_LED_TAIL]
    if batches == 0:
        if growth > 0:
            e = batch_at(w, p, w[p + P_LED_HEAD])
            for _ in range(tail - w[p + P_LED_HEAD]):
                w[e + L_END] += cycles * growth
                w[e + L_TIME] += cycles * span
                e += L_SIZE
        return
    committed = w[p + P_LED_NEXT] - z[s + p + P_LED_NEXT]
    size = w[batch_at(w, p, tail - 1) + L_BYTES] - w[batch_at(w, p, tail - 1 - batches) + L_BYTES]
    more = cycles * batches
    # The newest entries, up to the oldest that is still open, keep their places from the end ...
    closed = w[p + P_LED_NEXT] if committed > 0 else tail
    for k in range(tail - 1, closed - 1, -1):
        _copy_entry(w, batch_at(w, p, k), batch_at(w, p, k + more), cycles, growth, size, span)
    # ... and before them the last cycle's closed ones come again and again.
    for k in range(closed, closed + more):
        back = (k - closed) // batches + 1
        source = batch_at(w, p, k - back * batches)
        _copy_entry(w, source, batch_at(w, p, k), back, growth, size, span)
    w[p + P_LED_TAIL] += more
    if committed > 0:
        w[p + P_LED_NEXT] += more


@compiled
def _copy_entry(w, source, target, cycles, growth, size, span):
    """Repeat a batch so many cycles later."""
    w[target + L_END] = w[source + L_END] + cycles * growth
    w[target + L_BYTES] = w[source + L_BYTES] + cycles * size
    w[target + L_TIME] = w[source + L_TIME] + cycles * span
    w[target + L_ACKS_ALL] = w[source + L_ACKS_ALL]
    w[target + L_STATE] = w[source + L_STATE]


# ------------------------------------------------------------------ until when?


@compiled
def _regular_tick(w, b):
    """Whether the tick of broker ``b`` is one of the ordinary ones, so that it may be counted."""
    return (
        w[b + B_UP] == 1
        and w[b + B_PAUSED_UNTIL] == 0
        and w[b + B_TICK_POS] < 0
        and w[b + B_TICK_STATE] == 0
        and due(w, w[b + B_SLOT_TICK]) == w[b + B_TICK_DUE]
    )


@compiled
def _plans_end(w, z, motions, a, b, now, span):
    """First moment after ``now`` at which a plan or a time that stands still falls due.

    One that has passed since the first snapshot may show its effect only in the next cycle: then it
    is ``now``.
    """
    end = INF
    times = w[H_BYKIND] + 1 + motions[w[H_BYKIND]]
    for k in range(times + 1, times + 1 + motions[times]):
        i = motions[k]
        if w[i] > now - 2 * span and w[i] == z[b + i] and w[i] == z[a + i]:
            motion = motions[i] & MOTION_MASK
            if motion == UNTIL or (motion == TIME and w[i] > now):
                end = min(end, max(now, w[i]))
    for number in range(w[H_SLOTS]):
        i = leaf(slot_of(w, number))
        if w[i] == z[b + i] and not _is_tick(w, number):
            end = min(end, w[i] >> SLOT_BITS)
    return end


@compiled
def _bytes_gather(w, z, s):
    """Whether a fetch waits for more than one byte: its distance to the log's end grows."""
    for i in range(w[H_REQUESTS]):
        q = w[H_REQ] + i * Q_SIZE
        if w[q + Q_STATE] == QS_PURGATORY and w[q + Q_DEADLINE] == z[s + q + Q_DEADLINE]:
            if w[w[w[q + Q_OWNER] + T_FOLLOWER] + B_FETCH_MIN_BYTES] > 1:
                return True
    return False


@compiled
def _streams_end(w, now):
    """First moment at which a stream plans no further batch: a period before it stops."""
    end = INF
    for i in range(w[H_STREAMS]):
        x = w[H_STR] + i * S_SIZE
        if w[x + S_NEXT] < INF and w[x + S_STOP] < INF:
            end = min(end, max(now, w[x + S_STOP] - w[x + S_PERIOD] // 1000 - 1))
    return end


@compiled
def _first_tick_after(w, b, time):
    """The first tick of broker ``b`` later than ``time``."""
    due = w[b + B_TICK_DUE]
    if due > time:
        return due
    return due + ((time - due) // w[b + B_TICK] + 1) * w[b + B_TICK]


@compiled
def _ticks_end(w, rules, z, s, now, span):
    """First tick that cannot just be counted because it may meet a lock, or is out of turn."""
    end = INF
    locks = rules[ISR_LOCK] in (_LOCK_COMPLETION, _LOCK_RW_ALWAYS)
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        if not _regular_tick(w, b):
            end = min(end, due(w, w[b + B_SLOT_TICK]))
        elif locks:
            end = min(end, _first_held_up(w, z, s, b, now, span, end))
    return end


@compiled
def _first_held_up(w, z, s, b, now, span, end):
    """First tick of broker ``b`` before ``end`` at which a lock that it takes may be held.

    Reads hold locks at the same moments of every cycle: those listed since the snapshot at ``s``.
    """
    first = z[s + G_LOCKED_READS]
    count = w[G_LOCKED_READS] - first
    due = w[b + B_TICK_DUE]
    if count > LOCKED_MAX or _locks_held(w, b) > _listed_and_open(w, b, first, count, now):
        return due
    while due < min(end, w[C_HORIZON]):
        for k in range(first, first + count):
            u = w[H_LOCKED] + (k & (LOCKED_MAX - 1)) * U_SIZE
            if w[u + U_BROKER] == b:
                if (due - w[u + U_BEGIN]) % span <= w[u + U_END] - w[u + U_BEGIN]:
                    return due
        due += w[b + B_TICK]
    return INF


@compiled
def _locks_held(w, b):
    """Reads and writes in progress on broker ``b`` that hold a partition's lock."""
    held = 0
    for i in range(w[b + B_WALK_N]):
        r = w[w[H_WALK] + w[b + B_WALK] + i]
        held += w[r + R_READERS] + w[r + R_WRITER]
    return held


@compiled
def _listed_and_open(w, b, first, count, now):
    """Reads on broker ``b`` that are listed and not over."""
    found = 0
    for k in range(first, first + count):
        u = w[H_LOCKED] + (k & (LOCKED_MAX - 1)) * U_SIZE
        if w[u + U_BROKER] == b and w[u + U_END] >= now:
            found += 1
    return found


@compiled
def _oldest_visit(w, z, s, now, span):
    """Lower bound of E_TIME of all fetches under way, as the cycle goes on; -INF if one stands."""
    oldest = now
    for i in range(w[H_REQUESTS]):
        q = w[H_REQ] + i * Q_SIZE
        if w[q + Q_KIND] != REQ_FETCH or w[q + Q_STATE] == QS_FREE:
            continue
        for k in range(w[q + Q_N]):
            e = w[q + Q_ENT] + k * E_SIZE
            if w[e + E_OFFSET] >= 0:
                if w[e + E_TIME] == z[s + e + E_TIME]:
                    return -INF
                oldest = min(oldest, w[e + E_TIME] - span)
    return oldest


BOUNDED = {
    "B_LAG": "_clocks_end",
    "B_LAG_MESSAGES": "_behind_stays_small",
    "B_TICK": "_first_held_up",
    "C_S2_COOLDOWN": "_cooldowns_end",
    "B_FETCH_MIN_BYTES": "_bytes_gather",
    "C_WARMUP": "_counting_began",
    "C_HORIZON": "_cycle_until",
}
"""Time or threshold that a rule compares with a cell that may stand still -> its bound."""

PLANNED = frozenset(
    {
        "FIRST_ASK_US", "SHUTDOWN_LIMIT_US", "NEXT_GO_US", "NEW_CONTROLLER_CHECK_US",
        "B_FETCH_WAIT", "B_BACKOFF", "B_SOCKET_TIMEOUT", "C_REQUEST_TIMEOUT", "B_SESSION",
        "B_HEARTBEAT", "C_S2_LIMIT", "B_READ", "B_PRODUCE", "B_SEND", "B_APPEND", "C_HALF_RTT",
        "C_ALTER", "C_ZK_WRITE", "C_MD_LOW", "C_MD_HIGH", "B_CLIENT", "C_REBALANCE", "C_SAMPLE",
        "RETRY_US", "EXPIRY_RETRY_US", "LOG_DIR_NOTICE_US", "UNFENCE_LOW_US", "UNFENCE_HIGH_US",
    }
)  # fmt: skip
"""Times that only say when a slot fires, or a cell that holds a time falls due: `_plans_end`."""

REPEATS = frozenset(
    {
        "B_FETCH_MAX_BYTES", "B_RESPONSE_MAX_BYTES", "B_QUEUED_MAX", "C_MIN_ISR", "C_UNCLEAN",
        "FLAP_WINDOW_US", "C_IMBALANCE",
    }
)  # fmt: skip
"""Thresholds compared only with what every cycle repeats: sizes of a request, sets, how long ago a
member left that comes back in the same cycle."""

NO_RULE = frozenset(
    {"C_SEED", "C_BUDGET", "C_EVENTS_MAX", "C_SAMPLES_MAX", "C_SCRATCH", "C_PERIOD"}
)
"""Cells of the header's settings that no rule compares with anything."""


@compiled
def _clocks_end(w, rec, rules, z, s, now, span):
    """First moment at which a follower's lag clock may decide otherwise than now.

    Every leader, official or not, and every follower: a clock that moves stays young; one that
    stands crosses the lag once, which the HW notices; after that the tick does.
    """
    end = INF
    clock = LEO_TIME if rules[CLOCK] == _ANY_FETCH else LAST_CAUGHT_UP
    visits = -INF - 1
    for i in range(w[H_ROWS]):
        r = w[H_ROW] + i * R_SIZE
        if w[r + R_IS_LEADER] == 0:
            continue
        p = w[r + R_PART]
        lag = w[w[r + R_BROKER] + B_LAG]
        base = record_base(w, r)
        for pos in range(w[p + P_RF]):
            if pos == w[r + R_POS]:
                continue
            field = w[H_REC] + (base + pos) * N_FIELDS
            caught_up = rec[base + pos, clock]
            stands = caught_up == z[s + field + clock]
            ticks = (w[r + R_ISR] >> pos) & 1 != 0 and w[r + R_PENDING] == 0 and w[r + R_ITEM] == 0
            if ticks and rules[MESSAGE_LAG] != 0:
                if not _behind_stays_small(w, rec, z, s, r, base + pos, field):
                    end = min(end, _first_tick_after(w, w[r + R_BROKER], now - 1))
            if not stands:
                if now - caught_up + span >= lag:
                    return now
                continue
            crossing = caught_up + lag
            if now - 2 * span < crossing < now:
                return now
            if crossing >= now:
                end = min(end, crossing)
            elif rules[CLOCK] == _FETCH_TIME and crossing > now - 10 * lag:
                if visits < -INF:
                    visits = _oldest_visit(w, z, s, now, span)
                if visits <= crossing and visits > -INF:
                    return now
            if ticks:
                end = min(end, _first_tick_after(w, w[r + R_BROKER], max(now - 1, crossing)))
    return end


@compiled
def _behind_stays_small(w, rec, z, s, r, row, field):
    """0.8.2: whether the tick will not find the follower replica.lag.max.messages behind."""
    leo = rec[row, LEO]
    if leo < 0:
        return True
    if leo == z[s + field + LEO] and w[r + R_LEO] != z[s + r + R_LEO]:
        return False
    return w[r + R_LEO] - z[s + field + LEO] <= w[w[r + R_BROKER] + B_LAG_MESSAGES]


@compiled
def _cooldowns_end(w, rules, now, span):
    """First end of a cooldown of Solution 2; one that has just passed counts as now."""
    end = INF
    if rules[KIP501] == _S2 and w[C_S2_COOLDOWN] > 0:
        for i in range(w[H_PARTITIONS]):
            over = w[w[H_PART] + i * P_SIZE + P_S2_LAST] + w[C_S2_COOLDOWN]
            if over > now - 2 * span:
                end = min(end, max(now, over))
    return end


@compiled
def _counting_began(w, now, span):
    """Whether all that commits is counted (or nothing yet): not while older batches are open."""
    if w[C_WARMUP] > now:
        return True
    counted_from = w[C_WARMUP] + 2 * span
    if now < counted_from:
        return False
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        if w[p + P_LED_NEXT] < w[p + P_LED_TAIL]:
            if w[batch_at(w, p, w[p + P_LED_NEXT]) + L_TIME] < counted_from:
                return False
    return True


@compiled
def _cycle_until(w, rec, rules, motions, z, a, b, now, span):
    """End of the stretch in which the cycle goes on."""
    if _bytes_gather(w, z, b):
        return now
    end = w[C_HORIZON]
    if w[C_WARMUP] > now:
        end = min(end, w[C_WARMUP])
    end = min(end, _plans_end(w, z, motions, a, b, now, span))
    end = min(end, _streams_end(w, now))
    end = min(end, _ticks_end(w, rules, z, b, now, span))
    end = min(end, _clocks_end(w, rec, rules, z, b, now, span))
    return min(end, _cooldowns_end(w, rules, now, span))


# ------------------------------------------------------------------ the jump


@compiled
def _jump(w, z, s, now, span, cycles, which):
    """Move the world on by so many cycles, each like the one since the snapshot at ``s``.

    The list ``which`` says what moves in one.
    """
    events = _events_since(w, z, s)
    for i in range(w[H_PARTITIONS]):
        _jump_ledger(w, z, s, span, cycles, i)
    moves = _moves(w, which)
    for place in range(moves, moves + 2 * z[Z_MOVED + which], 2):
        w[z[place]] += cycles * z[place + 1]
    ticks = _count_ticks(w, now + cycles * span)
    w[G_TICKS] += ticks
    w[G_EVENTS] += cycles * events + ticks
    w[G_JUMPED] += cycles * events + ticks
    w[G_JUMPS] += 1
    refill(w)


@compiled
def _count_ticks(w, until):
    """Let every ordinary tick before ``until`` pass; returns how many."""
    count = 0
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        if _regular_tick(w, b) and w[b + B_TICK_DUE] < until:
            passed = (until - 1 - w[b + B_TICK_DUE]) // w[b + B_TICK] + 1
            w[b + B_TICK_DUE] += passed * w[b + B_TICK]
            slot = w[b + B_SLOT_TICK]
            w[leaf(slot)] = key(slot, w[b + B_TICK_DUE])
            count += passed
    return count


@compiled
def _moved_as_known(w, z, s, span):
    """Whether every cell has moved since the first snapshot as in the cycle jumped last."""
    return (
        z[Z_KNOWN] == span
        and _events_since(w, z, s) == z[Z_KNOWN_EVENTS]
        and _same_moves(w, z, MOVED_FIRST, MOVED_KNOWN)
    )


@compiled
def _fast_forward(w, rec, rules, motions, z, a, b, now, span, which):
    """Jump as far as the cycle since snapshot ``b`` goes on; returns the time after the jump.

    The list ``which`` says what moved since then. Z_LIMIT tells until when nothing can be jumped
    again; 0 if the cycle was none.
    """
    z[Z_LIMIT] = 0
    if not _rates_fit(w, z, b, span):
        return now
    z[Z_LIMIT] = now
    if not _counting_began(w, now, span):
        return now
    cycles = _cycles_of_offsets(w, z, motions, b)
    for i in range(w[H_PARTITIONS]):
        cycles = min(cycles, _cycles_of_ledger(w, z, b, span, i))
    if cycles <= 0:
        return now
    end = _cycle_until(w, rec, rules, motions, z, a, b, now, span)
    if cycles < (end - now) // span:
        end = now + cycles * span
    z[Z_LIMIT] = end
    cycles = (end - now) // span
    if cycles <= 0:
        return now
    _remember_moves(w, z, b, span, which)
    _jump(w, z, b, now, span, cycles, which)
    return now + cycles * span


@compiled
def _remember_moves(w, z, s, span, which):
    """Keep what moved since the snapshot at ``s``, and by how much."""
    source = _moves(w, which)
    target = _moves(w, MOVED_KNOWN)
    for i in range(2 * z[Z_MOVED + which]):
        z[target + i] = z[source + i]
    z[Z_MOVED + MOVED_KNOWN] = z[Z_MOVED + which]
    z[Z_KNOWN_EVENTS] = _events_since(w, z, s)
    z[Z_KNOWN] = span


@compiled
def _rest(w, z, then):
    """Begin again when the event that ends or hinders the stretch is over."""
    z[Z_STAGE] = STAGE_BEGIN
    z[Z_NEXT] = then + max(1, (z[Z_LIMIT] - then) // w[C_PERIOD] + 1) * w[C_PERIOD]


@compiled
def _begin_again(w, z, now):
    """Take a new first snapshot and seek a cycle from here on."""
    take_snapshot(w, z, _snapshot(w, 0))
    z[Z_STAGE] = STAGE_SEEK
    z[Z_STEPS] = 0
    z[Z_NEXT] = now + w[C_PERIOD]


@cold
def detect(w, rec, rules, motions, z):
    """Do the stage that is due at Z_NEXT, before the events of that time; jump if it may.

    The first snapshot is renewed after 1, 2, 4, ... periods (Brent's cycle finding), so that a
    cycle of any length is found soon after the world has begun to repeat.
    """
    now = z[Z_NEXT]
    z[Z_NEXT] = now + w[C_PERIOD]
    if not straighten(w):
        z[Z_STAGE] = STAGE_BEGIN
        return
    if z[Z_STAGE] == STAGE_BEGIN:
        z[Z_POWER] = 1
        z[Z_TOO_SHORT] = 0
        _begin_again(w, z, now)
        return
    if z[Z_STAGE] == STAGE_SEEK:
        z[Z_STEPS] += 1
        span = z[Z_STEPS] * w[C_PERIOD]
        first = _snapshot(w, 0)
        if z[Z_STEPS] > z[Z_TOO_SHORT] and agrees(w, z, motions, first, span, MOVED_FIRST):
            if _moved_as_known(w, z, first, span):
                # the cycle of before, after something that changed nothing: once is enough
                then = _fast_forward(
                    w, rec, rules, motions, z, first, first, now, span, MOVED_FIRST
                )
                if z[Z_LIMIT] > now:
                    _rest(w, z, then)
                    return
            take_snapshot(w, z, _snapshot(w, 1))
            z[Z_STAGE] = STAGE_CONFIRM
            z[Z_SPAN] = span
            z[Z_NEXT] = now + span
        elif z[Z_STEPS] >= z[Z_POWER]:
            z[Z_POWER] = min(2 * z[Z_POWER], POWER_MAX)
            _begin_again(w, z, now)
        return
    span = z[Z_SPAN]
    z[Z_LIMIT] = 0
    a = _snapshot(w, 0)
    b = _snapshot(w, 1)
    if agrees(w, z, motions, b, span, MOVED_AGAIN) and _moved_equally(w, z, a, b):
        then = _fast_forward(w, rec, rules, motions, z, a, b, now, span, MOVED_AGAIN)
        if z[Z_LIMIT] > 0:
            _rest(w, z, then)
            return
    # half a cycle can look like a whole one: try a longer span
    z[Z_TOO_SHORT] = span // w[C_PERIOD]
    z[Z_POWER] = min(2 * z[Z_POWER], POWER_MAX)
    if z[Z_TOO_SHORT] >= z[Z_POWER]:
        z[Z_TOO_SHORT] = 0
    _begin_again(w, z, now)
