"""The pages in real Chromium: for those who cannot see them, on a phone, by keyboard, on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from isr_pipeline.report.html import write_report
from isr_pipeline.report.story import Run, Story
from isr_pipeline.report.trace import write_trace
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.verdicts import acceptance
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.worlds.run import Result
from tests.report.browser import DESK, PHONE, chromium, grave_faults, open_everything, opened
from tests.report.test_trace import EVENT, SCENARIO
from tests.verdicts.synthetic import LATER, NIGHT, World, decided, scaled

BYTES_MAX = 3_000_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests here."""
    with chromium() as one:
        yield one


@pytest.fixture
def report(home: Path) -> Path:
    """The page of a night with a regression."""
    del home
    world = World(scenarios=60)
    judge_night(world.write(NIGHT))
    acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
    plan = world.write(LATER, scaled("isr_flaps_per_partition_hour", 2.0, "lag-20s"))
    judge_night(plan)
    decided(plan)
    return Path(str(write_report(plan)))


LONG = [
    f"lag.time.max.ms-{limit}_min.insync.replicas-{least}"
    for limit in (5000, 10000)
    for least in (1, 2)
]
LONG_KEY = "leader.imbalance.check.interval.seconds"


@pytest.fixture
def long_names(home: Path) -> Path:
    """The page of a first night whose configurations and keys have long names."""
    del home
    values = {LONG[3]: {LONG_KEY: 60, "replica.lag.time.max.ms": 10_000}}
    world = World(names=("today", *LONG), values=values, scenarios=60)
    plan = world.write(NIGHT, scaled("produce_unavailable_rate", 0.3, LONG[3]))
    judge_night(plan)
    decided(plan)
    return Path(str(write_report(plan)))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The page of a scenario."""
    run = Run("run", parse_scenario(SCENARIO, "test"), [EVENT])
    result = Result(outcome={"offline_partition_rate": 0.25})
    return write_trace(Story((run,)), [result], tmp_path / "trace.html")


class TestOpened:
    """What every test of a page here refuses."""

    @pytest.mark.parametrize(
        "element",
        [
            '<img src="https://example.org/x.png">',
            '<link rel="stylesheet" href="//example.org/x.css">',
            '<script>fetch("http://127.0.0.1:9/x").catch(() => 0)</script>',
            '<script>new WebSocket("ws://127.0.0.1:9/x")</script>',
        ],
    )
    def test_a_page_that_asks_for_another_address(
        self, browser: Browser, tmp_path: Path, element: str
    ) -> None:
        """It is refused, and fails the test that opened it."""
        (tmp_path / "page.html").write_text(f"<title>p</title>{element}")
        with (
            pytest.raises(AssertionError, match="asks for "),
            opened(browser, tmp_path / "page.html") as page,
        ):
            page.wait_for_timeout(200)


class TestReport:
    """The page of a night."""

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_no_grave_fault(self, browser: Browser, report: Path, scheme: str) -> None:
        """Neither serious nor critical, with everything unfolded and drawn."""
        with opened(browser, report, color_scheme=scheme) as page:
            open_everything(page)
            assert grave_faults(page) == []

    def test_fits_a_phone_and_three_megabytes(self, browser: Browser, report: Path) -> None:
        """At 390 px nothing but tables scrolls sideways, and those in boxes of their own."""
        assert report.stat().st_size < BYTES_MAX
        with opened(browser, report, PHONE) as page:
            open_everything(page)
            assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]

    @pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
    def test_a_picture_is_whole(
        self, browser: Browser, long_names: Path, size: dict[str, int]
    ) -> None:
        """No cell is wider than its place, and no part of the table is out of sight."""
        with opened(browser, long_names, size) as page:
            assert page.locator("#answer .picture").bounding_box()
            over = """(cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1
                || cell.getBoundingClientRect().right > innerWidth).length"""
            assert page.eval_on_selector_all(".picture td, .picture th", over) == 0

    @pytest.mark.slow
    def test_long_names_fit_a_phone(self, browser: Browser, long_names: Path) -> None:
        """A cell that names a long key breaks; no line of text is wider than its box."""
        with opened(browser, long_names, PHONE) as page:
            open_everything(page)
            assert LONG_KEY in page.locator("#reference .scroll table").first.inner_text()
            assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]

    @pytest.mark.slow
    def test_names_in_tables_break_after_signs(self, browser: Browser, long_names: Path) -> None:
        """Each word of a name stands on one line, on a phone too."""
        lines = """(cell) => {
            const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
            const cut = [];
            while (text.nextNode()) {
                for (const word of text.currentNode.data.matchAll(/[^\\W_]+/g)) {
                    const range = document.createRange();
                    range.setStart(text.currentNode, word.index);
                    range.setEnd(text.currentNode, word.index + word[0].length);
                    if (range.getClientRects().length > 1) { cut.push(word[0]); }
                }
            }
            return cut;
        }"""
        for size in (DESK, PHONE):
            with opened(browser, long_names, size) as page:
                open_everything(page)
                for cell in page.query_selector_all("#configurations :is(th, td)"):
                    assert cell.evaluate(lines) == []

    def test_a_phone_shows_a_value_beside_each_name(
        self, browser: Browser, long_names: Path
    ) -> None:
        """The table of configurations begins with name, verdict and the first metric."""
        with opened(browser, long_names, PHONE) as page:
            box = page.locator("#configurations tbody td.n").first.bounding_box()
            assert box
            assert box["x"] + box["width"] <= PHONE["width"]

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [DESK, PHONE])
    def test_rows_of_charts_have_names_of_their_own(
        self, browser: Browser, long_names: Path, size: dict[str, int]
    ) -> None:
        """No two labels of an axis are alike, and none takes half of the chart."""
        with opened(browser, long_names, size) as page:
            open_everything(page)
            charts = page.query_selector_all("#causes .chart")
            assert charts
            for chart in charts:
                labels = chart.query_selector_all(".ytick text")
                told = [label.text_content() for label in labels]
                assert len(told) == len(set(told)) >= len(LONG)
                widths = [box["width"] for label in labels if (box := label.bounding_box())]
                whole = chart.bounding_box()
                assert whole
                assert max(widths) < whole["width"] / 2

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [DESK, PHONE])
    def test_no_link_of_the_navigation_is_hidden(
        self, browser: Browser, report: Path, size: dict[str, int]
    ) -> None:
        """Each stands whole on the screen, without scrolling sideways."""
        with opened(browser, report, size) as page:
            for link in page.query_selector_all("nav a"):
                box = link.bounding_box()
                assert box
                assert 0 <= box["x"] <= box["x"] + box["width"] <= size["width"]

    def test_the_answers_table_is_seen_on_a_phone(self, browser: Browser, report: Path) -> None:
        """Metric, before, tonight, ratio and verdict: only where it changed most is scrolled to."""
        with opened(browser, report, PHONE) as page:
            box = page.locator("#answer .scroll").first.bounding_box()
            badge = page.locator("#answer td .status").first.bounding_box()
            assert box
            assert badge
            assert badge["x"] + badge["width"] <= box["x"] + box["width"]

    @pytest.mark.slow
    def test_goes_by_keyboard(self, browser: Browser, report: Path) -> None:
        """The first stop skips to the answer; stops go on to the page's end, each to be seen."""
        with opened(browser, report) as page:
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.className") == "skip"
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.id") == "main"
            stops = page.locator("main a, main summary, main .scroll:visible").count()
            for _ in range(stops + 1):
                page.keyboard.press("Tab")
                if page.evaluate("document.activeElement === document.body"):
                    break
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") in (
                    "solid",
                    "auto",
                )
            else:
                pytest.fail("Tab never leaves the page")

    def test_a_link_opens_what_is_folded(self, browser: Browser, report: Path) -> None:
        """The navigation's link to a folded section shows its table."""
        with opened(browser, report) as page:
            assert not page.locator("#configurations table").first.is_visible()
            page.locator('nav a[href="#configurations"]').click()
            page.wait_for_selector("#configurations table", state="visible")

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [DESK, PHONE])
    def test_a_word_leads_to_its_meaning_by_keyboard(
        self, browser: Browser, report: Path, size: dict[str, int]
    ) -> None:
        """Enter on a word opens the words of the page; no hovering is needed."""
        with opened(browser, report, size) as page:
            meaning = page.locator("#word-stratum + dd")
            assert not meaning.is_visible()
            page.locator('#who a[href="#word-stratum"]').focus()
            page.keyboard.press("Enter")
            meaning.wait_for(state="visible")
            box = meaning.bounding_box()
            assert box
            assert box["x"] + box["width"] <= size["width"]

    @pytest.mark.slow
    def test_is_whole_on_paper(self, browser: Browser, report: Path) -> None:
        """Printing unfolds everything, in the light scheme's colours, and folds it again."""
        with opened(browser, report, color_scheme="dark") as page:
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            assert page.locator("details:not([open])").count() == 0
            ink = "getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()"
            assert page.evaluate(ink) == "#1c2430"
            assert page.evaluate(
                "[...document.querySelectorAll('.chart')].every((one) => one.querySelector('svg'))"
            )
            page.evaluate("dispatchEvent(new Event('afterprint'))")
            assert page.locator("details:not([open])").count() > 0
            assert page.evaluate(ink) == "#e6eaef"

    def test_the_answer_needs_no_script(self, browser: Browser, report: Path) -> None:
        """Without JavaScript the answer is there, and what is folded opens."""
        page = browser.new_page(java_script_enabled=False)
        page.goto(report.as_uri())
        assert "lag-20s got worse" in page.locator("h1").inner_text()
        page.locator("#alarm summary").click()
        assert page.locator("#alarm table").first.is_visible()
        page.close()


class TestTrace:
    """The page of a scenario."""

    def test_axe_finds_no_grave_fault(self, browser: Browser, trace: Path) -> None:
        """Neither serious nor critical."""
        with opened(browser, trace) as page:
            open_everything(page)
            assert grave_faults(page) == []

    def test_fits_a_phone_and_three_megabytes(self, browser: Browser, trace: Path) -> None:
        """At 390 px nothing but tables scrolls sideways."""
        assert trace.stat().st_size < BYTES_MAX
        with opened(browser, trace, PHONE) as page:
            open_everything(page)
            assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]

    def test_units_are_seen_on_a_phone(self, browser: Browser, tmp_path: Path) -> None:
        """The outcome's table, with its longest names, is no wider than its box."""
        outcome = {"spurious_shrinks_per_partition_hour": 20.9, "any_offline": 1.0}
        run = Run("run", parse_scenario(SCENARIO, "test"), [])
        file = write_trace(Story((run,)), [Result(outcome=outcome)], tmp_path / "trace.html")
        with opened(browser, file, PHONE) as page:
            box = page.locator('.scroll[aria-label="Outcome"]')
            assert box.evaluate("(one) => one.scrollWidth <= one.clientWidth")
