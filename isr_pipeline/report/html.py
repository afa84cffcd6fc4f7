"""The page of a night: one HTML file that needs nothing else, on a phone and in the dark too."""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from plotly.offline import get_plotlyjs

from isr_pipeline.home import Home
from isr_pipeline.outcomes import store
from isr_pipeline.report import charts
from isr_pipeline.report.backing import backing
from isr_pipeline.report.data import (
    LATENCY,
    OFFLINE,
    THRASH,
    Deciding,
    NightData,
    read_night,
    replay_command,
)
from isr_pipeline.verdicts.drift import NIGHTS_MIN
from isr_pipeline.verdicts.model import WORST_FIRST, ConfigVerdict, MetricVerdict, Status, number
from isr_pipeline.verdicts.panel import natural_unit
from isr_pipeline.verdicts.statistics import discordant_found, discordant_needed

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

HERE = Path(__file__).parent

LABELS = {
    OFFLINE: "offline partition-time",
    THRASH: "ISR thrash (flaps per partition-hour)",
    LATENCY: "commit latency p99 (ms)",
}

TREND_LINES = 6
DRIFTS_SHOWN = 12

SECTIONS = (
    ("configurations", "Configurations"),
    ("regressions", "What got worse"),
    ("baseline", "Against the baseline"),
    ("recommendation", "Which setting"),
    ("keys", "Over the main keys"),
    ("detector", "Failure detector"),
    ("causes", "What causes what"),
    ("nights", "Nights"),
    ("power", "Power"),
    ("data", "Data"),
)


class Page:
    """Collects sections and charts, so that every chart is drawn under the id it was given."""

    def __init__(self) -> None:
        self.charts: dict[str, charts.Chart] = {}

    def figure(self, chart: charts.Chart | None, caption: str, *, why_not: str = "") -> str:
        """A figure with its caption in words; a sentence where there is nothing to draw."""
        if chart is None:
            return f"<p class=lead>{escape(why_not)}</p>" if why_not else ""
        name = f"chart-{len(self.charts) + 1}"
        self.charts[name] = chart
        height = chart["layout"]["height"]
        return (
            f"<figure><figcaption>{caption}</figcaption>"
            f'<div id="{name}" role="img" aria-label="{escape(_plain(caption))}" '
            f'style="height:{height}px"></div></figure>'
        )


def write_report(plan: Plan) -> Path:
    """Write ``report.html`` of a judged night into its folder.

    Raises:
        Refused: the night was not judged.
    """
    text = render(read_night(plan))
    folder = Home.from_environment().night_dir(plan.experiment, plan.night)
    folder.mkdir(parents=True, exist_ok=True)
    draft, path = folder / ".report.html.draft", folder / "report.html"
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
    return path


def render(data: NightData) -> str:
    """The whole page as text."""
    page = Page()
    bodies = {
        "configurations": _configurations(data),
        "regressions": _regressions(page, data),
        "baseline": _against_baseline(page, data),
        "recommendation": _recommendation(page, data),
        "keys": _keys(page, data),
        "detector": _detector(page, data),
        "causes": _causes(page, data),
        "nights": _nights(page, data),
        "power": _power(data),
        "data": _data_quality(data),
    }
    sections = "\n".join(
        f'<section id="{name}" aria-labelledby="h-{name}">'
        f'<h2 id="h-{name}">{title}</h2>{bodies[name]}</section>'
        for name, title in SECTIONS
    )
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in SECTIONS)
    title = escape(f"{data.plan.experiment} {data.plan.night}: {data.verdict.headline}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{_file('page.css')}</style></head><body>"
        '<a class="skip" href="#main">Skip to the verdicts</a>'
        f"{_header(data)}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>'
        f'<main id="main">{sections}</main>{_footer(data)}'
        f'<script type="application/json" id="charts">{charts.as_json(page.charts)}</script>'
        f"<script>{get_plotlyjs()}</script><script>{_file('page.js')}</script></body></html>\n"
    )


def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _plain(caption: str) -> str:
    return caption.replace("<strong>", "").replace("</strong>", "")


def _badge(status: Status) -> str:
    return f'<span class="status {status}">{status}</span>'


def _table(caption: str, head: list[tuple[str, str]], rows: list[str]) -> str:
    """A table that scrolls sideways in a box of its own, reachable by keyboard."""
    cells = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in head)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption><span>{escape(caption)}</span></caption><thead><tr>{cells}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _header(data: NightData) -> str:
    verdict = data.verdict
    counts = verdict.counts()
    chips = "".join(
        f"<li>{counts[status]} {_badge(status)}</li>" for status in WORST_FIRST if counts[status]
    )
    note = verdict.baseline
    compared = "No baseline is accepted yet."
    if note is not None:
        compared = (
            f"Compared with night {escape(note.night)}, accepted by {escape(note.accepted_by)} "
            f"on {escape(note.accepted_at[:10])}: {escape(note.why)}"
        )
    return (
        f"<header><div><p class=where>{escape(verdict.experiment)} · night "
        f"{escape(verdict.night)}</p><h1>{escape(verdict.headline)}</h1>"
        f'<ul class="counts" aria-label="Configurations by verdict">{chips}</ul>'
        f"<p class=where>{compared}</p></div></header>"
    )


def _configurations(data: NightData) -> str:
    ranked = sorted(data.verdict.configurations, key=lambda one: WORST_FIRST.index(one.status))
    rows = [_configuration_row(one) for one in ranked]
    head = [
        ("configuration", ""),
        ("verdict", ""),
        ("offline rate", "n"),
        ("flaps / partition-h", "n"),
        ("commit p99 ms", "n"),
        ("records lost", "n"),
        ("why", ""),
    ]
    table = _table("Every configuration, worst verdict first; × is to the baseline", head, rows)
    return table + _backing(data)


def _backing(data: NightData) -> str:
    """How each rule set is backed, configurations of the same backing together."""
    groups: dict[str, list[str]] = {}
    for one in data.plan.configurations:
        groups.setdefault(backing(one, data.reference), []).append(one.name)
    rows = [
        f'<tr><th scope="row">{escape(said)}</th><td class="n">{len(names)}</td>'
        f'<td class="why">{escape(", ".join(names))}</td></tr>'
        for said, names in groups.items()
    ]
    head = [("the rules are backed by", ""), ("configurations", "n"), ("which", "")]
    return "<h3>How the rules are backed</h3>" + _table("What stands behind them", head, rows)


def _configuration_row(one: ConfigVerdict) -> str:
    shown = {metric.metric: metric for metric in one.metrics}
    cells = "".join(
        f'<td class="n">{_with_ratio(shown.get(name))}</td>'
        for name in (OFFLINE, THRASH, LATENCY, "records_lost")
    )
    return (
        f'<tr><th scope="row">{escape(one.name)}</th><td>{_badge(one.status)}</td>{cells}'
        f'<td class="why">{escape(one.reason)}</td></tr>'
    )


def _with_ratio(metric: MetricVerdict | None) -> str:
    if metric is None:
        return "–"
    if metric.ratio is None or metric.status is Status.UNCHANGED:
        return number(metric.value)
    return f"{number(metric.value)} <small>{metric.ratio:.2f} ×</small>"


def _regressions(page: Page, data: NightData) -> str:
    if not data.flagged:
        return "<p class=lead>Nothing regressed and nothing is suspect.</p>"
    return "".join(_regression(page, data, one) for one in data.flagged)


def _regression(page: Page, data: NightData, one: ConfigVerdict) -> str:
    parts = [f"<h3>{escape(one.name)} {_badge(one.status)}</h3>"]
    for metric in one.metrics:
        if metric.status not in (Status.REGRESSED, Status.SUSPECT):
            continue
        label = escape(metric.metric)
        parts.append(f"<p><strong>{label}</strong>: {escape(metric.reason)}</p>")
        parts.append(
            page.figure(
                charts.differences(data, one, metric.metric),
                f"<strong>{label}</strong>: each differing scenario's change, "
                f"{natural_unit(metric.metric)}",
            )
        )
        parts += [_deciding(page, data, found) for found in data.deciding(one, metric.metric)]
    return "".join(parts)


def _deciding(page: Page, data: NightData, found: Deciding) -> str:
    name = data.name(found.config_id)
    faults = Counter(str(fault["kind"]) for fault in found.scenario.get("faults", ()))
    kinds = ", ".join(f"{count} × {kind}" for kind, count in faults.items()) or "no fault"
    change = (
        f"{number(found.before)} to {number(found.after)} {natural_unit(found.metric)} ({kinds})"
    )
    command = f"<pre><code>{escape(replay_command(data.plan, found, name))}</code></pre>"
    if not found.events:
        kept = (
            "<p class=lead>The events of this pair were not kept, and its code is not the one that "
            "runs now; the command shows what became of it.</p>"
        )
        return f"<h3>{escape(found.scenario_id)}: {change}</h3>{kept}{command}"
    caption = f"<strong>{escape(found.scenario_id)}</strong>: {change}; faults shaded"
    return page.figure(charts.timeline(found), caption) + command


def _against_baseline(page: Page, data: NightData) -> str:
    if data.verdict.baseline is None or data.verdict.tests == 0:
        return "<p class=lead>There is nothing to compare with tonight.</p>"
    drawn = [
        page.figure(charts.changed_forest(data, name), f"<strong>{LABELS.get(name, name)}</strong>")
        for name in data.settings.metrics
    ]
    if not any(drawn):
        return "<p class=lead>Every outcome is bit-identical to the baseline's.</p>"
    lead = "Configurations whose outcomes differ, with paired 95 % intervals (for display only)."
    return f'<p class=lead>{lead}</p><div class="pair">{"".join(drawn)}</div>'


def _recommendation(page: Page, data: NightData) -> str:
    between = data.between
    if between is None:
        return "<p class=lead>The reference has no data tonight: nothing to compare with.</p>"
    chosen = between.recommendation
    lead = (
        f"Every configuration met the same {len(between.panel.scenario_ids)} scenarios; ratios are "
        f"to <strong>{escape(data.plan.reference)}</strong>, left of 1 is better."
    )
    forests = "".join(
        page.figure(
            charts.forest(data, between, name), f"<strong>{LABELS.get(name, name)}</strong>"
        )
        for name in data.settings.pareto
        if name in between.versus.metrics
    )
    front = ", ".join(escape(data.name(one)) for one in between.front)
    return (
        f"<blockquote>{escape(chosen.text)}</blockquote>"
        + page.figure(
            charts.pareto(data, between),
            "<strong>Offline rate, thrash and commit latency</strong> (size); lower left is better",
        )
        + f"<p>On the Pareto front: {front}.</p><p class=lead>{lead}</p>"
        + f'<div class="pair">{forests}</div>'
    )


def _keys(page: Page, data: NightData) -> str:
    why_not = "Fewer than two keys vary among configurations of the reference's release."
    figures = [
        page.figure(charts.heat(data, name), f"<strong>{LABELS[name]}</strong>, dark is worse")
        for name in (OFFLINE, THRASH)
    ]
    if not any(figures):
        return f"<p class=lead>{why_not}</p>"
    lead = "Mean over the configurations of the reference's release that share both values."
    return f'<p class=lead>{lead}</p><div class="pair">{"".join(figures)}</div>'


def _detector(page: Page, data: NightData) -> str:
    if data.between is None:
        return "<p class=lead>The reference has no data tonight.</p>"
    lead = (
        "The in-sync rule judged as a failure detector: followers removed although no fault "
        "touched them, against the time that faulty followers stayed in the ISR past the limit."
    )
    caption = "<strong>Spurious removals against detection delay</strong>; lower left is better"
    return f"<p class=lead>{lead}</p>" + page.figure(charts.detector(data, data.between), caption)


def _causes(page: Page, data: NightData) -> str:
    lead = "Share of each configuration's weighted total; a scenario of two kinds counts for both."
    figures = "".join(
        page.figure(
            charts.causes(data, metric, by), f"<strong>{LABELS[metric]}</strong> by {words}"
        )
        for metric in (OFFLINE, THRASH)
        for by, words in (("fault_kinds", "fault kind"), ("strata", "stratum"))
    )
    return f"<p class=lead>{lead}</p>{figures}"


def _nights(page: Page, data: NightData) -> str:
    shown = [data.plan.reference, *(one.name for one in data.flagged)]
    if data.between is not None:
        shown.append(data.name(data.between.recommendation.config_id))
        shown += [data.name(one) for one in data.between.front]
    shown = list(dict.fromkeys(shown))[:TREND_LINES]
    figures = "".join(
        page.figure(charts.trend(data, metric, shown), f"<strong>{LABELS[metric]}</strong>")
        for metric in (OFFLINE, THRASH)
    )
    if not figures:
        return "<p class=lead>A trend takes at least two nights.</p>"
    lead = (
        "Nights of tonight's regression panel, and of the fresh one, which is another each night: "
        "it shows drift and decides nothing."
    )
    return f'<p class=lead>{lead}</p><div class="pair">{figures}</div>{_drift(data)}'


def _drift(data: NightData) -> str:
    """Change points of the fresh panel, or that there are none."""
    nights = data.fresh_nights
    if nights < NIGHTS_MIN:
        return (
            f"<p>Drift is looked for once there are {NIGHTS_MIN} nights of the fresh panel "
            f"(now {nights}).</p>"
        )
    points = data.drift
    if not points:
        return f"<p>No drift in {nights} nights of the fresh panel.</p>"
    rows = [
        f'<tr><th scope="row">{escape(one.config_name)}</th><td>{one.metric}</td>'
        f"<td>{one.since}</td>"
        f'<td class="n">{one.before:.3g} → {one.after:.3g}</td><td class="n">{one.q:.2g}</td></tr>'
        for one in points[:DRIFTS_SHOWN]
    ]
    more = len(points) - DRIFTS_SHOWN
    hidden = f"<p class=lead>and {more} more</p>" if more > 0 else ""
    table = _table(
        f"Drift in {nights} nights of the fresh panel: a new level since that night",
        [("configuration", ""), ("metric", ""), ("since", ""), ("medians", "n"), ("q", "n")],
        rows,
    )
    return f"{table}{hidden}"


def _power(data: NightData) -> str:
    needed = data.verdict.discordant_needed
    lead = (
        f"With {data.verdict.tests} comparisons tonight a change must show in at least {needed} "
        "scenarios to be significant after correction; fewer is called underpowered, never ok."
        if needed
        else "Nothing was compared tonight; the counts below are what a later change can show in."
    )
    column = data.panel.column(data.reference.config_id)
    above = {
        name: int((data.panel.values[name][:, column] > 0).sum()) for name in data.settings.metrics
    }
    metrics = [
        f'<tr><th scope="row">{name}</th><td class="n">{above[name]}</td>'
        f'<td class="n">{_smallest(data, above[name])}</td>'
        f'<td class="n">{settings.floor:g}</td></tr>'
        for name, settings in data.settings.metrics.items()
    ]
    kinds = Counter(kind for kinds in data.panel.fault_kinds for kind in kinds.split(",") if kind)
    rows = [
        f'<tr><th scope="row">{escape(kind)}</th><td class="n">{count}</td>'
        f"<td>{'can' if count >= max(needed, 1) else 'cannot'} alarm alone</td></tr>"
        for kind, count in sorted(kinds.items(), key=lambda item: item[1])
    ]
    material = f"{data.settings.ratio_min:g} x"
    first = _table(
        f"Where {data.plan.reference} has any of it; an alarm takes {material} and the floor",
        [
            ("metric", ""),
            ("scenarios above zero", "n"),
            ("smallest ratio found", "n"),
            ("absolute floor", "n"),
        ],
        metrics,
    )
    second = _table(
        f"Scenarios of each fault kind among {len(data.panel.scenario_ids)}",
        [("fault kind", ""), ("scenarios", "n"), ("a change confined to it", "")],
        rows,
    )
    note = (
        "<p class=lead>The smallest ratio that is found 19 times in 20, if what gets worse is that "
        "the thing happens in further scenarios, as badly as where it happens now. What makes "
        "every such scenario a little worse is found down to the ratio above which it matters.</p>"
    )
    return f"<p>{lead}</p>{first}{note}{second}"


def _smallest(data: NightData, above_zero: int) -> str:
    """The smallest detectable ratio of a metric that so many scenarios have any of."""
    if above_zero == 0:
        return "from zero only"
    tests = data.verdict.tests or len(data.settings.metrics) * len(data.panel.config_ids)
    needed = discordant_needed(tests, data.settings.suspicion_rate)
    more = discordant_found(needed)
    if above_zero + more <= len(data.panel.scenario_ids):
        return f"{max(data.settings.ratio_min, 1.0 + more / above_zero):.2f} x"
    # too few scenarios are left for it to happen anew: only what all of them show can be found
    return f"{data.settings.ratio_min:.2f} x" if above_zero >= needed else "none"


def _data_quality(data: NightData) -> str:
    panel, plan = data.panel, data.plan
    docs = Home.from_environment().data_docs(plan.experiment, plan.night)
    facts = {
        "pairs": f"{panel.missing.size} ({len(panel.scenario_ids)} × {len(panel.config_ids)})",
        "missing": str(int(panel.missing.sum())),
        "event budget spent": str(int(panel.failed.sum())),
        "regression panel": plan.panel_digest,
        "confirm panel": plan.confirm_digest,
        "outcomes judged": data.verdict.outcomes_digest,
        "version": plan.version,
        "code version": plan.code_version,
    }
    for table in store.TABLES:
        if store.has_table(table, plan.experiment, plan.night):
            rows = store.count_rows(table, plan.experiment, plan.night)
            facts[f"table {table}"] = f"{rows} rows"
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items()
    )
    link = f'<p><a href="{escape(docs.as_uri())}">Data Docs of this night</a></p>'
    return f"<dl>{listed}</dl>{link}"


def _footer(data: NightData) -> str:
    return (
        "<footer>KIP-501 was never merged into Apache Kafka: what is said of it here is about its "
        f"text, simulated. Made by isr-pipeline {escape(data.plan.version)}, "
        f"code {escape(data.plan.code_version)}.</footer>"
    )
