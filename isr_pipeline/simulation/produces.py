"""Produce requests on a leader: records appended, and the answer once they are committed."""

from __future__ import annotations

from isr_pipeline.kafka.partition import Produce
from isr_pipeline.kafka.releases import Rules
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
from isr_pipeline.simulation.world.queue import schedule
from isr_pipeline.simulation.world.states import LogDir, RequestError, RequestState
from isr_pipeline.simulation.world.tables import Broker, Replica, Request, World

LOG_DIR_NOTICE_US = 50_000  # from the failed write to the process's end, or the controller's change


@compiled
def notice_bad_dir(world: World, broker: Broker, log_dir: int) -> None:
    """``broker`` meets a failed log dir: what follows comes a little later."""
    if broker.log_dirs[log_dir] == LogDir.FAILS:
        broker.log_dirs[log_dir] = LogDir.NOTICED
        schedule(world, broker.log_dir_slot, world.now + LOG_DIR_NOTICE_US)


@hot
def finish_produce(world: World, rules: Rules, broker: Broker, request: Request) -> None:
    """The request is appended: answer it, or let it wait for the high watermark."""
    leader = request.leader
    if request.error == RequestError.NONE and request.acks_all:
        error = acks_all_error(world, rules, leader, request.required_offset)
        if error == Produce.WAITING:
            if leader.is_leader:
                request.state = RequestState.WAITS_FOR_HIGH_WATERMARK
                leader.partition.has_waiting_produces = 1
                return
            request.error = RequestError.NOT_LEADER
        elif error == Produce.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
            request.error = RequestError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    respond(world, rules, broker, request)


@hot
def append_records(
    world: World, rules: Rules, leader: Replica, records: int, size_bytes: int, acks_all: bool
) -> None:
    """Append a batch to ``leader``: LEO, ledger, high watermark."""
    partition = leader.partition
    set_log_end(leader, leader.log_end_offset + records)
    if leads_officially(leader):
        add_batch(world, partition, leader.log_end_offset, size_bytes, records if acks_all else 0)
    raise_hw(world, rules, leader, world.now)
    watch_followers(world, partition)
