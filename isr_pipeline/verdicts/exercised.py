"""What a panel exercised: how near its runs came to the bounds that two configurations differ in.

A key with a bound decides nothing in a run that stays below it. Then two values of it give the same
outcomes, which says nothing about the key: no scenario came that far. The one table of such keys is
here; the kernel notes how far a run came (:data:`isr_pipeline.worlds.columns.REACHED`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.quantities import plain
from isr_pipeline.verdicts.record import AgainstReference, Reached

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Bound:
    """A key whose value only matters where a run reaches it.

    Attributes:
        measure: column of how far a run came.
        words: of the measure.
        unit: of both, in words; ``unit_in``: how much of the column makes one.
        is_floor: reached by what is less, not by what is more.
        happens: metric of what happens at the bound, however far the measure came.
        of_load: more of it comes with more records a second.
    """

    measure: str
    words: str
    unit: str
    unit_in: float = 1.0
    is_floor: bool = False
    happens: str = ""
    of_load: bool = False

    def is_reached(self, measure: float, value: float) -> bool:
        """Whether a run that came so far came to a value of the key."""
        return measure < value if self.is_floor else measure >= value


_SILENCE = Bound("longest_silence_ms", "longest silence of a broker", "s", 1000)
_ISR = Bound("least_isr", "smallest ISR", "replicas", is_floor=True)

BOUNDS: Mapping[str, Bound] = {
    "replica.fetch.max.bytes": Bound(
        "largest_read_bytes", "largest fetch", "MiB", MIB, of_load=True
    ),
    "replica.fetch.response.max.bytes": Bound(
        "largest_response_bytes", "largest fetch response", "MiB", MIB, of_load=True
    ),
    "replica.lag.time.max.ms": Bound(  # a commit waits for the member of the ISR that lags most
        "commit_latency_max_ms",
        "slowest commit",
        "s",
        1000,
        happens="isr_shrinks_per_partition_hour",
    ),
    "broker.session.timeout.ms": _SILENCE,
    "zookeeper.session.timeout.ms": _SILENCE,
    "queued.max.requests": Bound(
        "longest_queue", "longest request queue", "requests", of_load=True
    ),
    "request.timeout.ms": Bound("longest_produce_ms", "longest produce", "s", 1000),
    "min.insync.replicas": _ISR,
}
"""Key -> what a run has to reach. Keys beside these act without a bound."""


def reached(
    panel: PanelOutcomes, sides: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> tuple[Reached, ...]:
    """How far a panel came to each bound that its two configurations differ in.

    Args:
        panel: outcomes of both.
        sides: every key that rules read -> its value, of both.
    """
    found = []
    for key, bound in BOUNDS.items():
        values = {float(one[key]) for one in sides if key in one}
        measure = _farthest(panel, bound)
        if len(values) == len(sides) and measure is not None:
            nearest = max(values) if bound.is_floor else min(values)
            found.append(Reached(key=key, measure=measure, value=nearest))
    return tuple(found)


def _farthest(panel: PanelOutcomes, bound: Bound) -> float | None:
    """How far the run that came farthest did; None where it is reached, or some run is silent."""
    measures = panel.reached.get(bound.measure, panel.values.get(bound.measure))
    if measures is None or np.isnan(measures).any():
        return None
    if bound.happens and panel.values[bound.happens].any():
        return None
    return float(measures.min() if bound.is_floor else measures.max())


def farther(before: Iterable[Reached], panel: PanelOutcomes) -> tuple[Reached, ...]:
    """The same with the runs of a further panel."""
    found = []
    for one in before:
        measure = _farthest(panel, bound := BOUNDS[one.key])
        if measure is not None:
            far = min(one.measure, measure) if bound.is_floor else max(one.measure, measure)
            found.append(one.model_copy(update={"measure": far}))
    return tuple(found)


def not_exercised(one: AgainstReference) -> Iterator[str]:
    """``replica.fetch.max.bytes not exercised: largest fetch 0.02 MiB of 1 MiB``.

    Nothing where it is the one key that differs and scenarios do: then it acts below its bound.
    """
    alone = len(one.keys) == 1 and any(each.differing for each in one.differences)
    for each in () if alone else one.reached:
        bound = BOUNDS.get(each.key)
        if bound is None or bound.is_reached(each.measure, each.value):
            continue
        rates = at_rates(one) if bound.of_load else ""
        yield f"{each.key} not exercised: {bound.words} {_near(bound, each)}{rates}"


def at_rates(one: AgainstReference) -> str:
    """`` at 10 records/s a partition, which nobody gave``; empty where the rates are given."""
    rate = one.assumed_records_per_s
    return "" if rate is None else f" at {rate:g} records/s a partition, which nobody gave"


def _near(bound: Bound, one: Reached) -> str:
    measure, value = plain(one.measure / bound.unit_in), plain(one.value / bound.unit_in)
    if bound.is_floor:
        return f"{measure} {bound.unit}, {value} needed"
    return f"{measure} {bound.unit} of {value} {bound.unit}"
