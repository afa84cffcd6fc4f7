"""Looks at more and more independent scenarios: what each may err, and what it calls again.

The regression panel says what is asked: a metric that is `suspect` or `undecided` there is open.
The scenarios of the stages (:mod:`isr_pipeline.experiment.stages`) were not chosen by it, so what
they say holds whatever was asked. After each stage all of them so far are looked at together, as
one panel, and each open metric is called again. Looking again and again would find something by
chance sooner or later; so each look may err a part only of what the whole night may, by a spending
function of Lan and DeMets (1983), and the parts add up to it, whatever the looks have in common.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isr_pipeline.verdicts.halves import ONE_SIDED
from isr_pipeline.verdicts.look import call, size_of
from isr_pipeline.verdicts.materiality import Size, is_latency, rise_matters
from isr_pipeline.verdicts.model import OPEN, Finding, MetricVerdict, Seen, Status, StratumVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isr_pipeline.experiment.stages import Stage
    from isr_pipeline.verdicts.panel import PanelOutcomes
    from isr_pipeline.verdicts.settings import VerdictSettings

FLIPS_PER_LOOK = 4
"""Times more flips at a look than on the regression panel: its level is a part of the whole."""


@dataclass(frozen=True)
class Look:
    """One look at all scenarios of some stages.

    Attributes:
        panels: of these stages.
        scenarios: of all of them.
        share: of the errors of all looks, what this one may make.
        is_last: whether the budget is spent with it.
    """

    panels: tuple[str, ...]
    scenarios: int
    share: float
    is_last: bool

    def settings(self, whole: VerdictSettings, kept: float) -> VerdictSettings:
        """The settings of a night as a look calls by them: what it finds worse is confirmed.

        Args:
            whole: of the night.
            kept: see :func:`call_open`.
        """
        return whole.model_copy(
            update={
                "suspicion_rate": kept * whole.confirm_p,
                "false_discovery_rate": kept * whole.false_discovery_rate,
                "suspicion_share": 1.0,
                "flips_max": FLIPS_PER_LOOK * whole.flips_max,
            }
        )


def looks(stages: Sequence[Stage]) -> tuple[Look, ...]:
    """The looks of a night, one after each stage; their shares sum to 1."""
    most = stages[-1].end
    found = []
    before = 0.0
    for number, stage in enumerate(stages, start=1):
        total = spent(stage.end / most)
        panels = tuple(one.panel for one in stages[:number])
        found.append(Look(panels, stage.end, total - before, number == len(stages)))
        before = total
    return tuple(found)


def spent(information: float) -> float:
    """Share of all error that is spent when that share of all scenarios is in.

    Lan and DeMets' function for boundaries like Pocock's (Biometrika 70, 1983, p. 659): early looks
    get enough of it to decide large effects.
    """
    return math.log1p((math.e - 1.0) * information)


def call_open(
    called: Sequence[tuple[MetricVerdict, ...]],
    new: PanelOutcomes,
    old: PanelOutcomes,
    settings: VerdictSettings,
    *,
    look: Look,
    kept: float = 1.0,
    allowed: frozenset[tuple[str, str]] = frozenset(),
) -> list[tuple[MetricVerdict, ...]]:
    """Call every open metric again by what a look sees.

    What is decided stays as it is, but for what was `ok` or `unchanged`: the scenarios are there,
    and the look's correction counts all metrics of an open configuration. So what they show to be
    worse is called, too, and what they no longer rule out is open again.

    Args:
        called: verdicts of some configurations so far.
        new: their outcomes on the look's scenarios, in the same order.
        old: those of the baseline.
        settings: of the night.
        look: which one.
        kept: share of the configurations of the first look that are still open. Those that are
            not were chosen by what was seen, and still count in the correction.
        allowed: (metric, config_id) of what must never happen in other configurations.
    """
    here = look.settings(settings, kept)
    again, _ = call(new, old, here, share=look.share, allowed=allowed)
    by = _Looked(look, look.share * here.suspicion_rate, Counter(new.strata), settings)
    return [
        tuple(
            _called_again(metric, seen, by)
            if metric.status in OPEN or _opens_again(metric, seen, by)
            else metric
            for metric, seen in zip(metrics, looked, strict=True)
        )
        for metrics, looked in zip(called, again, strict=True)
    ]


@dataclass(frozen=True)
class _Looked:
    """What metrics are called again by.

    Attributes:
        look: which one.
        level: that it may call a rise at.
        strata: stratum -> its scenarios.
        settings: of the night.
    """

    look: Look
    level: float
    strata: Mapping[str, int]
    settings: VerdictSettings


def _called_again(before: MetricVerdict, seen: MetricVerdict, by: _Looked) -> MetricVerdict:
    """One open metric after a look.

    A suspicion stays one only as long as the further scenarios show a rise as well, or if it is of
    something that must never happen. Single scenarios that the regression panel shows are shown
    whatever a look says.
    """
    suspect = before.status is Status.SUSPECT
    is_confirmed = _is_confirmed(seen, by)
    here = _seen(seen).on(by.look.scenarios, confirms=is_confirmed)
    strata = tuple(_confirmed(one) for one in seen.strata)
    status, first, further = seen.status, here, None
    if is_confirmed:
        status = Status.REGRESSED
    elif suspect and (before.newly or seen.status is Status.UNCHANGED):
        # What was found stays what the numbers are about: it did happen.
        newly = _together(before.newly, seen.newly)
        return before.model_copy(update={"further": here, "p_confirm": seen.p, "newly": newly})
    elif seen.status is Status.UNCHANGED:
        return _never_again(before, seen, by)
    elif suspect and seen.status is Status.UNDECIDED and _rises(seen, by.settings):
        status, first, further = Status.SUSPECT, _seen(before), here
    update = {
        "status": status,
        "seen": first,
        "further": further,
        "p_confirm": seen.p,
        "scenarios": by.look.scenarios,
        "strata": strata,
        "alone": _together(before.alone, seen.alone),
        "redraws": before.redraws,
    }
    return seen.model_copy(update=update)


def _seen(metric: MetricVerdict) -> Seen:
    """What a verdict follows from."""
    assert metric.seen is not None, "it was compared"
    return metric.seen


def _never_again(before: MetricVerdict, seen: MetricVerdict, by: _Looked) -> MetricVerdict:
    """A metric that differed on the regression panel, and in no scenario of a look.

    That no further one differs bounds how often one does, not how much. So a rise is ruled out if
    scenarios like those of the regression panel, as frequent as could have been missed, add up to
    less than what matters. Else the numbers of the regression panel stay: it did happen.
    """
    size = _most_missed(before, by)
    count = by.look.scenarios
    if rise_matters(size, by.settings):
        none = Seen(finding=Finding.NONE_LEAVES_OPEN, scenarios=count)
        return before.model_copy(update={"status": Status.UNDECIDED, "further": none})
    return seen.model_copy(
        update={
            "status": Status.OK,
            "seen": Seen(finding=Finding.NONE_RULES_OUT, scenarios=count),
            "ratio_high": size.ratio if math.isfinite(size.ratio) else None,
            "high_level": by.look.share * ONE_SIDED,
            "scenarios": count,
            "alone": before.alone,
        }
    )


def _most_missed(before: MetricVerdict, by: _Looked) -> Size:
    """The largest change that a look without any difference leaves possible.

    Of n scenarios none differs with a probability of at most the level unless differing ones are
    rarer than -ln(level) / n (Poisson; at 5 % the "rule of three"). They may all be of one stratum:
    the one in which they would add most. Each is taken to be as bad as those of the regression
    panel that got worse in that stratum.
    """
    missed = -math.log(by.look.share * ONE_SIDED)
    latency = is_latency(before.metric)
    most = 0.0
    for one in before.strata:
        if one.risen:
            rise = math.log(one.ratio or 1.0) if latency else one.value - one.baseline_value
            each = max(rise, 0.0) * one.scenarios / one.risen
            most = max(most, one.share * each * min(1.0, missed / by.strata[one.stratum]))
    value = before.baseline_value or 0.0
    if latency:
        return Size(before.metric, value, value, math.exp(most))
    ratio = 1.0 + most / value if value else math.inf if most else 1.0
    return Size(before.metric, value + most, value, ratio)


def _together(first: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """Names of both, each once."""
    return tuple(dict.fromkeys((*first, *more)))


def _opens_again(before: MetricVerdict, seen: MetricVerdict, by: _Looked) -> bool:
    """Whether a look calls again what was decided: it shows a rise, or what must never happen.

    A rise need not be sure. A small stratum of which few scenarios differ may show nothing in one
    panel; what was `ok` there is open again where more scenarios show a rise that matters, and no
    longer rule it out.
    """
    if before.status not in {Status.OK, Status.UNCHANGED}:
        return False
    if _is_confirmed(seen, by):
        return True
    if seen.status is Status.SUSPECT and seen.newly:
        return True
    return seen.status in OPEN and _rises(seen, by.settings)


def _is_confirmed(seen: MetricVerdict, by: _Looked) -> bool:
    """Whether a look that may err so much calls a rise that matters, in all or in a stratum."""
    if seen.status is not Status.SUSPECT:
        return False
    if any(one.status is Status.SUSPECT for one in seen.strata):
        return True
    assert seen.q is not None, "what is suspect differs"
    return seen.q <= by.level and rise_matters(size_of(seen, seen.metric), by.settings)


def _confirmed(one: StratumVerdict) -> StratumVerdict:
    """A stratum that a look calls worse: by its level that is confirmed."""
    status = Status.REGRESSED if one.status is Status.SUSPECT else one.status
    return one.model_copy(update={"status": status, "p_confirm": one.p})


def _rises(seen: MetricVerdict, settings: VerdictSettings) -> bool:
    """Whether a look shows a rise that would be looked at again."""
    return rise_matters(size_of(seen, seen.metric), settings, settings.suspicion_share)
