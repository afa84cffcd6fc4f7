"""The site of an experiment's Data Docs."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import names_below
from isr_pipeline.tables.validation import data_docs
from isr_pipeline.tables.validation.run import DataRefused, check
from tests.approved import Approved
from tests.report.browser import PHONE, chromium, grave_faults, opened
from tests.validation import tables
from tests.validation.tables import tiny_plan

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data Docs of two nights; in the second one outcomes were refused."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISR_PIPELINE_HOME", str(home))
        patch.delenv("ISR_PIPELINE_ROOT", raising=False)
        for night, flaps in (("2026-11-19", 0), ("2026-11-20", 5000)):
            plan = tiny_plan(Home.from_environment().root, night=night)
            found = tables.outcomes(plan)
            found.loc[7, "isr_flaps"] = flaps
            tables.write("scenarios", tables.scenarios(), plan)
            tables.write("outcomes", found, plan)
            check("scenarios", plan)
            if flaps:
                with pytest.raises(DataRefused):
                    check("outcomes", plan)
            else:
                check("outcomes", plan)
        return home / "data_docs" / plan.experiment


class TestIndex:
    """The page to open."""

    def test_newest_first(self, site: Path) -> None:
        """Both nights, the newest first."""
        text = (site / "index.html").read_text()
        assert re.findall(r'<tr id="([\d-]+)"', text) == ["2026-11-20", "2026-11-19"]

    def test_says_what_was_refused(self, site: Path) -> None:
        """The refused table leads to its page, and names the expectation that did not hold."""
        text = (site / "index.html").read_text()
        refused = r'<a href="(validations/outcomes/2026-11-20/[^"]+)">[^<]+<span class="refused">'
        found = re.search(refused + "refused: more_flaps_than_returns", text)
        assert found is not None
        assert (site / found[1]).is_file()


class TestNight:
    """The page of one night."""

    def test_says_what_was_refused(self, site: Path, approved: Approved) -> None:
        """Each table, and of a refused one expectations with their sentences and rows."""
        text = re.sub(
            r"<style.*?</style>", "", data_docs.night_page(site, "2026-11-20").read_text()
        )
        cells = re.sub(r"</t[hd]><t[hd][^>]*>", " | ", text.partition("</h1>")[2])
        lines = re.sub(r"<[^>]+>", "\n", cells)
        said = [line for line in lines.splitlines() if line.strip()]
        approved([re.sub(r"[\d-]+ [\d:]+ UTC", "TIME", line) for line in said])

    def test_leads_to_pages_that_are_there(self, site: Path) -> None:
        """Of the tables, and of all nights."""
        page = data_docs.night_page(site, "2026-11-20")
        links = re.findall(r'href="(\.\.[^"]+)"', page.read_text())
        assert len(links) == 3
        assert all((page.parent / one).is_file() for one in links)

    def test_of_a_night_of_an_earlier_version(self, site: Path, tmp_path: Path) -> None:
        """What its checks found has no rows; it is listed as before."""
        shutil.copytree(site, tmp_path, dirs_exist_ok=True)
        kept = tmp_path / "checked" / "2026-11-20.json"
        old = [
            {k: v for k, v in one.items() if k != "broken"} for one in json.loads(kept.read_text())
        ]
        kept.write_text(json.dumps(old))
        data_docs.remove_night(tmp_path, "tiny", "2026-11-19")
        assert "refused: more_flaps_than_returns" in (tmp_path / "index.html").read_text()


class TestPages:
    """Great Expectations' own."""

    def test_one_for_each_check(self, site: Path) -> None:
        """A table of a night that is checked again has its page replaced."""
        pages = [name for name in names_below(site) if name.startswith("validations/")]
        assert len(pages) == 4

    def test_show_the_row_that_broke_a_rule(self, site: Path) -> None:
        """The row's key and values stand on the page of a refused table."""
        (page,) = site.glob("validations/outcomes/2026-11-20/*/*.html")
        text = page.read_text()
        assert "regression-00001" in text
        assert "5000" in text

    def test_name_columns_and_expectations(self, site: Path) -> None:
        """Values that break a rule stand below the names of their columns; so does its name."""
        (page,) = site.glob("validations/outcomes/2026-11-20/*/*.html")
        text = " ".join(re.sub(r"<[^>]+>", " ", page.read_text()).split())
        said = "more_lost_than_acked: Only acknowledged records can be lost."
        assert f"{said} (values: records_acked, records_lost)" in text
        for column in ("config_name", "isr_flaps", "isr_expands"):
            assert re.search(rf"<th[^>]*>\s*{column}\s*</th>", page.read_text())

    def test_nothing_comes_from_another_host(self, site: Path) -> None:
        """No page loads anything: what it needs is in it."""
        for page in site.rglob("*.html"):
            text = page.read_text()
            assert re.findall(r"<script|<link[^>]+https?:|<img[^>]+https?:|url\(", text) == []

    def test_in_a_browser_without_a_network(self, site: Path) -> None:
        """Each page is shown, and asks for nothing."""
        with chromium() as browser:
            for file in site.rglob("*.html"):
                with opened(browser, file) as page:
                    assert page.title()

    def test_no_grave_fault(self, site: Path) -> None:
        """Our pages fit a phone, and axe finds neither a serious nor a critical fault in them."""
        for file in ("index.html", "nights/2026-11-20.html"):
            with chromium() as browser, opened(browser, site / file, PHONE) as page:
                assert grave_faults(page) == []
                assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_a_night_is_removed(site: Path) -> None:
    """Its pages go, and the index lists it no more."""
    data_docs.remove_night(site, "tiny", "2026-11-19")
    assert not [name for name in names_below(site) if "2026-11-19" in name]
    assert "2026-11-19" not in (site / "index.html").read_text()
    assert "2026-11-20" in (site / "index.html").read_text()
