"""The floors of the house: which room may import which, read from the sources."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "isr_pipeline"

FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("storage",),
    ("home", "files"),
    ("compiling",),
    ("kafka", "host", "version", "sources", "kernels"),
    ("simulation", "refusals"),
    ("scenarios",),
    ("worlds",),
    ("clusters", "conformance"),
    ("experiment",),
    ("outcomes",),
    ("verdicts", "validation"),
    ("blame",),
    ("report",),
    ("tracking",),
    ("night",),
    ("jobs",),
    ("orchestration",),
    ("cli", "spark_jobs", "dags"),
)
"""Every room, lowest first. A room imports only rooms of floors below its own."""

KEEPERS = {
    "mlflow": (f"{PACKAGE}/tracking",),
    "kafka": (f"{PACKAGE}/clusters", "tools/lab"),
    "great_expectations": (f"{PACKAGE}/validation",),
    "airflow": ("dags", f"{PACKAGE}/orchestration"),
    "pyspark": (f"{PACKAGE}/host", f"{PACKAGE}/jobs"),
}
"""Library -> folders that may import it, at the top of a file or inside a function."""

TOPS = ("spark_jobs", "dags")
"""Rooms beside the package."""

FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

MODULE_NAME = re.compile(rf"(?:{PACKAGE}|{'|'.join(TOPS)})(?:\.[a-z_][a-z0-9_]*)+")
"""A text that names a module of ours, or something in one."""


def sources() -> list[Path]:
    """Every source file of the product (tests and benchmarks may import what they try)."""
    folders = (PACKAGE, *TOPS, "tools")
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


def named(file: Path) -> str:
    """Return the path as a person writes it."""
    return file.relative_to(ROOT).as_posix()


def imports(file: Path) -> set[str]:
    """Dotted names of every module that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{named(file)}: a relative import"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def room_of(module: str) -> str | None:
    """Room of a dotted name: ``isr_pipeline.kafka.replica`` is in ``kafka``; None if not ours."""
    parts = module.split(".")
    if parts[0] in TOPS:
        return parts[0]
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else None


def room_of_file(file: Path) -> str:
    """Room that a file belongs to."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return parts[1] if parts[0] == PACKAGE else parts[0]


def arrows() -> dict[tuple[str, str], list[str]]:
    """(room, imported room) -> the files that make it."""
    found: dict[tuple[str, str], list[str]] = {}
    for file in sources():
        room = room_of_file(file)
        for target in {room_of(module) for module in imports(file)} - {None, room}:
            found.setdefault((room, str(target)), []).append(named(file))
    return found


def module_file(module: str) -> Path | None:
    """File of a dotted name of ours, or of the module that holds it; None if there is none."""
    parts = module.split(".")
    for length in (len(parts), len(parts) - 1):
        base = ROOT.joinpath(*parts[:length])
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if length > 1 and file.is_file():
                return file
    return None


class TestFloors:
    """Arrows go down."""

    def test_every_room_has_a_floor(self) -> None:
        """A new room is put into the table, which says what it may import."""
        files = [file for file in sources() if file.relative_to(ROOT).parts[0] != "tools"]
        assert {room_of_file(file) for file in files} - {"__init__"} <= set(FLOOR_OF)

    def test_no_import_runs_up_or_across(self) -> None:
        """A room imports rooms of lower floors only; imports inside functions count."""
        wrong = {
            f"{room} -> {target}": files
            for (room, target), files in arrows().items()
            if room in FLOOR_OF and FLOOR_OF[target] >= FLOOR_OF[room]
        }
        assert wrong == {}

    def test_files_of_a_room_make_no_circle(self) -> None:
        """Inside a room no chain of imports comes back to where it began."""
        below = {
            file: {module_file(module) for module in imports(file)} - {None, file}
            for file in sources()
        }
        done: set[Path] = set()

        def visit(file: Path, path: tuple[Path, ...]) -> None:
            assert file not in path, " -> ".join(named(one) for one in (*path, file))
            if file in done:
                return
            for target in sorted(t for t in below.get(file, ()) if t):
                visit(target, (*path, file))
            done.add(file)

        for file in below:
            visit(file, ())

    def test_an_import_inside_a_function_counts(self) -> None:
        """The reader of imports walks the whole tree of a file."""
        assert "isr_pipeline.outcomes.store" in imports(ROOT / PACKAGE / "night" / "show.py")


class TestNamesInTexts:
    """A module that is named in a text is an arrow that imports do not show."""

    def test_every_module_name_resolves(self) -> None:
        """Each dotted name of ours, in any text of any file, is a module or something in one."""
        wrong = []
        for file in sources():
            for node in ast.walk(ast.parse(file.read_text())):
                if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                    continue
                for name in MODULE_NAME.findall(node.value):
                    holder = module_file(name)
                    last = name.rpartition(".")[2]
                    if holder is None or (
                        holder.stem not in (last, "__init__")
                        and not re.search(rf"\b{last}\b", holder.read_text())
                    ):
                        wrong.append(f"{named(file)}: {name}")
        assert wrong == []

    def test_entry_points_resolve(self) -> None:
        """What pyproject.toml names exists."""
        text = (ROOT / "pyproject.toml").read_text()
        for name in MODULE_NAME.findall(text):
            assert importlib.util.find_spec(name) is not None, name


class TestKeepers:
    """Each heavy library has few keepers, so that it can be replaced in one place."""

    @pytest.mark.parametrize("library", sorted(KEEPERS))
    def test_only_its_keeper_imports_it(self, library: str) -> None:
        """Airflow, Spark, MLflow and Great Expectations stay in their rooms."""
        wrong = [
            named(file)
            for file in sources()
            if not named(file).startswith(KEEPERS[library])
            and any(name == library or name.startswith(f"{library}.") for name in imports(file))
        ]
        assert wrong == []
