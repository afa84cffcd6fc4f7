"""What each configuration gains and costs against the reference, in the experiment's order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.experiment.file import healthy_scenario
from isr_pipeline.experiment.keys import own_values, unread_overrides
from isr_pipeline.experiment.not_modelled import limits
from isr_pipeline.report import differences, words
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.report.picture import best_first, picture
from isr_pipeline.scenarios.machine_load import disks_asked
from isr_pipeline.scenarios.model import apply
from isr_pipeline.verdicts.quantities import (
    FLAPS,
    OFFLINE,
    ONE_REPLICA,
    PRODUCE,
    label,
    plain,
)
from isr_pipeline.verdicts.record import LOST, AgainstReference, Per, Year
from isr_pipeline.verdicts.sentences import unit_per
from isr_pipeline.verdicts.years import AT_END, HIT, kinds_of, undrawn, years_of_kinds
from isr_pipeline.worlds.columns import MAIN, METRICS

if TYPE_CHECKING:
    from isr_pipeline.experiment.configurations import Configuration

COLUMNS = (ONE_REPLICA, LOST, *MAIN)
KINDS_COLUMNS = (LOST, PRODUCE, OFFLINE, FLAPS)
SHOWN = 6
"""Configurations that the top of the page tells in a sentence."""


@dataclass(frozen=True, slots=True)
class Row:
    """A configuration in the table: its name, its settings, how it compares."""

    name: str
    settings: str
    against: AgainstReference


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of incident.

    Attributes:
        per_year: how many a year has; ``source``: whether they were counted.
        scenarios: how many of the panel are of it.
        hit: partitions that one keeps from taking acks=all produce, and how long each.
        years: what one costs, in the order of the columns; None where no scenario is of it.
        repair_minutes: until a person has repaired what it leaves broken.
    """

    name: str
    per_year: float
    source: str
    scenarios: int
    hit: str
    years: list[Year | None]
    repair_minutes: float


def shown(data: NightData) -> tuple[list[AgainstReference], int]:
    """What the top of the page has: what was asked, or all, the best first.

    Returns:
        Comparisons told there, and how many more there are.
    """
    against = data.verdict.against_reference
    asked = [one for one in against if one.config_id in data.plan.asked]
    told = best_first(asked or against)[:SHOWN]
    return told, len(against) - len(told)


def values(_: Page, data: NightData) -> dict[str, Any]:
    """The table with a row a configuration, the incidents of a year, what stayed undecided."""
    against, years = data.verdict.against_reference, _years(data)
    hidden = shown(data)[1]
    undecided, command = differences.longer(data.plan, against) if against else ("", "")
    return {
        "reference": data.plan.reference,
        "scenarios": len(data.panel.scenario_ids),
        "incidents": next((one.incidents for one in years.values()), None),
        "head": [("configuration", ""), *(_head(data, one) for one in COLUMNS)],
        "columns": COLUMNS,
        "groups": _groups(data),
        "kinds": _kinds(data) if years else [],
        "kinds_head": _kinds_head(),
        "undrawn": _undrawn(data) if years else "",
        "kept": _kept(data) if against else [],
        "undecided": undecided,
        "command": command,
        "picture": picture(against, data.called) if data.flagged or hidden else None,
        "produce": PRODUCE,
        "guarding": differences.PROMISED,
        "called": data.called,
    }


def _head(data: NightData, metric: str) -> tuple[str, ...]:
    """A column's name, and the unit of its figures where they say something."""
    compared = (one.difference(metric) for one in data.verdict.against_reference)
    per = next((one.pair.per for one in compared if one is not None), Per.MIX)
    return (label(metric), "n", *([] if per is Per.MIX else [unit_per(metric, per)]))


def _years(data: NightData) -> dict[str, Year]:
    """The reference's year, metric by metric; none where no incidents are counted."""
    return {
        each.metric: each.year_before
        for one in data.verdict.against_reference
        for each in one.differences
        if each.year_before is not None
    }


def _groups(data: NightData) -> list[tuple[str, list[Row]]]:
    """Rows below their headings, both in the order of the experiment's file."""
    groups = [
        (heading, [_row(data, one) for one in members if one.config_id in data.against])
        for heading, members in data.headings.items()
    ]
    return [(heading, rows) for heading, rows in groups if rows]


def _row(data: NightData, one: Configuration) -> Row:
    settings = words.settings(one, data.reference)
    return Row(words.short_name(one), settings, data.against[one.config_id])


def _kinds_head() -> list[tuple[str, ...]]:
    return [
        ("incident", ""),
        ("a year", "n"),
        ("from", ""),
        ("scenarios", "n"),
        ("refuse producers", "", "partitions, seconds each"),
        *((label(one), "n", METRICS[one].unit.year) for one in KINDS_COLUMNS),
        (label(AT_END), "n", "partitions"),
        ("until repaired", "n", "minutes, estimate"),
    ]


def _kinds(data: NightData) -> list[Kind]:
    """What an incident of each kind costs under the reference, and how many a year has."""
    definition, today = data.plan.definition, data.reference.config_id
    panel = data.panel.select((today,))
    columns = (*KINDS_COLUMNS, HIT, AT_END)
    found = years_of_kinds(panel, columns, definition.profile)
    drawn = Counter(kinds_of(panel, definition.profile))
    incidents = definition.profile.incidents
    return [
        Kind(
            name=kind.replace("_", " "),
            per_year=incidents[kind].per_year,
            source="counted" if kind in definition.cluster.incidents else "estimate",
            scenarios=drawn[kind],
            hit=hit(of.get((HIT, today)), of.get((PRODUCE, today))),
            years=[of.get((name, today)) for name in (*KINDS_COLUMNS, AT_END)],
            repair_minutes=incidents[kind].repair_minutes,
        )
        for kind, of in found.items()
    ]


def _undrawn(data: NightData) -> str:
    """Incidents of which the panel has no scenario, with how many a year has of each."""
    profile = data.plan.definition.profile
    return "; ".join(
        f"{profile.kinds[place]} ({data.called(place[0])}, {place[1]}), {plain(count)} a year"
        for place, count in undrawn(data.panel, profile).items()
    ).replace("_", " ")


def hit(partitions: Year | None, minutes: Year | None) -> str:
    """How many partitions an incident keeps from taking produce, and how long each."""
    if partitions is None or minutes is None:
        return "–"
    if not partitions.value:
        return "none"
    seconds = 60 * minutes.per_incident / partitions.per_incident
    return f"{plain(partitions.per_incident)} partitions for {plain(seconds)} s"


def _kept(data: NightData) -> list[str]:
    """What was asked about and nothing reads, and who has a value of its own and keeps it."""
    ids = data.plan.asked
    asked = [one for one in data.plan.configurations if one.config_id in ids]
    changed = [words.differing(one, data.reference) for one in asked if one != data.reference]
    healthy = healthy_scenario(data.plan.definition)
    cluster = apply(healthy, data.reference.overrides)
    set_by = {one.name: one.overrides for one in asked}
    return [
        *unread_overrides(healthy, set_by),
        *own_values(cluster, changed),
        *disks_asked(healthy, data.plan.definition.cluster.hourly_load),
        *limits(data.plan.definition),
    ]
