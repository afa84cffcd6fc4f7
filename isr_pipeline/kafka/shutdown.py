"""Controlled shutdown: when a broker goes, and what it fetches until then."""

from __future__ import annotations

from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Controller, Rules

FIRST_ASK_US: Final = 50_000
"""From the first answer, "not yet", to the next heartbeat; later ones come at the ordinary interval
(BrokerLifecycleManager, PENDING_CONTROLLED_SHUTDOWN @ 2.8.2, 3.9)."""

SHUTDOWN_LIMIT_US: Final = 300_000_000
"""After so long the broker stops without leave (BrokerServer.shutdown, KafkaBroker @ 3.9: five
minutes)."""


@rule
def must_wait(rules: Rules, led: bool) -> bool:
    """Whether a broker that wants to stop has to wait for what the others report.

    KRaft lets one go at once that leads nothing; ZooKeeper's controller answers when the leads have
    moved (BrokerHeartbeatManager.calculateNextBrokerState @ 2.8.2, 3.9).

    Args:
        rules: the switches.
        led: whether it led any partition when it asked first.
    """
    return rules.controller == Controller.KRAFT and led


@rule
def tries_again(rules: Rules, asked: int, tries: int) -> bool:
    """Whether a broker that still leads waits before it asks ZooKeeper's controller again, or goes.

    After its last try it goes on with the shutdown whatever it leads; to 3.0 it waits before that
    (KafkaServer.controlledShutdown @ 0.8.2.2, 1.0.0, 2.6.0, 3.0.0, 3.1.0, 3.5.0).

    Args:
        rules: the switches.
        asked: how often it has asked.
        tries: controlled.shutdown.max.retries.
    """
    return asked < tries or (rules.pauses_after_last_try and asked == tries > 0)


@rule
def has_reported(applied: int, last_heartbeat: int) -> bool:
    """Whether the last heartbeat of another broker named an offset at least that of the move.

    Args:
        applied: when it applied that offset; 0: nobody waits for it, as with a new controller.
        last_heartbeat: when its last heartbeat reached the controller, in microseconds.
    """
    return applied <= max(last_heartbeat, 0)


@rule
def stops_fetching(rules: Rules, in_isr: bool, was_leader: bool) -> bool:
    """Whether a broker in controlled shutdown no longer fetches a partition that it follows.

    It fetches nothing that it has left the ISR of. Under ZooKeeper it is told to stop what it
    follows (StopReplica), but goes on with what it led (KafkaController.scala @ 2.6.0). KRaft to
    3.2 ends its metadata listener first, so that the new epoch fences its fetches
    (BrokerServer.scala @ 3.2.0); from 3.3 on it takes such partitions off its threads
    (ReplicaManager.applyLocalFollowersDelta @ 3.3.0).

    Args:
        rules: the switches.
        in_isr: whether it is still in the ISR.
        was_leader: whether it led the partition until now.
    """
    return not in_isr and (rules.controller == Controller.KRAFT or not was_leader)
