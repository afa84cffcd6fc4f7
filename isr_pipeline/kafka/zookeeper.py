"""ZooKeeper's controller: how long it waits for what it reads and writes there."""

from __future__ import annotations

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Rules


@rule
def takes(rules: Rules, requests: int, rounds: int, request_us: int) -> int:
    """How long a change of many partitions takes, in microseconds.

    To 1.0 the controller reads and writes one partition after the other, and tells nobody before
    the last (PartitionStateMachine.triggerOnlinePartitionStateChange @ 0.8.2.2, 1.0.0). From 1.1 on
    all reads are in flight together, then all writes (KafkaZkClient.updateLeaderAndIsr @ 1.1.0).

    Args:
        rules: the switches.
        requests: to ZooKeeper.
        rounds: of them, those that wait for an answer before.
        request_us: of one, there and back.
    """
    return request_us * (min(requests, rounds) if rules.zookeeper_pipelined else requests)
