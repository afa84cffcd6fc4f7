"""leader.imbalance.check: preferred leaders take over again."""

from __future__ import annotations

from isr_pipeline.kafka.preferred import NEXT_GO_US, go_limit, moves_back, waits_for_imbalance
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.simulation.controller import elect_preferred, plan_check
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.queue import cancel, schedule
from isr_pipeline.simulation.world.tables import Broker, Partition, World


@compiled
def _prefers(partition: Partition, broker: Broker) -> bool:
    """Whether the preferred replica of ``partition`` is on ``broker``."""
    return partition.replicas[partition.preferred].broker == broker


@compiled
def _is_due(world: World, rules: Rules, broker: Broker) -> bool:
    """Whether ``broker`` gets the leads back that it misses."""
    preferred = 0
    missing = 0
    for i in range(world.partition_count):
        partition = world.partitions[i]
        if _prefers(partition, broker):
            preferred += 1
            missing += partition.leader != partition.preferred
    return missing > 0 and moves_back(rules, preferred, missing, world.imbalance_percentage)


@compiled
def _give_back(world: World, rules: Rules) -> bool:
    """One go over the brokers; True if as many leads were moved as one go may."""
    limit = go_limit(rules)
    moved = 0
    for k in range(world.broker_count):
        broker = world.brokers[k]
        if not _is_due(world, rules, broker):
            continue
        for i in range(world.partition_count):
            partition = world.partitions[i]
            if _prefers(partition, broker) and partition.leader != partition.preferred:
                elect_preferred(world, rules, partition)
                moved += partition.leader == partition.preferred
                if moved == limit:
                    return True
    return False


@compiled
def check_fires(world: World, rules: Rules) -> None:
    """The check is due; while the controller is away it waits for it."""
    slot = world.check_slot
    if world.controller_out_until > world.now:
        schedule(world, slot, world.controller_out_until)
    elif _give_back(world, rules):
        schedule(world, slot, world.now + NEXT_GO_US)
    elif waits_for_imbalance(rules):
        cancel(world, slot)
        plan_check(world, rules)
    else:
        schedule(world, slot, world.now + world.imbalance_check_us)
