"""tools/lint.py: what ruff has no rule for."""

from __future__ import annotations

import ast

import pytest

from tools import lint
from tools.lint import Source

BODY = "    x = 1\n"


def source(text: str, name: str = "isr_pipeline/x.py") -> Source:
    """A file with some text."""
    return Source(name, text, ast.parse(text))


class TestSizes:
    """Functions and files."""

    @pytest.mark.parametrize(("lines", "found"), [(70, 0), (71, 1)])
    def test_a_function(self, lines: int, found: int) -> None:
        """Seventy lines are allowed, its first one among them."""
        text = "def f():\n" + (lines - 1) * BODY
        assert len(list(lint.long_functions(source(text)))) == found

    @pytest.mark.parametrize(("lines", "found"), [(1_000, 0), (1_001, 1)])
    def test_a_file(self, lines: int, found: int) -> None:
        """A thousand lines are allowed."""
        assert len(list(lint.long_file(source(lines * "x = 1\n")))) == found


class TestDead:
    """Declarations."""

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("def f(): ...", "f"),
            ("LIMIT = 3", "LIMIT"),
            ("class C:\n    def f(self): ...\nC()", "f"),
            ("class C:\n    field: int\nC()", "field"),
        ],
    )
    def test_named_nowhere_else(self, text: str, name: str) -> None:
        """Functions, classes, constants and members that nothing names."""
        (line,) = lint.dead([source(text), source("other = 1\nother", "dags/y.py")])
        assert line.endswith(f": {name} is declared and never used")

    @pytest.mark.parametrize(
        "other",
        [
            '"""Releases that `f` knows, and f itself."""\nother = 1\nother',
            "f = 1\nf",
        ],
    )
    def test_the_same_word_is_no_use(self, other: str) -> None:
        """A docstring, a comment, and another file's own name use nothing of this one."""
        product = [source("def f(): ..."), source(other, "dags/y.py")]
        assert len(list(lint.dead(product))) == 1


MAKEFILE = """
test:  ## NOT_SET=1
\t@$(RUN) $(BIN)/pytest $(PYTEST_ARGS)
more: setup
\t@SET="$(ONE)" ALSO=2 $(RUN) $(BIN)/pytest -m slow \\
\t  --numprocesses 2
\t@$(RUN) $(BIN)/pytest -m rehearsal tests/a tests/b/test_b.py
"""


def told(text: str, *others: Source) -> list[str]:
    """What is said of the skips of tests/x.py."""
    tests = [source(text, "tests/x.py"), *others]
    return [line.partition(": ")[2] for line in lint.lasting(tests, lint.commands(MAKEFILE))]


class TestSkips:
    """Skips and what undoes them."""

    @pytest.mark.parametrize(
        "text",
        [
            "pytestmark = pytest.mark.skipif(os.environ.get('{}') != '1', reason='long')",
            "def f():\n    if not os.getenv('{}'):\n        pytest.skip('long')",
            "def f():\n    return os.getenv('{}')\nwhy = f()\nif why:\n    pytest.skip(why)",
        ],
    )
    def test_a_variable(self, text: str) -> None:
        """A variable is to be set by a command, whatever way the condition comes by it."""
        assert told(text.format("SET")) == []
        assert told(text.format("ALSO")) == []
        assert told(text.format("NOT_SET")) == [
            "no command of the Makefile sets NOT_SET, which this skip asks for"
        ]

    def test_a_condition_of_another_file(self) -> None:
        """It is followed there."""
        other = source("NAME = 'NOT_SET'\nLONG = os.getenv(NAME)", "tests/a/b.py")
        text = "from tests.a.b import LONG as L\nx = pytest.mark.skipif(not L, reason='long')"
        assert told(text, other) == [
            "no command of the Makefile sets NOT_SET, which this skip asks for"
        ]

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("pytest.mark.skipif(sys.platform == 'darwin')", "undoes a skip by sys.platform"),
            ("x = pytest.mark.skip(reason='broken')", "undoes this skip"),
            ("yaml = pytest.importorskip('yaml')", "undoes this skip"),
        ],
    )
    def test_what_nothing_undoes(self, text: str, found: str) -> None:
        """A platform, every machine, and a package that nothing installs."""
        assert told(text) == [f"no command {found}"]


class TestMarkers:
    """Markers and the commands that select them."""

    MADE = lint.commands(MAKEFILE)

    def test_one_that_no_command_selects(self) -> None:
        """It is found where it is registered."""
        assert list(lint.unselected([], ["slow", "other"], self.MADE)) == [
            "pyproject.toml: no command of the Makefile selects the marker other"
        ]

    @pytest.mark.parametrize(("marker", "found"), [("rehearsal", 1), ("slow", 0)])
    def test_a_file_beside_them(self, marker: str, found: int) -> None:
        """A command that names paths leaves a marker of other files out; one without takes all."""
        tests = [source(f"@pytest.mark.{marker}\ndef f(): ...", "tests/b/test_c.py")]
        assert list(lint.unselected(tests, [marker], self.MADE)) == found * [
            f"tests/b/test_c.py: no command of the Makefile selects {marker} here"
        ]


def test_the_exceptions_are_needed() -> None:
    """A name that an exception is made for is declared, and used nowhere in the product."""
    product = list(lint.sources(lint.PRODUCT))
    declared = {name for one in product for name, _ in lint.declared(one)}
    others = {one for names in lint.LOOKED_FOR.values() for one in names if "*" not in one}
    assert {*lint.FOR_TESTS, *others} <= declared
