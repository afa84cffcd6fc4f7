"""Each rule of Kafka has one home: `kafka/`; read from the sources, nothing is run."""

from __future__ import annotations

import ast
from pathlib import Path

from isr_pipeline.kafka import releases

PACKAGE = Path(releases.__file__).resolve().parent.parent
SWITCHES = {
    name: value
    for name, value in vars(releases).items()
    if name.isupper() and isinstance(value, int) and name not in ("NEVER", "UNKNOWN")
    if not name.startswith("N") and 0 <= value < releases.N_SWITCHES
}
"""Constant -> its place in the vector of switches."""


def functions(room: str) -> dict[str, set[str]]:
    """Function of a room -> every name that it uses."""
    return {
        node.name: {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        for file in sorted((PACKAGE / room).rglob("*.py"))
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }


def read_by_simulation() -> set[int]:
    """Switches that a simulation can read: in it, or in the rules that it calls."""
    rules = functions("kafka")
    used = set().union(*functions("simulation").values(), {"tick_period"})  # C_TICK, of worlds
    while more := set().union(*(rules[name] for name in used & set(rules))) - used:
        used |= more
    return {SWITCHES[name] for name in used & set(SWITCHES)}


class TestSwitches:
    """A switch that does nothing is not in the list."""

    def test_the_list_is_whole(self) -> None:
        """Every place of the vector has its constant."""
        assert set(SWITCHES.values()) == set(range(releases.N_SWITCHES))

    def test_every_switch_is_read_by_a_simulation_or_listed(self) -> None:
        """What no simulated night reads is said to be for `replay` only."""
        unread = set(range(releases.N_SWITCHES)) - read_by_simulation()
        assert unread == releases.REPLAY_ONLY


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
