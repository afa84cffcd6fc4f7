"""The page and the figures of a night."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from plotly.offline import get_plotlyjs

from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.home import SHIPPED, Home
from isr_pipeline.experiment.plan import code_version
from isr_pipeline.report import charts
from isr_pipeline.report.backing import backing
from isr_pipeline.report.data import ordered, read_night
from isr_pipeline.report.figures import write_figures
from isr_pipeline.report.html import render, write_report
from isr_pipeline.report.page import Page
from isr_pipeline.report.sections import SECTIONS
from isr_pipeline.scenarios.profile import FaultProfile, load_profile
from isr_pipeline.tables import store
from isr_pipeline.verdicts import acceptance, quantities
from isr_pipeline.verdicts.blame.why import explain
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.worlds.columns import METRICS, values_of
from tests.approved import Approved
from tests.blame.cases import LAG, SESSION, case
from tests.report.reading import as_read
from tests.validation.tables import warn
from tests.verdicts.synthetic import LATER, NIGHT, PROFILE, World, decided, scaled

FLAPS = "isr_flaps_per_partition_hour"
NAMES = ("today", "lag-20s", "min-2", "<b>odd & name</b>")


class Outline(HTMLParser):
    """Collects the tags, ids and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        given = dict(attrs)
        self.tags.append(tag)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        for name in ("src", "href"):
            if given.get(name):
                self.links.append(str(given[name]))


@pytest.fixture
def regressed(home: Path) -> World:
    """A world whose second night has one regression."""
    del home
    world = World(names=NAMES)
    judge_night(world.write(NIGHT))
    acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
    plan = world.write(LATER, scaled("isr_flaps_per_partition_hour", 2.0, "lag-20s"))
    judge_night(plan)
    decided(plan)
    return world


def single_scenario(name: str) -> None:
    """Say of the later night that one scenario alone got much worse."""
    file = Home.from_environment().night_dir("synthetic", LATER) / "verdict.json"
    verdict = json.loads(file.read_text())
    metric = verdict["configurations"][0]["metrics"][0]
    metric.update(status="undecided", alone=[name])
    file.write_text(json.dumps(verdict))


class TestAlarm:
    """What the page says beside the verdicts."""

    def test_how_many_scenarios_have_any_is_told(self, regressed: World) -> None:
        """Of each metric, under the reference, beside the floor."""
        data = read_night(regressed.plan(LATER))
        above = int((data.panel.values[FLAPS][:, data.panel.column("id-today")] > 0).sum())
        page = render(data).split('<section id="alarm"')[1]
        assert f'<th scope="row">ISR flaps</th><td class="n">{above}</td>' in page

    def test_a_panel_too_small_finds_nothing(self, home: Path, approved: Approved) -> None:
        """Eight further scenarios cannot hold as many changes as an alarm takes."""
        del home
        world = World(names=NAMES, scenarios=8)
        judge_night(world.write(NIGHT))
        approved(as_read(render(read_night(world.plan(NIGHT))), "alarm"))


class TestWords:
    """Headings and limits in plain words."""

    def test_a_zero_says_what_it_does_not_prove(self, home: Path, approved: Approved) -> None:
        """The page says how many further scenarios may have some; no rule is cited."""
        del home
        world = World(names=NAMES)
        none = scaled(FLAPS, 0.0, "today")
        judge_night(world.write(NIGHT, none))
        page = render(read_night(world.plan(NIGHT)))
        approved(as_read(page, "configurations"))
        for unclear in (
            *("rule of three", "in ≤", "Failure detector", "main keys"),
            "regression panel",  # it sounds as if something had regressed in it
        ):
            assert unclear not in page

    def test_what_a_kind_of_fault_causes_has_a_row_per_configuration(
        self, regressed: World
    ) -> None:
        """Names stand beside rows, in the order of the file; kinds are columns."""
        chart = charts.causes(read_night(regressed.plan(LATER)), FLAPS, "fault_kinds")
        assert chart is not None
        assert chart["data"][0]["y"] == list(NAMES)
        assert np.array(chart["data"][0]["z"]).sum(axis=1) == pytest.approx([100] * 4, abs=0.1)


def shipped(name: str) -> FaultProfile:
    """A fault profile of the checkout."""
    file = SHIPPED / "config" / "faults" / f"{name}.yaml"
    return load_profile(read_mapping(file), str(file))


class TestStrata:
    """Strata are called by what happens in their scenarios."""

    @pytest.mark.parametrize("name", ["nightly", "racks", "smoke", "stuck-reads"])
    def test_none_of_a_shipped_profile_is_called_as_a_metric_is(self, name: str) -> None:
        """Each has words of its own: `offline` is a metric's name too."""
        profile = shipped(name)
        called = [profile.called(stratum) for stratum in profile.strata]
        assert len(called) == len(set(called))
        assert not set(called) & {*profile.strata, *METRICS, *map(quantities.label, METRICS)}

    def test_the_name_of_files_stands_below(self, home: Path) -> None:
        """A stratum without words keeps its name alone."""
        del home
        told = {"called": "a broker & its disk die"}
        crashes = PROFILE.strata["stratum-0"].model_copy(update=told)
        strata = {**PROFILE.strata, "stratum-0": crashes}
        world = World(names=NAMES, profile=PROFILE.model_copy(update={"strata": strata}))
        judge_night(world.write(NIGHT))
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        plan = world.write(LATER, scaled(FLAPS, 2.0, "lag-20s"))
        judge_night(plan)
        decided(plan)
        who = render(read_night(plan)).split('<section id="who"')[1].split("</section>")[0]
        called = "a broker &amp; its disk die<br><small>stratum-0</small>"
        assert set(re.findall(r'<th scope="row">(.*?)</th>', who)) == {called, "stratum-1"}


class TestPage:
    """One self-contained HTML file."""

    def test_asks_nobody(self, regressed: World) -> None:
        """No script, style, image or font is fetched: every address is local or an anchor."""
        page = Outline()
        page.feed(write_report(regressed.plan(LATER)).read_text())
        assert page.links
        assert all(link.startswith(("#", "file:", "data:")) for link in page.links)

    def test_plotly_is_there_once(self, regressed: World) -> None:
        """The library is embedded a single time, however many charts there are."""
        text = write_report(regressed.plan(LATER)).read_text()
        (packed,) = re.findall(r'<script type="text/plain" id="plotly">([^<]+)</script>', text)
        assert gzip.decompress(base64.b64decode(packed)).decode() == get_plotlyjs()

    def test_has_a_headline_sections_and_a_skip_link(self, regressed: World) -> None:
        """One h1, a main landmark, an id for every link of the navigation."""
        page = Outline()
        page.feed(render(read_night(regressed.plan(LATER))))
        assert page.tags.count("h1") == 1
        assert {"header", "nav", "main", "footer"} <= set(page.tags)
        anchors = {link[1:] for link in page.links if link.startswith("#")}
        assert anchors <= set(page.ids)
        assert len(page.ids) == len(set(page.ids))

    def test_as_it_is_read(self, regressed: World, approved: Approved) -> None:
        """From the title to the version that made the night."""
        approved(as_read(render(read_night(regressed.plan(LATER)))))

    def test_every_chart_has_a_place(self, regressed: World) -> None:
        """The charts' JSON and the page name the same elements."""
        text = render(read_night(regressed.plan(LATER)))
        found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text)
        assert found
        page = Outline()
        page.feed(text)
        assert set(json.loads(found.group(1))) <= set(page.ids)

    def test_names_are_escaped(self, regressed: World) -> None:
        """A configuration's name is text, never markup."""
        text = render(read_night(regressed.plan(LATER)))
        body = text.partition('<script type="application/json"')[0]
        assert "&lt;b&gt;odd &amp; name&lt;/b&gt;" in body
        assert "<b>odd" not in body

    def test_a_regression_shows_the_command_that_replays_it(self, regressed: World) -> None:
        """Three deciding scenarios, each with its command."""
        text = render(read_night(regressed.plan(LATER)))
        commands = re.findall(
            r"isr-pipeline simulate --night 2026-11-20 --experiment synthetic "
            r"--scenario regression-\d{4} --config lag-20s --trace trace.html",
            text,
        )
        assert len(set(commands)) == 3

    def test_a_loss_in_a_further_stage_is_named_and_drawn(
        self, regressed: World, approved: Approved
    ) -> None:
        """A scenario that the standing panel lacks, as `alone` may have, has its command too."""
        plan = regressed.plan(LATER)
        single_scenario("confirm-0097")
        single = as_read(render(read_night(plan)), "single")
        assert "--scenario confirm-0097 --config today" in "\n".join(single)
        approved(single)

    def test_a_scenario_that_nobody_ran_breaks_no_page(self, regressed: World) -> None:
        """It is named, and not drawn."""
        plan = regressed.plan(LATER)
        single_scenario("confirm-99999")
        page = render(read_night(plan))
        assert "In confirm-99999 " in page
        assert "--scenario confirm-99999" not in page

    def test_a_single_scenario_stands_below_its_own_heading(
        self, regressed: World, approved: Approved
    ) -> None:
        """An `ok` configuration is not under what got worse; the rise has its metric and unit."""
        plan = regressed.plan(LATER)
        file = Home.from_environment().night_dir("synthetic", LATER) / "verdict.json"
        verdict = json.loads(file.read_text())
        one = next(each for each in verdict["configurations"] if each["name"] == "lag-20s")
        metric = next(each for each in one["metrics"] if each["metric"] == FLAPS)
        rows = store.read_table("outcomes", "synthetic", LATER)
        rows = rows[(rows["panel"] == "confirm") & (rows["config_id"] == "id-lag-20s")]
        rows = rows.assign(**values_of(rows))
        most = rows.sort_values(FLAPS).iloc[-1]
        one["status"] = verdict["status"] = "ok"
        metric.update(status="ok", alone=[most["scenario_id"]])
        file.write_text(json.dumps(verdict))
        page = render(read_night(plan))
        worse = page.split('<section id="regressions"')[1].split("</section>")[0]
        assert most["scenario_id"] not in worse
        single = as_read(page, "single")
        flaps = most["isr_flaps"]
        before, after = (quantities.plain(one) for one in (flaps / 2, flaps))
        rose = f"In {most['scenario_id']} ISR flaps rose from {before} to {after} events: "
        assert any(line.startswith(rose) for line in single)
        approved([*as_read(page, "regressions"), *single])

    def test_what_to_do_names_both_commands(self, regressed: World) -> None:
        """`why` shows where the runs part, `blame` finds the cause."""
        page = render(read_night(regressed.plan(LATER)))
        for command in ("why", "blame"):
            assert f"isr-pipeline {command} {LATER} lag-20s --experiment synthetic" in page

    def test_a_regression_has_one_size_everywhere(self, regressed: World) -> None:
        """Its ratio is written alike in the answer, by stratum and in the table."""
        data = read_night(regressed.plan(LATER))
        (one,) = data.flagged
        said = quantities.times(one.metric(FLAPS).ratio or 0.0)
        page = render(data)
        for section in ("answer", "who", "configurations"):
            told = page.split(f'<section id="{section}"')[1].split("</section>")[0]
            assert re.search(rf"(?<![.\d]){said}(?!\d)", told), section

    def test_the_answer_is_a_table_of_what_changed(self, regressed: World) -> None:
        """Before, tonight, ratio, verdict, in how many scenarios, and where it changed most."""
        page = render(read_night(regressed.plan(LATER)))
        told = page.split('<section id="answer"')[1].split("</section>")[0]
        row = told.split('<th scope="row">ISR flaps')[1].split("</tr>")[0]
        badge = '<span class="status regressed">regressed</span>'
        cell = r'<td class="n" data-head="ratio \(interval\)">'
        assert re.search(rf"{cell}2 × \([\d.]+ to [\d.]+\)<br>{badge}</td>", row)
        assert re.search(r"worse in \d+, better in 0 of \d+", row)
        most = r"when stratum-[01]: 2 × from [\d.]+ to [\d.]+ events a scenario"
        assert re.search(rf'<td data-head="most in">{most}</td>', row)

    def test_what_is_not_about_the_change_is_folded(self, regressed: World) -> None:
        """Six links stand on top; the sections that lead further show their headings."""
        page = render(read_night(regressed.plan(LATER)))
        nav = page.split("<nav")[1].split("</nav>")[0]
        assert re.findall(r'href="#(\w+)"', nav) == [
            "answer", "who", "why", "configurations", "glossary", "data",
        ]  # fmt: skip
        folded = re.findall(r'<section id="(\w+)"[^>]*><details>', page)
        assert {"reference", "configurations", "nights"} <= set(folded)
        assert not {"answer", "who", "why", "regressions"} & set(folded)

    def test_the_answer_says_what_decided_the_first_event(
        self, regressed: World, approved: Approved
    ) -> None:
        """It calls that no cause; where several keys changed, it has the command that names it."""
        data = read_night(regressed.plan(LATER))
        text = {}
        for session in (9_000, 8_500):
            made = case({LAG: 16_000, SESSION: 9_000}, {LAG: 4_000, SESSION: session})
            page = Page()
            page.explained["lag-20s"] = explain(made, compiled=False)
            (answer,) = (one for one in SECTIONS if one.name == "answer")
            text[session] = answer.drawn(page, data)
        command = "<code>isr-pipeline blame 2026-11-20 today --experiment made</code>"
        assert [command in one for one in text.values()] == [False, True]
        assert ">Why</a>" not in text[9_000] + text[8_500]
        approved(line for one in text.values() for line in as_read(f"<body>{one}"))

    def test_kept_events_are_told_again(self, regressed: World, approved: Approved) -> None:
        """Events of a deciding pair are as a run lists them, though no code makes them again."""
        plan = regressed.plan(LATER)
        data = read_night(plan)
        one = data.flagged[0]
        (first, *_) = data.deciding(one, "isr_flaps_per_partition_hour")
        event = {
            "panel": "regression", "scenario_id": first.scenario_id, "config_id": one.config_id,
            "seq": 0, "t_ms": 31_000.6, "kind": "isr_shrink", "topic": "t", "partition": 4,
            "broker": 1, "leader": 1, "leader_epoch": 0, "isr": "[1, 2]", "cause": None,
            "decided_ms": None,
        }  # fmt: skip
        store.write_table("events", "synthetic", LATER, pd.DataFrame([event]))
        (again, *_) = read_night(plan).deciding(one, "isr_flaps_per_partition_hour")
        (run,) = again.runs
        assert (run.title, run.events[0]["isr"], run.events[0]["partition"]) == (
            "tonight", [1, 2], 4,
        )  # fmt: skip
        approved(run.sentence())

    def test_events_that_were_not_kept_are_had_again(self, regressed: World) -> None:
        """The pair is simulated once more if the kernel is the night's; else the page says so."""
        plan = regressed.plan(LATER)
        assert "The events of this pair were not kept" in render(read_night(plan))
        again = replace(regressed, code_version=code_version()).plan(LATER)
        found = read_night(again).deciding(read_night(again).flagged[0], FLAPS)
        assert len(found) == 3
        assert all(run.events for one in found for run in one.runs)
        assert "were not kept" not in render(read_night(again))

    def test_thousands_have_no_exponent(self, regressed: World) -> None:
        """1 812.8 ms is 1813, not 1.81e+03."""
        plan = regressed.write(LATER, scaled("commit_latency_p99_ms", 100.0, "lag-20s"))
        judge_night(plan)
        words = re.sub("<script.*?</script>", "", render(read_night(plan)), flags=re.DOTALL)
        assert "e+03" not in words

    def test_accepted_changes_are_added_up(self, regressed: World, approved: Approved) -> None:
        """What acceptances absorbed since the first baseline stands on the page."""
        acceptance.accept("synthetic", LATER, "Ada", "meant", version="1234abc")
        plan = regressed.write(LATER)
        judge_night(plan)
        text = render(read_night(plan))
        assert ">2 ×<" in text
        approved(as_read(text, "accepted"))

    def test_a_first_night_has_a_page_too(self, home: Path, approved: Approved) -> None:
        """Without a baseline the page says so and draws the rest."""
        del home
        plan = World().write(NIGHT)
        judge_night(plan)
        approved(as_read(write_report(plan).read_text(), "answer", "baseline"))

    def test_a_reference_without_data_has_a_page_too(self, home: Path, approved: Approved) -> None:
        """If the reference itself failed, comparisons are left out and said to be."""
        del home
        world = World()

        def failing(panel, name, columns, rng) -> None:  # type: ignore[no-untyped-def]
            if name == "today":
                columns["failed"][0] = 1

        plan = world.write(NIGHT, failing)
        judge_night(plan)
        approved(as_read(write_report(plan).read_text(), "answer", "reference"))

    def test_warnings_about_the_data(self, home: Path, approved: Approved) -> None:
        """What the tables break that did not stop the night; a night where all holds has none."""
        del home
        plan = World(names=NAMES, scenarios=8).write(NIGHT)
        judge_night(plan)
        assert 'id="warnings"' not in render(read_night(plan))
        warn(plan)
        approved(as_read(render(read_night(plan)), "warnings"))


class TestFigures:
    """PNG versions."""

    def test_are_png_files_of_the_night(self, regressed: World) -> None:
        """Verdicts, heat maps, ratios; an earlier run's are replaced."""
        plan = regressed.plan(LATER)
        write_figures(plan)
        paths = write_figures(plan)
        assert {path.stem for path in paths} == {
            "verdicts",
            "heat_offline",
            "heat_flaps",
            "against_reference",
        }
        assert all(path.read_bytes()[:4] == b"\x89PNG" for path in paths)


class TestData:
    """What the charts are drawn from."""

    def test_numbers_come_before_words_on_an_axis(self) -> None:
        """Values of a key are ordered as numbers."""
        assert ordered({10_000, 500, "none", 2_000}) == ["500", "2000", "10000", "none"]

    def test_causes_add_up_to_the_total(self, regressed: World) -> None:
        """Scenarios of one kind each: the kinds' totals sum to the metric's."""
        data = read_night(regressed.plan(LATER))
        _, totals = data.causes("leaderless_rate", "fault_kinds")
        assert totals.sum(axis=0) == pytest.approx(data.panel.totals("leaderless_rate"))

    def test_trend_holds_both_nights(self, regressed: World) -> None:
        """Nights up to this one, oldest first."""
        trend = read_night(regressed.plan(LATER)).trend
        assert list(dict.fromkeys(trend["night"])) == [NIGHT, LATER]

    def test_nights_of_another_panel_are_no_part_of_the_curve(self, regressed: World) -> None:
        """Values of two panels are no curve."""
        other = replace(regressed, panel_digest="e" * 64)
        other.plan(NIGHT)
        trend = read_night(regressed.plan(LATER)).trend
        assert set(trend["night"]) == {LATER}

    def test_nights_stand_in_order(self, regressed: World) -> None:
        """A curve that begins later than another does not stand before it."""
        data = read_night(regressed.plan(LATER))
        drawn = charts.trend(data, FLAPS, list(NAMES))
        assert drawn is not None
        assert drawn["layout"]["xaxis"]["categoryorder"] == "category ascending"

    def test_infinities_are_null_in_json(self) -> None:
        """JSON has no infinity."""
        assert charts.numbers([1.0, float("inf"), float("nan")]) == [1.0, None, None]

    def test_script_cannot_be_closed_from_inside(self) -> None:
        """A name holding </script> stays inside its script element."""
        assert "</" not in charts.as_json({"a": {"data": ["</script>"]}})


class TestBacking:
    """How each configuration's rules are backed."""

    @pytest.fixture(autouse=True)
    def recorded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A record of agreement of our own: none at first."""
        file = tmp_path / "agreement.json"
        monkeypatch.setattr("isr_pipeline.conformance.observations.AGREEMENT", file)
        return file

    def test_released_rules_name_brokers_and_unit_tests(
        self, home: Path, approved: Approved
    ) -> None:
        """Kafka 3.7-3.9 was run on real brokers."""
        del home
        one = World().plan(NIGHT).configurations[0]
        approved(backing(one, one))

    def test_recorded_agreement_is_said(
        self, home: Path, recorded: Path, approved: Approved
    ) -> None:
        """After `isr-pipeline conform --record` it says how many agree."""
        del home
        recorded.write_text('{"3.7-3.9": 48}')
        one = World().plan(NIGHT).configurations[0]
        approved(backing(one, one))

    def test_a_proposal_is_a_text(self, home: Path, approved: Approved) -> None:
        """KIP-501 never ran on a broker, and that is said."""
        del home
        world = World(values={"today": {"rules.kip501": "s2"}})
        one = world.plan(NIGHT).configurations[0]
        approved(backing(one, one))
