"""The disk under a log dir: bytes that are written back at its own speed.

An append goes to the page cache and costs nothing, until more bytes are dirty than the operating
system allows (Linux's `vm.dirty_ratio`): from then on who writes waits until the disk has taken as
many. Which bytes a writer waits for is a place in all that was ever written (`Disk.entered`).
"""

from __future__ import annotations

from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.tables import INF, Broker, Disk, World

MILLION = 1_000_000


@compiled
def disk_of(broker: Broker, log_dir: int) -> Disk:
    """The disk under a log dir of ``broker``."""
    return broker.disks[log_dir]


@compiled
def is_limited(disk: Disk) -> bool:
    """Whether the disk has a speed that is known."""
    return disk.write_bytes_per_s > 0


@compiled
def _rate(disk: Disk) -> int:
    """What it writes a second at present: 0 while it stands still."""
    return disk.write_bytes_per_s * disk.write_factor // MILLION


@compiled
def drain(world: World, disk: Disk) -> None:
    """Write back what can have been written since the last look.

    The moment of the look moves by whole bytes only, so that many looks lose nothing.
    """
    rate = _rate(disk)
    elapsed = world.now - disk.drained_at
    if rate == 0:
        disk.drained_at = world.now
        return
    if elapsed >= -(-disk.dirty * MILLION // rate):  # not elapsed * rate: a long time overflows
        disk.dirty = 0
        disk.drained_at = world.now
        return
    written = elapsed * rate // MILLION
    disk.dirty -= written
    disk.drained_at += written * MILLION // rate


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
    rate = _rate(disk)
    if rate == 0:
        return INF
    return disk.drained_at - (-missing * MILLION // rate)
