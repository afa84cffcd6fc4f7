"""The picture of what configurations gain and cost, which page, terminal and MLflow share."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.experiment.plan import Plan
from isr_pipeline.night.show import show
from isr_pipeline.report import differences
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.report.picture import (
    NOTHING_FOUND_WORSE,
    NOTHING_WORSE,
    TEXT_WIDTH,
    Axis,
    Bar,
    Picture,
    bar_text,
    picture,
)
from isr_pipeline.report.terminal import print_night
from isr_pipeline.report.tracking import names
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.quantities import FLAPS, LATENCY, PRODUCE
from isr_pipeline.verdicts.record import (
    AgainstReference,
    Difference,
    Figures,
    Per,
    Word,
    load_verdict,
)
from tests.approved import Approved
from tests.report.reading import as_read
from tests.verdicts.synthetic import LATER, NIGHT, World, scaled
from tests.verdicts.test_reference import NAMES, alike_but


def one(metric: str, word: Word, ratio: float | None, **more: Any) -> Difference:
    """A difference of 200 scenarios, 10 under the reference."""
    after = 10.0 * (1.0 if ratio is None else ratio)
    low, high = more.pop("low", ratio and 0.9 * ratio), more.pop("high", ratio and 1.1 * ratio)
    pair = Figures(
        per=Per.YEAR, scenarios=200, before=10.0, after=after, ratio=ratio, low=low, high=high
    )
    given: dict[str, Any] = {
        "metric": metric, "word": word, "scenarios": 200, "differing": 40, "before": 0.01,
        "after": 0.02, "ratio": ratio, "low": low, "high": high, "pair": pair, **more,
    }  # fmt: skip
    return Difference(**given)


def of(name: str, *found: Difference, **more: Any) -> AgainstReference:
    """A configuration with these differences."""
    weaker = more.pop("weaker", ())
    return AgainstReference(name=name, config_id=name, weaker=weaker, differences=found, **more)


def drawn(*against: AgainstReference) -> Picture:
    """The picture of them, which there is."""
    found = picture(against)
    assert found is not None
    return found


GAIN, LOSS = one(FLAPS, Word.BETTER, 0.5), one(PRODUCE, Word.WORSE, 1.4)
OPEN = one(LATENCY, Word.UNDECIDED, 1.02)


class TestRows:
    """Configurations, the best first."""

    def test_the_best_first(self) -> None:
        """What promises less, and what could not be compared, stand last whatever they gain."""
        rows = drawn(
            of("failed", problem="some of its pairs failed"),
            of("weaker", GAIN, weaker=("min.insync.replicas",)),
            of("loses", GAIN, LOSS),
            of("gains", GAIN),
        ).rows
        assert [row.name for row in rows] == ["gains", "loses", "weaker", "failed"]

    @pytest.mark.parametrize(
        ("found", "mark"),
        [
            ((GAIN,), NOTHING_WORSE),
            ((GAIN, OPEN), NOTHING_FOUND_WORSE),
            ((GAIN, LOSS), ""),
            ((OPEN,), ""),
        ],
    )
    def test_marked_where_nothing_is_worse(self, found: tuple[Difference, ...], mark: str) -> None:
        """It says less where something is undecided, and nothing where there is no gain."""
        (row,) = drawn(of("a", *found)).rows
        assert row.mark == mark

    def test_a_metric_that_nobody_changes_has_no_column(self) -> None:
        """It is named below."""
        same = one(PRODUCE, Word.NONE, 1.0, differing=0)
        found = drawn(of("a", GAIN, same))
        assert [axis.metric for axis in found.axes] == [FLAPS]
        assert found.same == ("produce unavailable",)

    def test_nothing_to_draw(self) -> None:
        """No configuration differs, or there is none."""
        assert picture(()) is None
        assert picture([of("a", one(FLAPS, Word.NONE, 1.0, differing=0))]) is None


class TestAxis:
    """Ratios around 1, the same way up and down."""

    def test_a_half_is_as_far_from_one_as_two(self) -> None:
        """The axis is logarithmic, and 1 is in its middle."""
        axis = Axis(FLAPS, "", 3.0)
        assert axis.place(1.0) == 0.5
        assert axis.place(0.5) + axis.place(2.0) == pytest.approx(1.0)

    def test_three_ticks(self) -> None:
        """Both ends and 1, whatever the reach."""
        assert [text for _, text in Axis(FLAPS, "", 2.0).ticks] == ["0.5", "1", "2"]

    def test_long_enough_for_every_finite_end(self) -> None:
        """Of the configuration that goes furthest."""
        (axis,) = drawn(of("a", GAIN), of("b", one(FLAPS, Word.WORSE, 2.5))).axes
        assert axis.reach == 3.0

    @pytest.mark.parametrize(
        ("low", "high", "is_open"),
        [(0.9, 1.1, (False, False)), (0.001, 1.1, (True, False)), (0.9, None, (False, True))],
    )
    def test_an_open_end(self, low: float, high: float | None, is_open: tuple[bool, bool]) -> None:
        """Without an end, or with one beyond the longest axis."""
        (row,) = drawn(of("a", one(FLAPS, Word.UNDECIDED, 1.0, low=low, high=high))).rows
        (cell,) = row.cells
        assert cell is not None
        assert cell.bar is not None
        assert (cell.bar.is_low_open, cell.bar.is_high_open) == is_open

    def test_from_none_there_is_no_bar(self) -> None:
        """The two figures say it."""
        pair = Figures(per=Per.YEAR, scenarios=200, before=0.0, after=3.0, ratio=None)
        (row,) = drawn(of("a", one(FLAPS, Word.WORSE, None, pair=pair))).rows
        (cell,) = row.cells
        assert cell is not None
        assert (cell.bar, cell.pair) == (None, "none to 3")


class TestText:
    """The same in characters."""

    def test_bars(self, approved: Approved) -> None:
        """As wide as the axis, with 1 in the middle; arrows where an end is open."""
        bars = [
            Bar(0.2, 0.3, 0.4, is_low_open=False, is_high_open=False),
            Bar(0.3, 0.6, 0.9, is_low_open=False, is_high_open=False),
            Bar(0.0, 0.5, 1.0, is_low_open=True, is_high_open=True),
            None,
        ]
        told = [bar_text(one, "▼") for one in bars]
        assert {len(one) for one in told} == {TEXT_WIDTH}
        approved(f"{one}|" for one in told)


@pytest.mark.usefixtures("home")
class TestAnswer:
    """A night that was asked something."""

    def plan(self, night: str = NIGHT) -> Plan:
        """A judged night in which lag-20s halves produce unavailable."""
        plan = World(names=NAMES, asked=True).write(
            night, alike_but(scaled(PRODUCE, 0.5, NAMES[1]))
        )
        judge_night(plan)
        return plan

    def test_the_page(self, approved: Approved) -> None:
        """The question, the picture, a sentence a value; no baseline, nothing to accept."""
        page = render(read_night(self.plan()))
        told = as_read(page, "answer")
        approved(told)
        assert "baseline" not in " ".join(told)
        assert "accept" not in page.split('<section id="answer"')[1].split("</section>")[0]

    def test_the_terminal(self, capsys: pytest.CaptureFixture[str], approved: Approved) -> None:
        """The same picture as text, and no command that accepts."""
        self.plan()
        shown = show("synthetic", NIGHT)
        assert shown["to_do"] == []
        print_night(shown)
        lines = capsys.readouterr().out.splitlines()
        begin = next(at for at, line in enumerate(lines) if line.endswith("?"))
        approved(line.rstrip() for line in lines[begin : begin + 8] if "status.json" not in line)

    def test_the_note_in_mlflow(self) -> None:
        """The question, then what each value gains."""
        plan = self.plan()
        verdict = load_verdict("synthetic", NIGHT)
        note = names.night_note(verdict, {}, (), "today", plan)
        assert note.startswith(f"**{differences.question(plan)}**")
        for one_of in verdict.against_reference:
            assert f"* {one_of.name}: {differences.answer(one_of)}" in note
        assert "baseline accept" not in note

    def test_what_got_worse_comes_before_the_answer(self) -> None:
        """The page of a red night is about that."""
        from isr_pipeline.verdicts import acceptance
        from tests.verdicts.synthetic import decided

        self.plan()
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        worse = scaled(FLAPS, 2.0, NAMES[1])
        plan = World(names=NAMES, asked=True).write(LATER, alike_but(worse))
        judge_night(plan)
        assert not differences.is_answer(plan, decided(plan))
