"""The floors of the house: which folder may import which, read from the sources."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from tools.floors import BESIDE_THE_PACKAGE, FLOORS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "isr_pipeline"
FLOOR_OF = {folder.name: at for at, floor in enumerate(FLOORS, 1) for folder in floor}

KEEPERS: dict[str, tuple[str, ...]] = {
    "airflow": ("dags", "isr_pipeline/night/airflow"),
    "great_expectations": ("isr_pipeline/tables/validation",),
    "kafka": ("isr_pipeline/clusters", "tools/lab"),
    "mlflow": ("isr_pipeline/report/tracking",),
    "pyspark": ("isr_pipeline/night/spark",),
}
"""Library -> folders that may import it, at the top of a file or inside a function."""

HEAVY = ("great_expectations", "mlflow", "numba", "pandas", "pyspark")
"""Libraries that Airflow does not read when it reads the files of ``dags/``."""

MODULE_NAME = re.compile(rf"(?:{PACKAGE}|{'|'.join(BESIDE_THE_PACKAGE)})(?:\.[a-z_][a-z0-9_]*)+")
"""A text that names a module of ours, or something in one."""


def sources() -> list[Path]:
    """Every source file of the product (tests and benchmarks may import what they try)."""
    folders = (PACKAGE, *BESIDE_THE_PACKAGE, "tools")
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


def folder_of(module: str) -> str | None:
    """Folder of a dotted name: ``isr_pipeline.kafka.replica`` is in ``kafka``; None if not ours."""
    parts = module.split(".")
    if parts[0] in BESIDE_THE_PACKAGE:
        return parts[0]
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else None


def folder_of_file(file: Path) -> str:
    """Folder that a file belongs to."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return parts[1] if parts[0] == PACKAGE else parts[0]


def paths(file: Path) -> set[Path]:
    """Source files of ours that a file names by a path, as it does to start one as a program.

    A path is written as texts joined by ``/``, or as one text: ``isr_pipeline/night/stack.py``.
    """
    texts = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            parts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
            texts.add("/".join(reversed([one for one in parts if isinstance(one, str)])))
    places = [ROOT / base / text for base in ("", PACKAGE) for text in texts if _is_path(text)]
    return {place for place in places if place.is_file()}


def _is_path(text: str) -> bool:
    return re.fullmatch(r"[\w/]+/\w+\.py", text) is not None


def arrows() -> dict[tuple[str, str], list[str]]:
    """(folder, folder that it imports or names by a path) -> the files that make it."""
    found: dict[tuple[str, str], list[str]] = {}
    for file in sources():
        folder = folder_of_file(file)
        imported = {folder_of(module) for module in imports(file)}
        named_by_path = {folder_of_file(place) for place in paths(file)}
        for target in (imported | named_by_path) - {None, folder}:
            found.setdefault((folder, str(target)), []).append(named(file))
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

    def test_every_folder_has_a_floor(self) -> None:
        """A new folder is put into the table, which says what it may import."""
        files = [file for file in sources() if file.relative_to(ROOT).parts[0] != "tools"]
        assert {folder_of_file(file) for file in files} - {"__init__"} == set(FLOOR_OF)

    def test_no_arrow_runs_up_or_across(self) -> None:
        """A folder imports folders of lower floors only; imports inside functions count."""
        wrong = {
            f"{folder} -> {target}": files
            for (folder, target), files in arrows().items()
            if folder in FLOOR_OF and FLOOR_OF.get(target, 0) >= FLOOR_OF[folder]
        }
        assert wrong == {}

    def test_files_of_a_folder_make_no_circle(self) -> None:
        """Inside a folder no chain of imports comes back to where it began."""
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
        assert "isr_pipeline.tables.store" in imports(ROOT / PACKAGE / "night" / "show.py")

    @pytest.mark.parametrize(
        "written", ['ROOT / "isr_pipeline" / "night" / "stack.py"', '"isr_pipeline/night/stack.py"']
    )
    def test_a_path_counts(self, written: str, tmp_path: Path) -> None:
        """So does a program that is started by its path."""
        file = tmp_path / "starts.py"
        file.write_text(f"PROGRAM = {written}\n")
        assert paths(file) == {ROOT / PACKAGE / "night" / "stack.py"}


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
        """Airflow, Spark, MLflow and Great Expectations stay in their folders."""
        keepers = tuple(f"{keeper}/" for keeper in KEEPERS[library])
        wrong = [
            named(file)
            for file in sources()
            if not named(file).startswith(keepers)
            and any(name == library or name.startswith(f"{library}.") for name in imports(file))
        ]
        assert wrong == []

    def test_a_dag_file_reads_no_heavy_library(self) -> None:
        """Nothing that a file of ``dags/`` imports when it is read imports one of them."""
        wrong, seen = [], set()
        waiting = sorted((ROOT / "dags").glob("*.py"))
        while waiting:
            file = waiting.pop()
            names = imported_when_read(file)
            wrong += [f"{named(file)}: {name}" for name in names if name.split(".")[0] in HEAVY]
            seen.add(file)
            waiting += {found for name in names for found in module_files(name)} - seen
        assert wrong == []


def imported_when_read(file: Path) -> set[str]:
    """Dotted names that a file imports at its top, those for types alone left out."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def module_files(module: str) -> set[Path]:
    """File of a module of ours, with the packages that are read before it; empty if not ours."""
    file = module_file(module)
    if file is None:
        return set()
    above = file.relative_to(ROOT).parents
    packages = {ROOT / folder / "__init__.py" for folder in above if folder.parts}
    return {file} | {package for package in packages if package.is_file()}
