"""What load makes requests and followers wait for, without a fault.

The totals are counted after the warm-up. What a fetcher thread has waited since it last found
nothing to fetch explains why its partitions leave the ISR.
"""

from __future__ import annotations

from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.states import RequestKind, RequestState, ThreadState, WaitedFor
from isr_pipeline.simulation.world.tables import FetcherThread, Replica, Request, World


@compiled
def _counted(world: World, waited: int) -> int:
    """As much of a wait that ends now as lies after the warm-up."""
    return min(waited, max(0, world.now - world.warmup))


@compiled
def note_append_wait(world: World, since: int) -> None:
    """An append is done that had to wait from ``since`` on for its log or disk."""
    world.append_wait_time += _counted(world, world.now - since)


@compiled
def note_log_wait(world: World, thread: FetcherThread, waits: int) -> None:
    """A fetch of ``thread``, or the answer to it, has waited for a log that is appended to."""
    thread.log_waited += waits
    world.log_wait_time += _counted(world, waits)


@compiled
def note_send_wait(world: World, request: Request) -> None:
    """``request``, or the answer to it, has waited for its network thread up to now."""
    waited = world.now - request.waits_since
    request.waits_since = world.now
    if request.kind == RequestKind.FETCH:
        request.thread.send_waited += waited
    world.send_wait_time += _counted(world, waited)


@compiled
def forget_waits(thread: FetcherThread) -> None:
    """``thread`` has nothing to fetch: what it waited before explains no lag to come."""
    if thread.disk_waited + thread.log_waited + thread.send_waited > 0:
        thread.disk_waited = 0
        thread.log_waited = 0
        thread.send_waited = 0


@compiled
def waited_for(world: World, thread: FetcherThread, lag: int) -> int:
    """For what ``thread`` has waited longest, and how long: us times 4, and a `WaitedFor`.

    0 if that was less than half of its lag, which has another cause then, or if a fault of a disk
    or a log goes on at either end.
    """
    if thread.leader.faults_on + thread.follower.faults_on > 0:
        return 0
    disk = thread.disk_waited
    if thread.state == ThreadState.APPENDING and thread.holds_back:
        disk += max(0, world.now - thread.append_until)
    send = thread.send_waited
    request = thread.request
    if request and request.state in (
        RequestState.TO_SENDER,
        RequestState.SENDING,
        RequestState.RECEIVING,
    ):
        send += max(0, world.now - request.waits_since)
    longest = max(disk, thread.log_waited, send)
    if longest == 0 or 2 * longest < lag:
        return 0
    if longest == disk:
        return 4 * longest + WaitedFor.OWN_DISK
    if longest == send:
        return 4 * longest + WaitedFor.LEADERS_THREAD
    return 4 * longest + WaitedFor.LEADERS_LOG


@compiled
def note_join(world: World, follower: Replica) -> None:
    """``follower`` is back in the ISR: so far the return of its broker has taken."""
    broker = follower.broker
    if broker.returned_at < 0:
        return
    world.catch_up_time += _counted(world, world.now - broker.returned_at)
    broker.returned_at = world.now
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        if replica.is_online and (replica.partition.isr >> replica.position) & 1 == 0:
            return
    broker.returned_at = -1
