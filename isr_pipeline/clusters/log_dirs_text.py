"""What ``kafka-log-dirs.sh --describe`` prints: where each replica lies, as one line of JSON."""

from __future__ import annotations

import re
from typing import Any

from isr_pipeline.clusters.facts import BROKER_MAX, TOOL, Facts, Source, topic_partition
from isr_pipeline.clusters.lines import json_texts

KIND = "kafka-log-dirs.sh --describe"
_ALLOWED = "the output of kafka-log-dirs.sh --describe, with its line of JSON"
_PROSE = ("Querying brokers for log directories", "Received log directory information")


def recognises(text: str) -> bool:
    """Whether a text is of this kind."""
    return any(line.startswith(_PROSE) for line in text.splitlines()) or (
        '"logDirs"' in text and '"brokers"' in text
    )


def read(source: Source) -> Facts:
    """Read the listing.

    Raises:
        InputError: a line of something else, JSON cut off, or none.
    """
    facts = Facts(source.name, KIND, TOOL)
    answered = False
    prose = source.text(_ALLOWED)
    source.take(*(i for i, line in enumerate(prose.splitlines(), 1) if line.startswith(_PROSE)))
    for line in _PROSE:
        prose = re.sub(rf"^{line}.*$", "", prose, flags=re.MULTILINE)
    for number, answer in json_texts(source, prose, _ALLOWED):
        answered = True
        _answer(facts, source, number, answer)
    if not answered:
        source.refuse("", "no line of JSON", _ALLOWED)
    return facts


def _answer(facts: Facts, source: Source, line: int, answer: Any) -> None:
    brokers = answer.get("brokers") if isinstance(answer, dict) else None
    if not isinstance(brokers, list):
        source.refuse(line, "JSON without brokers", _ALLOWED)
    for entry in brokers:
        broker = entry.get("broker") if isinstance(entry, dict) else None
        dirs = entry.get("logDirs") if isinstance(entry, dict) else None
        if type(broker) is not int or not 0 <= broker <= BROKER_MAX or not isinstance(dirs, list):
            source.refuse(line, entry, '{"broker": ID, "logDirs": [...]}')
        for one in dirs:
            _directory(facts, source, line, broker, one)


def _directory(facts: Facts, source: Source, line: int, broker: int, entry: Any) -> None:
    name = entry.get("logDir") if isinstance(entry, dict) else None
    replicas = entry.get("partitions") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name or not isinstance(replicas, list):
        source.refuse(line, entry, '{"logDir": NAME, "error": null, "partitions": [...]}')
    if entry.get("error"):
        facts.left_out.append(f"broker {broker}'s log dir {name} is offline; here it is healthy")
    found = facts.broker(broker)
    found.log_dirs = (*found.log_dirs, *(() if name in found.log_dirs else (name,)))
    for replica in replicas:
        text = replica.get("partition") if isinstance(replica, dict) else None
        if not isinstance(text, str):
            source.refuse(line, replica, '{"partition": "TOPIC-N", ...}')
        topic, number = topic_partition(source, line, text)
        if replica.get("isFuture") is True:
            facts.left_out.append(f"the move of {text} to {name} on broker {broker}")
        else:
            partition = facts.topic(topic).partition(number)
            partition.holds(replica.get("size"))
            places = partition.log_dirs
            if places.setdefault(broker, name) != name:
                where = f"{text} on broker {broker} in {places[broker]} ({facts.source})"
                facts.left_out.append(f"{where}, which is in {name} behind it")
            places[broker] = name
