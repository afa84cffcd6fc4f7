"""The sentences of a verdict, made of its facts: for the terminal, the report, a note and MLflow.

``verdict.json`` keeps the facts and no sentence. So a wording is changed here, and nothing that was
said has to be read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby

from isr_pipeline.base.files.words import counted
from isr_pipeline.verdicts.quantities import (
    label,
    number,
    plain,
    times,
)
from isr_pipeline.verdicts.record import (
    LOST,
    SUSPICIONS,
    WORST_FIRST,
    ConfigVerdict,
    Figures,
    Finding,
    MetricVerdict,
    NightVerdict,
    Per,
    Redraw,
    Seen,
    Status,
    StratumVerdict,
    accept_command,
    cause_commands,
)
from isr_pipeline.worlds.columns import METRICS

SAID_WORSE = (Status.REGRESSED, Status.SUSPECT)
IDENTICAL = "bit-identical outcomes"
NAMED_MAX = 3
"""Configurations that a headline names, and metrics that it names of each."""

NONE = "none"

NOT_RULED_OUT = "and a rise that matters is not ruled out"

HARDLY_CHANCE = "hardly chance, but perhaps too small to matter"
"""Of an interval that leaves 1 out, and of a change that may be below what matters."""

MAYBE_CHANCE = "may be chance: many comparisons were made together"
"""Of a test that does not hold once all others of the night are counted."""

# -- a night --------------------------------------------------------------------------------------


def headline(verdict: NightVerdict) -> str:
    """One line: who got worse and in what, then how many configurations have which status.

    Where nobody did, who got better. It says nothing that a later acceptance makes untrue.
    """
    counts = verdict.counts()
    total = len(verdict.configurations)
    if counts[Status.BASELINE] == total:
        parts = [f"no baseline was accepted before ({total} configurations)"]
    else:
        having = [one for one in WORST_FIRST if counts[one]]
        said = [f"{counts[one]} {_words(one, verdict)}" for one in having]
        of_all = f"{counts[having[0]]} of {total} configurations {_words(having[0], verdict)}"
        parts = [*_named(verdict), of_all, *said[1:]]
    return "; ".join(part for part in (*parts, verdict.stopped) if part)


def what_to_do(verdict: NightVerdict) -> list[str]:
    """Commands that show the difference, find its cause and accept it; none if all is well."""
    accept = accept_command(verdict.experiment, verdict.night)
    if ordered := worst(verdict.configurations):
        return [*cause_commands(verdict.experiment, verdict.night, ordered[0].name), accept]
    return [accept] if verdict.status is Status.BASELINE and not verdict.baseline else []


def worst(configurations: Iterable[ConfigVerdict]) -> list[ConfigVerdict]:
    """Who got worse, the worst first: confirmed before suspect, lost data before all else."""

    def rank(one: ConfigVerdict) -> tuple[int, bool]:
        return WORST_FIRST.index(one.status), LOST not in one.metrics_with(one.status)

    return sorted((one for one in configurations if one.status in SAID_WORSE), key=rank)


def _named(verdict: NightVerdict) -> list[str]:
    """The worst by name and metrics, and how many more; those that improved if there are none."""
    ordered = worst(verdict.configurations)
    if not ordered:
        ordered = [one for one in verdict.configurations if one.status is Status.IMPROVED]
    more = len(ordered) - NAMED_MAX
    named = [f"{one.name}: {_differs(one)}" for one in ordered[:NAMED_MAX]]
    return [*named, f"and {more} more"] if more > 0 else named


def _differs(one: ConfigVerdict) -> str:
    """``worse in ISR flaps, better in commit latency p99``."""
    words = {
        "worse": Status.REGRESSED,
        "perhaps worse": Status.SUSPECT,
        "better": Status.IMPROVED,
    }
    having = {
        word: [each for each in one.metrics if each.status is status]
        for word, status in words.items()
    }
    return ", ".join(f"{word} in {_few(metrics)}" for word, metrics in having.items() if metrics)


def _few(metrics: Iterable[MetricVerdict]) -> str:
    return some([label(one.metric) for one in worst_first(metrics)], "metric")


def _words(status: Status, verdict: NightVerdict) -> str:
    match status:
        case Status.REGRESSED:
            return "regressed, confirmed"
        case Status.SUSPECT:
            return f"suspect, {'to be' if verdict.awaits_confirm else 'not'} confirmed"
        case Status.NO_DATA:
            having = (one for one in verdict.configurations if one.status is status)
            reasons = {reason(one) for one in having}
            return f"without data ({reasons.pop()})" if len(reasons) == 1 else "without data"
        case Status.BASELINE:
            return "new, without a baseline"
        case _:
            return str(status)


def worse(verdict: NightVerdict) -> list[str]:
    """What got worse, a line for each configuration: its verdict, each metric, by how much.

    Of a night that could not be compared, what had got worse in the last run that was.
    """
    last = verdict.last_compared
    if last is None:
        return worse_of(verdict.configurations)
    return [f"last compared, night {last.called}: {one}" for one in worse_of(last.worse)]


def worse_of(configurations: Sequence[ConfigVerdict]) -> list[str]:
    """What got worse of some configurations, a line each."""
    lines = []
    for status in SAID_WORSE:
        for one in configurations:
            metrics = worst_first([each for each in one.metrics if each.status is status])
            said = "; ".join(map(change, metrics))
            lines += [f"{status}: {one.name}: {said}"] if said else []
    return lines


# -- a change -------------------------------------------------------------------------------------


def change(one: MetricVerdict) -> str:
    """How much a metric changed, and the strata that are called as it is.

    ``ISR flaps 1.23 × (1.1 to 1.48) from 3 to 3.69 events a year, 96 scenarios; in the stratum
    isr-churn 2 × from 0.4 to 0.8 events a year``.
    """
    said = "" if one.pair is None else how_much(one.metric, one.pair)
    of = "" if one.scenarios is None else f", {counted(one.scenarios, 'scenario')}"
    same = [_in_stratum(one.metric, part) for part in one.strata if part.status is one.status]
    where = "in the stratum " if len(same) == 1 else "in the strata "
    if any(part.pair.when for part in one.strata):
        where = ""
    strata = f"; {where}{' and '.join(same)}" if same else ""
    beside = without_incident(one.metric, one.without_incident)
    return f"{label(one.metric)} {said}{of}{strata}{f'; {beside}' if beside else ''}"


def how_much(metric: str, pair: Figures) -> str:
    """``1.23 × (1.1 to 1.48) from 3 to 3.69 events a year``; from none, and to none, have no ratio.

    What is gone has no interval: that none of so many scenarios has any proves no zero.
    """
    found, said = ratio_of(pair), figures_of(metric, pair)
    if not said:
        return found or ("from none" if pair.after else "to none" if pair.before else NONE)
    return f"{found} from {said}" if found else said if said == NONE else f"from {said}"


def ratio_of(pair: Figures) -> str:
    """``1.23 × (1.1 to 1.48)``; empty where one of the figures is none."""
    if not pair.before or not pair.after or pair.ratio is None:
        return ""
    return f"{times(pair.ratio)} ({number(pair.low)} to {number(pair.high)})"


def figures_of(metric: str, pair: Figures, *, unit: bool = True) -> str:
    """The two figures that a ratio is of: ``3.11 to 2.93 partition-minutes a year``.

    Args:
        metric: its name.
        pair: the comparison.
        unit: False where it stands at the head of a column.

    Returns:
        nothing of a panel whose mix says nothing of a year.
    """
    if pair.per is Per.MIX:
        return ""
    if pair.hit is not None and all(
        bool(value) == bool(partitions)
        for value, partitions in zip((pair.before, pair.after), pair.hit, strict=True)
    ):
        return _hit(pair, pair.hit)
    sides = [plain(one) if one else NONE for one in (pair.before, pair.after)]
    if sides == [NONE, NONE]:
        return NONE
    words = f" {unit_per(metric, pair.per)}" if unit else ""
    if pair.after:
        return f"{sides[0]} to {sides[1]}{words}"
    return f"{sides[0]}{words} to {NONE}"


def _hit(pair: Figures, hit: tuple[float, float]) -> str:
    """``7 partitions that refuse producers for 22 s to 9 for 24 s``."""
    sides = [
        f"{plain(partitions)} partitions that refuse producers for {plain(seconds / partitions)} s"
        if partitions
        else NONE
        for partitions, seconds in zip(hit, (pair.before, pair.after), strict=True)
    ]
    return NONE if sides == [NONE, NONE] else " to ".join(sides)


def one_figure(metric: str, per: Per, value: float) -> str:
    """One of the two figures, with its unit: ``2.93 partition-minutes a year``."""
    return f"{plain(value)} {unit_per(metric, per)}" if value else NONE


def unit_per(metric: str, per: Per) -> str:
    """The unit of the two figures: ``partition-minutes a year``, ``ms in a typical scenario``."""
    if per is Per.ACKNOWLEDGED:
        return str(per)
    unit = METRICS[metric].unit
    return f"{unit.year if per is Per.YEAR else unit.total} {per}"


def without_incident(metric: str, pair: Figures | None) -> str:
    """What a cluster has of a metric in scenarios without an incident; empty if nothing."""
    return "" if pair is None else f"without an incident from {figures_of(metric, pair)}"


def _in_stratum(metric: str, part: StratumVerdict) -> str:
    return stratum_change(metric, part.stratum, part.pair)


def stratum_change(metric: str, called: str, pair: Figures) -> str:
    """``isr-churn 2 × from 6.1 to 12.2 events a year``.

    Where nobody counts incidents: ``when a disk stalls for 20 to 60 s: 1.2 × from …``.

    Args:
        metric: its name.
        called: what the stratum is called.
        pair: the comparison in it.
    """
    name = f"when {pair.when}:" if pair.when else called
    figures = figures_of(metric, pair)
    said = f"from {figures}" if figures != NONE else NONE
    return f"{name} {times(pair.ratio)} {said}" if pair.ratio and pair.before else f"{name} {said}"


def in_order(metrics: Iterable[MetricVerdict]) -> list[MetricVerdict]:
    """Metrics in the order in which a page has them."""
    return sorted(metrics, key=lambda one: _rank(one.metric))


def some(names: Sequence[str], what: str = "") -> str:
    """The first names, and how many more there are: ``a, b, c and 4 more metrics``."""
    more = len(names) - NAMED_MAX
    said = ", ".join(names[:NAMED_MAX])
    if more <= 0:
        return said
    return f"{said} and {counted(more, f'more {what}') if what else f'{more} more'}"


def worst_first(metrics: Iterable[MetricVerdict]) -> list[MetricVerdict]:
    """Lost data before anything else, then what is confirmed, then as a page has them."""
    return sorted(
        metrics,
        key=lambda one: (one.metric != LOST, WORST_FIRST.index(one.status), _rank(one.metric)),
    )


def lost_first(metric: str) -> tuple[bool, int]:
    """Place of a metric where lost data comes before anything else."""
    return metric != LOST, _rank(metric)


def _rank(metric: str) -> int:
    """Place of a metric as a page has them."""
    return list(METRICS).index(metric)


# -- a configuration and its metrics --------------------------------------------------------------


def reason(one: ConfigVerdict, *, room: float = math.inf) -> str:
    """Why a configuration has its status: the metrics that have it, and those that improved.

    Args:
        one: the configuration.
        room: characters from which on no further metric is told, but how many there are.
    """
    if one.not_compared is not None:
        said = one.not_compared.why
    elif one.changed:
        others = ", ".join(label(name) for name in one.changed)
        said = f"tested metrics are bit-identical; changed: {others}"
    elif one.status is Status.UNCHANGED:
        said = IDENTICAL
    else:
        said = _joined(list(_of_metrics(one)), room)
    return f"{said}; {one.stopped}" if one.stopped else said


def _joined(parts: list[str], room: float) -> str:
    """The first part, those after it that there is room for, and how many more there are."""
    fit = max(1, sum(end <= room for end in accumulate(len(part) + 2 for part in parts)))
    more = len(parts) - fit
    return "; ".join([*parts[:fit], *([f"and {counted(more, 'more metric')}"] if more > 0 else [])])


def _of_metrics(one: ConfigVerdict) -> Iterator[str]:
    """The metrics that a configuration has its status from, then those that improved beside."""
    for status in dict.fromkeys((one.status, Status.IMPROVED)):
        beside = "" if status is one.status else "improved, "
        for metric in one.metrics:
            if metric.status is status:
                yield f"{label(metric.metric)}: {beside}{reason_of_metric(metric)}"


def reason_of_metric(metric: MetricVerdict) -> str:
    """Why a metric has its status, without its name; empty if nothing was compared.

    What never happens and did, for certain, in other phases of its scenarios is said first: no
    other scenarios add anything to it.
    """
    if metric.seen is None:
        return ""
    certain = [draw for draw in metric.redraws if draw.is_certain]
    awaits = metric.seen.scenarios is None and not metric.further and not certain
    said = _seen(metric.metric, metric.seen, awaits=awaits)
    if certain:
        surest = min(certain, key=lambda draw: draw.rank)
        return f"confirmed: {_drawn(surest, f' of {surest.scenario_id}')}; {said}"
    if metric.further is not None:
        said += f"; not confirmed: {_seen(metric.metric, metric.further)}"
    for _, draws in groupby(metric.redraws, key=lambda draw: draw.number):
        surest = min(draws, key=lambda draw: draw.rank)
        said += f"; {surest.scenario_id}: {_drawn(surest)}"
    return f"{said}; not drawn again: {metric.not_drawn}" if metric.not_drawn else said


def _drawn(one: Redraw, of: str = "") -> str:
    """``in 20 of 20 phase draws of regression-00042, 0 of 20 before``."""
    more = f" more than {one.above:g}" if one.above else ""
    return (
        f"in {one.tonight} of {one.draws} phase draws{of}{more}, {one.before} of {one.draws} before"
    )


def _seen(metric: str, seen: Seen, *, awaits: bool = False) -> str:
    """What one look shows, and on how many further scenarios.

    Args:
        metric: outcome column.
        seen: the facts.
        awaits: whether further scenarios are still to decide on a suspicion.
    """
    on = "" if seen.scenarios is None else f"on {counted(seen.scenarios, 'further scenario')}"
    match seen.finding:
        case Finding.NONE_RULES_OUT:
            return f"{IDENTICAL} {on}: a rise that matters is ruled out"
        case Finding.NONE_LEAVES_OPEN:
            return f"{IDENTICAL} {on}, and more like it is not ruled out"
    said = _clause(metric, seen)
    if seen.confirms:
        said += f"; confirmed {on}"
    elif awaits and seen.finding in SUSPICIONS:
        said += "; flagged; further scenarios decide"
    if seen.traded is not None:
        both = seen.traded
        said += (
            f"; traded: worse in {both.risen} scenarios ({', '.join(both.risen_most)}), better in "
            f"{both.fallen} ({', '.join(both.fallen_most)})"
        )
    return said if seen.confirms or not on else f"{said}, {on}"


def _clause(metric: str, seen: Seen) -> str:
    """What a look finds, with the numbers that it follows from."""
    size = "" if seen.pair is None else how_much(metric, seen.pair)
    match seen.finding:
        case Finding.IDENTICAL:
            return IDENTICAL
        case Finding.ROUNDING:
            return "differs by rounding only"
        case Finding.RISE:
            return f"{size}{_in(metric, seen.strata)}, q {seen.q:.2g}"
        case Finding.RISE_IN_STRATA:
            return f"{size} in all{_in(metric, seen.strata)}"
        case Finding.NEWLY:
            before = "less than a tenth" if seen.had else "none"
            return f"{size}, in {counted(seen.newly, 'scenario')} that had {before}"
        case Finding.FALL:
            return f"{size}, q {seen.q:.2g}"
        case Finding.RULED_OUT:
            return f"{size}: a rise that matters is ruled out (p {seen.p:.2g})"
        case Finding.TOO_FEW:
            return (
                f"{size}; {seen.differing} scenarios differ, significance takes {seen.needed} or "
                f"more, {NOT_RULED_OUT}"
            )
        case Finding.SMALL:
            return f"{size}; {HARDLY_CHANCE}, {NOT_RULED_OUT}"
        case _:
            return f"{size}; {MAYBE_CHANCE}, {NOT_RULED_OUT}"


def _in(metric: str, strata: tuple[StratumVerdict, ...]) -> str:
    """``, in isr-churn 2 × (14 of 14 worse)``."""
    said = []
    for one in strata:
        worse = f"{one.risen} of {one.scenarios} worse"
        said.append(f"{stratum_change(metric, one.stratum, one.pair)} ({worse})")
    within = "" if any(one.pair.when for one in strata) else "in "
    return f", {within}{', '.join(said)}" if said else ""
