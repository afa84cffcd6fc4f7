"""What each configuration gains and costs, in words, and where it is shown."""

from __future__ import annotations

import json

import pytest

from isr_pipeline.experiment.plan import Plan
from isr_pipeline.night.show import show
from isr_pipeline.report import differences
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.report.sections.reference import hit
from isr_pipeline.report.terminal import print_night
from isr_pipeline.report.tracking import names
from isr_pipeline.scenarios.profile import FaultProfile
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.quantities import FLAPS, LATENCY, ONE_REPLICA, PRODUCE, plain
from isr_pipeline.verdicts.record import (
    AgainstReference,
    Difference,
    Figures,
    Per,
    StratumDifference,
    Word,
    Year,
    load_verdict,
)
from isr_pipeline.verdicts.years import AT_END
from tests.approved import Approved
from tests.report.reading import as_read
from tests.verdicts.synthetic import LATER, NIGHT, PROFILE, World, scaled
from tests.verdicts.test_reference import (
    FALLS,
    NAMES,
    THIRD,
    alike_but,
    noisy,
    some_of,
    world_of,
)
from tests.verdicts.test_stages import staged
from tests.verdicts.test_year import counted

LOST = "records_lost"


def of(*found: Difference, weaker: tuple[str, ...] = ()) -> AgainstReference:
    """A configuration with these differences."""
    return AgainstReference(name="lag-20s", config_id="c", weaker=weaker, differences=found)


def one(metric: str, word: Word, ratio: float | None, **more: object) -> Difference:
    """A difference of 200 scenarios."""
    given = {
        "metric": metric, "word": word, "scenarios": 200, "differing": 40, "before": 0.01,
        "after": 0.01 * (ratio or 1.0), "ratio": ratio, "low": ratio and 0.9 * ratio,
        "high": ratio and 1.1 * ratio, **more,
    }  # fmt: skip
    sides = {name: given[name] for name in ("before", "after", "ratio", "low", "high")}
    per = Per.TYPICAL if metric == LATENCY else Per.YEAR
    return Difference.model_validate({"pair": {"per": per, "scenarios": 200, **sides}, **given})


class TestSentence:
    """One line a configuration."""

    def test_a_configuration(self, approved: Approved) -> None:
        """A weaker promise first, with its records; costs before gains, both with numbers."""
        mixed = of(
            one(PRODUCE, Word.BETTER, 0.6),
            one(FLAPS, Word.WORSE, 2.0),
            one(LATENCY, Word.NONE, 1.01, low=0.99, high=1.03),
        )
        weaker = of(
            one(ONE_REPLICA, Word.WORSE, None, before=0.0, after=1240.0),
            one(LOST, Word.NONE, 1.0, before=0.0, after=0.0, differing=0),
            one(PRODUCE, Word.BETTER, 0.6),
            weaker=("min.insync.replicas",),
        )
        same = of(one(PRODUCE, Word.NONE, 1.0, differing=0))
        failed = of().model_copy(update={"problem": "some of its pairs failed"})
        approved(differences.sentence(each) for each in (mixed, weaker, same, failed))

    def test_a_metric(self, approved: Approved) -> None:
        """A stratum that says otherwise is told; an interval beside 1 says why it is undecided."""
        strata = [
            StratumDifference(
                stratum=name,
                word=word,
                scenarios=9,
                before=0.1,
                after=0.1 * ratio,
                ratio=ratio,
                pair=Figures(
                    per=Per.TYPICAL, scenarios=9, before=100.0, after=100.0 * ratio, ratio=ratio
                ),
            )
            for name, word, ratio in (("calm", Word.BETTER, 0.5), ("isr-churn", Word.WORSE, 3.0))
        ]
        chance = one(FLAPS, Word.UNDECIDED, 1.5, low=1.05, high=2.0, q=0.12)
        small = one(PRODUCE, Word.UNDECIDED, 0.93, low=0.89, high=0.97, q=0.001)
        otherwise = one(LATENCY, Word.BETTER, 0.6, strata=strata)
        approved(differences.size(each) for each in (otherwise, chance, small))


@pytest.mark.usefixtures("home")
class TestLonger:
    """What a longer panel would decide."""

    def plan(self) -> Plan:
        """An experiment with a budget of 4 000 scenarios."""
        return World(budget=4_000).plan(NIGHT)

    def test_within_the_budget(self, approved: Approved) -> None:
        """The command asks for the experiment's budget, for every configuration."""
        open_ = [
            one(PRODUCE, Word.UNDECIDED, 1.0, decided_by=900),
            one(FLAPS, Word.UNDECIDED, 1.0, decided_by=90_000),
        ]
        said, command = differences.longer(self.plan(), [of(*open_, one(LATENCY, Word.NONE, 1.0))])
        approved([said, command])

    def test_beyond_the_budget(self, approved: Approved) -> None:
        """No command for what nobody would pay."""
        open_ = one(FLAPS, Word.UNDECIDED, 1.0, decided_by=90_000)
        said, command = differences.longer(self.plan(), [of(open_)])
        approved(said)
        assert command == ""

    def test_nothing_undecided(self) -> None:
        """Says nothing."""
        assert differences.longer(self.plan(), [of(one(PRODUCE, Word.BETTER, 0.6))]) == ("", "")


@pytest.mark.usefixtures("home")
class TestShown:
    """The same sentences everywhere."""

    def plan(self) -> Plan:
        """A judged night in which `other` gains by lowering min ISR, and lag-20s is noise."""
        two: dict[str, object] = {"min.insync.replicas": 2}
        world = world_of(values={"today": two, "lag-20s": two, "other": {"min.insync.replicas": 1}})
        lowered = some_of(ONE_REPLICA, 500.0, 40, "other")
        changes = scaled(PRODUCE, 0.5, "other"), noisy(PRODUCE, 1.0, 0.2), lowered
        plan = world.write(NIGHT, alike_but(*changes))
        judge_night(plan)
        return plan

    def test_page_terminal_json_and_note_agree(self, capsys: pytest.CaptureFixture[str]) -> None:
        """All of them read the verdict's record."""
        plan = self.plan()
        against = load_verdict("synthetic", NIGHT).against_reference
        shown = show("synthetic", NIGHT)
        kept = [one.model_dump(mode="json") for one in against]
        assert json.loads(json.dumps(shown))["against_reference"] == kept
        print_night(shown)
        printed = capsys.readouterr().out
        page = render(read_night(plan)).replace("<wbr>", "").replace("</strong>", "")
        note = names.night_note(load_verdict("synthetic", NIGHT), {}, (), "today")
        for one in against:
            said = differences.sentence(one)
            assert f"{one.name}: {said}" in printed
            assert f"* {one.name}: {said}" in note
            assert differences.answer(one) in page

    def test_a_cell_says_on_how_many_further_scenarios(self) -> None:
        """What was asked and is decided by more than the standing panel."""
        world = World(names=NAMES, scenarios=40, budget=840, asked=True)
        verdict = staged(world, alike_but(FALLS))
        page = render(read_night(world.plan(LATER))).replace("<wbr>", "")
        count = verdict.stages[-1].scenarios_together
        assert f'<span class="improved">better</span>; on {count} further scenarios' in page

    def test_a_later_night_says_where_it_was_compared(self) -> None:
        """The sentence and the row name the night whose comparison is repeated."""
        world = World(names=NAMES, scenarios=40, budget=840, asked=True)
        staged(world, alike_but(FALLS))
        plan = world.write(THIRD, alike_but(FALLS))
        judge_night(plan)
        page = render(read_night(plan)).replace("<wbr>", "")
        assert page.count(f"as compared in night {LATER}") >= 3

    def test_who_promises_less_is_never_the_best(self) -> None:
        """Less unavailability does not put it first; the table keeps the experiment's order."""
        page = render(read_night(self.plan()))
        for place in ('<table class="picture"', '<section id="reference"'):
            table = page.split(place)[1].split("</table>")[0]
            assert table.index(">lag-20s") < table.index(">other")

    @pytest.mark.parametrize("section", ["answer", "reference", "configurations"])
    def test_a_weaker_promise_is_marked_in_every_table(self, section: str) -> None:
        """In red, and with the records that one replica alone held."""
        page = render(read_night(self.plan())).replace("<wbr>", "")
        told = page.split(f'<section id="{section}"')[1].split("</section>")[0]
        assert 'class="weaker">weaker min.insync.replicas' in told

    def test_the_mark_stands_in_note_and_terminal(self, capsys: pytest.CaptureFixture[str]) -> None:
        """In tables that hold the baseline's verdict, too."""
        self.plan()
        print_night(show("synthetic", NIGHT))
        assert capsys.readouterr().out.count("weaker min.insync.replicas") == 2
        note = names.night_note(load_verdict("synthetic", NIGHT), {}, (), "today")
        assert "| other 🔴 weaker min.insync.replicas" in note

    def test_tags_and_note_of_a_child(self) -> None:
        """A filter of MLflow finds what is better, and what is weaker."""
        self.plan()
        verdict = load_verdict("synthetic", NIGHT)
        other = verdict.against_reference[1]
        tags = names.reference_tags(other)
        assert tags["reference.better"] == PRODUCE
        assert tags["reference.weaker"] == "min.insync.replicas"
        note = names.config_note(verdict.configurations[2], "x", "today", other)
        assert f"Against today: {differences.sentence(other)}" in note


@pytest.mark.usefixtures("home")
class TestYears:
    """Numbers of a year on the page, and what is there where nobody counts incidents."""

    def page(self, profile: FaultProfile) -> str:
        """Of a night in which lag-20s halves a time, and leaves a partition broken."""
        world = world_of()
        world.profile = profile
        broken = some_of(AT_END, 1.0, 40)
        plan = world.write(NIGHT, alike_but(scaled(PRODUCE, 0.5, "lag-20s"), broken))
        judge_night(plan)
        return render(read_night(plan))

    def test_years(self, approved: Approved) -> None:
        """Both are in the cell, of the same scenarios; what needs a person is a number of its own.

        Each kind of incident has a row.
        """
        lines = as_read(self.page(counted()), "reference")
        found = load_verdict("synthetic", NIGHT).against_reference[0]
        produce = found.difference(PRODUCE)
        assert produce is not None
        years = produce.year_before, produce.year_after
        told = " to ".join(plain(year.value) for year in years if year is not None)
        assert any(f"| {told} 0.5 ×" in line for line in lines), told
        repair = found.repair_after
        assert repair is not None
        told = f"to {plain(repair.value)} ({plain(repair.low)} to"
        assert sum(told in line for line in lines) == 1
        approved(lines)

    def test_what_was_not_drawn_is_said(self, approved: Approved) -> None:
        """Incidents of a pattern without a scenario are in no number."""
        profile = counted()
        places = {"stratum-0.crash": 1, "stratum-1.isolated_leader": 3, "stratum-1.link": 1}
        crash = profile.incidents["crash"].model_copy(update={"scenarios": places})
        incidents = {**profile.incidents, "crash": crash}
        patterns = {**profile.strata["stratum-1"].patterns, "isolated_leader": 1.0}
        mixed = profile.strata["stratum-1"].model_copy(update={"patterns": patterns})
        strata = {**profile.strata, "stratum-1": mixed}
        page = self.page(profile.model_copy(update={"incidents": incidents, "strata": strata}))
        approved([line for line in as_read(page, "reference") if "No scenario was drawn" in line])

    @pytest.mark.parametrize(
        ("partitions", "minutes", "said"),
        [(84.0, 30.8, "7 partitions for 22 s"), (0.0, 0.0, "none")],
    )
    def test_an_incident_is_told_as_partitions_and_seconds(
        self, partitions: float, minutes: float, said: str
    ) -> None:
        """Of twelve a year: seven partitions each, 2.57 partition-minutes, so 22 s for each."""
        years = [
            Year(incidents=12, value=value, low=value, high=value)
            for value in (partitions, minutes)
        ]
        assert hit(*years) == said

    def test_nobody_was_drawn(self) -> None:
        """A dash, as in the other columns."""
        assert hit(None, None) == "–"

    def test_without_counts_the_panel_has_ratios_only(self, approved: Approved) -> None:
        """The strata of this night are none that the profile counts."""
        approved(as_read(self.page(PROFILE), "reference"))
