"""A throw-away clone of this checkout, in which a change is planted among harmless commits."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.kernels.source import PACKAGE, Source, read_package
from tests.mutation.check import mutated
from tests.mutation.mutants import Mutant

PLANT, PHASES = "plant", "phases"

SALT = 'f"{seed}|{purpose}|{name}"'
"""How phases and jitters are hashed (``worlds/encoder.py``)."""

UNUSED = ("worlds/size.py", "simulation/network.py")
"""Files that get functions which nothing calls, one commit after the other."""

COMMENTED = "kafka/election.py"


@dataclass(frozen=True)
class Made:
    """The commits of one plant.

    Attributes:
        first: commit of the baseline; ``last``: of tonight; ``planted``: with the plant.
        before, after: sources of the two sides.
        alone: the baseline's with the plant and nothing else.
    """

    first: str
    last: str
    planted: str
    before: Source
    after: Source
    alone: Source


class Clone:
    """A clone whose first commit of ours is the checkout as it is now."""

    def __init__(self, folder: Path) -> None:
        """Clone into a folder that is not there yet."""
        self.folder = folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        _git(REPOSITORY, "clone", "--quiet", "--shared", str(REPOSITORY), str(folder))
        self._source = read_package()
        self._write(self._source)
        self._start = self._commit("The package as it is")

    def plant(self, history: Iterable[str], mutant: Mutant) -> Made:
        """Commit a history, from the start on."""
        _git(self.folder, "checkout", "--quiet", "--detach", self._start)
        before = now = self._source
        planted = ""
        for number, step in enumerate(history):
            now = stepped(now, step, number, mutant)
            self._write(now)
            made = self._commit(f"Step {number}: {'rules' if PLANT in step else step}")
            if PLANT in step:
                planted = made
            self._readme(number)
        return Made(
            first=self._start,
            last=_git(self.folder, "rev-parse", "HEAD"),
            planted=planted,
            before=before,
            after=now,
            alone=changed(before, mutant),
        )

    def _readme(self, number: int) -> None:
        """A commit that does not touch the kernel, after each that does."""
        page = self.folder / "README.md"
        page.write_text(page.read_text(encoding="utf-8") + f"\nStep {number}.\n", encoding="utf-8")
        self._commit(f"Words on step {number}")

    def _write(self, source: Source) -> None:
        for name, content in source.files.items():
            file = self.folder / PACKAGE / name
            if not file.is_file() or file.read_bytes() != content:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)

    def _commit(self, message: str) -> str:
        identity = ("-c", "user.name=A Planter", "-c", "user.email=planter@example.org")
        _git(self.folder, "add", "--all")
        _git(self.folder, *identity, "commit", "--quiet", "--allow-empty", "-m", message)
        return _git(self.folder, "rev-parse", "HEAD")


def stepped(source: Source, step: str, number: int, mutant: Mutant | None = None) -> Source:
    """Sources after one more commit.

    Args:
        source: before it.
        step: ``unused``, ``comment``, or what it has of ``plant`` and ``phases``.
        number: of the commit, from 0.
        mutant: what is planted.
    """
    if step == "unused":
        text = f"\n\ndef unused_{number}(x):\n    return x\n"
        return _appended(source, UNUSED[number % len(UNUSED)], text)
    if step == "comment":
        return _appended(source, COMMENTED, "\n# Nothing else.\n")
    if PHASES in step:
        source = phases_anew(source)
    if PLANT in step:
        assert mutant is not None, "a plant has a mutant"
        source = changed(source, mutant)
    return source


def changed(source: Source, mutant: Mutant) -> Source:
    """Sources with one line of the rules changed."""
    name = f"kafka/{mutant.file}"
    text = mutated(source.files[name].decode(), mutant)
    return replace(source, files={**source.files, name: text.encode()})


def phases_anew(source: Source) -> Source:
    """Sources that hash all phases and jitters under other names."""
    name = "worlds/encoder.py"
    text = source.files[name].decode()
    assert text.count(SALT) == 1, f"{name} does not hash as it did"
    text = text.replace(SALT, SALT.replace("{purpose}|", "{purpose}|anew|"))
    return replace(source, files={**source.files, name: text.encode()})


def _appended(source: Source, name: str, text: str) -> Source:
    return replace(source, files={**source.files, name: source.files[name] + text.encode()})


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
