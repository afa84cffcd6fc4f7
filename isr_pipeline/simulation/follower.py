"""A broker as follower: fetcher threads, appends, KIP-461; and what metadata records do to it.

One thread for each (leader broker, fetcher id), one outstanding request each. What a partition's
failure does to its thread is the rules' matter (`kafka.fetcher.reaction`).
"""

from __future__ import annotations

from isr_pipeline.kafka.fetcher import Error, Reaction, reaction
from isr_pipeline.kafka.quota import Lag, Throttled, is_quota, lag_behind
from isr_pipeline.kafka.record import Pending
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.replica import create, reset, resets_records
from isr_pipeline.kafka.rows import nothing_like
from isr_pipeline.kafka.shutdown import stops_fetching
from isr_pipeline.simulation.controller import note_applied
from isr_pipeline.simulation.disk import (
    begin_write,
    disk_of,
    enter_cache,
    is_limited,
    stamp_by,
    written_at,
)
from isr_pipeline.simulation.leader import (
    answer_produces,
    leads_officially,
    notice_bad_dir,
    raise_hw,
)
from isr_pipeline.simulation.log import add_epoch, copy_epochs, cut_log, data_end, lose_from
from isr_pipeline.simulation.measures import (
    count_dead,
    count_failed,
    count_untracked,
    emit,
    emit_of_broker,
    rearm,
    watch_detection_delay,
)
from isr_pipeline.simulation.network import append_us, transit
from isr_pipeline.simulation.partition_lock import leave_lock, lock_is_busy
from isr_pipeline.simulation.purgatory import complete_without_handler
from isr_pipeline.simulation.quotas import count_fetched, leaves_out
from isr_pipeline.simulation.recovery import exits_here
from isr_pipeline.simulation.shortcuts.depends import note, set_isr
from isr_pipeline.simulation.shortcuts.validated import is_validated
from isr_pipeline.simulation.turns import first_place, place_behind, take_turns
from isr_pipeline.simulation.waits import note_append_wait
from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.queue import cancel, retire, schedule
from isr_pipeline.simulation.world.states import (
    Appends,
    Depends,
    EventKind,
    FetchState,
    LogDir,
    Mover,
    RequestError,
    RequestState,
    Resignation,
    ThreadState,
    WriteLock,
)
from isr_pipeline.simulation.world.tables import (
    INF,
    INJECTED_MET,
    INJECTED_ONCE,
    REQUESTS_PER_THREAD,
    Broker,
    Disk,
    Entry,
    Fetched,
    FetcherThread,
    MetadataRecord,
    Replica,
    Request,
    World,
)

# ------------------------------------------------------------------ a follower partition's state


@compiled
def set_failed(world: World, replica: Replica) -> None:
    """The fetcher gives the partition up (KIP-461): failed, and counted so."""
    replica.fetch_state = FetchState.FAILED
    count_failed(world, 1)
    emit(
        world,
        EventKind.PARTITION_FAILED,
        replica.partition,
        replica.broker.number,
        -1,
        0,
    )


@compiled
def clear_follower(world: World, replica: Replica, announce: bool) -> None:
    """The replica is not fetched any longer; a failed one is un-failed by that."""
    if replica.fetch_state == FetchState.FAILED:
        count_failed(world, -1)
        if announce:
            emit(
                world,
                EventKind.PARTITION_UNFAILED,
                replica.partition,
                replica.broker.number,
                -1,
                0,
            )
    elif replica.fetch_state == FetchState.DEAD:
        count_untracked(world, -1)
    replica.fetch_state = FetchState.NONE


@compiled
def log_dir_fetcher_fails(world: World, rules: Rules, replica: Replica, error: Error) -> None:
    """The log-dir mover of ``replica`` (ReplicaAlterLogDirs) meets an error.

    It reacts as the release's replica fetcher does, but neither that nor the ISR notices. What is
    only delayed, or dropped silently, leaves no trace.
    """
    if replica.mover_state != Mover.WORKS:
        return
    note(world, Depends.FETCHER)
    what = reaction(rules, error)
    node = replica.broker.number
    if what == Reaction.FAIL:
        replica.mover_state = Mover.FAILED
        count_failed(world, 1)
        emit(world, EventKind.PARTITION_FAILED, replica.partition, node, -1, 0)
    elif what == Reaction.THREAD_DIES:
        replica.mover_state = Mover.DEAD
        count_dead(world, 1)
        emit_of_broker(world, EventKind.FETCHER_THREAD_DIED, node)


@compiled
def forget_log_dir_failure(world: World, replica: Replica, announce: bool, stopped: bool) -> None:
    """A new leader epoch, StopReplica or the broker's end un-fails what the log-dir mover gave up.

    ``stopped``: the broker's process ends, and a dead thread with it; otherwise that stays dead.
    """
    if replica.mover_state == Mover.FAILED:
        replica.mover_state = Mover.WORKS
        count_failed(world, -1)
        if announce:
            emit(
                world,
                EventKind.PARTITION_UNFAILED,
                replica.partition,
                replica.broker.number,
                -1,
                0,
            )
    elif replica.mover_state == Mover.DEAD and stopped:
        replica.mover_state = Mover.WORKS
        count_dead(world, -1)


@compiled
def _delay(world: World, rules: Rules, replica: Replica) -> None:
    """The partition rests for replica.fetch.backoff.ms; 0.8.2 asks again at once."""
    if not rules.backoff_none:
        replica.fetch_state = FetchState.DELAYED
        replica.delayed_until = world.now + replica.broker.fetch_backoff_us


@compiled
def of_thread(thread: FetcherThread, i: int) -> bool:
    """Whether ``thread`` fetches its partition ``i`` from the broker that leads it."""
    fetched = thread.fetched[i]
    return fetched.follower.leader == fetched.leader.position


@compiled
def _kill_thread(world: World, thread: FetcherThread) -> None:
    """The legacy thread ends: all its partitions stop, and none comes back by itself."""
    thread.state = ThreadState.DEAD
    cancel(world, thread.slot)
    count_dead(world, 1)
    emit_of_broker(world, EventKind.FETCHER_THREAD_DIED, thread.follower.number)
    for i in range(thread.fetched_count):
        replica = thread.fetched[i].follower
        if replica.fetch_state in (FetchState.FETCHING, FetchState.DELAYED) and of_thread(
            thread, i
        ):
            replica.fetch_state = FetchState.DEAD
            count_untracked(world, 1)


@compiled
def _react(
    world: World, rules: Rules, thread: FetcherThread, replica: Replica, error: Error
) -> bool:
    """The fetcher thread meets an error with one partition; True if the thread is dead now."""
    note(world, Depends.FETCHER)
    thread.validated_at = -1
    what = reaction(rules, error)
    if what == Reaction.FAIL:
        set_failed(world, replica)
    elif what == Reaction.DELAY:
        _delay(world, rules, replica)
    elif what == Reaction.DROP:
        replica.fetch_state = FetchState.NONE
    elif what == Reaction.THREAD_DIES:
        _kill_thread(world, thread)
        return True
    return False


# ------------------------------------------------------------------ the thread's loop


@compiled
def _free_request(thread: FetcherThread) -> Request:
    """A request that is free, if any: those given up may still lie on the leader."""
    for j in range(REQUESTS_PER_THREAD):
        request = thread.requests[j]
        if request.state == RequestState.FREE:
            return request
    return nothing_like(thread.requests)


@compiled
def _ask(world: World, thread: FetcherThread, request: Request) -> int:
    """Add every ready partition to the fetch ``request``.

    If it holds every partition of the thread, and each passes all checks, the fetch is validated:
    it and those that follow need no check until an event that is not part of a request
    (`World.rare_events`), or an error that the thread meets itself.

    Returns:
        Time at which the next delayed partition becomes ready; INF if none is delayed.
    """
    now = world.now
    n = 0
    wake_at = INF
    validated = True
    for i in range(thread.used_count):
        fetched = thread.fetched[i]
        replica = fetched.follower
        entry = request.entries[i]
        entry.offset = -1
        entry.end = -1
        entry.error = RequestError.NONE
        state = replica.fetch_state
        if state not in (FetchState.FETCHING, FetchState.DELAYED) or not of_thread(thread, i):
            continue
        if state == FetchState.DELAYED:
            if replica.delayed_until > now:
                wake_at = min(wake_at, replica.delayed_until)
                validated = False
                continue
            replica.fetch_state = FetchState.FETCHING
        if fetched.throttled & Throttled.BY_FOLLOWER != 0:
            if is_quota(thread.follower.follower_throttled_rate):
                validated = False  # whether it is asked for depends on the time
            if leaves_out(world, fetched):
                wake_at = min(wake_at, now + thread.follower.fetch_backoff_us)
                continue
        entry.offset = replica.log_end_offset
        entry.leader_epoch = replica.leader_epoch
        entry.end = replica.log_end_offset
        fetched.answered_high_watermark = -1
        validated = validated and nothing_against(replica, fetched.leader)
        n = i + 1
    request.entry_count = thread.fetched_count if thread.takes_turns and n > 0 else n
    thread.validated_at = world.rare_events if validated and n > 0 else -1
    return wake_at


@compiled
def nothing_against(follower: Replica, leader: Replica) -> bool:
    """Whether ``leader`` would answer this fetch without an error, and ``follower`` append it."""
    return (
        leader.is_online
        and leader.is_leader
        and leader.leader_epoch == follower.leader_epoch
        and follower.log_end_offset <= leader.log_end_offset
        and not follower.must_truncate
        and follower.injected_error < 0
    )


@hot
def fetch_next(world: World, thread: FetcherThread) -> None:
    """Build one fetch with all partitions that are ready, and send it; else wait.

    A request whose validated answer was appended already has its next offsets.
    """
    now = world.now
    request = _free_request(thread)
    if not request:
        thread.state = ThreadState.BACKOFF
        schedule(world, thread.slot, now + thread.follower.fetch_backoff_us + 1)
        return
    if thread.validated_at != world.rare_events or thread.request != request:
        wake_at = _ask(world, thread, request)
        if request.entry_count == 0:
            thread.request = None
            if wake_at < INF:
                thread.state = ThreadState.BACKOFF
                schedule(world, thread.slot, wake_at)
            else:
                thread.state = ThreadState.IDLE
                cancel(world, thread.slot)
            return
    request.validated_at = thread.validated_at
    thread.request = request
    thread.state = ThreadState.WAITING
    schedule(world, thread.slot, now + thread.follower.socket_timeout_us)
    request.is_abandoned = 0
    request.error = RequestError.NONE
    request.state = RequestState.TO_BROKER
    request.broker = thread.leader
    schedule(world, request.slot, transit(world, thread.way))


@compiled
def _request_failed(world: World, rules: Rules, thread: FetcherThread) -> None:
    """The fetch as a whole failed: every partition rests, up to 3.2 the thread itself as well."""
    thread.request = None
    thread.validated_at = -1
    now = world.now
    if rules.backoff_none:
        fetch_next(world, thread)
        return
    for i in range(thread.fetched_count):
        replica = thread.fetched[i].follower
        if replica.fetch_state == FetchState.FETCHING and of_thread(thread, i):
            _delay(world, rules, replica)
    thread.state = ThreadState.BACKOFF
    wait = thread.follower.fetch_backoff_us
    if rules.double_backoff:
        wait *= 2
    schedule(world, thread.slot, now + wait)


@hot
def fetch_answered(world: World, rules: Rules, thread: FetcherThread, request: Request) -> None:
    """The answer to fetch ``request`` reaches its thread."""
    request.state = RequestState.FREE
    _take_answer(world, rules, thread, request)
    if request.state == RequestState.FREE:  # it has not been sent again at once
        retire(world, request.slot)


@compiled
def _take_answer(world: World, rules: Rules, thread: FetcherThread, request: Request) -> None:
    """The thread deals with the answer to fetch ``request``, unless it has given it up."""
    if request.is_abandoned or thread.request != request:
        return
    if request.error == RequestError.CONNECTION:
        _request_failed(world, rules, thread)
        return
    thread.state = ThreadState.APPENDING
    if not is_validated(world, request):
        _take_errors(world, rules, thread, request)
        if thread.state == ThreadState.DEAD:
            return
    if request.is_cut or thread.takes_turns:
        take_turns(thread, request)
    thread.append_place = first_place(thread)
    append_steps(world, rules, thread)


@compiled
def expects(thread: FetcherThread, i: int, entry: Entry) -> bool:
    """Whether the thread still wants this entry's answer: same offset, epoch and leader."""
    replica = thread.fetched[i].follower
    return (
        entry.offset >= 0
        and replica.fetch_state == FetchState.FETCHING
        and replica.log_end_offset == entry.offset
        and replica.leader_epoch == entry.leader_epoch
        and of_thread(thread, i)
    )


@compiled
def _take_errors(world: World, rules: Rules, thread: FetcherThread, request: Request) -> None:
    """Deal with the entries of an answer that hold an error instead of records."""
    for i in range(request.entry_count):
        entry = request.entries[i]
        if not expects(thread, i, entry):
            entry.offset = -1
            continue
        fetched = thread.fetched[i]
        replica = fetched.follower
        if replica.injected_error == Error.FENCED_EPOCH and _injected(world, replica):
            if _react(world, rules, thread, replica, Error.FENCED_EPOCH):
                return
            entry.offset = -1
            continue
        error = entry.error
        if error == RequestError.NONE:
            continue
        entry.offset = -1
        if error == RequestError.DIVERGING:
            if not replica.must_truncate and exits_here(world, rules, replica, fetched.leader):
                thread.follower.exits = 1
                schedule(world, thread.follower.log_dir_slot, world.now)
                continue
            cut_log(world, replica, entry.end)
            replica.high_watermark = min(replica.high_watermark, replica.log_end_offset)
            replica.must_truncate = 0
        elif error == RequestError.FENCED_EPOCH and rules.fetch_names_epoch:
            if _react(world, rules, thread, replica, Error.FENCED_EPOCH):
                return
        else:
            _delay(world, rules, replica)


@compiled
def _injected(world: World, replica: Replica) -> bool:
    """Whether a fault makes this append (or answer) fail; a single error is used up."""
    if replica.injected_error < 0:
        return False
    if replica.injected_until == INJECTED_ONCE:
        replica.injected_until = INJECTED_MET
        return True
    if replica.injected_until == INJECTED_MET or world.now >= replica.injected_until:
        replica.injected_error = -1
        return False
    return True


@compiled
def _learn_hw(fetched: Fetched, entry: Entry) -> None:
    """The follower takes the leader's high watermark from its answer."""
    replica = fetched.follower
    replica.high_watermark = max(
        replica.high_watermark, min(entry.high_watermark, replica.log_end_offset)
    )
    fetched.answered_high_watermark = entry.high_watermark


@compiled
def _learn_lag(world: World, fetched: Fetched, entry: Entry) -> None:
    """The follower of a throttled replica finds out whether it is in sync."""
    if fetched.throttled & Throttled.BY_FOLLOWER != 0:
        fetched.lag = lag_behind(entry.high_watermark, fetched.follower.log_end_offset)
        if fetched.lag != Lag.NONE:
            note(world, Depends.QUOTA)  # whoever asks next, a validated fetch does not


@hot
def append_steps(world: World, rules: Rules, thread: FetcherThread) -> None:
    """Append the answer's records partition by partition; then fetch again."""
    request = thread.request
    validated = is_validated(world, request)
    entries = request.entries
    n = request.entry_count
    i = thread.append_place
    while i < n:
        entry = entries[i]
        fetched = thread.fetched[i]
        if entry.end > entry.offset:
            if validated or expects(thread, i, entry):
                partition = fetched.follower.partition
                thread.append_place = i
                thread.holds_back = 1
                wait = append_us(world, thread.follower, partition, Appends.OF_FOLLOWERS)
                thread.append_until = world.now + wait
                _begin_to_write(world, thread, entry, fetched.follower)
                schedule(world, thread.slot, _append_ends(world, thread))
                return
        elif fetched.answered_high_watermark != entry.high_watermark or not validated:
            if entry.offset >= 0 and (validated or expects(thread, i, entry)):
                _learn_hw(fetched, entry)
                if fetched.lag == Lag.UNKNOWN and rules.idle_lag_known:
                    _learn_lag(world, fetched, entry)
        i = place_behind(thread, i)
    thread.append_place = n
    thread.holds_back = 0
    fetch_next(world, thread)


@compiled
def _appending_to(thread: FetcherThread) -> Disk:
    """The disk of the log that the thread appends to."""
    return disk_of(thread.follower, thread.fetched[thread.append_place].follower.log_dir)


@compiled
def _begin_to_write(world: World, thread: FetcherThread, entry: Entry, follower: Replica) -> None:
    """The records of an entry go to the follower's disk."""
    broker = thread.follower
    disk = disk_of(broker, follower.log_dir)
    if is_limited(disk) or broker.cache_bytes > 0:
        _, size = data_end(follower.partition, entry.offset, entry.end, INF)
        enter_cache(broker, size)
        if is_limited(disk):
            thread.disk_target = begin_write(world, disk, size)


@compiled
def _append_ends(world: World, thread: FetcherThread) -> int:
    """When the append is over that the thread is at."""
    disk = _appending_to(thread)
    if not is_limited(disk):
        return thread.append_until
    return max(thread.append_until, written_at(world, disk, thread.disk_target))


@compiled
def _append_one(world: World, rules: Rules, thread: FetcherThread) -> bool:
    """The append that takes the thread's time is done, or fails; True if the thread is dead."""
    request = thread.request
    i = thread.append_place
    entry = request.entries[i]
    fetched = thread.fetched[i]
    replica = fetched.follower
    broker = thread.follower
    if not is_validated(world, request) and not expects(thread, i, entry):
        return False
    if not replica.is_online or broker.log_dirs[replica.log_dir] != 0:
        notice_bad_dir(world, broker, replica.log_dir)
        return _react(world, rules, thread, replica, Error.STORAGE)
    if replica.injected_error >= 0 and replica.injected_error != Error.FENCED_EPOCH:
        error = replica.injected_error
        if _injected(world, replica):
            if error == Error.STORAGE and rules.io_error_halts:
                broker.log_dirs[replica.log_dir] = LogDir.FAILS
                notice_bad_dir(world, broker, replica.log_dir)
            return _react(world, rules, thread, replica, error)
    count_fetched(world, rules, fetched, entry)
    replica.log_end_offset = entry.end
    entry.offset = entry.end  # what the next fetch asks for, if it need not be built anew
    copy_epochs(fetched.leader, replica)
    _learn_hw(fetched, entry)
    _learn_lag(world, fetched, entry)
    if replica.touched_from < INF and replica.injected_error < 0:
        replica.touched_from = INF  # the fault of a moment is over
        rearm(world, replica)
    else:
        watch_detection_delay(world, replica)
    return False


@compiled
def thread_fires(world: World, rules: Rules, thread: FetcherThread) -> None:
    """A fetcher thread's own moment: an append is done, a back-off over, an answer overdue."""
    broker = thread.follower
    if broker.paused_until > world.now:
        schedule(world, thread.slot, broker.paused_until)
        return
    state = thread.state
    if state == ThreadState.APPENDING:
        if thread.holds_back:
            end = _append_ends(world, thread)
            if end > world.now:
                schedule(world, thread.slot, end)
                return
            if world.now > thread.append_until:
                thread.disk_waited += world.now - thread.append_until
                note_append_wait(world, thread.append_until)
            thread.holds_back = 0
            thread.disk_target = 0
            if _append_one(world, rules, thread):
                return
            thread.append_place = place_behind(thread, thread.append_place)
        append_steps(world, rules, thread)
    elif state == ThreadState.WAITING:
        # replica.socket.timeout.ms; after a pause longer than it even with the answer in the socket
        # [R 0.10.1.1, 0.10.2.2: back in the ISR two back-offs after a pause of 30 s]
        thread.request.is_abandoned = 1
        _request_failed(world, rules, thread)
    elif state in (ThreadState.BACKOFF, ThreadState.IDLE):
        fetch_next(world, thread)
    else:
        cancel(world, thread.slot)


# ------------------------------------------------------------------ metadata


@compiled
def _add_to_thread(world: World, follower: Replica) -> None:
    """``follower`` is handed to its fetcher thread, which wakes if it is idle."""
    leader = follower.partition.replicas[follower.leader]
    thread = leader.fetching[follower.position].thread
    thread.fetched[leader.fetching[follower.position].place].lag = Lag.UNKNOWN
    if thread.state == ThreadState.DEAD:
        follower.fetch_state = FetchState.DEAD
        count_untracked(world, 1)
        return
    follower.fetch_state = FetchState.FETCHING
    thread.used_count = max(thread.used_count, leader.fetching[follower.position].place + 1)
    if thread.state == ThreadState.DOWN:
        thread.state = ThreadState.IDLE
    if thread.state in (ThreadState.IDLE, ThreadState.BACKOFF):
        schedule(world, thread.slot, world.now)


@compiled
def reap_idle_threads(world: World, broker: Broker) -> None:
    """Stop the fetcher threads of ``broker`` that have no partition left.

    AbstractFetcherManager.shutdownIdleFetcherThreads, after every change of what is fetched: dead
    threads as well; a failed partition is no longer its thread's.
    """
    for i in range(broker.thread_count):
        thread = broker.threads[i].thread
        if thread.state == ThreadState.DOWN:
            continue
        held = 0
        for c in range(thread.fetched_count):
            replica = thread.fetched[c].follower
            if replica.fetch_state in (
                FetchState.FETCHING,
                FetchState.DELAYED,
                FetchState.DEAD,
            ) and of_thread(thread, c):
                held += 1
        if held == 0:
            if thread.state == ThreadState.DEAD:
                count_dead(world, -1)
            elif thread.state == ThreadState.WAITING:
                thread.request.is_abandoned = 1
            thread.state = ThreadState.DOWN
            thread.request = None
            thread.holds_back = 0
            cancel(world, thread.slot)
            emit_of_broker(world, EventKind.FETCHER_THREAD_STOPPED, broker.number)


@compiled
def _become_leader(world: World, rules: Rules, replica: Replica, record: MetadataRecord) -> None:
    """This broker leads the partition from now on, or learns a new ISR as its leader."""
    partition = replica.partition
    was_leader = replica.is_leader
    new_epoch = record.leader_epoch > replica.leader_epoch or not was_leader
    clear_follower(world, replica, True)
    if new_epoch:
        forget_log_dir_failure(world, replica, True, False)
    replica.leader_epoch = record.leader_epoch
    replica.partition_epoch = record.partition_epoch
    replica.leader = replica.position
    replica.is_leader = 1
    set_isr(world, replica, record.isr)
    replica.pending = Pending.NONE
    replica.resigns = Resignation.NONE
    replica.must_truncate = 0
    replica.taken_when_replaced = 0  # it leads again, with all that it has
    if new_epoch:
        replica.epoch_start = replica.log_end_offset
        add_epoch(replica, replica.leader_epoch, replica.log_end_offset)
        if leads_officially(replica):
            stamp_by(partition, replica)
            # it may have truncated since it was elected, as a follower of the leader before
            lose_from(world, partition, replica.log_end_offset, replica.broker.number)
    for pos in range(partition.replication_factor):
        if pos != replica.position:
            in_isr = (replica.isr >> pos) & 1 != 0
            if resets_records(rules, new_epoch):
                follower = replica.followers[pos]
                reset(rules, follower, replica, not was_leader, in_isr, world.now)
    raise_hw(world, rules, replica, world.now)


@compiled
def stop_leading(world: World, rules: Rules, replica: Replica) -> None:
    """This broker does not lead the partition of ``replica`` any longer."""
    if not replica.is_leader:
        return
    replica.is_leader = 0
    replica.pending = Pending.NONE
    replica.resigns = Resignation.NONE
    complete_without_handler(world, rules, replica)
    answer_produces(world, rules, replica)
    if replica.write_lock & WriteLock.TICK_WAITS:
        schedule(world, replica.broker.tick_slot, world.now)
    for pos in range(replica.partition.replication_factor):
        create(rules, replica.followers[pos], world.now)


@compiled
def _become_follower(world: World, rules: Rules, replica: Replica, record: MetadataRecord) -> None:
    """This broker follows another leader, or the same one in a new epoch."""
    new_epoch = record.leader_epoch > replica.leader_epoch or record.is_full
    was_leader = replica.is_leader
    stop_leading(world, rules, replica)
    replica.partition_epoch = record.partition_epoch
    in_isr = (record.isr >> replica.position) & 1 != 0
    stops = replica.broker.is_stopping and stops_fetching(rules, in_isr, was_leader)
    if not new_epoch and not stops:
        return
    clear_follower(world, replica, True)
    if new_epoch:
        forget_log_dir_failure(world, replica, True, False)
        replica.leader_epoch = record.leader_epoch
        replica.leader = record.leader
    if record.leader < 0 or not replica.is_online:
        return
    if stops:
        replica.fetch_state = FetchState.STOPPED
        return
    if rules.truncate_to_hw:
        cut_log(world, replica, replica.high_watermark)
    else:
        replica.must_truncate = 1
    _add_to_thread(world, replica)


@compiled
def _replica_of(record: MetadataRecord, broker: Broker) -> Replica:
    """The row of the replica on ``broker`` that a metadata record sent there concerns."""
    partition = record.partition
    replica = partition.replicas[0]
    for pos in range(1, partition.replication_factor):
        if replica.broker != broker:
            replica = partition.replicas[pos]
    return replica


@compiled
def _apply_record(world: World, rules: Rules, replica: Replica, record: MetadataRecord) -> None:
    """``replica`` leads or follows as the metadata record says, unless it knows better."""
    older = record.leader_epoch < replica.leader_epoch or (
        record.leader_epoch == replica.leader_epoch
        and record.partition_epoch < replica.partition_epoch
    )
    if older and not record.is_full:
        return
    if record.leader == replica.position and replica.is_online:
        _become_leader(world, rules, replica, record)
    else:
        _become_follower(world, rules, replica, record)


@compiled
def metadata_fires(world: World, rules: Rules, broker: Broker) -> None:
    """``broker`` applies the metadata records that are due, each under its partition's lock.

    A stuck read of one partition holds up the records of all that come behind.
    """
    waits = False
    now = world.now
    if broker.paused_until > now:
        schedule(world, broker.metadata_slot, broker.paused_until)
        return
    while broker.metadata_head != broker.metadata_tail:
        head = broker.metadata_head
        record = broker.metadata[head]
        if record.due > now:
            break
        replica = _replica_of(record, broker)
        waits = lock_is_busy(world, replica, WriteLock.METADATA_WAIT)
        if waits:
            break
        broker.metadata_head = (head + 1) % broker.metadata_capacity
        broker.metadata_applied += 1
        _apply_record(world, rules, replica, record)
        leave_lock(world, replica, WriteLock.METADATA_WAIT)
    note_applied(world, broker)
    reap_idle_threads(world, broker)
    if broker.metadata_head != broker.metadata_tail and not waits:
        record = broker.metadata[broker.metadata_head]
        schedule(world, broker.metadata_slot, max(now, record.due))
    else:
        cancel(world, broker.metadata_slot)
