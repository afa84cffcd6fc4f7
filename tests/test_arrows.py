"""Which room may import which: the arrows of the house, read from the sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "isr_pipeline"

# Library -> folders that may import it, at the top of a file or inside a function.
KEEPERS = {
    "mlflow": ("isr_pipeline/tracking",),
    "great_expectations": ("isr_pipeline/validation",),
    "airflow": ("dags",),
    "pyspark": ("spark_jobs", "isr_pipeline/outcomes", "isr_pipeline/validation"),
}


def sources() -> list[Path]:
    """Every source file of the product (tests and benchmarks may import what they try)."""
    folders = (PACKAGE, ROOT / "spark_jobs", ROOT / "dags", ROOT / "tools")
    return sorted(file for folder in folders for file in folder.rglob("*.py"))


def imports(file: Path) -> set[str]:
    """Dotted names of every module that a file imports, wherever in it; relative ones resolved."""
    found: set[str] = set()
    package = file.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found


def named(file: Path) -> str:
    """Return the path as a person writes it."""
    return file.relative_to(ROOT).as_posix()


def reaches(file: Path, module: str) -> bool:
    """Whether a file imports a module or anything in it."""
    return any(name == module or name.startswith(f"{module}.") for name in imports(file))


def rooms() -> set[str]:
    """Names of the rooms of the package."""
    return {folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").is_file()}


class TestRulesAndWorld:
    """The rules know nothing of the rest; the world knows the rules."""

    @pytest.mark.parametrize(("room", "may"), [("kafka", set()), ("simulation", {"kafka"})])
    def test_imports_no_other_room(self, room: str, may: set[str]) -> None:
        """`kafka/` imports no other room, `simulation/` only `kafka/`."""
        others = rooms() - {room} - may
        wrong = [
            f"{named(file)} imports {other}/"
            for file in sorted((PACKAGE / room).rglob("*.py"))
            for other in sorted(others)
            if reaches(file, f"isr_pipeline.{other}")
        ]
        assert wrong == []


class TestTop:
    """What stands at the top is imported by nothing."""

    @pytest.mark.parametrize("top", ["dags", "spark_jobs", "isr_pipeline.cli"])
    def test_nothing_imports_it(self, top: str) -> None:
        """DAGs, Spark jobs and the command line are ends, not parts."""
        inside = top.replace(".", "/")
        wrong = [
            named(file)
            for file in sources()
            if not named(file).startswith(inside) and reaches(file, top)
        ]
        assert wrong == []


class TestKeepers:
    """Each heavy library has one keeper, so that it can be replaced in one place."""

    @pytest.mark.parametrize("library", sorted(KEEPERS))
    def test_only_its_keeper_imports_it(self, library: str) -> None:
        """Airflow, Spark, MLflow and Great Expectations stay in their rooms."""
        wrong = [
            named(file)
            for file in sources()
            if reaches(file, library) and not named(file).startswith(KEEPERS[library])
        ]
        assert wrong == []

    def test_the_reader_sees_imports_inside_functions(self, tmp_path: Path) -> None:
        """A lazy import counts: the reader of imports walks the whole tree."""
        file = ROOT / "isr_pipeline" / "experiment" / "night.py"
        assert "isr_pipeline.verdicts.model" in imports(file)
