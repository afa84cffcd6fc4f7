"""Requests that wait on a broker: first in, first out, until a handler is idle."""

from __future__ import annotations

from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_IO_IDLE,
    B_PAUSED_UNTIL,
    B_QBASE,
    B_QCAP,
    B_QHEAD,
    B_QLEN,
    B_QTAIL,
    B_UP,
    D_REQ,
    D_ROW,
    D_SLOT,
    D_STATE,
    DS_IDLE,
    G_NOW,
    H_QUEUE,
    INF,
    Q_STATE,
    QS_QUEUED,
)
from isr_pipeline.simulation.world.queue import due, retire, wrapped


@compiled
def _ring(w, b, i):
    """Pointer of ring cell ``i`` of broker ``b``: (code, how many like it in a row)."""
    return w[H_QUEUE] + 2 * (w[b + B_QBASE] + i)


@compiled
def enqueue(w, b, code):
    """Put a request (its row pointer, QE_CLIENT or QE_SURGE) behind the queue of broker ``b``.

    Client requests in a row share a cell. Past queued.max.requests the requests wait with the
    network threads, in the same order.
    """
    w[b + B_QLEN] += 1
    if code >= 0:
        w[code + Q_STATE] = QS_QUEUED
    head = w[b + B_QHEAD]
    tail = w[b + B_QTAIL]
    if code < 0 and head != tail:
        last = _ring(w, b, (tail if tail > 0 else w[b + B_QCAP]) - 1)
        if w[last] == code:
            w[last + 1] += 1
            return
    cell = _ring(w, b, tail)
    w[cell] = code
    w[cell + 1] = 1
    w[b + B_QTAIL] = wrapped(tail + 1, w[b + B_QCAP])


@compiled
def dequeue(w, b):
    """Take the oldest request from the queue of broker ``b``."""
    head = w[b + B_QHEAD]
    cell = _ring(w, b, head)
    code = w[cell]
    w[cell + 1] -= 1
    if w[cell + 1] == 0:
        w[b + B_QHEAD] = wrapped(head + 1, w[b + B_QCAP])
    w[b + B_QLEN] -= 1
    return code


@compiled
def can_take(w, b):
    """Whether a handler of broker ``b`` can begin to work on a request now."""
    return w[b + B_IO_IDLE] > 0 and w[b + B_UP] == 1 and w[b + B_PAUSED_UNTIL] <= w[G_NOW]


@compiled
def handler_free(w, b, d):
    """Handler ``d`` is done with its request."""
    w[d + D_STATE] = DS_IDLE
    w[d + D_REQ] = -1
    w[d + D_ROW] = -1
    w[b + B_IO_IDLE] += 1
    if due(w, w[d + D_SLOT]) < INF:  # only if scheduled: a request finished at once never was
        retire(w, w[d + D_SLOT])
