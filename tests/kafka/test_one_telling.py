"""Each rule of Kafka has one home: `kafka/`; read from the sources, nothing is run."""

from __future__ import annotations

import ast
from pathlib import Path

from isr_pipeline.kafka import releases

PACKAGE = Path(releases.__file__).resolve().parent.parent


def names_in(function: ast.FunctionDef) -> set[str]:
    """Every name that a function uses, and of a run's rules each switch as ``rules.NAME``."""
    return {one.id for one in ast.walk(function) if isinstance(one, ast.Name)} | {
        f"rules.{one.attr}"
        for one in ast.walk(function)
        if isinstance(one, ast.Attribute) and ast.unparse(one.value).endswith("rules")
    }


def functions(room: str) -> dict[str, set[str]]:
    """Function of a room -> what it uses."""
    return {
        node.name: names_in(node)
        for file in sorted((PACKAGE / room).rglob("*.py"))
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }


def read_by_simulation() -> set[str]:
    """Switches that a simulation can read: in it, or in the rules that it calls."""
    rules = functions("kafka")
    used = set().union(*functions("simulation").values(), {"tick_period"})  # C_TICK, of worlds
    while more := set().union(*(rules[name] for name in used & set(rules))) - used:
        used |= more
    return {name for name in releases.SWITCHES if f"rules.{name}" in used}


class TestSwitches:
    """A switch that does nothing is not in the list."""

    def test_every_switch_is_read_by_a_simulation_or_listed(self) -> None:
        """What no simulated night reads is said to be for timelines only."""
        assert set(releases.SWITCHES) - read_by_simulation() == releases.REPLAY_ONLY


class TestReleases:
    """A release is its rules, not its name."""

    def test_no_room_compares_names_of_releases(self) -> None:
        """Whoever asks for a release asks for one of its rules."""
        wrong = [
            f"{file.relative_to(PACKAGE)}:{node.lineno}"
            for file in sorted(PACKAGE.rglob("*.py"))
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Compare)
            for one in ast.walk(node)
            if isinstance(one, ast.Constant) and one.value in releases.RELEASES
        ]
        assert wrong == []
