"""The pages that lead to Data Docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isr_pipeline.validation import docs_index
from isr_pipeline.validation.docs_index import note, write_index
from tests.report.browser import PHONE, chromium, grave_faults, opened


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Data Docs of an experiment with two nights; in the second one a table was refused."""
    for night, failed in (("2026-11-19", []), ("2026-11-20", ["pairs_missing"])):
        folder = tmp_path / night
        (folder / "outcomes" / "validations" / "outcomes").mkdir(parents=True)
        (folder / "outcomes" / "validations" / "outcomes" / "one.html").write_text("page")
        note(folder, "outcomes", failed, of=21)
        write_index(folder, "smoke", night)
    return tmp_path


class TestNight:
    """The page of a night."""

    def test_says_what_it_is(self, docs: Path) -> None:
        """One paragraph before any link."""
        assert docs_index.WHAT in (docs / "2026-11-19" / "index.html").read_text()

    def test_says_what_was_refused(self, docs: Path) -> None:
        """The table leads to its page, and names the expectation that did not hold."""
        text = (docs / "2026-11-20" / "index.html").read_text()
        assert '<a href="outcomes/validations/outcomes/one.html">outcomes</a>' in text
        assert "refused: pairs_missing" in text
        assert "<td>20 of 21</td>" in text

    def test_the_last_checked_table_comes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Newest first, whatever the order of the suites."""
        for table, at in (("scenarios", "2026-11-20 01:00:00"), ("summary", "2026-11-20 02:00:00")):
            note(tmp_path / "night", table, [], of=3)
            file = tmp_path / "night" / table / docs_index.FILE
            file.write_text(re.sub(r'"at": "[^"]*"', f'"at": "{at}"', file.read_text()))
        text = write_index(tmp_path / "night", "smoke", "night").read_text()
        assert text.index(">summary suite<") < text.index(">scenarios suite<")


class TestExperiment:
    """The page of all nights."""

    def test_lists_nights_newest_first(self, docs: Path) -> None:
        """Each leads to its own page."""
        found = re.findall(r'href="([\d-]+)/index.html"', (docs / "index.html").read_text())
        assert found == ["2026-11-20", "2026-11-19"]


def test_axe_finds_no_grave_fault(docs: Path) -> None:
    """Neither serious nor critical, on both pages, and both fit a phone."""
    with chromium() as browser:
        for file in (docs / "index.html", docs / "2026-11-20" / "index.html"):
            with opened(browser, file, PHONE) as page:
                assert grave_faults(page) == []
                assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
