"""Which files of a kind there are, each with what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isr_pipeline.errors import InputError
from isr_pipeline.files.reading import read_mapping

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Listed:
    """One file.

    Attributes:
        name: by which commands know it.
        file: where it is.
        description: as it says, on one line; empty if it says none.
        problem: why it cannot be read, in one line; empty if it can.
    """

    name: str
    file: str
    description: str
    problem: str = ""

    @property
    def line(self) -> str:
        """Its problem, or the first sentence of its description."""
        return self.problem or self.description.partition(". ")[0].rstrip(".")


def listed(folder: Path) -> list[Listed]:
    """List the YAML files of a folder by name, those that cannot be read too."""
    return [_listed(path) for path in sorted(folder.glob("*.yaml"))]


def _listed(path: Path) -> Listed:
    try:
        said = read_mapping(path).get("description") or ""
    except InputError as problem:
        return Listed(path.stem, str(path), "", str(problem))
    return Listed(path.stem, str(path), " ".join(str(said).split()))
