"""The site of the documentation in real Chromium: for those who cannot see it, and by keyboard."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from isr_pipeline.base.home import REPOSITORY
from tests.report.browser import DESK, PHONE, chromium, grave_faults, opened
from tools.docs import SITE

PAGES = ("index.html", "verdicts.html", "repository/about.html")
"""A list, a page of tables and formulas, and README with pictures and code."""
NOT_INSTALLED = "could not be installed"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests here, once the site is built."""
    build = [sys.executable, str(REPOSITORY / "tools" / "docs.py")]
    done = subprocess.run(build, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if NOT_INSTALLED in done.stderr:
        pytest.skip("the packages of the site are missing, and there is no network to get them")
    assert done.returncode == 0, done.stderr
    with chromium() as one:
        yield one


def reachable(page: Page) -> None:
    """Wait until every table that scrolls is a stop of the keyboard."""
    page.wait_for_function(
        """!document.querySelector('.md-typeset table:not([class])') ||
        document.querySelector('.md-typeset__scrollwrap') &&
        [...document.querySelectorAll('.md-typeset__scrollwrap')].every(
          (box) => box.scrollWidth <= box.clientWidth || box.tabIndex === 0)"""
    )


@pytest.mark.parametrize(
    ("name", "scheme"), [*((one, "light") for one in PAGES), (PAGES[-1], "dark")]
)
def test_axe_finds_no_grave_fault(browser: Browser, name: str, scheme: str) -> None:
    """Neither serious nor critical, on a phone, where most tables scroll."""
    with opened(browser, SITE / name, PHONE, color_scheme=scheme) as page:
        reachable(page)
        assert grave_faults(page) == []


def test_every_page_without_a_network(browser: Browser) -> None:
    """No page of the site asks for anything but its own files."""
    files = sorted(SITE.rglob("*.html"))
    assert len(files) > len(PAGES)
    with opened(browser, files[0]) as page:
        for file in files:
            page.goto(file.as_uri())
            assert page.title()


@pytest.mark.parametrize("name", PAGES)
def test_fits_a_phone(browser: Browser, name: str) -> None:
    """Nothing but tables and code scrolls sideways."""
    with opened(browser, SITE / name, PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_the_menu_of_a_phone_opens_by_keyboard(browser: Browser) -> None:
    """Enter on the menu's button leads into the menu, and Escape back to the button."""
    with opened(browser, SITE / PAGES[0], PHONE) as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_function("document.activeElement.closest('.md-nav--primary')")
        page.keyboard.press("Escape")
        page.wait_for_function("document.activeElement.getAttribute('aria-label') === 'Menu'")


def test_a_closed_menu_is_no_stop(browser: Browser) -> None:
    """On a phone no Tab goes to a link that nobody sees."""
    with opened(browser, SITE / PAGES[0], PHONE) as page:
        for _ in range(12):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.closest('.md-nav--primary')") is None


def test_search_works_by_keyboard(browser: Browser) -> None:
    """A slash opens it, and Enter leads to the page that answers."""
    with opened(browser, SITE / PAGES[0], DESK) as page:
        page.keyboard.press("/")
        page.keyboard.type("stuck read")
        page.wait_for_selector(".md-search-result__link")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/findings.html*")
