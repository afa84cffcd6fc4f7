"""Sentences that are made of a verdict's facts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.verdicts.quantities import FLAPS, LATENCY, OFFLINE
from isr_pipeline.verdicts.record import (
    ConfigVerdict,
    Finding,
    MetricVerdict,
    NightVerdict,
    NotCompared,
    Redraw,
    Seen,
    Status,
    StratumVerdict,
    Traded,
)
from isr_pipeline.verdicts.sentences import change, headline, reason, reason_of_metric

STRATUM = StratumVerdict(
    stratum="isr-churn", status=Status.SUSPECT, scenarios=14, share=0.1, risen=14, fallen=0,
    value=2.0, baseline_value=1.0, ratio=2.0,
)  # fmt: skip
RISEN: dict[str, Any] = {
    "value": 6.6, "baseline_value": 5.0, "ratio": 1.32, "ratio_low": 1.1, "ratio_high": None,
    "q": 0.004, "p": 0.3, "differing": 2, "needed": 3,
}  # fmt: skip
TRADED = Traded(risen=4, fallen=26, risen_most=("a", "b"), fallen_most=("c",))
SAID = "1.32 × (1.1 to …)"
OPEN = "and a rise that matters is not ruled out"


def verdict(finding: Finding = Finding.RISE, **more: Any) -> MetricVerdict:
    """Flaps with what a look found of them, and what is given."""
    seen = Seen(finding=finding, **RISEN)
    given: dict[str, Any] = {"metric": FLAPS, "status": Status.SUSPECT, "seen": seen}
    return MetricVerdict(**(given | more))


def drawn(name: str, number: int, p: float) -> Redraw:
    """A scenario that was drawn again; certain below 0.001."""
    return Redraw(
        scenario_id=name, draws=20, tonight=7, before=0, p=p, level=0.001, number=number
    )  # fmt: skip


class TestFindings:
    """What a look finds, and the numbers that it follows from."""

    @pytest.mark.parametrize(
        ("finding", "said"),
        [
            (Finding.IDENTICAL, "bit-identical outcomes"),
            (Finding.ROUNDING, "differs by rounding only"),
            (Finding.RISE, f"{SAID}, q 0.004; flagged; further scenarios decide"),
            (Finding.FALL, f"{SAID}, q 0.004"),
            (Finding.RULED_OUT, f"{SAID}: a rise that matters is ruled out (p 0.3)"),
            (
                Finding.TOO_FEW,
                f"{SAID}; 2 scenarios differ, significance takes 3 or more, {OPEN}",
            ),
            (Finding.SMALL, f"{SAID}; no chance (q 0.004), but small in this estimate, {OPEN}"),
            (Finding.OPEN, f"{SAID}; not significant (q 0.004), {OPEN}"),
        ],
    )
    def test_each_has_its_sentence(self, finding: Finding, said: str) -> None:
        """On the standing panel."""
        assert reason_of_metric(verdict(finding)) == said

    def test_strata_have_their_sizes(self) -> None:
        """And how many of their scenarios got worse."""
        seen = Seen(finding=Finding.RISE_IN_STRATA, strata=(STRATUM,), **RISEN)
        assert reason_of_metric(verdict(seen=seen)).startswith(
            f"{SAID} in all, in isr-churn 2 × (14 of 14 worse); "
        )

    @pytest.mark.parametrize(("had", "before"), [(True, "less than a tenth"), (False, "none")])
    def test_what_newly_happens(self, had: bool, before: str) -> None:
        """In how many scenarios, and what these had."""
        seen = Seen(finding=Finding.NEWLY, newly=2, had=had, **RISEN)
        assert f"{SAID}, in 2 scenarios that had {before}; " in reason_of_metric(verdict(seen=seen))

    def test_a_latency_names_its_mean(self) -> None:
        """Its ratio is not that of the weighted means."""
        said = reason_of_metric(verdict(Finding.FALL, metric=LATENCY))
        assert said == "1.32 × in the scenarios' geometric mean (1.1 to …), q 0.004"


class TestFurtherScenarios:
    """What looks at more and more of them add."""

    SEEN = Seen(finding=Finding.RISE, **RISEN)

    def test_they_confirm(self) -> None:
        """Nothing is awaited any more."""
        said = reason_of_metric(verdict(seen=self.SEEN.on(120, confirms=True)))
        assert said == f"{SAID}, q 0.004; confirmed on 120 further scenarios"

    def test_they_do_not_confirm(self) -> None:
        """What was seen first stays first."""
        further = Seen(finding=Finding.RULED_OUT, **RISEN).on(200)
        assert reason_of_metric(verdict(further=further)) == (
            f"{SAID}, q 0.004; not confirmed: {SAID}: a rise that matters is ruled out (p 0.3), "
            "on 200 further scenarios"
        )

    @pytest.mark.parametrize(
        ("finding", "end"),
        [
            (Finding.NONE_RULES_OUT, ": a rise that matters is ruled out"),
            (Finding.NONE_LEAVES_OPEN, ", and more like it is not ruled out"),
        ],
    )
    def test_none_of_them_differs(self, finding: Finding, end: str) -> None:
        """That bounds how often one does."""
        said = reason_of_metric(verdict(seen=Seen(finding=finding, scenarios=200)))
        assert said == f"bit-identical outcomes on 200 further scenarios{end}"

    def test_a_trade_is_told_before_what_it_was_seen_on(self) -> None:
        """With the scenarios that changed most."""
        seen = Seen(finding=Finding.OPEN, traded=TRADED, **RISEN).on(200)
        assert reason_of_metric(verdict(seen=seen)).endswith(
            "; traded: worse in 4 scenarios (a, b), better in 26 (c), on 200 further scenarios"
        )


class TestRedraws:
    """What was drawn again in other phases."""

    def test_what_is_certain_comes_first(self) -> None:
        """Further scenarios that do not show it, and uncertain counts, are not told."""
        said = reason_of_metric(
            verdict(further=Seen(finding=Finding.IDENTICAL, scenarios=9),
                    redraws=(drawn("s1", 1, 0.01), drawn("s2", 2, 1e-6)))
        )  # fmt: skip
        assert said == (f"confirmed: in 7 of 20 phase draws of s2, 0 of 20 before; {SAID}, q 0.004")

    def test_uncertain_counts_of_both_times_are_told(self) -> None:
        """The surest of each time."""
        draws = (drawn("s1", 1, 0.1), drawn("s2", 1, 0.01), drawn("s3", 2, 0.1))
        assert reason_of_metric(verdict(redraws=draws)).endswith(
            "; s2: in 7 of 20 phase draws, 0 of 20 before"
            "; s3: in 7 of 20 phase draws, 0 of 20 before"
        )

    def test_why_nothing_was_drawn(self) -> None:
        """Last."""
        assert reason_of_metric(verdict(not_drawn="no code")).endswith("; not drawn again: no code")


def configuration(status: Status, *metrics: MetricVerdict, **more: Any) -> ConfigVerdict:
    """A configuration with these metrics."""
    return ConfigVerdict(name="today", config_id="c", status=status, metrics=metrics, **more)


class TestChanges:
    """By how much a metric changed."""

    @pytest.mark.parametrize(
        ("ratio", "ends", "said"),
        [
            (1.2189, (1.08, 1.49), "1.22 × (1.08 to 1.49), 96 scenarios"),
            (0.0, (0.0, 0.0), "from 0.2 % of time to none, 96 scenarios"),
            (None, (None, None), "from none to 0.114 % of time, 96 scenarios"),
        ],
    )
    def test_a_change(
        self, ratio: float | None, ends: tuple[float | None, float | None], said: str
    ) -> None:
        """A ratio with its interval; from zero and to zero, how much; of how many scenarios."""
        one = verdict(
            metric=OFFLINE, ratio=ratio, ratio_low=ends[0], ratio_high=ends[1],
            baseline_value=2e-3, value=1.14e-3, scenarios=96,
        )  # fmt: skip
        assert change(one) == f"offline (no leader) {said}"

    @pytest.mark.parametrize(
        ("column", "ratio", "means", "said"),
        [
            (FLAPS, 2.0, (6.1, 12.2), "s 2 ×, from 6.1 to 12.2 a partition and hour"),
            (FLAPS, None, (0.0, 12.3), "s from none to 12.3 a partition and hour"),
            (FLAPS, 0.0, (12.3, 0.0), "s to none"),
            (LATENCY, 1.4, (10.0, 11.0), "s 1.4 ×"),
        ],
    )
    def test_a_stratum_has_its_size(
        self, column: str, ratio: float | None, means: tuple[float, float], said: str
    ) -> None:
        """Both means beside the ratio; not of a latency, whose ratio is not that of its means."""
        part = STRATUM.model_copy(
            update={"stratum": "s", "ratio": ratio, "baseline_value": means[0], "value": means[1]}
        )
        one = verdict(metric=column, ratio=1.5, strata=(part,))
        assert change(one).endswith(f"; in the stratum {said}")


class TestConfigurations:
    """Why a configuration has its status."""

    def test_metrics_that_decide_then_those_that_improved(self) -> None:
        """By their names in words."""
        better = verdict(Finding.FALL, metric=OFFLINE, status=Status.IMPROVED)
        worse = verdict(status=Status.SUSPECT)
        assert reason(configuration(Status.SUSPECT, better, worse)) == (
            f"ISR flaps: {SAID}, q 0.004; flagged; further scenarios decide; "
            f"offline (no leader): improved, {SAID}, q 0.004"
        )

    def test_metrics_without_room_are_counted(self) -> None:
        """No sentence is cut."""
        one = configuration(Status.OK, *[verdict(Finding.ROUNDING, status=Status.OK)] * 3)
        assert reason(one, room=40) == "ISR flaps: differs by rounding only; and 2 more metrics"

    def test_why_it_was_stopped_is_last(self) -> None:
        """After the metrics that stay open."""
        one = configuration(Status.SUSPECT, verdict(), stopped="stopped by hand")
        assert reason(one).endswith("; further scenarios decide; stopped by hand")

    @pytest.mark.parametrize(("advice", "end"), [(True, "; accept this night: do it"), (False, "")])
    def test_how_it_could_be_compared(self, advice: bool, end: str) -> None:
        """Where accepting the night mends it, and the night can be accepted."""
        one = configuration(Status.NO_DATA, not_compared=NotCompared(why="so", accept="do it"))
        assert reason(one, advice=advice) == f"so{end}"


SEEN = st.builds(
    Seen,
    finding=st.sampled_from(Finding),
    scenarios=st.none() | st.integers(1, 5_000),
    confirms=st.booleans(),
    value=st.floats(0.0, 1e9),
    baseline_value=st.floats(0.0, 1e9),
    ratio=st.none() | st.floats(0.0, 1e9),
    ratio_low=st.none() | st.floats(0.0, 1e9),
    ratio_high=st.none() | st.floats(0.0, 1e9),
    q=st.floats(0.0, 1.0),
    p=st.floats(0.0, 1.0),
    strata=st.sampled_from([(), (STRATUM,)]),
    differing=st.integers(0, 500),
    needed=st.integers(0, 20),
    newly=st.integers(0, 500),
    had=st.booleans(),
    traded=st.sampled_from([None, TRADED]),
)
DRAWS = st.sampled_from([(), (drawn("s1", 1, 0.01),), (drawn("s1", 1, 0.01), drawn("s2", 2, 1e-6))])
METRICS = st.builds(
    MetricVerdict,
    metric=st.sampled_from([FLAPS, LATENCY, OFFLINE]),
    status=st.sampled_from(Status),
    seen=st.none() | SEEN,
    further=st.none() | SEEN,
    not_drawn=st.sampled_from(["", "no code"]),
    redraws=DRAWS,
)


@given(st.lists(METRICS, max_size=3), st.sampled_from(Status), st.booleans())
def test_a_verdict_that_is_read_back_says_the_same(
    metrics: list[MetricVerdict], status: Status, awaited: bool
) -> None:
    """Whatever was found: headline, and reasons of configurations and metrics."""
    one = configuration(status, *metrics, changed=("detection_delay_ms",) if awaited else ())
    night = NightVerdict(
        experiment="operators", night="2026-11-26", status=status, red=False, panel_digest="p",
        code_version="v", outcomes_digest="o", tests=1, discordant_needed=3,
        awaits_confirm=("c",) if awaited else (), baseline=None, configurations=(one,),
        stopped="" if awaited else "stopped by hand",
    )  # fmt: skip
    back = NightVerdict.model_validate_json(night.model_dump_json(indent=1))
    (again,) = back.configurations
    assert (headline(back), reason(again)) == (headline(night), reason(one))
    assert list(map(reason_of_metric, again.metrics)) == list(map(reason_of_metric, metrics))
