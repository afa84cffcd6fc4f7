"""`tools/prose.py`: what it reads, what it finds, and that no page got worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import prose

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


class TestKept:
    """Counts of old pages."""

    @pytest.fixture
    def checkout(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A page with two faults, of which the file knows two."""
        monkeypatch.setattr(prose, "ROOT", tmp_path)
        monkeypatch.setattr(prose, "KEPT", tmp_path / "prose.json")
        monkeypatch.setattr(prose, "pages", lambda: [tmp_path / "a.md"])
        (tmp_path / "a.md").write_text("We mend it. There is one.\n")
        (tmp_path / "prose.json").write_text('{"a.md": 2}')
        return tmp_path

    def test_what_was_there_may_stay(self, checkout: Path) -> None:
        """As many faults as before are no failure."""
        assert prose.main([]) == 0

    def test_more_is_refused(self, checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """One more names the page, its faults and the number allowed."""
        (checkout / "prose.json").write_text('{"a.md": 1}')
        assert prose.main(["--write"]) == 1
        assert capsys.readouterr().err.endswith("a.md: 2 faults of prose, 1 at most\n")
        assert json.loads((checkout / "prose.json").read_text()) == {"a.md": 1}

    def test_fewer_are_recorded(self, checkout: Path) -> None:
        """`--write` lowers the count, and a page without faults leaves the file."""
        (checkout / "a.md").write_text("We mend it.\n")
        assert prose.main(["--write"]) == 0
        assert json.loads((checkout / "prose.json").read_text()) == {"a.md": 1}
        (checkout / "a.md").write_text("We fix it.\n")
        prose.main(["--write"])
        assert json.loads((checkout / "prose.json").read_text()) == {}
