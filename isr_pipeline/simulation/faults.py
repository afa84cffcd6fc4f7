"""Faults begin and end: what each kind does to the world at those moments.

Stalls and slow appends need nothing here: an operation looks up the windows in which it begins
(`network.read_end`). Overlapping faults on one thing: the later end and the larger value
win, factors multiply.
"""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import end_read
from isr_pipeline.kafka.log_dirs import DirFailure, holds_metadata, on_dir_failure
from isr_pipeline.kafka.quota import forget
from isr_pipeline.kafka.record import Pending
from isr_pipeline.kafka.recovery import Lost, starts_on_empty_disk
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import nothing_like
from isr_pipeline.kafka.session import CONTROLLER_ANSWERS_US, is_refused, retry_after
from isr_pipeline.kafka.shutdown import (
    FIRST_ASK_US,
    SHUTDOWN_LIMIT_US,
    must_wait,
    tries_again,
)
from isr_pipeline.simulation.clients import ask_for_cold_data, change_rate
from isr_pipeline.simulation.controller import (
    all_reported,
    await_reports,
    dir_failed,
    elect_preferred,
    fence,
    is_kraft,
    leads_any,
    leads_replicated,
    leave_elr,
    move_away,
    plan_check,
    publish,
    publish_all_to,
)
from isr_pipeline.simulation.disk import disk_of, drain
from isr_pipeline.simulation.eligible import note_eligible
from isr_pipeline.simulation.follower import (
    clear_follower,
    forget_log_dir_failure,
    log_dir_fetcher_fails,
    reap_idle_threads,
    stop_leading,
)
from isr_pipeline.simulation.handlers import hang_up
from isr_pipeline.simulation.leader import append_records, notice_bad_dir
from isr_pipeline.simulation.measures import count_dead, emit, rearm, refresh, touch
from isr_pipeline.simulation.network import MILLION, link, names, rack_distance
from isr_pipeline.simulation.partition_lock import look_at_disk
from isr_pipeline.simulation.purgatory import complete_without_handler
from isr_pipeline.simulation.recovery import (
    closed_in_order,
    count_gone,
    flushed_by_system,
    lose_logs,
    recover_logs,
    recovery_time,
    supervised,
)
from isr_pipeline.simulation.responses import look_at_disks, silence
from isr_pipeline.simulation.sessions import (
    close_session,
    controller_back,
    controller_gone,
    hear,
    heartbeats_hang,
)
from isr_pipeline.simulation.shortcuts.depends import note
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.queue import cancel, schedule
from isr_pipeline.simulation.world.states import (
    AlterItem,
    Depends,
    EventKind,
    FaultKind,
    FaultState,
    FetchState,
    HandlerState,
    LogDir,
    RequestKind,
    RequestState,
    Resignation,
    ThreadState,
    Tick,
)
from isr_pipeline.simulation.world.tables import (
    INF,
    INJECTED_ONCE,
    LOG_DIRS_MAX,
    Broker,
    Fault,
    Partition,
    Replica,
    World,
)
from isr_pipeline.simulation.zookeeper import moved_at


@compiled
def _row_here(partition: Partition, broker: Broker) -> Replica:
    """The replica of ``partition`` on ``broker``, or nothing."""
    for pos in range(partition.replication_factor):
        replica = partition.replicas[pos]
        if replica.broker == broker:
            return replica
    return nothing_like(partition.replicas)


@compiled
def _refresh_led_by(world: World, rules: Rules, broker: Broker) -> None:
    """``broker`` stops, pauses or goes on: its partitions' availability changes."""
    for i in range(world.partition_count):
        partition = world.partitions[i]
        leader = partition.leader
        if leader >= 0 and partition.replicas[leader].broker == broker:
            refresh(world, rules, partition)


# ------------------------------------------------------------------ detection delay


@compiled
def _rearm_all(world: World) -> None:
    """A fault begins or ends: followers may be overdue from another moment on."""
    for i in range(world.replica_count):
        rearm(world, world.replicas[i])


# ------------------------------------------------------------------ a broker stops and returns


@compiled
def _drop_connections(world: World, broker: Broker) -> None:
    """``broker`` has died: clients that wait for its answer see a reset connection."""
    for i in range(world.request_count):
        request = world.requests[i]
        if request.state == RequestState.FREE:
            continue
        mine = request.kind == RequestKind.FETCH and request.thread.follower == broker
        if mine:
            request.is_abandoned = 1
        if request.broker == broker and request.state not in (
            RequestState.TO_BROKER,
            RequestState.TO_OWNER,
        ):
            request.pending = 0
            hang_up(world, broker, request)


@compiled
def stop_broker(world: World, rules: Rules, broker: Broker) -> None:
    """The process of ``broker`` ends: the log stays, everything in memory is gone."""
    broker.is_up = 0
    broker.exits = 0
    broker.paused_until = 0
    broker.is_registered = 0
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        if replica.is_leader:
            replica.is_leader = 0
        replica.pending = Pending.NONE
        replica.alter_item = AlterItem.NONE
        replica.resigns = Resignation.NONE
        replica.readers = 0
        replica.log_until = 0
        replica.appending = 0
        replica.write_lock = 0
        replica.leader = -1
        clear_follower(world, replica, False)
        forget_log_dir_failure(world, replica, False, True)
    _drop_connections(world, broker)
    handler = broker.handlers
    for _ in range(broker.io_threads):
        handler.state = HandlerState.IDLE
        handler.request = None
        handler.locked = None
        cancel(world, handler.slot)
        handler = handler[1]
    broker.idle_handlers = broker.io_threads
    broker.appending = 0
    silence(world, broker)
    for whose in range(2):
        forget(broker.quotas[whose])
    broker.queue_head = 0
    broker.queue_tail = 0
    broker.queue_length = 0
    broker.metadata_head = 0
    broker.metadata_tail = 0
    broker.metadata_applied = broker.metadata_sent
    broker.surge_requests = 0
    broker.surge_gathered = 0
    broker.tick_position = -1
    broker.tick_state = Tick.READY
    broker.alter_due = INF
    broker.alter_answered = 0
    broker.alter_queued = 0
    cancel(world, broker.tick_slot)
    cancel(world, broker.alter_slot)
    cancel(world, broker.metadata_slot)
    for i in range(broker.thread_count):
        thread = broker.threads[i].thread
        if thread.state == ThreadState.DEAD:
            count_dead(world, -1)
        thread.state = ThreadState.DOWN
        thread.request = None
        thread.holds_back = 0
        cancel(world, thread.slot)
    _refresh_led_by(world, rules, broker)
    hear(world, rules, broker)


@compiled
def start_broker(world: World, rules: Rules, broker: Broker) -> None:
    """``broker`` is back: registered, told all its partitions, unfenced a little later."""
    recover_logs(world, broker)
    broker.is_up = 1
    broker.machine_is_gone = 0
    broker.is_stopping = 0
    broker.is_registered = 1
    note_eligible(world)
    broker.epoch += 1
    broker.last_heartbeat = world.now
    broker.returned_at = world.now
    broker.hangs_until = 0
    broker.tick_position = -1
    broker.tick_state = Tick.READY
    broker.tick_due = world.now
    schedule(world, broker.tick_slot, world.now)
    fence(world, rules, broker, True)  # a new registration ends whatever is left of the old one
    if broker.was_killed:
        leave_elr(world, rules, broker)
    publish_all_to(world, broker)
    _refresh_led_by(world, rules, broker)
    hear(world, rules, broker)


# ------------------------------------------------------------------ log dirs


@compiled
def dir_fires(world: World, rules: Rules, broker: Broker) -> None:
    """``broker`` ends itself, or 50 ms ago it noticed that a log dir has failed.

    Replicas in a failed dir are offline at once; to tell the controller it needs a way to it.
    """
    cancel(world, broker.log_dir_slot)
    if not broker.is_up:
        return  # its next start finds them
    if broker.paused_until > world.now:
        schedule(world, broker.log_dir_slot, broker.paused_until)
        return
    if broker.exits:
        _exit(world, rules, broker)
        return
    for log_dir in range(LOG_DIRS_MAX):
        if broker.log_dirs[log_dir] == LogDir.NOTICED:
            what = _dir_lost(world, rules, broker, log_dir, LogDir.UNTOLD)
            _take_offline(world, rules, broker, log_dir)
            if what == DirFailure.HALTS:
                _halt(world, rules, broker)
                return
        if broker.log_dirs[log_dir] == LogDir.UNTOLD:
            to_controller = link(world, broker.number, world.broker_count).dropped_until
            told = max(max(world.controller_out_until, to_controller), broker.hangs_until)
            if told > world.now:
                schedule(world, broker.log_dir_slot, told)
            else:
                broker.log_dirs[log_dir] = LogDir.TOLD
                dir_failed(world, rules, broker, log_dir)


@compiled
def _dir_lost(world: World, rules: Rules, broker: Broker, log_dir: int, told: int) -> int:
    """A log dir is gone for good; what that does to the broker. ``told``: the state if it tells."""
    what = on_dir_failure(rules, log_dir, broker.log_dirs_working - 1)
    broker.log_dirs[log_dir] = told if what == DirFailure.TOLD else LogDir.SILENT
    broker.log_dirs_working -= 1
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        if replica.log_dir == log_dir:
            replica.is_online = 0
            count_gone(world, rules, replica)
    return what


@compiled
def _dirs_found_at_start(world: World, rules: Rules, broker: Broker) -> None:
    """A process that starts finds its failed log dirs, and may not start without one.

    A registration names those that work.
    """
    for log_dir in range(LOG_DIRS_MAX):
        if broker.log_dirs[log_dir] == LogDir.UNTOLD:
            broker.log_dirs[log_dir] = LogDir.TOLD
        elif broker.log_dirs[log_dir] in (LogDir.FAILS, LogDir.NOTICED):
            if _dir_lost(world, rules, broker, log_dir, LogDir.TOLD) == DirFailure.HALTS:
                broker.log_dirs_working = 0


@compiled
def _take_offline(world: World, rules: Rules, broker: Broker, log_dir: int) -> None:
    """Replicas of ``broker`` in a failed log dir neither lead nor follow any longer."""
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        if replica.log_dir == log_dir:
            stop_leading(world, rules, replica)
            # the log-dir failure handler takes it off the thread
            clear_follower(world, replica, True)
            refresh(world, rules, replica.partition)


@compiled
def _halt(world: World, rules: Rules, broker: Broker) -> None:
    """The process of ``broker`` ends as by a kill; it does not start on a dead disk."""
    broker.log_dirs_working = 0
    if broker.is_up:
        broker.was_killed = 1
        stop_broker(world, rules, broker)
        _rearm_all(world)


@compiled
def _exit(world: World, rules: Rules, broker: Broker) -> None:
    """The process of ``broker`` ends itself; where one supervises it, it starts it again."""
    broker.was_killed = 1
    stop_broker(world, rules, broker)
    fault = supervised(world, broker)
    if fault:
        fault.state = FaultState.RUNNING
        fault.has_loaded = 0
        fault.end = world.now + fault.retry_us
        schedule(world, fault.slot, fault.end)
    _rearm_all(world)


# ------------------------------------------------------------------ windows


@compiled
def _cpu_factor(world: World, broker: Broker) -> None:
    """Product of the CPU factors in force on ``broker``, in millionths."""
    factor = MILLION
    for i in range(world.fault_count):
        fault = world.faults[i]
        if (
            fault.kind == FaultKind.CPU
            and fault.broker == broker
            and fault.state == FaultState.RUNNING
        ):
            factor = factor * fault.value // MILLION
    broker.cpu_factor = max(1, factor)


@compiled
def _relink(world: World, a: int, c: int) -> None:
    """Latency and drop of the link from node ``a`` to node ``c``: the largest in force.

    What the racks' distance adds is always in force.
    """
    latency = 0
    drop_until = 0
    for i in range(world.fault_count):
        fault = world.faults[i]
        if fault.kind != FaultKind.LINK or fault.state != FaultState.RUNNING:
            continue
        if (fault.from_node == a and fault.to_node == c) or (
            fault.both_ways and fault.from_node == c and fault.to_node == a
        ):
            latency = max(latency, fault.value)
            if fault.drops:
                drop_until = max(drop_until, fault.end)
    place = link(world, a, c)
    place.added_us = latency + rack_distance(world, a, c)
    place.dropped_until = drop_until


@compiled
def _link_changes(world: World, rules: Rules, fault: Fault) -> None:
    """A link fault begins or ends."""
    a = fault.from_node
    c = fault.to_node
    _relink(world, a, c)
    _relink(world, c, a)
    ctl = world.broker_count
    for node in (a, c):
        if node != ctl and (a == ctl or c == ctl):
            hear(world, rules, world.brokers[node])


@compiled
def _rate_changes(world: World, fault: Fault) -> None:
    """A change of the produce rate begins or ends: factors multiply."""
    for k in range(world.stream_count):
        stream = world.streams[k]
        if not names(world, fault, stream.partition):
            continue
        factor = MILLION
        for i in range(world.fault_count):
            other = world.faults[i]
            running = other.kind == FaultKind.RATE and other.state == FaultState.RUNNING
            if running and names(world, other, stream.partition):
                factor = factor * other.value // MILLION
        change_rate(world, stream, factor)


@compiled
def _surge_changes(world: World, fault: Fault, begins: bool) -> None:
    """A surge of client requests begins or ends on a broker."""
    broker = fault.broker
    if begins:
        broker.surge_period_ns = fault.arg
        broker.surge_us = fault.value
        broker.surge_connections = fault.arg2
        broker.surge_count = 0
        broker.surge_next = world.now
        schedule(world, broker.surge_slot, world.now)
    else:
        broker.surge_period_ns = 0
        broker.surge_gathered = 0
        broker.surge_next = INF


@compiled
def _pause(world: World, rules: Rules, fault: Fault, begins: bool) -> None:
    """SIGSTOP and SIGCONT: who was at work goes on at once, who slept wakes (`network.wake_us`)."""
    broker = fault.broker
    if not broker.is_up:
        return
    if begins:
        broker.paused_until = max(broker.paused_until, fault.end)
        hear(world, rules, broker)
    elif broker.paused_until <= world.now:
        broker.last_heartbeat = world.now
        hear(world, rules, broker)
    _refresh_led_by(world, rules, broker)


# ------------------------------------------------------------------ single moments


@compiled
def _burst(world: World, rules: Rules, fault: Fault) -> None:
    """Records are appended at once to the leader of a partition, by no request."""
    partition = world.partitions[fault.partition]
    leader = partition.leader
    if leader < 0:
        return
    replica = partition.replicas[leader]
    broker = replica.broker
    if not broker.is_up or not replica.is_leader or not replica.is_online:
        return
    left = fault.value
    while left > 0:
        records = min(left, partition.burst_batch_records)
        append_records(world, rules, replica, records, records * partition.record_bytes, False)
        left -= records
    complete_without_handler(world, rules, replica)


@compiled
def _partition_error(world: World, rules: Rules, fault: Fault) -> None:
    """The next append (or answer) of one follower fails; or all in a window."""
    partition = world.partitions[fault.partition]
    replica = _row_here(partition, fault.broker)
    if not replica:
        return
    if fault.fetcher == 1:
        if fault.broker.is_up:
            log_dir_fetcher_fails(world, rules, replica, fault.error)
        return
    replica.injected_error = fault.error
    replica.injected_until = INJECTED_ONCE if fault.once else fault.end
    touch(world, replica)


@compiled
def _stop_replica(world: World, fault: Fault) -> None:
    """StopReplica on a follower: not fetched until a new leader epoch, and un-failed."""
    partition = world.partitions[fault.partition]
    replica = _row_here(partition, fault.broker)
    if not replica or not fault.broker.is_up or replica.is_leader:
        return
    clear_follower(world, replica, True)
    forget_log_dir_failure(world, replica, True, False)
    replica.fetch_state = FetchState.STOPPED
    touch(world, replica)
    reap_idle_threads(world, fault.broker)


@compiled
def _withdraw_fetches(world: World, rules: Rules, replica: Replica) -> None:
    """Withdraw in-flight fetches: they describe the log that the replica had before its reset."""
    for i in range(world.request_count):
        request = world.requests[i]
        if request.kind != RequestKind.FETCH or request.state == RequestState.FREE:
            continue
        fetched = request.thread.fetched
        for k in range(request.entry_count):
            entry = request.entries[k]
            if fetched[k].follower == replica and entry.offset >= 0:
                if request.pending != 0:
                    end_read(rules, fetched[k].record, entry.offset)
                entry.offset = -1


@compiled
def _bootstrap(world: World, rules: Rules, fault: Fault) -> None:
    """A follower begins anew, so many records behind: neither in the ISR nor in the ELR.

    A replica that leads, or does not know yet that it leads no longer, is no follower.
    """
    partition = world.partitions[fault.partition]
    replica = _row_here(partition, fault.broker)
    leader = partition.leader
    if not replica or leader < 0 or leader == replica.position or replica.is_leader:
        return
    me = 1 << replica.position
    member = partition.isr & me
    partition.isr &= ~me
    partition.elr &= ~me
    partition.partition_epoch += 1  # also where it was no member: a return under way must not count
    if member:
        emit(world, EventKind.CONTROLLER_ISR_REMOVE, partition, -1, -1, me)
        refresh(world, rules, partition)
    publish(world, partition)
    _withdraw_fetches(world, rules, replica)
    replica.log_end_offset = partition.replicas[leader].log_end_offset - fault.value
    replica.high_watermark = replica.log_end_offset
    replica.recovery_point = min(replica.recovery_point, replica.log_end_offset)
    replica.epoch_count = 1
    replica.newest_epoch = replica.epochs[0].epoch
    touch(world, replica)


@compiled
def _next_controller(world: World, rules: Rules, fault: Fault) -> int:
    """When another controller takes over: under ZooKeeper the dead one's znode outlives it.

    `KafkaController.elect` waits for /controller, which is ephemeral (@ 0.8.2.2, 1.1.0, 3.9).
    """
    broker = fault.broker
    if is_kraft(rules) or not broker or broker.unheard_since == INF:
        return fault.end
    return max(world.now, broker.fence_at)


@compiled
def _outage(world: World, rules: Rules, fault: Fault, begins: bool) -> None:
    """The controller goes away, or comes back."""
    if begins:
        fault.end = _next_controller(world, rules, fault)
        schedule(world, fault.slot, fault.end)
        if world.controller_out_until <= world.now:
            world.controller_out_since = world.now
            controller_gone(world)
        if fault.hangs and is_kraft(rules):
            heartbeats_hang(world, rules, fault.broker)
        world.controller_out_until = max(world.controller_out_until, fault.end)
        world.controller_resumed = fault.arg
    elif world.controller_out_until <= world.now:
        world.controller_out_until = 0
        controller_back(world, rules, fault.arg)


# ------------------------------------------------------------------ a fault's slot


@compiled
def _disk_changes(world: World, fault: Fault) -> None:
    """Disks of a broker have the speed that all faults of now leave them; who waits looks again."""
    broker = fault.broker
    for log_dir in range(LOG_DIRS_MAX):
        if fault.log_dir in (-1, log_dir):
            disk = disk_of(broker, log_dir)
            drain(world, disk)
            disk.write_factor = MILLION
            disk.read_factor = MILLION
            disk.stands_until = 0
            for i in range(world.fault_count):
                other = world.faults[i]
                if (
                    other.kind == FaultKind.SLOW_DISK
                    and other.state == FaultState.RUNNING
                    and other.broker == broker
                    and other.log_dir in (-1, log_dir)
                ):
                    disk.write_factor = min(disk.write_factor, other.value)
                    disk.read_factor = min(disk.read_factor, other.arg)
                    if other.arg == 0:
                        disk.stands_until = max(disk.stands_until, other.end)
    handler = broker.handlers
    for _ in range(broker.io_threads):
        if handler.state == HandlerState.PRODUCE_DISK:
            look_at_disk(world, handler)
        handler = handler[1]
    for i in range(broker.thread_count):
        thread = broker.threads[i].thread
        if thread.state == ThreadState.APPENDING and thread.holds_back:
            schedule(world, thread.slot, world.now)
    look_at_disks(world, broker)


@compiled
def _window(world: World, rules: Rules, fault: Fault, begins: bool) -> None:
    """A window opens or closes."""
    kind = fault.kind
    if kind == FaultKind.PAUSE:
        _pause(world, rules, fault, begins)
    elif kind == FaultKind.CPU:
        _cpu_factor(world, fault.broker)
    elif kind == FaultKind.LINK:
        _link_changes(world, rules, fault)
    elif kind == FaultKind.RATE:
        _rate_changes(world, fault)
    elif kind == FaultKind.SURGE:
        _surge_changes(world, fault, begins)
    elif kind == FaultKind.CONTROLLER_OUTAGE:
        _outage(world, rules, fault, begins)
    elif kind in (FaultKind.READ_STALL, FaultKind.SLOW_APPEND):
        fault.broker.faults_on += 1 if begins else -1
    elif kind == FaultKind.SLOW_DISK:
        _disk_changes(world, fault)
    elif kind == FaultKind.COLD_READER and begins:
        for k in range(fault.arg2):
            ask_for_cold_data(world, fault.readers[k])
    if kind in (
        FaultKind.PAUSE,
        FaultKind.CPU,
        FaultKind.LINK,
        FaultKind.SLOW_APPEND,
        FaultKind.SLOW_DISK,
    ):
        _rearm_all(world)


@compiled
def _moment(world: World, rules: Rules, fault: Fault) -> None:
    """A fault without a window happens."""
    kind = fault.kind
    if kind == FaultKind.BURST:
        _burst(world, rules, fault)
    elif kind == FaultKind.PARTITION_ERROR:
        _partition_error(world, rules, fault)
    elif kind == FaultKind.STOP_REPLICA:
        _stop_replica(world, fault)
    elif kind == FaultKind.BOOTSTRAP:
        _bootstrap(world, rules, fault)
    elif kind == FaultKind.PREFERRED_LEADER:
        partition = world.partitions[fault.partition]
        if fault.arg >= 0:
            partition.preferred = fault.arg
        if world.controller_out_until > world.now:
            fault.state = FaultState.TO_BEGIN
            schedule(world, fault.slot, world.controller_out_until)
            return
        elect_preferred(world, rules, partition)
        plan_check(world, rules)
    elif kind == FaultKind.LOG_DIR:
        broker = fault.broker
        if broker.log_dirs[fault.log_dir] == LogDir.WORKS:
            broker.log_dirs[fault.log_dir] = LogDir.FAILS
            if holds_metadata(rules, fault.log_dir) and broker.is_up:
                # the metadata log is written all the time
                notice_bad_dir(world, broker, fault.log_dir)
            _rearm_all(world)


@compiled
def _crash(world: World, rules: Rules, fault: Fault) -> None:
    """Kill -9, and the return: a fault that is to begin kills, a running one starts again."""
    broker = fault.broker
    if fault.state == FaultState.TO_BEGIN:
        if fault.lost == Lost.TAIL and world.now == fault.flushed_at:
            flushed_by_system(broker)
        if world.now < fault.start:
            schedule(world, fault.slot, fault.start)
            return
        fault.state = FaultState.RUNNING
        broker.is_registered = 0
        if fault.lost != Lost.NOTHING:
            broker.machine_is_gone = 1
        if broker.is_up:
            broker.was_killed = 1
            stop_broker(world, rules, broker)
        lose_logs(world, rules, fault)
        _rearm_all(world)
        if fault.arg >= 0:
            schedule(world, fault.slot, fault.start + fault.arg)
        else:
            cancel(world, fault.slot)
        return
    _come_back(world, rules, fault)


@compiled
def _come_back(world: World, rules: Rules, fault: Fault) -> None:
    """A stopped broker starts again, unless the controller or another fault keeps it down."""
    broker = fault.broker
    if 0 < world.now <= world.controller_out_until:  # at its very end sessions may begin anew
        schedule(world, fault.slot, max(world.controller_out_until, world.now + 1))
        return
    returns = not broker.is_up and not _another_return(world, fault, broker)
    if returns:
        _dirs_found_at_start(world, rules, broker)
        returns = broker.log_dirs_working > 0 and (
            fault.lost != Lost.ALL or starts_on_empty_disk(rules, fault.is_reformatted == 1)
        )
    loading = broker.is_registered  # KRaft's: let in already
    if (
        returns
        and not loading
        and (_loads_first(world, rules, fault, broker) or _refused(world, rules, fault, broker))
    ):
        return
    if returns and _loads_later(world, rules, fault, broker):
        return
    fault.state = FaultState.OVER
    cancel(world, fault.slot)
    if returns:
        start_broker(world, rules, broker)
    _rearm_all(world)


@compiled
def _another_return(world: World, fault: Fault, broker: Broker) -> bool:
    """Whether another fault keeps ``broker`` down: the later end wins."""
    for i in range(world.fault_count):
        other = world.faults[i]
        if (
            other != fault
            and other.broker == broker
            and other.state in (FaultState.RUNNING, FaultState.SECOND_STEP)
        ):
            if other.kind in (FaultKind.CRASH, FaultKind.CONTROLLED_RESTART):
                return True
    return False


@compiled
def _loads(world: World, fault: Fault, broker: Broker) -> bool:
    """Whether the process that starts has to load its logs now; plans the end of that."""
    if fault.has_loaded:
        return False
    takes = fault.load_us * broker.hosted_count + recovery_time(fault, broker)
    if takes == 0:
        return False
    fault.has_loaded = 1
    fault.end = min(world.now + takes, INF)
    schedule(world, fault.slot, fault.end)
    return True


@compiled
def _loads_first(world: World, rules: Rules, fault: Fault, broker: Broker) -> bool:
    """Under ZooKeeper a broker loads its logs before it registers."""
    return not is_kraft(rules) and _loads(world, fault, broker)


@compiled
def _loads_later(world: World, rules: Rules, fault: Fault, broker: Broker) -> bool:
    """Under KRaft it registers first, which ends its old session, and is unfenced afterwards."""
    if not is_kraft(rules) or not _loads(world, fault, broker):
        return False
    broker.is_registered = 1
    fence(world, rules, broker, True)
    cancel(world, broker.session_slot)  # what was left of the old session is over
    if broker.was_killed:
        leave_elr(world, rules, broker)
    return True


@compiled
def _refused(world: World, rules: Rules, fault: Fault, broker: Broker) -> bool:
    """Whether the controller refuses the registration of ``broker``; plans its next try."""
    now = world.now
    fenced = broker.is_fenced
    killed = fault.kind == FaultKind.CRASH and broker.was_killed
    if not is_refused(rules, fenced, broker.fence_at, now, killed):
        return False
    note(world, Depends.SESSION)
    session = broker.session_timeout_us
    wait = retry_after(rules, fault.tries, broker.heartbeat_us, session, fault.retry_us)
    fault.tries += 1
    fault.has_loaded = 0  # under ZooKeeper another process begins anew
    fault.end = now + wait if wait >= 0 else INF
    schedule(world, fault.slot, fault.end)
    return True


@compiled
def _wants_to_go(world: World, rules: Rules, fault: Fault, broker: Broker) -> None:
    """``broker`` asks KRaft's controller for a shutdown: its leads move."""
    now = world.now
    led = leads_any(world, broker)
    broker.is_stopping = 1
    fault.asked_at = -1
    note_eligible(world)
    if must_wait(rules, led):
        move_away(world, rules, broker)
        await_reports(world, broker)
        fault.asked_at = now
        # the first answer comes when the move is committed
        schedule(world, fault.slot, now + world.alter_partition_us + FIRST_ASK_US)
    else:
        _may_go(world, rules, fault, broker)


@compiled
def _may_go(world: World, rules: Rules, fault: Fault, broker: Broker) -> None:
    """The controller fences ``broker``, which stops; the heartbeat that asked is its last."""
    broker.last_heartbeat = world.now
    fence(world, rules, broker, True)
    _goes(world, rules, fault, broker)


@compiled
def _goes(world: World, rules: Rules, fault: Fault, broker: Broker) -> None:
    """``broker`` serves and fetches no longer; back when its logs are closed, or later."""
    fault.asked_at = -1
    fault.state = FaultState.SECOND_STEP
    stop_broker(world, rules, broker)
    closed_in_order(broker)
    _plan_return(world, fault, world.now + fault.arg2)


@compiled
def _plan_return(world: World, fault: Fault, stopped: int) -> None:
    """The process of a controlled restart ends at ``stopped``: when it starts again."""
    back = max(stopped, fault.start + fault.arg)
    fault.end = back
    schedule(world, fault.slot, back)


@compiled
def _asks_to_go(world: World, rules: Rules, fault: Fault, broker: Broker) -> None:
    """``broker``, whose leads have moved, asks once more whether it may go."""
    now = world.now
    to_controller = link(world, broker.number, world.broker_count).dropped_until
    unheard = max(max(broker.paused_until, to_controller), broker.hangs_until)
    hindered = max(unheard, world.controller_out_until)
    limit = fault.asked_at + SHUTDOWN_LIMIT_US
    if now >= limit and broker.paused_until <= now:
        _goes(world, rules, fault, broker)  # without leave
    elif hindered > now:
        then = max(broker.paused_until, min(hindered, limit))
        schedule(world, fault.slot, then + 1)  # when it is over: a controller may begin anew
    elif broker.is_fenced or all_reported(world, broker):
        _may_go(world, rules, fault, broker)
    else:
        schedule(world, fault.slot, min(now + broker.heartbeat_us, limit))


@compiled
def _asks_zookeepers(world: World, rules: Rules, fault: Fault, broker: Broker) -> None:
    """``broker`` asks ZooKeeper's controller to move its leads, which names those that stay.

    (KafkaController.shutdownBroker @ 0.8.2.2, doControlledShutdown @ 2.6.0.)
    """
    now = world.now
    if broker.paused_until > now:
        schedule(world, fault.slot, broker.paused_until)
        return
    answered = now
    if fault.asked < broker.shutdown_tries:
        way = link(world, broker.number, world.broker_count)
        back = link(world, world.broker_count, broker.number)
        passes = max(way.dropped_until, back.dropped_until)
        if now < passes <= now + CONTROLLER_ANSWERS_US:
            schedule(world, fault.slot, passes)
            return
        fault.asked += 1
        if passes > now:
            answered = now + CONTROLLER_ANSWERS_US
        elif world.controller_out_until <= now:  # without a controller a try is over at once
            broker.is_stopping = 1
            note_eligible(world)
            answered = moved_at(world, rules, broker)
            move_away(world, rules, broker)
            if not leads_replicated(broker):
                _stops_at(world, fault, answered)
                return
        if tries_again(rules, fault.asked, broker.shutdown_tries):
            schedule(world, fault.slot, answered + broker.shutdown_backoff_us)
            return
    _stops_at(world, fault, answered)


@compiled
def _stops_at(world: World, fault: Fault, lets_go: int) -> None:
    """Under ZooKeeper a broker that may go, or goes without leave, closes its logs and stops."""
    fault.asked_at = -1
    schedule(world, fault.slot, lets_go + fault.arg2)


@compiled
def _controlled(world: World, rules: Rules, fault: Fault) -> None:
    """Controlled restart: 0 wants to go, 1 asks again or (ZooKeeper) stops, 2 starts again."""
    broker = fault.broker
    if fault.state == FaultState.TO_BEGIN:
        if not broker.is_up:
            fault.state = FaultState.OVER
            cancel(world, fault.slot)
            return
        if is_kraft(rules):
            if world.controller_out_until > world.now:
                schedule(world, fault.slot, world.controller_out_until)
                return
            fault.state = FaultState.RUNNING
            _wants_to_go(world, rules, fault, broker)
        else:
            fault.state = FaultState.RUNNING
            _asks_zookeepers(world, rules, fault, broker)
        _rearm_all(world)
    elif fault.state == FaultState.RUNNING:
        if fault.asked_at >= 0 and broker.is_up:
            if is_kraft(rules):
                _asks_to_go(world, rules, fault, broker)
            else:
                _asks_zookeepers(world, rules, fault, broker)
            return
        fault.state = FaultState.SECOND_STEP
        if broker.is_up:
            stop_broker(world, rules, broker)
            closed_in_order(broker)
            close_session(world, broker)
        _plan_return(world, fault, world.now)
    else:
        _come_back(world, rules, fault)


@compiled
def fault_fires(world: World, rules: Rules, fault: Fault) -> None:
    """The begin or the end of a fault."""
    kind = fault.kind
    if kind == FaultKind.CRASH:
        _crash(world, rules, fault)
    elif kind == FaultKind.CONTROLLED_RESTART:
        _controlled(world, rules, fault)
    elif kind == FaultKind.CONTROLLER_OUTAGE or (
        fault.end > fault.start and kind != FaultKind.PARTITION_ERROR
    ):
        if fault.state == FaultState.TO_BEGIN:
            fault.state = FaultState.RUNNING
            schedule(world, fault.slot, fault.end)
            _window(world, rules, fault, True)
        else:
            fault.state = FaultState.OVER
            cancel(world, fault.slot)
            _window(world, rules, fault, False)
    else:
        fault.state = FaultState.RUNNING
        cancel(world, fault.slot)
        _moment(world, rules, fault)
