"""Words that a page explains."""

from __future__ import annotations

import re

import pytest

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.report.templates import FOLDER, rendered
from isr_pipeline.report.words import WORDS


class TestWords:
    """Each word has one meaning, in one place."""

    @pytest.mark.parametrize("word", sorted(WORDS))
    def test_the_glossary_of_the_docs_says_the_same(self, word: str) -> None:
        """Word for word."""
        glossary = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8")
        assert f"\n| {word} | {WORDS[word]} |" in glossary

    def test_each_is_linked_where_it_is_used_and_nothing_else_is(self) -> None:
        """A template names the word; the page's last section has it."""
        texts = [file.read_text(encoding="utf-8") for file in FOLDER.rglob("*.html")]
        linked = {word for text in texts for word in re.findall(r'\bword\("([^"]+)"', text)}
        assert linked == set(WORDS)
        page = rendered("sections/glossary.html", {"words": sorted(WORDS.items())})
        ids = re.findall(r'id="word-([^"]+)"', page)
        assert ids == [word.replace(" ", "-") for word in sorted(WORDS)]
