"""What ``kafka-configs.sh --describe`` prints, with ``--all`` or without, of brokers and topics.

A heading for each entity, then an entry a line (ConfigCommand.scala @ 1.1 ... 4.3); from ZooKeeper
a single line with all entries. The first synonym of an entry says where its value
comes from. Sensitive values are printed as null, and are not kept in any case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from isr_pipeline.base.files.words import counted
from isr_pipeline.clusters.facts import (
    TOOL,
    Facts,
    Source,
    TopicFacts,
    broker_id,
    of_a_broker,
    topic_name,
)
from isr_pipeline.clusters.lines import cut_off, own_lines, refuse_cut
from isr_pipeline.clusters.properties import (
    broker_setting,
    controller_setting,
    is_a_broker,
    started_with,
    topic_setting,
)

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
    return any(_heading(line.strip()) or _ENTRY.match(line) for line in text.splitlines())


def _heading(line: str) -> re.Match[str] | None:
    return _HEADING.match(line) or _OLD.match(line) or _OTHERS.match(line)


Synonyms = tuple[tuple[str, str, str], ...]
"""Where a value is from and what it would be else, each with source, key, value."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of an entity; ``synonyms``: None where whoever copied them cut them."""

    key: str
    value: str
    synonyms: Synonyms | None

    @property
    def origin(self) -> str:
        """Source of the value; "" if it is not known."""
        if self.synonyms is None:
            return ""
        return self.synonyms[0][0] if self.synonyms else _DEFAULT

    @property
    def is_default(self) -> bool:
        return self.origin == _DEFAULT


@dataclass(slots=True)
class _Block:
    """What stands below a heading.

    Attributes:
        kind: of the entity, ``broker`` or ``topic`` or another.
        name: its own; "" is the default.
        listed: ``All``, ``Dynamic`` or ``Default``; "" where the heading does not say.
        entries: key, value and synonyms of each, in the order of the lines.
        sensitive: keys whose values the tool does not print.
    """

    kind: str
    name: str
    listed: str
    entries: list[_Entry] = field(default_factory=list)
    sensitive: set[str] = field(default_factory=set)

    @property
    def own_source(self) -> str:
        return _OWN_OF_BROKER if self.kind == "broker" else "DYNAMIC_TOPIC_CONFIG"

    @property
    def of_a_controller(self) -> bool:
        """The tool calls a controller a broker, too (``--bootstrap-controller``)."""
        roles = [entry.value for entry in self.entries if entry.key == "process.roles"]
        return self.kind == "broker" and bool(roles) and not is_a_broker(roles[-1])


def read(source: Source) -> Facts:
    """Read the listing.

    Raises:
        InputError: a line of something else, an entry without a heading, an id that is none.
    """
    facts = Facts(source.name, KIND, TOOL)
    blocks: list[_Block] = []
    others = 0
    cuts: dict[int, str] = {}
    text = source.text(_ALLOWED)
    for number, line in own_lines(source, text, _ALLOWED, _heading, _ENTRY.match):
        heading, old, entry = _HEADING.match(line), _OLD.match(line), _ENTRY.match(line)
        if heading:
            blocks.append(_block(source, number, heading[2], heading[3] or "", heading[1] or ""))
        elif old:
            block = _block(source, number, old[1] or old[2], old[3] or old[4] or "", "")
            blocks.append(block)
            cuts[number] = cut_off(old[5].strip())
            for pair in _SPLIT.split(old[5].strip()):
                key, equals, value = pair.partition("=")
                if equals:
                    block.entries.append(_Entry(key, value, ((block.own_source, key, value),)))
        elif entry:
            if not blocks:
                source.refuse(number, line.strip(), "a heading before the first entry")
            _add_entry(blocks[-1], entry)
        else:
            others += 1
        source.take(number)
    refuse_cut(source, cuts)
    if not blocks and not others:
        source.refuse("", "no entity", _ALLOWED)
    for block in blocks:
        _keep_block(facts, block)
    _tell_of_blocks(facts, blocks, others)
    return facts


def _block(source: Source, line: int, kind: str, name: str, listed: str) -> _Block:
    """Begin a block; its kind without the plural, and its name ("" is the default)."""
    kind, name = kind.removesuffix("s"), name.strip().strip("'")
    if name in ("<default>", "default"):
        name = ""
    if kind == "broker" and name:
        broker_id(source, line, name)
    elif kind == "topic" and name:
        topic_name(source, line, name)
    return _Block(kind, name, listed)


def _add_entry(block: _Block, entry: re.Match[str]) -> None:
    if entry["sensitive"] == "true":
        block.sensitive.add(entry["key"])
        return
    key, value, given = entry["key"], entry["value"], entry["synonyms"]
    synonyms: Synonyms | None = tuple(_SYNONYM.findall(given))
    if not synonyms and block.listed == "Dynamic":
        synonyms = ((block.own_source, key, value),)
    elif not synonyms and given.strip():
        synonyms = None
    block.entries.append(_Entry(key, value, synonyms))


def _tell_of_blocks(facts: Facts, blocks: list[_Block], others: int) -> None:
    """Tell what of the blocks is not used, or not known."""
    others += sum(block.kind not in _KEPT for block in blocks)
    if others:
        facts.left_out.append(
            f"settings of {others} others than brokers and topics ({facts.source})"
        )
    if any(block.kind == "broker" and block.listed == "Dynamic" for block in blocks):
        facts.left_out.append(
            f"what brokers were started with: {facts.source} is of kafka-configs.sh without --all"
        )
    elided = sum(entry.synonyms is None for block in blocks for entry in block.entries)
    if elided:
        facts.left_out.append(
            f"who set the values of {counted(elided, 'line')}: "
            f"their synonyms are cut ({facts.source})"
        )
    for block in blocks:
        if block.kind != "broker" or not block.name:
            continue
        if block.of_a_controller:
            facts.left_out.append(
                f"node {block.name} ({facts.source}) is a controller and no broker"
            )
        elif block.listed == "All":
            listed = block.sensitive | {entry.key for entry in block.entries}
            _note_whole(facts, int(block.name), listed)


def _note_whole(facts: Facts, broker: int, listed: set[str]) -> None:
    """All settings of a broker are there; say it if some are missing that must be."""
    facts.broker(broker).settings_whole = True
    missing = sorted(OF_EVERY_LISTING - listed)
    if missing:
        facts.left_out.append(
            f"what else broker {broker} sets: {facts.source} is cut off or filtered "
            f"(no {missing[0]}); here it has the defaults"
        )


def _keep_block(facts: Facts, block: _Block) -> None:
    """Keep a block's entries where they belong."""
    if block.kind == "topic" and block.name:
        topic = facts.topic(block.name)
        topic.settings_whole = all(entry.synonyms is not None for entry in block.entries)
        for entry in block.entries:
            _keep_of_topic(facts, topic, entry)
    elif block.kind == "broker":
        facts.unread |= block.sensitive
        controller = block.of_a_controller
        if block.name and not controller:
            facts.broker(int(block.name))
        for entry in block.entries:
            if controller:
                controller_setting(facts, entry.key, entry.value, default=entry.is_default)
            else:
                _keep_of_broker(facts, block.name, entry)


def _keep_of_broker(facts: Facts, name: str, entry: _Entry) -> None:
    of_all = not name or entry.origin == _OF_ALL
    default = bool(name) and entry.is_default
    broker_setting(facts, None if of_all else int(name), entry.key, entry.value, default=default)


def _keep_of_topic(facts: Facts, topic: TopicFacts, entry: _Entry) -> None:
    topic.effective[entry.key] = entry.value
    if entry.origin == "DYNAMIC_TOPIC_CONFIG":
        topic_setting(facts, topic, entry.key, entry.value)
    for source, of_brokers, its_value in entry.synonyms or ():
        if source == _OF_ALL:
            broker_setting(facts, None, of_brokers, its_value)
        elif source == _STARTED_WITH:
            started_with(facts, of_brokers, its_value)
        elif source == _OWN_OF_BROKER:
            shown = f"={its_value}" if of_a_broker(of_brokers) else ""
            facts.left_out.append(f"{of_brokers}{shown} of a broker that {facts.source} hides")
