"""Acceptances add up: the ledger, and configurations that are accepted alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import Home
from isr_pipeline.cli import app
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.verdicts import acceptance, baseline, ledger
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.ledger import Absorbed, Entry
from isr_pipeline.verdicts.record import Figures, NightVerdict, Per, Status
from isr_pipeline.verdicts.sentences import headline
from tests.approved import Approved
from tests.report.reading import as_read
from tests.verdicts.synthetic import LATER, NIGHT, Change, World, decided, scaled

FLAPS = "isr_flaps_per_partition_hour"
LATENCY = "commit_latency_p99_ms"
THIRD = "2026-11-21"


def judged(world: World, night: str, change: Change | None = None) -> NightVerdict:
    """Judge a night, confirm panel included."""
    plan = world.write(night, change)
    judge_night(plan)
    return decided(plan)


def accepted(
    world: World,
    night: str,
    change: Change | None = None,
    only: tuple[str, ...] = (),
    *,
    absorb_unseen: bool = False,
) -> baseline.BaselineRecord:
    """Judge and accept a night, or some of its configurations."""
    judged(world, night, change)
    return acceptance.accept(
        world.experiment,
        night,
        "Ada",
        f"of {night}",
        only=only,
        version=world.code_version,
        absorb_unseen=absorb_unseen,
    )


def entry(at: str, against: str, **metrics: float | None) -> Entry:
    """An acceptance of the configuration `today` with the ratios of some metrics."""
    absorbed = {
        name: Absorbed(status=Status.OK, ratio=ratio, value=1.0, baseline_value=0.5)
        for name, ratio in metrics.items()
    }
    return Entry(
        night=f"night-{at}", accepted_by="Ada", accepted_at=at, why="why", code_version="c",
        panel_digest="p", compared_with=against, absorbed={"today": absorbed},
    )  # fmt: skip


class TestInForce:
    """An acceptance is compared with the baseline that it replaces."""

    def taken_back(self, home: Home) -> World:
        """Accept a night, then one that is slower, then one that was judged before that."""
        world = World()
        accepted(world, NIGHT)
        judged(world, THIRD)
        accepted(world, LATER, scaled(LATENCY, 2.0, "today"))
        acceptance.accept(world.experiment, THIRD, "Ada", "back", version=world.code_version)
        return world

    def test_what_the_night_was_judged_against_does_not_count(self, home: Home) -> None:
        """The last one undoes the second: its own verdict, against the first, shows nothing."""
        self.taken_back(home)
        slower, back = (one.absorbed["today"][LATENCY] for one in ledger.read("synthetic")[1:])
        assert slower.status is Status.REGRESSED
        assert slower.ratio is not None
        assert slower.ratio > 1.6
        assert back.ratio == pytest.approx(1 / slower.ratio)

    def test_what_is_taken_back_adds_up_to_nothing(self, home: Home) -> None:
        """Twice and a half are one: no sum is left."""
        world = self.taken_back(home)
        assert ledger.compounded(ledger.read(world.experiment)) == []


class TestCompounded:
    """What a chain of acceptances adds up to."""

    def test_ratios_multiply(self, approved: Approved) -> None:
        """Three times nine per cent is thirty per cent since the first baseline."""
        steps = [entry("1", "")]
        steps += [entry(str(at), str(at - 1), p99=1.09) for at in (2, 3, 4)]
        (total,) = ledger.compounded(steps)
        approved(total.text)
        assert total.ratio == pytest.approx(1.09**3)
        assert total.acceptances == 3

    def test_an_acceptance_judged_before_the_last_is_not_counted_on_top_of_it(self) -> None:
        """Ratios multiply along what they are against, not in the order of acceptance."""
        steps = [entry("1", ""), entry("2", "1", p99=1.5), entry("3", "1", p99=1.2)]
        (total,) = ledger.compounded(steps)
        assert (total.ratio, total.acceptances) == (1.2, 1)

    def test_another_panel_begins_anew(self, approved: Approved) -> None:
        """What was compared with nothing has no ratio to multiply."""
        steps = [entry("1", ""), entry("2", "1", p99=2.0), entry("3", ""), entry("4", "3", p99=1.1)]
        (total,) = ledger.compounded(steps)
        approved(total.text)
        assert total.ratio == pytest.approx(1.1)
        assert total.acceptances == 1

    @pytest.mark.parametrize("ratio", [None, 0.0])
    def test_from_zero_and_to_zero(self, ratio: float | None, approved: Approved) -> None:
        """Such a step has no ratio to multiply: the first and the last value are said."""
        steps = [entry("1", ""), entry("2", "1", lost=ratio), entry("3", "2", lost=0.5)]
        (total,) = ledger.compounded(steps)
        assert total.ratio is None
        approved(total.text)

    def test_from_none_has_the_figures_of_a_year(self, approved: Approved) -> None:
        """An acceptance keeps what is printed of its comparison; a sum has the first and last."""
        share = "led_under_min_isr_rate"
        steps = [entry("1", ""), entry("2", "1", **{share: None}), entry("3", "2", **{share: 2.0})]
        sides = ((0.0, 6.5), (6.5, 13.0))
        for step, (before, after) in zip(steps[1:], sides, strict=True):
            absorbed = step.absorbed["today"]
            figures = Figures(per=Per.YEAR, scenarios=9, before=before, after=after, ratio=None)
            absorbed[share] = absorbed[share].model_copy(update={"figures": figures})
        (total,) = ledger.compounded(steps)
        approved([*steps[1].lines(), *steps[2].lines(), total.text])

    def test_an_older_ledger_has_means_of_its_panel(self, approved: Approved) -> None:
        """What was written before there were figures is told as it was."""
        share = "led_under_min_isr_rate"
        steps = [entry("1", ""), entry("2", "1", **{share: None})]
        (total,) = ledger.compounded(steps)
        assert total.change == "50 to 100 % of time"
        approved(steps[1].lines())

    def test_what_has_no_ratio_comes_first(self) -> None:
        """A rise from zero is more than any factor."""
        steps = [entry("1", ""), entry("2", "1", up=9.0, lost=None)]
        assert [one.metric for one in ledger.compounded(steps)] == ["lost", "up"]

    def test_back_again_is_no_change(self) -> None:
        """Largest change first, in either direction."""
        steps = [entry("1", ""), entry("2", "1", up=1.5, down=0.5)]
        assert [one.metric for one in ledger.compounded(steps)] == ["down", "up"]


@pytest.mark.usefixtures("home")
class TestLedger:
    """The file."""

    def test_an_acceptance_says_what_it_absorbs(self, approved: Approved) -> None:
        """Every metric that is not what it was, below the limit too, by configuration."""
        accepted(World(), NIGHT)
        record = accepted(World(), LATER, scaled(LATENCY, 1.02, "today"))
        assert record.entry is not None
        approved(record.entry.lines())
        kept = record.entry.absorbed["today"][LATENCY].figures
        assert kept is not None
        assert kept.per is Per.TYPICAL
        assert kept.after > kept.before

    def test_a_slow_decline_adds_up(self) -> None:
        """Steps that nobody calls are one sum in the end."""
        accepted(World(), NIGHT)
        accepted(World(), LATER, scaled(LATENCY, 1.05, "today"))
        accepted(World(), THIRD, scaled(LATENCY, 1.05 * 1.05, "today"))
        (total,) = ledger.compounded(ledger.read("synthetic"))
        assert total.acceptances == 2
        assert total.ratio == pytest.approx(1.1, abs=0.01)
        assert total.since == NIGHT

    def test_removed_is_said(self) -> None:
        """A configuration that the accepted night no longer has."""
        accepted(World(), NIGHT)
        record = accepted(World(names=("today", "lag-20s")), LATER)
        assert record.entry is not None
        assert record.entry.removed == ("kip-501-s1",)

    def test_a_killed_acceptance_is_entered_by_the_next(self) -> None:
        """The baseline keeps its own line until the ledger has it."""
        accepted(World(), NIGHT)
        ledger.path("synthetic").unlink()
        accepted(World(), LATER)
        assert [one.night for one in ledger.read("synthetic")] == [NIGHT, LATER]

    def test_a_line_cut_off_is_passed_over(self) -> None:
        """What a killed program left unfinished costs no other line."""
        accepted(World(), NIGHT)
        file = ledger.path("synthetic")
        file.write_bytes(file.read_bytes() + b'{"night": "2026-')
        accepted(World(), LATER)
        assert [one.night for one in ledger.read("synthetic")] == [NIGHT, LATER]
        assert ledger.lines_lost("synthetic") == 1

    def test_a_lost_line_is_said(self, approved: Approved) -> None:
        """Whoever lists the acceptances hears that some of them cannot be read."""
        accepted(World(experiment="smoke"), NIGHT)
        file = ledger.path("smoke")
        file.write_bytes(file.read_bytes()[:-200])
        said = CliRunner().invoke(app, ["baseline", "ledger", "--experiment", "smoke"]).stdout
        approved(said, FILE=file)

    def test_a_renamed_configuration_is_not_removed(self) -> None:
        """Another name for the same values takes the place of the old one, alone too."""
        world = World()
        accepted(world, NIGHT)
        names = ("today", "another-name", "lag-20s")
        renamed = World(names=names, values={"another-name": world.overrides("kip-501-s1")})
        assert headline(judged(renamed, LATER)) == "3 of 3 configurations unchanged"
        record = accepted(renamed, LATER, only=("another-name",))
        assert sorted(one.name for one in record.configurations) == sorted(names)
        assert accepted(renamed, LATER).entry.removed == ()  # type: ignore[union-attr]

    def test_a_line_of_something_else_is_refused(self, approved: Approved) -> None:
        """File and line are named."""
        accepted(World(), NIGHT)
        file = ledger.path("synthetic")
        file.write_text('{"a": 1}\n' + file.read_text())
        with approved.refusal(Refused, FILE=file):
            ledger.read("synthetic")


OTHER = World(panel_digest="e" * 64, seed=8)
"""The same configurations on other scenarios."""


@pytest.mark.usefixtures("home")
class TestNothingCompared:
    """Acceptances that absorb what nobody can tell."""

    def test_of_another_panel(self, approved: Approved) -> None:
        """Flaps rose, and no ratio can say so: the entry says that the sums begin anew."""
        accepted(World(), NIGHT)
        record = accepted(OTHER, LATER, scaled(FLAPS, 3.0, "today"), absorb_unseen=True)
        assert record.entry is not None
        approved(record.entry.lines())
        assert ledger.read("synthetic")[-1].remarks == (ledger.OTHER_PANEL,)

    def test_the_first_acceptance_of_all(self) -> None:
        """Where there was no baseline, nothing begins anew."""
        record = accepted(World(), NIGHT)
        assert record.entry is not None
        assert record.entry.lines() == []

    def test_in_the_place_of_a_damaged_baseline(self) -> None:
        """Nobody knows what it was: that is said as well."""
        accepted(World(), NIGHT)
        (Home.from_environment().baseline_dir("synthetic") / "outcomes.parquet").unlink()
        record = accepted(World(), LATER, scaled(FLAPS, 3.0, "today"), absorb_unseen=True)
        assert record.entry is not None
        assert record.entry.remarks == (ledger.WAS_DAMAGED,)

    def test_the_command_lists_it(self) -> None:
        """`baseline ledger` has the line below its acceptance."""
        accepted(World(experiment="smoke"), NIGHT)
        accepted(replace(OTHER, experiment="smoke"), LATER, absorb_unseen=True)
        said = CliRunner().invoke(app, ["baseline", "ledger", "--experiment", "smoke"]).stdout
        assert said.splitlines()[-2] == f"    {ledger.OTHER_PANEL}"

    def test_the_report_has_it(self, approved: Approved) -> None:
        """Beside the reason of the acceptance; and no sum is taken for no change."""
        accepted(World(), NIGHT)
        accepted(OTHER, LATER, absorb_unseen=True)
        plan = OTHER.write(THIRD)
        judge_night(plan)
        approved(as_read(render(read_night(plan)), "accepted"))


def failing(*names: str, panel: str = "regression") -> Change:
    """A pair of some configurations spends its event budget on one panel."""

    def change(
        where: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        if name in names and where == panel:
            columns["failed"][3] = 1

    return change


@pytest.mark.usefixtures("home")
class TestFailedPairs:
    """A configuration whose own pairs failed."""

    def test_it_is_refused_with_the_command_for_the_others(self, approved: Approved) -> None:
        """Every later night of it would be red; nothing is written."""
        accepted(World(), NIGHT)
        with approved.refusal(Refused):
            accepted(World(), LATER, failing("lag-20s"))
        record = baseline.show("synthetic")
        assert record is not None
        assert {one.night for one in record.acceptances} == {NIGHT}

    def test_the_others_can_be_accepted(self) -> None:
        """What the line says works: the failed one keeps its baseline."""
        accepted(World(), NIGHT)
        record = accepted(World(), LATER, failing("lag-20s"), only=("today", "kip-501-s1"))
        assert record.acceptance("id-today").night == LATER
        assert record.acceptance("id-lag-20s").night == NIGHT

    @pytest.mark.parametrize("before", [None, OTHER])
    def test_without_a_baseline_of_the_panel(
        self, before: World | None, approved: Approved
    ) -> None:
        """Nothing can be added to: the line says to change the configuration."""
        if before is not None:
            accepted(before, NIGHT)
        with approved.refusal(Refused):
            accepted(World(), LATER, failing("lag-20s"))

    def test_alone(self, approved: Approved) -> None:
        """Where nothing else is accepted, no others are advised."""
        accepted(World(), NIGHT)
        with approved.refusal(Refused):
            accepted(World(), LATER, failing("lag-20s"), only=("lag-20s",))

    def test_on_the_confirm_panel_it_is_said(self, approved: Approved) -> None:
        """Its nights are judged as long as nothing is open: accepted, with a remark."""
        record = accepted(World(), NIGHT, failing("lag-20s", panel="confirm"))
        assert record.entry is not None
        (line,) = record.entry.lines()
        approved(line)

    def test_of_a_baseline_with_failed_pairs(
        self, monkeypatch: pytest.MonkeyPatch, approved: Approved
    ) -> None:
        """Such a baseline is replaced, and the sums of the configuration begin anew."""
        with monkeypatch.context() as older:
            older.setattr(acceptance, "_refuse_failed", lambda *_: None)
            accepted(World(), NIGHT, failing("lag-20s"))
        record = accepted(World(), LATER)
        assert record.entry is not None
        approved(record.entry.lines())
        accepted(World(), THIRD, scaled(LATENCY, 1.05, "lag-20s"))
        (total,) = ledger.compounded(ledger.read("synthetic"))
        assert (total.since, total.acceptances) == (LATER, 1)


@pytest.mark.usefixtures("home")
class TestAlone:
    """A configuration accepted alone."""

    def test_the_others_stay(self) -> None:
        """One wanted change is accepted; the other one is called as before."""

        def both(panel: str, name: str, columns: dict, rng: object) -> None:  # type: ignore[type-arg]
            if name in ("today", "lag-20s"):
                columns[FLAPS] *= 2.0

        world = World()
        accepted(world, NIGHT)
        assert judged(world, LATER, both).counts()[Status.REGRESSED] == 2
        accepted(world, LATER, both, only=("lag-20s",))
        verdict = judged(world, THIRD, both)
        assert verdict.configuration("id-lag-20s").status is Status.UNCHANGED
        assert verdict.configuration("id-today").status is Status.REGRESSED

    def test_it_says_who_accepted_it(self) -> None:
        """A configuration has its own acceptance; the others have the night's."""
        accepted(World(), NIGHT)
        record = accepted(World(), LATER, only=("lag-20s",))
        assert record.acceptance("id-lag-20s").night == LATER
        assert record.acceptance("id-today").night == NIGHT
        assert {one.night for one in record.acceptances} == {NIGHT, LATER}

    def test_a_new_configuration_joins(self) -> None:
        """One that the baseline did not have is added to it."""
        accepted(World(), NIGHT)
        wider = World(names=("today", "kip-501-s1", "lag-20s", "brand-new"))
        accepted(wider, LATER, only=("brand-new",))
        assert headline(judged(wider, THIRD)) == "4 of 4 configurations unchanged"

    def test_a_changed_candidate_replaces_itself(self) -> None:
        """A named candidate with other values takes the place of its old ones."""
        accepted(World(), NIGHT)
        changed = World(values={"lag-20s": {"replica.lag.time.max.ms": 20_500}})
        record = accepted(changed, LATER, only=("lag-20s",))
        assert [one.name for one in record.configurations] == ["today", "kip-501-s1", "lag-20s"]
        assert record.configuration("id-lag-20s").overrides == {"replica.lag.time.max.ms": 20_500}

    def test_unknown_name(self) -> None:
        """The nearest names are offered."""
        accepted(World(), NIGHT)
        with pytest.raises(InputError) as refusal:
            accepted(World(), LATER, only=("lag-20",))
        assert str(refusal.value) == "baseline accept: --config: lag-20; allowed: lag-20s"

    def test_without_a_baseline(self, approved: Approved) -> None:
        """There is nothing to add it to."""
        with approved.refusal(Refused):
            accepted(World(), NIGHT, only=("today",))

    def test_of_another_panel(self, approved: Approved) -> None:
        """Rows of two panels make no baseline; nothing is written."""
        accepted(World(), NIGHT)
        before = (Home.from_environment().baseline_dir("synthetic") / "baseline.json").read_text()
        with approved.refusal(Refused):
            accepted(World(panel_digest="e" * 64), LATER, only=("today",))
        after = (Home.from_environment().baseline_dir("synthetic") / "baseline.json").read_text()
        assert after == before
