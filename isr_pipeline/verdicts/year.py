"""What the incidents of a year cost a cluster: from a panel's totals, in one place.

A year is the incidents that the fault profile counts. What one of them costs is the weighted mean
of a metric's total over the scenarios that stand for incidents. Stretches in which nothing happens
are no incidents, and a longer horizon adds nothing to what has healed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.outcomes.summary import RESAMPLES, Sample, resampled
from isr_pipeline.verdicts.difference import Year
from isr_pipeline.verdicts.halves import ONE_SIDED
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.scenarios.profile import FaultProfile
    from isr_pipeline.verdicts.panel import Bools, PanelOutcomes

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
    panel: PanelOutcomes,
    metrics: Sequence[str],
    profile: FaultProfile,
    patterns: Mapping[str, str],
) -> dict[str, dict[tuple[str, str], Year]]:
    """Kind of incident -> the same of its incidents alone; nothing of one that was not drawn.

    Args:
        panel: see :func:`years`.
        metrics: likewise.
        profile: likewise.
        patterns: scenario_id -> pattern that drew it.
    """
    kinds = profile.kinds
    of = [
        kinds.get((stratum, patterns[scenario_id]))
        for stratum, scenario_id in zip(panel.strata, panel.scenario_ids, strict=True)
    ]
    return {
        kind: _years(panel, metrics, np.array([one == kind for one in of]), incident.per_year)
        for kind, incident in profile.incidents.items()
    }


def _years(
    panel: PanelOutcomes, metrics: Sequence[str], here: Bools, incidents: float
) -> dict[tuple[str, str], Year]:
    """Years of some scenarios, which stand for so many incidents."""
    summed = [name for name in metrics if METRICS[name].unit.year]
    if not here.any() or not summed:
        return {}
    weights = np.where(here, panel.weights, 0.0)
    samples = [
        Sample(weights * total / METRICS[name].unit.year_in, weights)
        for name in summed
        for total in panel.natural(name).T
    ]
    draws = resampled(np.array(panel.strata), SEED, RESAMPLES, samples)
    ends = np.nanquantile(draws, (ONE_SIDED, 1.0 - ONE_SIDED), axis=1)
    names = [(name, config_id) for name in summed for config_id in panel.config_ids]
    return {
        name: Year(
            incidents=incidents,
            value=incidents * one.value(),
            low=incidents * float(low),
            high=incidents * float(high),
        )
        for name, one, low, high in zip(names, samples, *ends, strict=True)
    }
