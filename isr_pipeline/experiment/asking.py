"""``isr-pipeline experiment new``: an operator's question, written as an experiment.

Today's settings of a cluster are the reference; what is asked is the product of some values; the
published advice of others comes along. What fits into ten minutes on two cores is
measured with a few scenarios of this very panel on this machine. Of a large cluster only some
partitions are kept, as few as leave room for half of the full panel; then the panels are made as
large as fits.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from isr_pipeline.clusters.write import flow
from isr_pipeline.errors import InputError, Refused
from isr_pipeline.experiment.advice import ADVICE, ASKED, PUBLISHED, followed
from isr_pipeline.experiment.distinct import (
    RELEASE,
    TODAY,
    Asked,
    distinct,
    laid_over,
    settings_of,
    todays,
)
from isr_pipeline.experiment.file import (
    NAME,
    Experiment,
    ReductionEntry,
    find_named,
    healthy_scenario,
    load_experiment,
)
from isr_pipeline.experiment.grid import SWITCHED_BY, configurations
from isr_pipeline.experiment.keys import PROPOSALS
from isr_pipeline.experiment.own_values import everyone, own_values
from isr_pipeline.experiment.reads import switched_off, why_not
from isr_pipeline.experiment.replicas import KEY as MIN_ISR
from isr_pipeline.experiment.replicas import check_replicas, short_of_replicas
from isr_pipeline.files.checks import Bad
from isr_pipeline.files.reading import parse_value
from isr_pipeline.files.whole import write_whole
from isr_pipeline.files.words import close_or_all, shown, with_list
from isr_pipeline.home import config_dir
from isr_pipeline.kafka.broker_config import KEYS, UNREAD
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.incidents import Incident, check_kinds, counts_of, told
from isr_pipeline.scenarios.model import (
    KEYS_COMMAND,
    TOPIC_KEYS,
    TOPICS,
    Scenario,
    check,
    check_overrides,
    scenario_from_json,
)
from isr_pipeline.scenarios.reduction import fewest_kept
from isr_pipeline.scenarios.rule_set_files import release_named, release_names
from isr_pipeline.worlds.run import run

Say = Callable[[str], object]
"""Told what is being done."""

ASKED_RELEASE = "release"
FIRST_ANSWER_S = 480
"""Of ten minutes, what is left for simulating: Airflow, Spark, checks and the report take two."""
CORES = 2
FULL = 200
"""Scenarios of a panel of the shipped experiments."""
HORIZON_MS = 120_000
WARMUP_MS = 5_000
WANTED = FULL // 2
"""Scenarios that are worth more than partitions: where fewer fit, some partitions stand for all."""
LEAST_KEPT = 500
"""No fewer partitions are kept than this."""
BUDGET = 10
"""A later night may simulate so many times its panel where it cannot decide."""
BUDGET_MINUTES = 10
SEED = 20261123
SAMPLE = 6
SAMPLE_S = 25.0
CONFIGURATIONS_MAX = 200
REASONS_SHOWN = 3
"""Reasons that a refusal gives why there is nothing to compare."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was written, and what a reader has to know of it.

    Attributes:
        file: the experiment's.
        lines: for the terminal.
        configurations: names of what is compared, today's first.
        scenarios: in a panel.
    """

    file: Path
    lines: tuple[str, ...]
    configurations: tuple[str, ...]
    scenarios: int


def new_experiment(
    name: str,
    cluster: str,
    faults: str,
    asks: Sequence[str],
    *,
    incidents: Sequence[str] = (),
    override_topics: bool = False,
    say: Say = lambda _: None,
) -> Answer:
    """Write an experiment that asks for settings of a cluster.

    Args:
        name: of the experiment.
        cluster: name of a file in ``config/clusters``.
        faults: name of a file in ``config/faults``.
        asks: ``KEY=V1,V2`` each; ``release=3.7+,4.1`` asks for releases.
        incidents: ``crash=4,pause=12`` each: how many a year were counted in the cluster.
        override_topics: ask a key also of topics that set it for themselves.
        say: told what is being done, in a few words.

    Raises:
        InputError: a name, key or kind of incident that is none, a value that the key cannot have
            or that no partition has replicas for, or a key that brokers of the release do not have,
            that nothing reads here or that nobody here takes from the cluster.
        Refused: everything that is asked does the same as today; the text says why.
    """
    path = _place(name, cluster, faults)
    counts = counts_of(incidents, "--incidents")
    text = partial(_text, cluster, faults, counts)
    draft = Path(str(path.with_suffix("")) + ".draft.yaml")
    try:
        say("reading the cluster")
        write_whole(draft, _text(cluster, faults, {}, [Asked(TODAY, {})], [], _Size(FULL)))
        today = _today(draft, counts, str(path))
        say("telling configurations apart")
        wanted = list(_product(asks, today, override_topics=override_topics))
        advice = followed(PUBLISHED, today, _of_topics(wanted))
        found = distinct(wanted, advice.configurations, today)
        asked, advised = found.asked, found.advised
        if not asked:
            raise Refused(_nothing(found.left_out[: len(wanted)]))
        write_whole(draft, text(asked, advised, _Size(FULL)))
        experiment = load_experiment(draft)
        count = len(configurations(experiment))
        whole_s = _seconds_a_pair(experiment, say)
        kept, pair_s = _reduction(draft, today, whole_s, count, say)
        first = [kept.reduced] if kept.reduced else []
        scenarios = _panel(experiment, pair_s, count)
        if scenarios is None:
            first.append(f"published advice is left out ({len(advised)} configurations)")
            advised, count = [], len(asked) + 1
            scenarios = _panel(experiment, pair_s, count) or len(experiment.profile.strata)
        size = _Size(scenarios, kept.partitions)
        written = text(asked, advised, size)
    finally:
        draft.unlink(missing_ok=True)
    write_whole(path, written)
    names = (TODAY, *(one.name for one in (*asked, *advised)))
    lines = [
        *_compared(today, asked, advised, experiment.profile.incidents, counts),
        *(f"{one}; left out" for one in (*found.left_out, *advice.left_out)),
        *(one for one in advice.in_part if one.partition(":")[0] in names),
        *own_values(today, [one.overrides for one in (*asked, *advised)]),
        *short_of_replicas(today, [one.overrides for one in asked]),
        *(f"for the first answer {one}" for one in first),
        _takes(pair_s, whole_s, count, size),
        f"answer: isr-pipeline night run --experiment {name}",
    ]
    return Answer(path, tuple(lines), names, size.scenarios)


def _today(draft: Path, counts: Mapping[str, float], where: str) -> Scenario:
    """The cluster as it stands, whose incidents may be counted so."""
    experiment = load_experiment(draft)
    check_kinds(counts, experiment.profile.incidents, "--incidents")
    return healthy_scenario(experiment, where)


def _place(name: str, cluster: str, faults: str) -> Path:
    """Where the experiment goes, if there is everything that it names."""
    try:
        NAME.read(name)
    except Bad as bad:
        raise InputError("experiment new", "NAME", shown(name), bad.allowed) from None
    path = config_dir() / "experiments" / f"{name}.yaml"
    if path.exists():
        raise InputError("experiment new", "NAME", name, f"a name that {path.parent} does not have")
    find_named("experiment new", "--cluster", "clusters", cluster)
    find_named("experiment new", "--faults", "faults", faults)
    return path


# ---------------------------------------------------------------------------- what is asked


def _product(asks: Sequence[str], today: Scenario, *, override_topics: bool) -> Iterator[Asked]:
    """Every combination of the asked values."""
    read_by = [today, *_under_what_is_asked(asks, today)]
    axes = [_axis(one, read_by, override_topics=override_topics) for one in asks]
    keys = [key for key, _ in axes]
    if not axes:
        raise InputError("experiment new", "--ask", "nothing", "KEY=V1,V2 at least once")
    for key in keys:
        if keys.count(key) > 1:
            raise InputError("--ask", key, "asked twice", "each key once, with all its values")
    total = 1
    for _, values in axes:
        total *= len(values)
    if total > CONFIGURATIONS_MAX:
        raise InputError("--ask", "", f"{total} combinations", f"at most {CONFIGURATIONS_MAX}")
    for point in itertools.product(*(values for _, values in axes)):
        overrides: dict[str, Any] = {}
        for key, value in zip(keys, point, strict=True):
            overrides[RELEASE if key == ASKED_RELEASE else key] = value
        name = _named(overrides)
        if override_topics:
            both = {f"{TOPICS}.{key}": v for key, v in overrides.items() if key in TOPIC_KEYS}
            overrides |= both
        asked = Asked(name, overrides)
        try:
            check(laid_over(today, asked), "--ask")
        except InputError as error:
            raise InputError("--ask", error.field, error.given, error.allowed) from None
        yield asked


def _under_what_is_asked(asks: Sequence[str], today: Scenario) -> Iterator[Scenario]:
    """The cluster under each asked release and switch: a key may decide something only there.

    A release that this cluster cannot have is left out here; its combinations say why.
    """
    axes = [_deciding(ask) for ask in asks]
    for point in itertools.product(*(axis for axis in axes if axis)):
        under = laid_over(today, Asked("asked", dict(point)))
        try:
            check(under, "--ask")
        except InputError:
            continue
        yield under


def _deciding(ask: str) -> list[tuple[str, Any]]:
    """What of a question decides whether other keys are read: releases, or a switch that is on."""
    key, _, values = ask.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if key == ASKED_RELEASE:
        return [(RELEASE, _release(part)) for part in parts]
    return [(key, True)] if key in SWITCHED_BY.values() and "true" in parts else []


def _of_topics(wanted: Sequence[Asked]) -> set[str]:
    """Keys that are also asked of topics that set them for themselves."""
    prefix = f"{TOPICS}."
    named = (key for one in wanted for key in one.overrides)
    return {key.removeprefix(prefix) for key in named if key.startswith(prefix)}


def _axis(ask: str, read_by: Sequence[Scenario], *, override_topics: bool) -> tuple[str, list[Any]]:
    """One question's key, and its values, read and checked.

    Args:
        ask: ``KEY=V1,V2``.
        read_by: the cluster today, then under each asked release and switch.
        override_topics: whether topics that set the key take the values too.
    """
    key, equals, values = ask.partition("=")
    if not equals or not values:
        raise InputError("--ask", "", shown(ask), "KEY=V1,V2")
    parts = [part.strip() for part in values.split(",")]
    if len(set(parts)) < len(parts):
        raise InputError("--ask", key, values, "each value once")
    if key == ASKED_RELEASE:
        return key, [_release(part) for part in parts]
    _check_key(key, read_by)
    _check_takers(key, read_by[0], override_topics=override_topics)
    read = [parse_value(part, f"--ask {key}") for part in parts]
    checked = [check_overrides({key: one}, "--ask", "")[key] for one in read]
    if key == MIN_ISR:
        check_replicas(checked, read_by[0], override_topics=override_topics)
    return key, checked


def _release(text: str) -> str:
    named = release_named(text, Path())
    try:
        check_overrides({RELEASE: named}, "--ask", "")
    except InputError:
        allowed = f"a release of Kafka, such as 3.9.1, or {', '.join(release_names())}"
        raise InputError("--ask", ASKED_RELEASE, shown(text), allowed) from None
    return text


def _check_key(key: str, read_by: Sequence[Scenario]) -> None:
    """Refuse a key that no broker can be given, or that decides nothing.

    Args:
        key: of Kafka.
        read_by: the cluster today, then under each asked release and switch: one that reads it
            suffices.
    """
    readable = [one for one in KEYS if one not in UNREAD and one not in PROPOSALS]
    if key not in KEYS:
        allowed = with_list(close_or_all(key, [ASKED_RELEASE, *readable]), KEYS_COMMAND)
        raise InputError("--ask", key, "unknown key", allowed)
    reasons = [why_not(key, one) for one in read_by]
    if all(reasons):
        switch = switched_off(key, read_by[0])
        also = f", or --ask {switch}=true as well" if switch else ""
        allowed = f"a key that decides something in this cluster{also}"
        raise InputError("--ask", key, reasons[0], allowed)


def _check_takers(key: str, today: Scenario, *, override_topics: bool) -> None:
    """Refuse a key that nobody takes from the cluster: no value of the cluster changes anything."""
    who = everyone(today, key)
    if who == "topic" and override_topics:
        return
    instead = {
        "topic": "--override-topics, which asks it of the topics too",
        "broker": "a key that some broker takes from the cluster's settings",
    }
    if who:
        given = f"every {who} has its own value, and keeps it"
        raise InputError("--ask", key, given, instead[who])


def _named(overrides: Mapping[str, Any]) -> str:
    """Name a configuration by its values: ``lag.time.max.ms-5000``."""
    parts = []
    for key, value in overrides.items():
        short = re.sub(r"^(replica|broker|leader|cluster|zookeeper)\.", "", key)
        parts.append(f"{short}-{str(value).lower()}")
    name = re.sub(r"[^a-z0-9._+-]", "-", "_".join(parts))
    return name if len(name) <= 60 else f"{name[:51]}-{abs(hash_of(name)):08x}"


def hash_of(text: str) -> int:
    """A number of eight hexadecimal digits that stands for a text."""
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return value


# ---------------------------------------------------------------------------- how much of it


def _seconds_a_pair(experiment: Experiment, say: Say) -> float:
    """Measure what a scenario of the panel takes under today's settings.

    In processor time: what else the machine does while this is asked says nothing about the night.
    """
    source = experiment.source
    of_whom = (
        f"with {experiment.reduced.partition(' (')[0]}"
        if experiment.reduced
        else "the whole cluster"
    )
    say(f"simulating a first scenario, {of_whom}; a new kernel is compiled before")
    first = scenario_from_json(draw_scenario(source, "regression", "2026-01-01", 0).scenario_json)
    run(first)
    begin, done = time.process_time(), 0
    for index in range(SAMPLE):
        say(f"simulating scenario {index + 1} of {SAMPLE}, {of_whom}")
        row = draw_scenario(source, "regression", "2026-01-01", index * FULL // SAMPLE)
        run(scenario_from_json(row.scenario_json), events=True)
        done += 1
        if time.process_time() - begin > SAMPLE_S:
            break
    return (time.process_time() - begin) / done


@dataclass(frozen=True, slots=True)
class _Kept:
    """Which partitions are simulated: how many, and the sentence that says so; all if empty."""

    partitions: int | None = None
    reduced: str = ""


@dataclass(frozen=True, slots=True)
class _Size:
    """Scenarios of a panel, and how many partitions are kept; None: all."""

    scenarios: int
    partitions: int | None = None


def _reduction(
    draft: Path, today: Scenario, whole_s: float, count: int, say: Say
) -> tuple[_Kept, float]:
    """Keep fewer partitions until the wanted scenarios fit, or no fewer can be kept.

    Returns:
        What is kept, and the seconds that a pair then takes.
    """
    fits_s = FIRST_ANSWER_S * CORES / (WANTED * count)
    partitions = sum(len(topic.assignment) for topic in today.topics)
    least = max(LEAST_KEPT, fewest_kept(today))
    kept, pair_s, reduced = partitions, whole_s, ""
    while pair_s > fits_s and kept > least:
        kept = max(least, _two_digits(0.9 * kept * fits_s / pair_s))
        say(f"choosing {kept} of {partitions} partitions")
        smaller = load_experiment(draft, ReductionEntry(partitions=kept))
        pair_s, reduced = _seconds_a_pair(smaller, say), smaller.reduced
    return _Kept(kept if reduced else None, reduced), pair_s


def _two_digits(number: float) -> int:
    return int(float(f"{number:.2g}"))


def _panel(experiment: Experiment, pair_s: float, count: int) -> int | None:
    """Scenarios that fit into the first answer; None if not even one of each stratum does."""
    fits = int(FIRST_ANSWER_S * CORES / (pair_s * count))
    least = len(experiment.profile.strata)
    return min(FULL, fits) if fits >= least else None


def _minutes(pair_s: float, count: int, size: int) -> str:
    minutes = (pair_s * count * size / CORES + (600 - FIRST_ANSWER_S)) / 60
    if minutes > 120:
        return f"about {round(minutes / 60)} hours"
    return f"about {max(1, round(minutes))} minutes"


# ---------------------------------------------------------------------------- what is written


def _text(
    cluster: str,
    faults: str,
    counts: Mapping[str, float],
    asked: Sequence[Asked],
    advised: Sequence[Asked],
    size: _Size,
) -> str:
    lines = [
        f"description: {flow(f'Which settings for {cluster}? Today is the reference.')}",
        f"seed: {SEED}",
        f"cluster: {flow(cluster)}",
        *([f"reduction: {{partitions: {size.partitions}}}"] if size.partitions else []),
        f"faults: {flow(faults)}",
        *([f"incidents: {flow(counts)}"] if counts else []),
        f"horizon_ms: {HORIZON_MS}",
        f"warmup_ms: {WARMUP_MS}",
        f"panels: {{regression: {size.scenarios}, confirm: {size.scenarios}, fresh: 0}}",
        *([_budget(size.scenarios)] if size.scenarios < FULL else []),
        "reference: today",
        "groups:",
        f"  - name: {ASKED}",
        "    candidates:",
        "      - {name: today, why: The cluster's settings as they stand.}",
    ]
    for title, those in (("", asked), (ADVICE, advised)):
        if title and those:
            lines += [f"  - name: {title}", "    candidates:"]
        for one in those:
            if one.name == TODAY:
                continue
            why = f", why: {flow(one.why)}" if one.why else ""
            lines.append(f"      - {{name: {flow(one.name)}{why}, set: {flow(one.overrides)}}}")
    return "\n".join(lines) + "\n"


def _budget(scenarios: int) -> str:
    """A budget for later nights that goes with smaller panels."""
    return f"budget: {{scenarios: {BUDGET * scenarios}, minutes: {BUDGET_MINUTES}}}"


def _compared(
    today: Scenario,
    asked: Sequence[Asked],
    advised: Sequence[Asked],
    incidents: Mapping[str, Incident],
    counts: Mapping[str, float],
) -> Iterator[str]:
    """Say what will be compared: what was asked by its name, what sets what, in which year."""
    count = 1 + len(asked) + len(advised)
    yield f"{count} configurations: {TODAY}, {len(asked)} asked, {len(advised)} published"
    keys = dict.fromkeys(key for one in asked for key in one.overrides)
    yield f"  {TODAY}: {settings_of(todays([*keys], today))}"
    for one in asked:
        yield f"  {one.name}"
    for one in advised:
        yield f"  {one.name}: {settings_of(one.overrides)}"
    if incidents:
        yield f"incidents a year: {told(incidents, counts)}"


def _nothing(left_out: Sequence[str]) -> str:
    """The answer where all that was asked does the same as today, or as the rest of it."""
    more = len(left_out) - REASONS_SHOWN
    rest = f"; and {more} more" if more > 0 else ""
    said = "; ".join(left_out[:REASONS_SHOWN])
    return f"--ask: nothing to compare: {said}{rest}; allowed: a value that changes something"


def _takes(pair_s: float, whole_s: float, count: int, size: _Size) -> str:
    """Say how long the night takes, and how long the full one."""
    takes = _minutes(pair_s, count, size.scenarios)
    if size == _Size(FULL):
        return f"{FULL} scenarios, {takes}"
    less = f"{size.scenarios} scenarios"
    if size.scenarios < FULL:
        less += f" instead of {FULL}"
    where = "panels and reduction" if size.partitions else "panels"
    return (
        f"{less} for the first answer ({takes}); the full one takes "
        f"{_minutes(whole_s, count, FULL)}: {where} in the file"
    )
