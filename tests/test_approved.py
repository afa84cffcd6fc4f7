"""Approved texts: a changed sentence fails, and one flag renews it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.approved import OWNERS, Approved, alone, read, unused, write

pytest_plugins = ["pytester"]

TESTS = Path(__file__).resolve().parent

MODULE = """
import pytest

class TestPage:
    @pytest.mark.parametrize("name", ["one", "two"])
    def test_says(self, approved, name):
        approved([f"hello {name}", "again "])

def test_else(approved):
    approved("other words")
"""


@pytest.fixture
def text(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that uses approved texts, in the working folder; the file that holds them."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makeconftest('pytest_plugins = ["tests.approved"]')
    pytester.makepyfile(test_page=MODULE)
    return pytester.path / "approved" / "test_page.txt"


class TestFlag:
    """`--approve` writes, and only where a person reads."""

    def test_it_writes_what_the_next_run_compares(
        self, text: Path, pytester: pytest.Pytester
    ) -> None:
        """A missing text fails as a changed one does, with the difference."""
        pytester.runpytest_inprocess().stdout.fnmatch_lines(["+other words"])
        assert pytester.runpytest_inprocess("--approve").ret == 0
        assert read(text) == {
            "TestPage.test_says[one]": "hello one\nagain",
            "TestPage.test_says[two]": "hello two\nagain",
            "test_else": "other words",
        }
        text.write_text(text.read_text().replace("hello two", "good day two"))
        changed = pytester.runpytest_inprocess()
        changed.assert_outcomes(passed=2, failed=1)
        changed.stdout.fnmatch_lines(["-good day two", "+hello two", " again"], consecutive=True)

    def test_ci_refuses_it(
        self, text: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In one line, and nothing is written."""
        monkeypatch.setenv("CI", "true")
        refused = pytester.runpytest_inprocess("--approve")
        assert refused.ret == pytest.ExitCode.USAGE_ERROR
        assert [line for line in refused.errlines if line] == [
            "ERROR: --approve: CI is set; allowed: where a person reads the diff"
        ]
        assert not text.exists()

    def test_processes_do_not_undo_each_other(self, tmp_path: Path) -> None:
        """Tests of one module that run side by side all leave their section."""
        file = tmp_path / "approved" / "test_page.txt"
        tests = [Approved(file, str(number), approve=True) for number in range(100)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda one: one(one.name), tests))
        assert read(file) == {one.name: one.name for one in tests}


class TestUnused:
    """Texts that no test compares."""

    def test_each_is_found(self, text: Path) -> None:
        """A section without its test, and a file without its module; not what was not collected."""
        text.parent.mkdir()
        write(text, {"test_a": "1", "test_b": "2"})
        gone = text.with_name("test_gone.txt")
        write(gone, {"test_c": "3"})
        folder = text.parent.parent
        assert unused({text: {"test_a"}}, folder) == {text: {"test_b"}, gone: {"test_c"}}
        assert unused({}, folder) == {gone: {"test_c"}}

    def test_there_are_none(self, request: pytest.FixtureRequest) -> None:
        """Of all tests that this run collected; `--approve` removes them."""
        found = unused(request.config.stash[OWNERS], TESTS)
        if request.config.getoption("--approve"):
            for file, names in found.items():
                with alone(file):
                    kept = {name: text for name, text in read(file).items() if name not in names}
                    write(file, kept)
        else:
            assert found == {}
