"""How far apart the racks of a cluster are."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from isr_pipeline.base.files.checks import LIST, Bad, Check
from isr_pipeline.base.files.models import Strict
from isr_pipeline.scenarios.faults import RACK, Ms


def _two_racks(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise Bad("")
    return tuple(RACK.read(one) for one in value)


class RackRoundTrip(Strict):
    """How long a packet takes between two racks, there and back."""

    between: Annotated[tuple[str, ...], Check("two racks", _two_racks, LIST)] = Field(
        description="Two racks, or the same one twice: within it."
    )
    rtt_ms: Ms = Field(description="Round trip between them, there and back.")
