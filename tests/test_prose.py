"""`tools/prose.py`: what it reads, what it finds, and that no page has a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tools import prose

if TYPE_CHECKING:
    from pathlib import Path

LONG = "One " + "two " * 25 + "three."


class TestSentences:
    """What is read of a page."""

    @pytest.mark.parametrize(
        "unread",
        [
            f"```text\n{LONG}\n```",
            f"| {LONG} | x |",
            f"<!-- {LONG} -->",
            f"# {LONG}",
            f"`{LONG}`",
            f"[short](https://a.b/{LONG.replace(' ', '-')})",
        ],
    )
    def test_not_read(self, unread: str) -> None:
        """Code, tables, comments, headings and addresses are no prose."""
        assert prose.faults(f"A line before.\n\n{unread}\n\nA line after.\n") == []

    def test_items_are_sentences_of_their_own(self) -> None:
        """A list without full stops is not one long sentence."""
        items = "\n".join(f"* {'word ' * 10}" for _ in range(5))
        assert prose.faults(f"A list:\n{items}\n") == []

    def test_a_sentence_may_begin_with_code(self) -> None:
        """A full stop before a code span ends a sentence."""
        assert prose.faults(f"It {'is ' * 20}so. `b` {'is ' * 20}so.") == []

    def test_a_sentence_may_span_lines(self) -> None:
        """Lines of a paragraph belong together."""
        (fault,) = prose.faults("One\n" + "two\n" * 25 + "three.\n")
        assert fault.startswith("27 words, 25 at most: One two")


class TestFaults:
    """What is found."""

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            (LONG, "27 words, 25 at most"),
            ("We mend it.", '"mend", better fix'),
            ("There is one tick.", 'opens with "There is"'),
            ("It is said that it works.", 'opens with "It is said"'),
        ],
    )
    def test_found(self, text: str, fault: str) -> None:
        """Length, words and empty subjects."""
        assert any(one.startswith(fault) for one in prose.faults(text))

    def test_good(self) -> None:
        """A plain sentence has no fault, also with a recommendation in it."""
        assert prose.faults("The leader removes it. We recommend 20 s; amend the file.") == []


class TestProgram:
    """`tools/prose.py` as `make lint` runs it."""

    def test_every_fault_is_listed(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A line with the page for each, and exit status 1."""
        page = tmp_path / "a.md"
        page.write_text("We mend it. There is one.\n")
        assert prose.main([str(page)]) == 1
        first, second = capsys.readouterr().err.splitlines()
        assert first == f'{page}: "mend", better fix: We mend it.'
        assert second.startswith(f'{page}: opens with "There is"')

    def test_no_page_has_one(self, capsys: pytest.CaptureFixture[str]) -> None:
        """README and docs have no fault."""
        assert prose.main([]) == 0, capsys.readouterr().err
