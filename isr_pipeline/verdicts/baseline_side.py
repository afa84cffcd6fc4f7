"""The baseline's side of a scenario that it was not accepted with: whose code, which settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.errors import Refused
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.kernels.source import kernel_of
from isr_pipeline.scenarios.former_names import column_now
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.judge import panel_rows
from isr_pipeline.verdicts.kept import source_of
from isr_pipeline.verdicts.model import load_verdict
from isr_pipeline.worlds.columns import METRICS

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
    """Configurations whose side of the baseline cannot be simulated, and why."""
    record = baselines.show(plan.experiment)
    assert record is not None, "something was compared, so there was a baseline"
    found = {}
    for config_id, partner in _partners(plan, config_ids).items():
        try:
            if not _is_present(plan, record, partner):
                source_of(record, partner)
        except Refused as refusal:
            found[config_id] = str(refusal)
    return found


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


def baseline_sides(plan: Plan, config_ids: tuple[str, ...]) -> tuple[BaselineSide, ...]:
    """Prepare the baseline's side of some configurations; compiles its kernels if need be.

    Raises:
        Refused: a code cannot be run here, or gives other numbers than were accepted.
    """
    baseline = baselines.load(plan.experiment)
    assert baseline is not None, "something was compared, so there was a baseline"
    record = baseline.record
    partners = _partners(plan, config_ids)
    by_code: dict[str, dict[str, str]] = {}
    for config_id, partner in partners.items():
        code = kernel_of(record.acceptance(partner).code_version)
        by_code.setdefault(code, {})[config_id] = partner
    sides = []
    for code, members in by_code.items():
        overrides = {
            config_id: record.configuration(partner).overrides
            for config_id, partner in members.items()
        }
        first = next(iter(members.values()))
        if _is_present(plan, record, first):
            sides.append(BaselineSide(code, overrides, None))
            continue
        source = source_of(record, first)
        sides.append(BaselineSide(code, overrides, source, _tried(plan, baseline, source, first)))
    return tuple(sides)


def _tried(plan: Plan, baseline: Baseline, source: Source, partner: str) -> tuple[str, ...]:
    """Run a pair that the baseline has, which also compiles the kernel before many need it.

    Returns:
        Lines about libraries that are not those it was accepted with.

    Raises:
        Refused: the outcome is another.
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
    given = {column_now(name): value for name, value in ran.outcome.items()}
    if ran.problem or any(given.get(name) != accepted[name] for name in METRICS):
        other = f" ({', '.join(libraries)})" if libraries else ""
        raise Refused(
            "the baseline's code does not give here what was accepted, in scenario "
            f"{cheapest['scenario_id']}{other}"
        )
    return tuple(f"the baseline's code runs with {line}" for line in libraries)
