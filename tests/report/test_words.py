"""Names, units and limits in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from rich.text import Span, Text

from isr_pipeline.experiment.configurations import Configuration
from isr_pipeline.report import terminal, words
from isr_pipeline.report.sections.answer import how_sure
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import (
    LOST,
    ConfigVerdict,
    Figures,
    MetricVerdict,
    NightVerdict,
    Per,
    Redraw,
    Status,
    accept_command,
    cause_commands,
    worst,
)
from isr_pipeline.verdicts.sentences import headline, what_to_do, worse, worst_first
from tests.approved import Approved


def configuration(name: str, group: str, *, is_grid: bool) -> Configuration:
    """A configuration of which only its name matters."""
    return Configuration(
        name=name, config_id=name, group=group, overrides={}, params={}, is_grid=is_grid
    )


class TestValues:
    """Numbers that a reader takes in at a glance."""

    @pytest.mark.parametrize(
        ("value", "text"),
        [(0.0, "0"), (1.2345e-6, "0.00000123"), (0.5, "0.5"), (12.34, "12.3"), (1812.8, "1813"),
         (float("nan"), "–"), (None, "–")],
    )  # fmt: skip
    def test_never_an_exponent(self, value: float | None, text: str) -> None:
        """Three significant digits, however small or large."""
        assert quantities.plain(value) == text

    @pytest.mark.parametrize(
        ("metric", "value", "text"),
        [
            (quantities.OFFLINE, 1.14e-3, "0.114 % of time"),
            (quantities.FLAPS, 5.56, "5.56 a partition and hour"),
            (quantities.LATENCY, 1322.9, "1323 ms"),
            (LOST, 2.81, "2.81 records a scenario"),
        ],
    )
    def test_a_value_has_its_unit_in_words(self, metric: str, value: float, text: str) -> None:
        """A rate is a share of time in percent."""
        assert quantities.quantity(metric, value) == text


def metric(name: str, status: Status, **more: Any) -> MetricVerdict:
    """A metric of which only its name, its status and what is given matter."""
    ratio, low, high = (more.get(f"ratio{end}") for end in ("", "_low", "_high"))
    pair = Figures(
        per=Per.YEAR, scenarios=872, before=10.0, after=10 * (ratio or 1.0), ratio=ratio,
        low=low, high=high,
    )  # fmt: skip
    return MetricVerdict(metric=name, status=status, pair=pair, **more)


def night(*configurations: ConfigVerdict) -> NightVerdict:
    """A night of which only its configurations matter."""
    return NightVerdict.model_construct(
        configurations=configurations,
        awaits_confirm=(),
        experiment="operators",
        night="2026-11-20",
        status=worst([one.status for one in configurations]),
        baseline=None,
        stopped="",
    )


class TestOrder:
    """What a page says first of a configuration that got worse."""

    def test_lost_data_comes_before_anything_else(self) -> None:
        """Even as a suspicion; the others by status, then as a page has them."""
        given = [
            metric(quantities.FLAPS, Status.REGRESSED),
            metric(quantities.PRODUCE, Status.SUSPECT),
            metric(LOST, Status.SUSPECT),
            metric(quantities.OFFLINE, Status.REGRESSED),
        ]
        order = [one.metric for one in worst_first(given)]
        assert order == [LOST, quantities.OFFLINE, quantities.FLAPS, quantities.PRODUCE]

    def test_the_line_of_a_night_tells_lost_data_first(self, approved: Approved) -> None:
        """One configuration loses records, two flap: what is lost comes before what is frequent."""
        several = tuple(
            ConfigVerdict(name=str(at), config_id=str(at), status=Status.REGRESSED, metrics=metrics)
            for at, metrics in enumerate(
                (
                    (metric(quantities.FLAPS, Status.REGRESSED), metric(LOST, Status.REGRESSED)),
                    (metric(quantities.FLAPS, Status.REGRESSED),),
                )
            )
        )
        line = headline(night(*several))
        approved(line)

    def test_each_is_told_what_it_got_worse_and_better_in(self, approved: Approved) -> None:
        """By name, three of each, the confirmed before the suspect; the others are counted."""
        flaps, lost = (metric(one, Status.REGRESSED) for one in (quantities.FLAPS, LOST))
        suspect = metric(quantities.FLAPS, Status.SUSPECT)
        better = metric(quantities.LATENCY, Status.IMPROVED)
        offline = metric(quantities.OFFLINE, Status.REGRESSED)
        produce = metric(quantities.PRODUCE, Status.REGRESSED)
        bad = {
            "maybe": (suspect,),
            "today": (flaps, better),
            "many": (flaps, offline, produce, lost),
            "flaps": (flaps,),
            "flaps-too": (flaps,),
        }
        several = [
            ConfigVerdict(
                name=name, config_id=name, status=metrics[0].status, metrics=metrics,
            )
            for name, metrics in bad.items()
        ]  # fmt: skip
        gain = ConfigVerdict(
            name="gain", config_id="gain", status=Status.IMPROVED, metrics=(better,)
        )
        same = ConfigVerdict(name="same", config_id="same", status=Status.UNCHANGED, metrics=())
        approved(
            [
                headline(night(*several, gain, same)),
                headline(night(*several[:2], same)),
                headline(night(gain, same)),
            ]
        )

    def test_what_to_do_names_the_worst(self) -> None:
        """It is of whom the headline begins with; a night that is well has none."""
        flaps, lost = (metric(one, Status.REGRESSED) for one in (quantities.FLAPS, LOST))
        first, second = (
            ConfigVerdict(name=name, config_id=name, status=Status.REGRESSED, metrics=(one,))
            for name, one in (("first", flaps), ("loses", lost))
        )
        same = ConfigVerdict(name="same", config_id="same", status=Status.UNCHANGED, metrics=())
        verdict = night(same, first, second)
        of = (verdict.experiment, verdict.night)
        expected = [*cause_commands(*of, "loses"), accept_command(*of)]
        assert what_to_do(verdict) == expected
        assert what_to_do(night(same)) == []

    def test_the_terminal_tells_lost_data_first(self, approved: Approved) -> None:
        """Below the table lost records come before flaps."""
        decisions = {
            quantities.FLAPS: {"status": "regressed", "change": "ISR flaps"},
            LOST: {"status": "regressed", "change": "acknowledged records lost"},
        }
        lines = [str(one) for one in terminal._found([{"name": "today", "decisions": decisions}])]
        approved(lines)

    @pytest.mark.parametrize(
        ("ratio", "said"),
        [(1.25, "1.25 ×"), (2.0, "2 ×"), (1234.5, "1234 ×"), (0.0512, "0.0512 ×")],
    )
    def test_a_ratio_has_three_digits_and_one_sign(self, ratio: float, said: str) -> None:
        """Also a large one."""
        assert quantities.times(ratio) == said

    def test_how_sure_tells_of_the_other_phases(self, approved: Approved) -> None:
        """What was drawn again says more than the p of a panel that has it once."""
        again = Redraw(scenario_id="regression-00005", draws=20, tonight=17, before=0, p=1e-8)
        lost = metric(LOST, Status.REGRESSED, risen=1, fallen=0, scenarios=200, redraws=(again,))
        one = ConfigVerdict(name="today", config_id="c", status=Status.REGRESSED, metrics=(lost,))
        approved(how_sure(one))


class TestWording:
    """Lines in which a metric has its name in words."""

    def test_what_got_worse_has_its_scenarios(self, approved: Approved) -> None:
        """The lines of MLflow and of a run's page say of how many each ratio is."""
        offline = metric(
            quantities.OFFLINE, Status.REGRESSED, ratio=1.5, ratio_low=1.2, ratio_high=1.9,
            scenarios=872,
        )  # fmt: skip
        one = ConfigVerdict(
            name="today", config_id="c", status=Status.REGRESSED, metrics=(offline,)
        )
        approved(worse(night(one)))

    def test_a_long_line_goes_on_below_its_text(self, approved: Approved) -> None:
        """At 100 columns; the status stands alone on the left, in its colour."""
        found = "today: produce unavailable 1.22 × (1.08 to 1.49), 48 scenarios; in the strata"
        line = terminal._hanging(Text(f"{'regressed':<11}{found} offline and isr-churn"), 60)
        approved(line.plain.splitlines())
        assert line.spans == [Span(0, 11, terminal.COLOURS["regressed"])]


class TestZeros:
    """What none of so many scenarios still allows."""

    def test_equal_weights_give_the_rule_of_three(self) -> None:
        """-ln(0.05) / n, which is 3 / n."""
        assert words.share_at_most(np.ones(200)) == pytest.approx(3.0 / 200, rel=2e-3)

    def test_the_limit_covers_the_exact_one(self) -> None:
        """Binomial: seeing none of n has probability 0.05 at 1 - 0.05^(1/n), which is less."""
        for count in (10, 60, 300):
            assert 1 - 0.05 ** (1 / count) <= words.share_at_most(np.ones(count))

    def test_it_covers_strata_of_other_weights(self) -> None:
        """Wherever in the strata something may be that is missed once in twenty, it is below."""
        weights = np.array([0.02] * 10 + [0.2] * 4)
        limit = words.share_at_most(weights)
        for light in np.linspace(0.0, 0.25, 26):
            heavy = 1 - (0.05 / (1 - light) ** 10) ** (1 / 4)
            assert (0.2 * light + 0.8 * max(heavy, 0.0)) <= limit + 1e-12

    def test_no_scenario_allows_everything(self) -> None:
        """An empty panel says nothing."""
        assert words.share_at_most(np.array([])) == 1.0
        assert math.isclose(words.share_at_most(np.ones(2)), 1.0)


class TestNames:
    """A grid's points share a heading."""

    def test_a_point_is_named_by_its_values(self) -> None:
        """The grid's name stands above, with the group's if that is another."""
        point = configuration("s1@reading=s1-doc,lag=10000", "kip-501", is_grid=True)
        assert words.heading(point) == "kip-501: s1"
        assert words.short_name(point) == "reading=s1-doc, lag=10000"

    def test_a_candidate_keeps_its_name(self) -> None:
        """Its heading is its group."""
        one = configuration("lag-10s", "lag-limit", is_grid=False)
        assert (words.heading(one), words.short_name(one)) == ("lag-limit", "lag-10s")
