"""Request handlers of a broker: each is a small state machine, one step a firing of its slot."""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import counts_pending
from isr_pipeline.kafka.partition import append_refused, size_of
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import place_of
from isr_pipeline.simulation.alter_partition import finish_sync_write, s2_timer
from isr_pipeline.simulation.disk import disk_of, takes_at_once
from isr_pipeline.simulation.fetches import fetch_after_read, fetch_read_over, fetch_steps
from isr_pipeline.simulation.leader import append_records, finish_produce, notice_bad_dir, raise_hw
from isr_pipeline.simulation.network import append_us, service
from isr_pipeline.simulation.partition_lock import (
    append_must_wait,
    come_to_log,
    end_append,
    leave_lock,
    look_at_disk,
)
from isr_pipeline.simulation.pending_reads import note_pending
from isr_pipeline.simulation.purgatory import complete, completion_read_over
from isr_pipeline.simulation.request_queue import can_take, dequeue, enqueue, handler_free
from isr_pipeline.simulation.responses import (
    goes_on_at,
    push_response,
    receive_by_turns,
    respond,
    sender_of,
    start_senders,
)
from isr_pipeline.simulation.shortcuts.depends import min_isr
from isr_pipeline.simulation.turns import first_place, place_before
from isr_pipeline.simulation.waits import note_append_wait, note_log_wait
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.queue import cancel, retire, schedule
from isr_pipeline.simulation.world.states import (
    Appends,
    Caller,
    HandlerState,
    LogDir,
    Phase,
    RequestError,
    RequestKind,
    RequestState,
    WriteLock,
)
from isr_pipeline.simulation.world.tables import (
    Broker,
    Handler,
    Replica,
    Request,
    World,
    request_at,
)


@compiled
def dispatch(world: World, rules: Rules, broker: Broker) -> None:
    """Give waiting requests to idle handlers."""
    while broker.queue_length > 0 and can_take(world, broker):
        _take(world, rules, broker, dequeue(broker))
        start_senders(world, broker)


@compiled
def hand_in(world: World, rules: Rules, broker: Broker, code: int) -> None:
    """A request (as for `enqueue`) arrives alone: without a queue an idle handler takes it."""
    if broker.queue_length == 0 and can_take(world, broker):
        _take(world, rules, broker, code)
    else:
        enqueue(world, broker, code)
        dispatch(world, rules, broker)


@compiled
def _take(world: World, rules: Rules, broker: Broker, code: int) -> None:
    """The first idle handler of ``broker`` takes a request."""
    handler = broker.handlers
    while handler.state != HandlerState.IDLE:
        handler = handler[1]
    broker.idle_handlers -= 1
    _begin(world, rules, broker, handler, code)


@compiled
def _begin(world: World, rules: Rules, broker: Broker, handler: Handler, code: int) -> None:
    """``handler`` begins to work on a request."""
    now = world.now
    handler.request = None
    handler.completing = None
    handler.locked = None
    handler.alarm_fired = 0
    if code == Caller.CLIENT:
        handler.state = HandlerState.CLIENT
        schedule(world, handler.slot, now + service(broker, broker.client_us))
        return
    if code == Caller.SURGE:
        handler.state = HandlerState.SURGE
        schedule(world, handler.slot, now + service(broker, broker.surge_us))
        return
    request = request_at(world, code)
    handler.request = request
    request.state = RequestState.HANDLING
    if request.kind == RequestKind.FETCH:
        handler.state = HandlerState.FETCH
        handler.place = first_place(request.thread)
        handler.phase = Phase.READ
        request.bytes = 0
        request.has_data = 0
        request.is_cut = 0
        request.error = RequestError.NONE
        request.pending = 0
        if counts_pending(rules):
            note_pending(rules, request)
        fetch_steps(world, rules, broker, handler)
    elif request.kind == RequestKind.COLD_READ:
        handler.state = HandlerState.COLD_READ
        schedule(world, handler.slot, now + service(broker, broker.client_us))
    else:
        handler.state = HandlerState.PRODUCE
        schedule(world, handler.slot, now + service(broker, broker.produce_us))


@compiled
def _produce_appends(world: World, rules: Rules, broker: Broker, handler: Handler) -> None:
    """``handler`` comes to the append of its produce request."""
    request = handler.request
    replica = request.leader
    request.error = RequestError.NONE
    if request.is_abandoned:
        request.error = RequestError.NOT_LEADER  # the producer has given its records up
    elif not replica.is_leader:
        request.error = RequestError.NOT_LEADER
    elif not replica.is_online or broker.log_dirs[replica.log_dir] != LogDir.WORKS:
        notice_bad_dir(world, broker, replica.log_dir)
        request.error = RequestError.STORAGE
    elif append_refused(
        request.acks_all, size_of(replica.isr), min_isr(world, rules, replica.partition)
    ):
        request.error = RequestError.NOT_ENOUGH_REPLICAS
    if request.error != RequestError.NONE:
        handler.request = None
        respond(world, rules, broker, request)
        handler_free(world, broker, handler)
        return
    if append_must_wait(replica):
        handler.state = HandlerState.PRODUCE_LOCK
        handler.locked = replica
        cancel(world, handler.slot)
        return
    took = append_us(world, broker, replica.partition, Appends.OF_LEADERS)
    disk = disk_of(broker, replica.log_dir)
    if took == 0 and replica.appending == 0 and takes_at_once(world, disk, request.bytes):
        _append(world, rules, broker, handler)
    else:
        come_to_log(world, handler, replica)


@compiled
def _append(world: World, rules: Rules, broker: Broker, handler: Handler) -> None:
    """The records of a produce request are in the log; its delayed fetches can be completed."""
    request = handler.request
    replica = request.leader
    request.required_offset = replica.log_end_offset + request.records
    append_records(world, rules, replica, request.records, request.bytes, request.acks_all)
    if rules.answers_before_delayed:
        handler.request = None
        finish_produce(world, rules, broker, request)
    handler.state = HandlerState.COMPLETE
    handler.locked = replica
    handler.position = 0
    handler.completing = None
    complete(world, rules, broker, handler)


@compiled
def _reading_row(handler: Handler) -> Replica:
    """The leader replica that ``handler`` reads at present."""
    request = handler.completing if handler.state == HandlerState.COMPLETE else handler.request
    return request.thread.fetched[handler.place].leader


@compiled
def _append_written(world: World, rules: Rules, broker: Broker, handler: Handler) -> None:
    """The disk has taken an append, unless its log dir has failed meanwhile.

    The next is being written when this one completes delayed fetches: their answers wait for it.
    """
    request = handler.request
    replica = request.leader
    look_at_disk(world, handler)
    if replica.log_until > world.now:
        return
    handler.disk_target = 0
    note_append_wait(world, handler.came_at)
    end_append(world, replica)
    if replica.is_online and replica.is_leader:
        _append(world, rules, broker, handler)
        return
    request.error = RequestError.STORAGE if replica.is_leader else RequestError.NOT_LEADER
    handler.request = None
    respond(world, rules, broker, request)
    handler_free(world, broker, handler)


@compiled
def _log_waited_for(world: World, rules: Rules, broker: Broker, handler: Handler) -> None:
    """The appends that a fetch's handler waited for are done: it raises the high watermark."""
    leader = handler.locked
    note_log_wait(world, handler.request.thread, world.now - handler.came_at)
    handler.locked = None
    handler.state = HandlerState.FETCH
    if leader.is_leader:
        raise_hw(world, rules, leader, handler.rule_time)
    fetch_steps(world, rules, broker, handler)


@compiled
def _go_back(handler: Handler) -> None:
    """Whoever met the lock had gone on to the next partition already."""
    if handler.phase == Phase.READ:
        handler.place = place_before(handler.request.thread, handler.place)
    else:
        handler.place -= 1


@compiled
def handler_fires(world: World, rules: Rules, handler: Handler) -> None:
    """The next step of a handler is due."""
    broker = handler.broker
    now = world.now
    state = handler.state
    if broker.paused_until > now:
        schedule(world, handler.slot, broker.paused_until)
        return
    if state in (HandlerState.FETCH, HandlerState.COMPLETE) and handler.read_end > now:
        handler.alarm_fired = 1
        schedule(world, handler.slot, handler.read_end)
        s2_timer(world, rules, _reading_row(handler))
        return
    if state == HandlerState.PRODUCE or state == HandlerState.PRODUCE_LOCK:
        _produce_appends(world, rules, broker, handler)
    elif state == HandlerState.COMPLETE:
        completion_read_over(world, handler)
        complete(world, rules, broker, handler)
    elif state == HandlerState.COMPLETE_LOCK:
        handler.locked = handler.appended
        handler.state = HandlerState.COMPLETE
        complete(world, rules, broker, handler)
    elif state == HandlerState.FETCH:
        fetch_read_over(world, rules, broker, handler)
    elif state == HandlerState.FETCH_AFTER:
        fetch_after_read(world, rules, broker, handler)
    elif state == HandlerState.RECORD_LOCK:
        handler.state = HandlerState.FETCH
        handler.locked = None
        _go_back(handler)
        fetch_steps(world, rules, broker, handler)
    elif state == HandlerState.FETCH_LOCK:
        handler.state = HandlerState.FETCH
        handler.locked = None
        fetch_steps(world, rules, broker, handler)
    elif state == HandlerState.EXPAND:
        leader = handler.locked
        handler.locked = None
        handler.state = HandlerState.FETCH
        finish_sync_write(world, rules, leader)
        leave_lock(world, leader, WriteLock.HELD)
        fetch_steps(world, rules, broker, handler)
    elif state == HandlerState.PRODUCE_DISK:
        _append_written(world, rules, broker, handler)
    elif state == HandlerState.LOG_WAIT:
        _log_waited_for(world, rules, broker, handler)
    elif state == HandlerState.CLIENT:
        push_response(world, broker, Caller.CLIENT)
        handler_free(world, broker, handler)
    elif state == HandlerState.SURGE:
        push_response(world, broker, Caller.SURGE)
        handler_free(world, broker, handler)
    elif state == HandlerState.COLD_READ:
        request = handler.request
        handler.request = None
        respond(world, rules, broker, request)
        handler_free(world, broker, handler)
    else:
        cancel(world, handler.slot)
    if broker.queue_length > 0:
        dispatch(world, rules, broker)


@compiled
def request_arrives(world: World, rules: Rules, request: Request) -> None:
    """A request reaches its broker."""
    broker = request.broker
    if not broker.is_up:
        request.error = RequestError.CONNECTION
        request.state = RequestState.TO_OWNER
        schedule(world, request.slot, world.now + world.half_rtt_us)
        return
    if broker.paused_until > world.now:
        schedule(world, request.slot, goes_on_at(world, request))
        return
    sender = sender_of(broker, request)
    if sender.blocked_until > world.now and not request.is_received:
        cancel(world, request.slot)
        receive_by_turns(world, sender, request)
        return
    request.is_received = 0
    hand_in(world, rules, broker, place_of(request))
    if request.state != RequestState.PURGATORY:  # there it has its next moment already
        retire(world, request.slot)
