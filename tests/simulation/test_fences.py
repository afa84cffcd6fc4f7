"""The shortcuts are fenced: what they rely on can only be done in a way that tells them.

Read from the sources, nothing is run. That the shortcuts are right is the matter of `test_cycles`,
`test_reuse` and the invariants; here: that nobody can go past them.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from isr_pipeline.kafka.record import Leader
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import TABLES
from isr_pipeline.simulation import kernel
from isr_pipeline.simulation.alter_partition import tick_fires
from isr_pipeline.simulation.shortcuts import cycles, ticks
from isr_pipeline.simulation.shortcuts.rows_used import (
    Use,
    cells_named,
    cells_read,
    uses_in,
)
from isr_pipeline.simulation.world.tables import Broker, World
from isr_pipeline.worlds.choices import choices_for
from tests.simulation.test_invariants import simple

SIMULATION = Path(kernel.__file__).resolve().parent

SETTER = "set_isr"
"""The one function that writes the ISR that a leader knows, and notes it."""
ISRS = {f"{name}.isr" for name, row in TABLES.items() if issubclass(row, Leader)}
SHAREABLE = {
    "World.min_insync_replicas",
    "World.unclean_leader_election",
    "World.fetch_process_time_max_us",
    "World.resign_cooldown_us",
    "Broker.session_timeout_us",
    "Rules.kip501",
    "Rules.kip501_enabled",
    "Rules.isr_lock",
    "Rules.fetcher",
    "Rules.election",
    "Rules.elr",
}
"""Settings and switches in spite of which runs are shared (`worlds.reuse`)."""
NOTED = {
    ("_change_kraft", "Rules.elr"): ("_change_kraft", "min_isr_for(world, "),
    ("_commit", "Rules.elr"): ("_commit", "min_isr_for(world, "),
    ("_walk_order", "Rules.election"): ("_note_election", "note(world, Depends.ORDER)"),
    **dict.fromkeys(
        [
            ("hear", "Broker.session_timeout_us"),
            ("note_silence", "Broker.session_timeout_us"),
            ("_session_found_over", "Broker.session_timeout_us"),
        ],
        ("_plan_session_end", "note(world, Depends.SESSION)"),
    ),
    **{
        (name, "Broker.session_timeout_us"): (name, "note(world, Depends.SESSION)")
        for name in (
            *("_session_at_new_controller", "controller_gone", "_refused"),
            "heartbeats_hang",
        )
    },
    **{
        (name, "Rules.isr_lock"): ("lock_is_busy", "note(world, Depends.LOCK)")
        for name in (
            *("maybe_shrink_isr", "read_must_wait", "_read"),
            *("_completion_read", "expire_steps"),
        )
    },
    ("_fetch_done", "Rules.kip501"): ("maybe_shrink_isr", "note(world, Depends.EXPIRED)"),
    **dict.fromkeys(
        (
            ("s2_alarm", "Rules.kip501"),
            ("s2_alarm", "World.fetch_process_time_max_us"),
            ("s2_timer", "World.fetch_process_time_max_us"),
        ),
        ("s2_alarm", "note_read(world, "),
    ),
    ("s2_timer", "World.resign_cooldown_us"): ("s2_timer", "note(world, Depends.COOLDOWN)"),
}
"""(function, shareable setting that it reads) -> who notes that it decided, and how."""
OWN = {f"Broker.{name}" for name in choices_for(simple()).own}
"""What each broker reads for itself."""
_HEADER = list(World.cells_of)
_SETTINGS = [
    *_HEADER[_HEADER.index("events_max") : _HEADER.index("now")],
    *_HEADER[_HEADER.index("min_insync_replicas") : _HEADER.index("tree")],
]
TIMES = OWN | {f"World.{name}" for name in _SETTINGS}
"""Settings, limits and service times."""
JUMPS = ("shortcuts/cycles.py", "shortcuts/ticks.py")
LISTED = set().union(cycles.BOUNDED, cycles.PLANNED, cycles.REPEATS, cycles.NO_RULE)


def trees() -> dict[str, ast.Module]:
    """Path within the room -> the file's tree."""
    return {
        file.relative_to(SIMULATION).as_posix(): ast.parse(file.read_text())
        for file in sorted(SIMULATION.rglob("*.py"))
    }


def returns_of(parsed: dict[str, ast.Module]) -> dict[str, str]:
    """The annotation of what each function returns, by its name."""
    return {
        node.name: ast.unparse(node.returns)
        for tree in parsed.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.returns is not None
    }


def names_in(node: ast.AST) -> set[str]:
    """Every name that a piece of code uses."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def cells_of(parsed: dict[str, ast.Module]) -> list[tuple[str, Use]]:
    """(path, use) of every cell that the room uses."""
    returns = returns_of(parsed)
    return [(path, use) for path, tree in parsed.items() for use in uses_in(tree, returns)]


def fenced(use: Use, cells: set[str]) -> bool:
    """Whether it is one of these cells, or may be one for all that the code tells."""
    return use.cell in cells or (
        use.cell.startswith("?.") and bool(cells_named(use.cell[2:]) & cells)
    )


def unfenced_writes(parsed: dict[str, ast.Module]) -> list[str]:
    """Functions that write a leader's ISR past the setter."""
    returns = returns_of(parsed)
    return [
        node.name
        for tree in parsed.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name != SETTER
        for use in uses_in(node, returns)
        if use.written and fenced(use, ISRS)
    ]


def functions_of(parsed: dict[str, ast.Module]) -> list[ast.FunctionDef]:
    """Every function of the room, but of what notes and of jumps."""
    return [
        node
        for path, tree in parsed.items()
        if path not in JUMPS and path != "shortcuts/depends.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]


def shareable_reads(parsed: dict[str, ast.Module]) -> set[tuple[str, str]]:
    """(function, cell) of every read of a shareable setting or switch."""
    returns = returns_of(parsed)
    return {
        (function.name, use.cell)
        for function in functions_of(parsed)
        for use in uses_in(function, returns)
        if not use.written and fenced(use, SHAREABLE)
    }


def unbounded(parsed: dict[str, ast.Module]) -> set[str]:
    """Settings, and durations in microseconds, that no table of `cycles` lists."""
    settings = {use.cell for _, use in cells_of(parsed) if use.cell in TIMES}
    durations = {
        name for tree in parsed.values() for name in names_in(tree) if name.endswith("_US")
    }
    return (settings | durations) - LISTED


def changed(path: str, old: str, new: str) -> dict[str, ast.Module]:
    """The room with one line changed."""
    text = (SIMULATION / path).read_text()
    assert text.count(old) == 1, f"{old!r} is not in {path} once"
    return trees() | {path: ast.parse(text.replace(old, new))}


class TestSetter:
    """Only one function writes what a leader knows as its ISR: min.insync.replicas hangs on it."""

    def test_nobody_else_writes_an_isr(self) -> None:
        """That of a leader is assigned in `set_isr` alone."""
        assert unfenced_writes(trees()) == []

    def test_it_notes_the_isr(self) -> None:
        """Runs that differ in min.insync.replicas may be shared only because it does."""
        (setter,) = (
            node
            for node in ast.walk(trees()["shortcuts/depends.py"])
            if isinstance(node, ast.FunctionDef) and node.name == SETTER
        )
        assert "note_isr" in names_in(setter)

    @pytest.mark.parametrize("written", ["leader.isr = isr", "rows()[0].isr = isr"])
    def test_a_write_past_it_is_found(self, written: str) -> None:
        """Whether or not the code tells whose cell it is."""
        mutated = changed("alter_partition.py", "set_isr(world, leader, isr)", written)
        assert unfenced_writes(mutated) == ["_take_commit"]


class TestSettings:
    """What a setting decides is noted, if runs are shared in spite of it."""

    def test_who_reads_one_is_listed(self) -> None:
        """No function reads such a setting or switch unless it is said who notes that."""
        assert shareable_reads(trees()) == NOTED.keys()

    def test_who_is_listed_notes_it(self) -> None:
        """The function that is named does note that the setting decided."""
        functions = {function.name: function for function in functions_of(trees())}
        for noter, call in NOTED.values():
            assert call in ast.unparse(functions[noter]), f"{noter} does not call {call}"

    def test_what_brokers_read_for_themselves_is_read_there(self) -> None:
        """The header has no cell of a setting that a broker may have of its own."""
        assert {cell.removeprefix("Broker.") for cell in OWN} <= set(Broker.cells_of)
        assert not {cell.removeprefix("Broker.") for cell in OWN} & set(World.cells_of)

    def test_who_reacts_to_an_error_notes_the_fetcher(self) -> None:
        """The rule `reaction` reads the switch of the fetcher: each of its callers notes that."""
        callers = [
            node
            for tree in trees().values()
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and "reaction" in names_in(node)
        ]
        assert callers
        assert all("note(world, Depends.FETCHER)" in ast.unparse(node) for node in callers)

    def test_another_read_is_found(self) -> None:
        """A session timeout that another function reads is caught here."""
        mutated = changed(
            "controller.py",
            "    change.unclean_shutdown = unclean\n    change.uses_last_known = elr",
            "    change.unclean_shutdown = world.brokers[0].session_timeout_us",
        )
        another = ("_change_kraft", "Broker.session_timeout_us")
        assert shareable_reads(mutated) - NOTED.keys() == {another}


class TestBounds:
    """Every time or threshold that a rule reads is listed where jumps are bounded."""

    def test_every_setting_and_duration_is_listed(self) -> None:
        """Each is in one table of `cycles`, which says what bounds it, or why nothing has to."""
        assert unbounded(trees()) == set()

    def test_no_entry_is_idle(self) -> None:
        """What is listed is used; what bounds a jump is a function of `JUMPS`."""
        parsed = trees()
        used = {use.cell for _, use in cells_of(parsed)}
        assert used.union(*(names_in(tree) for tree in parsed.values())) >= LISTED
        returns, bodies = returns_of(parsed), [parsed[path].body for path in JUMPS]
        functions = {
            node.name: node for body in bodies for node in body if isinstance(node, ast.FunctionDef)
        }
        for cell, bound in cycles.BOUNDED.items():
            looked_at = {use.cell for use in uses_in(functions[bound], returns)}
            assert cell in looked_at, f"{bound} does not look at {cell}"

    def test_a_new_time_is_found(self) -> None:
        """A rule that begins to read another time is caught until somebody has listed it."""
        mutated = changed("alter_partition.py", "limit + 1,", "limit + 1 + NEW_LIMIT_US,")
        assert unbounded(mutated) == {"NEW_LIMIT_US"}

    def test_a_setting_that_is_read_is_found(self) -> None:
        """So is one of the world's settings."""
        mutated = changed("alter_partition.py", "limit + 1,", "limit + 1 + world.horizon,")
        cycles_without = mutated | {"shortcuts/cycles.py": ast.parse("")}
        assert "World.horizon" in {use.cell for _, use in cells_of(cycles_without)}


def _remembers(world: World, rules: Rules, broker: Broker) -> None:
    """A tick whose rule has a memory, which no jump knows."""
    follower = broker.hosted[0].replica.followers[0]
    follower.log_start_offset += world.now > follower.broker_epoch + NEW_LIMIT_US
    tick_fires(world, rules, broker)


NEW_LIMIT_US = 1_000


class TestTicks:
    """A tick is counted only while each cell that its walk reads is known to jumps."""

    def test_every_cell_that_a_walk_reads_is_listed(self) -> None:
        """And no other. With one that is not, every tick is simulated."""
        assert cells_read(tick_fires, ticks.ACTS) == ticks.LOOKED_AT.keys()
        assert ticks.COUNTED

    def test_what_bounds_a_cell_looks_at_it(self) -> None:
        """But for a pending read, which keeps a follower in longer: its clock alone is bounded."""
        blind = [
            cell
            for cell, bound in ticks.LOOKED_AT.items()
            for module, name in [bound.split(".")]
            if cell not in cells_read(getattr({"cycles": cycles, "ticks": ticks}[module], name))
        ]
        assert blind == ["Follower.pending_counts"]

    def test_a_new_cell_and_a_new_time_are_found(self) -> None:
        """A cell that is only written is none: the trial of the walk sees that."""
        found = cells_read(_remembers, ticks.ACTS) - ticks.LOOKED_AT.keys()
        assert found == {"Follower.broker_epoch", "NEW_LIMIT_US"}
