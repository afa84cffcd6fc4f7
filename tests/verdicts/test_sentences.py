"""Sentences that are made of a verdict's facts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.verdicts.quantities import FLAPS, LATENCY, OFFLINE, PRODUCE
from isr_pipeline.verdicts.record import (
    ConfigVerdict,
    Figures,
    Finding,
    MetricVerdict,
    NightVerdict,
    NotCompared,
    Per,
    Redraw,
    Seen,
    Status,
    StratumVerdict,
    Traded,
)
from isr_pipeline.verdicts.sentences import change, headline, reason, reason_of_metric
from tests.approved import Approved

STRATUM = StratumVerdict(
    stratum="isr-churn", status=Status.SUSPECT, scenarios=14, share=0.1, risen=14, fallen=0,
    value=2.0, baseline_value=1.0, ratio=2.0,
    pair=Figures(per=Per.YEAR, scenarios=14, before=1.0, after=2.0, ratio=2.0),
)  # fmt: skip
PAIR = Figures(per=Per.YEAR, scenarios=96, before=5.0, after=6.6, ratio=1.32, low=1.1)
RISEN: dict[str, Any] = {
    "value": 6.6, "baseline_value": 5.0, "ratio": 1.32, "ratio_low": 1.1, "ratio_high": None,
    "q": 0.004, "p": 0.3, "differing": 2, "needed": 3, "pair": PAIR,
}  # fmt: skip
TRADED = Traded(risen=4, fallen=26, risen_most=("a", "b"), fallen_most=("c",))


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


def said(**cases: MetricVerdict) -> list[str]:
    """Each case with its sentence."""
    return [f"{name}: {reason_of_metric(found)}" for name, found in cases.items()]


class TestMetrics:
    """Why a metric has its status."""

    def test_each_finding_has_its_sentence(self, approved: Approved) -> None:
        """On the standing panel."""
        told = {"strata": (STRATUM,), "newly": 2, **RISEN}
        approved(
            f"{finding}: {reason_of_metric(verdict(seen=Seen(finding=finding, **told)))}"
            for finding in Finding
            if finding not in (Finding.NONE_RULES_OUT, Finding.NONE_LEAVES_OPEN)
        )

    def test_what_a_look_adds(self, approved: Approved) -> None:
        """What these had that newly have any; a latency's ratio is of its geometric mean."""
        newly = Seen(finding=Finding.NEWLY, newly=2, had=True, **RISEN)
        approved(
            said(
                newly_where_little_was=verdict(seen=newly),
                latency=verdict(Finding.FALL, metric=LATENCY),
            )
        )

    def test_further_scenarios(self, approved: Approved) -> None:
        """What was seen first stays first; they confirm it or not; a trade has its scenarios."""
        first = Seen(finding=Finding.RISE, **RISEN)
        traded = Seen(finding=Finding.OPEN, traded=TRADED, **RISEN)
        approved(
            said(
                confirmed=verdict(seen=first.on(120, confirms=True)),
                not_confirmed=verdict(further=Seen(finding=Finding.RULED_OUT, **RISEN).on(200)),
                none_rules_out=verdict(seen=Seen(finding=Finding.NONE_RULES_OUT, scenarios=200)),
                none_leaves_open=verdict(
                    seen=Seen(finding=Finding.NONE_LEAVES_OPEN, scenarios=200)
                ),
                traded=verdict(seen=traded.on(200)),
            )
        )

    def test_other_phases(self, approved: Approved) -> None:
        """What is certain comes first; else the surest of each time; or why nothing was drawn."""
        nothing = Seen(finding=Finding.IDENTICAL, scenarios=9)
        unsure = drawn("s1", 1, 0.1), drawn("s2", 1, 0.01), drawn("s3", 2, 0.1)
        approved(
            said(
                certain=verdict(
                    further=nothing, redraws=(drawn("s1", 1, 0.01), drawn("s2", 2, 1e-6))
                ),
                unsure=verdict(redraws=unsure),
                not_drawn=verdict(not_drawn="no code"),
            )
        )


def configuration(status: Status, *metrics: MetricVerdict, **more: Any) -> ConfigVerdict:
    """A configuration with these metrics."""
    return ConfigVerdict(name="today", config_id="c", status=status, metrics=metrics, **more)


class TestChanges:
    """By how much a metric changed."""

    def test_a_change(self, approved: Approved) -> None:
        """A ratio with its interval; from zero and to zero, how much; of how many scenarios."""
        sizes = (
            {"before": 10.0, "after": 12.19, "ratio": 1.219, "low": 1.08, "high": 1.49},
            {"before": 10.0, "after": 0.0, "ratio": 0.0, "low": 0.0, "high": 0.0},
            {"before": 0.0, "after": 10.0, "ratio": None, "low": None, "high": None},
            {"before": 0.0, "after": 0.0, "ratio": 1.0, "low": 1.0, "high": 1.0},
        )
        calm = Figures(per=Per.SCENARIO, scenarios=9, before=3.0, after=4.0, ratio=4 / 3)
        approved(
            change(
                verdict(
                    metric=OFFLINE, pair=PAIR.model_copy(update={"per": per, **size}),
                    scenarios=96, without_incident=beside,
                )
            )
            for per, beside in ((Per.YEAR, None), (Per.YEAR, calm), (Per.MIX, None))
            for size in sizes
        )  # fmt: skip

    def test_a_stratum_has_its_figures(self, approved: Approved) -> None:
        """Of a year; where nobody counts incidents, of one scenario and how long it lasts."""
        hit = {"per": Per.SCENARIO, "when": "a disk stalls for 20 to 60 s"}
        parts = (
            (FLAPS, {"ratio": 2.0, "before": 6.1, "after": 12.2}),
            (FLAPS, {"ratio": None, "before": 0.0, "after": 12.3}),
            (FLAPS, {"ratio": 0.0, "before": 12.3, "after": 0.0}),
            (FLAPS, {"ratio": 2.0, "before": 6.1, "after": 12.2, **hit}),
            (LATENCY, {"ratio": 1.1, "before": 10.0, "after": 11.0, "per": Per.TYPICAL}),
            (PRODUCE, {"ratio": 2.0, "before": 77.0, "after": 154.0, "hit": (3.5, 7.0), **hit}),
            (PRODUCE, {"ratio": None, "before": 0.0, "after": 154.0, "hit": (0.0, 7.0), **hit}),
        )
        approved(
            change(
                verdict(
                    metric=metric, pair=PAIR,
                    strata=(STRATUM.model_copy(update={"pair": PAIR.model_copy(update=part)}),),
                )
            )
            for metric, part in parts
        )  # fmt: skip


class TestConfigurations:
    """Why a configuration has its status."""

    def test_reasons(self, approved: Approved) -> None:
        """What decides, then what improved, then why it was stopped; no sentence is cut."""
        better = verdict(Finding.FALL, metric=OFFLINE, status=Status.IMPROVED)
        rounding = [verdict(Finding.ROUNDING, status=Status.OK)] * 3
        away = configuration(Status.NO_DATA, not_compared=NotCompared(why="so"))
        approved(
            [
                reason(configuration(Status.SUSPECT, better, verdict(status=Status.SUSPECT))),
                reason(configuration(Status.OK, *rounding), room=40),
                reason(configuration(Status.SUSPECT, verdict(), stopped="stopped by hand")),
                reason(away),
            ]
        )


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
    pair=st.sampled_from([None, PAIR]),
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
