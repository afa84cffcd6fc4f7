"""Libraries are used by their public interfaces: what begins with `_` may change at any release."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.home import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDERS = ("isr_pipeline", "dags", "spark_jobs")

ONES_OWN = re.compile(r"_(?:pandas|asdict|fields|replace|make)$")
"""Private names that are a module's own convention, or public in spite of the sign."""


def files() -> list[Path]:
    """Every source file that imports pyspark or py4j."""
    found = [file for name in FOLDERS for file in (REPOSITORY / name).rglob("*.py")]
    return [
        one for one in found if re.search(r"import pyspark|from (?:pyspark|py4j)", one.read_text())
    ]


def private(tree: ast.AST) -> Iterator[str]:
    """Private attributes of anything but `self` and `cls`, and private names that are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr):
            owner = node.value
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                yield node.attr
        if isinstance(node, ast.keyword) and node.arg in ("_jvm", "_jconf"):
            yield node.arg
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("pyspark", "py4j")):
            yield from (one.name for one in node.names if one.name.startswith("_"))


AIRFLOWS_OWN = re.compile(
    r"airflow\.(?:sdk(?:\.exceptions|\.types)?\.\w+$|providers\.)|"
    r"airflow\.(?:configuration\.conf|plugins_manager\.AirflowPlugin)$|"
    r"airflow\.api_fastapi\.(?:app\.get_auth_manager|"
    r"auth\.managers\.base_auth_manager\.COOKIE_NAME_JWT_TOKEN)$"
)
"""What Airflow documents for those who write DAGs, and for those who extend it (auth managers)."""


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted name of everything that is imported, wherever in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)


def test_only_airflows_public_interface() -> None:
    """Its scheduler, executors, models and serialization may change at any release."""
    found = {
        f"{file.relative_to(REPOSITORY)}: {name}"
        for folder in FOLDERS
        for file in (REPOSITORY / folder).rglob("*.py")
        for name in imported(ast.parse(file.read_text()))
        if re.match(r"airflow\b", name) and not AIRFLOWS_OWN.match(name)
    }
    assert found == set()


@pytest.mark.parametrize("file", files(), ids=lambda file: file.relative_to(REPOSITORY).as_posix())
def test_no_private_name_of_sparks(file: Path) -> None:
    """Neither pyspark's nor py4j's."""
    found = [name for name in private(ast.parse(file.read_text())) if not ONES_OWN.match(name)]
    assert found == []
