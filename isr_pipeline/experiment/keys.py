"""Keys: all that an experiment, a cluster or a scenario may set, and what one decides in a cluster.

``isr-pipeline keys`` lists them. Kafka's keys with their ranges come from
:mod:`isr_pipeline.kafka.broker_config`, switches, service times and produce streams from the models
that read them; who reads a key, and its default in each release, are asked of the code that decides
it. In a cluster a key may decide nothing: no rule reads it there, all topics or brokers have a
value of their own, as in Kafka, or no partition has the replicas that it asks for.

What a key decides and where that was read is said in ``keys.yaml``.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import one_of
from isr_pipeline.base.files.models import Strict, check_of, validated
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.files.words import counted, shown
from isr_pipeline.experiment.configurations import (
    MIN_ISR,
    SWITCHED_BY,
    Param,
    effective,
    most_replicas,
    resolved_params,
)
from isr_pipeline.kafka.broker_config import KEYS, UNREAD, perhaps_seconds
from isr_pipeline.kafka.known_keys import known_key, unknown
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.release_numbers import told_defects
from isr_pipeline.kafka.releases import KIP501_BEHIND_KEY, KIP501_VARIANTS, RELEASES, RULE_SETS
from isr_pipeline.scenarios.cluster_file import StreamEntry
from isr_pipeline.scenarios.model import (
    KEYS_COMMAND,
    TOPIC_KEYS,
    TOPICS,
    Cluster,
    Rules,
    Scenario,
    Service,
    Topic,
    apply,
    parse_scenario,
)
from isr_pipeline.scenarios.streams import ProduceStream

PROPOSALS = ("follower.fetch.pending.reads.insync.enable", "follower.fetch.process.time.max.ms")
"""Keys of proposals, which no released broker takes."""

BROKERS_LISTED = 3
"""Brokers whose own value is told; of more, only how many there are."""

NAMES_SHOWN = 3
"""Configurations that are named where a key is not read; of more, only how many there are."""


_FILE = Path(__file__).with_name("keys.yaml")

_RELEASE = one_of(*RELEASES)


class About(Strict):
    """A row of ``keys.yaml``, where every field is explained."""

    meaning: str
    source: str
    first: Annotated[str, _RELEASE] = RELEASES[0]
    last: Annotated[str, _RELEASE] = RELEASES[-1]
    unit: str = ""
    note: str = ""


@functools.cache
def about() -> Mapping[str, About]:
    """What is said of each key of Kafka.

    Raises:
        InputError: of ``keys.yaml``, which is part of the package.
    """
    rows = read_mapping(_FILE)
    return {name: validated(About, row, str(_FILE), (name,)) for name, row in rows.items()}


_UNITS = (
    (("bytes_per_s",), "bytes/s"),
    (("_per_s",), "1/s"),
    ((".ms", "_ms"), "ms"),
    (("_us",), "µs"),
    ((".seconds",), "s"),
    ((".bytes", "_bytes"), "bytes"),
    ((".percentage",), "%"),
    (("_per_batch",), "records"),
    (("minutes",), "min"),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that can be set.

    Attributes:
        name: as a configuration of an experiment, or ``--set``, writes it.
        group: ``kafka``, ``cluster``, ``rules``, ``service`` or ``produce``.
        meaning: what it decides.
        unit: of its value; empty: a number without one, a word or a truth.
        allowed: what may stand there, in words.
        default: in the newest rule set.
        defaults: rule set -> default there, where it is another one.
        rule_sets: those whose releases have it.
        read_by: those of them whose simulated rules read it, under some controller.
        set_in: file -> how it is written there.
        source: where it was read.
        note: why the range or the default is what it is.
    """

    name: str
    group: str
    meaning: str
    unit: str
    allowed: str
    default: Param | None
    defaults: dict[str, Param]
    rule_sets: tuple[str, ...]
    read_by: tuple[str, ...]
    set_in: dict[str, str]
    source: str
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """The entry as JSON has it."""
        return asdict(self)


def unit_of(name: str) -> str:
    """The unit that a name ends with, or ``keys.yaml`` has; empty if there is none."""
    row = about().get(name)
    if row is not None and row.unit:
        return row.unit
    return next((unit for ends, unit in _UNITS if name.endswith(ends)), "")


def entries() -> tuple[Entry, ...]:
    """Everything that can be set, Kafka's keys first."""
    return (
        *(_kafka(name) for name in KEYS),
        *_of_model("cluster", Cluster, ("release", "controller", "replication_listener")),
        *_of_model("rules", Rules, Rules.model_fields),
        *_of_model("service", Service, Service.model_fields),
        *_produce(),
    )


def found(word: str) -> tuple[Entry, ...]:
    """Entries whose name, meaning or source has a word; one alone if it is a name.

    Raises:
        InputError: none has it; the line names the nearest.
    """
    every = entries()
    wanted = word.casefold()
    exact = tuple(one for one in every if one.name.casefold() == wanted)
    if exact:
        return exact
    hits = tuple(
        one for one in every if wanted in f"{one.name} {one.meaning} {one.source}".casefold()
    )
    if not hits:
        given, allowed = unknown(word, [one.name for one in every], KEYS_COMMAND)
        raise InputError("keys", "WORD", f"{shown(word)}, {given}", allowed)
    return hits


WHOLE_MAX = 5
"""Entries up to which all of each is shown."""


def lines(chosen: tuple[Entry, ...]) -> list[str]:
    """Entries for a person: all of a few, or one line each under the heading of its group."""
    if len(chosen) <= WHOLE_MAX:
        return [line for one in chosen for line in _whole(one)]
    said: list[str] = []
    group = ""
    for one in chosen:
        if one.group != group:
            said += [*([""] if group else []), _HEADINGS[one.group]]
            group = one.group
        unit = f" {one.unit}" if one.unit else ""
        said.append(f"  {one.name:<46} {shown(one.default)}{unit}")
    return said


_HEADINGS = {
    "kafka": "Kafka's keys, with the default of the newest release",
    "cluster": "the cluster",
    "rules": "switches of the rules that are no Kafka key; null follows the release",
    "service": "service times of a healthy broker",
    "produce": "a topic's load, in a scenario or a cluster file",
}


def _whole(one: Entry) -> list[str]:
    unit = f" {one.unit}" if one.unit else ""
    said = [one.name, f"    {one.meaning}"]
    said.append(f"    allowed       {one.allowed}{f' ({one.unit})' if one.unit else ''}")
    said.append(f"    default       {shown(one.default)}{unit}")
    for value, names in _by_value(one.defaults).items():
        said.append(f"                  {value}{unit} in {', '.join(names)}")
    if one.rule_sets != RELEASES:
        said.append(f"    releases      {', '.join(one.rule_sets) or 'none: a proposal'}")
    if one.read_by != RELEASES:
        said.append(f"    read by       {', '.join(one.read_by) or 'no simulated rule'}")
    said += [f"    {f'in {where}':<14}{how}" for where, how in one.set_in.items()]
    said += [f"    source        {one.source}"] if one.source else []
    said += [f"    note          {one.note}"] if one.note else []
    return said


def _by_value(defaults: Mapping[str, Param]) -> dict[str, list[str]]:
    """A default as it is written -> the rule sets that have it."""
    names: dict[str, list[str]] = {}
    for name, value in defaults.items():
        names.setdefault(shown(value), []).append(name)
    return names


# ---------------------------------------------------------------------------- the parts


def _kafka(name: str) -> Entry:
    key = KEYS[name]
    row = about()[name]
    there = RELEASES[RELEASES.index(row.first) : RELEASES.index(row.last) + 1]
    default, defaults = _defaults(name)
    topic = f" (a topic's own: topics.{name})" if name in TOPIC_KEYS else ""
    return Entry(
        name=name,
        group="kafka",
        meaning=row.meaning,
        unit=unit_of(name),
        allowed=key.allowed,
        default=default,
        defaults=defaults,
        rule_sets=() if name in PROPOSALS else there,
        read_by=() if name in UNREAD else tuple(one for one in _readers()[name] if one in there),
        set_in={
            "experiment": f"set: {{{name}: …}}{topic}",
            "cluster": f"settings: {{{name}: …}}",
            "scenario": f"config: {{{name}: …}}",
        },
        source=row.source,
        note=row.note,
    )


def _of_model(group: str, model: type[Strict], fields: Iterable[str]) -> Iterable[Entry]:
    given = group == "cluster"
    for field in fields:
        name, info = f"{group}.{field}", model.model_fields[field]
        of_all = None if info.is_required() else info.default
        default, defaults = (of_all, {}) if given else _defaults(name)
        yield Entry(
            name=name,
            group=group,
            meaning=str(info.description),
            unit=unit_of(field),
            allowed=check_of(model, field).allowed,
            default=default,
            defaults=defaults,
            rule_sets=RELEASES,
            read_by=RELEASES if given else _readers()[name],
            set_in={
                "experiment": f"set: {{{name}: …}}",
                "cluster": f"{field}: …" if given else f"{group}: {{{field}: …}}",
                "scenario": f"{group}: {{{field}: …}}",
            },
            source="",
        )


def _produce() -> Iterable[Entry]:
    for field, one in ProduceStream.model_fields.items():
        here = {"scenario": f"topics: [{{produce: {{{field}: …}}}}]"}
        note = ""
        if field in StreamEntry.model_fields:
            here = {"cluster": f"topics: [{{produce: [{{{field}: …}}]}}]", **here}
            note = f"the default in a cluster file is {StreamEntry.model_fields[field].default}"
        yield Entry(
            name=f"produce.{field}",
            group="produce",
            meaning=str(one.description),
            unit="records/s" if field == "records_per_s" else unit_of(field),
            allowed=check_of(ProduceStream, field).allowed,
            default=one.default if isinstance(one.default, (str, int, float)) else None,
            defaults={},
            rule_sets=RELEASES,
            read_by=RELEASES,
            set_in=here,
            source="",
            note=note,
        )


def _defaults(name: str) -> tuple[Param | None, dict[str, Param]]:
    """The newest release's default, and those of the releases that have another one."""
    params = _params_by_release()
    newest = params[RELEASES[-1]].get(name)
    others = {one: params[one][name] for one in RELEASES if params[one].get(name) != newest}
    return newest, others


def _resolved(release: str, controller: str, **config: Param) -> dict[str, Param]:
    """What a cluster of a release has in effect where nothing else is said."""
    frame = {
        "scenario_id": "defaults",
        "horizon_ms": 1000,
        "cluster": {"release": release, "controller": controller, "brokers": [1]},
        "topics": [{"name": "t", "assignment": {0: [1]}}],
        "config": config,
        "rules": {"kip501": "s2"} if config else {},
    }
    return resolved_params(parse_scenario(frame, "keys"))


@functools.cache
def _params_by_release() -> dict[str, dict[str, Param]]:
    """Rule set -> defaults, under KRaft where it has that."""
    return {
        name: _resolved(name, "kraft" if one.kraft else "zookeeper")
        for name, one in RULE_SETS.items()
    }


@functools.cache
def _readers() -> dict[str, tuple[str, ...]]:
    """Name -> rule sets that read it under some controller, with Solution 2 switched on."""
    enabled, elr = PROPOSALS[0], "eligible.leader.replicas.version"
    found_by: dict[str, list[str]] = {
        name: [] for one in _params_by_release().values() for name in one
    }
    for name, rule_set in RULE_SETS.items():
        reads = {enabled}
        for controller in ("kraft", "zookeeper") if rule_set.kraft else ("zookeeper",):
            config: dict[str, Param] = {enabled: True}
            reads |= set(effective(_resolved(name, controller, **config | {elr: 0})))
        for key in reads & set(found_by):
            found_by[key].append(name)
    return {name: tuple(releases) for name, releases in found_by.items()}


# ------------------------------------------------------------------------- one key in one cluster


def switched_off(key: str, today: Scenario) -> str:
    """Key that would have to be true for this one to be read; empty if none is missing."""
    params = resolved_params(today)
    switch = SWITCHED_BY.get(key)
    if switch is None or params[switch]:
        return ""
    return switch if key in effective({**params, switch: True}) else ""


def why_not(key: str, today: Scenario) -> str:
    """Why a key decides nothing in this cluster, if so.

    Args:
        key: of Kafka.
        today: the cluster as it stands, or under a release.
    """
    cluster = today.cluster
    if key in PROPOSALS:
        return "a key of a proposal, which no released broker takes"
    if key in UNREAD:
        kafkas = known_key(key)
        page = f" ({kafkas.page})" if kafkas else ""
        return f"a key that no simulated rule reads{page}"
    switch = switched_off(key, today)
    if switch:
        return f"a key that nothing reads while {switch} is false"
    if key not in effective(resolved_params(today)):
        return (
            f"a key that {cluster.release.split(' ')[0]} under {cluster.controller} does not read"
        )
    if key == "eligible.leader.replicas.version" and not rule_set_of(cluster.release).has_elr:
        return "a feature that the release does not have"
    return ""


def unread(scenario: Scenario, keys: Collection[str]) -> dict[str, str]:
    """Find what is set and decides nothing in this cluster.

    Args:
        scenario: a cluster with a configuration laid over it.
        keys: that somebody set; ``rules.``, ``service.`` and ``topics.`` among them.

    Returns:
        Key -> why nothing reads it.
    """
    params = resolved_params(scenario)
    read = effective(params)
    said = {key: why_not(key, scenario) for key in keys if key in params and key not in read}
    kip501, in_effect = params["rules.kip501"], read["rules.kip501"]
    if KIP501_VARIANTS[str(kip501)] in KIP501_BEHIND_KEY:
        said.pop(PROPOSALS[0], None)
    if "rules.kip501" in keys and kip501 != in_effect:
        said["rules.kip501"] = f"a proposal that does nothing while {PROPOSALS[0]} is false"
    off = f"{PROPOSALS[0]} is false" if kip501 != in_effect else f"rules.kip501 is {kip501}"
    of_kip501 = dict.fromkeys(
        (*PROPOSALS, "rules.s2_cooldown_ms"), f"a key that nothing reads while {off}"
    )
    return {key: of_kip501.get(key, why) for key, why in said.items()}


def unread_settings(scenario: Scenario, asked: Iterable[str] = ()) -> Iterator[str]:
    """Say what of a scenario's settings may not be meant, one sentence each.

    A key that nothing in it reads, with the reason, seconds where milliseconds stand, or a release
    with a defect of its own.

    Args:
        scenario: its ``config`` and ``rules``, and what brokers have of their own, is looked at.
        asked: what else somebody set, such as a service time: a scenario has them all.
    """
    rules = (f"rules.{name}" for name, value in scenario.rules if value is not None)
    own = (key for mine in scenario.cluster.broker_settings.values() for key in mine)
    keys = dict.fromkeys((*scenario.config, *rules, *own, *asked))
    for key, why in unread(scenario, keys).items():
        yield f"{key}: {why}"
    every = scenario.config, *scenario.cluster.broker_settings.values()
    yield from seconds_asked(scenario, every)
    yield from _defects([scenario])


def unread_overrides(
    today: Scenario, configurations: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Say the same of what configurations set, with the names of those where it is so.

    Args:
        today: the cluster as it stands.
        configurations: name of each -> its overrides.
    """
    where: dict[tuple[str, str], list[str]] = {}
    applied = {name: apply(today, overrides) for name, overrides in configurations.items()}
    for name, overrides in configurations.items():
        for key, why in unread(applied[name], overrides).items():
            where.setdefault((key, why), []).append(name)
    for (key, why), names in where.items():
        more = len(names) - NAMES_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        yield f"{key}: {why} (in {', '.join(names[:NAMES_SHOWN])}{rest})"
    yield from seconds_asked(today, configurations.values())
    yield from _defects(applied.values())


def _defects(scenarios: Iterable[Scenario]) -> Iterator[str]:
    """What their releases do wrong that is not simulated, a line for each release."""
    releases = dict.fromkeys(one.cluster.release for one in scenarios)
    yield from filter(None, map(told_defects, releases))


def seconds_asked(today: Scenario, configurations: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Say of what configurations set where seconds may be meant, each value once.

    Args:
        today: the cluster as it stands, whose release has the defaults.
        configurations: overrides of each, or other settings.
    """
    release, controller = rule_set_of(today.cluster.release), today.cluster.controller
    yield from dict.fromkeys(
        line for one in configurations for line in perhaps_seconds(release, controller, one)
    )


def all_have_own(key: str, today: Scenario) -> str:
    """Who has a value of its own for a key: ``topic``, ``broker``; empty unless all of them do."""
    if all(key in topic.settings for topic in today.topics):
        return "topic"
    settings, brokers = today.cluster.broker_settings, today.cluster.brokers
    return "broker" if all(key in settings.get(one, {}) for one in brokers) else ""


def own_values(today: Scenario, configurations: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Say of each key for which topics and brokers it does not change, one sentence each.

    Args:
        today: the cluster as it stands.
        configurations: overrides of each; a key under ``topics`` is set by every topic.
    """
    keys = list(dict.fromkeys(key for overrides in configurations for key in overrides))
    for key in keys:
        yield from _of_topics(today, key, gives_way=f"{TOPICS}.{key}" in keys)
        yield from _of_brokers(today, key)


def _of_topics(today: Scenario, key: str, *, gives_way: bool) -> Iterator[str]:
    own = [topic for topic in today.topics if key in topic.settings and key in TOPIC_KEYS]
    if own:
        partitions = counted(sum(len(topic.assignment) for topic in own), "partition")
        keeps = "lose it for the question" if gives_way else "keep it"
        yield f"{key}: {partitions} of {counted(len(own), 'topic')} have their own, and {keeps}"


def _of_brokers(today: Scenario, key: str) -> Iterator[str]:
    cluster = today.cluster
    settings = {one: cluster.broker_settings.get(one, {}) for one in cluster.brokers}
    own = [(broker, shown(mine[key])) for broker, mine in settings.items() if key in mine]
    if len(own) == 1:
        ((broker, value),) = own
        yield f"{key}: broker {broker} has its own ({value}), and keeps it"
    elif own:
        listed = ", ".join(f"{broker}: {value}" for broker, value in own[:BROKERS_LISTED])
        more = len(own) - BROKERS_LISTED
        rest = f" and {more} more" if more > 0 else ""
        yield f"{key}: {len(own)} brokers have their own ({listed}{rest}), and keep it"


def check_replicas(values: Iterable[int], today: Scenario, *, override_topics: bool) -> None:
    """Refuse a value of min.insync.replicas that no partition can meet.

    Args:
        values: asked for the key.
        today: the cluster as it stands.
        override_topics: whether topics that set the key take the values too.

    Raises:
        InputError: the value, and the highest replication factor of the topics that take it.
    """
    takers = _takers(today, override_topics=override_topics)
    most = max(map(most_replicas, takers), default=0)
    for value in values:
        if value > most:
            allowed = f"1..{most}, the highest replication factor of the topics that take it"
            raise InputError("--ask", MIN_ISR, value, allowed)


def short_of_replicas(
    today: Scenario, configurations: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Say of each min.insync.replicas for how many partitions it exceeds the replication factor.

    Args:
        today: the cluster as it stands.
        configurations: overrides of each; a key under ``topics`` is set by every topic.
    """
    asked = [one for one in configurations if MIN_ISR in one]
    takers = _takers(today, override_topics=any(f"{TOPICS}.{MIN_ISR}" in one for one in asked))
    replicas = [len(one) for topic in takers for one in topic.assignment.values()]
    for value in sorted({one[MIN_ISR] for one in asked}):
        short = sum(one < value for one in replicas)
        if short:
            yield f"{MIN_ISR}={value}: more than the replicas of {counted(short, 'partition')}"


def _takers(today: Scenario, *, override_topics: bool) -> list[Topic]:
    """Topics that take the cluster's min.insync.replicas."""
    return [one for one in today.topics if override_topics or MIN_ISR not in one.settings]
