"""A case: one configuration that differs from the baseline, with all it takes to ask why."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.kernels.commits import find_source
from isr_pipeline.kernels.difference import changed_parts
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.baseline import Baseline, source_of
from isr_pipeline.verdicts.judge import Sides, deciding, hurt, on_all, on_regression
from isr_pipeline.verdicts.quantities import is_latency, label, load_settings
from isr_pipeline.verdicts.record import (
    ConfigVerdict,
    MetricVerdict,
    NightVerdict,
    Status,
    accept_command,
    run_again,
    verdict_of,
)
from isr_pipeline.verdicts.sentences import change, reason, worst_first

if TYPE_CHECKING:
    from isr_pipeline.kernels.source import Source

SCENARIOS_MAX = 100
"""Differing scenarios that are run again to compare totals."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: the baseline or tonight.

    Attributes:
        name: how texts call its code.
        source: of its kernel.
        code_version: commit and kernel.
        overrides: of the configuration.
    """

    name: str
    source: Source
    code_version: str
    overrides: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A scenario that differs.

    Attributes:
        scenario: as its JSON has it; ``weight``: in its panel.
        before, after: the metric's value in the baseline and tonight.
        divisor: what turns a value into the scenario's total.
    """

    scenario_id: str
    scenario: dict[str, Any]
    weight: float
    before: float
    after: float
    divisor: float


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked about.

    Attributes:
        config: name of the configuration; ``metric``: the one that is asked about.
        status: of that metric; ``change``: how much it changed, as the night's page says it.
        deciding: scenarios that carry most of its change, the first most; at least one.
        differing: scenarios in which it differs, `SCENARIOS_MAX` and the deciding ones at most,
            evenly chosen; of the further scenarios too where these decided.
        is_named: whether the metric was asked for by its name.
        accepted: the baseline's run, by its date and time; ``tonight``: the night's.
    """

    experiment: str
    night: str
    config: str
    metric: str
    status: str
    change: str
    before: Side
    after: Side
    deciding: tuple[Drawn, ...]
    differing: tuple[Drawn, ...]
    is_named: bool = False
    accepted: str = ""
    tonight: str = ""

    @property
    def runs(self) -> str:
        """Which two are compared: they may be of one date."""
        return f"accepted {self.accepted}; tonight {self.tonight}"

    @property
    def same_code(self) -> bool:
        """Whether both sides ran the same kernel."""
        return self.before.source.kernel_digest == self.after.source.kernel_digest

    @property
    def changed_keys(self) -> list[str]:
        """Settings that the two do not have alike."""
        old, new = self.before.overrides, self.after.overrides
        return [key for key in {**old, **new} if old.get(key) != new.get(key)]

    @property
    def changed_things(self) -> int:
        """Settings and functions of the code that are not alike, as far as these can be told."""
        if self.same_code:
            return len(self.changed_keys)
        parts = changed_parts(self.before.source, self.after.source)
        return len(self.changed_keys) + max(1, len(parts))

    def share(self, values: list[float | None], drawn: tuple[Drawn, ...]) -> float:
        """How much of the change some values have: 0 as the baseline, 1 as tonight.

        Weighted sums of logarithms, so that one scenario does not outvote the rest. Those of a
        latency are of the ratios that called it: a rise of 2 ms in most of the population counts
        beside seconds in a few scenarios.
        """
        level = np.mean([abs(one.before) + abs(one.after) for one in drawn]) / 2 or 1.0
        if is_latency(self.metric):
            level = load_settings().metrics[self.metric].floor
        moved = full = 0.0
        for one, value in zip(drawn, values, strict=True):
            start = math.log1p(one.before / level)
            full += one.weight * (math.log1p(one.after / level) - start)
            moved += one.weight * (math.log1p((value or 0.0) / level) - start)
        return moved / full if full else 0.0


def read_case(plan: Plan, config: str, metric: str | None = None) -> Case:
    """Read what a run of a night and its baseline have of a configuration.

    Args:
        plan: of the run.
        config: name or config_id.
        metric: which is asked about, by its name or in words; None: the one that the night's page
            leads with.

    Raises:
        InputError: no such configuration, or no such metric that differs.
        Refused: nothing to compare with or nothing that differs, or a side's code is nowhere.
    """
    experiment, night = plan.experiment, plan.night
    where = f"night {night} of {experiment}"
    chosen = [one for one in plan.configurations if config in (one.name, one.config_id)]
    if not chosen:
        names = ", ".join(one.name for one in plan.configurations[:8])
        more = len(plan.configurations) - 8
        raise InputError(
            where, "CONFIG", config, f"{names}, and {more} more" if more > 0 else names
        )
    judged = verdict_of(plan)
    verdict = judged.configuration(chosen[0].config_id)
    baseline = _baseline(plan, judged, verdict)
    asked = _metric(verdict, where, metric)
    record, partner = baseline.record, verdict.baseline_config_id
    assert partner is not None, "checked by _baseline"
    before = Side(
        "the baseline's code",
        source_of(record, partner),
        record.acceptance(partner).code_version,
        dict(record.configuration(partner).overrides),
    )
    source = find_source(plan.code_version, Home.from_environment())
    if source is None:
        raise Refused(
            f"{where}: the sources of its code {plan.code_version} are neither kept nor in git; "
            f"{run_again(experiment, night)}"
        )
    after = Side("the night's code", source, plan.code_version, dict(chosen[0].overrides))
    first, differing = _scenarios(plan, baseline, judged, verdict, asked)
    return Case(
        experiment, night, chosen[0].name, asked.metric, str(asked.status), change(asked), before,
        after, first, differing, metric is not None, record.acceptance(partner).called,
        judged.called,
    )  # fmt: skip


def _baseline(plan: Plan, judged: NightVerdict, verdict: ConfigVerdict) -> Baseline:
    """The baseline that the configuration was compared with.

    Raises:
        Refused: there is none, or it is not the one that is there now.
    """
    baseline = baselines.load(plan.experiment)
    if baseline is None:
        raise Refused(
            f"{plan.experiment} has no baseline yet; accept one: "
            f"{accept_command(plan.experiment, 'NIGHT')}"
        )
    if baseline.record.panel_digest != plan.panel_digest:
        raise Refused(
            f"the baseline of {plan.experiment} (night {baseline.record.called}) is of another "
            f"panel than night {plan.night}: no scenario is in both"
        )
    if verdict.baseline_config_id is None:
        raise Refused(_not_compared(plan, judged, verdict, baseline))
    now = baseline.record
    partner = verdict.baseline_config_id
    known = partner in {one.config_id for one in now.configurations}
    accepted = now.acceptance(partner) if known else now.whole
    if baselines.is_of(accepted, plan, judged):
        raise Refused(_itself(plan))
    then = judged.baseline
    if not known or (then and accepted.accepted_at > (then.latest_at or then.accepted_at)):
        raise Refused(
            f"{verdict.name} was compared with another baseline than that of night "
            f"{accepted.called}, which was accepted since; {run_again(plan.experiment, plan.night)}"
        )
    return baseline


def _not_compared(
    plan: Plan, judged: NightVerdict, verdict: ConfigVerdict, baseline: Baseline
) -> str:
    """Why a night's configuration has no partner, though there is a baseline now."""
    if verdict.status is not Status.BASELINE:
        return f"{verdict.name} was not compared with the baseline: {reason(verdict)}"
    if baselines.is_of(baseline.record.whole, plan, judged):
        return _itself(plan)
    if judged.baseline is not None:
        return (
            f"{verdict.name} is new: the baseline of {plan.experiment} "
            f"(night {judged.baseline.called}) had no such configuration"
        )
    return (
        f"night {plan.night} of {plan.experiment} was judged before night "
        f"{baseline.record.called} was accepted; "
        f"{run_again(plan.experiment, plan.night)}"
    )


def _itself(plan: Plan) -> str:
    return (
        f"night {plan.night} of {plan.experiment} is the baseline itself; "
        "ask about a later night that differs from it"
    )


def _metric(verdict: ConfigVerdict, where: str, named: str | None) -> MetricVerdict:
    """The metric that is asked about: the one named, else the worst of those that differ."""
    differing = worst_first([one for one in verdict.metrics if one.discordant and one.delta])
    if not differing:
        raise Refused(f"{where}: {verdict.name} differs from the baseline in no tested metric")
    if named is None:
        return differing[0]
    for one in differing:
        if named in (one.metric, label(one.metric)):
            return one
    allowed = ", ".join(one.metric for one in differing)
    raise InputError(where, "--metric", named, f"what differs under {verdict.name}: {allowed}")


def _scenarios(
    plan: Plan,
    baseline: Baseline,
    judged: NightVerdict,
    verdict: ConfigVerdict,
    asked: MetricVerdict,
) -> tuple[tuple[Drawn, ...], tuple[Drawn, ...]]:
    """The deciding scenarios, and a choice of all that differ.

    The first are those that the report draws. Among the second are those of the further scenarios
    that decided: a trial over more of them is less a matter of chance. Where the alarm is of
    strata, both are of these: what the others do by chance would hide it.

    Raises:
        Refused: none differs.
    """
    regression = on_regression(plan, baseline, verdict)
    everything = cache(lambda: on_all(plan, baseline, judged, verdict))
    sides, found = deciding(asked, regression, everything)
    if asked.p_confirm is not None:
        sides = everything() or sides
    drawn = _drawn(sides, asked.metric)
    names = [name for name in found if name in drawn]
    if not names:
        raise Refused(
            f"night {plan.night} of {plan.experiment}: no scenario that both sides ran differs in "
            f"{asked.metric} under {verdict.name}; {run_again(plan.experiment, plan.night)}"
        )
    strata = dict(zip(sides.new.scenario_ids, sides.new.strata, strict=True))
    inside = hurt(asked)
    differing = [name for name in drawn if not inside or strata[name] in inside] or list(drawn)
    step = max(1, math.ceil(len(differing) / SCENARIOS_MAX))
    chosen = dict.fromkeys([*differing[::step], *(name for name in names if name in differing)])
    return tuple(drawn[name] for name in names), tuple(drawn[name] for name in chosen)


def _drawn(sides: Sides, metric: str) -> dict[str, Drawn]:
    """Name -> scenario, of those that differ and that both sides ran."""
    rows, new, old = sides.rows, sides.new, sides.old
    texts = dict(zip(rows["scenario_id"], rows["scenario_json"], strict=True))
    before, after = old.values[metric][:, 0], new.values[metric][:, 0]
    both = ~(new.unusable | old.unusable)[:, 0]
    divisors = new.divisors(metric)
    return {
        name: Drawn(
            name,
            dict(json.loads(texts[name])),
            float(new.weights[at]),
            float(before[at]),
            float(after[at]),
            float(divisors[at]),
        )
        for at, name in enumerate(new.scenario_ids)
        if both[at] and before[at] != after[at]
    }
