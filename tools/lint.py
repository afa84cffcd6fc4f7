"""What ruff has no rule for: ``python tools/lint.py``, a part of ``make lint``.

* A function has at most 70 lines, its docstring among them.
* A file has at most 1 000 lines.
* What the product declares is used by the product: a name that stands only where it is declared,
  or elsewhere in tests alone, is dead. Used is what is named anywhere else in the sources; what a
  decorator hands to somebody (a command, a type told to numba) counts as used.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 1_000

PRODUCT = ("isr_pipeline", "dags", "spark_jobs", "tools", "benchmarks")
EVERYTHING = (*PRODUCT, "tests")

LOOKED_FOR: dict[str, tuple[str, ...]] = {
    "ast": ("visit_*",),
    "pyproject.toml": ("NightPages",),
    "Airflow": ("get_link", "fastapi_apps", "external_views"),
    "Great Expectations": (
        *("RowsKeepRule", "condition_metric_name", "condition_domain_keys", "condition_value_keys"),
        *("ExpectRowsToKeepRule", "map_metric", "success_keys", "args_keys"),
    ),
    "MkDocs": ("on_config", "on_files", "on_page_content", "on_page_markdown", "on_post_page"),
    "numba": ("generic_resolve",),
    "socketserver": ("handle", "daemon_threads"),
}
"""Who looks for names that nothing of ours uses -> the names."""

FOR_TESTS: dict[str, str] = {
    **dict.fromkeys(
        ("BOUNDED", "PLANNED", "REPEATS", "NO_RULE"),
        "tests/simulation/test_fences.py finds every comparison of the kernel in one of them",
    ),
    "INVARIANTS": "what the kernel's debug build checks has its words here",
}
"""Declarations of the product that only tests use -> why they stand there."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Source:
    """A file of Python.

    Attributes:
        name: from the checkout's root on.
    """

    name: str
    text: str
    tree: ast.Module


def sources(folders: tuple[str, ...] = EVERYTHING, root: Path = ROOT) -> Iterator[Source]:
    """Every file of Python below some folders."""
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            yield Source(file.relative_to(root).as_posix(), text, ast.parse(text))


def long_functions(source: Source) -> Iterator[str]:
    """Functions with too many lines."""
    for node in ast.walk(source.tree):
        if isinstance(node, Function):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield (
                    f"{source.name}:{node.lineno}: {node.name} has {lines} lines, "
                    f"at most {FUNCTION_LINES_MAX}"
                )


def long_file(source: Source) -> Iterator[str]:
    """A file with too many lines."""
    lines = source.text.count("\n")
    if lines > FILE_LINES_MAX:
        yield f"{source.name}: {lines} lines, at most {FILE_LINES_MAX}"


def declared(source: Source) -> Iterator[tuple[str, int]]:
    """Name and line of what a file declares: functions, classes, constants, and their members."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            for one in [] if _is_enumeration(node) else node.body:
                yield from ((name, one.lineno) for name in _names(one))


def _is_enumeration(node: ast.AST) -> bool:
    """Its members are cases, of which each may be what is left when no other holds."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return any(ast.unparse(one).endswith(("Enum", "Flag")) for one in bases)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, Function | ast.ClassDef):
        handed = [one for one in node.decorator_list if "dataclass" not in ast.unparse(one)]
        return [] if handed else [node.name]
    if isinstance(node, ast.AnnAssign):
        return [node.target.id] if isinstance(node.target, ast.Name) else []
    if isinstance(node, ast.Assign):
        return [one.id for one in node.targets if isinstance(one, ast.Name)]
    return []


def dead(product: list[Source]) -> Iterator[str]:
    """Declarations that nothing else in the product names."""
    words = Counter(word for one in product for word in re.findall(r"\w+", one.text))
    for source in product:
        for name, line in declared(source):
            if words[name] == 1 and not _is_looked_for(name):
                yield f"{source.name}:{line}: {name} is declared and never used"


def _is_looked_for(name: str) -> bool:
    others = (one for names in LOOKED_FOR.values() for one in names)
    return (
        name.startswith("__")
        or name in FOR_TESTS
        or any(re.fullmatch(one.replace("*", r"\w+"), name) for one in others)
    )


def findings() -> list[str]:
    """Everything that is wrong, a line each."""
    every = list(sources())
    product = [one for one in every if not one.name.startswith("tests/")]
    found = [line for one in every for line in (*long_functions(one), *long_file(one))]
    return [*found, *dead(product)]


if __name__ == "__main__":
    told = findings()
    sys.stdout.write("".join(f"{line}\n" for line in told))
    sys.exit(bool(told))
