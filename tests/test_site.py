"""The site of the documentation: what of it is ours. MkDocs builds it, `make docs`."""

from __future__ import annotations

import re

import pytest

from isr_pipeline.base.home import REPOSITORY
from tools.site_pages import menu, rewritten


class TestLinks:
    """Pages are written for the repository; the site has everything elsewhere."""

    @pytest.mark.parametrize(
        ("page", "text", "made"),
        [
            ("docs/a.md", "[x](model.md#today)", "[x](model.md#today)"),
            ("docs/a.md", "[x](../README.md)", "[x](repository/about.md)"),
            ("docs/a.md", "[x](../CONTRIBUTING.md#style)", "[x](repository/CONTRIBUTING.md#style)"),
            ("docs/a.md", "[x](../Makefile)", "[x](source/Makefile.txt)"),
            ("docs/findings/a.md", "[x](../../LICENSE)", "[x](../source/LICENSE.txt)"),
            ("docs/a.md", "[x](../config/faults)", "[x](source/config/faults/index.md)"),
            ("README.md", "![x](docs/img/w3b.png)", "![x](../img/w3b.png)"),
            ("README.md", "[x](docs/model.md#a)", "[x](../model.md#a)"),
            ("docs/a.md", "[x](nowhere.md)", "[x](nowhere.md)"),
            ("docs/a.md", "[x](https://example.org/a.md)", "[x](https://example.org/a.md)"),
        ],
    )
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
