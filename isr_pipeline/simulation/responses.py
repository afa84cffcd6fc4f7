"""Responses leave a broker through its network threads, first come, first served.

A full request queue blocks network threads that hold the next requests; those cannot send.
"""

from __future__ import annotations

from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import place_of
from isr_pipeline.simulation.network import read_end, service, transit
from isr_pipeline.simulation.pending_reads import forget_pending
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.queue import due, retire, schedule, wrapped
from isr_pipeline.simulation.world.states import Caller, Reads, RequestKind, RequestState
from isr_pipeline.simulation.world.tables import Broker, Request, Sender, World, request_at


@compiled
def _send_end(world: World, broker: Broker, code: int) -> int:
    """When the response that starts to leave now has left."""
    end = world.now + service(broker, broker.send_us)
    if code <= 0 or broker.faults_on == 0:
        return end
    request = request_at(world, code)
    if request.kind == RequestKind.FETCH and request.has_data:
        fetched = request.thread.fetched
        for i in range(request.entry_count):
            entry = request.entries[i]
            if entry.offset >= 0 and entry.end > entry.offset:
                partition = fetched[i].follower.partition
                end = max(end, read_end(world, broker, partition, Reads.DIRECT, 1, True))
    return end


@compiled
def start_senders(world: World, broker: Broker) -> None:
    """Let free network threads of ``broker`` take the responses that wait."""
    while broker.answers_head != broker.answers_tail and _sender_free(broker):
        head = broker.answers_head
        code = broker.answers[head]
        broker.answers_head = wrapped(head + 1, broker.answers_capacity)
        _send(world, broker, code)


@compiled
def _sender_free(broker: Broker) -> bool:
    """Whether a network thread of ``broker`` can take a response."""
    blocked = min(broker.network_threads, max(0, broker.queue_length - broker.queued_max))
    return broker.busy_senders + blocked < broker.network_threads


@compiled
def _send(world: World, broker: Broker, code: int) -> None:
    """A free network thread of ``broker`` begins to send a response."""
    sender = broker.senders
    while sender.code != Caller.NONE:
        sender = sender[1]
    sender.code = code
    broker.busy_senders += 1
    if code > 0:
        request_at(world, code).state = RequestState.SENDING
    schedule(world, sender.slot, _send_end(world, broker, code))


@compiled
def push_response(world: World, broker: Broker, code: int) -> None:
    """Hand a response (a request's place, or a `Caller`) to the network threads."""
    tail = broker.answers_tail
    if broker.answers_head == tail and _sender_free(broker):
        _send(world, broker, code)
        return
    if (
        code == Caller.CLIENT
        and (tail - broker.answers_head) % broker.answers_capacity > broker.answers_max
    ):
        return  # all senders stuck for long: nothing depends on these answers
    broker.answers[tail] = code
    broker.answers_tail = wrapped(tail + 1, broker.answers_capacity)
    start_senders(world, broker)


@compiled
def respond(world: World, rules: Rules, broker: Broker, request: Request) -> None:
    """Answer ``request``: KIP-501's text regards its reads as pending until this moment."""
    if request.pending != 0:
        forget_pending(rules, request)
    request.state = RequestState.TO_SENDER
    push_response(world, broker, place_of(request))


@compiled
def sender_fires(world: World, sender: Sender) -> None:
    """A network thread has sent a response."""
    broker = sender.broker
    code = sender.code
    sender.code = Caller.NONE
    broker.busy_senders -= 1
    if code > 0:
        request = request_at(world, code)
        request.state = RequestState.TO_OWNER
        if request.kind == RequestKind.FETCH:
            arrival = transit(world, request.thread.way_back)
        else:
            arrival = world.now + world.half_rtt_us
        schedule(world, request.slot, arrival)
    elif code == Caller.SURGE:
        broker.surge_requests -= 1
        if broker.surge_gathered > 0:
            slot = broker.surge_slot
            schedule(world, slot, min(due(world, slot), world.now + 2 * world.half_rtt_us))
    retire(world, sender.slot)
    start_senders(world, broker)
