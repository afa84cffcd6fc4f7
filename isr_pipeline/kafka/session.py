"""A broker's session with the controller: who counts as alive, when it is found over.

And the registration of a broker that is back before its old session is over: refused, and when it
tries again.
"""

from __future__ import annotations

from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Controller, RegistrationRetry, Rules

CHECKS_A_SESSION: Final = 8
"""QuorumController.maybeFenceStaleBrokerPeriodNs @ 4.0.0 to 4.3.1."""

SHORTEST_PERIOD_US: Final = 1_000
"""Of the checks, in the same place."""


@rule
def is_active(fenced: bool, stopping: bool) -> bool:
    """Whether the controller regards a broker as alive, and lets its replicas lead and join.

    It asks its registration alone: who has died counts until the session is over
    (ClusterControlManager.isActive @ 4.3.1; under ZooKeeper the znode lives as long).
    """
    return not fenced and not stopping


@rule
def outlives_fence(rules: Rules) -> bool:
    """Whether a broker that is fenced still has a session.

    To 3.9 a fence ends it (BrokerHeartbeatManager.hasValidSession @ 3.9). From 4.0 on the last
    contact alone counts, which the heartbeat that asks for the shutdown has renewed
    (BrokerHeartbeatTracker @ 4.0.0, 4.3.1; KAFKA-19047).
    """
    return rules.controller == Controller.KRAFT and not rules.fence_ends_session


@rule
def check_period(rules: Rules, session: int) -> int:
    """How often the controller looks for stale sessions, in microseconds; 0: it need not look.

    Args:
        rules: the switches.
        session: broker.session.timeout.ms, in microseconds.
    """
    if rules.controller != Controller.KRAFT or not rules.sessions_checked_by_eighths:
        return 0
    return max(session // CHECKS_A_SESSION, SHORTEST_PERIOD_US)


@rule
def found_over(session_end: int, first_check: int, period: int) -> int:
    """When the controller finds a session over, in microseconds.

    Still valid at its very end, it is stale at the first check behind that
    (BrokerHeartbeatTracker.isExpired @ 4.0.0).

    Args:
        session_end: last contact + broker.session.timeout.ms, in microseconds.
        first_check: one of the checks, in microseconds.
        period: of `check_period`.
    """
    if period == 0:
        return session_end
    return first_check + ((session_end - first_check) // period + 1) * period


@rule
def new_controller_tracks(rules: Rules, fenced: bool) -> bool:
    """Whether a controller of KRaft that becomes active gives a registered broker a session.

    An unfenced one always; a fenced one in 4.0 alone, where it then counts
    (ClusterControlManager.activate @ 4.0.2, 4.1.0; KAFKA-18138, KAFKA-19130).
    """
    return not fenced or rules.fenced_get_sessions


FIRST_RETRY_US: Final = 100_000
"""`resendExponentialBackoff` of BrokerLifecycleManager.scala @ 2.8.2 to 4.0.0; its jitter of 2 % is
left out."""

DOUBLINGS_MAX: Final = 20
"""More would pass any session."""


@rule
def is_refused(rules: Rules, fenced: bool, session_end: int, now: int, killed: bool) -> bool:
    """Whether the session of the broker's last life stands against its registration.

    KRaft answers DUPLICATE_BROKER_REGISTRATION while it is valid, whatever ended that life
    (ClusterControlManager.registerBroker @ 3.3, 3.9, 4.3.1); a fence ends it only to 3.9. Under
    ZooKeeper the znode is there as long; who stops in order closes the session himself
    (KafkaZkClient.CheckedEphemeral @ 3.9).

    Args:
        rules: the switches.
        fenced: whether the controller has fenced the broker already.
        session_end: when it is over, in microseconds; still valid at that very moment.
        now: in microseconds.
        killed: whether that life ended by a kill.
    """
    if now > session_end or (fenced and not outlives_fence(rules)):
        return False
    return rules.controller == Controller.KRAFT or killed


@rule
def retry_after(rules: Rules, tries: int, heartbeat: int, session: int, supervisor: int) -> int:
    """How long after a refusal the broker tries again, in microseconds.

    KRaft: `RegistrationRetry`. ZooKeeper: the process ends and its supervisor starts it again;
    0.8.2 waits a session within it (ZkUtils.createEphemeralPathExpectConflictHandleZKBug @ 0.8.2.2;
    KAFKA-1387).

    Args:
        rules: the switches.
        tries: refusals before this one.
        heartbeat: broker.heartbeat.interval.ms, in microseconds.
        session: the session's timeout, in microseconds.
        supervisor: time from the process's end to its next try, in microseconds.
    """
    if rules.controller == Controller.KRAFT:
        if rules.registration_retry == RegistrationRetry.HEARTBEAT_INTERVAL:
            return heartbeat
        most = (
            session // 2
            if rules.registration_retry == RegistrationRetry.UP_TO_HALF_SESSION
            else session
        )
        return min(FIRST_RETRY_US << min(tries, DOUBLINGS_MAX), most)
    return session if rules.start_waits_for_session else supervisor


CONTROLLER_ANSWERS_US: Final = 30_000_000
"""controller.socket.timeout.ms: how long a broker waits for an answer of its controller."""


@rule
def heartbeat_repeated_after(rules: Rules, heartbeat: int, session: int) -> int:
    """How long after a heartbeat that nobody answers a broker sends the next, in microseconds.

    Only then does it look who the controller is. The wait is that of the request (BrokerServer and
    BrokerToControllerChannelManager.scala @ 2.8.2, 3.3.1, 3.3.2, 3.9), and the first back-off of
    BrokerLifecycleManager; with KAFKA-19294 a heartbeat interval each.

    Args:
        rules: the switches.
        heartbeat: broker.heartbeat.interval.ms, in microseconds.
        session: broker.session.timeout.ms, in microseconds.
    """
    if rules.registration_retry == RegistrationRetry.HEARTBEAT_INTERVAL:
        return 2 * heartbeat
    if rules.heartbeats_within_session:
        return min(CONTROLLER_ANSWERS_US, session // 2) + FIRST_RETRY_US
    return CONTROLLER_ANSWERS_US + FIRST_RETRY_US
