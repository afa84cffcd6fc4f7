"""A partition on the broker that leads it: appends, the high watermark, who waits for it.

Produce requests append, and are answered once they are committed. Reads of the log for a fetch take
their time.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import (
    Produce,
    maximal_isr,
    next_high_watermark,
    produce_error,
    size_of,
)
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.simulation.disk import enter_cache, stamp
from isr_pipeline.simulation.log import add_batch, commit_up_to, data_end
from isr_pipeline.simulation.measures import (
    hw_moved,
    hw_stands,
    note_response,
    watch_detection_delay,
)
from isr_pipeline.simulation.responses import respond
from isr_pipeline.simulation.shortcuts.depends import (
    min_isr,
)
from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.queue import schedule
from isr_pipeline.simulation.world.states import (
    LogDir,
    RequestError,
    RequestState,
)
from isr_pipeline.simulation.world.tables import (
    REQUESTS_PER_STREAM,
    Broker,
    Entry,
    Partition,
    Replica,
    Request,
    World,
)


@compiled
def leads_officially(leader: Replica) -> bool:
    """Whether the controller too regards ``leader`` as the leader, in this very epoch."""
    partition = leader.partition
    return partition.leader == leader.position and partition.leader_epoch == leader.leader_epoch


@compiled
def acks_all_error(world: World, rules: Rules, leader: Replica, end: int) -> int:
    """How an acks=all produce whose last record is at ``end - 1`` is with ``leader``."""
    fewest = min_isr(world, rules, leader.partition)
    return produce_error(end, leader.high_watermark, size_of(maximal_isr(leader)), fewest)


@compiled
def answer_produces(world: World, rules: Rules, leader: Replica) -> None:
    """Answer the acks=all requests that wait for the HW of ``leader`` and need not any longer.

    While it leads, those whose records the HW has passed, in whatever leader epoch they were
    appended: a broker that goes on leading has kept its log
    (Partition.checkEnoughReplicasReachOffset @ 3.6). Afterwards all of them, with an error.
    """
    partition = leader.partition
    if partition.has_waiting_produces == 0:
        return
    waits = 0
    for k in range(partition.stream_count):
        stream = partition.streams[k]
        for j in range(REQUESTS_PER_STREAM):
            request = stream.requests[j]
            if request.state != RequestState.WAITS_FOR_HIGH_WATERMARK:
                continue
            waits = 1
            if request.leader == leader:
                if not leader.is_leader:
                    request.error = RequestError.NOT_LEADER
                else:
                    error = acks_all_error(world, rules, leader, request.required_offset)
                    if error == Produce.WAITING:
                        continue
                    request.error = (
                        RequestError.NONE
                        if error == Produce.NONE
                        else RequestError.NOT_ENOUGH_REPLICAS_AFTER_APPEND
                    )
                respond(world, rules, leader.broker, request)
    partition.has_waiting_produces = waits


@compiled
def raise_hw(world: World, rules: Rules, leader: Replica, rule_time: int) -> None:
    """Work out the high watermark of ``leader`` anew; commits what it passes."""
    partition = leader.partition
    before = leader.high_watermark
    leo = leader.log_end_offset
    if before >= leo:
        if partition.stands_since >= 0 and leads_officially(leader):
            hw_moved(world, partition, False)  # a new leader has nothing uncommitted
        return
    hw = next_high_watermark(
        rules,
        leader,
        partition.eligible if rules.hw_ignores_ineligible else 0,
        min_isr(world, rules, partition),
        rule_time,
        leader.broker.lag_time_max_us,
    )
    if hw > before:
        leader.high_watermark = hw
        if leads_officially(leader):
            commit_up_to(world, rules, partition, hw, maximal_isr(leader))
            hw_moved(world, partition, hw < leo)
        answer_produces(world, rules, leader)
    elif partition.stands_since < 0 and leads_officially(leader):
        hw_stands(world, partition)


@compiled
def watch_followers(world: World, partition: Partition) -> None:
    """The leader's log end has moved: followers that are overdue may be behind now."""
    if partition.watched_followers > 0:
        for pos in range(partition.replication_factor):
            watch_detection_delay(world, partition.replicas[pos])


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
    leader.log_end_offset = leader.log_end_offset + records
    enter_cache(leader.broker, size_bytes)
    if leads_officially(leader):
        acked = records if acks_all else 0
        add_batch(world, partition, leader.log_end_offset, size_bytes, acked, stamp(leader))
    raise_hw(world, rules, leader, world.now)
    watch_followers(world, partition)


@compiled
def plan_read(world: World, rules: Rules, request: Request, entry: Entry, leader: Replica) -> int:
    """Where the read of ``entry`` will end, within the request's byte limits.

    Only the first batch of a response may exceed them (KIP-74). To 0.10.0 none may: a part of it is
    read, of which the follower can append nothing (log/FileMessageSet.scala @ 0.10.0.1, `read`).
    """
    follower = request.thread.follower
    room = follower.fetch_response_max_bytes - request.bytes
    if room <= 0 and request.has_data:
        request.is_cut = 1
        note_response(world, follower, 0, False, request.bytes, True)
        return entry.offset
    limit = min(follower.fetch_max_bytes, max(room, 0))
    end, size = data_end(leader.partition, entry.offset, leader.log_end_offset, limit)
    cut = size > limit or end < leader.log_end_offset
    by_response = limit < follower.fetch_max_bytes
    if cut and by_response:
        request.is_cut = 1
    if size > limit and (request.has_data or not rules.response_limit):
        if not rules.response_limit:
            request.bytes += limit
        note_response(world, follower, 0, not by_response, request.bytes, by_response)
        return entry.offset
    request.bytes += size
    note_response(
        world, follower, size, cut and not by_response, request.bytes, cut and by_response
    )
    return end
