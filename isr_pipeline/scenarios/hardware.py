"""How fast a broker's machine is: what load meets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from isr_pipeline.base.files.checks import whole
from isr_pipeline.base.files.models import Strict
from isr_pipeline.scenarios.faults import or_null

DIRTY_SHARE = 5
"""Linux lets a fifth of the memory be dirty (vm.dirty_ratio)."""

_RATE = or_null(whole(1, 10**12, "a whole number of bytes a second 1..1000000000000, or null"))
_BYTES = or_null(whole(1, 10**13, "a whole number of bytes 1..10000000000000, or null"))


class Hardware(Strict):
    """A machine; null is no limit."""

    disk_write_bytes_per_s: Annotated[int | None, _RATE] = Field(
        default=None, description="What the disk under each log dir writes."
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
        return self.model_copy(update=own.model_dump(exclude_none=True))

    @property
    def dirty_bytes_max(self) -> int:
        """Bytes that may be dirty; 0 where nobody says."""
        if self.dirty_bytes is not None:
            return self.dirty_bytes
        return (self.cache_bytes or 0) // DIRTY_SHARE
