"""What ``kafka-topics.sh --describe`` prints, of every release since 0.8.2.

A header line for each topic, then a line for each of its partitions (TopicCommand.scala and
TopicCommand.java @ 0.8.2.2 ... 4.3). Up to 2.3 no blank follows a header's colons; 2.8 brought
topic ids, 2.6 the replicas of a reassignment, 3.8 the eligible leader replicas.
"""

from __future__ import annotations

import re

from isr_pipeline.base.files.words import one_line
from isr_pipeline.clusters.facts import (
    PARTITIONS_MAX,
    TOOL,
    Facts,
    Source,
    broker_id,
    broker_ids,
    topic_name,
)
from isr_pipeline.clusters.lines import cut_off, own_lines, refuse_cut
from isr_pipeline.clusters.properties import topic_setting
from isr_pipeline.scenarios.cluster_file import ELR

KIND = "kafka-topics.sh --describe"
_ALLOWED = "lines of kafka-topics.sh --describe, a header and its partitions for each topic"
_LABEL = re.compile(r"(?:(?<=\s)|^)((?:Adding|Removing) +Replicas|[A-Z][A-Za-z]*):")
_HEADER = re.compile(r"^[^\S\n]*Topic:\s*\S+\s+(TopicId:\s*\S*\s+)?PartitionCount:", re.MULTILINE)
_PARTITION = re.compile(r"^[^\S\n]*Topic:\s*\S+\s+Partition:", re.MULTILINE)
_CONFIG = re.compile(r",(?=[a-z][a-zA-Z0-9._-]*=)")
_READ = frozenset(
    {
        *("Topic", "TopicId", "PartitionCount", "ReplicationFactor", "Configs"),
        *("MarkedForDeletion", "Partition", "Leader", "Replicas", "Isr"),
        *("Adding Replicas", "Removing Replicas"),
    }
)
"""Labels that are used, or told of in their own words."""
_OBSERVERS = ("Observers", "LiveObservers")
"""Replicas that Confluent Server keeps out of the ISR."""
_CONSTRAINTS = "confluent.placement.constraints"

_STYLES = (
    ("2.3", "its header lines are those of releases up to 2.3"),
    ("2.7", "its header lines are those of 2.4 to 2.7"),
    ("3.7", "its header lines are those of 2.8 and later, its partitions' those before 3.8"),
    ("3.8", "it has a column for eligible leaders, as 3.8 and later do, and names none"),
    ("3.9", "its brokers know no eligible leader replicas (N/A), as under ZooKeeper"),
)
ELR_COLUMN, WITHOUT_ELR = _STYLES[-2:]
"""Hints of listings with the column: brokers of 3.8 and later answer it, but under ZooKeeper
(DescribeTopicPartitions @ 3.8.0)."""
WITHOUT_ELR_KRAFT = ("3.7", "its brokers know no eligible leader replicas (N/A), as before 3.8")
"""What a listing without them hints at where another source says KRaft."""
NAMES_ELR = ("4.0", "it names an eligible leader, and no broker before 4.0 has any")
_ELR, _NO_ELR = 3, 4
"""Of the styles, those of 3.8 and later: N/A is what the tool prints where a broker cannot say."""


def recognises(text: str) -> bool:
    """Whether a text is of this kind."""
    return _HEADER.search(text) is not None or _PARTITION.search(text) is not None


def read(source: Source) -> Facts:
    """Read the listing.

    Raises:
        InputError: a line of something else, a partition without its topic's header (a listing of
            some partitions only), or fewer partitions than a header says (a listing cut off).
    """
    facts = Facts(source.name, KIND, TOOL)
    headers: dict[str, tuple[int, int]] = {}
    style = -1
    names_elr = False
    short = 0
    headless: dict[str, int] = {}
    cuts: dict[int, str] = {}
    text = source.text(_ALLOWED)
    fields: dict[str, str] = {}
    number = 0
    unread: dict[str, tuple[set[str], list[str]]] = {}
    for number, line in own_lines(source, text, _ALLOWED, _HEADER.match, _PARTITION.match):
        fields = _fields(line)
        name = topic_name(source, number, fields["Topic"])
        if "PartitionCount" in fields:
            if name in headers:
                source.refuse(number, name, f"each topic once (line {headers[name][0]} has it)")
            headers[name] = (number, _count(source, number, fields["PartitionCount"]))
            cuts[number] = cut_off(fields.get("Configs"))
            _header(facts, name, fields)
            style = max(style, _style(line, fields))
        else:
            headless.setdefault(name, number)
            _partition(source, number, facts, name, fields)
            if "LastKnownElr" not in fields:
                short = short or number
            if "Elr" in fields:
                style = max(style, _NO_ELR if fields["Elr"] == "N/A" else _ELR)
                names_elr = names_elr or fields["Elr"] not in ("", "N/A")
        source.take(number)
        for label in fields.keys() - _READ:
            if fields[label] not in ("", "N/A"):
                values, where = unread.setdefault(label, (set(), []))
                values.update(part.strip() for part in fields[label].split(","))
                where.append(f"{name}-{fields['Partition']}" if "Partition" in fields else name)
    for name, first in headless.items():
        if name not in headers:  # a header may follow: `sort` puts it behind its partitions
            allowed = "a header line before them: this lists some partitions only"
            source.refuse(first, f"partitions of {name} without a header", allowed)
    refuse_cut(source, cuts)
    for name, (begins, count) in headers.items():
        found = len(facts.topics[name].partitions)
        if found != count:
            given = f"{found} of {count} partitions of {name}"
            source.refuse(begins, given, "all of them: the listing is cut off")
    if not text.endswith("\n"):
        _check_end(source, number, fields, style)
    if style >= _ELR and short:
        source.refuse(short, "no LastKnownElr, which other lines have", "a whole line")
    _tell_unread(facts, unread)
    facts.release_hint = NAMES_ELR if names_elr else _STYLES[max(style, 0)]
    if names_elr:
        facts.features[ELR] = 1
    return facts


def _tell_unread(facts: Facts, unread: dict[str, tuple[set[str], list[str]]]) -> None:
    """Tell of columns that are not used: their values, and in which partitions."""
    for label, (values, where) in sorted(unread.items()):
        role = "; here these follow like others" if label in _OBSERVERS else ""
        listed = ", ".join(sorted(values, key=lambda one: (len(one), one)))
        facts.left_out.append(
            f"{label} {one_line(listed)} of {where[0]}"
            f"{f' and {len(where) - 1} more' if len(where) > 1 else ''}{role}"
        )


def _check_end(source: Source, line: int, fields: dict[str, str], style: int) -> None:
    """Refuse a last line without its end whose ISR may have been longer."""
    isr, replicas = (fields.get(name, "").count(",") for name in ("Isr", "Replicas"))
    cut = "LastKnownElr" not in fields if style >= _ELR else isr < replicas
    if "Partition" in fields and cut:
        given = "a last line without its end: the ISR may be cut off"
        source.refuse(line, given, "the whole listing, which ends with the end of a line")


def _fields(line: str) -> dict[str, str]:
    """The labels of a line and what stands behind each."""
    found = list(_LABEL.finditer(line))
    ends = [*(one.start() for one in found[1:]), len(line)]
    labels = (re.sub(" +", " ", one[1]) for one in found)  # `column -t` writes two blanks
    places = zip(labels, found, ends, strict=True)
    return {label: line[one.end() : end].strip() for label, one, end in places}


def _count(source: Source, line: int, text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text[:9]) <= PARTITIONS_MAX:
        source.refuse(line, text, f"a PartitionCount 1..{PARTITIONS_MAX}")
    return int(text)


def _header(facts: Facts, name: str, fields: dict[str, str]) -> None:
    topic = facts.topic(name)
    topic.topic_id = fields.get("TopicId") or None
    topic.settings_mixed = True
    for entry in _CONFIG.split(fields.get("Configs", "")):
        key, equals, value = entry.partition("=")
        if equals:
            topic_setting(facts, topic, key, value)
    if '"observers":[{' in topic.settings.get(_CONSTRAINTS, "").replace(" ", ""):
        facts.left_out.append(f"observers of {name} ({_CONSTRAINTS}): here they follow like others")
    if fields.get("MarkedForDeletion") == "true":
        facts.left_out.append(f"topic {name} is being deleted; it is here as it stands")


def _style(line: str, fields: dict[str, str]) -> int:
    """Which of the styles a header line has."""
    return 2 if "TopicId" in fields else int(re.match(r"\s*Topic:\s", line) is not None)


def _partition(source: Source, line: int, facts: Facts, name: str, fields: dict[str, str]) -> None:
    topic = facts.topic(name)
    for label in ("Leader", "Replicas", "Isr"):
        if label not in fields:
            source.refuse(line, f"no {label}", "Partition, Leader, Replicas, Isr: a whole line")
    text = fields["Partition"]
    if not text.isascii() or not text.isdecimal() or int(text[:9]) > PARTITIONS_MAX:
        source.refuse(line, text, "the number of a partition")
    if int(text) in topic.partitions:
        source.refuse(line, f"{name}-{text}", "each partition once")
    partition = topic.partition(int(text))
    partition.replicas = broker_ids(source, line, fields["Replicas"])
    if not partition.replicas:
        source.refuse(line, f"{name}-{text} without replicas", "a list of brokers")
    leader = fields["Leader"]
    partition.leader = -1 if leader in ("none", "-1") else broker_id(source, line, leader)
    partition.isr = broker_ids(source, line, fields["Isr"])
    for member in (*partition.isr, *([] if partition.leader < 0 else [partition.leader])):
        if member not in partition.replicas:
            source.refuse(line, f"broker {member}", f"a replica ({fields['Replicas']})")
    if fields.get("Adding Replicas") or fields.get("Removing Replicas"):
        facts.left_out.append(f"the reassignment of {name}-{text}; its replicas are as they stand")
