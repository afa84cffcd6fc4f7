"""What ``kafka-configs.sh --describe`` prints, with ``--all`` or without, of brokers and topics.

A heading for each entity, then an entry a line (ConfigCommand.scala @ 1.1 ... 4.3); from ZooKeeper
a single line with all entries. The first synonym of an entry says where its value
comes from. Sensitive values are printed as null, and are not kept in any case.
"""

from __future__ import annotations

import re

from isr_pipeline.clusters.facts import TOOL, Facts, Source, broker_id, of_a_broker, topic_name
from isr_pipeline.clusters.lines import cut_off, own_lines, refuse_cut
from isr_pipeline.clusters.properties import broker_setting, started_with, topic_setting

KIND = "kafka-configs.sh --describe"
_ALLOWED = "lines of kafka-configs.sh --describe, a heading and its entries for each entity"
_HEADING = re.compile(
    r"(?:(All|Dynamic|Default) configs?|Configs) for (broker|topic|brokers|topics|[a-z-]+)"
    r"(?: in the cluster| (.+?))? are:$"
)
_OLD = re.compile(r"Configs for (?:default ([a-z-]+)|([a-z-]+)(?: '(.*?)'|:(\S+))) are ?:?(.*)$")
_ENTRY = re.compile(
    r"\s*(?P<key>[A-Za-z][A-Za-z0-9._-]{0,199})=(?P<value>(?:(?! sensitive=).)*)"
    r" sensitive=(?P<sensitive>true|false) synonyms=\{(?P<synonyms>(?:(?! sensitive=).)*)\}$"
)
_SYNONYM = re.compile(r"([A-Z_]+):([^=,]+)=(.*?)(?=, [A-Z_]+:[^=,]+=|$)")
_SPLIT = re.compile(r",\s*(?=[a-z][a-zA-Z0-9._-]*=)")
_OF_ALL = "DYNAMIC_DEFAULT_BROKER_CONFIG"
_OWN_OF_BROKER = "DYNAMIC_BROKER_CONFIG"
_STARTED_WITH = "STATIC_BROKER_CONFIG"
_DEFAULT = "DEFAULT_CONFIG"
_KEPT = ("broker", "topic")
_OTHERS = re.compile(r"(?:Quota|SCRAM credential|Client) configs? for ")
"""Headings of entities that no cluster file has; each has one line."""

OF_EVERY_LISTING = frozenset(
    {
        "replica.lag.time.max.ms",
        "replica.fetch.wait.max.ms",
        "num.io.threads",
        "min.insync.replicas",
        "unclean.leader.election.enable",
    }
)
"""``--all`` prints all keys of a broker; these every release has that knows ``--all``."""


def recognises(text: str) -> bool:
    """Whether a text is of this kind."""
    return any(_heading(line) or _ENTRY.match(line) for line in text.splitlines())


def _heading(line: str) -> re.Match[str] | None:
    return _HEADING.match(line) or _OLD.match(line) or _OTHERS.match(line)


def read(source: Source) -> Facts:
    """Read the listing.

    Raises:
        InputError: a line of something else, an entry without a heading, an id that is none.
    """
    facts = Facts(source.name, KIND, TOOL)
    entity: tuple[str, str] | None = None
    keys: dict[int, set[str]] = {}
    dynamic = without_all = False
    others = 0
    cuts: dict[int, str] = {}
    text = source.text(_ALLOWED)
    for number, line in own_lines(source, text, _ALLOWED, _heading, _ENTRY.match):
        heading, old, entry = _HEADING.match(line), _OLD.match(line), _ENTRY.match(line)
        if heading:
            entity = _entity(facts, source, number, heading[2], heading[3] or "")
            dynamic = heading[1] == "Dynamic"
            without_all |= dynamic and entity[0] == "broker"
            others += entity[0] not in _KEPT
            if heading[1] == "All" and entity[0] == "broker" and entity[1]:
                keys[int(entity[1])] = set()
        elif old:
            entity = _entity(facts, source, number, old[1] or old[2], old[3] or old[4] or "")
            others += entity[0] not in _KEPT
            cuts[number] = cut_off(old[5].strip())
            for pair in _SPLIT.split(old[5].strip()):
                key, equals, value = pair.partition("=")
                if equals:
                    _keep(facts, entity, key, value, [(_own_source(entity), key, value)])
        elif entry:
            if entity is None:
                source.refuse(number, line.strip(), "a heading before the first entry")
            if entity[0] == "broker" and entity[1]:
                keys.get(int(entity[1]), set()).add(entry["key"])
            if entry["sensitive"] == "false":
                synonyms: list[tuple[str, str, str]] = _SYNONYM.findall(entry["synonyms"])
                if not synonyms and dynamic:
                    synonyms = [(_own_source(entity), entry["key"], entry["value"])]
                _keep(facts, entity, entry["key"], entry["value"], synonyms)
            elif entity[0] == "broker":
                facts.unread.add(entry["key"])
        else:
            others += 1
    refuse_cut(source, cuts)
    if entity is None and not others:
        source.refuse("", "no entity", _ALLOWED)
    if others:
        facts.left_out.append(
            f"settings of {others} others than brokers and topics ({source.name})"
        )
    if without_all:
        facts.left_out.append(
            f"what brokers were started with: {source.name} is of kafka-configs.sh without --all"
        )
    for broker, listed in keys.items():
        _note_whole(facts, broker, listed)
    return facts


def _note_whole(facts: Facts, broker: int, listed: set[str]) -> None:
    """All settings of a broker are there; say it if some are missing that must be."""
    facts.broker(broker).settings_whole = True
    missing = sorted(OF_EVERY_LISTING - listed)
    if missing:
        facts.left_out.append(
            f"what else broker {broker} sets: {facts.source} is cut off or filtered "
            f"(no {missing[0]}); here it has the defaults"
        )


def _entity(facts: Facts, source: Source, line: int, kind: str, name: str) -> tuple[str, str]:
    """Note an entity; its kind without the plural, and its name ("" is the default)."""
    kind, name = kind.removesuffix("s"), name.strip().strip("'")
    if name in ("<default>", "default"):
        name = ""
    if kind == "broker" and name:
        facts.broker(broker_id(source, line, name))
    elif kind == "topic" and name:
        facts.topic(topic_name(source, line, name)).settings_whole = True
    return kind, name


def _own_source(entity: tuple[str, str]) -> str:
    return _OWN_OF_BROKER if entity[0] == "broker" else "DYNAMIC_TOPIC_CONFIG"


def _keep(
    facts: Facts,
    entity: tuple[str, str],
    key: str,
    value: str,
    synonyms: list[tuple[str, str, str]],
) -> None:
    """Keep an entry where it belongs.

    Args:
        facts: to be filled in.
        entity: its kind, and its name.
        key: of the entry.
        value: of the entry.
        synonyms: where its value is from and what it would be else, each with source, key, value.
    """
    kind, name = entity
    origin = synonyms[0][0] if synonyms else _DEFAULT
    if kind == "topic" and name:
        topic = facts.topics[name]
        topic.effective[key] = value
        if origin == "DYNAMIC_TOPIC_CONFIG":
            topic_setting(facts, topic, key, value)
        for source, of_brokers, its_value in synonyms:
            if source == _OF_ALL:
                broker_setting(facts, None, of_brokers, its_value)
            elif source == _STARTED_WITH:
                started_with(facts, of_brokers, its_value)
            elif source == _OWN_OF_BROKER:
                shown = f"={its_value}" if of_a_broker(of_brokers) else ""
                facts.left_out.append(f"{of_brokers}{shown} of a broker that {facts.source} hides")
    elif kind == "broker":
        holder = None if not name or origin == _OF_ALL else int(name)
        broker_setting(facts, holder, key, value, default=bool(name) and origin == _DEFAULT)
