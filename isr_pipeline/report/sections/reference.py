"""What each configuration gains and costs against the reference, in the experiment's order."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from isr_pipeline.experiment.advice import ASKED
from isr_pipeline.experiment.file import healthy_scenario
from isr_pipeline.experiment.own_values import own_values
from isr_pipeline.report import charts, differences, words
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, command, table
from isr_pipeline.scenarios.model import apply
from isr_pipeline.verdicts.quantities import (
    FLAPS,
    LATENCY,
    OFFLINE,
    ONE_REPLICA,
    PRODUCE,
    amount,
    label,
    plain,
    unit,
    unit_of_a_year,
)
from isr_pipeline.verdicts.record import LOST, AgainstReference, Difference, Word, Year
from isr_pipeline.verdicts.reference import AT_END, kinds_of, years_of_kinds
from isr_pipeline.worlds.columns import MAIN, METRICS

if TYPE_CHECKING:
    from isr_pipeline.experiment.grid import Configuration

TITLE = "Against the reference"
ORDER = 30

COLUMNS = (ONE_REPLICA, LOST, *MAIN)
KINDS_COLUMNS = (LOST, PRODUCE, OFFLINE, FLAPS)
CHARTS = (PRODUCE, OFFLINE, FLAPS, LATENCY)

COLOURS = {Word.BETTER: "improved", Word.WORSE: "regressed", Word.UNDECIDED: "undecided"}
"""Word -> the verdict whose colour it has."""

SHOWN = 6
"""Configurations that the top of the page tells in a sentence."""


def short(data: NightData) -> str:
    """What the top of the page says: what was asked first, in the experiment's order."""
    against = data.verdict.against_reference
    asked = [one for one in against if data.configuration(one.config_id).group == ASKED]
    told = (asked or against)[:SHOWN]
    items = "".join(
        f"<li><strong>{breakable(one.name)}</strong>: {_sentence(one)}</li>" for one in told
    )
    more = len(against) - len(told)
    rest = f'<p><a href="#reference">and {more} more</a></p>' if more else ""
    return f"<ul>{items}</ul>{rest}" if told else ""


def _sentence(one: AgainstReference) -> str:
    """The sentence, in red as far as it says that acks=all promises less."""
    if not one.weaker or one.problem:
        return breakable(differences.sentence(one))
    weaker = f'<strong class="weaker">{breakable(differences.promise(one))}</strong>'
    return "; ".join([weaker, *map(breakable, differences.effects(one))])


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    against, reference = data.verdict.against_reference, escape(data.plan.reference)
    if not against:
        return f"<p class=lead>Nothing can be compared with {reference} tonight.</p>"
    lead = (
        f"<p class=lead>Every configuration met the same {_scenarios(data)} scenarios "
        f"as <strong>{reference}</strong>, and is compared with it as tonight is with the "
        "baseline. What was asked and stayed undecided met further ones, as a cell says. Rows keep "
        "the experiment's order: none is ranked. A cell has the value, its "
        f"ratio to {reference} with its interval, each end one-sided at 5 %, and what the tests "
        f"say.{_of_a_year(data)}</p>"
    )
    said, how = differences.longer(data.plan, against)
    forests = "".join(
        page.figure(charts.forest(data, name), f"<strong>{label(name)}</strong>") for name in CHARTS
    )
    return (
        f"{lead}{_table(data)}{_kinds(data)}{_kept(data)}"
        + (f"<p>{said}.</p>" if said else "")
        + (command(how) if how else "")
        + f'<div class="pair">{forests}</div>'
    )


def _of_a_year(data: NightData) -> str:
    """How a number of a year comes about; nothing where no incidents are counted."""
    for one in _years(data).values():
        return (
            f" A number of a year is what {plain(one.incidents)} incidents cost, as many as this "
            "cluster has in one, counted or estimated (below). Its interval is of the scenarios. "
            "<em>Incidents that need a person</em> has what scenarios leave broken, reckoned from "
            "their ends until a person has repaired it; no other number has it."
        )
    return ""


def _years(data: NightData) -> dict[str, Year]:
    """The reference's year, metric by metric; none where no incidents are counted."""
    return {
        each.metric: each.year_before
        for one in data.verdict.against_reference
        for each in one.differences
        if each.year_before is not None
    }


def _table(data: NightData) -> str:
    years = _years(data)
    units = {name: unit_of_a_year(name) if name in years else unit(name) for name in COLUMNS}
    head = [("configuration", "")]
    head += [(f"{label(name)}<br><small>{units[name]}</small>", "n") for name in COLUMNS]
    repair = next((one.repair_before for one in data.against.values()), None)
    column = data.panel.column(data.reference.config_id)
    values = [
        _value(name, float(data.panel.means(name)[column]), years.get(name)) + _repair(name, repair)
        for name in COLUMNS
    ]
    cells = "".join(f'<td class="n">{value}</td>' for value in values)
    rows = [f'<tr><th scope="row">{breakable(data.plan.reference)}</th>{cells}</tr>']
    found = data.against
    for heading, members in data.headings.items():
        those = [(one, found[one.config_id]) for one in members if one.config_id in found]
        if those:
            rows.append(
                f'<tr><th scope="rowgroup" colspan="{len(head)}">{breakable(heading)}</th></tr>'
            )
        rows += [_row(data, one, against) for one, against in those]
    return table(f"Each configuration against {data.plan.reference}", head, rows)


def _row(data: NightData, configuration: Configuration, one: AgainstReference) -> str:
    name = breakable(words.short_name(configuration))
    settings = breakable(words.settings(configuration, data.reference))
    weaker = ""
    if one.weaker:
        weaker = f'<br><strong class="weaker">weaker {breakable(", ".join(one.weaker))}</strong>'
    kept = f"<br><small>as compared in night {one.night}</small>" if one.night else ""
    cells = f'<td colspan="{len(COLUMNS)}">{escape(differences.sentence(one))}</td>'
    if not one.problem:
        cells = "".join(_cell(one, metric, _scenarios(data)) for metric in COLUMNS)
    return f'<tr><th scope="row">{name}<br><small>{settings}</small>{weaker}{kept}</th>{cells}</tr>'


def _scenarios(data: NightData) -> int:
    """Of the regression panel."""
    return len(data.panel.scenario_ids)


def _cell(one: AgainstReference, metric: str, scenarios: int) -> str:
    """A metric of a row; one that was not compared on so many scenarios says on how many."""
    found = one.difference(metric)
    if found is None:
        return '<td class="n"><small>min ISR is another</small></td>'
    value = _value(metric, found.after, found.year_after)
    if one.weaker and metric in (ONE_REPLICA, LOST):
        value = f'<strong class="weaker">{value}</strong>'
    value += _repair(metric, one.repair_after)
    if not found.differing:
        return f'<td class="n">{value}<small class=limit>the same everywhere</small></td>'
    said = f'<span class="{COLOURS.get(found.word, "")}">{found.word}</span>{_more(found)}'
    if found.scenarios != scenarios:
        said += f"; on {found.scenarios} further scenarios"
    return (
        f'<td class="n">{value}<small class=limit>{escape(differences.size(found))}</small>'
        f"<small class=limit>{said}</small></td>"
    )


def _value(metric: str, rate: float, year: Year | None) -> str:
    """A year with its interval and what an incident costs, or the rate where there is none."""
    if year is None:
        return amount(metric, rate)
    if not year.value:
        return "0"
    return (
        f"{plain(year.value)}<small class=limit>({plain(year.low)} to {plain(year.high)})</small>"
        f"<small class=limit>{plain(year.per_incident)} an incident</small>"
    )


def _repair(metric: str, year: Year | None) -> str:
    """Beside what was simulated of produce: what is left broken until a person has repaired it."""
    if metric != PRODUCE or year is None or not year.value:
        return ""
    ends = f"({plain(year.low)} to {plain(year.high)})"
    return f"<small class=limit>incidents that need a person: {plain(year.value)} {ends}</small>"


def _kinds(data: NightData) -> str:
    """What an incident of each kind costs under the reference, and how many a year has."""
    if not _years(data):
        return ""
    definition, today = data.plan.definition, data.reference.config_id
    panel = data.panel.select((today,))
    found = years_of_kinds(panel, (*KINDS_COLUMNS, AT_END), definition.profile)
    drawn = Counter(kinds_of(panel, definition.profile))
    head = [("incident", ""), ("a year", "n"), ("from", ""), ("scenarios", "n")]
    head += [
        (f"{label(name)}<br><small>{METRICS[name].unit.year} an incident</small>", "n")
        for name in KINDS_COLUMNS
    ]
    head.append(("left broken<br><small>partitions an incident</small>", "n"))
    head.append(("until repaired<br><small>minutes, estimate</small>", "n"))
    rows = []
    for kind, of in found.items():
        counted = kind in definition.cluster.incidents
        names = (*KINDS_COLUMNS, AT_END)
        cells = "".join(_per_incident(of.get((name, today))) for name in names)
        cells += f'<td class="n">{plain(definition.profile.incidents[kind].repair_minutes)}</td>'
        rows.append(
            f'<tr><th scope="row">{breakable(kind.replace("_", " "))}</th>'
            f'<td class="n">{plain(definition.profile.incidents[kind].per_year)}</td>'
            f"<td>{'counted' if counted else 'estimate'}</td>"
            f'<td class="n">{drawn[kind]}</td>{cells}</tr>'
        )
    caption = f"What an incident costs under {data.plan.reference}"
    return f"<h3>Incidents of a year</h3>{table(caption, head, rows)}"


def _per_incident(year: Year | None) -> str:
    """A cell; a dash where no scenario of the panel is of that kind."""
    if year is None:
        return '<td class="n">–</td>'
    if not year.value:
        return '<td class="n">0</td>'
    ends = f"{plain(year.low / year.incidents)} to {plain(year.high / year.incidents)}"
    return f'<td class="n">{plain(year.per_incident)}<small class=limit>({ends})</small></td>'


def _more(one: Difference) -> str:
    """How many more scenarios would decide it."""
    more = (one.decided_by or 0) - one.scenarios
    return f", about {more} more scenarios would decide it" if more > 0 else ""


def _kept(data: NightData) -> str:
    """Who has a value of its own for what was asked about, and keeps it."""
    asked = [one for one in data.plan.configurations if one.group == ASKED]
    changed = [words.differing(one, data.reference) for one in asked if one != data.reference]
    healthy = healthy_scenario(data.plan.definition, data.plan.definition.where)
    cluster = apply(healthy, data.reference.overrides)
    return "".join(f"<p>{breakable(said)}.</p>" for said in own_values(cluster, changed))
