"""Requests that wait on a broker: first in, first out, until a handler is idle."""

from __future__ import annotations

from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.queue import due, retire, wrapped
from isr_pipeline.simulation.world.states import HandlerState, RequestState
from isr_pipeline.simulation.world.tables import INF, Broker, Handler, World, request_at


@compiled
def enqueue(world: World, broker: Broker, code: int) -> None:
    """Put a request (its place, or a `Caller`) behind the queue of ``broker``.

    Client requests in a row share a place. Past queued.max.requests the requests wait with the
    network threads, in the same order.
    """
    broker.queue_length += 1
    world.longest_queue = max(world.longest_queue, broker.queue_length)
    if code > 0:
        request_at(world, code).state = RequestState.QUEUED
    head = broker.queue_head
    tail = broker.queue_tail
    if code < 0 and head != tail:
        last = broker.queue[(tail if tail > 0 else broker.queue_capacity) - 1]
        if last.code == code:
            last.count += 1
            return
    waiting = broker.queue[tail]
    waiting.code = code
    waiting.count = 1
    broker.queue_tail = wrapped(tail + 1, broker.queue_capacity)


@compiled
def dequeue(broker: Broker) -> int:
    """Take the oldest request from the queue of ``broker``."""
    head = broker.queue_head
    waiting = broker.queue[head]
    waiting.count -= 1
    if waiting.count == 0:
        broker.queue_head = wrapped(head + 1, broker.queue_capacity)
    broker.queue_length -= 1
    if broker.queue_length >= broker.queued_max:  # the thread that waited longest hands in
        broker.held_from = (broker.held_from + 1) % broker.network_threads
    return waiting.code


@compiled
def can_take(world: World, broker: Broker) -> bool:
    """Whether a handler of ``broker`` can begin to work on a request now."""
    return broker.idle_handlers > 0 and broker.is_up and broker.paused_until <= world.now


@compiled
def handler_free(world: World, broker: Broker, handler: Handler) -> None:
    """``handler`` is done with its request."""
    handler.state = HandlerState.IDLE
    handler.request = None
    handler.locked = None
    broker.idle_handlers += 1
    if due(world, handler.slot) < INF:  # only if scheduled: a request finished at once never was
        retire(world, handler.slot)
