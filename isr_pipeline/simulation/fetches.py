"""A follower's fetch on the leader's broker: its partitions in request order, one step a firing.

Only partitions with data take time. Each is read and recorded; a fetch that finds nothing goes to
purgatory.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import EpochError, epoch_error
from isr_pipeline.kafka.record import Pending
from isr_pipeline.kafka.releases import Clock, Kip501, Lock, Rules
from isr_pipeline.kafka.replica import on_failed_read, on_fetch, on_fetch_again
from isr_pipeline.kafka.rows import number_of
from isr_pipeline.simulation.alter_partition import (
    propose,
    s2_alarm,
    submit,
    sync_write_end,
    wants_expand,
)
from isr_pipeline.simulation.leader import plan_read, raise_hw
from isr_pipeline.simulation.log import truncation_offset
from isr_pipeline.simulation.network import read_end
from isr_pipeline.simulation.partition_lock import (
    begin_locked_read,
    read_must_wait,
    release_read,
    wait_for_log,
)
from isr_pipeline.simulation.pending_reads import forget_pending
from isr_pipeline.simulation.purgatory import begin_completion, complete, satisfied
from isr_pipeline.simulation.quotas import withholds
from isr_pipeline.simulation.request_queue import handler_free
from isr_pipeline.simulation.responses import respond
from isr_pipeline.simulation.shortcuts.validated import is_validated
from isr_pipeline.simulation.turns import first_place, place_behind
from isr_pipeline.simulation.waits import forget_waits
from isr_pipeline.simulation.world.jit import cold, compiled, hot
from isr_pipeline.simulation.world.queue import cancel, schedule
from isr_pipeline.simulation.world.states import (
    HandlerState,
    Phase,
    Reads,
    RequestError,
    RequestState,
    WriteLock,
)
from isr_pipeline.simulation.world.tables import (
    MAX_RF,
    Broker,
    Entry,
    Fetched,
    FetcherThread,
    Handler,
    Replica,
    Request,
    World,
)


@compiled
def _check_entry(rules: Rules, leader: Replica, follower: Replica, entry: Entry) -> RequestError:
    """What ``leader`` has against an entry of ``follower``."""
    if not leader.is_online:
        return RequestError.STORAGE
    error = epoch_error(rules, entry.leader_epoch, leader.leader_epoch)
    if error != EpochError.NONE:
        return (
            RequestError.FENCED_EPOCH
            if error == EpochError.FENCED_LEADER_EPOCH
            else RequestError.UNKNOWN_EPOCH
        )
    if not leader.is_leader:
        return RequestError.NOT_LEADER
    if follower.must_truncate:
        if truncation_offset(rules, follower, leader) < follower.log_end_offset:
            return RequestError.DIVERGING
        follower.must_truncate = 0
    if entry.offset > leader.log_end_offset:
        return RequestError.DIVERGING
    return RequestError.NONE


@hot
def _record_fetch(
    world: World, rules: Rules, handler: Handler, entry: Entry, fetched: Fetched, validated: bool
) -> bool:
    """Write the leader's record of the follower of fetched partition ``fetched``.

    True if the handler has to stay: a synchronous ISR write begins, or one is under way whose lock
    the check for the follower's own return waits for; or the log is being appended to, whose lock
    whoever raises the high watermark takes (log/Log.scala @ 0.11.0.0 `onHighWatermarkIncremented`;
    log/UnifiedLog.scala @ 3.9.0 `maybeIncrementHighWatermark`).
    """
    now = world.now
    leader = fetched.leader
    record = fetched.record
    offset = entry.offset
    if not validated:
        if not leader.is_leader or offset < 0:  # withdrawn while it was read
            return False
        if entry.error != RequestError.NONE:
            if entry.error != RequestError.DIVERGING:
                on_failed_read(rules, record, now)
            return False
    moved = record.log_end_offset != offset
    on_fetch(rules, record, offset, entry.read_at, entry.leader_end, now)
    rule_time = entry.read_at if rules.clock == Clock.FETCH_TIME else now
    bit = entry.bit
    writes = False
    asynchronous = rules.async_isr
    outside = (leader.isr & bit) == 0
    if outside and not asynchronous and leader.write_lock != WriteLock.FREE:
        handler.state = HandlerState.RECORD_LOCK
        handler.locked = leader
        cancel(world, handler.slot)
        return True
    if outside and wants_expand(world, rules, leader, fetched.follower.position, rule_time):
        propose(world, rules, leader, Pending.EXPAND, leader.isr | bit, bit)
        if asynchronous:
            submit(world, leader)
        else:
            leader.write_lock = WriteLock.HELD
            handler.state = HandlerState.EXPAND
            handler.locked = leader
            schedule(world, handler.slot, sync_write_end(world, leader))
            writes = True
    if not moved:
        return writes
    if rules.hw_takes_log_lock and leader.appending > 0 and not writes:
        wait_for_log(world, handler, leader, rule_time)
        return True
    raise_hw(world, rules, leader, rule_time)
    return writes


@compiled
def fetch_steps(world: World, rules: Rules, broker: Broker, handler: Handler) -> None:
    """Go on with the fetch of ``handler`` until it has to wait, or is done."""
    request = handler.request
    fetched = request.thread.fetched
    entries = request.entries
    n = request.entry_count
    validated = is_validated(world, request)
    begun = handler.place if handler.phase == Phase.READ else n
    if handler.phase == Phase.READ:
        i = begun
        recorded = 0
        quiet = broker.faults_on == 0 and broker.appending == 0
        swift = validated and quiet and not request.thread.takes_turns
        if swift and not rules.record_per_partition:
            swift = False
            if begun == 0 and _reads_nothing(rules, request):
                _record_at_once(world, rules, handler, request)
                i = n
                recorded = n
        while True:
            if swift:
                i = _skip_unchanged(world, request, i)
            if i >= n:
                break
            entry = entries[i]
            if entry.offset >= 0:
                handler.place = i
                if _visit(world, rules, handler, entry, fetched[i], validated):
                    return
            i = place_behind(request.thread, i)
        handler.phase = Phase.RECORD
        handler.place = recorded
    if not rules.record_per_partition:
        for i in range(handler.place, n):
            entry = entries[i]
            if entry.offset >= 0:
                handler.place = i + 1
                if _record_fetch(world, rules, handler, entry, fetched[i], validated):
                    return
    empty = validated and begun == first_place(request.thread) and request.bytes == 0
    _fetch_done(world, rules, broker, handler, request, empty)


@compiled
def _reads_nothing(rules: Rules, request: Request) -> bool:
    """Whether the validated fetch ``request`` takes no time: no data, no follower outside the ISR.

    0.8.2 is left out: its lag clock is none that `on_fetch_again` writes.
    """
    if rules.clock == Clock.ANY_FETCH:
        return False
    for i in range(request.entry_count):
        entry = request.entries[i]
        leader = request.thread.fetched[i].leader
        if entry.offset >= 0:
            if entry.offset < leader.log_end_offset or (leader.isr & entry.bit) == 0:
                return False
    return True


@cold
def _record_at_once(world: World, rules: Rules, handler: Handler, request: Request) -> None:
    """Read a fetch that `_reads_nothing`, and record it, of a release that records partitions last.

    No time passes and nothing waits, so each partition may be recorded when it is read, and the
    unchanged ones may be skipped.
    """
    thread = request.thread
    i = _skip_unchanged(world, request, 0)
    while i < request.entry_count:
        entry = request.entries[i]
        fetched = thread.fetched[i]
        entry.read_at = world.now
        entry.end = entry.offset
        entry.leader_end = fetched.leader.log_end_offset
        entry.high_watermark = fetched.leader.high_watermark
        _record_fetch(world, rules, handler, entry, fetched, True)
        i = _skip_unchanged(world, request, i + 1)


@hot
def _is_unchanged(entry: Entry, fetched: Fetched) -> bool:
    """Whether ``entry``, of fetched partition ``fetched``, needs only times in its record."""
    leader = fetched.leader
    record = fetched.record
    offset = entry.offset
    return (
        leader.log_end_offset == offset
        and record.log_end_offset == offset
        and record.last_fetch_leader_log_end_offset == offset
        and (leader.isr & entry.bit) != 0
    )


@hot
def _skip_unchanged(world: World, request: Request, first: int) -> int:
    """Skip the caught-up partitions of a validated fetch, from ``first`` on.

    If the release records each partition once it is read, and no disk fault is active, a visit to a
    follower in the ISR that was, and is, at the log's end changes only the times in its record.
    Most visits do, so this short loop writes those times.

    Returns:
        The first partition that needs a visit; the number of entries if none does.
    """
    now = world.now
    entries = request.entries
    fetched = request.thread.fetched
    n = request.entry_count
    i = first
    while i < n:
        entry = entries[i]
        if _is_unchanged(entry, fetched[i]):
            entry.high_watermark = fetched[i].leader.high_watermark
            entry.read_at = now
            on_fetch_again(fetched[i].record, now)
        elif entry.offset >= 0:
            break
        i += 1
    return i


@hot
def _visit(
    world: World, rules: Rules, handler: Handler, entry: Entry, fetched: Fetched, validated: bool
) -> bool:
    """The fetch handler comes to one partition; True if it has to wait there."""
    entry.read_at = world.now
    entry.end = entry.offset
    if validated:
        return _read(world, rules, handler, entry, fetched, True)
    leader = fetched.leader
    follower = fetched.follower
    entry.error = _check_entry(rules, leader, follower, entry)
    if entry.error != RequestError.NONE:
        handler.request.error = entry.error
        if entry.error == RequestError.DIVERGING:
            entry.end = truncation_offset(rules, follower, leader)
        elif rules.record_per_partition:
            _record_fetch(world, rules, handler, entry, fetched, False)
        return False
    return _read(world, rules, handler, entry, fetched, False)


@hot
def _read(
    world: World, rules: Rules, handler: Handler, entry: Entry, fetched: Fetched, validated: bool
) -> bool:
    """Read one partition for a fetch handler; True if that takes time."""
    broker = handler.broker
    request = handler.request
    leader = fetched.leader
    partition = leader.partition
    has_data = entry.offset < leader.log_end_offset
    if has_data and read_must_wait(rules, leader):
        handler.state = HandlerState.FETCH_LOCK
        handler.locked = leader
        cancel(world, handler.slot)
        return True
    entry.leader_end = leader.log_end_offset
    entry.high_watermark = leader.high_watermark
    if has_data and withholds(world, fetched, entry):
        has_data = False
    if has_data:
        entry.end = plan_read(world, rules, request, entry, leader)
        has_data = entry.end > entry.offset
    end = world.now
    if has_data or broker.faults_on > 0:
        end = read_end(world, broker, partition, Reads.DIRECT, 0, has_data)
    if end == world.now:
        if rules.record_per_partition:
            if _record_fetch(world, rules, handler, entry, fetched, validated):
                handler.place = place_behind(request.thread, handler.place)
                return True
        return False
    if has_data:
        request.has_data = 1
    handler.state = HandlerState.FETCH
    handler.locked = None
    if rules.isr_lock >= Lock.RW_ALWAYS:
        begin_locked_read(world, leader, end)
        handler.locked = leader
    handler.read_end = end
    handler.alarm_fired = 0
    schedule(world, handler.slot, s2_alarm(world, rules, end))
    return True


@compiled
def fetch_read_over(world: World, rules: Rules, broker: Broker, handler: Handler) -> None:
    """A read of the fetch of ``handler`` has ended: a tick that waited goes first."""
    if handler.locked:
        leader = handler.locked
        handler.locked = None
        handler.state = HandlerState.FETCH_AFTER
        if release_read(world, leader):
            schedule(world, handler.slot, world.now)
            return
    fetch_after_read(world, rules, broker, handler)


@compiled
def fetch_after_read(world: World, rules: Rules, broker: Broker, handler: Handler) -> None:
    """Write the record of the partition just read (3.3+), and go on with the next."""
    handler.state = HandlerState.FETCH
    request = handler.request
    i = handler.place
    handler.place = place_behind(request.thread, i)
    if rules.record_per_partition:
        entry = request.entries[i]
        fetched = request.thread.fetched[i]
        if _record_fetch(world, rules, handler, entry, fetched, is_validated(world, request)):
            return
    fetch_steps(world, rules, broker, handler)


@cold
def _bit_of_another(thread: FetcherThread, request: Request) -> int:
    """Bit in `FetcherThread.waiting` of a request that is not the first: one was given up."""
    return 1 << number_of(request, thread.requests)


@compiled
def _fetch_done(
    world: World, rules: Rules, broker: Broker, handler: Handler, request: Request, empty: bool
) -> None:
    """All partitions of the fetch are read: answer it, or let it wait in purgatory.

    ``empty``: the fetch is validated, and no partition had data for it at this moment.
    """
    if request.pending != 0 and rules.kip501 == Kip501.S1_PR:
        forget_pending(rules, request)  # the pull request's finally block
    thread = request.thread
    follower = thread.follower
    enough = request.bytes >= follower.fetch_min_bytes
    if request.error != RequestError.NONE or enough or follower.fetch_wait_us == 0:
        respond(world, rules, broker, request)
        handler_free(world, broker, handler)
        return
    if not empty and satisfied(world, rules, request):
        handler.completing = request
        handler.locked = None
        handler.position = MAX_RF  # no other follower to visit afterwards
        handler.request = None
        begin_completion(world, request)
        handler.place = first_place(thread)
        complete(world, rules, broker, handler)
        return
    request.state = RequestState.PURGATORY
    forget_waits(thread)
    thread.waiting |= 1 if request == thread.requests else _bit_of_another(thread, request)
    request.deadline = world.now + follower.fetch_wait_us
    schedule(world, request.slot, request.deadline)
    handler_free(world, broker, handler)
