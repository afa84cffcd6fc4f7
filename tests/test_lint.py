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

    def test_a_method_counts(self) -> None:
        """Wherever a function stands."""
        text = "class C:\n    def f(self):\n" + 70 * f"    {BODY}"
        assert list(lint.long_functions(source(text))) == [
            "isr_pipeline/x.py:2: f has 71 lines, at most 70"
        ]

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
            ("class C: ...", "C"),
            ("LIMIT = 3", "LIMIT"),
            ("LIMIT: int = 3", "LIMIT"),
            ("@dataclass\nclass C: ...", "C"),
            ("class C:\n    def f(self): ...\nC()", "f"),
            ("class C:\n    field: int\nC()", "field"),
        ],
    )
    def test_named_nowhere_else(self, text: str, name: str) -> None:
        """Functions, classes, constants and members that nothing names."""
        (line,) = lint.dead([source(text), source("other = 1\nother", "dags/y.py")])
        assert line.endswith(f": {name} is declared and never used")

    @pytest.mark.parametrize(
        "text",
        [
            "def f(): ...\nf()",
            "@app.command\ndef f(): ...",
            "@register_model\nclass C: ...",
            "class C(IntEnum):\n    CASE = 1\nC(1)",
            "class C:\n    def __len__(self): ...\nC()",
            "class C(NodeVisitor):\n    def visit_Name(self, node): ...\nC()",
        ],
    )
    def test_used(self, text: str) -> None:
        """What is called, handed to a decorator, a case of an enumeration, or looked for."""
        assert list(lint.dead([source(text)])) == []

    def test_elsewhere(self) -> None:
        """Another file of the product may use it; a test is not asked."""
        used = source("from isr_pipeline.x import f", "dags/y.py")
        assert list(lint.dead([source("def f(): ..."), used])) == []


def test_the_exceptions_are_needed() -> None:
    """A name that an exception is made for is declared, and used nowhere in the product."""
    product = list(lint.sources(lint.PRODUCT))
    declared = {name for one in product for name, _ in lint.declared(one)}
    others = {one for names in lint.LOOKED_FOR.values() for one in names if "*" not in one}
    assert {*lint.FOR_TESTS, *others} <= declared
