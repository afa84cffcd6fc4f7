"""What a year of the cluster costs: the sum over its incidents of what one of each costs.

The fault profile counts how often a year the incidents of a stratum and a pattern come. What one
costs is the mean of a metric's total over the scenarios of that stratum and pattern. Scenarios
weigh so (:mod:`isr_pipeline.scenarios.panels`), and a year is their weighted sum: the years of two
configurations have the ratio of their weighted totals, and those of the kinds of incidents add up
to it. Incidents of which no scenario was drawn are in no year. Stretches in which nothing happens
are no incidents, and a longer horizon adds nothing to what has healed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.tables.summary import RESAMPLES, Sample, resampled
from isr_pipeline.verdicts.comparison import ONE_SIDED, PanelOutcomes
from isr_pipeline.verdicts.record import Year
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    import numpy.typing as npt

    from isr_pipeline.scenarios.incidents import Place
    from isr_pipeline.scenarios.profile import FaultProfile
    from isr_pipeline.verdicts.statistics import Floats

MS_PER_MINUTE = 60_000

HIT = "partitions_unavailable"
AT_END = "partitions_unavailable_at_end"

SEED = "a year"
"""The same scenarios are drawn anew for every configuration and metric."""


def years(
    panel: PanelOutcomes, metrics: Sequence[str], profile: FaultProfile
) -> dict[tuple[str, str], Year]:
    """(metric, config_id) -> the year of all incidents.

    Args:
        panel: without a failed or missing pair; its rows say their patterns.
        metrics: those of which a sum means nothing are left out.
        profile: counted in the cluster.

    Returns:
        nothing if the profile counts no incidents.
    """
    return _years(panel, metrics, profile, tuple(profile.incidents))


def years_of_kinds(
    panel: PanelOutcomes, metrics: Sequence[str], profile: FaultProfile
) -> dict[str, dict[tuple[str, str], Year]]:
    """Kind of incident -> the same of its incidents alone; nothing of one that was not drawn.

    Args:
        panel: see :func:`years`.
        metrics: likewise.
        profile: likewise.
    """
    return {kind: _years(panel, metrics, profile, (kind,)) for kind in profile.incidents}


def until_healed(panel: PanelOutcomes, profile: FaultProfile) -> dict[str, Year]:
    """config_id -> partition-minutes a year without produce after the end of scenarios that heal.

    They are reckoned: what takes no produce when a scenario ends stays so until its last fault
    would end, and no longer than somebody would need to repair it.

    Args:
        panel: see :func:`years`; its rows say when their faults would end.
        profile: likewise.
    """
    return _after_the_end(panel, profile, by_itself=True)


def until_repaired(panel: PanelOutcomes, profile: FaultProfile) -> dict[str, Year]:
    """config_id -> the same of scenarios in which a fault needs somebody.

    What takes no produce when they end stays so as long as the profile says of the kind of
    incident.

    Args:
        panel: see :func:`until_healed`.
        profile: likewise.
    """
    return _after_the_end(panel, profile, by_itself=False)


def _after_the_end(
    panel: PanelOutcomes, profile: FaultProfile, *, by_itself: bool
) -> dict[str, Year]:
    if panel.ends_ms is None:
        return {}
    repair = np.array(
        [
            profile.incidents[kind].repair_minutes if kind else 0.0
            for kind in kinds_of(panel, profile)
        ]
    )
    after = (panel.ends_ms - np.nanmax(panel.values["simulated_ms"], axis=1)) / MS_PER_MINUTE
    heals = ~np.isnan(after)
    minutes = np.clip(np.nan_to_num(after), 0.0, repair) if by_itself else repair
    left = panel.natural(AT_END) * np.where(heals == by_itself, minutes, 0.0)[:, None]
    found = _summed(panel, list(left.T), profile, tuple(profile.incidents))
    return dict(zip(panel.config_ids, found, strict=True)) if found else {}


def kinds_of(panel: PanelOutcomes, profile: FaultProfile) -> list[str | None]:
    """The kind of incident that each scenario stands for; None of one that is no incident.

    Args:
        panel: see :func:`years`.
        profile: likewise.
    """
    if not panel.patterns:
        return [None] * len(panel.strata)
    kinds = profile.kinds
    return [kinds.get(place) for place in panel.places]


def incidents_of(panel: PanelOutcomes, profile: FaultProfile) -> Floats | None:
    """(n,) how many incidents a year each scenario stands for, 0 of one that is no incident.

    Args:
        panel: see :func:`years`.
        profile: likewise.

    Returns:
        None where no scenario stands for any.
    """
    counts = np.array([one is not None for one in kinds_of(panel, profile)], dtype=float)
    if not counts.any():
        return None
    drawn = set(panel.places)
    every = math.fsum(count for place, count in profile.per_year.items() if place in drawn)
    return np.asarray(panel.weights * counts * (every / math.fsum(panel.weights * counts)))


def undrawn(panel: PanelOutcomes, profile: FaultProfile) -> dict[Place, float]:
    """Incidents a year that no scenario of the panel stands for, by stratum and pattern.

    Args:
        panel: see :func:`years`.
        profile: likewise.
    """
    drawn = set(panel.places)
    return {place: count for place, count in profile.per_year.items() if place not in drawn}


def _years(
    panel: PanelOutcomes, metrics: Sequence[str], profile: FaultProfile, kinds: Sequence[str]
) -> dict[tuple[str, str], Year]:
    """Years of the incidents of some kinds."""
    summed = [name for name in metrics if METRICS[name].unit.year]
    totals = [
        total / METRICS[name].unit.year_in for name in summed for total in panel.natural(name).T
    ]
    names = [(name, config_id) for name in summed for config_id in panel.config_ids]
    found = _summed(panel, totals, profile, kinds)
    return dict(zip(names, found, strict=True)) if found else {}


def _summed(
    panel: PanelOutcomes, totals: Sequence[Floats], profile: FaultProfile, kinds: Sequence[str]
) -> list[Year]:
    """A year of each total; none where no scenario is of these kinds.

    Args:
        panel: with weights, strata and patterns.
        totals: (n,) each, in the unit of a year.
        profile: says which scenarios stand for how many incidents.
        kinds: of incidents.
    """
    here = np.array([one in kinds for one in kinds_of(panel, profile)])
    incidents = incidents_of(panel, profile)
    if not totals or incidents is None or not here.any():
        return []
    each, one = len(here) * np.where(here, incidents, 0.0), np.ones(len(here))
    samples = [Sample(each * total, one) for total in totals]
    draws = resampled(_drawn_anew(panel), SEED, RESAMPLES, samples)
    ends = np.nanquantile(draws, (ONE_SIDED, 1.0 - ONE_SIDED), axis=1)
    drawn = set(panel.places)
    counted = math.fsum(
        count
        for place, count in profile.per_year.items()
        if place in drawn and profile.kinds[place] in kinds
    )
    return [
        Year(incidents=counted, value=sample.value(), low=float(low), high=float(high))
        for sample, low, high in zip(samples, *ends, strict=True)
    ]


def _drawn_anew(panel: PanelOutcomes) -> npt.NDArray[np.str_]:
    """What each scenario is drawn anew among: those of its stratum and pattern.

    One that is alone there does not show how far its like differ. It is drawn anew among others of
    its stratum that are alone.
    """
    times = Counter(panel.places)
    return np.array(
        [
            f"{stratum}.{pattern}" if times[stratum, pattern] > 1 else stratum
            for stratum, pattern in panel.places
        ]
    )
