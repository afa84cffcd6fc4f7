"""Every configuration and its verdict below its heading, and what backs its rules."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

from isr_pipeline.report import differences, words
from isr_pipeline.report.backing import backing, where_it_ends
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, badge, badges, fold, table
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.panel import partitions_in
from isr_pipeline.verdicts.record import LOST, WORST_FIRST, ConfigVerdict, MetricVerdict, Status
from isr_pipeline.verdicts.sentences import reason
from isr_pipeline.worlds.columns import MAIN

if TYPE_CHECKING:
    from isr_pipeline.experiment.grid import Configuration

TITLE = "Configurations"
ORDER = 40

COLUMNS = (*MAIN, LOST)
GROUPS_OPEN = 8
"""As many groups are open at first if every verdict in them is one that needs nothing."""

QUIET = frozenset({Status.UNCHANGED, Status.OK, Status.BASELINE})


def body(_: Page, data: NightData) -> str:
    """The section's HTML."""
    groups = [
        (name, sorted(members, key=lambda one: WORST_FIRST.index(one.status)))
        for name, members in (
            (name, [data.verdict.configuration(one.config_id) for one in listed])
            for name, listed in data.headings.items()
        )
    ]
    groups.sort(key=lambda group: WORST_FIRST.index(group[1][0].status))
    lead = (
        "<p class=lead>Below their headings, the worst verdict first. Values are of the regression "
        "panel. × is the ratio to the baseline that was judged. Where further scenarios decided, "
        "it is theirs, and n says how many they are. "
        f"{_zero_allows(data)}</p>"
    )
    drawn = "".join(
        _group(data, name, members, opened=index < GROUPS_OPEN or members[0].status not in QUIET)
        for index, (name, members) in enumerate(groups)
    )
    return lead + drawn + _stages(data) + _backing(data)


def _zero_allows(data: NightData) -> str:
    """What a zero of the whole panel proves, and what it does not."""
    none = f"A zero means that none of {len(data.panel.scenario_ids)} scenarios has any."
    limit = words.share_at_most(data.panel.weights)
    if limit >= 1.0:
        return f"{none} So few scenarios say nothing of others."
    return (
        f"{none} Further scenarios may still have some: at most "
        f"{quantities.plain(100 * limit)} % of all, with 95 % confidence. Each stratum counts "
        "by its share of the population."
    )


def _group(data: NightData, name: str, members: list[ConfigVerdict], *, opened: bool) -> str:
    counted = " ".join(
        f"{count} {badge(status)}"
        for status in WORST_FIRST
        if (count := sum(one.status is status for one in members))
    )
    head = [("configuration", ""), ("verdict", "")]
    head += [
        (f"{quantities.label(metric)}<br><small>{quantities.unit(metric)}</small>", "n")
        for metric in COLUMNS
    ]
    rows = [_row(data, one) for one in members]
    drawn = table(f"{name}: {len(members)} configurations", head, rows)
    return fold(f"<h3>{breakable(name)}</h3> {counted}", drawn, opened=opened)


def _row(data: NightData, one: ConfigVerdict) -> str:
    shown = {metric.metric: metric for metric in one.metrics}
    configuration = data.configuration(one.config_id)
    cells = "".join(
        f'<td class="n">{_value(data, configuration, name, shown.get(name))}</td>'
        for name in COLUMNS
    )
    why = ""
    if one.status not in QUIET:
        why = f'<tr><td class="why" colspan="{2 + len(COLUMNS)}">{escape(reason(one))}</td></tr>'
    name = breakable(words.short_name(configuration))
    return (
        f'<tr><th scope="row">{name}{_about(data, configuration)}</th>'
        f"<td>{badges(one)}</td>{cells}</tr>{why}"
    )


def _about(data: NightData, one: Configuration) -> str:
    """Below its name what it is there for, and in red if acks=all promises less under it."""
    why = f"<br><small>{breakable(one.why)}</small>" if one.why else ""
    against = data.against.get(one.config_id)
    if against is None or not against.weaker:
        return why
    return f'{why}<br><strong class="weaker">{breakable(differences.promise(against))}</strong>'


def _value(data: NightData, one: Configuration, name: str, metric: MetricVerdict | None) -> str:
    """Its value over the regression panel, as in every row, and the ratio that was judged."""
    if metric is None or metric.value is None:
        return "–"
    mean = float(data.panel.means(name)[data.panel.column(one.config_id)])
    value = quantities.amount(name, mean)
    if mean == 0:
        limit = words.share_at_most(data.panel.weights)
        at_most = f"at most {quantities.plain(100 * limit)} % of scenarios"
        value = f"0<small class=limit>{at_most}</small>" if limit < 1 else "0"
    if metric.ratio is None or metric.status is Status.UNCHANGED:
        return value
    behind = f", n {metric.scenarios}" if metric.scenarios else ""
    return f"{value} <small>{metric.ratio:.2f} ×{behind}</small>"


def _stages(data: NightData) -> str:
    """What was simulated beyond the regression panel, and what that decided."""
    verdict = data.verdict
    if not verdict.stages and not verdict.stopped:
        return ""
    rows = [
        f'<tr><th scope="row">{escape(one.panel)}</th><td class="n">{one.scenarios}</td>'
        f'<td class="n">{one.scenarios_together}</td><td class="n">{one.configurations}</td>'
        f'<td class="n">{one.decided}</td><td class="n">{one.asked}</td>'
        f'<td class="n">{one.answered}</td></tr>'
        for one in verdict.stages
    ]
    head = [
        ("panel", ""),
        ("scenarios", "n"),
        ("looked at together", "n"),
        ("open against the baseline", "n"),
        ("decided", "n"),
        ("asked", "n"),
        ("answered", "n"),
    ]
    caption = f"Simulated for what was not decided: {verdict.scenarios_used} scenarios in all"
    stopped = f"<p>{escape(verdict.stopped)}</p>" if verdict.stopped else ""
    return fold("<h3>Further scenarios</h3>", table(caption, head, rows) + stopped)


def _backing(data: NightData) -> str:
    """How each rule set is backed, configurations of the same backing together."""
    groups: dict[str, list[str]] = {}
    for one in data.plan.configurations:
        groups.setdefault(backing(one, data.reference), []).append(one.name)
    rows = [
        f'<tr><th scope="row">{escape(source)}</th><td class="n">{len(names)}</td>'
        f'<td class="why">{breakable(", ".join(names))}</td></tr>'
        for source, names in groups.items()
    ]
    head = [("the rules are backed by", ""), ("configurations", "n"), ("which", "")]
    drawn = table("What stands behind them", head, rows)
    scenario = json.loads(data.scenarios["scenario_json"].iloc[0])
    ends = where_it_ends(len(scenario["cluster"]["brokers"]), partitions_in(scenario))
    part = data.plan.definition.simulated
    left_out = f" {escape(part)}." if part else ""
    return fold("<h3>How the rules are backed</h3>", f"{drawn}<p>{ends}{left_out}</p>")
