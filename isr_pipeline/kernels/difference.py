"""What differs between two sources: files, and the functions, classes and constants in them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from isr_pipeline.base.compiling import KERNEL_ROOMS
from isr_pipeline.kernels.source import Source

FILE_AS_A_WHOLE = "(file)"
"""Name of the part of a file that cannot be read, or is there on one side only."""


@dataclass(frozen=True, order=True, slots=True)
class Part:
    """A function, class or constant of a file that is not the same on both sides.

    Attributes:
        file: below the package, ``kafka/replica.py``.
        name: of the part, or `FILE_AS_A_WHOLE`.
    """

    file: str
    name: str

    def __str__(self) -> str:
        """``kafka/replica.py: is_out_of_sync``."""
        return f"{self.file}: {self.name}"


def changed_files(before: Source, after: Source) -> list[str]:
    """Files of the kernel's rooms whose content differs, or that only one side has."""
    names = {
        name for name in (*before.files, *after.files) if name.partition("/")[0] in KERNEL_ROOMS
    }
    return sorted(name for name in names if before.files.get(name) != after.files.get(name))


def changed_parts(before: Source, after: Source) -> list[Part]:
    """Parts that do something else: texts, comments and layout do not count."""
    found = []
    for file in changed_files(before, after):
        old, new = _parts(before.files.get(file)), _parts(after.files.get(file))
        if old is None or new is None:
            found.append(Part(file, FILE_AS_A_WHOLE))
            continue
        names = [name for name in {**old, **new} if _written(old, name) != _written(new, name)]
        found += [Part(file, name) for name in names if not _is_import(old, new, name)]
    return sorted(found)


def is_same_code(before: Source, after: Source) -> bool:
    """Whether two sources do the same: texts, comments and layout apart, nothing differs."""
    return all(
        _silent(before.files.get(file)) == _silent(after.files.get(file))
        for file in changed_files(before, after)
    )


def _silent(content: bytes | None) -> str | bytes | None:
    """A file without texts, comments and layout; as it is if it cannot be read."""
    if content is None:
        return None
    try:
        return ast.dump(_Silent().visit(ast.parse(content)))
    except (SyntaxError, ValueError):
        return content


def _parts(content: bytes | None) -> dict[str, ast.stmt] | None:
    """Name -> statement at the top of a module; None without one that can be read."""
    if content is None:
        return None
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return None
    return {_name(node): node for node in tree.body if not _is_text(node)}


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.target)
    if isinstance(node, ast.Assign):
        return ", ".join(ast.unparse(target) for target in node.targets)
    return ast.unparse(node)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_import(old: dict[str, ast.stmt], new: dict[str, ast.stmt], name: str) -> bool:
    node = new.get(name, old.get(name))
    return isinstance(node, ast.Import | ast.ImportFrom | ast.If)


def _written(parts: dict[str, ast.stmt], name: str) -> str:
    """What a part does, as text; empty if it is not there."""
    if name not in parts:
        return ""
    node = parts[name]
    return ast.unparse(_Silent().visit(ast.parse(ast.unparse(node))))


class _Silent(ast.NodeTransformer):
    """Drops docstrings."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Leave out a text that stands alone."""
        return None if _is_text(node) else node
