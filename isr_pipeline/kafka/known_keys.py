"""All keys of Kafka's brokers, topics and quotas by name, whether or not a rule reads them.

``known_keys.csv`` has each with the first and the last release that has it: up to 3.9 as Kafka's
own pages list them (``generated/kafka_config.html`` and ``topic_config.html`` of apache/kafka-site
@ 49c301385a, and the tables of its 0.8.2), from 4.0 to 4.4 as AbstractKafkaConfig and LogConfig of
the published jars define them, internal ones left out. Throttles and quotas, which
``kafka-configs.sh`` alone sets, were read in DynamicConfig and QuotaConfigs.
"""

from __future__ import annotations

import csv
import difflib
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from isr_pipeline.base.files.words import with_list

_FILE = Path(__file__).with_name("known_keys.csv")

_LISTENERS = re.compile(r"listener\.name\.[^.]+\.")
"""Begins a key that one listener has for itself."""

NEAR = 3
"""Names that are proposed for a mistyped one."""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key of Kafka.

    Attributes:
        name: as Kafka writes it.
        of: who has it: ``broker``, ``topic`` or ``client`` (a quota).
        first: release that has it; ``last``: likewise.
    """

    name: str
    of: str
    first: str
    last: str

    @property
    def page(self) -> str:
        """Where Kafka documents it, for the last release that has it."""
        number = "".join((self.last.split(".") + ["0"])[: 3 if self.last < "1" else 2])
        site = f"https://kafka.apache.org/{number}"
        if self.of == "client":
            return f"{site}/design/design"
        return f"{site}/configuration/{self.of}-configs#{self.of}configs_{self.name}"


@functools.cache
def _known() -> Mapping[str, KnownKey]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = [KnownKey(**row) for row in csv.DictReader(file)]
    return {row.name: row for row in sorted(rows, key=lambda row: row.of, reverse=True)}


def known_key(name: str) -> KnownKey | None:
    """A key of Kafka by its name; of one that brokers and topics have, the brokers'."""
    return _known().get(_LISTENERS.sub("", name))


def unknown(name: str, settable: Iterable[str], command: str) -> tuple[str, str]:
    """Say what is wrong with a key that cannot be set, and what can be.

    Args:
        name: that was given.
        settable: names that can be.
        command: lists these.

    Returns:
        What was given and what is allowed, for an error line.
    """
    key = known_key(name)
    if key is None:
        return UNKNOWN, with_list(", ".join(nearest(name, settable)), command)
    return f"{NOT_READ} ({key.page})", with_list("a key that a rule reads", command)


UNKNOWN = "unknown key"
NOT_READ = "a key of Kafka that no simulated rule reads"


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """The few names that are nearest to a mistyped one: that have it in them, or are spelled so."""
    listed = list(names)
    close = difflib.get_close_matches(name, listed, n=NEAR, cutoff=0.75)
    within = [key for key in listed if name and name in key][:NEAR]
    return close or within or difflib.get_close_matches(name, listed, n=NEAR, cutoff=0)


def mistyped(name: str) -> str:
    """Say that a key is none of Kafka's but looks like one; empty if it does not."""
    if known_key(name) is not None:
        return ""
    close = difflib.get_close_matches(name, _known(), n=1, cutoff=0.85)
    return f"{name}: no key of Kafka; {close[0]} is one" if close else ""
