"""Panels: which stratum each scenario of a panel comes from, and what it weighs.

The experiment fixes the *regression* and the *confirm* panel, so that every night has the same. A
panel is the beginning of an endless sequence: the stratum of place i depends on the profile and i
alone, so that a longer panel begins with the shorter one. Every stratum comes once, then each as
often as its sample share says (Sainte-Laguë's order). What a scenario weighs depends on where the
sequence is cut: with n_p of n scenarios from a stratum and a pattern it is ``(population share of
both) / (n_p / n)``, so that a weighted mean over the panel estimates the population's mean. What
was not drawn is left out of the population, and nothing else stands for it: the weights of what was
drawn sum to n.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from isr_pipeline.kafka.releases import former_names
from isr_pipeline.scenarios.profile import Stratum

PANELS = ("regression", "confirm")

WEIGHT_DIGITS = 12

Part = TypeVar("Part", bound=Hashable)

Standing = tuple[Mapping[Any, Iterable[int]], Mapping[Any, Mapping[Any, int]]]
"""Of a topic: partition -> its brokers, and partition -> broker -> records that it is behind."""
RETURNED = "returned_broker"
"""Stands among fault kinds for a broker that is back as the scenario begins."""


def kinds_of(kinds: Iterable[str], topics: Iterable[Standing]) -> str:
    """What happens in a scenario: sorted, each once, separated by commas; empty if nothing does.

    Args:
        kinds: of its faults.
        topics: of each, which brokers hold each partition, and which of them are behind.
    """
    hosted: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    for assignment, behind in topics:
        for partition, replicas in assignment.items():
            hosted.update(map(str, replicas))
            late = behind.get(partition, {})
            outside.update(str(broker) for broker, records in late.items() if records > 0)
    back = any(hosted[broker] == count for broker, count in outside.items())
    return ",".join(sorted({*kinds, *([RETURNED] if back else [])}))


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """One row of the scenarios table.

    Attributes:
        panel: ``regression`` or ``confirm``.
        scenario_id: unique within a night.
        index: place in its panel, from 0.
        stratum: of the fault profile.
        pattern: that drew its faults.
        weight: population share over sample share; the panel's sum to its size.
        fault_kinds: as :func:`kinds_of` gives it.
        expected_cost: kernel work in rough proportion, to cut tasks of alike length.
        ends_ms: when the last fault would end, as drawn: a window that the horizon cuts, a restart
            after it. None where a fault needs somebody: a dead log dir, a crash without return.
        scenario_json: the scenario, canonical.
    """

    panel: str
    scenario_id: str
    index: int
    stratum: str
    pattern: str
    weight: float
    fault_kinds: str
    expected_cost: float
    ends_ms: float | None
    scenario_json: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scenario stands in its panel.

    Attributes:
        stratum: its name.
        rank: how many scenarios of the stratum stand before it.
        count: how many the stratum has in the panel.
        weight: of each of them, if nobody asks for their patterns.
    """

    stratum: str
    rank: int
    count: int
    weight: float


def allocation(strata: Mapping[str, Stratum], size: int) -> dict[str, int]:
    """How many scenarios of each stratum the first ``size`` places have: at least one.

    Args:
        strata: name -> stratum.
        size: scenarios in the panel; at least as many as strata.
    """
    counts = dict.fromkeys(strata, 0)
    for name, _ in _sequence(strata, size):
        counts[name] += 1
    return counts


def places(strata: Mapping[str, Stratum], size: int) -> list[Place]:
    """The first ``size`` places of the sequence.

    Whoever takes a stretch of the panel (a task, a reader of the first rows) meets the strata
    in about the panel's own proportions.
    """
    drawn = _sequence(strata, size)
    counts = Counter(name for name, _ in drawn)
    found = stratum_weights(strata, counts)
    return [Place(name, rank, counts[name], found[name]) for name, rank in drawn]


def indices(
    strata: Mapping[str, Stratum], before: Mapping[str, int], more: Mapping[str, int]
) -> list[int]:
    """Places of the next scenarios of each stratum, in the order of the sequence.

    The sequence has the strata in the panel's proportions. Whoever wants others takes more of its
    places of some strata, further on, and passes those of others.

    Args:
        strata: name -> stratum.
        before: stratum -> scenarios of it that were taken, all its first ones.
        more: stratum -> further scenarios of it.
    """
    size = len(strata)
    for name, count in more.items():
        if count:
            # the last one stands at about (rank + 1/2) / share, give or take one of each stratum
            share = strata[name].sample / math.fsum(one.sample for one in strata.values())
            size = max(size, math.ceil((before[name] + count + 1) / share) + len(strata))
    return [
        index
        for index, (name, rank) in enumerate(_sequence(strata, size))
        if before[name] <= rank < before[name] + more.get(name, 0)
    ]


def _sequence(strata: Mapping[str, Stratum], size: int) -> list[tuple[str, int]]:
    """(stratum, rank) of the first places: a merge of the strata's own even progressions.

    A stratum of share s has its place of rank r at (r + 1/2) / s, which is Sainte-Laguë's order;
    its first place comes before all that, so that the smallest panel has every stratum.
    """
    assert size >= len(strata), "a panel has room for every stratum"
    position = {name: place for place, name in enumerate(strata)}
    coming = [(0.0, place, name, 0) for name, place in position.items()]
    drawn: list[tuple[str, int]] = []
    while len(drawn) < size:
        _, _, name, rank = heapq.heappop(coming)
        drawn.append((name, rank))
        heapq.heappush(coming, ((rank + 1.5) / strata[name].sample, position[name], name, rank + 1))
    return drawn


def stratum_weights(strata: Mapping[str, Stratum], counts: Mapping[str, int]) -> dict[str, float]:
    """What a scenario of each stratum weighs in a panel, if nobody asks for its pattern.

    Args:
        strata: name -> stratum.
        counts: stratum -> scenarios of it in the panel, all of them.
    """
    return weights({name: one.share for name, one in strata.items()}, counts)


def weights(shares: Mapping[Part, float], counts: Mapping[Part, int]) -> dict[Part, float]:
    """What a scenario of each part of the population weighs in a panel: its share over the panel's.

    Args:
        shares: part -> share of the population, up to a common factor.
        counts: part -> scenarios of it in the panel; a part without one weighs nothing.
    """
    drawn = {part: count for part, count in counts.items() if count}
    population = math.fsum(shares[part] for part in drawn)
    size = sum(drawn.values())
    return {
        part: _rounded(shares[part] / population * size / count) for part, count in drawn.items()
    }


def _rounded(weight: float) -> float:
    """Drop the last digits: they depend on the order of operations, and digests have weights."""
    return float(f"{weight:.{WEIGHT_DIGITS}g}")


def panel_digest(rows: Iterable[ScenarioRow]) -> str:
    """SHA-256 over identity, weight and content of a panel's scenarios, in order."""
    digest = hashlib.sha256()
    for row in rows:
        line = f"{row.scenario_id}\t{row.stratum}\t{row.weight!r}\t{row.scenario_json}\n"
        digest.update(former_names(line).encode())
    return digest.hexdigest()
