"""Responses leave a broker through its network threads, first come, first served.

A full request queue blocks network threads that hold the next requests; those cannot send.
"""

from __future__ import annotations

from isr_pipeline.simulation.network import READ_DIRECT, read_end, service, transit
from isr_pipeline.simulation.shortcuts.pending import forget_pending
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_FAULTS_ON,
    B_NET,
    B_QLEN,
    B_QUEUED_MAX,
    B_SBASE,
    B_SCAP,
    B_SEND,
    B_SENDERS,
    B_SENDERS_BUSY,
    B_SHEAD,
    B_SLOT_SURGE,
    B_STAIL,
    B_SURGE_GATHERED,
    B_SURGE_OUT,
    C_HALF_RTT,
    E_END,
    E_OFFSET,
    E_SIZE,
    G_NOW,
    H_SENDQ,
    K_FROW,
    K_SIZE,
    N_BROKER,
    N_REQ,
    N_SIZE,
    N_SLOT,
    Q_DATA,
    Q_ENT,
    Q_KIND,
    Q_N,
    Q_OWNER,
    Q_PENDING,
    Q_SLOT,
    Q_STATE,
    QS_SENDING,
    QS_SENDQ,
    QS_TO_OWNER,
    R_PART,
    REQ_FETCH,
    SEND_CLIENT,
    SEND_NONE,
    SEND_SURGE,
    T_FETCHED,
    T_WAY_BACK,
)
from isr_pipeline.simulation.world.queue import due, retire, schedule, wrapped


@compiled
def _send_end(w, b, code):
    """When the response that starts to leave now has left."""
    end = w[G_NOW] + service(w, b, w[b + B_SEND])
    if code < 0 or w[b + B_FAULTS_ON] == 0:
        return end
    q = code
    if w[q + Q_KIND] == REQ_FETCH and w[q + Q_DATA] == 1:
        fetched = w[w[q + Q_OWNER] + T_FETCHED]
        for i in range(w[q + Q_N]):
            e = w[q + Q_ENT] + i * E_SIZE
            if w[e + E_OFFSET] >= 0 and w[e + E_END] > w[e + E_OFFSET]:
                p = w[w[fetched + i * K_SIZE + K_FROW] + R_PART]
                end = max(end, read_end(w, b, p, READ_DIRECT, 1, True))
    return end


@compiled
def start_senders(w, b):
    """Let free network threads of broker ``b`` take the responses that wait."""
    while w[b + B_SHEAD] != w[b + B_STAIL] and _sender_free(w, b):
        head = w[b + B_SHEAD]
        code = w[w[H_SENDQ] + w[b + B_SBASE] + head]
        w[b + B_SHEAD] = wrapped(head + 1, w[b + B_SCAP])
        _send(w, b, code)


@compiled
def _sender_free(w, b):
    """Whether a network thread of broker ``b`` can take a response."""
    blocked = min(w[b + B_NET], max(0, w[b + B_QLEN] - w[b + B_QUEUED_MAX]))
    return w[b + B_SENDERS_BUSY] + blocked < w[b + B_NET]


@compiled
def _send(w, b, code):
    """A free network thread of broker ``b`` begins to send a response."""
    n = w[b + B_SENDERS]
    while w[n + N_REQ] != SEND_NONE:
        n += N_SIZE
    w[n + N_REQ] = code
    w[b + B_SENDERS_BUSY] += 1
    if code >= 0:
        w[code + Q_STATE] = QS_SENDING
    schedule(w, w[n + N_SLOT], _send_end(w, b, code))


@compiled
def push_response(w, b, code):
    """Hand a response (request, or SEND_CLIENT / SEND_SURGE) to the network threads."""
    tail = w[b + B_STAIL]
    if w[b + B_SHEAD] == tail and _sender_free(w, b):
        _send(w, b, code)
        return
    if code == SEND_CLIENT and (tail - w[b + B_SHEAD]) % w[b + B_SCAP] > w[b + B_SCAP] // 2:
        return  # all senders stuck for long: nothing depends on these answers
    w[w[H_SENDQ] + w[b + B_SBASE] + tail] = code
    w[b + B_STAIL] = wrapped(tail + 1, w[b + B_SCAP])
    start_senders(w, b)


@compiled
def respond(w, rec, rules, b, q):
    """Answer request ``q``: KIP-501's text regards its reads as pending until this moment."""
    if w[q + Q_PENDING] != 0:
        forget_pending(w, rec, rules, q)
    w[q + Q_STATE] = QS_SENDQ
    push_response(w, b, q)


@compiled
def sender_fires(w, n):
    """A network thread has sent a response."""
    b = w[n + N_BROKER]
    code = w[n + N_REQ]
    w[n + N_REQ] = SEND_NONE
    w[b + B_SENDERS_BUSY] -= 1
    if code >= 0:
        q = code
        w[q + Q_STATE] = QS_TO_OWNER
        if w[q + Q_KIND] == REQ_FETCH:
            arrival = transit(w, w[w[q + Q_OWNER] + T_WAY_BACK])
        else:
            arrival = w[G_NOW] + w[C_HALF_RTT]
        schedule(w, w[q + Q_SLOT], arrival)
    elif code == SEND_SURGE:
        w[b + B_SURGE_OUT] -= 1
        if w[b + B_SURGE_GATHERED] > 0:
            slot = w[b + B_SLOT_SURGE]
            schedule(w, slot, min(due(w, slot), w[G_NOW] + 2 * w[C_HALF_RTT]))
    retire(w, w[n + N_SLOT])
    start_senders(w, b)
