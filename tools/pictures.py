"""The pictures of the README and the docs, and the night that they print: `make pictures`.

Two nights of `smoke` in a home of their own, with Kafka's default of 1 for `min.insync.replicas`.
In the first, which is accepted, one configuration has 2; in the second another one has. The second
gives what docs/operations.md prints and docs/img/night.png: the first screen of its report. The
trace of w3b gives docs/img/w3b.png. Chromium takes both.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from isr_pipeline.base.home import REPOSITORY
from tools import example_night
from tools.rehearsal import Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = REPOSITORY / "docs" / "img"
FIRST, SECOND = "2026-11-23", "2026-11-24"
PANEL_SIZE = 48
DEFAULT = ("base:\n", "base:\n  min.insync.replicas: 1\n")
REGRESSION = ("set: {rules.isr_lock: none}", "set: {rules.isr_lock: none, min.insync.replicas: 2}")
LOCKED = (
    "          rules.kip501: s1-doc\n          follower.fetch.pending.reads.insync.enable: true\n"
)
IMPROVEMENT = (
    f"        set:\n{LOCKED}",
    f"        set:\n          min.insync.replicas: 2\n{LOCKED}",
)
"""What is written into the experiment file, and in place of what: before both nights, before the
second, and before the first, so that the second gets better by its absence."""

SIZE = {"width": 1280, "height": 800}
REGRESSED = 1
"""Exit status of a night that regressed."""


def main() -> None:
    """Make both pictures, keep the night, and print it in the docs."""
    with tempfile.TemporaryDirectory() as folder:
        shown = regressed_night(Path(folder))
        example_night.keep(shown)
        example_night.write()
        report = Path(shown["places"]["report"])
        trace = Path(folder) / "w3b.html"
        simulated = ("simulate", "isr_pipeline/scenarios/library/w3b.yaml")
        Site(Path(folder), dict(os.environ)).run(*simulated, "--trace", str(trace))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
                args=["--no-sandbox"],
            )
            page = browser.new_page(viewport={"width": SIZE["width"], "height": SIZE["height"]})
            opened(page, report)
            page.screenshot(path=PICTURES / "night.png")
            opened(page, trace)
            page.locator("figure").first.screenshot(path=PICTURES / "w3b.png")
            browser.close()


def regressed_night(folder: Path) -> dict[str, Any]:
    """Run two nights below a folder; return what the second, with a planted regression, says.

    Raises:
        SystemExit: the planted regression was not found.
    """
    config = folder / "config"
    shutil.copytree(REPOSITORY / "config", config)
    home = folder / "home"
    where = {"ISR_PIPELINE_HOME": str(home), "ISR_PIPELINE_CONFIG": str(config)}
    site = Site(home, {**os.environ, **where})
    options = ("--experiment", "smoke")
    run = ("night", "run", "--in-process", *options, "--panel-size", str(PANEL_SIZE), "--night")
    smoke = config / "experiments" / "smoke.yaml"
    plant(smoke, DEFAULT)
    plant(smoke, IMPROVEMENT)
    site.run(*run, FIRST)
    site.run("baseline", "accept", FIRST, *options, "--why", "the first night")
    plant(smoke, IMPROVEMENT[::-1])
    plant(smoke, REGRESSION)
    site.run(*run, SECOND, status=REGRESSED)
    shown: dict[str, Any] = site.json("night", "show", SECOND, *options)
    if shown["status"] != "regressed":
        raise SystemExit(f"the planted regression was not found: {shown['headline']}")
    return shown


def plant(file: Path, change: tuple[str, str]) -> None:
    """Write the second text in place of the first into an experiment file.

    Raises:
        SystemExit: the file is not as it was when this was written.
    """
    text = file.read_text(encoding="utf-8")
    if text.count(change[0]) != 1:
        raise SystemExit(f"{file.name}: {change[0]!r} is not there once")
    file.write_text(text.replace(*change), encoding="utf-8")


def opened(page: Page, file: Path) -> None:
    """Open a page, and wait until the charts in sight are drawn."""
    page.goto(file.as_uri())
    page.wait_for_function("document.documentElement.dataset.charts === 'ready'")
    page.wait_for_timeout(1_000)


if __name__ == "__main__":
    main()
