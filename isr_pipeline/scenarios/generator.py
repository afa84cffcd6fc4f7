"""Drawing scenarios: a pure function of (source, panel, index).

Every scenario has a generator of its own (numpy's Philox, keyed by the experiment's seed, the panel
and the index), so that any worker can draw any scenario and none depends on how many are drawn: a
longer panel begins with the shorter one. Within a stratum the patterns come as evenly as their
frequencies allow, wherever the panel ends: rank r takes the pattern at frac(start + r * golden
ratio) of their shares, from one random start per panel. What a scenario weighs follows from how
many of its stratum and pattern the panel has (:func:`isr_pipeline.scenarios.panels.weights`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isr_pipeline.scenarios.cost import expected_cost
from isr_pipeline.scenarios.faults import ControlledRestart, Death, LogDirFailure
from isr_pipeline.scenarios.incidents import Place
from isr_pipeline.scenarios.model import (
    HOURS,
    RECORDS_MAX,
    Scenario,
    canonical_json,
    parse_scenario,
)
from isr_pipeline.scenarios.panels import PANELS, ScenarioRow, allocation, kinds_of, places, weights
from isr_pipeline.scenarios.patterns import PATTERNS, Draw
from isr_pipeline.scenarios.profile import FaultProfile, Stratum

_STARTS = 2**32
"""Index space of the random starts of the strata's patterns, apart from all scenarios."""

_HOURS = 2**33
"""The same of the hours of the day, so that a daily curve moves no other draw."""

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
"""Its multiples, modulo 1, are the evenest sequence of that kind (Kronecker's) at any length."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawSource:
    """What scenarios are drawn from: everything of an experiment but its configurations.

    Attributes:
        where: file to name in error lines.
        seed: of the panels.
        frame: what all scenarios share (cluster, topics, load), as in a scenario file.
        profile: which faults, how often.
        sizes: panel -> number of scenarios, which decides what each weighs.
        hourly_load: factors of all produce rates by the hour; empty: none.
    """

    where: str
    seed: int
    frame: Mapping[str, Any]
    profile: FaultProfile
    sizes: Mapping[str, int]
    hourly_load: tuple[float, ...] = ()


def draw_panel(source: DrawSource, panel: str) -> Iterator[ScenarioRow]:
    """Draw a whole panel in order.

    Args:
        source: with the panel's size.
        panel: ``regression`` or ``confirm``.
    """
    for index in range(source.sizes[panel]):
        yield draw_scenario(source, panel, index)


def draw_scenario(source: DrawSource, panel: str, index: int) -> ScenarioRow:
    """Draw one scenario of a panel.

    Args:
        source: with the panel's size, which decides the weight and nothing else.
        panel: ``regression`` or ``confirm``.
        index: from 0 to the panel's size, exclusive.
    """
    frame = _Frame.of(source, panel)
    place = frame.places[index]
    words = _key(source, panel)
    entropy = np.random.SeedSequence([*words, index])
    random = np.random.Generator(np.random.Philox(entropy))
    stratum = source.profile.strata[place.stratum]
    name = _pattern(stratum, place.rank, _start(words, place.stratum, source))
    draw = Draw(frame.healthy, frame.parameters[place.stratum], random)
    faults = sorted(PATTERNS[name].draw(draw), key=lambda fault: fault["start_ms"])
    scenario_id = f"{panel}-{index:05d}"
    written = {
        **frame.written,
        "scenario_id": scenario_id,
        "seed": int(entropy.generate_state(1, np.uint64)[0] >> np.uint64(1)),
        "faults": faults,
    }
    if draw.away:
        written["topics"] = list(_without(draw.away, frame))
    if source.hourly_load:
        written["load_factor"] = source.hourly_load[_hour(words, index)]
    scenario = parse_scenario(written, f"{source.where} ({scenario_id}, {name})")
    return ScenarioRow(
        panel=panel,
        scenario_id=scenario_id,
        index=index,
        stratum=place.stratum,
        pattern=name,
        weight=frame.weights[place.stratum, name],
        fault_kinds=kinds_of(
            (fault.kind for fault in scenario.faults),
            ((topic.assignment, topic.behind) for topic in scenario.topics),
        ),
        expected_cost=expected_cost(scenario),
        ends_ms=_ends_ms(draw, scenario),
        scenario_json=canonical_json(scenario),
    )


def _without(away: Mapping[int, float], frame: _Frame) -> Iterator[dict[str, Any]]:
    """The topics as they stand when brokers return: others lead, and they lack what has come."""
    for topic, written in zip(frame.healthy.topics, frame.written["topics"], strict=True):
        behind: dict[int, dict[int, int]] = {}
        leaders = dict(topic.leaders)
        for partition, replicas in topic.assignment.items():
            here = [broker for broker in replicas if broker not in away]
            if not here or len(here) == len(replicas):
                continue
            rate = sum(s.rates().get(partition, s.records_per_s) for s in topic.produce)
            if leaders.get(partition, replicas[0]) in away:
                leaders[partition] = here[0]
            behind[partition] = {
                broker: min(RECORDS_MAX, int(rate * away[broker] / 1000))
                for broker in replicas
                if broker in away
            }
        yield {**written, **({"behind": behind, "leaders": leaders} if behind else {})}


def _ends_ms(draw: Draw, scenario: Scenario) -> float | None:
    """When the last fault would end, also past the horizon; None if one needs somebody."""
    ends = [draw.ends_ms]
    for fault in scenario.faults:
        match fault:
            case LogDirFailure() | Death(restart_after_ms=None):
                return None
            case Death():
                ends.append(fault.start_ms + (fault.restart_after_ms or 0.0))
            case ControlledRestart():
                ends.append(fault.start_ms + fault.downtime_ms)
            case _:
                ends.append(fault.start_ms)
    return max(ends)


class _Frame:
    """What all scenarios of a panel share; made once per experiment and panel."""

    def __init__(self, source: DrawSource, panel: str) -> None:
        self.written = source.frame
        self.healthy = parse_scenario(source.frame, source.where)
        self.places = places(source.profile.strata, source.sizes[panel])
        profile = source.profile
        self.parameters = {name: profile.parameters_in(name) for name in profile.strata}
        counts = allocation(profile.strata, source.sizes[panel])
        self.weights = weights(profile.shares, drawn_of(source, panel, counts))

    @staticmethod
    def of(source: DrawSource, panel: str) -> _Frame:
        """Give the frame, kept for the source that was drawn from last."""
        if _kept.get("source") is not source:
            _kept.clear()
            _kept["source"] = source
        if panel not in _kept:
            _kept[panel] = _Frame(source, panel)
        frame: _Frame = _kept[panel]
        return frame


_kept: dict[str, Any] = {}


def _key(source: DrawSource, panel: str) -> list[int]:
    """Words that every generator of a panel is keyed by: with another last one all would move."""
    return [source.seed, PANELS.index(panel), 0]


def _hour(words: list[int], index: int) -> int:
    """Draw the hour of the day in which a scenario happens: each as likely as another."""
    entropy = np.random.SeedSequence([*words, _HOURS + index])
    return int(np.random.Generator(np.random.Philox(entropy)).integers(HOURS))


def _start(words: list[int], stratum: str, source: DrawSource) -> float:
    """Draw where the patterns of a stratum begin, in [0, 1)."""
    place = list(source.profile.strata).index(stratum)
    entropy = np.random.SeedSequence([*words, _STARTS + place])
    return float(np.random.Generator(np.random.Philox(entropy)).random())


def pattern_position(rank: int, start: float) -> float:
    """Where among the shares of its stratum's patterns a scenario stands, in [0, 1)."""
    return math.fmod(start + rank * _GOLDEN, 1.0)


def drawn_of(source: DrawSource, panel: str, counts: Mapping[str, int]) -> Counter[Place]:
    """How many scenarios each stratum and pattern has among the first ones of each stratum.

    Args:
        source: what is drawn from.
        panel: whose sequence.
        counts: stratum -> scenarios.
    """
    words, strata = _key(source, panel), source.profile.strata
    starts = {name: _start(words, name, source) for name in counts}
    return Counter(
        (name, _pattern(strata[name], rank, starts[name]))
        for name, count in counts.items()
        for rank in range(count)
    )


def _pattern(stratum: Stratum, rank: int, start: float) -> str:
    """Choose the pattern of a place."""
    position = pattern_position(rank, start) * sum(stratum.patterns.values())
    for name, share in stratum.patterns.items():
        position -= share
        if position < 0:
            return name
    return next(reversed(stratum.patterns))
