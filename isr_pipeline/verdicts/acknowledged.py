"""Records lost as a share of those acknowledged, where nobody gave a cluster's rates.

Counts of records grow with the rate. One that an import assumed says nothing of a cluster; the
share of what the reference acknowledges does. Both figures are divided by the same number, so
their ratio stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.quantities import ONE_REPLICA
from isr_pipeline.verdicts.record import LOST, Difference, Figures, Per, StratumDifference, Year
from isr_pipeline.verdicts.years import years

if TYPE_CHECKING:
    from isr_pipeline.scenarios.profile import FaultProfile

RECORDS = (LOST, ONE_REPLICA)
ACKNOWLEDGED = "records_acked"

Told = TypeVar("Told", Difference, StratumDifference)


def as_shares(
    differences: Iterable[Difference], reference: PanelOutcomes, profile: FaultProfile
) -> tuple[Difference, ...]:
    """The same differences, with a year's records as per cent of those acknowledged in it.

    Args:
        differences: of one configuration.
        reference: outcomes of the reference alone, on the scenarios of the differences.
        profile: counted in the cluster.
    """
    found = years(reference, (ACKNOWLEDGED,), profile)
    year = found.get((ACKNOWLEDGED, reference.config_ids[0]))
    if year is None or not year.value:
        return tuple(differences)
    factor = 100.0 / year.value
    return tuple(_difference(one, factor) if one.metric in RECORDS else one for one in differences)


def _difference(one: Difference, factor: float) -> Difference:
    update = {
        "strata": tuple(_shared(each, factor) for each in one.strata),
        "year_before": _year(one.year_before, factor),
        "year_after": _year(one.year_after, factor),
    }
    return _shared(one, factor).model_copy(update=update)


def _shared(one: Told, factor: float) -> Told:
    return one.model_copy(update={"pair": _figures(one.pair, factor)})


def _figures(pair: Figures, factor: float) -> Figures:
    if pair.per is not Per.YEAR:
        return pair
    scaled = {"per": Per.ACKNOWLEDGED, "before": pair.before * factor, "after": pair.after * factor}
    return pair.model_copy(update=scaled)


def _year(year: Year | None, factor: float) -> Year | None:
    if year is None:
        return None
    ends = {name: getattr(year, name) * factor for name in ("value", "low", "high")}
    return year.model_copy(update=ends)
