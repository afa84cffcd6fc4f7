"""What the incidents of a year cost a cluster: from a panel's totals, in one place.

A year is the incidents that the fault profile counts. What one of them costs is the weighted mean
of a metric's total over the scenarios that stand for incidents. Stretches in which nothing happens
are no incidents, and a longer horizon adds nothing to what has healed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.outcomes.summary import RESAMPLES, Sample, resampled
from isr_pipeline.verdicts.difference import Year
from isr_pipeline.verdicts.halves import ONE_SIDED
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.scenarios.profile import FaultProfile
    from isr_pipeline.verdicts.panel import Bools, Floats, PanelOutcomes

HIT = "partitions_unavailable"
AT_END = "partitions_unavailable_at_end"

SEED = "a year"
"""The same scenarios are drawn anew for every configuration and metric."""


def years(
    panel: PanelOutcomes, metrics: Sequence[str], profile: FaultProfile
) -> dict[tuple[str, str], Year]:
    """(metric, config_id) -> the year of all incidents.

    Args:
        panel: without a failed or missing pair.
        metrics: those of which a sum means nothing are left out.
        profile: counted in the cluster.

    Returns:
        nothing if the profile counts no incidents.
    """
    strata = {stratum for stratum, _ in profile.kinds}
    here = np.array([one in strata for one in panel.strata])
    return _years(panel, metrics, here, math.fsum(profile.per_year.values()))


def years_of_kinds(
    panel: PanelOutcomes, metrics: Sequence[str], profile: FaultProfile
) -> dict[str, dict[tuple[str, str], Year]]:
    """Kind of incident -> the same of its incidents alone; nothing of one that was not drawn.

    Args:
        panel: see :func:`years`; its rows say their patterns.
        metrics: likewise.
        profile: likewise.
    """
    of = kinds_of(panel, profile)
    return {
        kind: _years(panel, metrics, np.array([one == kind for one in of]), incident.per_year)
        for kind, incident in profile.incidents.items()
    }


def until_repaired(panel: PanelOutcomes, profile: FaultProfile) -> dict[str, Year]:
    """config_id -> partition-minutes a year without produce after the scenarios' ends.

    They are reckoned: what takes no produce when a scenario ends stays so until somebody has
    repaired it, as long as the profile says of the kind of incident.

    Args:
        panel: see :func:`years`; its rows say their patterns.
        profile: likewise.
    """
    of = kinds_of(panel, profile)
    here = np.array([one is not None for one in of])
    if not here.any():
        return {}
    minutes = np.array([profile.incidents[one].repair_minutes if one else 0.0 for one in of])
    left = panel.natural(AT_END) * minutes[:, None]
    found = _summed(panel, list(left.T), here, math.fsum(profile.per_year.values()))
    return dict(zip(panel.config_ids, found, strict=True))


def kinds_of(panel: PanelOutcomes, profile: FaultProfile) -> list[str | None]:
    """The kind of incident that each scenario stands for; None of one that is no incident.

    Args:
        panel: see :func:`years`.
        profile: likewise.
    """
    if not panel.patterns:
        return [None] * len(panel.strata)
    kinds = profile.kinds
    return [kinds.get(place) for place in zip(panel.strata, panel.patterns, strict=True)]


def _years(
    panel: PanelOutcomes, metrics: Sequence[str], here: Bools, incidents: float
) -> dict[tuple[str, str], Year]:
    """Years of some scenarios, which stand for so many incidents."""
    summed = [name for name in metrics if METRICS[name].unit.year]
    if not here.any() or not summed:
        return {}
    totals = [
        total / METRICS[name].unit.year_in for name in summed for total in panel.natural(name).T
    ]
    names = [(name, config_id) for name in summed for config_id in panel.config_ids]
    return dict(zip(names, _summed(panel, totals, here, incidents), strict=True))


def _summed(
    panel: PanelOutcomes, totals: Sequence[Floats], here: Bools, incidents: float
) -> list[Year]:
    """A year of each total.

    Args:
        panel: with weights and strata.
        totals: (n,) each, in the unit of a year.
        here: (n,) scenarios that stand for incidents.
        incidents: a year.
    """
    weights = np.where(here, panel.weights, 0.0)
    samples = [Sample(weights * total, weights) for total in totals]
    draws = resampled(np.array(panel.strata), SEED, RESAMPLES, samples)
    ends = np.nanquantile(draws, (ONE_SIDED, 1.0 - ONE_SIDED), axis=1)
    return [
        Year(
            incidents=incidents,
            value=incidents * one.value(),
            low=incidents * float(low),
            high=incidents * float(high),
        )
        for one, low, high in zip(samples, *ends, strict=True)
    ]
