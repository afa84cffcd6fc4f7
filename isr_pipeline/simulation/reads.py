"""Reads of a leader's log for a fetch: how long they take, and when Solution 2 gives up on one."""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import should_resign
from isr_pipeline.kafka.releases import Kip501, Rules
from isr_pipeline.simulation.leader import leads_officially, resign
from isr_pipeline.simulation.log import data_end
from isr_pipeline.simulation.shortcuts.depends import asked, note_read
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.states import Depends
from isr_pipeline.simulation.world.tables import NEVER, Entry, Partition, Replica, Request, World


@compiled
def plan_read(request: Request, entry: Entry, partition: Partition, leader: Replica) -> int:
    """Where the read of ``entry`` will end, within the request's byte limits."""
    follower = request.thread.follower
    room = follower.fetch_response_max_bytes - request.bytes
    if room <= 0 and request.has_data:
        return entry.offset
    limit = min(follower.fetch_max_bytes, max(room, 0))
    end, size = data_end(partition, entry.offset, leader.log_end_offset, limit)
    if size > limit and request.has_data:
        return entry.offset  # only the first batch of a response may exceed the limit
    request.bytes += size
    return end


@compiled
def s2_alarm(world: World, rules: Rules, end: int) -> int:
    """When the slot of a read that ends at ``end`` fires: earlier if Solution 2's timer does."""
    note_read(world, end - world.now)
    if asked(world, rules.kip501, Depends.NOTHING) == Kip501.S2:
        return min(end, world.now + asked(world, world.fetch_process_time_max_us, Depends.NOTHING))
    return end


@compiled
def s2_timer(world: World, rules: Rules, leader: Replica) -> None:
    """Solution 2's timer has fired for a read of ``leader``: resign if anybody could take over."""
    partition = leader.partition
    others = leader.isr & partition.eligible & ~(1 << leader.position)
    question = Depends.COOLDOWN if partition.last_resignation > NEVER else Depends.NOTHING
    limit = asked(world, world.fetch_process_time_max_us, Depends.NOTHING)
    if should_resign(
        rules,
        limit + 1,
        limit,
        others != 0,
        world.now - partition.last_resignation,
        asked(world, world.resign_cooldown_us, question),
    ):
        if leads_officially(leader):
            partition.last_resignation = world.now
            resign(world, rules, leader, False)
