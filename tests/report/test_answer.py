"""The answer of a night in words, and where it is shown."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from html import escape

import numpy as np
import pytest

from isr_pipeline.conformance.observations import SHIPPED, load_observations
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.home import Home
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.kafka.released import released_range
from isr_pipeline.night import steps
from isr_pipeline.night.show import show
from isr_pipeline.report.answer import _change, _moved, _price, read_answer, write_answer
from isr_pipeline.report.backing import _facts, backing, where_it_ends
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.report.terminal import print_night
from isr_pipeline.tracking import log_night, names
from isr_pipeline.verdicts import choice
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.model import load_verdict
from isr_pipeline.worlds.columns import values_of
from tests.verdicts.synthetic import NIGHT, Change, World, scaled

UNAVAILABLE = "produce_unavailable_rate"
OFFLINE = "offline_partition_rate"
LATENCY = "commit_latency_p99_ms"
FLAPS = "isr_flaps_per_partition_hour"
NAMES = ("today", "lag-20s", "other")


def alike_but(*changes: Change) -> Change:
    """All configurations as the reference, then some changed."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
    ) -> None:
        same = values_of(World(names=("today",)).outcome_rows(panel, "today", None))
        for column in (UNAVAILABLE, OFFLINE, LATENCY, FLAPS, "under_min_isr_rate"):
            columns[column] = same[column].to_numpy(float)
        for one in changes:
            one(panel, name, columns, rng)

    return change


def answered(*changes: Change, **values: dict[str, object]) -> dict[str, str]:
    """The kept answer of a night in which configurations are alike but for some changes."""
    return answered_of(World(names=NAMES, values=values).write(NIGHT, alike_but(*changes)))


def answered_of(plan: Plan) -> dict[str, str]:
    """The kept answer of a night that was written."""
    write_answer(plan)
    found = read_answer("synthetic", NIGHT)
    assert found is not None
    return found


def asked_third(plan: Plan) -> Plan:
    """The same plan, its third configuration one that somebody asked about."""
    asked = plan.configurations[2].model_copy(update={"group": "asked"})
    return plan.model_copy(update={"configurations": (*plan.configurations[:2], asked)})


@pytest.mark.usefixtures("home")
class TestWords:
    """What is said."""

    def test_setting_and_gain_come_first_then_the_price(self) -> None:
        """Half of the unavailability for two fifths more latency: both with their numbers."""
        found = answered(scaled(UNAVAILABLE, 0.5, "lag-20s"), scaled(LATENCY, 1.4, "lag-20s"))
        assert found["configuration"] == "lag-20s"
        assert found["setting"] == "replica.lag.time.max.ms=11000"
        assert found["first"] == (
            "Set replica.lag.time.max.ms=11000 (lag-20s): produce unavailable "
            "0.50 × (0.50 to 0.50) of today's, over 99.9 % sure that it is better."
        )
        assert found["price"].startswith("The price: commit latency p99 1.3")
        assert found["text"].startswith(found["first"])

    def test_what_was_not_simulated_is_said(self) -> None:
        """The answer about a reduced cluster says how many partitions stood for all."""
        world = World(names=NAMES)
        plan = world.write(NIGHT, alike_but(scaled(UNAVAILABLE, 0.5, "lag-20s")))
        sentence = "500 of 5000 partitions stand for all (40 classes, none joined; draw 1)"
        definition = plan.definition.model_copy(update={"reduced": sentence})
        write_answer(plan.model_copy(update={"definition": definition}))
        found = read_answer("synthetic", NIGHT)
        assert found is not None
        assert found["backing"].endswith(f" Reduced: {sentence}.")

    def test_other_gains_are_said(self) -> None:
        """Offline time that surely falls is named beside the unavailability."""
        found = answered(scaled(UNAVAILABLE, 0.5, "lag-20s"), scaled(OFFLINE, 0.2, "lag-20s"))
        assert found["gains"] == "Better too: offline (no leader) 0.20 × (0.20 to 0.20)."
        assert found["price"] == "Nothing tested gets surely worse."

    def test_a_gain_that_the_ratio_does_not_show_is_none(self) -> None:
        """Significant in one stratum, and 1.10 × (0.76 to 1.65) in all: not called better."""
        change = choice.Change(LATENCY, 110.0, 100.0, 1.1, 0.76, 1.65, worse=0.9, better=0.01)
        measured = choice.Measured("a", {LATENCY: change}, 0.99)
        assert _moved(measured, better=True) == []
        surely = replace(change, ratio=0.8, low=0.7, high=0.9)
        assert _moved(replace(measured, changes={LATENCY: surely}), better=True) == [surely]

    def test_a_price_that_is_not_sure_is_told(self) -> None:
        """Half a panel may miss a real price: flaps at 1.53 × (0.92 to 2.6) are not kept quiet."""
        change = choice.Change(FLAPS, 0.197, 0.129, 1.53, 0.92, 2.6, worse=0.06, better=0.94)
        little = choice.Change(LATENCY, 105.0, 100.0, 1.05, 0.9, 1.2, worse=0.3, better=0.7)
        measured = choice.Measured("a", {FLAPS: change, LATENCY: little}, 0.99)
        assert _price(measured, 1.10) == (
            "Nothing tested gets surely worse. Perhaps worse: ISR flaps 1.53 × (0.92 to 2.60)."
        )

    def test_the_scenarios_behind_it_are_counted(self) -> None:
        """Half of 120 chose, the other half was measured, and how often it is the best."""
        found = answered(scaled(UNAVAILABLE, 0.5, "lag-20s"))
        assert found["sure"] == (
            "Chosen on 60 scenarios; every number is from the other 60. "
            "lag-20s is the best of all 3 in over 99.9 % of bootstrap draws."
        )
        assert found["decides"].startswith("Decided most by regression-0")
        assert found["decides"].endswith(
            "It stands if the weight of any one fault kind is halved or doubled."
        )

    def test_nobody_better_keeps_the_reference(self) -> None:
        """Configurations that are alike: nothing is advised, no price is named."""
        found = answered()
        assert found["first"] == "Keep today: none of 2 others is better."
        assert (found["setting"], found["price"], found["decides"]) == ("", "", "")

    def test_what_is_not_sure_keeps_the_reference(self) -> None:
        """The best of the choosing half is named with what the other half says of it."""

        def noise(
            panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
        ) -> None:
            if name == "lag-20s":
                own = np.random.default_rng([5, len(panel)])
                columns[UNAVAILABLE] = columns[UNAVAILABLE] * own.gamma(0.2, 5.0, 120)

        found = answered(noise)
        assert found["configuration"] == "today"
        assert found["first"].startswith("Keep today: nothing else is surely better. ")
        assert "lag-20s looked best on one half of the scenarios. On the" in found["first"]
        assert "of bootstrap draws, produce unavailable" in found["first"]

    def test_halves_that_disagree_are_told(self) -> None:
        """One half sees nothing better, the other does: that is not called sure."""

        def half(
            panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
        ) -> None:
            del panel
            if name == "lag-20s":
                columns[UNAVAILABLE] = columns[UNAVAILABLE] * np.where(measuring, 0.5, 2.0)

        world = World(names=NAMES)
        ids = world.scenario_rows("regression")["scenario_id"].tolist()
        strata = world.scenario_rows("regression")["stratum"].tolist()
        order = sorted(range(len(ids)), key=lambda row: (strata[row], ids[row]))
        measuring = np.zeros(len(ids), bool)
        measuring[order[1::2]] = True
        found = answered(half)
        assert found["first"] == "Keep today: none of 2 others is surely better."
        assert found["sure"].endswith(
            "On these, lag-20s is the best in over 99.9 % of bootstrap draws, today in 0 %: "
            "larger panels would tell."
        )

    def test_what_was_asked_has_its_gain_and_its_price(self) -> None:
        """A setting that is not advised is told beside today's, the price among it."""
        world = World(names=NAMES)
        changes = scaled(UNAVAILABLE, 2.0, "other"), scaled(FLAPS, 3.0, "other")
        plan = world.write(NIGHT, alike_but(*changes))
        found = answered_of(asked_third(plan))
        assert found["asked"] == (
            "You asked, against today: other produce unavailable 2.00 × (2.00 to 2.00), "
            "worse: ISR flaps 3.00 × (3.00 to 3.00)."
        )

    def test_what_was_asked_and_moves_nothing_says_so(self) -> None:
        """No price is told apart from a price that was not looked for."""
        plan = World(names=NAMES).write(NIGHT, alike_but())
        found = answered_of(asked_third(plan))
        assert found["asked"] == (
            "You asked, against today: other produce unavailable 1.00 × (1.00 to 1.00), "
            "nothing else surely better or worse."
        )

    def test_whom_the_question_did_not_change_is_said(self) -> None:
        """A broker with a limit of its own keeps it; said of the advised setting too."""
        plan = World(names=NAMES).write(NIGHT, alike_but(scaled(UNAVAILABLE, 0.5, "other")))
        cluster = plan.definition.cluster
        settings = {1002: {"replica.lag.time.max.ms": 60_000}}
        own = {**cluster.cluster, "broker_settings": settings}
        cluster = cluster.model_copy(update={"cluster": own})
        definition = plan.definition.model_copy(update={"cluster": cluster})
        found = answered_of(asked_third(plan.model_copy(update={"definition": definition})))
        assert found["configuration"] == "other"
        assert found["asked"] == (
            "replica.lag.time.max.ms: broker 1002 has its own (60000), and keeps it."
        )

    @pytest.mark.parametrize(
        ("release", "takes"),
        [
            (str(rule_set_text("4.1")), "an upgrade"),
            (str(rule_set_text("4.0")), "an upgrade"),
            (str(rule_set_text("3.6")), "a downgrade"),
            ("joins-in-time (3.7+ with expand_needs_lag=true)", "no released broker has it"),
        ],
    )
    def test_an_asked_release_has_its_gain_and_its_price(self, release: str, takes: str) -> None:
        """A release is told like a setting, and that it takes more than one."""
        world = World(
            names=NAMES,
            values={
                "today": {"cluster.release": str(rule_set_text("3.9"))},
                "lag-20s": {"cluster.release": str(rule_set_text("3.9"))},
                "other": {"cluster.release": release},
            },
        )
        changes = scaled(UNAVAILABLE, 0.5, "other"), scaled(FLAPS, 3.0, "other")
        plan = world.write(NIGHT, alike_but(*changes))
        found = answered_of(asked_third(plan))
        assert found["asked"] == (
            f"You asked, against today: other ({takes}) produce unavailable "
            "0.50 × (0.50 to 0.50), worse: ISR flaps 3.00 × (3.00 to 3.00)."
        )

    def test_a_proposal_has_a_part_of_its_own(self) -> None:
        """It is compared, and is not what is advised."""
        found = answered(
            scaled(UNAVAILABLE, 0.2, "other"),
            scaled(UNAVAILABLE, 0.5, "lag-20s"),
            other={"rules.kip501": "s2"},
        )
        assert found["configuration"] == "lag-20s"
        assert found["proposals"].startswith(
            "What no released broker has: other is the best of 1, surely better than today "
            "(over 99.9 %); produce unavailable 0.20 × (0.20 to 0.20)."
        )
        assert found["releases"] == ""

    def test_another_release_has_a_part_of_its_own(self) -> None:
        """What an upgrade changes is said apart from the settings."""
        found = answered(scaled(UNAVAILABLE, 0.5, "other"), other={"cluster.release": "3.3-3.6"})
        assert found["configuration"] == "today"
        assert found["releases"].startswith("Another release: other is the best of 1, surely")

    def test_published_advice_is_named(self) -> None:
        """Rivals are measured on the same scenarios as the choice."""
        world = World(names=NAMES)
        plan = world.write(NIGHT, alike_but(scaled(UNAVAILABLE, 2.0, "other")))
        rival = plan.configurations[2].model_copy(update={"group": "published-advice"})
        several = (*plan.configurations[:2], rival)
        write_answer(plan.model_copy(update={"configurations": several}))
        found = read_answer("synthetic", NIGHT)
        assert found is not None
        assert found["rivals"] == (
            "Published advice, produce unavailable: other 2.00 × (2.00 to 2.00), better in 0 %."
        )

    def test_lost_records_leave_out(self) -> None:
        """What would gain more but loses records is named with its loss."""

        def loses(panel: str, name: str, columns: dict[str, np.ndarray], _: object) -> None:
            del panel
            if name == "other":
                columns["records_lost"] = columns["records_lost"] + 2.5

        gains = scaled(UNAVAILABLE, 0.2, "other"), scaled(UNAVAILABLE, 0.5, "lag-20s")
        found = answered(*gains, loses)
        assert found["configuration"] == "lag-20s"
        assert found["decides"].endswith(
            "other loses more acknowledged records than today and was left out. "
            "other would gain most, and loses 2.5 more a scenario on average."
        )

    def test_what_is_left_out_is_said_of_a_reference_that_is_kept(self) -> None:
        """All that would gain loses records: nobody reads that nothing would gain."""

        def loses(panel: str, name: str, columns: dict[str, np.ndarray], _: object) -> None:
            del panel
            if name != "today":
                columns["records_lost"] = columns["records_lost"] + 2.5

        gains = scaled(UNAVAILABLE, 0.2, "other"), scaled(UNAVAILABLE, 0.5, "lag-20s")
        plan = World(names=NAMES).write(NIGHT, alike_but(*gains, loses))
        found = answered_of(plan)
        assert found["first"] == (
            "Keep today: none of 2 others is better without losing more acknowledged records."
        )
        assert found["decides"] == (
            "2 of 2 others lose more acknowledged records than today and were left out. "
            "other would gain most, and loses 2.5 more a scenario on average."
        )
        assert found["sure"].endswith("Each of the others was left out.")
        assert (
            ", loses 2.5 acknowledged records a scenario (0)"
            in answered_of(asked_third(plan))["asked"]
        )

    @pytest.mark.parametrize(
        "weaker",
        [{"min.insync.replicas": 1}, {"unclean.leader.election.enable": True}],
        ids=lambda values: next(iter(values)),
    )
    def test_a_lower_promise_is_left_out(self, weaker: dict[str, object]) -> None:
        """What would gain most is no advice, and the answer says why; who asked reads it too."""
        today: dict[str, object] = {"min.insync.replicas": 2}
        values = {"today": today, "lag-20s": today, "other": today | weaker}
        world = World(names=NAMES, values=values)
        gains = scaled(UNAVAILABLE, 0.2, "other"), scaled(UNAVAILABLE, 0.5, "lag-20s")
        plan = world.write(NIGHT, alike_but(*gains))
        found = answered_of(plan)
        assert found["configuration"] == "lag-20s"
        assert found["decides"].endswith("other lowers what acks=all promises and was left out.")
        alone = answered_of(asked_third(plan))
        assert alone["first"] == (
            "Keep today: the one other is not better without lowering what acks=all promises."
        )
        assert alone["decides"] == "other lowers what acks=all promises and was left out."
        assert alone["asked"].startswith(
            "You asked, against today: other (lowers what acks=all promises) produce unavailable"
        )

    def test_a_release_that_lowers_the_promise_is_no_advice(self) -> None:
        """To 0.10 unclean elections are the default: its part says that it was left out."""
        release: dict[str, object] = {
            "cluster.release": "0.8.2",
            "cluster.controller": "zookeeper",
        }
        found = answered(scaled(UNAVAILABLE, 0.2, "other"), other=release)
        assert found["releases"] == (
            "Another release: the one other is not better without lowering what acks=all promises. "
            "other lowers what acks=all promises and was left out."
        )

    def test_both_reasons_are_told(self) -> None:
        """One lowers the promise, the other loses records: each by its own reason."""

        def loses(panel: str, name: str, columns: dict[str, np.ndarray], _: object) -> None:
            del panel
            if name == "lag-20s":
                columns["records_lost"] = columns["records_lost"] + 2.5

        found = answered(
            scaled(UNAVAILABLE, 0.2, "other"),
            scaled(UNAVAILABLE, 0.5, "lag-20s"),
            loses,
            other={"unclean.leader.election.enable": True},
        )
        assert found["first"] == (
            "Keep today: none of 2 others is better without lowering what acks=all promises or "
            "losing more acknowledged records."
        )
        assert found["decides"] == (
            "other lowers what acks=all promises and was left out. "
            "lag-20s loses more acknowledged records than today and was left out. "
            "lag-20s would gain most, and loses 2.5 more a scenario on average."
        )

    def test_time_under_another_min_isr_is_not_compared(self) -> None:
        """A lower bar is no gain: what clients feel of it, produce unavailability says."""
        min_isr = {"lag-20s": {"min.insync.replicas": 1}, "other": {"min.insync.replicas": 2}}
        world = World(names=NAMES, values=min_isr)
        under = "under_min_isr_rate"
        plan = world.write(NIGHT, alike_but(scaled(under, 0.1, "other", "lag-20s")))
        assert "under min ISR" not in answered_of(asked_third(plan))["asked"]
        second = plan.configurations[1].model_copy(update={"group": "asked"})
        several = (plan.configurations[0], second, plan.configurations[2])
        found = answered_of(plan.model_copy(update={"configurations": several}))
        assert "better: time under min ISR 0.10 ×" in found["asked"]

    def test_an_end_that_reads_1_is_not_sure(self) -> None:
        """1.003 is printed as 1.00: a price that may be nothing is not called sure."""
        change = choice.Change(FLAPS, 1.76, 1.0, 1.76, 1.003, 3.61, worse=0.02, better=0.98)
        assert _moved(choice.Measured("a", {FLAPS: change}, 0.99), better=False) == []

    def test_what_falls_to_nothing_has_no_ratio(self) -> None:
        """`0.00 × (0.00 to 0.00)` claims more than scenarios without any can say."""
        change = choice.Change(FLAPS, 0.0, 0.5, 0.0, 0.0, 0.0, worse=1.0, better=0.0)
        assert _change(change) == "ISR flaps 0.5 to none"

    def test_a_night_without_others_answers_nothing(self) -> None:
        """One configuration alone: there is nothing to choose."""
        write_answer(World(names=("today",)).write(NIGHT))
        assert read_answer("synthetic", NIGHT) is None


class TestBacking:
    """How far real brokers back it."""

    def test_the_largest_cluster_is_that_of_the_recordings(self) -> None:
        """The size that is told is counted in the recordings themselves."""
        scenarios = [one.scenario for file in SHIPPED for one in load_observations(file)]
        brokers = max(len(one.cluster.brokers) for one in scenarios)
        partitions = max(sum(len(topic.assignment) for topic in one.topics) for one in scenarios)
        assert _facts()["largest"] == {"brokers": brokers, "partitions": partitions}

    def test_a_release_number_has_the_backing_of_its_range(self, home: object) -> None:
        """3.9 is compared as the releases from 3.7 on are."""
        del home
        number, whole = (
            World(values={"today": {"cluster.release": release}}).plan(NIGHT).configurations[0]
            for release in (str(rule_set_text("3.9")), "3.7+")
        )
        assert backing(number, number) == backing(whole, whole)

    def test_repetitions_are_those_of_the_recordings(self) -> None:
        """Each rule set's number is the number of recordings of its releases."""
        counted = Counter(
            released_range(one.scenario.cluster.release)
            for file in SHIPPED
            for one in load_observations(file)
        )
        said = {name: facts["repetitions"] for name, facts in _facts()["rule_sets"].items()}
        assert {name: number for name, number in said.items() if number} == dict(counted)

    @pytest.mark.parametrize(
        ("size", "said"),
        [
            ((3, 5), "Real clusters of up to 3 brokers and 5 partitions were compared"),
            ((3, 6), "Conformance ends at 3 brokers and 5 partitions: nothing of this size (3"),
            ((40, 5000), "nothing of this size (40 brokers, 5000 partitions) was compared"),
        ],
    )
    def test_where_it_ends_is_said(self, size: tuple[int, int], said: str) -> None:
        """A cluster larger than any that was compared is told so."""
        assert said in where_it_ends(*size)


@pytest.mark.usefixtures("home")
class TestShown:
    """Where the answer stands."""

    def night(self) -> World:
        """A judged night with an answer, as the step leaves it."""
        world = World(names=NAMES)
        plan = world.write(NIGHT, alike_but(scaled(UNAVAILABLE, 0.5, "lag-20s")))
        judge_night(plan)
        steps.decide(plan)
        return world

    def test_everywhere_the_same(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The step keeps it; page, terminal, `night show --json` and MLflow's note have it."""
        plan = self.night().plan(NIGHT)
        kept = read_answer("synthetic", NIGHT)
        assert kept is not None
        shown = show("synthetic", NIGHT)
        assert json.loads(json.dumps(shown))["answer"] == kept
        print_night(shown)
        printed = " ".join(capsys.readouterr().out.split())
        for part in ("short", "decides", "backing"):
            assert kept[part]
            assert " ".join(kept[part].removeprefix("Behind its rules: ").split()) in printed
        page = render(read_night(plan)).replace("<wbr>", "")
        assert kept["first"].replace("'", "&#x27;") in page
        assert kept["backing"].replace("'", "&#x27;") in page
        verdict = load_verdict("synthetic", NIGHT)
        note = names.night_note(verdict, {}, {}, (), log_night._answer(plan))
        assert f"\n{kept['text']}\n" in note

    def test_a_first_night_is_headed_by_its_answer(self) -> None:
        """Nothing to compare with is not what who asked for a setting wants to read first."""
        data = read_night(self.night().plan(NIGHT))
        assert data.answer is not None
        page = render(data).replace("<wbr>", "")
        assert f"<h1>{escape(data.answer.first.rstrip('.'))}</h1>" in page

    def test_a_first_night_that_keeps_today_says_how_to_ask_more(self) -> None:
        """Nobody is surely better: twice as many scenarios may tell."""
        command = f"night run --experiment synthetic --night {NIGHT} --panel-size 240"
        assert command not in render(read_night(self.night().plan(NIGHT)))
        plan = World(names=NAMES).write(NIGHT, alike_but())
        judge_night(plan)
        assert command in render(read_night(plan))

    @pytest.mark.parametrize("damage", ["", "[1]", '{"first": '])
    def test_a_damaged_file_is_no_answer(self, damage: str) -> None:
        """Who shows a night shows it without one."""
        plan = self.night().plan(NIGHT)
        folder = Home.from_environment().night_dir("synthetic", NIGHT)
        (folder / "answer.json").write_text(damage)
        assert show("synthetic", NIGHT)["answer"] is None
        assert log_night._answer(plan) == ""
