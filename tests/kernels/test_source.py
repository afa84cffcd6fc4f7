"""Archives of sources, and what differs between two."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.experiment.plan import kernel_digest
from isr_pipeline.kernels import commits
from isr_pipeline.kernels.commits import find_source
from isr_pipeline.kernels.difference import changed_files, changed_parts
from isr_pipeline.kernels.source import (
    KEPT,
    PACKAGE,
    Source,
    is_kept,
    keep_present,
    libraries_here,
    read_archive,
    read_package,
    unpacked,
    write_archive,
)
from tests.kernels import repository

ENTRIES = ("worlds/run.py", "scenarios/model.py", "__init__.py")
OLD = b'''"""Rules."""

from __future__ import annotations

LIMIT = 3


def helper(x):
    """Helps."""
    return x


def rule(x):
    return helper(x) > LIMIT


def other(x):
    return x + 1
'''
NEW = b'''"""Rules, told in other words."""

from __future__ import annotations

import math

LIMIT = 3


def rule(x):
    return math.floor(x) >= LIMIT


def other(x):
    """Adds."""
    return x + 1  # one


def added(x):
    return x


def third(x):
    return added(x)
'''


def source(text: bytes) -> Source:
    """Sources of one file."""
    return Source({"kafka/rules.py": text})


class TestClosure:
    """What is kept is enough."""

    def test_every_import_of_the_kernel_is_kept(self) -> None:
        """From the entry on, no file of ours is imported that an archive does not have."""
        files = read_package().files
        waiting, seen = list(ENTRIES), set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            assert name in files, name
            seen.add(name)
            for node in ast.walk(ast.parse(files[name])):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                    base = (node.module or "").removeprefix(PACKAGE).strip(".").replace(".", "/")
                    for one in node.names:
                        found = [f"{base}.py", f"{base}/__init__.py", f"{base}/{one.name}.py"]
                        there = [n for n in found if (REPOSITORY / PACKAGE / n).is_file()]
                        assert there, (name, node.module)
                        waiting += there
        assert len(seen) > 30

    def test_tests_and_data_are_not_kept(self) -> None:
        """Rooms that decide no outcome stay out."""
        assert not is_kept("report/html.py")
        assert not is_kept("cli.py")
        assert is_kept("kafka/replica.py")
        assert "outcomes" not in KEPT


class TestArchive:
    """Written, read, unpacked."""

    def test_round_trip(self, tmp_path: Path) -> None:
        """What comes back is what went in, with its versions; the digest is the plan's."""
        kept = read_package(code_version="v1+kernel.abc", libraries=libraries_here())
        write_archive(kept, tmp_path / "s.tar.xz")
        again = read_archive(tmp_path / "s.tar.xz")
        assert again == kept
        assert again.kernel_digest == kernel_digest()
        assert set(again.libraries) == {"python", "numba", "numpy"}

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
    def test_half_written(self, tmp_path: Path, share: float) -> None:
        """A cut file is one line."""
        file = tmp_path / "s.tar.xz"
        write_archive(read_package(), file)
        whole = file.read_bytes()
        file.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(Refused) as refusal:
            read_archive(file)
        assert str(refusal.value) == f"{file}: the archive of sources is damaged or half-written"

    def test_missing(self, tmp_path: Path) -> None:
        """No file is another line."""
        with pytest.raises(Refused, match="there is no such archive of sources"):
            read_archive(tmp_path / "s.tar.xz")

    def test_unpacked_again_if_somebody_changed_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A folder that is not what its name says is unpacked anew."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        kept = source(OLD)
        folder = unpacked(kept, Home.from_environment())
        (folder / PACKAGE / "kafka" / "rules.py").write_text("x = 1\n")
        assert unpacked(kept, Home.from_environment()) == folder
        assert read_package(folder / PACKAGE).files == kept.files


class TestDifference:
    """Parts of a file that do something else."""

    def test_parts(self) -> None:
        """Texts, comments and imports do not count; new, gone and changed functions do."""
        parts = [part.name for part in changed_parts(source(OLD), source(NEW))]
        assert parts == ["added", "helper", "rule", "third"]
        assert changed_files(source(OLD), source(NEW)) == ["kafka/rules.py"]

    def test_unreadable_file(self) -> None:
        """A file that is no Python is changed as a whole."""
        (part,) = changed_parts(source(OLD), source(b"def ("))
        assert str(part) == "kafka/rules.py: (file)"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of three commits, the second beside the kernel."""
    return repository.checkout(
        tmp_path / "checkout",
        ("t1", {f"{PACKAGE}/kafka/rules.py": OLD}),
        ("t2", {f"{PACKAGE}/report.py": b"x = 1\n"}),
        ("t3", {f"{PACKAGE}/kafka/rules.py": NEW}),
    )


class TestCommits:
    """What git says."""

    def test_between(self, checkout: Path) -> None:
        """Only commits that touch the kernel, with author, message and files."""
        old, new = (commits.resolved(f"{tag}+kernel.x", checkout) for tag in ("t1", "t3"))
        assert old is not None
        assert new is not None
        found = commits.between(old, new, checkout)
        assert found is not None
        assert [(one.author, one.message, one.files) for one in found] == [
            ("Ada", "t3", (f"{PACKAGE}/kafka/rules.py",))
        ]
        assert commits.between(new, old, checkout) is None

    def test_source(self, checkout: Path) -> None:
        """The kernel's files as they were."""
        found = commits.source_of("t1", checkout)
        assert found is not None
        assert found.files == source(OLD).files

    def test_dirty(self, checkout: Path) -> None:
        """A code version whose kernel is not its commit's was made by a changed tree."""
        digest = source(NEW).kernel_digest[:12]
        assert commits.is_clean(f"t3+kernel.{digest}", checkout)
        assert not commits.is_clean(f"t1+kernel.{digest}", checkout)

    def test_no_git(self, tmp_path: Path) -> None:
        """Outside a checkout git says nothing."""
        assert commits.resolved("t1+kernel.x", tmp_path) is None
        assert commits.between("a", "b", tmp_path) is None
        assert commits.source_of("t1", tmp_path) is None


class TestFound:
    """Where the sources of a night are found again."""

    @pytest.fixture
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
        """An empty home."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path / "home"))
        return Home.from_environment()

    def test_present(self, home: Home) -> None:
        """The code that runs."""
        found = find_source(f"x+kernel.{kernel_digest()[:12]}", home)
        assert found is not None
        assert found.digest == read_package().digest

    def test_kept_by_a_night(self, home: Home) -> None:
        """What a night kept is found by its kernel, though no commit has it."""
        made = replace(read_package(), files={**read_package().files, "kafka/own.py": b"x = 1\n"})
        name = f"x+kernel.{made.kernel_digest[:12]}"
        write_archive(made, home.kernels / f"{made.kernel_digest[:12]}.tar.xz")
        found = find_source(name, home)
        assert found is not None
        assert found.files == made.files

    def test_in_git(self, home: Home, checkout: Path) -> None:
        """A commit that has the very kernel."""
        digest = source(OLD).kernel_digest[:12]
        found = find_source(f"t1+kernel.{digest}", home, checkout)
        assert found is not None
        assert found.files == source(OLD).files

    def test_nowhere(self, home: Home, checkout: Path) -> None:
        """Another kernel than the commit's is not taken for it."""
        assert find_source("t1+kernel.0123456789ab", home, checkout) is None

    def test_a_night_keeps_its_sources_once(self, home: Home) -> None:
        """The second night of the same code writes nothing."""
        file = keep_present(home, f"x+kernel.{kernel_digest()[:12]}")
        before = file.stat().st_mtime_ns
        assert keep_present(home, f"y+kernel.{kernel_digest()[:12]}") == file
        assert file.stat().st_mtime_ns == before
