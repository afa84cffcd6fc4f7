"""Panels: which stratum each scenario of a panel comes from, and what it weighs.

The *regression* and *confirm* panels are fixed by the experiment, the *fresh* one by the night.
A panel of n scenarios is divided among the strata by their sample shares (largest remainder, at
least one each) and a scenario of stratum h weighs ``(population share of h) / (n_h / n)``, so that
a weighted mean over the panel estimates the population's mean, and the weights sum to n.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from isr_pipeline.scenarios.former_names import first_stratum
from isr_pipeline.scenarios.profile import Stratum

PANELS = ("regression", "confirm", "fresh")


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """One row of the scenarios table.

    Attributes:
        panel: ``regression``, ``confirm`` or ``fresh``.
        scenario_id: unique within a night.
        index: place in its panel, from 0.
        stratum: of the fault profile.
        weight: population share over sample share; the panel's sum to its size.
        fault_kinds: sorted, separated by commas; empty if nothing happens.
        expected_cost: kernel work in rough proportion, to cut tasks of alike length.
        scenario_json: the scenario, canonical.
    """

    panel: str
    scenario_id: str
    index: int
    stratum: str
    weight: float
    fault_kinds: str
    expected_cost: float
    scenario_json: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scenario stands in its panel.

    Attributes:
        stratum: its name.
        rank: how many scenarios of the stratum stand before it.
        count: how many the stratum has in the panel.
        weight: of each of them.
    """

    stratum: str
    rank: int
    count: int
    weight: float


def allocation(strata: Mapping[str, Stratum], size: int) -> dict[str, int]:
    """Divide a panel among the strata: largest remainder, at least one each.

    Args:
        strata: name -> stratum.
        size: scenarios in the panel; at least as many as strata.
    """
    assert size >= len(strata), "a panel has room for every stratum"
    total = math.fsum(stratum.sample for stratum in strata.values())
    quotas = {name: size * stratum.sample / total for name, stratum in strata.items()}
    counts = {name: max(1, math.floor(quota)) for name, quota in quotas.items()}
    # The sort is stable: of equal remainders the earlier stratum of the file has precedence.
    by_remainder = sorted(quotas, key=lambda name: counts[name] - quotas[name])
    while sum(counts.values()) < size:
        for name in by_remainder[: size - sum(counts.values())]:
            counts[name] += 1
    while sum(counts.values()) > size:
        many = [name for name in counts if counts[name] > 1]
        counts[max(many, key=lambda name: counts[name] - quotas[name])] -= 1
    return counts


def places(strata: Mapping[str, Stratum], size: int) -> list[Place]:
    """Give every scenario of a panel its place: the strata interleaved evenly.

    Whoever takes a stretch of the panel (a task, a reader of the first rows) meets the strata
    in about the panel's own proportions.
    """
    counts = allocation(strata, size)
    order = [
        ((rank + 0.5) / count, position, Place(name, rank, count, _weight(strata, name, counts)))
        for position, (name, count) in enumerate(counts.items())
        for rank in range(count)
    ]
    return [place for _, _, place in sorted(order, key=lambda item: item[:2])]


def _weight(strata: Mapping[str, Stratum], name: str, counts: Mapping[str, int]) -> float:
    """Population share over sample share."""
    population = math.fsum(stratum.population for stratum in strata.values())
    share = strata[name].population / population
    return share * sum(counts.values()) / counts[name]


def panel_digest(rows: Iterable[ScenarioRow]) -> str:
    """SHA-256 over identity, weight and content of a panel's scenarios, in order."""
    digest = hashlib.sha256()
    for row in rows:
        stratum = first_stratum(row.stratum)
        line = f"{row.scenario_id}\t{stratum}\t{row.weight!r}\t{row.scenario_json}\n"
        digest.update(line.encode())
    return digest.hexdigest()
