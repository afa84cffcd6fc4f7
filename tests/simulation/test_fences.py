"""The shortcuts are fenced: what they rely on can only be done in a way that tells them.

Read from the sources, nothing is run. That the shortcuts are right is the matter of `test_cycles`,
`test_reuse` and the invariants; here: that nobody can go past them.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from isr_pipeline.simulation import kernel
from isr_pipeline.simulation.shortcuts import cycles
from isr_pipeline.simulation.world import layout

SIMULATION = Path(kernel.__file__).resolve().parent
DEBUG_BUILD = "invariants.py"
"""Compares, decides nothing."""

SETTERS = {"R_LEO": "set_log_end", "R_HW": "set_high_watermark", "R_ISR": "set_isr"}
SHAREABLE_SETTINGS = {"C_MIN_ISR", "C_UNCLEAN", "C_S2_LIMIT", "C_S2_COOLDOWN", "B_SESSION"}
SHAREABLE_SWITCHES = {"KIP501", "KIP501_ENABLED", "ISR_LOCK", "FETCHER", "ELECTION", "ELR"}
OWN = {
    name
    for name, cell in vars(layout).items()
    if name.startswith("B_") and cell in layout.OF_BROKER and name not in ("B_SIZE",)
}
"""Cells of a broker's own settings and service times."""
OF_ALL = {name for name, cell in vars(layout).items() if name.startswith("C_")} & {
    name for name, cell in vars(layout).items() if cell in layout.OF_BROKER.values()
}
"""Cells of the header from which they come where a broker has none of its own."""
TABLES = (cycles.BOUNDED, cycles.PLANNED, cycles.REPEATS, cycles.NO_RULE)


def trees() -> dict[str, ast.Module]:
    """Path within the room -> the file's tree; the debug build is left out."""
    return {
        file.relative_to(SIMULATION).as_posix(): ast.parse(file.read_text())
        for file in sorted(SIMULATION.rglob("*.py"))
        if file.name != DEBUG_BUILD
    }


def names_in(node: ast.AST) -> set[str]:
    """Every name that a piece of code uses."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def written_cells(tree: ast.AST) -> list[tuple[int, set[str]]]:
    """(line, names in the subscript) of every assignment to a cell."""
    found = []
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = list(node.targets)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        for target in targets:
            found += [
                (one.lineno, names_in(one.slice))
                for one in ast.walk(target)
                if isinstance(one, ast.Subscript)
            ]
    return found


def read_cells(tree: ast.AST, array: str) -> list[tuple[int, set[str]]]:
    """(line, names in the subscript) of every use of an array's cell."""
    return [
        (node.lineno, names_in(node.slice))
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == array
    ]


def unfenced_writes(parsed: dict[str, ast.Module]) -> list[str]:
    """Places that move a log end, a high watermark or an ISR past the setters."""
    return [
        f"{path}:{line}"
        for path, tree in parsed.items()
        if path != "state.py"
        for line, names in written_cells(tree)
        if names & set(SETTERS)
    ]


def unfenced_reads(parsed: dict[str, ast.Module]) -> list[str]:
    """Places that read a shareable setting or switch without naming the question."""
    return [
        f"{path}:{line}"
        for path, tree in parsed.items()
        if path not in ("shortcuts/depends.py", "shortcuts/cycles.py")
        for array, fenced in (("w", SHAREABLE_SETTINGS), ("rules", SHAREABLE_SWITCHES))
        for line, names in read_cells(tree, array)
        if names & fenced
    ]


def unbounded(parsed: dict[str, ast.Module]) -> set[str]:
    """Settings, and durations in microseconds, that no table of `cycles` lists."""
    used = {
        name
        for path, tree in parsed.items()
        if path != "world/layout.py"
        for name in names_in(tree)
        if name.startswith("C_")
        or name in OWN
        or (name.endswith("_US") and not name.startswith("B_"))
    }
    return used - set().union(*TABLES)


def changed(path: str, old: str, new: str) -> dict[str, ast.Module]:
    """The room with one line changed."""
    text = (SIMULATION / path).read_text()
    assert text.count(old) == 1, f"{old!r} is not in {path} once"
    return trees() | {path: ast.parse(text.replace(old, new))}


class TestSetters:
    """Only three functions move what fetches are passed over by."""

    def test_nobody_else_writes_a_log_end_a_high_watermark_or_an_isr(self) -> None:
        """R_LEO, R_HW and R_ISR are assigned in `state.py` alone."""
        assert unfenced_writes(trees()) == []

    @pytest.mark.parametrize(("cell", "setter"), SETTERS.items())
    def test_each_setter_tells(self, cell: str, setter: str) -> None:
        """It writes its cell, and notes the move for the followers."""
        function = next(
            node
            for node in trees()["state.py"].body
            if isinstance(node, ast.FunctionDef) and node.name == setter
        )
        assert [names & set(SETTERS) for _, names in written_cells(function)] == [{cell}]
        assert names_in(function) & {"mark_followers_dirty", "mark_isr_changed"}

    def test_a_write_past_them_is_found(self) -> None:
        """An append that moves the log end by itself is caught here, not by a random scenario."""
        mutated = changed(
            "produces.py",
            "set_log_end(w, r, w[r + R_LEO] + records)",
            "w[r + R_LEO] += records",
        )
        assert [place.partition(":")[0] for place in unfenced_writes(mutated)] == ["produces.py"]


class TestSettings:
    """A setting in spite of which runs are shared is read with its question."""

    def test_nobody_reads_one_without_naming_the_question(self) -> None:
        """C_ cells and switches that runs may differ in are read by `depends` alone."""
        assert unfenced_reads(trees()) == []

    def test_what_brokers_read_for_themselves_is_read_there(self) -> None:
        """No rule reads the header's cell of a setting that a broker may have of its own."""
        assert len(OWN) == len(OF_ALL) == len(layout.OF_BROKER)
        readers = {path for path, tree in trees().items() if names_in(tree) & OF_ALL}
        assert readers == {"world/layout.py"}

    def test_who_reacts_to_an_error_notes_the_fetcher(self) -> None:
        """The rule `reaction` reads the switch FETCHER: each of its callers notes that."""
        callers = [
            node
            for tree in trees().values()
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and "reaction" in names_in(node)
        ]
        assert callers
        assert all({"note", "DEP_FETCHER"} <= names_in(node) for node in callers)

    def test_a_read_past_them_is_found(self) -> None:
        """A session timeout read without a question is caught here."""
        mutated = changed(
            "controller.py",
            "w[G_NOW] + setting(w, b + B_SESSION, DEP_SESSION)",
            "w[G_NOW] + w[b + B_SESSION]",
        )
        assert [place.partition(":")[0] for place in unfenced_reads(mutated)] == ["controller.py"]


class TestBounds:
    """Every time or threshold that a rule reads is listed where jumps are bounded."""

    def test_every_setting_and_duration_is_listed(self) -> None:
        """Each is in one table of `cycles`, which says what bounds it, or why nothing has to."""
        assert unbounded(trees()) == set()

    def test_no_entry_is_idle(self) -> None:
        """What is listed is used; what bounds a jump is a function of `cycles`."""
        used = set().union(*(names_in(tree) for tree in trees().values()))
        assert set().union(*TABLES) <= used
        tree = trees()["shortcuts/cycles.py"]
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for cell, bound in cycles.BOUNDED.items():
            assert cell in names_in(functions[bound]), f"{bound} does not look at {cell}"

    def test_a_new_time_is_found(self) -> None:
        """A rule that begins to read another time is caught until somebody has listed it."""
        mutated = changed("reads.py", "limit + 1,", "limit + 1 + w[C_NEW_LIMIT],")
        assert unbounded(mutated) == {"C_NEW_LIMIT"}
