"""The site of the documentation: what of it is ours. MkDocs builds it, `make docs`."""

from __future__ import annotations

import re

from isr_pipeline.base.home import REPOSITORY
from tests.tables import from_table
from tools.site_pages import menu, rewritten


class TestLinks:
    """Pages are written for the repository; the site has everything elsewhere."""

    @from_table
    def test_rewritten(self, page: str, text: str, made: str) -> None:
        """Each kind of link, relative to the page's own place on the site."""
        assert rewritten(text, REPOSITORY / page) == made


class TestMenu:
    """What stands where."""

    def test_from_the_index(self) -> None:
        """Headings of docs/index.md, with the pages that each lists, those for authors left out."""
        made = menu(
            "# D\n\n## One\n\n* [a](model.md), [b](../SECURITY.md).\n\n## Two\n[c](keys.md), "
            "[d](project/upkeep.md)\n"
        )
        assert made == [
            {"Documentation": "index.md"},
            {"What it is": "repository/about.md"},
            {"One": [{"A": "model.md"}, {"B": "repository/SECURITY.md"}]},
            {"Two": [{"C": "keys.md"}]},
        ]


def test_nothing_is_asked_of_another_site() -> None:
    """Fonts and scripts come with the pages, and search works in files."""
    text = re.sub(r"#.*", "", (REPOSITORY / "mkdocs.yml").read_text())
    assert "http" not in text
    assert re.search(r"^ +font: false *$", text, re.MULTILINE)
    assert (REPOSITORY / "tools" / "site" / "iframe-worker.js").is_file()
