"""The disk under a log dir, and the page cache over it.

An append goes to the page cache and costs nothing, until more bytes are dirty than the operating
system allows (Linux's `vm.dirty_ratio`): from then on who writes waits until the disk has taken as
many. Which bytes a writer waits for is a place in all that was ever written (`Disk.entered`).

Data that are no longer in the cache are read from the disk, one read after the other. Reads go
first; write-back gets a quarter of the disk while they go on (an estimate), all of it else.

The cache forgets what entered it first. Its clock counts the bytes that have entered, by appends
and by such reads; what was appended more than its size ago is cold.
"""

from __future__ import annotations

from isr_pipeline.simulation.log import data_end, newest_within
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.tables import (
    INF,
    LOG_DIRS_MAX,
    Broker,
    Disk,
    Partition,
    Replica,
    World,
)

MILLION = 1_000_000
QUARTERS = 4
READAHEAD_BYTES = 128 * 1024  # Linux reads so much at once


@compiled
def disk_of(broker: Broker, log_dir: int) -> Disk:
    """The disk under a log dir of ``broker``."""
    return broker.disks[log_dir]


@compiled
def is_limited(disk: Disk) -> bool:
    """Whether the speed is known at which the disk writes."""
    return disk.write_bytes_per_s > 0


@compiled
def write_rate(disk: Disk) -> int:
    """What it writes a second at present: 0 while it stands still."""
    return disk.write_bytes_per_s * disk.write_factor // MILLION


@compiled
def drain(world: World, disk: Disk) -> None:
    """Write back what can have been written since the last look.

    What was written of a byte is kept, so that many looks lose nothing.
    """
    since = disk.drained_at
    disk.drained_at = world.now
    rate = write_rate(disk)
    if rate == 0:
        return
    reading = max(0, min(disk.read_until, world.now) - since)
    quarters = QUARTERS * (world.now - since) - (QUARTERS - 1) * reading
    # not quarters * rate: a long time overflows
    if quarters >= -(-disk.dirty * QUARTERS * MILLION // rate):
        disk.dirty = 0
        disk.written_rest = 0
        return
    written = quarters * rate + disk.written_rest
    disk.dirty -= written // (QUARTERS * MILLION)
    disk.written_rest = written % (QUARTERS * MILLION)


@compiled
def begin_write(world: World, disk: Disk, size_bytes: int) -> int:
    """Bytes go to the page cache; the place up to which the disk must have written by then."""
    drain(world, disk)
    target = max(0, disk.entered - disk.dirty_bytes_max)
    disk.entered += size_bytes
    disk.dirty += size_bytes
    return target


@compiled
def takes_at_once(world: World, disk: Disk, size_bytes: int) -> bool:
    """Whether an append need not wait for the disk; its bytes are in the page cache then."""
    if not is_limited(disk):
        return True
    drain(world, disk)
    if disk.dirty > disk.dirty_bytes_max:
        return False
    begin_write(world, disk, size_bytes)
    return True


@compiled
def written_at(world: World, disk: Disk, target: int) -> int:
    """When the disk will have written up to a place, if its speed stays; now if it has."""
    drain(world, disk)
    missing = target - (disk.entered - disk.dirty)
    if missing <= 0:
        return world.now
    rate = write_rate(disk)
    if rate == 0:
        return INF
    quarters = -(-(missing * QUARTERS * MILLION - disk.written_rest) // rate)
    reading = max(0, disk.read_until - world.now)
    if quarters <= reading:
        return world.now + quarters
    return world.now + reading - (-(quarters - reading) // QUARTERS)


@compiled
def begin_read(world: World, broker: Broker, log_dir: int, size_bytes: int) -> int:
    """A read of cold data joins the others; when it ends. It is in the page cache then.

    The head moves once where the disk was free, else between every two pieces of readahead. A read
    that begins while the disk stands still is done after that.
    """
    enter_cache(broker, size_bytes)
    if world.now >= world.warmup:
        world.cold_bytes += size_bytes
    disk = disk_of(broker, log_dir)
    if disk.read_bytes_per_s == 0:
        return world.now
    drain(world, disk)
    rate = disk.read_bytes_per_s * disk.read_factor // MILLION
    begin = max(world.now, disk.read_until)
    seeks = 1 if begin == world.now else -(-size_bytes // READAHEAD_BYTES)
    if rate == 0:
        rate = disk.read_bytes_per_s
        begin = max(begin, disk.stands_until)
    took = size_bytes * MILLION // rate + seeks * disk.seek_us
    if disk.dirty > 0:
        took = took * QUARTERS // (QUARTERS - 1)
    disk.read_until = begin + took
    return disk.read_until


# ------------------------------------------------------------------ the page cache


@compiled
def enter_cache(broker: Broker, size_bytes: int) -> None:
    """Bytes enter the page cache of ``broker``, and the oldest leave it."""
    if broker.cache_bytes > 0:
        broker.clock += size_bytes


@compiled
def lose_cache(broker: Broker) -> None:
    """The machine of ``broker`` lost power: nothing is in its page cache, nothing is dirty."""
    broker.clock += broker.cache_bytes
    disk = broker.disks
    for _ in range(LOG_DIRS_MAX):
        disk.dirty = 0
        disk.written_rest = 0
        disk = disk[1]


@compiled
def stamp(leader: Replica) -> int:
    """The clock of the page cache by which the batches of ``leader`` are stamped now."""
    return leader.broker.clock + leader.partition.clock_shift


@compiled
def stamp_by(partition: Partition, leader: Replica) -> None:
    """``leader`` leads from now on: stamps go on where those of the leader before it ended."""
    before = partition.replicas[partition.clock_of]
    partition.clock_shift += before.broker.clock - leader.broker.clock
    partition.clock_of = leader.position


@compiled
def cold_bytes(leader: Replica, offset: int, end: int) -> int:
    """How much of a read between two offsets is in the page cache of ``leader`` no longer.

    A second reader right behind the first finds what that one has brought back.
    """
    broker = leader.broker
    partition = leader.partition
    oldest = stamp(leader) - broker.cache_bytes
    cold_end = newest_within(partition, offset, oldest)
    if cold_end <= offset:
        return 0
    cold_end = min(cold_end, end)
    is_back = leader.warmed_from <= offset and cold_end <= leader.warmed_to
    if is_back and broker.clock - leader.warmed_at < broker.cache_bytes:
        return 0
    _, size = data_end(partition, offset, cold_end, INF)
    if not leader.warmed_from <= offset <= leader.warmed_to:
        leader.warmed_from = offset
    leader.warmed_to = cold_end
    leader.warmed_at = broker.clock + size
    return size
