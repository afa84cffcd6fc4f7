"""Produce requests on a leader: records appended, and the answer once they are committed."""

from __future__ import annotations

from isr_pipeline.kafka.partition import Produce
from isr_pipeline.simulation.leader import (
    acks_all_error,
    leads_officially,
    raise_hw,
    watch_followers,
)
from isr_pipeline.simulation.log import add_batch
from isr_pipeline.simulation.responses import respond
from isr_pipeline.simulation.state import set_log_end
from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.layout import (
    B_DIR_BAD_BASE,
    B_SLOT_DIR,
    DIR_FAILS,
    DIR_NOTICED,
    ERR_NOT_ENOUGH_AFTER,
    ERR_NOT_LEADER,
    G_NOW,
    P_WAITS,
    Q_ACKS_ALL,
    Q_END,
    Q_ERR,
    Q_ROW,
    Q_STATE,
    QS_WAIT_HW,
    R_IS_LEADER,
    R_LEO,
    R_PART,
)
from isr_pipeline.simulation.world.queue import schedule

_WAITING = int(Produce.WAITING)
_TOO_FEW = int(Produce.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

LOG_DIR_NOTICE_US = 50_000  # from the failed write to the process's end, or the controller's change


@compiled
def notice_bad_dir(w, b, log_dir):
    """Broker ``b`` meets a failed log dir: what follows comes a little later."""
    place = b + B_DIR_BAD_BASE + log_dir
    if w[place] == DIR_FAILS:
        w[place] = DIR_NOTICED
        schedule(w, w[b + B_SLOT_DIR], w[G_NOW] + LOG_DIR_NOTICE_US)


@hot
def finish_produce(w, rec, rules, b, q):
    """The request is appended: answer it, or let it wait for the high watermark."""
    r = w[q + Q_ROW]
    if w[q + Q_ERR] == 0 and w[q + Q_ACKS_ALL] == 1:
        error = acks_all_error(w, rules, r, w[q + Q_END])
        if error == _WAITING:
            if w[r + R_IS_LEADER] == 1:
                w[q + Q_STATE] = QS_WAIT_HW
                w[w[r + R_PART] + P_WAITS] = 1
                return
            w[q + Q_ERR] = ERR_NOT_LEADER
        elif error == _TOO_FEW:
            w[q + Q_ERR] = ERR_NOT_ENOUGH_AFTER
    respond(w, rec, rules, b, q)


@hot
def append_records(w, rec, rules, r, records, size_bytes, acks_all):
    """Append a batch to the leader ``r``: LEO, ledger, high watermark."""
    p = w[r + R_PART]
    set_log_end(w, r, w[r + R_LEO] + records)
    if leads_officially(w, r):
        add_batch(w, p, w[r + R_LEO], size_bytes, records if acks_all else 0)
    raise_hw(w, rec, rules, r, w[G_NOW])
    watch_followers(w, p)
