"""Every configuration and its verdict below its heading, and what backs its rules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from isr_pipeline.report import differences, words
from isr_pipeline.report.backing import backing, where_it_ends
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.comparison import partitions_in
from isr_pipeline.verdicts.quantities import is_latency, label
from isr_pipeline.verdicts.record import (
    LOST,
    WORST_FIRST,
    ConfigVerdict,
    MetricVerdict,
    Per,
    Status,
)
from isr_pipeline.verdicts.sentences import unit_per
from isr_pipeline.worlds.columns import MAIN

COLUMNS = (*MAIN, LOST)
GROUPS_OPEN = 8
"""As many groups are open at first if every verdict in them is one that needs nothing."""

QUIET = frozenset({Status.UNCHANGED, Status.OK, Status.BASELINE})

Cell = tuple[str, float | None, MetricVerdict | None]
"""A metric, the configuration's own figure on the standing panel, and what was judged."""


@dataclass(frozen=True, slots=True)
class Row:
    """A configuration.

    Attributes:
        why: what it is there for; ``promise``: how acks=all promises less under it.
        quiet: whether its verdict needs no reason.
    """

    verdict: ConfigVerdict
    name: str
    why: str
    promise: str
    cells: list[Cell]
    quiet: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Configurations below one heading.

    Attributes:
        counts: how many have each verdict.
        opened: whether the page shows its rows at first.
    """

    name: str
    counts: list[tuple[Status, int]]
    rows: list[Row]
    opened: bool


def values(_: Page, data: NightData) -> dict[str, Any]:
    """Groups with the worst verdict first; further scenarios; how the rules are backed."""
    verdict = data.verdict
    scenario = json.loads(data.scenarios["scenario_json"].iloc[0])
    return {
        "scenarios": len(data.panel.scenario_ids),
        "limit": words.share_at_most(data.panel.weights),
        "head": [
            ("configuration", ""),
            ("verdict", ""),
            *(_head(data, one) for one in COLUMNS),
        ],
        "groups": _groups(data),
        "stages": verdict.stages,
        "stopped": verdict.stopped,
        "scenarios_used": verdict.scenarios_used,
        "backed": _backed(data),
        "ends": where_it_ends(len(scenario["cluster"]["brokers"]), partitions_in(scenario)),
        "left_out": data.plan.definition.simulated,
    }


def _head(data: NightData, metric: str) -> tuple[str, ...]:
    """A column's name, and the unit of its figures if somebody has one."""
    per = Per.TYPICAL if is_latency(metric) else Per.YEAR
    told = any(metric in one.own for one in data.verdict.configurations)
    return (label(metric), "n", *([unit_per(metric, per)] if told else []))


def _groups(data: NightData) -> list[Group]:
    groups = [
        (name, sorted(members, key=lambda one: WORST_FIRST.index(one.status)))
        for name, members in (
            (name, [data.verdict.configuration(one.config_id) for one in listed])
            for name, listed in data.headings.items()
        )
    ]
    groups.sort(key=lambda group: WORST_FIRST.index(group[1][0].status))
    return [
        Group(
            name=name,
            counts=_counts(members),
            rows=[_row(data, one) for one in members],
            opened=index < GROUPS_OPEN or members[0].status not in QUIET,
        )
        for index, (name, members) in enumerate(groups)
    ]


def _counts(members: list[ConfigVerdict]) -> list[tuple[Status, int]]:
    counts = [(status, sum(one.status is status for one in members)) for status in WORST_FIRST]
    return [(status, count) for status, count in counts if count]


def _row(data: NightData, one: ConfigVerdict) -> Row:
    configuration = data.configuration(one.config_id)
    against = data.against.get(one.config_id)
    weaker = against is not None and against.weaker
    judged = {metric.metric: metric for metric in one.metrics}
    return Row(
        verdict=one,
        name=words.short_name(configuration),
        why=configuration.why,
        promise=differences.promise(against, data.called) if against is not None and weaker else "",
        cells=[(name, one.own.get(name), judged.get(name)) for name in COLUMNS],
        quiet=one.status in QUIET,
    )


def _backed(data: NightData) -> list[tuple[str, list[str]]]:
    """How each rule set is backed, configurations of the same backing together."""
    groups: dict[str, list[str]] = {}
    for one in data.plan.configurations:
        groups.setdefault(backing(one, data.reference), []).append(one.name)
    return list(groups.items())
