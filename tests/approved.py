"""Sentences that a person approved: what the program says is compared with a text, not with code.

`approved/MODULE.txt` beside a module holds a section for each of its tests that use the fixture
`approved`. `pytest --approve` writes what the program says now; the diff is then read.
"""

from __future__ import annotations

import difflib
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

MARK = "==== "
"""Begins the line that names a section's test."""

OWNERS = pytest.StashKey[dict[Path, set[str]]]()
"""By file, the tests that use it: all that were collected, whether they run or not."""


def read(file: Path) -> dict[str, str]:
    """Sections of a file by the names of their tests; none if it is missing."""
    if not file.exists():
        return {}
    _, *sections = f"\n{file.read_text(encoding='utf-8')}".split(f"\n{MARK}")
    return {name: text.strip("\n") for name, _, text in (one.partition("\n") for one in sections)}


def write(file: Path, sections: dict[str, str]) -> None:
    """Write sections in the order of their names; no file if there are none."""
    if not sections:
        file.unlink(missing_ok=True)
        return
    told = [f"{MARK}{name}\n{text}\n" for name, text in sorted(sections.items())]
    file.write_text("\n".join(told), encoding="utf-8")


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Keep other processes of the same run from writing meanwhile."""
    file.parent.mkdir(exist_ok=True)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@dataclass
class Approved:
    """What the program says in one test, beside what was approved.

    Args:
        file: holds the approved text.
        name: the test, class and parameters included.
        approve: write what the program says, and compare nothing.
    """

    file: Path
    name: str
    approve: bool
    is_used: bool = False

    def __call__(self, said: str | Iterable[str], **volatile: object) -> None:
        """Compare a text, or lines, with what was approved.

        Args:
            said: by the program.
            volatile: values that each run has anew, such as a folder; the text has their names.
        """
        text = said if isinstance(said, str) else "\n".join(said)
        for name, value in volatile.items():
            text = text.replace(str(value), name)
        text = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
        assert not self.is_used, "a test approves one text"
        assert not any(line.startswith(MARK) for line in text.splitlines())
        self.is_used = True
        if self.approve:
            with alone(self.file):
                write(self.file, {**read(self.file), self.name: text})
            return
        before = read(self.file).get(self.name)
        if text != before:
            names = f"{self.file.name}, approved", "said now"
            diff = difflib.unified_diff((before or "").splitlines(), text.splitlines(), *names)
            changed = "\n".join(line.rstrip("\n") for line in diff)
            pytest.fail(f"{self.name}: not what was approved (--approve)\n{changed}", pytrace=False)

    @contextmanager
    def refusal(self, kind: type[Exception], **volatile: object) -> Iterator[None]:
        """Expect an error of a kind; its sentence is the approved text."""
        with pytest.raises(kind) as caught:
            yield
        self(str(caught.value), **volatile)


def unused(owners: dict[Path, set[str]], folder: Path) -> dict[Path, set[str]]:
    """Sections below a folder that no test asks for, by file.

    A file whose module stands there and was not collected is left out.
    """
    found = {}
    for file in sorted(folder.rglob("approved/*.txt")):
        if file in owners or not (file.parent.parent / f"{file.stem}.py").exists():
            found[file] = set(read(file)) - owners.get(file, set())
    return {file: names for file, names in found.items() if names}


def place(item: pytest.Item) -> tuple[Path, str]:
    """The file of a test, and its section there."""
    name = ".".join(item.nodeid.split("::")[1:])
    return item.path.parent / "approved" / f"{item.path.stem}.txt", name


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag."""
    parser.addoption("--approve", action="store_true", help="write tests/**/approved/*.txt anew")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse the flag where nobody reads the diff."""
    if config.getoption("--approve") and os.environ.get("CI"):
        raise pytest.UsageError("--approve: CI is set; allowed: where a person reads the diff")
    config.stash[OWNERS] = {}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Note a test's section."""
    if "approved" in getattr(item, "fixturenames", ()):
        file, name = place(item)
        item.config.stash[OWNERS].setdefault(file, set()).add(name)


@pytest.fixture
def approved(request: pytest.FixtureRequest) -> Approved:
    """Compare what the program says with what was approved."""
    return Approved(*place(request.node), approve=request.config.getoption("--approve"))
