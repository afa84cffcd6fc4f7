"""The baseline's side of a scenario that it was not accepted with: whose code, which settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.errors import Refused
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.kernels.source import kernel_of, libraries_here
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.judge import panel_rows
from isr_pipeline.verdicts.kept import source_of
from isr_pipeline.verdicts.model import accept_command, load_verdict
from isr_pipeline.worlds.columns import COUNTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.kernels.source import Source
    from isr_pipeline.verdicts.baseline import Baseline, BaselineRecord


@dataclass(frozen=True)
class BaselineSide:
    """Configurations whose partners in the baseline are of one code, and how to simulate them.

    Attributes:
        name: of the code, for a part of the tables.
        overrides: config_id of tonight -> what its partner in the baseline overrides.
        other: sources of that code; None if it is the present code.
        remarks: lines to say before.
    """

    name: str
    overrides: Mapping[str, Mapping[str, Any]]
    other: Source | None
    remarks: tuple[str, ...] = ()


def without_code(plan: Plan, config_ids: tuple[str, ...]) -> dict[str, str]:
    """Configurations whose side of the baseline cannot be simulated, and why.

    Each older code is tried: it repeats a pair that the baseline has. That compiles its kernel,
    before many processes need it.

    Returns:
        config_id -> one line that says what to do; no entry where nothing is in the way.
    """
    baseline = _accepted(plan)
    found: dict[str, str] = {}
    for members in _by_code(plan, baseline.record, config_ids).values():
        first = next(iter(members.values()))
        if _is_present(plan, baseline.record, first):
            continue
        try:
            _tried(plan, baseline, first)
        except Refused as refusal:
            found |= dict.fromkeys(members, str(refusal))
    return found


def _accepted(plan: Plan) -> Baseline:
    baseline = baselines.load(plan.experiment)
    assert baseline is not None, "something was compared, so there was a baseline"
    return baseline


def _partners(plan: Plan, config_ids: tuple[str, ...]) -> dict[str, str]:
    """config_id of tonight -> config_id in the baseline."""
    verdict = load_verdict(plan.experiment, plan.night)
    return {
        one.config_id: one.baseline_config_id
        for one in verdict.configurations
        if one.config_id in config_ids and one.baseline_config_id is not None
    }


def _is_present(plan: Plan, record: BaselineRecord, partner: str) -> bool:
    """Whether a configuration of the baseline was simulated by the kernel that runs now."""
    return kernel_of(record.acceptance(partner).code_version) == kernel_of(plan.code_version)


def _by_code(
    plan: Plan, record: BaselineRecord, config_ids: tuple[str, ...]
) -> dict[str, dict[str, str]]:
    """Code of the baseline -> config_id of tonight -> config_id in the baseline."""
    found: dict[str, dict[str, str]] = {}
    for config_id, partner in _partners(plan, config_ids).items():
        code = kernel_of(record.acceptance(partner).code_version)
        found.setdefault(code, {})[config_id] = partner
    return found


def baseline_sides(plan: Plan, config_ids: tuple[str, ...]) -> tuple[BaselineSide, ...]:
    """Prepare the baseline's side of some configurations, with each older code tried here as well.

    Raises:
        Refused: a code cannot be run here, or gives other numbers than were accepted.
    """
    baseline = _accepted(plan)
    record = baseline.record
    sides = []
    for code, members in _by_code(plan, record, config_ids).items():
        overrides = {
            config_id: record.configuration(partner).overrides
            for config_id, partner in members.items()
        }
        first = next(iter(members.values()))
        if _is_present(plan, record, first):
            sides.append(BaselineSide(code, overrides, None))
            continue
        source = _tried(plan, baseline, first)
        others = source.other_libraries(libraries_here())
        remarks = tuple(f"the baseline's code runs with {one}" for one in others)
        sides.append(BaselineSide(code, overrides, source, remarks))
    return tuple(sides)


def _tried(plan: Plan, baseline: Baseline, partner: str) -> Source:
    """The sources of one configuration's side, once they gave again what was accepted.

    Raises:
        Refused: they are not kept, cannot be run here, or give another outcome; what to do.
    """
    source = source_of(baseline.record, partner)
    try:
        _repeat(plan, baseline, source, partner)
    except Refused as refusal:
        command = accept_command(plan.experiment, "NIGHT")
        raise Refused(f"{refusal}; accept a night of today's code: {command}") from None
    return source


def _repeat(plan: Plan, baseline: Baseline, source: Source, partner: str) -> None:
    """Run a pair that the baseline has by the code that it was accepted with.

    Raises:
        Refused: the code cannot be run here, or the outcome is another.
    """
    drawn = panel_rows("scenarios", plan.experiment, plan.night, "regression")
    cheapest = drawn.sort_values(["expected_cost", "scenario_id"]).iloc[0]
    overrides = baseline.record.configuration(partner).overrides
    with Kernel(source, "the baseline's code") as kernel:
        ran = kernel.run(json.loads(cheapest["scenario_json"]), overrides, events=False)
        libraries = kernel.other_libraries()
    rows = baseline.outcomes
    (accepted,) = rows[
        (rows["scenario_id"] == cheapest["scenario_id"]) & (rows["config_id"] == partner)
    ].to_dict("records")
    if ran.problem or any(ran.outcome.get(name) != accepted[name] for name in COUNTED):
        notes = [one for one in (ran.problem, *libraries) if one]
        other = f" ({', '.join(notes)})" if notes else ""
        raise Refused(
            "the baseline's code does not give here what was accepted, in scenario "
            f"{cheapest['scenario_id']}{other}"
        )
