"""The site of the documentation: what of it is ours. MkDocs builds it, `make docs`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from isr_pipeline.base.home import REPOSITORY
from tools import site_pages
from tools.site_pages import menu, origin, outside, place, rewritten

SETTINGS = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text())


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

    def test_what_is_linked_is_taken_along(self) -> None:
        """Repository pages, files, and the files of a folder that is linked."""
        places = {place(one) for one in outside()}
        assert {"repository/about.md", "repository/CONTRIBUTING.md"} <= places
        assert "source/isr_pipeline/scenarios/library/index.md" in places
        assert "source/isr_pipeline/scenarios/library/w3b.yaml.txt" in places

    def test_there_and_back(self) -> None:
        """A page of the site is made from the file whose place it is."""
        pages = ("README.md", "docs/model.md", "docs/project/upkeep.md", "SECURITY.md")
        for page in (REPOSITORY / one for one in pages):
            assert origin(place(page)) == page


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


class TestOffline:
    """Nothing is asked of another site."""

    def test_no_other_site(self) -> None:
        """Fonts and scripts come with the pages."""
        assert SETTINGS["theme"]["font"] is False
        assert SETTINGS["extra"]["polyfills"] == ["assets/iframe-worker.js"]
        assert "http" not in re.sub(r"#.*", "", (REPOSITORY / "mkdocs.yml").read_text())
        assert (REPOSITORY / "tools" / "site" / "iframe-worker.js").is_file()

    def test_search_works_in_files(self) -> None:
        """The plug-in that makes it so is on."""
        assert SETTINGS["plugins"] == ["search", "offline"]


class TestSetUp:
    """A night never carries the site's packages."""

    def test_a_group_of_its_own(self) -> None:
        """No default group, no extra: set-up installs neither MkDocs nor its theme."""
        project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
        assert any(
            one.startswith("mkdocs-material") for one in project["dependency-groups"]["docs"]
        )
        assert "default-groups" not in project["tool"]["uv"]
        assert "--group" not in (REPOSITORY / "tools" / "setup.py").read_text()

    def test_ignored_by_git(self) -> None:
        """The site lies below the state folder."""
        assert SETTINGS["site_dir"] == ".state/site"
        assert ".state/" in (REPOSITORY / ".gitignore").read_text().splitlines()

    def test_a_link_that_leads_nowhere_ends_the_build(self) -> None:
        """The build is strict, and links and anchors are warnings."""
        links = SETTINGS["validation"]["links"]
        assert {links["not_found"], links["anchors"]} == {"warn"}
        assert '"--strict"' in (REPOSITORY / "tools" / "docs.py").read_text()


def test_pages_that_are_found_first_are_there() -> None:
    """What the search prefers are pages of docs/."""
    assert all((site_pages.DOCS / page).is_file() for page in site_pages.FOUND_FIRST)


def test_a_file_as_the_tests_read_it() -> None:
    """A block of code that names a file shows the name above it."""

    class Page:
        class file:  # noqa: N801 - MkDocs calls it so
            src_uri = "model.md"

    text = "```yaml file=config/a.yaml\na: 1\n```\n"
    made = site_pages.on_page_markdown(text, Page)
    assert made == '```yaml title="config/a.yaml"\na: 1\n```\n'
    assert Path(site_pages.ROOT) == REPOSITORY
