"""Sessions of brokers with the controller: who is heard, who is fenced, what a new one finds.

Heartbeats are no events: the last one before a cut is known from their phase. ZooKeeper's
controller takes time for what a session's end changes (`simulation.zookeeper`).
"""

from __future__ import annotations

from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.session import (
    check_period,
    found_over,
    heartbeat_repeated_after,
    new_controller_tracks,
    outlives_fence,
)
from isr_pipeline.simulation.controller import (
    check_anew,
    count_as_dead,
    elect_without,
    fence,
    is_kraft,
    remove_from_isrs,
    unfence,
)
from isr_pipeline.simulation.measures import emit_of_broker, note_silence
from isr_pipeline.simulation.network import jitter, link
from isr_pipeline.simulation.shortcuts.depends import note
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.queue import cancel, schedule
from isr_pipeline.simulation.world.states import Depends, EventKind, Leaving
from isr_pipeline.simulation.world.tables import INF, Broker, World
from isr_pipeline.simulation.zookeeper import elected_at, read_all, removed_at, returned_at

PURPOSE_UNFENCE = 12
PURPOSE_SESSION_CHECK = 14
UNFENCE_LOW_US = 2_000  # [R 4.3.1] 2-6 ms from registration to being unfenced
UNFENCE_HIGH_US = 6_000


@compiled
def _session_found_over(world: World, rules: Rules, broker: Broker) -> int:
    """When the controller finds the session of ``broker`` over.

    The first controller's checks have a phase, a new one's begin with it.
    """
    period = check_period(rules, broker.session_timeout_us)
    since = world.controller_since
    if since == 0 and period > 0:
        since = jitter(world, PURPOSE_SESSION_CHECK, 0, 0, 0, period - 1)
    return max(world.now, found_over(broker.fence_at, since, period))


@compiled
def _plan_session_end(world: World, rules: Rules, broker: Broker) -> None:
    """Plan when the controller finds the session of ``broker`` over, if it has one."""
    if not broker.is_fenced or outlives_fence(rules):
        note(world, Depends.SESSION)
        _schedule_session(world, broker, _session_found_over(world, rules, broker))
    elif not broker.leaving:
        _schedule_session(world, broker, INF)


@compiled
def _schedule_session(world: World, broker: Broker, ends: int) -> None:
    """The session of ``broker`` is next looked at when it ends, or a hanging heartbeat does."""
    if broker.hangs_until > world.now:
        ends = min(ends, broker.hangs_until)
    if ends < INF:
        schedule(world, broker.session_slot, ends)
    else:
        cancel(world, broker.session_slot)


@compiled
def hear(world: World, rules: Rules, broker: Broker) -> None:
    """Work out whether heartbeats of ``broker`` reach the controller, and plan what follows.

    Called at every moment at which that can change. Heartbeats themselves are no events: the last
    one before a cut is known from their phase.
    """
    now = world.now
    node = broker.number
    place = link(world, node, world.broker_count)
    heard = (
        broker.is_up
        and broker.is_registered
        and broker.paused_until <= now
        and place.dropped_until <= now
        and broker.hangs_until <= now
    )
    if not heard:
        if broker.unheard_since == INF:
            broker.unheard_since = now
            beats = max(0, now - broker.last_heartbeat) // broker.heartbeat_us
            last = broker.last_heartbeat + beats * broker.heartbeat_us
            broker.fence_at = min(last, now) + broker.session_timeout_us
            _plan_session_end(world, rules, broker)
        return
    note_silence(world, broker)
    broker.unheard_since = INF
    broker.fence_at = INF
    if broker.leaving:
        return
    if broker.is_fenced and not broker.is_stopping:
        back = returned_at(world, rules, broker)
        wait = jitter(
            world,
            PURPOSE_UNFENCE,
            node,
            broker.epoch,
            UNFENCE_LOW_US,
            UNFENCE_HIGH_US,
        )
        schedule(world, broker.session_slot, back + wait)
    else:
        cancel(world, broker.session_slot)


@compiled
def heartbeats_hang(world: World, rules: Rules, dead: Broker) -> None:
    """The machine of the active controller is gone: heartbeats to its address get no answer.

    A broker finds that out with the next one that it sends.
    """
    now = world.now
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if broker == dead or not broker.is_up:
            continue
        since = max(0, now - broker.last_heartbeat)
        beats = (since + broker.heartbeat_us - 1) // broker.heartbeat_us
        sent = max(broker.last_heartbeat + beats * broker.heartbeat_us, broker.paused_until)
        session = broker.session_timeout_us
        note(world, Depends.SESSION)
        limit = heartbeat_repeated_after(rules, broker.heartbeat_us, session)
        broker.hangs_until = max(broker.hangs_until, sent + limit)
        hear(world, rules, broker)


@compiled
def _heartbeat_given_up(world: World, rules: Rules, broker: Broker) -> None:
    """The heartbeat of ``broker`` has waited long enough: the next goes to the new controller."""
    broker.hangs_until = 0
    broker.last_heartbeat = world.now
    cancel(world, broker.session_slot)
    hear(world, rules, broker)
    if broker.unheard_since < INF and broker.fence_at > 0:
        _plan_session_end(world, rules, broker)


@compiled
def session_fires(world: World, rules: Rules, broker: Broker) -> None:
    """A session is over, or a broker that is heard again may be unfenced."""
    now = world.now
    if 0 < broker.hangs_until <= now:
        _heartbeat_given_up(world, rules, broker)
        return
    if world.controller_out_until > now:
        schedule(world, broker.session_slot, world.controller_out_until)
        return
    if broker.leaving:
        _go_on_without(world, rules, broker)
        return
    _schedule_session(world, broker, INF)
    if broker.unheard_since < INF:
        if not broker.is_fenced:
            _find_dead(world, rules, broker)
        elif outlives_fence(rules):  # it stopped in order: fenced once more, and nothing changes
            emit_of_broker(world, EventKind.BROKER_FENCED, broker.number)
        return
    if broker.is_fenced:
        unfence(world, rules, broker)


@compiled
def _session_at_new_controller(world: World, rules: Rules, broker: Broker) -> None:
    """``broker`` is not heard while a new controller begins: it has a new session, or none.

    One that has registered and loads its logs does send heartbeats.
    """
    if broker.is_registered and not broker.is_up:
        return
    if new_controller_tracks(rules, broker.is_fenced):
        note(world, Depends.SESSION)
        broker.fence_at = world.now + broker.session_timeout_us
        _plan_session_end(world, rules, broker)
    else:
        broker.fence_at = 0
        _schedule_session(world, broker, INF)


@compiled
def controller_back(world: World, rules: Rules, resumed: int) -> None:
    """The controller works again after an outage.

    A fresh one of KRaft gives brokers a new session (`kafka.session.new_controller_tracks`). The
    same process resumed has let its clock run: it fences at most one live broker whose session
    seems over [R 4.3.1]. ZooKeeper's sessions are no controller's.
    """
    now = world.now
    if resumed == 0:
        world.controller_since = now
        check_anew(world, rules)
        # it has marked no shutdown: whoever asks may go
        for k in range(world.broker_count * world.broker_count):
            world.reports[k] = 0
        if not is_kraft(rules):
            _zookeepers_next(world, rules)
    fenced_one = False
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if broker.unheard_since < INF:
            if resumed == 0 and is_kraft(rules):
                _session_at_new_controller(world, rules, broker)
            elif not broker.is_fenced:
                _plan_session_end(world, rules, broker)
        elif resumed == 1 and is_kraft(rules) and not fenced_one and not broker.is_fenced:
            began = broker.fence_at
            if began < INF and now > began:
                fenced_one = True
                note_silence(world, broker)
                fence(world, rules, broker, True)
                hear(world, rules, broker)
            broker.fence_at = INF


@compiled
def controller_gone(world: World) -> None:
    """The controller stops: from here on no heartbeat counts."""
    now = world.now
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if broker.unheard_since == INF:
            beats = max(0, now - broker.last_heartbeat) // broker.heartbeat_us
            last = broker.last_heartbeat + beats * broker.heartbeat_us
            note(world, Depends.SESSION)
            broker.fence_at = last + broker.session_timeout_us


# ------------------------------------------------------------------ ZooKeeper


@compiled
def _go_on_without(world: World, rules: Rules, broker: Broker) -> None:
    """ZooKeeper's controller has made the next change for ``broker``, which is dead."""
    leaving = broker.leaving
    broker.leaving = Leaving.DONE
    cancel(world, broker.session_slot)
    if leaving == Leaving.REMOVE:
        remove_from_isrs(world, rules, broker)
    else:
        elect_without(world, rules, broker)
        if leaving == Leaving.ELECT:
            broker.leaving = Leaving.REMOVE
            schedule(world, broker.session_slot, removed_at(world, rules, broker))
            return
    if broker.unheard_since == INF:
        hear(world, rules, broker)  # it was away for shorter than that took


@compiled
def _find_dead(world: World, rules: Rules, broker: Broker) -> None:
    """The controller finds the session of ``broker`` over."""
    note_silence(world, broker)
    if is_kraft(rules):
        fence(world, rules, broker, True)
        return
    count_as_dead(world, broker, True)
    broker.leaving = Leaving.ELECT
    schedule(world, broker.session_slot, elected_at(world, rules, broker))


@compiled
def close_session(world: World, broker: Broker) -> None:
    """``broker`` has stopped in order, and closes its session with ZooKeeper."""
    broker.fence_at = world.now
    schedule(world, broker.session_slot, world.now)


@compiled
def _zookeepers_next(world: World, rules: Rules) -> None:
    """ZooKeeper's new controller starts: it finds who has died since the last one worked.

    To 2.2 it only elects where they led. What they followed keeps them in its ISR until its leader
    takes them out (ReplicaStateMachine.startup @ 1.1.0, 2.2.2, 2.3.0).
    """
    read_all(world, rules)
    work = Leaving.ELECT if rules.failover_removes_dead else Leaving.ELECT_ONLY
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if broker.unheard_since < INF and broker.fence_at <= world.now:
            if not broker.is_fenced:
                note_silence(world, broker)
                count_as_dead(world, broker, True)
                broker.leaving = work
            elif broker.leaving:
                broker.leaving = work
    for i in range(world.broker_count):
        broker = world.brokers[i]
        if broker.leaving:
            schedule(world, broker.session_slot, elected_at(world, rules, broker))
