"""How long things take: packets between nodes, work on a broker, reads under faults.

A node is a broker's index, or the number of brokers for the controller.
"""

from __future__ import annotations

from isr_pipeline.kafka.rows import number_of
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.states import Appends, FaultKind, Reads
from isr_pipeline.simulation.world.tables import Broker, Fault, Link, Partition, World

MILLION = 1_000_000
PURPOSE_TICK_WAKES = 15
PURPOSE_NETWORK_WAKES = 16
PURPOSE_HANDLER_WAKES = 17
WAKE_US = 1_000  # a thread that a pause found asleep runs within this long of its turn


@compiled
def jitter(world: World, purpose: int, a: int, b: int, low: int, high: int) -> int:
    """A number in [low, high] that depends on the scenario's seed, the purpose and two entities.

    31-bit multiplications only, so that the JIT and plain Python agree.
    """
    h = (world.seed & 0x7FFFFFFF) ^ 0x2545F491
    for word in (purpose, a, b, world.seed >> 31):
        h = ((h ^ (word & 0x7FFFFFFF)) * 0x45D9F3B) & 0x7FFFFFFF
        h = ((h ^ (h >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
        h ^= h >> 13
    if high <= low:
        return low
    return low + h % (high - low + 1)


@compiled
def wake_us(world: World, purpose: int, who: int, when: int) -> int:
    """How long a thread that slept through a pause takes to run, once it may.

    SIGCONT makes all threads of a process runnable at once; in which order they run, the seed says.
    After a pause that holds up three ticks, brokers since 2.1 took followers of a loaded partition
    out in 11 of 13 recordings: 3 of 3 with one producer, 8 of 10 with two, 1 to 4 ms after the
    pause in seven of the eight that have that time. A thread that takes 0 to 1 ms gives three of
    four with one producer, five of six with two, 0 to 3 ms after the pause.
    """
    return jitter(world, purpose, who, when, 0, WAKE_US)


@compiled
def link(world: World, a: int, b: int) -> Link:
    """The link from node ``a`` to node ``b``."""
    return world.links[a * (world.broker_count + 1) + b]


@compiled
def rack_distance(world: World, a: int, b: int) -> int:
    """What the racks of two nodes add, one way, to the time between any two."""
    return world.rack_distances[a * (world.broker_count + 1) + b]


@compiled
def transit(world: World, way: Link) -> int:
    """When a packet sent now on a link arrives.

    Across a dropped link it waits for the end of the drop: TCP sends again until it gets through.
    """
    return max(world.now, way.dropped_until) + world.half_rtt_us + way.added_us


@compiled
def _wire_end(until: int, first_byte: int, size_bytes: int, bytes_per_s: int) -> int:
    """When the last of some bytes has passed a NIC that is busy until then."""
    return max(until, first_byte) - (-size_bytes * MILLION // bytes_per_s)


@compiled
def received(broker: Broker, first_byte: int, last_byte: int, size_bytes: int) -> int:
    """When ``broker`` has all of what comes to it from ``first_byte`` to ``last_byte``."""
    if broker.nic_bytes_per_s == 0:
        return last_byte
    end = _wire_end(broker.receives_until, first_byte, size_bytes, broker.nic_bytes_per_s)
    broker.receives_until = max(end, last_byte)
    return broker.receives_until


@compiled
def sent(world: World, broker: Broker, size_bytes: int) -> int:
    """When the last byte of an answer that leaves now has left the NIC of ``broker``."""
    if broker.nic_bytes_per_s == 0:
        return world.now
    broker.sends_until = _wire_end(
        broker.sends_until, world.now, size_bytes, broker.nic_bytes_per_s
    )
    return broker.sends_until


@compiled
def carried(world: World, sender: Broker, receiver: Broker, way: Link, size_bytes: int) -> int:
    """When an answer that leaves now has arrived: NICs pass one after the other, in their order.

    What waits for a dropped link holds up no other at the receiver.
    """
    begin = max(sender.sends_until, world.now)
    end = sent(world, sender, size_bytes)
    took = max(0, end - begin)
    last_byte = transit(world, way) + end - world.now
    if way.dropped_until > world.now:
        return last_byte
    return received(receiver, last_byte - took, last_byte, size_bytes)


@compiled
def service(broker: Broker, time_us: int) -> int:
    """Service time on ``broker`` with its CPU factor."""
    if broker.cpu_factor == MILLION:
        return time_us
    return time_us * broker.cpu_factor // MILLION


@compiled
def names(world: World, fault: Fault, partition: Partition) -> bool:
    """Whether a fault names a partition, or all."""
    return fault.all_partitions or fault.touched[number_of(partition, world.partitions)] == 1


@compiled
def _touches(world: World, fault: Fault, partition: Partition) -> bool:
    """Whether a fault concerns a partition now."""
    return fault.start <= world.now < fault.end and names(world, fault, partition)


@compiled
def _faults(broker: Broker) -> int:
    """How many faults of disk and log of ``broker`` to look through: none if none goes on."""
    return broker.disk_fault_count if broker.faults_on > 0 else 0


@compiled
def read_end(
    world: World, broker: Broker, partition: Partition, kind: int, stage: int, has_data: bool
) -> int:
    """When a read of ``partition`` on ``broker`` that begins now ends.

    ``kind`` is a bit of `Reads`; a fetch handler's visit that finds no data takes no
    time unless a fault stalls visits. ``stage`` 0 is the handler, 1 the send.
    """
    now = world.now
    cost = broker.send_us
    if stage == 0:
        cost = broker.read_us if has_data else 0
    stalled_until = now
    for k in range(_faults(broker)):
        fault = world.faults[broker.disk_faults[k]]
        if fault.at_send != stage:
            continue
        if fault.kind == FaultKind.READ_STALL and _touches(world, fault, partition):
            reads = fault.reads
            if stage == 1:
                meets = has_data
            elif has_data:
                meets = (reads & kind) != 0 or (kind == Reads.DIRECT and (reads & Reads.VISIT) != 0)
            else:
                meets = kind == Reads.DIRECT and (reads & Reads.VISIT) != 0
            if meets:
                stalled_until = max(stalled_until, fault.end)
    return max(now + service(broker, cost), stalled_until)


@compiled
def append_us(world: World, broker: Broker, partition: Partition, whose: Appends) -> int:
    """How long an append to ``partition`` on ``broker`` takes that begins now.

    A healthy disk takes a leader's in the time of its produce request.
    """
    cost = broker.append_us if whose == Appends.OF_FOLLOWERS else 0
    for k in range(_faults(broker)):
        fault = world.faults[broker.disk_faults[k]]
        if (
            fault.kind == FaultKind.SLOW_APPEND
            and fault.appends & whose != 0
            and _touches(world, fault, partition)
        ):
            cost = max(cost, fault.value)
    return service(broker, cost)
