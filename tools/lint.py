"""What ruff has no rule for: ``python tools/lint.py``, a part of ``make lint``.

* A function has at most 70 lines, its docstring among them.
* A file has at most 1 000 lines.
* What the product declares is used by the product: a name that its code does not use, or tests
  alone, is dead. A declaration of a file is used in that file or in one that imports it; a member,
  wherever its name is used. Words of docstrings and comments use nothing. What a decorator hands
  to somebody (a command, a type told to numba) counts as used.
* A command of the Makefile runs every test: one selects each marker in each file that has it, and
  sets each environment variable that a skip asks for. None undoes a skip by platform, or always.
"""

from __future__ import annotations

import ast
import itertools
import re
import shlex
import sys
import tomllib
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
    "Airflow": ("DAGS", "get_link", "fastapi_apps", "external_views"),
    "Great Expectations": (
        *("RowsKeepRule", "condition_metric_name", "condition_domain_keys", "condition_value_keys"),
        *("ExpectRowsToKeepRule", "map_metric", "success_keys", "args_keys"),
    ),
    "MkDocs": ("on_config", "on_files", "on_page_content", "on_page_markdown", "on_post_page"),
    "numba": ("generic", "generic_resolve"),
    "pydantic": ("model_config",),
    "socketserver": ("handle", "daemon_threads"),
}
"""Who looks for names that nothing of ours uses -> the names."""

FOR_TESTS: dict[str, str] = {
    **dict.fromkeys(
        ("BOUNDED", "PLANNED", "REPEATS", "NO_RULE"),
        "tests/simulation/test_fences.py finds every comparison of the kernel in one of them",
    ),
    **dict.fromkeys(
        ("broken_invariant", "refused_place", "refused_value"),
        "tests/simulation/invariants.py, the kernel's debug build, leaves there what it found",
    ),
    "KINDS": "random scenarios have faults of every kind",
    "NAMES": "tests/dags compare Airflow's tasks with the steps",
    "WANTED": "tests/benchmarks compare causes.yaml with what is promised",
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
    """Declarations that no code of the product uses."""
    used = {one.name: set(_used(one.tree)) for one in product}
    imported = {one.name: set(_imported(one.tree)) for one in product}
    texts = {name for one in product for name in _named_in_texts(one.tree)}
    anywhere = texts.union(*used.values())
    for source in product:
        module = source.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        here = used[source.name].union(
            *(used[name] for name, modules in imported.items() if module in modules)
        )
        of_file = {name for node in source.tree.body for name in _names(node)}
        for name, line in declared(source):
            is_used = name in (here if name in of_file else anywhere) or f":{name}" in texts
            if not is_used and not _is_looked_for(name):
                yield f"{source.name}:{line}: {name} is declared and never used"


def _used(tree: ast.Module) -> Iterator[str]:
    """Names that code reads, calls, imports or gives as a keyword."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.ImportFrom(names=names):
                yield from (one.name for one in names)
            case ast.Call(func=ast.Name(id="cast"), args=[ast.Constant(value=str(text)), *_]):
                yield from re.findall(r"\w+", text)


def _named_in_texts(tree: ast.Module) -> Iterator[str]:
    """Names that a text consists of: alone, or as ``:name`` behind a module and ``:`` or ``.``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.fullmatch(r"([\w.]*[.:])?(\w+)", node.value)
            if found:
                yield found[0] if found[1] is None else f":{found[2]}"


def _imported(tree: ast.Module) -> Iterator[str]:
    """Dotted names of modules that code imports, and what may be one."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{one.name}" for one in names)
            case ast.Import(names=names):
                yield from (one.name for one in names)


def _is_looked_for(name: str) -> bool:
    others = (one for names in LOOKED_FOR.values() for one in names)
    return (
        name.startswith("__")
        or name in FOR_TESTS
        or any(re.fullmatch(one.replace("*", r"\w+"), name) for one in others)
    )


@dataclass(frozen=True, slots=True)
class Commands:
    """What the recipes of the Makefile give to tests.

    Attributes:
        sets: environment variables.
        selects: a marker and the paths that it is selected in, of each ``pytest -m``.
    """

    sets: frozenset[str]
    selects: tuple[tuple[str, tuple[str, ...]], ...]


def commands(makefile: str) -> Commands:
    """Read the recipes of a Makefile."""
    sets: set[str] = set()
    selects = []
    for line in re.findall(r"^\t@?(.+)", makefile.replace("\\\n", " "), re.MULTILINE):
        words = shlex.split(line)
        for word in itertools.takewhile(re.compile(r"\w+=").match, words):
            sets.add(word.partition("=")[0])
        if "-m" in words and any(word.endswith("/pytest") for word in words):
            paths = tuple(word for word in words if word.startswith("tests"))
            selects.append((words[words.index("-m") + 1], paths))
    return Commands(frozenset(sets), tuple(selects))


def unselected(tests: list[Source], markers: list[str], made: Commands) -> Iterator[str]:
    """Markers that no command selects, in pyproject.toml or in a file of tests."""
    for marker in markers:
        places = [paths for name, paths in made.selects if name == marker]
        if not places:
            yield f"pyproject.toml: no command of the Makefile selects the marker {marker}"
            continue
        anywhere = any(not paths for paths in places)
        for source in [] if anywhere else tests:
            file = Path(source.name)
            here = any(file.is_relative_to(path) for paths in places for path in paths)
            if not here and _uses(source, marker):
                yield f"{source.name}: no command of the Makefile selects {marker} here"


def _uses(source: Source, marker: str) -> bool:
    uses = (node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute))
    return any(node.attr == marker and ast.unparse(node.value) == "pytest.mark" for node in uses)


SKIP = re.compile(r"pytest\.(?:mark\.)?(skip|skipif|importorskip)\b")
PLATFORM = re.compile(r"\b(?:sys\.platform|os\.name|platform\.\w+)")
VARIABLE = re.compile(
    r"\bos\.(?:getenv\(|environ\.get\(|environ\[)([\w']+)|([\w']+) (?:not )?in os\.environ"
)


def lasting(tests: list[Source], made: Commands) -> Iterator[str]:
    """Skips that no command undoes."""
    names = Names(tests)
    for source in tests:
        for line, conditions in skips(source.tree) if SKIP.search(source.text) else []:
            place = f"{source.name}:{line}: no command"
            if not conditions:
                yield f"{place} undoes this skip"
            for file, text in names.reached(source.name, conditions):
                yield from (f"{place} undoes a skip by {one}" for one in PLATFORM.findall(text))
                for told in VARIABLE.findall(text):
                    variable = names.text(file, "".join(told))
                    if variable not in made.sets:
                        yield f"{place} of the Makefile sets {variable}, which this skip asks for"


def skips(node: ast.AST, under: tuple[ast.AST, ...] = ()) -> Iterator[tuple[int, list[ast.AST]]]:
    """Line and conditions of each skip below a node; no condition means everywhere.

    A test that imports or skips has none: ``make setup`` installs what tests need, or nothing does.
    """
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If):
        under = (*under, node.test)
    elif isinstance(node, ast.ExceptHandler):
        under = (*under, node)
    elif isinstance(node, ast.Call) and (kind := SKIP.fullmatch(ast.unparse(node.func))):
        own = [one for one in node.args[:1] if not isinstance(one, ast.Constant)]
        conditions: dict[str, list[ast.AST]] = {"skip": [*under], "skipif": [*own]}
        yield node.lineno, conditions.get(kind[1], [])
        children.remove(node.func)
    elif isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.skip":
        yield node.lineno, []
    for child in children:
        yield from skips(child, under)


class Names:
    """What names in files of tests stand for: values, and whole functions.

    Args:
        tests: every file, since a name may come from another one.
    """

    def __init__(self, tests: list[Source]) -> None:
        self._sources = {one.name: one for one in tests}
        self._bound: dict[str, list[tuple[str, ast.AST]]] = {}

    def reached(self, file: str, nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
        """File and text of some nodes, and of all that their names stand for."""
        waiting = [(file, one) for one in nodes]
        seen: set[tuple[str, str]] = set()
        while waiting:
            here, node = waiting.pop()
            yield here, ast.unparse(node)
            names = {(here, one.id) for one in ast.walk(node) if isinstance(one, ast.Name)}
            for name in names - seen:
                waiting += self._of(*name)
            seen |= names

    def text(self, file: str, told: str) -> str:
        """A text in quotes, or the one that a name stands for."""
        texts = [one.value for _, one in self._of(file, told) if isinstance(one, ast.Constant)]
        return str(texts[0]) if texts else told.strip("'")

    def _of(self, file: str, name: str) -> list[tuple[str, ast.AST]]:
        """File and node of all that a name stands for; nothing if that is none of the tests'."""
        if file not in self._bound:
            tree = self._sources[file].tree if file in self._sources else ast.Module([], [])
            self._bound[file] = [one for node in ast.walk(tree) for one in _bound(node)]
        found: list[tuple[str, ast.AST]] = []
        for _, node in (one for one in self._bound[file] if one[0] == name):
            if isinstance(node, ast.ImportFrom):
                found += self._of(f"{(node.module or '').replace('.', '/')}.py", node.names[0].name)
            else:
                found.append((file, node))
        return found


def _bound(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """Names that a statement gives, each with the node that it stands for."""
    if isinstance(node, Function):
        return [(node.name, node)]
    if isinstance(node, ast.Assign):
        return [(ast.unparse(one), node.value) for one in node.targets]
    if isinstance(node, ast.AnnAssign) and node.value:
        return [(ast.unparse(node.target), node.value)]
    if isinstance(node, ast.ImportFrom):
        one_each = ((one, ast.ImportFrom(node.module, [one], 0)) for one in node.names)
        return [(one.asname or one.name, alone) for one, alone in one_each]
    return []


def findings() -> list[str]:
    """Everything that is wrong, a line each."""
    every = list(sources())
    product = [one for one in every if not one.name.startswith("tests/")]
    tests = [one for one in every if one.name.startswith("tests/")]
    made = commands((ROOT / "Makefile").read_text(encoding="utf-8"))
    found = [line for one in every for line in (*long_functions(one), *long_file(one))]
    return [*found, *dead(product), *unselected(tests, markers(), made), *lasting(tests, made)]


def markers() -> list[str]:
    """Markers that pyproject.toml registers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    told = project["tool"]["pytest"]["ini_options"]["markers"]
    return [one.partition(":")[0] for one in told]


if __name__ == "__main__":
    told = findings()
    sys.stdout.write("".join(f"{line}\n" for line in told))
    sys.exit(bool(told))
