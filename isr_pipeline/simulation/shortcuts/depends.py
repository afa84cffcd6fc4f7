"""What of its configuration a run's course has depended on.

Two configurations of a scenario often lead to the very same run: a limit that no read reaches, an
election that never takes place. So that such a run is simulated once (see `worlds.reuse`), the
kernel notes where a setting decided something: `World.least_isr`, `World.longest_read` and, in
`World.depends_on`, one bit a question.

Rules read settings and switches as they are; where one decides something, what changes the state
notes it. `tests/simulation/test_fences.py` lists which function reads a setting in spite of which
configurations may share a run (`worlds.reuse`), and who notes that it decided; it finds any other
read.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import effective_min_isr, size_of
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.states import Depends, OwnSetting
from isr_pipeline.simulation.world.tables import Partition, Replica, World


@compiled
def min_isr(world: World, rules: Rules, partition: Partition) -> int:
    """min.insync.replicas of ``partition`` as applied, to compare with a committed ISR or more.

    Every committed ISR is noted when it is set.
    """
    own = partition.min_insync_replicas
    return effective_min_isr(
        rules, own if own > 0 else world.min_insync_replicas, partition.replication_factor
    )


@compiled
def may_elect_uncleanly(world: World, partition: Partition) -> bool:
    """unclean.leader.election.enable of ``partition``: its topic's own, else the configuration's.

    Who elects notes when nobody else could be elected.
    """
    own = partition.unclean_leader_election
    return world.unclean_leader_election if own == OwnSetting.SILENT else own == 1


@compiled
def min_isr_for(world: World, rules: Rules, partition: Partition, isr: int) -> int:
    """The same, to compare with ``isr``, which is not committed yet."""
    note_isr(world, partition, isr)
    return min_isr(world, rules, partition)


@compiled
def note(world: World, question: int) -> None:
    """Something was decided by the setting behind ``question`` (a `Depends` bit)."""
    world.depends_on |= question


@compiled
def note_isr(world: World, partition: Partition, isr: int) -> None:
    """``partition`` has, or may get, this ISR: min.insync.replicas is compared with its size."""
    members = size_of(isr)
    world.least_isr = min(world.least_isr, members)
    if members < partition.replication_factor:
        world.depends_on |= Depends.OUTSIDE


@compiled
def note_read(world: World, duration: int) -> None:
    """A follower's read takes so long: Solution 2's timer may fire before its end."""
    world.longest_read = max(world.longest_read, duration)


@compiled
def set_isr(world: World, leader: Replica, isr: int) -> None:
    """``leader`` knows ``isr`` as the committed ISR from now on."""
    leader.isr = isr
    note_isr(world, leader.partition, isr)
