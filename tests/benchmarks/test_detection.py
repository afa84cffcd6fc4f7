"""The contest's own logic: draws, truth, counting, what is told. The simulator is hardly asked."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.detection import score, tell
from benchmarks.detection.again import confirmed
from benchmarks.detection.arms import (
    CONTESTANTS,
    OWN,
    Alarms,
    _further,
    any_scenario,
    mann_whitney,
    own,
    rise,
    series,
    verdicts_of,
    wilcoxon,
    without_confirmation,
)
from benchmarks.detection.contest import FILE, NOTHING, Arm, arms, load_contest, plants
from benchmarks.detection.draw import (
    PAST_NIGHTS,
    REGRESSION,
    Drawn,
    Night,
    draw,
    draw_night,
)
from benchmarks.detection.earns import changes, contest_of, kept, table, with_strata
from benchmarks.detection.nights import (
    CONFIGURATIONS,
    Kind,
    Played,
    columns_of,
    kinds,
    night_of,
    read_kept,
    told,
)
from benchmarks.detection.parts import ALL, PARTS, Judged, judged, replaced
from benchmarks.detection.pool import PANEL, Pool, refactored, source_of_mutant
from benchmarks.detection.score import (
    ANEW,
    missed,
    scored,
    share_of,
    sort_of,
    truth_of,
    wilson,
)
from benchmarks.told import between
from isr_pipeline.base.errors import InputError
from isr_pipeline.kernels.source import read_package
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.scenarios.panels import allocation, places
from isr_pipeline.verdicts import looks
from isr_pipeline.verdicts.quantities import load_settings
from isr_pipeline.verdicts.record import MetricVerdict, Status
from isr_pipeline.worlds.reuse import Simulations
from tests.tables import from_table

SIZE = 2_100
SETTINGS = load_settings()
METRICS = list(SETTINGS.metrics)
OFFLINE, FLAPS = "leaderless_rate", "isr_flaps_per_partition_hour"
UNCLEAN = "unclean.leader.election.enable"
WORSE = Kind("one", "worse", anew=True, configurations=CONFIGURATIONS)


@pytest.fixture(scope="module")
def pool() -> Pool:
    """A pool of numbers: phases drawn anew change a tenth; the plant raises flaps by 60 %."""
    random = np.random.default_rng(5)
    experiment = load_contest().drawn_from()
    drawn = places(experiment.profile.strata, SIZE)
    labels = np.array([place.stratum for place in drawn])
    before = {name: random.poisson(1.0, SIZE).astype(float) for name in columns_of(SETTINGS)}
    for name in ("failed", "records_lost", "unclean_elections"):
        before[name] = np.zeros(SIZE)
    before["any_leaderless"] = (before[OFFLINE] > 0).astype(float)
    touched = random.random(SIZE) < 0.1
    anew = {
        name: np.where(touched, random.permutation(values), values)
        for name, values in before.items()
    }
    every = tuple(
        Arm("one", plant, phases, {"x": plant})
        for plant in (NOTHING, "worse")
        for phases in (False, True)
    )
    plain, redrawn, worse, both = every
    return Pool(
        digest="d",
        made_by="",
        experiment=experiment,
        panel_strata=experiment.profile.strata,
        size=SIZE,
        budget=2_000,
        strata={name: np.flatnonzero(labels == name) for name in experiment.profile.strata},
        weights=np.array([place.weight for place in drawn]),
        exposure_us=6.9e9,
        outcomes={
            plain.folder: before,
            redrawn.folder: anew,
            worse.folder: {**before, FLAPS: before[FLAPS] * 1.6},
            both.folder: {**anew, FLAPS: anew[FLAPS] * 1.6},
        },
        arms=every,
    )


class TestFile:
    """``contest.yaml``."""

    def test_plants_forty_in_rules_services_and_keys(self) -> None:
        """At least forty regressions, of every kind, no two alike."""
        every = plants(load_contest())
        assert len(every) >= 40
        assert {one.kind for one in every} == {"rule", "service", "key"}
        assert len({(one.name, one.mutant) for one in every}) == len(every)

    def test_the_first_few_are_a_mixture(self) -> None:
        """The quick contest's plants are of every kind."""
        some = plants(load_contest(), 4)
        assert [one.kind for one in some] == ["service", "rule", "key", "rule"]
        assert [one.mutant is not None for one in some] == [False, False, False, True]

    def test_seeds_of_tuning_and_telling_differ(self) -> None:
        """Both are in the file."""
        contest = load_contest()
        assert contest.tuning_seed != contest.seed
        assert contest.drawn_from().seed == contest.seed
        assert contest.drawn_from(tuning=True).seed == contest.tuning_seed

    def test_arms_come_with_and_without_phases_drawn_anew(self) -> None:
        """Every plant is there twice, and so is its configuration without it."""
        contest = load_contest()
        every = arms(contest, contest.size(quick=False))
        for arm in every:
            assert sum((one.host, one.plant) == (arm.host, arm.plant) for one in every) == 2
            assert any((one.host, one.plant) == (arm.host, NOTHING) for one in every)

    def test_the_quick_contest_has_some_plants_and_hosts(self) -> None:
        """Those of the whole contest, first in turn."""
        contest = load_contest()
        some, every = arms(contest, contest.quick), arms(contest, contest.size(quick=False))
        assert {arm.host for arm in some} == set(contest.hosts[: contest.quick.hosts])
        assert {arm.plant for arm in some} < {arm.plant for arm in every}

    def test_folders_are_told_apart(self) -> None:
        """Other values, code or phases are another folder of the pool."""
        contest = load_contest()
        every = arms(contest, contest.size(quick=False))
        assert len({arm.folder for arm in every}) == len(every)

    def test_an_unknown_mutant_is_refused(self) -> None:
        """One line says where, what and what is allowed."""
        contest = load_contest().model_copy(update={"mutants": ("replica.py: no such",)})
        with pytest.raises(InputError, match=re.escape(FILE.name)):
            plants(contest)

    def test_a_mutant_differs_by_one_line(self) -> None:
        """Its sources are the package's but for the line."""
        mutant = plants(load_contest(), 4)[3].mutant
        assert mutant is not None
        ours, theirs = read_package().files, source_of_mutant(mutant).files
        assert {name for name in ours if ours[name] != theirs[name]} == {f"kafka/{mutant.file}"}

    def test_phases_drawn_anew_keep_the_faults(self) -> None:
        """Only the seed is another."""
        text = draw_scenario(load_contest().drawn_from().source, "regression", 3)
        scenario = scenario_from_json(text.scenario_json)
        other = refactored(scenario, "phases-redrawn")
        assert other.seed != scenario.seed
        assert other.model_copy(update={"seed": scenario.seed}) == scenario


class TestDraws:
    """A night's panels come from the pool as real panels come from the population."""

    def test_strata_have_their_sizes_and_weights(self, pool: Pool) -> None:
        """Whatever strata are asked for, each weighs its share of the population."""
        night = draw_night(pool, pool.planted(anew=True), METRICS, np.random.default_rng(2))
        counts = allocation(pool.panel_strata, REGRESSION)
        assert night.confirm == counts
        counts = {name: 3 * count for name, count in counts.items()} | {"offline": 700}
        population = sum(one.share for one in pool.panel_strata.values())
        for new, old in (night.further(counts),):
            assert new.strata == old.strata
            assert {name: new.strata.count(name) for name in counts} == counts
            for name, one in pool.panel_strata.items():
                share = new.weights[[at == name for at in new.strata]].sum() / new.weights.sum()
                assert share == pytest.approx(one.share / population)

    def test_further_scenarios_are_added(self, pool: Pool) -> None:
        """More of one stratum leaves the scenarios of all that were there."""
        night = draw_night(pool, pool.harmless, METRICS, np.random.default_rng(3))
        few = night.further(night.confirm)[0]
        many = night.further({**night.confirm, "offline": 500})[0]
        for name in night.confirm:
            first, all_ = (
                panel.values[FLAPS][[at == name for at in panel.strata]] for panel in (few, many)
            )
            assert np.array_equal(all_[: len(first)], first)

    def test_either_draw_of_phases_may_be_the_baselines(self, pool: Pool) -> None:
        """In about half of the scenarios tonight has the phases as drawn, planted or not."""
        arms_of_night = (*pool.planted(anew=True), *pool.harmless, *pool.planted(anew=False))
        drawn = draw(pool, arms_of_night, {"offline": 400}, np.random.default_rng(5))["offline"]
        anew, null, as_drawn = drawn.swapped.mean(axis=0)
        assert 0.4 < anew < 0.6
        assert 0.4 < null < 0.6
        assert as_drawn == 0

    def test_a_swapped_scenario_has_the_plant_tonight(self, pool: Pool) -> None:
        """Whichever phases the baseline has, tonight has the other ones and the plant."""
        ((tonight, before), (turned, turned_before)) = pool.pairs(
            pool.arm("one", "worse", anew=True)
        )
        assert [tonight.plant, turned.plant] == ["worse", "worse"]
        assert [before.plant, turned_before.plant] == [NOTHING, NOTHING]
        assert [tonight.anew, before.anew] == [True, False]
        assert [turned.anew, turned_before.anew] == [False, True]
        night = draw_night(pool, (tonight,), METRICS, np.random.default_rng(6))
        new, old = (panel.values[FLAPS][:, 0] for panel in night.regression)
        whole = {
            (float(after), float(earlier))
            for one, other in pool.pairs(tonight)
            for after, earlier in zip(pool.of(one)[FLAPS], pool.of(other)[FLAPS], strict=True)
        }
        assert {(float(n), float(o)) for n, o in zip(new, old, strict=True)} <= whole

    def test_a_stage_takes_the_strata_that_a_night_would(self, pool: Pool) -> None:
        """The scenarios that a look adds are those of its stage, in number."""
        night = night_of(pool, replace(WORSE, configurations=2), 0, METRICS)
        called, _ = looks.call(*night.regression, SETTINGS)
        more = night.stages[1].scenarios
        counts = _further(night, SETTINGS, called, night.confirm, more)
        assert sum(counts.values()) == sum(night.confirm.values()) + more
        assert all(counts[name] >= count for name, count in night.confirm.items())

    def test_each_night_has_a_seed_of_its_own(self, pool: Pool) -> None:
        """Another number or another plant is another panel; the same is the same."""
        panels = [
            night_of(pool, kind, number, METRICS).regression[0].values[FLAPS]
            for kind, number in ((WORSE, 0), (WORSE, 1), (WORSE, 0))
        ]
        assert np.array_equal(panels[0], panels[2])
        assert not np.array_equal(panels[0], panels[1])

    def test_the_regressed_configuration_is_the_first_of_many(self, pool: Pool) -> None:
        """All others are harmlessly changed; a null night has nobody else."""
        night = night_of(pool, WORSE, 0, METRICS)
        assert [arm.plant for arm in night.arms] == ["worse", *[NOTHING] * 21]
        null = night_of(pool, Kind("", "", anew=True, configurations=5), 0, METRICS)
        assert all(arm in pool.harmless for arm in null.arms)

    def test_past_nights_are_fresh(self, pool: Pool) -> None:
        """A history on other scenarios each night varies though nothing changed."""
        night = draw_night(pool, pool.harmless, METRICS, np.random.default_rng(4))
        assert night.past[FLAPS].shape == (PAST_NIGHTS, 1)
        assert len(set(night.past[FLAPS][:, 0])) > PAST_NIGHTS // 2


class TestContestants:
    """What each says of a night."""

    def test_own_finds_and_confirms_the_plant_alone(self, pool: Pool) -> None:
        """Flaps × 1.6 is regressed; no other metric and no other configuration is."""
        night = night_of(pool, replace(WORSE, configurations=4), 0, METRICS)
        said = own(night, SETTINGS)
        assert np.argwhere(said.confirmed).tolist() == [[METRICS.index(FLAPS), 0]]
        assert said.tests > 0

    def test_without_confirmation_one_panel_decides(self, pool: Pool) -> None:
        """No further scenario is looked at."""
        night = night_of(pool, replace(WORSE, configurations=2), 0, METRICS)
        said = without_confirmation(night, SETTINGS)
        assert said.confirmed[METRICS.index(FLAPS), 0]

    def test_wilcoxon_is_scipys(self, pool: Pool) -> None:
        """An alarm is a p below 5 % divided by the tests that differ."""
        night = night_of(pool, replace(WORSE, configurations=3), 1, METRICS)
        new, old = night.regression
        row = METRICS.index(FLAPS)
        difference = (new.natural(FLAPS) - old.natural(FLAPS))[:, 0]
        p = stats.wilcoxon(difference, alternative="greater", method="approx").pvalue
        differing = sum(
            int((new.values[name] != old.values[name]).any(axis=0).sum()) for name in METRICS
        )
        assert wilcoxon(night, SETTINGS).confirmed[row, 0] == (p <= 0.05 / differing)

    def test_single_scenarios_and_means_and_samples(self, pool: Pool) -> None:
        """Each rival's alarm is what its name says, recomputed."""
        night = night_of(pool, replace(WORSE, configurations=3), 2, METRICS)
        new, old = night.regression
        row = METRICS.index(FLAPS)
        worse = new.values[FLAPS] > 1.25 * old.values[FLAPS]
        assert any_scenario(night, SETTINGS).confirmed[row].tolist() == worse.any(axis=0).tolist()
        means = [panel.weights @ panel.values[FLAPS] for panel in (new, old)]
        risen = means[0] >= 1.1 * means[1]
        assert rise(night, SETTINGS).confirmed[row].tolist() == risen.tolist()
        p = stats.mannwhitneyu(
            new.natural(FLAPS), old.natural(FLAPS), alternative="greater", method="asymptotic"
        ).pvalue
        assert mann_whitney(night, SETTINGS).confirmed[row].tolist() == (p < 0.02).tolist()

    def test_series_end_with_tonight(self, pool: Pool) -> None:
        """Past nights, then tonight's weighted mean."""
        night = night_of(pool, replace(WORSE, configurations=2), 0, METRICS)
        found = series(night, METRICS)
        new = night.regression[0]
        assert found.shape == (len(METRICS), 2, PAST_NIGHTS + 1)
        tonight = new.weights @ new.values[FLAPS] / new.weights.sum()
        assert found[METRICS.index(FLAPS), :, -1].tolist() == pytest.approx(tonight.tolist())


@pytest.mark.slow
class TestAgain:
    """What must never happen, drawn again by the kernels that simulated the pool."""

    LOST = MetricVerdict(metric="records_lost", status=Status.SUSPECT, newly=("x",))

    def night(self, pool: Pool, plant: dict[str, object]) -> Night:
        """A night whose first scenario of `offline` may lose records by unclean elections."""
        every = tuple(
            Arm("one", name, anew, overrides)
            for name, overrides in ((NOTHING, {}), ("worse", plant))
            for anew in (False, True)
        )
        real = replace(pool, arms=every, outcomes={})
        rows = np.array([[self.losing_row(pool)]])
        first = {"offline": Drawn(rows, np.zeros((1, 1), bool))}
        arm = real.arm("one", "worse", anew=True)
        return Night((arm,), None, first, (), {}, {}, {}, real, {})  # type: ignore[arg-type]

    def losing_row(self, pool: Pool) -> int:
        """The first scenario of the pool that loses records by unclean elections alone."""
        source = pool.experiment.source
        for row in pool.strata["offline"]:
            text = draw_scenario(source, PANEL, int(row)).scenario_json
            clean, unclean = (
                Simulations().result_for(apply(scenario_from_json(text), {UNCLEAN: given}))[0]
                for given in (False, True)
            )
            if unclean["records_lost"] and not clean["records_lost"]:
                return int(row)
        raise AssertionError("none loses records")

    def test_a_loss_in_most_phases_is_confirmed(self, pool: Pool) -> None:
        """Unclean elections lose records, and the baseline none."""
        night = self.night(pool, {UNCLEAN: True})
        lost = self.LOST.model_copy(update={"newly": ("regression/offline/0",)})
        assert confirmed(night, 0, (lost,), SETTINGS) == ["records_lost"]

    def test_a_plant_that_loses_nothing_is_not(self, pool: Pool) -> None:
        """Both sides lose nothing in any phase."""
        night = self.night(pool, {"num.replica.fetchers": 2})
        lost = self.LOST.model_copy(update={"newly": ("regression/offline/0",)})
        assert confirmed(night, 0, (lost,), SETTINGS) == []

    def test_what_is_not_suspect_is_not_drawn(self, pool: Pool) -> None:
        """Only what newly happens, and is not decided."""
        night = self.night(pool, {UNCLEAN: True})
        lost = self.LOST.model_copy(update={"newly": ()})
        assert confirmed(night, 0, (lost,), SETTINGS) == []

    def test_scenarios_are_named_by_their_place(self, pool: Pool) -> None:
        """A name leads back to the row of the pool that a configuration has there."""
        night = draw_night(pool, pool.harmless, METRICS, np.random.default_rng(7))
        new, old = night.further({"offline": 5, "quiet": 2})
        for place, name in enumerate(new.scenario_ids):
            row, swapped = night.place(name, 0)
            after, before = pool.pairs(pool.harmless[0])[int(swapped)]
            assert new.values[FLAPS][place, 0] == pool.of(after)[FLAPS][row]
            assert old.values[FLAPS][place, 0] == pool.of(before)[FLAPS][row]


class TestNights:
    """Which are played, and what is kept of them."""

    def test_with_phases_as_drawn_nobody_else_differs(self, pool: Pool) -> None:
        """Such a night has the regressed configuration alone: no test counts the others."""
        size = load_contest().size(quick=False)
        played = [kind for kind, _ in kinds(pool, size) if kind.plant]
        assert {kind.configurations for kind in played if not kind.anew} == {1}
        assert {sort_of(kind) for kind in played} == {ANEW, score.TOGETHER, score.AS_DRAWN}

    def test_the_quick_contest_draws_phases_anew_alone(self, pool: Pool) -> None:
        """Neither as drawn nor among many configurations."""
        played = [kind for kind, _ in kinds(pool, load_contest().quick) if kind.plant]
        assert {sort_of(kind) for kind in played} == {ANEW}

    def test_a_line_that_was_cut_off_is_played_again(self, tmp_path: Path) -> None:
        """What was kept before it is read."""
        one = Played(WORSE, 0, 3, {OWN: [FLAPS]}, {OWN: [FLAPS]}, {OWN: 0}, {OWN: 1})
        line = json.dumps({**one.__dict__, "kind": WORSE.__dict__})
        (tmp_path / "kept").write_text(f"{line}\n{line[:40]}")
        assert read_kept(tmp_path / "kept") == {(WORSE, 0): one}

    def test_alarms_of_others_are_false(self) -> None:
        """The first configuration's are findings; in a null night all are false."""
        alarms = np.zeros((len(METRICS), 3), bool)
        alarms[METRICS.index(FLAPS)] = [True, False, True]
        said = {OWN: Alarms(alarms, alarms, alarms, 9)}
        planted, null = (told(kind, 0, said, SETTINGS) for kind in (WORSE, Kind("", "", True, 3)))
        assert (planted.found[OWN], planted.false[OWN], planted.tests) == ([FLAPS], 1, 9)
        assert (null.found[OWN], null.false[OWN], null.undecided[OWN]) == ([], 2, 2)


@pytest.fixture(scope="module")
def alone(pool: Pool) -> Night:
    """A night in which flaps rise by 60 % in `offline` alone, beside one harmless change."""
    kind = replace(WORSE, plant="worse in offline", configurations=2)
    return night_of(with_strata(pool, {"offline": ["worse"]}), kind, 0, METRICS)


@pytest.fixture(scope="module")
def said(alone: Night) -> dict[str, Judged]:
    """What is said of it with everything on, and with each part off."""
    return judged(alone, SETTINGS)


@pytest.mark.slow
class TestParts:
    """Parts of the verdicts, each switched off on the same nights."""

    def test_a_plant_of_one_stratum_changes_nothing_elsewhere(self, pool: Pool) -> None:
        """There it has the plant's outcomes, elsewhere those without a plant."""
        more = with_strata(pool, {"offline": ["worse"]})
        arm = more.arm("one", "worse in offline", anew=False)
        assert arm.folder not in pool.outcomes
        here = np.isin(np.arange(SIZE), pool.strata["offline"])
        worse, before = (pool.arm("one", name, anew=False) for name in ("worse", NOTHING))
        for name, values in more.of(arm).items():
            assert np.array_equal(values[here], pool.of(worse)[name][here])
            assert np.array_equal(values[~here], pool.of(before)[name][~here])

    def test_everything_on_is_the_contests_own_verdict(
        self, alone: Night, said: dict[str, Judged]
    ) -> None:
        """The same code judges the same night, and says where the stratum got worse."""
        called, _ = verdicts_of(alone, SETTINGS)
        assert said[ALL].plant == {one.metric: one.status for one in called[0]}
        assert said[ALL].plant[FLAPS] == Status.REGRESSED
        assert said[ALL].spent > 0

    def test_without_tests_per_stratum_it_is_not_found(self, said: dict[str, Judged]) -> None:
        """The sum over all scenarios does not show it."""
        assert said["tests per stratum"].plant[FLAPS] != Status.REGRESSED

    def test_each_absence_is_asked_where_its_part_is(self, said: dict[str, Judged]) -> None:
        """What a night does not call stays as it is: nothing newly happens in this one."""
        asked = {name for name, one in said.items() if one.calls}
        silent = {"redraws", "60 phases after a hint"}
        assert asked == set(PARTS) - silent
        assert all(said[name] is said[ALL] for name in silent)

    @pytest.mark.parametrize("name", PARTS)
    def test_a_part_is_itself_again_afterwards(self, name: str) -> None:
        """It is replaced for one night."""
        part = PARTS[name]
        real = vars(part.owner)[part.name]
        with replaced(part, part.without):
            assert vars(part.owner)[part.name] is not real
        assert vars(part.owner)[part.name] is real

    def test_what_differs_is_listed(self, said: dict[str, Judged]) -> None:
        """A plant that a part decides is named with both statuses, and counted."""
        task = (replace(WORSE, plant="worse in offline"), 0)
        (line,) = [one for one in changes({task: said}) if one.startswith("tests per stratum")]
        assert f"worse in offline (one), {FLAPS}: regressed -> " in line
        (row,) = [one for one in table({task: said}) if "tests per stratum" in one]
        assert "| 1 of 1 | 1, 0 |" in row

    def test_nights_that_are_kept_are_read(self, tmp_path: Path, said: dict[str, Judged]) -> None:
        """A line that was cut off is left out."""
        row = {"kind": asdict(WORSE), "number": 3}
        line = json.dumps({**row, "said": {name: asdict(one) for name, one in said.items()}})
        (tmp_path / "kept").write_text(f"{line}\n{line[:40]}")
        assert kept(tmp_path / "kept") == {(WORSE, 3): said}

    def test_the_file_has_ten_of_24_plants_in_one_stratum(self) -> None:
        """Each is one that is planted everywhere as well."""
        contest = contest_of(load_contest())
        names = {one.name for one in plants(contest)}
        assert contest.earns is not None
        alone = [name for some in contest.earns.in_one_stratum.values() for name in some]
        assert set(alone) <= names
        assert len(alone) >= 10
        assert len(names) + len(alone) >= 24
        assert set(contest.earns.in_one_stratum) <= set(contest.drawn_from().profile.strata)


class TestScore:
    """Counting."""

    def nights(self, found: list[bool]) -> list[Played]:
        """Nights of the plant in which flaps were found or not."""
        return [
            Played(
                WORSE,
                number,
                30,
                {OWN: [FLAPS] if hit else []},
                {OWN: []},
                {OWN: 0},
                {OWN: 0},
            )
            for number, hit in enumerate(found)
        ]

    def test_truth_is_what_the_plant_does_alone(self, pool: Pool) -> None:
        """× 1.6 on flaps, nothing else; phases are alike on both sides."""
        truth = truth_of(pool, WORSE, SETTINGS)
        assert truth.ratio[FLAPS] == pytest.approx(1.6)
        assert truth.ratio[OFFLINE] == pytest.approx(1.0)
        assert truth.appears == {}
        assert not truth.shifts

    def test_truth_is_of_both_draws_of_phases(self, pool: Pool) -> None:
        """A plant that acts under the phases as drawn alone has half of its effect."""
        plain = pool.of(pool.arm("one", NOTHING, anew=True))
        worse = pool.arm("one", "worse", anew=True)
        half = replace(pool, outcomes={**pool.outcomes, worse.folder: plain})
        drawn, anew = (
            float(pool.weights @ pool.of(pool.arm("one", NOTHING, anew=phases))[FLAPS])
            for phases in (False, True)
        )
        truth = truth_of(half, WORSE, SETTINGS)
        assert truth.ratio[FLAPS] == pytest.approx((1.6 * drawn + anew) / (drawn + anew))
        assert truth_of(half, replace(WORSE, anew=False), SETTINGS).ratio[FLAPS] == pytest.approx(
            1.6
        )

    def test_what_newly_happens_is_a_share_of_the_scenarios(self, pool: Pool) -> None:
        """Records lost in 30 scenarios of one draw of phases are half of that share."""
        worse = pool.arm("one", "worse", anew=True)
        lost = np.where(np.arange(SIZE) < 30, 5.0, 0.0)
        losing = {**pool.of(worse), "records_lost": lost}
        found = truth_of(
            replace(pool, outcomes={**pool.outcomes, worse.folder: losing}), WORSE, SETTINGS
        )
        assert found.appears == {"records_lost": pytest.approx(15 / SIZE)}

    def test_alarms_with_phases_as_drawn_are_not_counted_as_right(self, pool: Pool) -> None:
        """Nothing is left to chance there, so that they would flatter."""
        one = replace(self.nights([True])[0], kind=replace(WORSE, anew=False, configurations=1))
        said = scored(pool, [one], SETTINGS)["contestants"][OWN]
        assert (said["alarms"], said["as_drawn"]["flaps_1.25"]["share"]) == (0, 1.0)

    def test_a_regression_is_the_unit(self, pool: Pool) -> None:
        """Found in three of four nights is one regression with a share of 0.75."""
        said = scored(pool, self.nights([True, True, False, True]), SETTINGS)
        flaps = said["contestants"][OWN]["anew"]["flaps_1.25"]
        assert (flaps["share"], flaps["of"]) == (0.75, 1)
        assert flaps["interval"] == [round(end, 4) for end in wilson(0.75, 1)]
        assert said["curve"]["anew"][FLAPS][2]["share"] == 0.75

    def test_alarms_are_right_where_something_got_worse(self, pool: Pool) -> None:
        """An alarm on the planted metric is right, one beside it is not."""
        one = self.nights([True])[0]
        both = replace(one, found={OWN: [FLAPS, OFFLINE]}, false={OWN: 2})
        right = scored(pool, [both], SETTINGS)["contestants"][OWN]["right"]
        assert (right["share"], right["of"]) == (0.25, 4)

    def test_null_nights_are_counted_with_their_tests(self, pool: Pool) -> None:
        """Who had an alarm, how many could alarm, how many ended undecided."""
        kind = Kind("", "", anew=True, configurations=10)
        played = [
            Played(kind, 0, 25, {OWN: []}, {OWN: []}, {OWN: 0}, {OWN: 1}),
            Played(kind, 1, 15, {OWN: []}, {OWN: []}, {OWN: 2}, {OWN: 0}),
        ]
        null = scored(pool, [*played, *self.nights([True])], SETTINGS)["null"]["10"]
        assert (null["nights"], null["alarms"], null["with_20_tests"]) == (2, 1, 1)
        assert null["undecided"] == pytest.approx(0.05)

    def test_missed_bars_are_told_with_their_share(self, pool: Pool) -> None:
        """What was found too seldom, and what nothing planted could try."""
        said = missed(scored(pool, self.nights([True, False]), SETTINGS))
        assert "flaps_1.25: 0.500 of 1, not 0.95" in said
        assert "offline_1.5: nothing planted is as large" in said

    @from_table
    def test_wilson(self, hits: float, tries: int, interval: list[float]) -> None:
        """Values of Wilson's interval as tables have them."""
        assert wilson(hits, tries) == pytest.approx(interval, abs=1e-4)

    def test_a_share_of_nothing_is_none(self) -> None:
        """No regression, no share."""
        assert share_of([]) == {"share": None, "interval": [0.0, 1.0], "of": 0}


class TestTold:
    """What the pages say is what the last line says."""

    @pytest.mark.parametrize(("file", "experiment"), list(tell.PAGES))
    def test_pages_are_written_from_the_last_line(self, file: Path, experiment: str) -> None:
        """`python -m benchmarks.detection --write` was run after the last contest."""
        stands = between(file.read_text(encoding="utf-8"), tell.MARKS, experiment)
        assert stands == tell.targets()[file, experiment]

    def test_a_quick_contest_says_so(self) -> None:
        """Its last line is marked, and both pages say it, with all other arguments."""
        line = {**tell.last_line(), "quick": True, "arguments": ["--quick", "--plants", "40"]}
        assert "Made by `make contest` with `--quick --plants 40` on" in tell.of_docs(line)
        assert "Made by `make contest` on" in tell.of_docs({**line, "arguments": []})
        assert "`make contest` with `--quick --plants 40` planted" in tell.of_trust(line)

    def test_every_contestant_has_a_line(self) -> None:
        """Rivals, and our own parts switched off one by one."""
        line = tell.last_line()
        assert set(CONTESTANTS) <= set(line["contestants"])
        for name in line["contestants"]:
            assert re.search(rf"^\| (\*\*)?{re.escape(name)}(\*\*)? \|", tell.of_docs(line), re.M)

    def test_missed_bars_are_said(self) -> None:
        """None is left out."""
        line = tell.last_line()
        line["missed"] = ["flaps_1.25: 0.857 of 7, not 0.95", "never: nothing planted is as large"]
        for said in (tell.of_trust(line), tell.of_docs(line)):
            assert "flaps ≥ × 1.25, 85.7 % of 7 (bar 95 %); never: nothing" in said

    def test_a_bar_that_few_meet_says_how_few(self) -> None:
        """All of one found may be chance; all of a hundred is none, and is not named."""
        line = tell.last_line()
        found = line["contestants"][OWN][ANEW]
        for what in found:
            found[what] = {"share": 1.0, "interval": [0.963, 1.0], "of": 100}
        found["p99_shift"] = {"share": 1.0, "interval": [0.995, 1.0], "of": 800}
        found["never"] = {"share": None, "interval": [0.0, 1.0], "of": 0}
        assert "Every bar is met.\n" in f"{tell.of_trust(line)}\n"
        found["offline_1.5"] = {"share": 1.0, "interval": [0.2065, 1.0], "of": 1}
        few = "Offline ≥ × 1.5: 1 planted, at least 21 % found (bar 95 %)."
        said = f"Every bar is met. So few plants prove less than their bars ask. {few}\n"
        assert said in f"{tell.of_trust(line)}\n"

    def test_kept_bars_are_those_of_the_line(self) -> None:
        """What the last line calls missed follows from its own figures."""
        line = tell.last_line()
        assert missed(line) == line["missed"]

    def test_marks_stay(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Writing changes what is between them and nothing else."""
        page = tmp_path / "page.md"
        begin, end = (mark.format("load") for mark in tell.MARKS)
        page.write_text(f"a\n{begin}\nold\n{end}\nz\n")
        monkeypatch.setattr(tell, "targets", lambda: {(page, "load"): "new"})
        assert tell.write() == [page]
        assert page.read_text() == f"a\n{begin}\nnew\n{end}\nz\n"
        assert tell.write() == []
