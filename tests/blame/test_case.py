"""What can be asked about, and what is refused in one line."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import Home
from isr_pipeline.cli import app
from isr_pipeline.experiment.plan import Plan, code_version
from isr_pipeline.night.status import Status, folder_of, write_status
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.verdicts import acceptance, baseline
from isr_pipeline.verdicts.blame.case import SCENARIOS_MAX, Drawn, read_case
from isr_pipeline.verdicts.judge import judge_night
from tests.approved import Approved
from tests.report.reading import as_read
from tests.verdicts.synthetic import LATER, NIGHT, Change, World, decided, scaled

LATENCY = "commit_latency_p99_ms"
FLAPS = "isr_flaps_per_partition_hour"
PRODUCE = "produce_unavailable_rate"


def regressed(version: str | None = None) -> World:
    """A world whose second night has one regression."""
    world = World(code_version=version or code_version())
    two_nights(world, scaled(FLAPS, 2.0, "lag-20s"))
    write_status(folder_of("synthetic", LATER), Status("regressed"))
    return world


def two_nights(world: World, after: Change, before: Change | None = None) -> None:
    """A night that was accepted, and a later one that was judged to its end."""
    judge_night(world.write(NIGHT, before))
    acceptance.accept("synthetic", NIGHT, "Ada", "first", version=world.code_version)
    plan = world.write(LATER, after)
    judge_night(plan)
    decided(plan)


def refused(config: str = "lag-20s", metric: str | None = None) -> str:
    """Why a case cannot be read."""
    with pytest.raises((Refused, InputError)) as refusal:
        read_case(Plan.of_night("synthetic", LATER), config, metric)
    text = str(refusal.value)
    assert "\n" not in text
    return text


class Later(datetime):
    """A clock that is an hour ahead."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Later:
        """An hour from now."""
        return super().now(tz) + timedelta(hours=1)


def archive() -> Path:
    """The baseline's archive."""
    return Path(str(Home.from_environment().baseline_dir("synthetic"))) / "source.tar.xz"


def test_a_night_that_was_judged_before_any_baseline(home: Path) -> None:
    """After its acceptance it is the baseline itself; another such night is to be run again."""
    world = World()
    for night in (NIGHT, LATER):
        judge_night(world.write(night))
        write_status(folder_of("synthetic", night), Status("baseline"))
    acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
    with pytest.raises(Refused, match=f"night {NIGHT} of synthetic is the baseline itself"):
        read_case(Plan.of_night("synthetic", NIGHT), "lag-20s")
    with pytest.raises(
        Refused,
        match=f"night {LATER} of synthetic was judged before night {NIGHT} was accepted; "
        f"run it again: isr-pipeline night run --night {LATER} --experiment synthetic",
    ):
        read_case(Plan.of_night("synthetic", LATER), "lag-20s")


@pytest.mark.usefixtures("home")
class TestCase:
    """What a case holds."""

    def test_the_metric_that_regressed_and_its_scenarios(self) -> None:
        """Deciding scenarios come first; the share of the baseline is 0, of tonight 1."""
        regressed()
        case = read_case(Plan.of_night("synthetic", LATER), "id-lag-20s")
        assert (case.config, case.metric, case.status) == ("lag-20s", FLAPS, "regressed")
        assert case.same_code
        assert case.changed_keys == []
        assert all(one.after > one.before for one in case.deciding)
        assert len(case.differing) > len(case.deciding)
        drawn = case.differing
        assert case.share([one.before for one in drawn], drawn) == 0.0
        assert case.share([one.after for one in drawn], drawn) == pytest.approx(1.0)

    def test_further_scenarios_that_decided_count_too(self) -> None:
        """The differing scenarios are of both panels; the deciding ones of the page's panel."""
        regressed()
        case = read_case(Plan.of_night("synthetic", LATER), "id-lag-20s")
        panels = {one.scenario_id.partition("-")[0] for one in case.differing}
        assert panels == {"regression", "confirm"}
        assert len(case.differing) <= SCENARIOS_MAX + len(case.deciding)
        assert {one.scenario_id.partition("-")[0] for one in case.deciding} == {"regression"}
        drawn = case.differing
        assert case.share([one.after for one in drawn], drawn) == pytest.approx(1.0)

    def test_an_alarm_of_a_stratum_is_asked_about_there(self) -> None:
        """One stratum rose, the other fell by more: no scenario of the other is run."""
        world = World(code_version=code_version())

        def apart(
            panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
        ) -> None:
            if name == "lag-20s":
                rare = world.scenario_rows(panel)["stratum"].to_numpy() == "stratum-0"
                columns[FLAPS] = columns[FLAPS] * np.where(rare, 2.0, 0.5)

        two_nights(world, apart)
        case = read_case(Plan.of_night("synthetic", LATER), "lag-20s")
        assert (case.metric, case.status) == (FLAPS, "regressed")
        asked = {
            panel: world.scenario_rows(panel).set_index("scenario_id")["stratum"]
            for panel in ("regression", "confirm")
        }
        strata = {
            asked[one.scenario_id.partition("-")[0]][one.scenario_id]
            for one in (*case.deciding, *case.differing)
        }
        assert strata == {"stratum-0"}

    def test_without_a_name_it_is_the_metric_that_the_page_leads_with(self) -> None:
        """Of two that regressed what a page has first, however much more the other changed."""
        world = World(code_version=code_version())

        def both(*given: Any) -> None:
            scaled(FLAPS, 8.0, "lag-20s")(*given)
            scaled(PRODUCE, 2.0, "lag-20s")(*given)

        two_nights(world, both)
        case = read_case(Plan.of_night("synthetic", LATER), "lag-20s")
        assert case.metric == PRODUCE
        rows = render(read_night(world.plan(LATER))).split('<section id="answer"')[1]
        assert re.findall(r'<th scope="row">([^<]+)<', rows)[0] == "produce unavailable"

    @pytest.mark.parametrize("named", [FLAPS, "ISR flaps"])
    def test_a_metric_can_be_named(self, named: str) -> None:
        """As tables call it, or in words."""
        regressed()
        assert read_case(Plan.of_night("synthetic", LATER), "lag-20s", named).metric == FLAPS

    def test_a_metric_that_does_not_differ_is_refused(self) -> None:
        """The line lists those that do."""
        regressed()
        assert refused(metric=LATENCY) == (
            f"night {LATER} of synthetic: --metric: {LATENCY}; allowed: what differs under "
            f"lag-20s: {FLAPS}"
        )

    def test_the_share_of_a_latency_is_of_what_most_feel(self) -> None:
        """A setting that makes 2 ms in most scenarios makes most of it, whatever a stall did."""
        regressed()
        case = replace(read_case(Plan.of_night("synthetic", LATER), "id-lag-20s"), metric=LATENCY)
        quiet = [Drawn(f"{index}", {}, 1.0, 1.5, 3.0, 1.0) for index in range(20)]
        stalled = Drawn("stalled", {}, 1.0, 20_000.0, 29_000.0, 1.0)
        drawn = (*quiet, stalled)
        values: list[float | None] = [*(one.after for one in quiet), stalled.before]
        assert case.share(values, drawn) > 0.9

    def test_a_long_stall_that_got_shorter_hides_no_rise(self) -> None:
        """What most scenarios feel got worse, though the sum fell: the deciding ones got worse."""

        def stalled(
            panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
        ) -> None:
            columns[LATENCY][7] = 1e6

        def slower(
            panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
        ) -> None:
            columns[LATENCY] = columns[LATENCY] * (3.0 if name == "lag-20s" else 1.0)
            columns[LATENCY][7] = 1e5 if name == "lag-20s" else 1e6

        two_nights(World(code_version=code_version()), slower, stalled)
        case = read_case(Plan.of_night("synthetic", LATER), "lag-20s")
        assert (case.metric, case.status) == (LATENCY, "regressed")
        assert case.deciding
        assert all(one.after > one.before for one in case.deciding)


@pytest.mark.usefixtures("home")
class TestRefused:
    """One line each."""

    def test_unknown_configuration(self) -> None:
        """The names that there are."""
        regressed()
        assert refused("nobody") == (
            "night 2026-11-20 of synthetic: CONFIG: nobody; allowed: today, kip-501-s1, lag-20s"
        )

    def test_nothing_differs(self, approved: Approved) -> None:
        """An unchanged configuration has no cause."""
        regressed()
        approved(refused("today"))

    def test_no_baseline(self, approved: Approved) -> None:
        """Nothing to compare with."""
        regressed()
        baseline.forget("synthetic")
        approved(refused())

    def test_baseline_without_its_source(self, approved: Approved) -> None:
        """Accepted of code that is not kept, of a commit that git does not know."""
        regressed("1234abc")
        approved(refused())

    def test_a_later_baseline_with_the_same_configuration(
        self, monkeypatch: pytest.MonkeyPatch, approved: Approved
    ) -> None:
        """What the night was compared with is gone: its verdict is not about the one since."""
        world = regressed()
        judge_night(world.write("2026-11-21"))
        monkeypatch.setattr(acceptance, "datetime", Later)
        acceptance.accept("synthetic", "2026-11-21", "Ada", "next", version=world.code_version)
        approved(refused())

    def test_the_baseline_itself(self, approved: Approved) -> None:
        """A night that was compared, and then accepted."""
        world = regressed()
        acceptance.accept("synthetic", LATER, "Ada", "meant", version=world.code_version)
        approved(refused())

    def test_a_configuration_that_is_new(self, approved: Approved) -> None:
        """The baseline was there, and had none of that name and none of its values."""
        world = regressed()
        more = replace(world, names=(*world.names, "brand-new"))
        judge_night(more.write(LATER))
        approved(refused("brand-new"))

    def test_damaged_archive(self, monkeypatch: pytest.MonkeyPatch, approved: Approved) -> None:
        """Cut off, or removed: the same sources elsewhere will do, else a line says what to do."""
        regressed()
        archive().write_bytes(archive().read_bytes()[:5_000])
        assert read_case(Plan.of_night("synthetic", LATER), "lag-20s").same_code
        record = baseline.show("synthetic")
        assert record is not None
        cut = "baseline is damaged: source.tar.xz is not what was accepted"
        assert baseline.damages(record) == [cut]
        archive().unlink()
        monkeypatch.setattr(baseline, "find_source", lambda *_: None)
        approved(refused())

    def test_baseline_accepted_since(self, approved: Approved) -> None:
        """Another panel than the night's."""
        regressed()
        other = World(panel_digest="e" * 64, code_version=code_version())
        judge_night(other.write("2026-11-21"))
        acceptance.accept(
            "synthetic",
            "2026-11-21",
            "Ada",
            "other",
            version=other.code_version,
            absorb_unseen=True,
        )
        approved(refused())

    @pytest.mark.parametrize("command", ["why", "blame"])
    def test_on_the_command_line(self, command: str) -> None:
        """Both commands refuse a night that is none."""
        done = CliRunner().invoke(app, [command, "yesterday", "today"])
        assert isinstance(done.exception, InputError)
        assert str(done.exception) == "NIGHT: yesterday; allowed: a date, YYYY-MM-DD"

    def test_in_the_report(self, approved: Approved) -> None:
        """The page says why it cannot say why."""
        world = regressed("1234abc")
        approved(as_read(render(read_night(world.plan(LATER))), "why"))
