"""Real Chromium for the tests of pages."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, Page, Route, sync_playwright

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 800}
ELSEWHERE = re.compile(r"^(?!file:///|data:|blob:|about:)")
GRAVE = {"serious", "critical"}


@contextmanager
def chromium() -> Iterator[Browser]:
    """The machine's Chromium, else Playwright's own; a test without either is skipped."""
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        try:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except Error:
            pytest.skip("no Chromium: apt-get install chromium, or `playwright install chromium`")
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, file: Path, size: dict[str, int] = DESK, **how: Any) -> Iterator[Page]:
    """A page with its charts ready, in which nothing may go wrong unseen.

    Every address but files of this machine is refused; a page that asks for one fails the test.
    """
    page = browser.new_page(viewport={"width": size["width"], "height": size["height"]}, **how)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("websocket", lambda socket: wrong.append(f"asks for {socket.url}"))

    def refuse(route: Route) -> None:
        wrong.append(f"asks for {route.request.url}")
        route.abort()

    page.route(ELSEWHERE, refuse)
    page.goto(file.as_uri())
    page.wait_for_function(
        "document.documentElement.dataset.charts === 'ready' || !document.querySelector('#plotly')"
    )
    yield page
    assert not wrong, "; ".join(wrong)
    page.close()


def open_everything(page: Page) -> None:
    """Unfold all, and wait until every chart is drawn."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for chart in page.query_selector_all(".chart"):
        chart.scroll_into_view_if_needed()
    page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every((one) => one.querySelector('svg'))"
    )
    page.evaluate("scrollTo(0, 0)")


def grave_faults(page: Page) -> list[str]:
    """What axe-core calls serious or critical: rule, and the first place."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in GRAVE
    ]
