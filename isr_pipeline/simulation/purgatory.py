"""Fetches that found nothing: they wait, and are completed by *the thread that appends*.

That thread reads the log again for each of them. A fetch that no append completes is answered when
its wait is over.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import EpochError, epoch_error
from isr_pipeline.kafka.quota import Throttled
from isr_pipeline.kafka.releases import Lock, Rules
from isr_pipeline.kafka.rows import nothing_like, trailing_zeros
from isr_pipeline.simulation.alter_partition import s2_alarm, s2_timer
from isr_pipeline.simulation.leader import finish_produce, plan_read
from isr_pipeline.simulation.log import data_end
from isr_pipeline.simulation.network import read_end
from isr_pipeline.simulation.partition_lock import begin_locked_read, read_must_wait, release_read
from isr_pipeline.simulation.quotas import keeps_waiting, withholds
from isr_pipeline.simulation.request_queue import handler_free
from isr_pipeline.simulation.responses import goes_on_at, respond
from isr_pipeline.simulation.shortcuts.validated import is_validated
from isr_pipeline.simulation.turns import first_place, place_behind
from isr_pipeline.simulation.world.jit import cold, compiled, hot
from isr_pipeline.simulation.world.queue import cancel, schedule
from isr_pipeline.simulation.world.states import (
    HandlerState,
    Reads,
    RequestError,
    RequestState,
)
from isr_pipeline.simulation.world.tables import (
    Broker,
    Entry,
    Fetched,
    Fetching,
    Handler,
    Replica,
    Request,
    World,
)

EXPIRY_RETRY_US = 1_000


@compiled
def satisfied(world: World, rules: Rules, request: Request) -> bool:
    """Whether the delayed fetch ``request`` can be completed: enough bytes, or an error to tell."""
    fetched = request.thread.fetched
    follower = request.thread.follower
    total = 0
    for i in range(request.entry_count):
        entry = request.entries[i]
        if entry.offset >= 0 and entry.error == RequestError.NONE:
            leader = fetched[i].leader
            if not leader.is_leader or leader.leader_epoch != entry.leader_epoch:
                return True
            if leader.log_end_offset > entry.offset and not keeps_waiting(
                world, rules, fetched[i], entry
            ):
                if follower.fetch_min_bytes <= 1:
                    return True
                limit = follower.fetch_max_bytes
                _, size = data_end(leader.partition, entry.offset, leader.log_end_offset, limit)
                total += size
    return total >= follower.fetch_min_bytes


@compiled
def begin_completion(world: World, request: Request) -> None:
    """A delayed fetch leaves purgatory: it is read again from its first partition on."""
    request.state = RequestState.COMPLETING
    request.bytes = 0
    request.has_data = 0
    request.is_cut = 0
    cancel(world, request.slot)


@compiled
def _recheck(rules: Rules, leader: Replica, entry: Entry) -> RequestError:
    """What the leader has against the entry, as a delayed fetch is read again."""
    if not leader.is_online:
        return RequestError.STORAGE
    if not leader.is_leader:
        return RequestError.NOT_LEADER
    if epoch_error(rules, entry.leader_epoch, leader.leader_epoch) != EpochError.NONE:
        return RequestError.FENCED_EPOCH
    return RequestError.NONE


@compiled
def _completion_steps(world: World, rules: Rules, broker: Broker, handler: Handler) -> bool:
    """Go on reading for the delayed fetch that ``handler`` completes; True if that takes time."""
    request = handler.completing
    thread = request.thread
    fetched = thread.fetched
    n = request.entry_count
    validated = is_validated(world, request)
    i = handler.place
    while i < n:
        if _completion_read(world, rules, handler, i, fetched[i], validated):
            return True
        i = place_behind(thread, i)
    handler.completing = None
    respond(world, rules, broker, request)
    return False


@hot
def _completion_read(
    world: World, rules: Rules, handler: Handler, i: int, fetched: Fetched, validated: bool
) -> bool:
    """``handler`` reads entry ``i`` of the fetch that it completes; True if that takes time."""
    broker = handler.broker
    leader = fetched.leader
    request = handler.completing
    entry = request.entries[i]
    if entry.offset < 0 or (not validated and entry.error != RequestError.NONE):
        return False
    if not validated:
        entry.error = _recheck(rules, leader, entry)
    entry.high_watermark = leader.high_watermark
    entry.end = entry.offset
    if (
        not validated and entry.error != RequestError.NONE
    ) or leader.log_end_offset <= entry.offset:
        return False
    handler.place = i
    if read_must_wait(rules, leader):
        handler.state = HandlerState.COMPLETE_LOCK
        handler.appended = handler.locked
        handler.locked = leader
        cancel(world, handler.slot)
        return True
    if withholds(world, fetched, entry):
        return False
    partition = leader.partition
    entry.end = plan_read(world, rules, request, entry, leader)
    if entry.end <= entry.offset:
        return False
    request.has_data = 1
    end = read_end(world, broker, partition, Reads.COMPLETION, 0, True)
    if end <= world.now:
        return False
    handler.state = HandlerState.COMPLETE
    request.locked = None
    if rules.isr_lock >= Lock.RW_ALWAYS:
        begin_locked_read(world, leader, end)
        request.locked = leader
    elif rules.isr_lock == Lock.COMPLETION and handler.locked:
        # up to 2.0 the append's own read lock is still held
        begin_locked_read(world, handler.locked, end)
        request.locked = handler.locked
    handler.read_end = end
    handler.alarm_fired = 0
    schedule(world, handler.slot, s2_alarm(world, rules, end))
    return True


@compiled
def completion_read_over(world: World, handler: Handler) -> None:
    """A read of the completion of ``handler`` has ended."""
    request = handler.completing
    if request.locked:
        leader = request.locked
        request.locked = None
        release_read(world, leader)
    handler.place = place_behind(request.thread, handler.place)


@hot
def delayed_fetch(world: World, rules: Rules, leader: Replica, pos: int) -> Request:
    """A delayed fetch of the follower at ``pos`` that an append to ``leader`` completes, if any."""
    fetching = leader.fetching[pos]
    thread = fetching.thread
    waits = thread.waiting
    while waits != 0:
        j = trailing_zeros(waits)
        waits &= waits - 1
        request = thread.requests[j]
        if request.state != RequestState.PURGATORY:
            thread.waiting &= ~(1 << j)
            continue
        entry = request.entries[fetching.place]
        if entry.offset >= 0 and (
            _gets_all(world, request, fetching, entry) or satisfied(world, rules, request)
        ):
            return request
    return nothing_like(thread.requests)


@compiled
def _gets_all(world: World, request: Request, fetching: Fetching, entry: Entry) -> bool:
    """Whether ``entry`` alone surely completes the delayed fetch ``request``."""
    fetched = fetching.thread.fetched[fetching.place]
    any_byte = request.thread.follower.fetch_min_bytes <= 1
    return (
        is_validated(world, request)
        and any_byte
        and fetched.leader.log_end_offset > entry.offset
        and fetched.throttled & Throttled.BY_LEADER == 0
    )


@hot
def _find_delayed(world: World, rules: Rules, handler: Handler) -> bool:
    """``handler``, which has appended, takes the next delayed fetch; False if none."""
    leader = handler.locked
    if not leader:
        return False
    rf = leader.partition.replication_factor
    while handler.position < rf:
        if handler.position != leader.position:
            request = delayed_fetch(world, rules, leader, handler.position)
            if request:
                handler.completing = request
                handler.place = first_place(request.thread)
                begin_completion(world, request)
                return True
        handler.position += 1
    return False


@compiled
def complete(world: World, rules: Rules, broker: Broker, handler: Handler) -> None:
    """``handler`` completes delayed fetches one by one, then is done with its request."""
    while handler.completing or _find_delayed(world, rules, handler):
        if _completion_steps(world, rules, broker, handler):
            return
    if handler.request:
        request = handler.request
        handler.request = None
        finish_produce(world, rules, broker, request)
    handler_free(world, broker, handler)


@cold
def expire_steps(world: World, rules: Rules, request: Request) -> None:
    """Purgatory's own thread completes the fetch ``request``: no handler; up to 2.0 no lock."""
    broker = request.broker
    now = world.now
    if broker.paused_until > now:
        schedule(world, request.slot, goes_on_at(world, request))
        return
    fetched = request.thread.fetched
    if request.state == RequestState.PURGATORY:
        begin_completion(world, request)
        request.state = RequestState.EXPIRING
        request.place = first_place(request.thread)
        request.locked = None
    elif (
        request.state == RequestState.EXPIRING_READ and request.not_before > now
    ):  # Solution 2's timer
        schedule(world, request.slot, request.not_before)
        s2_timer(world, rules, fetched[request.place].leader)
        return
    elif request.state == RequestState.EXPIRING_READ:  # a read has just ended
        request.state = RequestState.EXPIRING
        if request.locked:
            leader = request.locked
            request.locked = None
            release_read(world, leader)
        request.place = place_behind(request.thread, request.place)
    while request.place < request.entry_count:
        i = request.place
        entry = request.entries[i]
        leader = fetched[i].leader
        if entry.offset >= 0 and entry.error == RequestError.NONE:
            entry.error = _recheck(rules, leader, entry)
            entry.high_watermark = leader.high_watermark
            entry.end = entry.offset
            if entry.error == RequestError.NONE and leader.log_end_offset > entry.offset:
                if read_must_wait(rules, leader):
                    schedule(world, request.slot, now + EXPIRY_RETRY_US)
                    return
                if not withholds(world, fetched[i], entry):
                    entry.end = plan_read(world, rules, request, entry, leader)
                if entry.end > entry.offset:
                    request.has_data = 1
                    end = read_end(world, broker, leader.partition, Reads.COMPLETION, 0, True)
                    if rules.isr_lock >= Lock.RW_ALWAYS:
                        begin_locked_read(world, leader, end)
                        request.locked = leader
                    request.state = RequestState.EXPIRING_READ
                    request.not_before = end
                    schedule(world, request.slot, s2_alarm(world, rules, end))
                    return
        request.place = place_behind(request.thread, request.place)
    cancel(world, request.slot)
    respond(world, rules, broker, request)


@compiled
def complete_without_handler(world: World, rules: Rules, leader: Replica) -> None:
    """Let purgatory's own thread complete the delayed fetches of ``leader``.

    For records that no request appended, and for a leader that leads no longer.
    """
    partition = leader.partition
    for pos in range(partition.replication_factor):
        if pos != leader.position:
            request = delayed_fetch(world, rules, leader, pos)
            if request:
                schedule(world, request.slot, world.now)
