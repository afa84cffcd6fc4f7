"""Responses leave a broker through its network threads, each of which has a queue of its own.

A connection belongs to one network thread for its life, round robin among those of its listener
(network/SocketServer.scala @ 2.0.0, 3.9.0: `Acceptor.run`, `Processor.run`): while that thread
waits for a disk it sends nobody's answer, and reads nobody's request. Connections of other clients
are not known apart: their answers take whichever thread is free, else that for which fewest wait.

A full request queue blocks network threads that hold the next requests; those cannot send.
"""

from __future__ import annotations

from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import number_of, place_of
from isr_pipeline.simulation.disk import begin_read, cold_bytes
from isr_pipeline.simulation.network import (
    PURPOSE_HANDLER_WAKES,
    PURPOSE_NETWORK_WAKES,
    carried,
    read_end,
    sent,
    service,
    transit,
    wake_us,
)
from isr_pipeline.simulation.partition_lock import write_in_progress_until
from isr_pipeline.simulation.pending_reads import forget_pending
from isr_pipeline.simulation.quotas import count_sent
from isr_pipeline.simulation.waits import note_log_wait, note_send_wait
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.queue import cancel, due, retire, schedule
from isr_pipeline.simulation.world.states import Caller, Reads, RequestKind, RequestState
from isr_pipeline.simulation.world.tables import Broker, Request, Sender, World, request_at

RECEIVED_A_TURN_BYTES = 150_000
"""Of a large request, while its thread has others to serve: fitted to what real brokers did."""


@compiled
def sender_of(broker: Broker, request: Request) -> Sender:
    """The network thread of ``broker`` that the connection of ``request`` belongs to."""
    if request.kind == RequestKind.FETCH:
        return request.thread.sender
    turn = request.turn if request.kind == RequestKind.COLD_READ else request.stream.turn
    return broker.senders[turn % broker.network_threads]


@compiled
def goes_on_at(world: World, request: Request) -> int:
    """When the broker of ``request``, which is paused, comes back to it.

    Two threads have to wake: the network thread of its connection, which reads it or sends its
    answer (network/SocketServer.scala @ 2.2.2, 3.9.0: `Processor.run`), and a handler
    (server/KafkaRequestHandler.scala @ 2.2.2, 3.9.0: `run`), or purgatory's own where a wait is
    over (server/DelayedOperation.scala @ 2.2.2: `ExpiredOperationReaper`).
    """
    ends = request.broker.paused_until
    sender = number_of(sender_of(request.broker, request), world.senders)
    reads = wake_us(world, PURPOSE_NETWORK_WAKES, sender, ends)
    place = number_of(request, world.requests)
    return ends + reads + wake_us(world, PURPOSE_HANDLER_WAKES, place, ends)


@compiled
def _is_held(broker: Broker, sender: Sender) -> bool:
    """Whether the network thread holds a request that the full queue does not take.

    Of each listener as many as requests do not fit, who take turns: the one that has waited longest
    hands in, and goes on.
    """
    held = broker.queue_length - broker.queued_max
    if held <= 0:
        return False
    turn = number_of(sender, broker.senders) - broker.held_from
    return turn % broker.network_threads < held


@compiled
def _is_free(broker: Broker, sender: Sender) -> bool:
    """Whether the network thread can begin to send a response."""
    return sender.code == Caller.NONE and not _is_held(broker, sender)


@compiled
def _sender_of_others(broker: Broker) -> Sender:
    """The network thread of the clients' listener that takes an answer to another client.

    The first that is free, else the one for which fewest wait. A count of turns would do as well,
    but a world would repeat only after as many periods as there are threads.
    """
    sender = broker.senders
    least = sender
    for _ in range(broker.network_threads):
        if _is_free(broker, sender):
            return sender
        if sender.waiting < least.waiting:
            least = sender
        sender = sender[1]
    return least


@compiled
def _send_end(world: World, broker: Broker, code: int) -> int:
    """When the response that starts to leave now has left."""
    end = world.now + service(broker, broker.send_us)
    if code <= 0 or (broker.faults_on == 0 and broker.appending == 0):
        return end
    request = request_at(world, code)
    if request.kind == RequestKind.FETCH and request.has_data:
        fetched = request.thread.fetched
        for i in range(request.entry_count):
            entry = request.entries[i]
            if entry.offset >= 0 and entry.end > entry.offset:
                partition = fetched[i].follower.partition
                end = max(end, read_end(world, broker, partition, Reads.DIRECT, 1, True))
                end = max(end, write_in_progress_until(world, fetched[i].leader))
    return end


@compiled
def _read_cold(world: World, broker: Broker, request: Request) -> int:
    """When the disk has read what a response needs that is in the page cache no longer.

    The network thread waits for all of it (common/record/FileRecords.java @ 3.9.0 `writeTo`:
    sendfile): the socket empties faster than a disk at work fills it.
    """
    if request.kind == RequestKind.COLD_READ:
        return begin_read(world, broker, request.log_dir, request.bytes)
    end = world.now
    if request.kind == RequestKind.FETCH and request.has_data:
        fetched = request.thread.fetched
        for i in range(request.entry_count):
            entry = request.entries[i]
            if entry.offset >= 0 and entry.end > entry.offset:
                leader = fetched[i].leader
                size = cold_bytes(leader, entry.offset, entry.end)
                if size > 0:
                    end = max(end, begin_read(world, broker, leader.log_dir, size))
    return end


@compiled
def _send(world: World, broker: Broker, sender: Sender, code: int) -> None:
    """The network thread begins to send a response."""
    sender.code = code
    if code > 0 and broker.cache_bytes > 0:
        sender.cold_until = _read_cold(world, broker, request_at(world, code))
    end = max(_send_end(world, broker, code), sender.cold_until)
    if code > 0:
        request_at(world, code).state = RequestState.SENDING
        request_at(world, code).waits_since = world.now
        if end > world.now + service(broker, broker.send_us):
            sender.blocked_until = end
    schedule(world, sender.slot, end)


@compiled
def receive_by_turns(world: World, sender: Sender, request: Request) -> None:
    """The network thread of ``request`` is held up: it reads it later, a socket's buffer a turn."""
    request.state = RequestState.RECEIVING
    request.unread = request.bytes if request.kind == RequestKind.PRODUCE else 0
    sender.broker.waiting_answers += 1
    _join(world, sender, request)


@compiled
def _receive(world: World, sender: Sender, request: Request) -> bool:
    """The network thread reads what its socket holds of ``request``; True if it is whole now."""
    request.unread -= RECEIVED_A_TURN_BYTES
    if request.unread > 0 and sender.waiting > 0:
        return False
    request.state = RequestState.TO_BROKER
    request.is_received = 1
    schedule(world, request.slot, world.now)
    return True


@compiled
def _wait_for(sender: Sender, code: int) -> None:
    """A response to another client goes to the end of the network thread's queue."""
    sender.waiting += 1
    if code == Caller.CLIENT:
        sender.clients += 1
    else:
        sender.surges += 1


@compiled
def _join(world: World, sender: Sender, request: Request) -> None:
    """The answer to ``request`` goes to the end of the network thread's queue."""
    sender.waiting += 1
    request.waits_since = world.now
    request.clients_before = sender.clients
    request.surges_before = sender.surges
    sender.clients = 0
    sender.surges = 0
    request.next_answer = None
    if sender.oldest:
        sender.newest.next_answer = request
    else:
        sender.oldest = request
    sender.newest = request


@compiled
def _next_code(sender: Sender) -> int:
    """Take the oldest response from the queue of the network thread, which has one.

    Those to other clients and to a surge that came between two requests' go in this order.
    """
    sender.waiting -= 1
    if sender.oldest:
        request = sender.oldest
        if request.clients_before > 0:
            request.clients_before -= 1
            return Caller.CLIENT
        if request.surges_before > 0:
            request.surges_before -= 1
            return Caller.SURGE
        sender.oldest = request.next_answer
        request.next_answer = None
        if not sender.oldest:
            sender.newest = None
        return place_of(request)
    if sender.clients > 0:
        sender.clients -= 1
        return Caller.CLIENT
    sender.surges -= 1
    return Caller.SURGE


@compiled
def _go_on(world: World, broker: Broker, sender: Sender) -> None:
    """A network thread that is free takes the oldest response that waits for it.

    Requests that it has still to read stand among them.
    """
    while sender.waiting > 0 and _is_free(broker, sender):
        code = _next_code(sender)
        if code > 0:
            note_send_wait(world, request_at(world, code))
        if code <= 0 or request_at(world, code).state != RequestState.RECEIVING:
            broker.waiting_answers -= 1
            _send(world, broker, sender, code)
        elif _receive(world, sender, request_at(world, code)):
            broker.waiting_answers -= 1
        else:
            _join(world, sender, request_at(world, code))


@compiled
def start_senders(world: World, broker: Broker) -> None:
    """Let free network threads of ``broker`` take the responses that wait."""
    if broker.waiting_answers == 0:
        return
    sender = broker.senders
    for _ in range(broker.sender_count):
        _go_on(world, broker, sender)
        sender = sender[1]


@compiled
def push_response(world: World, broker: Broker, caller: Caller) -> None:
    """Hand a response to another client, or to one of a surge, to a network thread."""
    sender = _sender_of_others(broker)
    if _is_free(broker, sender):
        _send(world, broker, sender, caller)
        return
    broker.waiting_answers += 1
    _wait_for(sender, caller)


@compiled
def respond(world: World, rules: Rules, broker: Broker, request: Request) -> None:
    """Answer ``request``: KIP-501's text regards its reads as pending until this moment."""
    if request.pending != 0:
        forget_pending(rules, request)
    if request.kind == RequestKind.FETCH:
        count_sent(world, rules, broker, request)
    request.state = RequestState.TO_SENDER
    sender = sender_of(broker, request)
    if _is_free(broker, sender):
        _send(world, broker, sender, place_of(request))
    else:
        broker.waiting_answers += 1
        _join(world, sender, request)


@compiled
def _note_blocked(world: World, sender: Sender, request: Request) -> None:
    """An answer that had to wait for a disk has left: for cold data, or else for the log."""
    if sender.cold_until == world.now:
        note_send_wait(world, request)
    elif request.kind == RequestKind.FETCH:
        note_log_wait(world, request.thread, world.now - request.waits_since)


@compiled
def sender_fires(world: World, sender: Sender) -> None:
    """A network thread has sent a response."""
    broker = sender.broker
    code = sender.code
    sender.code = Caller.NONE
    if code > 0:
        request = request_at(world, code)
        if sender.blocked_until == world.now:
            _note_blocked(world, sender, request)
        request.state = RequestState.TO_OWNER
        if request.kind == RequestKind.FETCH:
            thread = request.thread
            arrival = transit(world, thread.way_back)
            if world.has_nics and request.has_data:
                arrival = carried(world, broker, thread.follower, thread.way_back, request.bytes)
        else:
            arrival = world.now + world.half_rtt_us
            if world.has_nics and request.kind == RequestKind.COLD_READ:
                arrival += sent(world, broker, request.bytes) - world.now
        schedule(world, request.slot, arrival)
    elif code == Caller.SURGE:
        broker.surge_requests -= 1
        if broker.surge_gathered > 0:
            slot = broker.surge_slot
            schedule(world, slot, min(due(world, slot), world.now + 2 * world.half_rtt_us))
    retire(world, sender.slot)
    _go_on(world, broker, sender)


@compiled
def look_at_disks(world: World, broker: Broker) -> None:
    """Answers that wait for a disk take what it takes now."""
    sender = broker.senders
    for _ in range(broker.sender_count):
        if sender.code != Caller.NONE and sender.blocked_until > world.now:
            end = _send_end(world, broker, sender.code)
            sender.blocked_until = max(end, sender.cold_until)
            schedule(world, sender.slot, sender.blocked_until)
        sender = sender[1]


@compiled
def silence(world: World, broker: Broker) -> None:
    """The process of ``broker`` ends: its network threads send nothing more."""
    sender = broker.senders
    for _ in range(broker.sender_count):
        sender.code = Caller.NONE
        sender.oldest = None
        sender.newest = None
        sender.waiting = 0
        sender.clients = 0
        sender.surges = 0
        sender.blocked_until = 0
        sender.cold_until = 0
        cancel(world, sender.slot)
        sender = sender[1]
    broker.waiting_answers = 0
    broker.held_from = 0
    broker.sends_until = 0
    broker.receives_until = 0
