"""Which releases of Kafka the laboratory starts, and what differs between them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from isr_pipeline.base.errors import InputError

EXAMPLES = ("2.7.2", "3.9.2", "4.3.1")
"""Releases that the project's own recordings are made with: one of each way to start."""

FIRST = (2, 4, 0)
"""Earlier releases bring a ZooKeeper client that cannot resolve an address on Java 14 or later."""

ALLOWED = f"a release on Maven Central from {'.'.join(map(str, FIRST))} on: {', '.join(EXAMPLES)}"


@dataclass(frozen=True, order=True, slots=True)
class Release:
    """A release of Apache Kafka, as Maven numbers it."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read ``3.9.2``.

        Raises:
            InputError: it is no such number, or of a release that Java 17 does not run.
        """
        if not re.fullmatch(r"\d{1,3}\.\d{1,3}\.\d{1,3}", text, re.ASCII):
            raise InputError("lab", "RELEASE", text, ALLOWED)
        found = cls(*map(int, text.split(".")))
        if (found.major, found.minor, found.patch) < FIRST:
            raise InputError("lab", "RELEASE", text, ALLOWED)
        return found

    @property
    def zookeeper(self) -> bool:
        """Whether ZooKeeper keeps its metadata: KRaft is for production since 3.3 (KIP-833)."""
        return (self.major, self.minor) < (3, 3)

    @property
    def log4j2(self) -> bool:
        """Whether it logs through log4j 2: since 4.0 (KIP-653)."""
        return self.major >= 4

    def __str__(self) -> str:
        """``3.9.2``."""
        return f"{self.major}.{self.minor}.{self.patch}"
