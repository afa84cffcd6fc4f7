"""Reading one source, and what is said of one that is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.clusters.facts import Facts, Source
from isr_pipeline.clusters.recognise import facts_of
from isr_pipeline.clusters.show import lines


def facts(text: str) -> Facts:
    """Read a text of whatever kind it is."""
    [found] = facts_of([Source("F", text.encode())])
    return found


def refusal(text: str) -> str:
    """Give the error line of a text."""
    with pytest.raises(InputError) as caught:
        facts(text)
    return str(caught.value)


class Seen:
    """What an import says, asked in short: the names that `cases/*/case.json` use.

    Args:
        cluster: as `import_cluster` gives it.
        printed: all that the command prints.
    """

    def __init__(self, cluster: dict[str, Any]) -> None:
        self.cluster = cluster
        self.printed = "\n".join(lines(cluster, "x"))
        parts = [cluster["assumed"], cluster["left_out"], cluster["conflicts"]]
        self.told = f"{json.dumps(parts)} {self.printed.partition(': Kafka ')[0]}".lower()

    def said(self, word: str) -> bool:
        """Whether a word is in what was assumed, left out or found to contradict."""
        return word.lower() in self.told

    def conflicts(self, key: str) -> bool:
        """Whether sources contradict each other in a key."""
        return key in json.dumps(self.cluster["conflicts"])

    def broker(self, number: int) -> dict[str, Any]:
        """All of a broker."""
        found: dict[str, Any] = next(b for b in self.cluster["brokers"] if b["id"] == number)
        return found

    def setting(self, number: int, key: str) -> str:
        """A broker's own value or that of all, in lower case; ``none`` for the default."""
        own = self.broker(number)["settings"]
        return str(own.get(key, self.cluster["settings"].get(key))).lower()

    def topic(self, name: str) -> dict[str, Any]:
        """All of a topic."""
        found: dict[str, Any] = next(t for t in self.cluster["topics"] if t["name"] == name)
        return found

    def parts(self, name: str) -> list[dict[str, Any]]:
        """Partitions of a topic."""
        found: list[dict[str, Any]] = self.topic(name)["partitions"]
        return found

    def part(self, name: str, number: int) -> dict[str, Any]:
        """One partition."""
        return next(one for one in self.parts(name) if one["id"] == number)

    def names(self) -> dict[str, Any]:
        """Everything that an expression in a case.json may use."""
        return {
            "c": self.cluster,
            "B": {one["id"]: one for one in self.cluster["brokers"]},
            "topic": self.topic,
            "parts": self.parts,
            "part": self.part,
            "leader": lambda name, number: self.part(name, number)["leader"],
            "isr": lambda name, number: set(self.part(name, number)["isr"]),
            "replicas": lambda name, number: self.part(name, number)["replicas"],
            "setting": self.setting,
            "said": self.said,
            "out": self.printed,
        }
