"""A broker's session with the controller: who counts as alive, when it is found over."""

from __future__ import annotations

from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Controller, Rules

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
