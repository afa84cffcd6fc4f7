"""``isr-pipeline experiment new``: an operator's question, written as an experiment.

Today's settings of a cluster are the reference; what is asked is every combination of some values
with them; the published advice of others comes along. What fits into ten minutes on two cores is
measured with a few scenarios of this very panel on this machine. Of a large cluster whole topics
are left out, the least busy first, until half of the full panel fits; then the panels are made as
large as fits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.files.checks import Bad
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.files.words import flow, shown
from isr_pipeline.base.home import config_dir
from isr_pipeline.experiment.advice import Followed, followed, published
from isr_pipeline.experiment.combinations import (
    TODAY,
    Distinct,
    combined,
    distinct,
    settings_of,
    todays,
)
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import (
    NAME,
    AskedIncidents,
    Candidate,
    Experiment,
    asked_incidents,
    load_experiment,
    standing_cluster,
)
from isr_pipeline.experiment.keys import own_values, seconds_asked, short_of_replicas
from isr_pipeline.experiment.not_modelled import limits
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.incidents import in_cluster, told
from isr_pipeline.scenarios.machine_load import disks_asked
from isr_pipeline.scenarios.model import TOPICS, Scenario, Topic, scenario_from_json
from isr_pipeline.worlds.run import run

Say = Callable[[str], object]
"""Told what is being done."""

FIRST_ANSWER_S = 480
"""Of ten minutes, what is left for simulating: Airflow, Spark, checks and the report take two."""
CORES = 2
FULL = 200
"""Scenarios of a panel of the shipped experiments."""
HORIZON_MS = 120_000
WARMUP_MS = 5_000
WANTED = FULL // 2
"""Scenarios that are worth more than topics: where fewer fit, topics are left out."""
LEAST_KEPT = 500
"""Partitions of which no topic is left out."""
BUDGET = 10
"""A night may simulate so many times its panel where it cannot decide."""
BUDGET_MINUTES = 10
SEED = 20261123
SAMPLE = 6
SAMPLE_S = 25.0
AS_TODAY = "; a name below says only what it sets"
REASONS_SHOWN = 3
"""Reasons that a refusal gives why there is nothing to compare."""


ADVICE = "advice"
"""What ``--ask`` has where published advice is to stand beside what is asked."""


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

    def as_json(self) -> dict[str, Any]:
        """Say the same as JSON has it."""
        return {
            "file": str(self.file),
            "configurations": list(self.configurations),
            "scenarios": self.scenarios,
            "said": list(self.lines),
        }


def new_experiment(
    cluster: str,
    name: str,
    faults: str,
    asks: Sequence[str],
    *,
    incidents: Sequence[str] = (),
    topics: Sequence[str] = (),
    override_topics: bool = False,
    say: Say = lambda _: None,
) -> Answer:
    """Write an experiment that asks for settings of a cluster.

    Args:
        cluster: name of a file in ``config/clusters``.
        name: of the experiment.
        faults: name of a file in ``config/faults``.
        asks: ``KEY=V1,V2`` each; ``release=3.9,4.1`` asks for releases, :data:`ADVICE` for rivals.
        incidents: ``crash=4,pause=12`` each: how many a year were counted in the cluster.
        topics: names or patterns of those that are simulated; none: as many as fit.
        override_topics: ask a key also of topics that set it for themselves.
        say: told what is being done, in a few words.

    Raises:
        InputError: a name, key, topic or kind of incident that is none, a value that the key cannot
            have or that no partition has replicas for, or a key that decides nothing here.
        Refused: everything that is asked does the same as today; the text says why.
    """
    path = _place(name)
    incidents_asked = asked_incidents("experiment new", faults, incidents)
    text = partial(_text, cluster, faults, incidents_asked)
    say("reading the cluster")
    today = standing_cluster(cluster)
    say("telling configurations apart")
    found, advice = _wanted(asks, today, override_topics=override_topics)
    asked, advised = found.asked, advice.advised
    draft = path.with_suffix(".draft.yaml")
    try:
        write_whole(draft, text(asked, advised, _Size(FULL, tuple(topics))))
        experiment = load_experiment(draft)
        count = len(configurations(experiment))
        whole_s = _seconds_a_pair(experiment, say)
        kept, pair_s = (topics, whole_s) if topics else _fitting(draft, today, whole_s, count, say)
        first = [*filter(None, [load_experiment(draft, kept).simulated])]
        scenarios = _panel(experiment, pair_s, count)
        if scenarios is None:
            if advised:
                first.append(f"published advice is left out ({len(advised)} configurations)")
            advised, count = [], len(asked) + 1
            scenarios = _panel(experiment, pair_s, count) or len(experiment.profile.strata)
        written = text(asked, advised, size := _Size(scenarios, tuple(kept)))
    finally:
        draft.unlink(missing_ok=True)
    write_whole(path, written)
    lines = [
        *_compared(today, asked, advised),
        *_year(today, incidents_asked),
        *(f"{one}; left out" for one in (*found.left_out, *advice.left_out)),
        *(line for one in advised for line in advice.in_part[one.name]),
        *own_values(today, [one.set for one in (*asked, *advised)]),
        *disks_asked(today, experiment.cluster.hourly_load),
        *_doubts(today, [one.set for one in asked], experiment),
        *(f"for the first answer {one}" for one in first),
        _takes(pair_s, whole_s, count, size),
        f"answer: isr-pipeline night run --in-process --experiment {name}",
    ]
    names = (TODAY, *(one.name for one in (*asked, *advised)))
    return Answer(path, tuple(lines), names, size.scenarios)


def _wanted(
    asks: Sequence[str], today: Scenario, *, override_topics: bool
) -> tuple[Distinct, Followed]:
    """What is asked, and the published advice beside it where that is asked for."""
    values = [one for one in asks if one != ADVICE]
    if not values:
        raise InputError(
            "--ask", "", f"{ADVICE} alone", "KEY=V1,V2 as well, which it stands beside"
        )
    wanted = combined(values, today, override_topics=override_topics)
    found = distinct(wanted, today)
    if not found.asked:
        raise Refused(_nothing(found.left_out))
    rivals = published() if ADVICE in asks else ()
    return found, followed(rivals, today, _of_topics(wanted), found.effects)


def _of_topics(wanted: Sequence[Candidate]) -> set[str]:
    """Keys that are also asked of topics that set them for themselves."""
    prefix = f"{TOPICS}."
    named = (key for one in wanted for key in one.set)
    return {key.removeprefix(prefix) for key in named if key.startswith(prefix)}


def _place(name: str) -> Path:
    try:
        NAME.read(name)
    except Bad as bad:
        raise InputError("experiment new", "--name", shown(name), bad.allowed) from None
    path = config_dir() / "experiments" / f"{name}.yaml"
    if path.exists():
        allowed = f"a name that {path.parent} does not have"
        raise InputError("experiment new", "--name", name, allowed)
    return path


# ---------------------------------------------------------------------------- how much of it


def _seconds_a_pair(experiment: Experiment, say: Say) -> float:
    """Measure what a scenario of the panel takes under today's settings.

    In processor time: what else the machine does while this is asked says nothing about the night.
    """
    source = experiment.source
    of_whom = (
        experiment.simulated.partition(" simulated")[0]
        if experiment.simulated
        else "the whole cluster"
    )
    say(f"simulating a first scenario, {of_whom}; a new kernel is compiled before")
    first = scenario_from_json(draw_scenario(source, "regression", 0).scenario_json)
    run(first)
    begin, done = time.process_time(), 0
    for index in range(SAMPLE):
        say(f"simulating scenario {index + 1} of {SAMPLE}, {of_whom}")
        row = draw_scenario(source, "regression", index * FULL // SAMPLE)
        run(scenario_from_json(row.scenario_json), events=True)
        done += 1
        if time.process_time() - begin > SAMPLE_S:
            break
    return (time.process_time() - begin) / done


@dataclass(frozen=True, slots=True)
class _Size:
    """Scenarios of a panel, and the topics that are simulated; none: all."""

    scenarios: int
    topics: tuple[str, ...] = ()


def _fitting(
    draft: Path, today: Scenario, whole_s: float, count: int, say: Say
) -> tuple[Sequence[str], float]:
    """Leave out topics, the least busy first, until the wanted scenarios fit.

    Returns:
        Names of those that are simulated, none if it is all; the seconds that a pair then takes.
    """
    fits_s = FIRST_ANSWER_S * CORES / (WANTED * count)
    kept, pair_s, names = sorted(today.topics, key=_rate, reverse=True), whole_s, list[str]()
    while pair_s > fits_s and len(kept) > 1 and _partitions(kept) > LEAST_KEPT:
        most = max(LEAST_KEPT, 0.9 * _partitions(kept) * fits_s / pair_s)
        while len(kept) > 1 and _partitions(kept) > most:
            kept.pop()
        names = [one.name for one in kept]
        smaller = load_experiment(draft, names)
        say(f"leaving out topics: {smaller.simulated}")
        pair_s = _seconds_a_pair(smaller, say)
    return names, pair_s


def _rate(topic: Topic) -> float:
    """Records a second of all its partitions."""
    return sum(
        own.get(number, stream.records_per_s)
        for stream, own in ((stream, stream.rates()) for stream in topic.produce)
        for number in topic.assignment
        if stream.partitions is None or number in stream.partitions
    )


def _partitions(topics: Sequence[Topic]) -> int:
    return sum(len(topic.assignment) for topic in topics)


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
    incidents: AskedIncidents,
    asked: Sequence[Candidate],
    advised: Sequence[Candidate],
    size: _Size,
) -> str:
    lines = [
        f"description: {flow(f'Which settings for {cluster}? Today is the reference.')}",
        f"seed: {SEED}",
        f"cluster: {flow(cluster)}",
        *([f"topics: {flow(size.topics)}"] if size.topics else []),
        f"faults: {flow(faults)}",
        *([f"incidents: {flow(incidents.counts)}"] if incidents.counts else []),
        *([f"lengths_ms: {flow(incidents.lengths_ms)}"] if incidents.lengths_ms else []),
        f"horizon_ms: {HORIZON_MS}",
        f"warmup_ms: {WARMUP_MS}",
        f"panels: {{regression: {size.scenarios}, confirm: {size.scenarios}}}",
        f"budget: {{scenarios: {BUDGET * size.scenarios}, minutes: {BUDGET_MINUTES}}}",
        "reference: today",
        "groups:",
        "  - name: asked",
        "    asked: true",
        "    candidates:",
        "      - {name: today, why: The cluster's settings as they stand.}",
    ]
    lines += map(_candidate, asked)
    if advised:
        lines += ["  - name: published-advice", "    candidates:", *map(_candidate, advised)]
    return "\n".join(lines) + "\n"


def _candidate(one: Candidate) -> str:
    why = f", why: {flow(one.why)}" if one.why else ""
    return f"      - {{name: {flow(one.name)}{why}, set: {flow(one.set)}}}"


def _compared(
    today: Scenario,
    asked: Sequence[Candidate],
    advised: Sequence[Candidate],
) -> Iterator[str]:
    """Say what will be compared: what was asked by its name, what sets what."""
    count = 1 + len(asked) + len(advised)
    rivals = f", {len(advised)} published" if advised else ""
    yield f"{count} configurations: {TODAY}, {len(asked)} asked{rivals}"
    keys = dict.fromkeys(key for one in asked for key in one.set)
    values = settings_of(todays([*keys], today))
    several = any(len(one.set) < len(keys) for one in asked)
    yield f"  {TODAY}: {values}{AS_TODAY if several else ''}"
    for one in asked:
        yield f"  {one.name}{f': {one.why}' if one.why else ''}"
    for one in advised:
        yield f"  {one.name}: {settings_of(one.set)}"


def _year(today: Scenario, asked: AskedIncidents) -> Iterator[str]:
    incidents = in_cluster(asked.kinds, today, asked.counts)
    if incidents:
        yield f"incidents a year, in the whole cluster: {told(incidents, asked.counts)}"


def _doubts(
    today: Scenario, asked: Sequence[Mapping[str, Any]], experiment: Experiment
) -> Iterator[str]:
    yield from short_of_replicas(today, asked)
    yield from seconds_asked(today, asked)
    yield from limits(experiment)


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
    where = "panels and topics" if size.topics else "panels"
    return (
        f"{less} for the first answer ({takes}); the full one takes "
        f"{_minutes(whole_s, count, FULL)}: {where} in the file"
    )
