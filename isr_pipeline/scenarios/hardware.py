"""How fast a broker's machine is: what load meets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import MAPPING, Bad, Check, map_of, whole
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.scenarios.faults import BROKER, Amiss, or_null

DIRTY_SHARE = 5
"""Linux lets a fifth of the memory be dirty (vm.dirty_ratio)."""

_RATE = or_null(whole(1, 10**12, "a whole number of bytes a second 1..1000000000000, or null"))
_BYTES = or_null(whole(1, 10**13, "a whole number of bytes 1..10000000000000, or null"))

_SEEK = or_null(whole(0, 10**7, "a whole number of microseconds 0..10000000, or null"))


class Hardware(Strict):
    """A machine; null is no limit."""

    disk_write_bytes_per_s: Annotated[int | None, _RATE] = Field(
        default=None, description="What the disk under each log dir writes."
    )
    disk_read_bytes_per_s: Annotated[int | None, _RATE] = Field(
        default=None, description="What it reads, of data that the page cache has no longer."
    )
    disk_seek_us: Annotated[int | None, _SEEK] = Field(
        default=None, description="What it takes to go to another place; none if null."
    )
    cache_bytes: Annotated[int | None, _BYTES] = Field(
        default=None, description="Memory for the page cache."
    )
    dirty_bytes: Annotated[int | None, _BYTES] = Field(
        default=None,
        description="Bytes not yet written above which appends wait; a fifth of `cache_bytes` "
        "if null (Linux's `vm.dirty_ratio`).",
    )

    nic_bytes_per_s: Annotated[int | None, _RATE] = Field(
        default=None, description="What the NIC carries, in each direction."
    )

    def with_own(self, own: Hardware) -> Hardware:
        """The same, but for what another one says."""
        return self.model_copy(update=own.known)

    @property
    def known(self) -> dict[str, int]:
        """What is said of it."""
        return self.model_dump(exclude_none=True)

    @property
    def dirty_bytes_max(self) -> int:
        """Bytes that may be dirty; 0 where nobody says."""
        if self.dirty_bytes is not None:
            return self.dirty_bytes
        return (self.cache_bytes or 0) // DIRTY_SHARE


def _machine(value: Any) -> Hardware:
    try:
        return validated(Hardware, value, "")
    except InputError as error:
        at = (error.field,) if error.field else ()
        raise Bad(error.allowed, at, str(error.given)) from None


BY_BROKER = map_of(
    BROKER, Check("a mapping", _machine, MAPPING), "a mapping of broker to its machine", empty=True
)


def amiss(of_all: Hardware, own: Mapping[int, Hardware]) -> Iterator[tuple[int | None, Amiss]]:
    """Find what contradicts itself, or would do nothing.

    Args:
        of_all: every broker's machine.
        own: what each broker's own machine has else, by its id or its place.

    Yields:
        Whose it is, None for what is said of all, and what is wrong.
    """
    has_rate = [one.disk_write_bytes_per_s is not None for one in (of_all, *own.values())]
    yield from ((None, one) for one in _amiss(of_all, of_all, has_rate=any(has_rate)))
    for broker, said in own.items():
        whole_one = of_all.with_own(said)
        has_rate_here = whole_one.disk_write_bytes_per_s is not None
        yield from ((broker, one) for one in _amiss(said, whole_one, has_rate=has_rate_here))


def _amiss(said: Hardware, machine: Hardware, *, has_rate: bool) -> Iterator[Amiss]:
    """Find it in what is said in one place, of a machine that may have more from another."""
    dirty, cache = machine.dirty_bytes, machine.cache_bytes
    if said.dirty_bytes is not None and not has_rate:
        yield Amiss("dirty_bytes", said.dirty_bytes, "null, or disk_write_bytes_per_s beside it")
    if dirty is None or cache is None or dirty <= cache:
        return
    if said.dirty_bytes is not None:
        yield Amiss("dirty_bytes", dirty, f"at most cache_bytes ({cache})")
    elif said.cache_bytes is not None:
        yield Amiss("cache_bytes", cache, f"at least dirty_bytes ({dirty})")
