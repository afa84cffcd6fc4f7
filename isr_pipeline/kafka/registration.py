"""A broker that is back before its old session is over: refused, and when it tries again."""

from __future__ import annotations

from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Controller, RegistrationRetry, Rules
from isr_pipeline.kafka.session import outlives_fence

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
    0.8.2 waits a session within it (ZkUtils.createEphemeralPathExpectConflictHandleZKBug).

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
