"""Producers: what a topic's streams send."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from isr_pipeline.base.files.checks import Check, list_of, map_of, one_of, whole
from isr_pipeline.base.files.models import Strict
from isr_pipeline.scenarios.faults import MS, PARTITION, RATE, RETRY, Count, Ms, Rate, or_null

_RATES = map_of(PARTITION, RATE, "a mapping of partition to records_per_s", empty=True)

_RETRIES = or_null(one_of(0), "0, or null (until the delivery timeout)")


def _rates(value: Any) -> tuple[tuple[int, float], ...]:
    """Read rates by partition; from a line of JSON they come as pairs."""
    if isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in value
    ):
        value = {str(partition): rate for partition, rate in value}
    return tuple(_RATES.read(value).items())


class ProduceStream(Strict):
    """One connection per partition that sends at a fixed rate."""

    records_per_s: Rate = Field(default=200, description="Records a second of each partition.")
    records_per_batch: Count = Field(default=10, description="Records of one produce request.")
    record_bytes: Count = Field(default=500, description="Size of a record.")
    acks: Annotated[Literal[1, "all"], one_of(1, "all")] = Field(
        default=1,
        description="What the producer waits for; with all, a request is out until the high "
        "watermark passes it.",
    )
    partitions: Annotated[tuple[int, ...] | None, list_of(PARTITION)] = Field(
        default=None, description="Numbers of the topic's partitions; absent: all of them."
    )
    partition_rates: Annotated[
        tuple[tuple[int, float], ...], Check("a mapping of partition to records_per_s", _rates)
    ] = Field(default=(), description="Records a second of partitions that have another rate.")
    request_bytes: Annotated[int, whole(1, 2**30)] = Field(
        default=2**20,
        description="Largest produce request, which takes whole batches that have gathered; "
        "one batch in any case.",
    )
    start_ms: Ms = Field(default=0, description="The first batch is sent no earlier.")
    duration_ms: Annotated[float | None, MS] = Field(
        default=None, description="How long it sends; absent: until the horizon."
    )
    retries: Annotated[Literal[0] | None, _RETRIES] = Field(
        default=None,
        description="How often a request that is refused or times out is sent again; null: until "
        "the delivery timeout.",
    )
    delivery_timeout_ms: Annotated[float, RETRY] = Field(
        default=120_000,
        description="Records that are not acknowledged so long after they came are given up.",
    )

    def rates(self) -> dict[int, float]:
        """Give the rates of partitions that have one of their own."""
        return dict(self.partition_rates)

    def at(self, records_per_s: float) -> ProduceStream:
        """Give the stream of a partition with this rate."""
        if records_per_s == self.records_per_s:
            return self
        return self.model_copy(update={"records_per_s": records_per_s})
