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
            ("A night took 12 % longer.", "a share"),
            ("It is 1.05 x for producers.", "a ratio"),
            ("On 2026-11-27 it took 274 s.", "a number with its day"),
        ],
    )
    def test_found(self, text: str, fault: str) -> None:
        """Length, words, empty subjects, and figures that somebody measured."""
        assert any(one.startswith(fault) for one in prose.faults(text))

    @pytest.mark.parametrize(
        "text",
        [
            "The leader removes it. We recommend 20 s; amend the file.",
            "A 95 % interval stands beside it. It ran on Python 3.11.7 on 2026-11-27.",
            "<!-- finding:table:lag-limit:800 -->\nIt is 1.05 x.\n<!-- finding:end -->",
        ],
    )
    def test_good(self, text: str) -> None:
        """Settings, levels and releases are no measurements; a block may have them."""
        assert prose.faults(text) == []


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
