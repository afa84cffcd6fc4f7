"""The mutants: one wrong line each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Mutant:
    """One change of one line.

    Args:
        file: module of the room.
        function: the function it is in, or "" for module level.
        old: text that stands there, within one line.
        new: text that replaces it.
        room: folder of `isr_pipeline/`.
        test: the test that has to fail, below `tests/`; "" for any of the tests of the rules.
        lives: why no test can fail; "" for a mutant that has to die.
    """

    file: str
    function: str
    old: str
    new: str
    room: str = "kafka"
    test: str = ""
    lives: str = ""

    @property
    def name(self) -> str:
        """How it is called on the command line."""
        room = "" if self.room == "kafka" else f"{self.room}/"
        return f"{room}{self.file}:{self.function or 'module'}: {self.old} -> {self.new}"


def chosen(mutants: Iterable[Mutant], parts: list[str]) -> list[Mutant]:
    """Return those whose name contains one of these parts; all if there is none."""
    return [m for m in mutants if not parts or any(part in m.name for part in parts)]


def _of(room: str) -> tuple[Mutant, ...]:
    """Those of a folder of the package, listed in the YAML file of its name."""
    listed = yaml.safe_load((Path(__file__).parent / f"{room}.yaml").read_text(encoding="utf-8"))
    return tuple(
        Mutant(file, function, room=room, **mutant)
        for file, functions in listed.items()
        for function, mutants in functions.items()
        for mutant in mutants
    )


MUTANTS = _of("kafka")
SIMULATION = _of("simulation")
