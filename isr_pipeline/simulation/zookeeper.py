"""How long ZooKeeper's controller takes for a change, by the partitions that it concerns.

It works on one change at a time: the next waits (`World.controller_busy_until`).
"""

from __future__ import annotations

from isr_pipeline.kafka.releases import Controller, Rules
from isr_pipeline.kafka.zookeeper import takes
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.tables import Broker, World


@compiled
def _work(world: World, rules: Rules, requests: int, rounds: int) -> int:
    """The controller begins as soon as it is free; when it is ready."""
    begins = max(world.now, world.controller_busy_until)
    if rules.controller == Controller.KRAFT:
        return begins
    ready = begins + takes(rules, requests, rounds, world.zookeeper_request_us)
    world.controller_busy_until = ready
    return ready


@compiled
def elected_at(world: World, rules: Rules, broker: Broker) -> int:
    """When all partitions that ``broker`` led have another leader.

    A read and a write each; it tries those that have no leader as well, and reads them.
    """
    requests = 0
    for i in range(world.partition_count):
        partition = world.partitions[i]
        leader = partition.leader
        if leader < 0:
            requests += 1
        elif partition.replicas[leader].broker == broker:
            requests += 2
    return _work(world, rules, requests, 2)


@compiled
def removed_at(world: World, rules: Rules, broker: Broker) -> int:
    """When ``broker`` is out of all ISRs: its partitions are read, those with it are written."""
    requests = 0
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        requests += 1 + ((replica.partition.isr >> replica.position) & 1)
    return _work(world, rules, requests, 2)


@compiled
def returned_at(world: World, rules: Rules, broker: Broker) -> int:
    """When the partitions of ``broker``, which is back, have a leader again."""
    requests = 0
    for i in range(broker.hosted_count):
        requests += 2 * (broker.hosted[i].replica.partition.leader < 0)
    return _work(world, rules, requests, 2)


@compiled
def moved_at(world: World, rules: Rules, broker: Broker) -> int:
    """When ``broker``, which wants to stop, has its answer: leads first, then ISRs."""
    requests = 0
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        if replica.partition.replication_factor > 1:
            requests += 1 + ((replica.partition.isr >> replica.position) & 1)
    return _work(world, rules, requests, 4)


@compiled
def read_all(world: World, rules: Rules) -> None:
    """A new controller reads every partition before it does anything else."""
    world.controller_busy_until = 0  # what the last one was at
    _work(world, rules, world.partition_count, 1)
