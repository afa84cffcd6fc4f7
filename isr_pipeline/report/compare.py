"""``isr-pipeline compare A B``: two configurations over the same faults, as a table to paste.

A is the reference, B is compared with it as a night compares its configurations with theirs
(:mod:`isr_pipeline.verdicts.reference`): the same panel, tests, sizes that matter and words. What
guards records is told first. Then come curves, of what is worse and of what is better, over the
length of the incident that makes most of the difference.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isr_pipeline.base.compiling import use_kernel_cache
from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.files.reading import parse_value
from isr_pipeline.base.files.words import counted, shown
from isr_pipeline.base.progress import Progress
from isr_pipeline.experiment.combinations import TODAY, read_release
from isr_pipeline.experiment.configurations import RELEASE, effects_of
from isr_pipeline.experiment.file import (
    AskedIncidents,
    Panels,
    asked_incidents,
    healthy_scenario,
    standing_cluster,
)
from isr_pipeline.experiment.keys import (
    own_values,
    short_of_replicas,
    unread_overrides,
    why_not,
)
from isr_pipeline.experiment.new_experiment import HORIZON_MS, SEED, WARMUP_MS
from isr_pipeline.experiment.not_modelled import left_out
from isr_pipeline.experiment.plan import Plan, make_plan
from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.kafka.own_rules import narrower
from isr_pipeline.report import differences
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.incidents import told
from isr_pipeline.scenarios.lengths import lengths_told
from isr_pipeline.scenarios.machine_load import disks_asked
from isr_pipeline.scenarios.model import Scenario, apply, check, check_overrides
from isr_pipeline.scenarios.patterns import PATTERNS
from isr_pipeline.scenarios.profile import LENGTHS, Distribution, FaultProfile, Stratum
from isr_pipeline.tables.pairs import (
    processes,
    simulate_scenario,
)
from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.exercised import at_rates, not_exercised
from isr_pipeline.verdicts.quantities import (
    OFFLINE,
    ONE_REPLICA,
    PRODUCE,
    label,
    load_settings,
    plain,
)
from isr_pipeline.verdicts.record import (
    LOST,
    AgainstReference,
    Difference,
    Figures,
    Per,
    Word,
    Year,
)
from isr_pipeline.verdicts.reference import against_reference
from isr_pipeline.verdicts.sentences import NONE, ratio_of, unit_per
from isr_pipeline.worlds import ready
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.experiment.file import Experiment
    from isr_pipeline.tables.pairs import Simulate

FORMAT = 1
"""Number of the format of compare.json."""

SCENARIOS = 2000
"""Scenarios unless somebody says otherwise."""
EXACTLY = 40
"""Likewise without jumps and shared runs."""

NIGHT = "2026-01-01"
"""Of the plan; no scenario of a standing panel depends on it."""

ANSWERED = (LOST, ONE_REPLICA, PRODUCE, OFFLINE)
"""Metrics that have a line of their own: records first, then what producers feel."""

POINTS = 8
"""Lengths of a curve."""

PER_POINT = 24
"""Scenarios of each length, the same but for it."""

ABOUT: Mapping[str, str] = {
    "broker.session.timeout.ms": "pause",
    "zookeeper.session.timeout.ms": "pause",
    "replica.lag.time.max.ms": "read_stall",
}
"""Key -> the pattern whose length it is about: shorter ones end unnoticed, longer ones do not."""

AROUND = (0.5, 2.0)
"""Lengths of such a curve: from half the smaller value to twice the larger."""

WRITTEN = "KEY=VALUE, release=NUMBER or rules=NAME, with commas between several; or today"


@dataclass(frozen=True, slots=True)
class Point:
    """One length of a curve: what an incident costs under A and under B, in the total's unit."""

    length_ms: int
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric over the length of an incident.

    Attributes:
        metric: its name; ``incident``: the pattern's.
    """

    metric: str
    incident: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Mostly:
    """Where most of a metric's difference comes from.

    Attributes:
        faults: kinds of faults that came together, with commas between them.
        share: of all that differs in the same direction.
        stratum: the one that most of it was drawn from.
    """

    faults: str
    share: float
    stratum: str


@dataclass(frozen=True, slots=True)
class Compared:
    """What is found.

    Attributes:
        a, b: as they were asked.
        cluster, faults: names of their files.
        scenarios: that both ran.
        incidents: a year of the cluster, in words; empty where the profile counts none.
        against: B against A.
        mostly: metric -> where its difference comes from, where there is one.
        curves: of a metric that is worse and of one that is better, or else of one that differs,
            where their incidents have lengths.
        narrower: a switch of B one step narrower, which was simulated beside it; often empty.
        no_wider: metrics in which B does the same as that in every scenario.
        notes: what else a reader has to know, a sentence each.
        code_version: of the code that compared.
    """

    a: str
    b: str
    cluster: str
    faults: str
    scenarios: int
    incidents: str
    against: AgainstReference
    mostly: dict[str, Mostly]
    curves: tuple[Curve, ...]
    notes: tuple[str, ...]
    code_version: str
    narrower: str = ""
    no_wider: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """What B promises less of acks=all than A, and what that does to records; often empty."""
        return differences.promise(self.against) if self.against.weaker else ""

    def as_json(self) -> dict[str, Any]:
        """The same for other programs."""
        told = asdict(self) | {"against": self.against.model_dump(mode="json")}
        return {"format": FORMAT, "seed": SEED, **told}


def compare(
    a: str,
    b: str,
    *,
    cluster: str = "default",
    faults: str = "nightly",
    incidents: Sequence[str] = (),
    scenarios: int = SCENARIOS,
    cores: int | None = None,
) -> Compared:
    """Compare two configurations of a cluster.

    Args:
        a: the reference: ``KEY=VALUE,…``, with ``release=`` and ``rules=`` among the keys, or
            ``today``: the cluster as its file has it.
        b: the other one, likewise.
        cluster: name of a file in ``config/clusters``.
        faults: name of a file in ``config/faults``.
        incidents: ``crash=4,pause=12`` each: how many a year were counted in the cluster.
        scenarios: how many to draw; a larger number begins with those of a smaller one.
        cores: processes that simulate at once; None: as many as this one has cores.

    Raises:
        InputError: something in the question cannot be used, or both do the same.
        Refused: a pair spent its event budget.
    """
    plan = _plan(a, b, cluster, faults, scenarios, incidents)
    use_kernel_cache()
    with contextlib.redirect_stdout(sys.stderr):
        ready.compile_kernel()
    with processes(cores or len(os.sched_getaffinity(0))) as simulate:
        step, beside = _narrower(plan)
        every = (*plan.configurations, *beside)
        (found,) = _panels([plan.definition], every, simulate, "scenarios")
        panel = found.select(tuple(one.config_id for one in plan.configurations))
        against = _against(plan, panel)
        mostly = {
            one.metric: _mostly(panel, one.metric) for one in against.differences if one.differing
        }
        curves = tuple(_curves(plan, against, mostly, simulate))
    return Compared(
        a=a,
        b=b,
        cluster=cluster,
        faults=faults,
        scenarios=scenarios,
        incidents=told(plan.definition.profile.incidents, plan.definition.cluster.incidents),
        against=against,
        mostly=mostly,
        curves=curves,
        notes=_notes(plan),
        code_version=plan.code_version,
        narrower=step,
        no_wider=_no_wider(found) if beside else (),
    )


def _narrower(plan: Plan) -> tuple[str, list[Configuration]]:
    """B with its widest switch one step narrower, and that step; none where it has no such one.

    A reviewer of a rule asks whether a narrower one would do.
    """
    _, b = plan.configurations
    found = narrower(str(b.params[RELEASE]))
    if found is None:
        return "", []
    release, step = found
    update = {"config_id": "narrower", "overrides": {**b.overrides, RELEASE: release}}
    return step, [b.model_copy(update=update)]


def _no_wider(panel: PanelOutcomes) -> tuple[str, ...]:
    """Metrics in which B and what is narrower than B, the last, do the same in every scenario."""
    return tuple(
        name
        for name in METRICS
        if np.array_equal(panel.values[name][:, 1], panel.values[name][:, 2], equal_nan=True)
    )


# ---------------------------------------------------------------------------- the question


def _plan(
    a: str, b: str, cluster: str, faults: str, scenarios: int, incidents: Sequence[str]
) -> Plan:
    """Plan it as a night would: an experiment of A, the reference, and B."""
    today = standing_cluster(cluster, "compare", "--cluster")
    ours = asked_incidents("compare", faults, incidents)
    asked = {"a": _asked(a, "A", today), "b": _asked(b, "B", today)}
    _check_differ(asked["a"], asked["b"], b, today)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "compare.yaml"
        file.write_text(_experiment(cluster, faults, ours, asked), encoding="utf-8")
        try:
            return make_plan(file, NIGHT, scenarios)
        except InputError as error:  # all but the panel's size was checked before
            raise InputError("compare", "--budget", error.given, error.allowed) from None


def _experiment(
    cluster: str, faults: str, incidents: AskedIncidents, asked: dict[str, dict[str, Any]]
) -> str:
    """The experiment file of the question; its panel is that of ``experiment new``."""
    candidates = [{"name": name, "set": overrides} for name, overrides in asked.items()]
    written = {
        "seed": SEED,
        "cluster": cluster,
        "faults": faults,
        "incidents": incidents.counts,
        "lengths_ms": incidents.lengths_ms,
        "horizon_ms": HORIZON_MS,
        "warmup_ms": WARMUP_MS,
        "panels": {"regression": SCENARIOS, "confirm": SCENARIOS},
        "reference": "a",
        "groups": [{"name": "compare", "candidates": candidates}],
    }
    return json.dumps(written)


def _asked(text: str, which: str, today: Scenario) -> dict[str, Any]:
    """What one side sets, read and checked."""
    overrides: dict[str, Any] = {}
    where = f"compare {which}"
    for part in () if text.strip() == TODAY else text.split(","):
        key, equals, value = part.strip().partition("=")
        if not equals or not value:
            raise InputError(where, "", shown(part.strip() or text), WRITTEN)
        name = RELEASE if key in ("release", "rules") else key
        if name in overrides:
            raise InputError(where, key, "given twice", "each key once")
        if name == RELEASE:
            overrides[name] = read_release(value, where, key)
        else:
            overrides |= check_overrides({name: parse_value(value, f"{where} {key}")}, where, "")
    check(apply(today, overrides), where)
    return overrides


def _check_differ(a: dict[str, Any], b: dict[str, Any], asked: str, today: Scenario) -> None:
    """Refuse two sides that every rule takes for the same, with the reason where one is known."""
    both = [apply(today, one) for one in (a, b)]
    if effects_of(both[0]) != effects_of(both[1]):
        return
    differing = [key for key in {**a, **b} if a.get(key) != b.get(key) and key in KEYS]
    reasons = [f" ({key} is {why})" for key in differing if (why := why_not(key, both[1]))]
    given = f"{asked} does the same as A{reasons[0] if reasons else ''}"
    raise InputError("compare", "B", given, "what changes something in this cluster")


def _notes(plan: Plan) -> tuple[str, ...]:
    """What was asked and nothing reads, and which topics and brokers do not take it."""
    today = healthy_scenario(plan.definition)
    asked = {one.name.upper(): one.overrides for one in plan.configurations}
    return (
        *unread_overrides(today, asked),
        *own_values(today, asked.values()),
        *short_of_replicas(today, asked.values()),
        *disks_asked(today, plan.definition.cluster.hourly_load),
        *lengths_told(plan.definition.lengths_ms),
        *left_out(plan.definition),
    )


# ---------------------------------------------------------------------------- the answer


def _panels(
    experiments: Sequence[Experiment],
    configurations: Sequence[Configuration],
    simulate: Simulate,
    what: str,
) -> list[PanelOutcomes]:
    """Simulate the standing panel of each experiment under A and B."""
    drawn = [list(draw_panel(one.source, "regression")) for one in experiments]
    every = [(row, configurations) for rows in drawn for row in rows]
    ids = [one.config_id for one in configurations]
    panels = []
    with Progress(what, len(every)) as progress:
        found = simulate(simulate_scenario, every)
        for rows in drawn:
            outcomes: list[dict[str, Any]] = []
            for of_scenario in itertools.islice(found, len(rows)):
                outcomes += of_scenario
                progress.step()
            scenarios = pd.DataFrame([asdict(row) for row in rows])
            panels.append(PanelOutcomes.from_frames(pd.DataFrame(outcomes), scenarios, ids))
    return panels


def _against(plan: Plan, panel: PanelOutcomes) -> AgainstReference:
    found = against_reference(plan, panel, load_settings())
    if not found or found[0].problem:
        scenario = panel.scenario_ids[int(panel.unusable.any(axis=1).argmax())]
        msg = f"compare: {scenario} spent its event budget; a smaller cluster may fit"
        raise Refused(msg)
    return found[0]


def _mostly(panel: PanelOutcomes, metric: str) -> Mostly:
    """The faults that make most of a metric's difference, and the stratum of most of them."""
    a, b = panel.natural(metric).T
    differs = panel.weights * (b - a)
    same_way = np.maximum(differs * (np.sign(differs.sum()) or 1.0), 0.0)
    of_faults: Counter[str] = Counter()
    of_strata: Counter[tuple[str, str]] = Counter()
    for faults, stratum, part in zip(panel.fault_kinds, panel.strata, same_way, strict=True):
        of_faults[faults] += part
        of_strata[faults, stratum] += part
    faults = max(of_faults, key=lambda one: (of_faults[one], one))
    strata = [one for one in of_strata if one[0] == faults]
    _, stratum = max(strata, key=lambda one: (of_strata[one], one))
    return Mostly(faults, float(of_faults[faults] / same_way.sum()), stratum)


def _curves(
    plan: Plan, against: AgainstReference, mostly: dict[str, Mostly], simulate: Simulate
) -> Iterator[Curve]:
    """The curve of each metric that has one: over the length that the key is about, if any."""
    metrics = _told_over_lengths(against)
    around = _around(plan)
    if around is not None:
        curves = [*around.curves(plan, metrics or [PRODUCE], simulate)]
        if curves or not metrics:
            yield from curves
            return
    for metric in metrics:
        curve = _curve(plan.definition, metric, mostly[metric], plan.configurations, simulate)
        if curve is not None:
            yield curve


@dataclass(frozen=True, slots=True)
class _Around:
    """The lengths that a key is about: a pause around a session."""

    stratum: str
    pattern: str
    parameter: str
    lengths: tuple[int, ...]

    def curves(self, plan: Plan, metrics: Sequence[str], simulate: Simulate) -> Iterator[Curve]:
        """Of each metric that the incident has; of produce beside them, which every one may be."""
        alone = [
            _alone(plan.definition, self.stratum, self.pattern, {self.parameter: one})
            for one in self.lengths
        ]
        what = f"lengths of a {_in_words(self.pattern)}"
        panels = _panels(alone, plan.configurations, simulate, what)
        for metric in dict.fromkeys((*metrics, PRODUCE)):
            means = [panel.natural(metric).mean(axis=0) for panel in panels]
            if np.any(means):
                yield Curve(metric, self.pattern, _points(self.lengths, means))


def _around(plan: Plan) -> _Around | None:
    """The lengths around the values of the one key that both sides set differently, if it has any.

    None too where the profile does not draw such an incident.
    """
    profile = plan.definition.profile
    sides = [one.params for one in plan.configurations]
    keys = [key for key in ABOUT if len({str(one[key]) for one in sides if key in one}) > 1]
    if len(keys) != 1:
        return None
    pattern = ABOUT[keys[0]]
    strata = [name for name, one in profile.strata.items() if pattern in one.patterns]
    if not strata:
        return None
    values = [float(one[keys[0]]) for one in sides]
    low, high = AROUND[0] * min(values), min(AROUND[1] * max(values), plan.definition.horizon_ms)
    lengths = _spread(low, high)
    return _Around(strata[0], pattern, f"{pattern}.duration_ms", tuple(lengths))


def _told_over_lengths(against: AgainstReference) -> list[str]:
    """Of what is worse and of what is better the metric that a reader asks for first.

    Where nothing is either, it is the one that differs most: what is rare over all faults may be
    plain in its incident.
    """
    every = against.differences
    called = [[one for one in every if one.word is word] for word in (Word.WORSE, Word.BETTER)]
    if any(called):
        return [max(those, key=_wanted).metric for those in called if those]
    differing = [one for one in every if one.differing]
    return [max(differing, key=_how_far).metric] if differing else []


def _wanted(one: Difference) -> tuple[bool, float, str]:
    """What has a line of its own first, then what differs most."""
    return one.metric in ANSWERED, *_how_far(one)


def _how_far(one: Difference) -> tuple[float, str]:
    """How far a ratio is from 1 in either direction; from none, or to none, farthest."""
    return abs(math.log(one.ratio)) if one.ratio else math.inf, one.metric


def _curve(
    experiment: Experiment,
    metric: str,
    mostly: Mostly,
    configurations: Sequence[Configuration],
    simulate: Simulate,
) -> Curve | None:
    """A metric over the length of the incident that makes most of its difference, if it has one."""
    incident, parameter = _with_length(experiment.profile, mostly)
    if not parameter:
        return None
    lengths = _lengths(experiment, parameter, mostly.stratum)
    alone = [_alone(experiment, mostly.stratum, incident, {parameter: one}) for one in lengths]
    panels = _panels(alone, configurations, simulate, f"lengths of a {_in_words(incident)}")
    means = [panel.natural(metric).mean(axis=0) for panel in panels]
    return Curve(metric, incident, _points(lengths, means))


def _points(lengths: Sequence[int], means: Sequence[Sequence[float]]) -> tuple[Point, ...]:
    return tuple(Point(one, float(a), float(b)) for one, (a, b) in zip(lengths, means, strict=True))


def _with_length(profile: FaultProfile, mostly: Mostly) -> tuple[str, str]:
    """The pattern that drew these faults, and its parameter of length; empty without one."""
    kinds = set(mostly.faults.split(","))
    patterns = profile.strata[mostly.stratum].patterns
    drew = (one for one in patterns if kinds <= {*PATTERNS[one].kinds})
    pattern = min(drew, key=lambda one: len(PATTERNS[one].kinds))
    names = (f"{pattern}.{ending}" for ending in LENGTHS)
    return pattern, next((one for one in names if one in PATTERNS[pattern].parameters), "")


def _lengths(experiment: Experiment, parameter: str, stratum: str) -> list[int]:
    """Lengths over the whole range that the profile draws from, as far as a scenario shows them."""
    profile = experiment.profile
    drawn = profile.parameters.get(parameter) or profile.parameters_in(stratum)[parameter]
    low, high = max(drawn.ends[0], 1.0), min(drawn.ends[1], experiment.horizon_ms)
    return _spread(low, high)


def _spread(low: float, high: float) -> list[int]:
    return sorted({round(one) for one in np.geomspace(low, max(low, high), POINTS)})


def _alone(experiment: Experiment, stratum: str, pattern: str, fixed: dict[str, int]) -> Experiment:
    """The experiment with one incident alone, drawn as in its stratum but for what is fixed."""
    values = {name: Distribution(choice=((value, 1.0),)) for name, value in fixed.items()}
    profile = FaultProfile(
        strata={stratum: Stratum(population=1.0, sample=1.0, patterns={pattern: 1.0})},
        parameters={**experiment.profile.parameters_in(stratum), **values},
    )
    panels = Panels(regression=PER_POINT, confirm=PER_POINT)
    return experiment.model_copy(update={"profile": profile, "panels": panels})


# ---------------------------------------------------------------------------- in words


def lines(found: Compared) -> list[str]:
    """The answer: what becomes of records, then of producers, then what is still open."""
    each = {one.metric: one for one in found.against.differences}
    scenarios = counted(found.scenarios, "scenario")
    said = [f"B ({found.b}) against A ({found.a}), {scenarios} of the cluster {found.cluster}"]
    said[0] += f"{at_rates(found.against)}:"
    said += [found.mark] if found.mark else []
    marked = differences.PROMISED if found.mark else ()
    said += [
        f"{label(name)}: {_answer(each[name])}"
        for name in ANSWERED
        if name in each and name not in marked
    ]
    said += _also(each)
    said += not_exercised(found.against)
    undecided = [one for one in each.values() if one.word is Word.UNDECIDED]
    decided_by = [one.decided_by for one in undecided if one.decided_by]
    if undecided:
        more = f"; --budget {max(decided_by)} would decide {len(decided_by)}" if decided_by else ""
        said.append(f"{len(undecided)} of {counted(len(each), 'metric')} undecided{more}")
    return [*said, *found.notes]


def _also(each: Mapping[str, Difference]) -> Iterator[str]:
    """What got worse and better besides, by name and ratio; the table has the figures."""
    others = [one for name, one in each.items() if name not in ANSWERED]
    for word in (Word.WORSE, Word.BETTER):
        told = [f"{label(one.metric)} {ratio_of(one.pair)}" for one in others if one.word is word]
        if told:
            yield f"also {word}: {', '.join(told)}"


def _answer(one: Difference) -> str:
    if not one.differing:
        return ", ".join(filter(None, (differences.SAME, differences.same(one))))
    return f"{one.word}, {differences.size(one)}"


def table(found: Compared) -> list[str]:
    """Every metric as Markdown, what guards records first; then the curve."""
    ordered = sorted(found.against.differences, key=lambda one: differences.place(one.metric))
    rows = [
        (
            _named(one),
            _value(one.pair, one.pair.before, one.year_before),
            _value(one.pair, one.pair.after, one.year_after),
            _ratio(found, one),
            f"**{one.word}**" if one.word in (Word.WORSE, Word.BETTER) else str(one.word),
            _when(found.mostly.get(one.metric)),
        )
        for one in ordered
    ]
    head = ("", f"A: {found.a}", f"B: {found.b}", "B to A", "", "most of it with")
    mark = [f"**{found.mark}**", ""] if found.mark else []
    return [*mark, *_markdown(head, rows), "", _how(found), *_curve_lines(found)]


def _ratio(found: Compared, one: Difference) -> str:
    """How B is to A; of a rule also whether a narrower one would do."""
    said = differences.ratio(one) if one.differing else "the same"
    if one.differing and one.metric in found.no_wider:
        return f"{said}; a wider rule than {found.narrower} changes nothing more"
    return said


def _named(one: Difference) -> str:
    """A metric with the unit of its figures, where they say something."""
    if one.pair.per is Per.MIX:
        return label(one.metric)
    return f"{label(one.metric)}, {unit_per(one.metric, one.pair.per)}"


def _value(pair: Figures, value: float, year: Year | None) -> str:
    """One of the two figures, a year's with its interval; nothing of a mix of incidents."""
    if not value:
        return NONE
    if pair.per is Per.MIX:
        return ""
    interval = f" ({plain(year.low)} to {plain(year.high)})" if year is not None else ""
    return f"{plain(value)}{interval}"


def _when(mostly: Mostly | None) -> str:
    return f"{_in_words(mostly.faults)} ({100 * mostly.share:.0f} %)" if mostly else ""


def _in_words(names: str) -> str:
    return names.replace("_", " ").replace(",", ", ").replace("isr", "ISR") or "nothing"


def _how(found: Compared) -> str:
    return (
        f"{found.scenarios} scenarios of cluster `{found.cluster}`, faults `{found.faults}`, seed "
        f"{SEED}; each end of an interval is one-sided at 5 %. Simulated with isr-pipeline "
        f"{found.code_version}. Incidents a year, in the whole cluster: "
        f"{found.incidents or 'not counted'}."
    )


def _curve_lines(found: Compared) -> Iterator[str]:
    for curve in found.curves:
        incident, name = _in_words(curve.incident), label(curve.metric)
        yield ""
        yield (
            f"{name[0].upper()}{name[1:]} over the length of a {incident}: "
            f"{METRICS[curve.metric].unit.total} for each, means of {PER_POINT}."
        )
        yield ""
        yield from _markdown(
            (incident, f"A: {found.a}", f"B: {found.b}"),
            [
                (
                    f"{one.length_ms / 1000:.3g} s",
                    plain(one.a),
                    "the same" if one.a == one.b else plain(one.b),
                )
                for one in curve.points
            ],
        )


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a name, A's and B's number, and words."""
    ruled = "|---|---:|---:|" + "---|" * (len(head) - 3)
    return [f"| {' | '.join(head)} |", ruled, *(f"| {' | '.join(row)} |" for row in rows)]


def write(found: Compared, folder: Path) -> None:
    """Write ``table.md`` and ``compare.json`` into a folder, which is made.

    Raises:
        InputError: they cannot be written there.
    """
    text = json.dumps(found.as_json(), indent=1, allow_nan=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "table.md").write_text("\n".join(table(found)) + "\n", encoding="utf-8")
        (folder / "compare.json").write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise InputError("compare", "--out", f"{folder} ({error.strerror})", "a folder") from None
