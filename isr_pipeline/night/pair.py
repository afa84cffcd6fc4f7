"""One pair of a night again: the scenario of a night under one of its configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.experiment.plan import Plan, code_version
from isr_pipeline.kernels.source import kernel_of
from isr_pipeline.scenarios.model import apply, parse_scenario, scenario_from_json, with_settings
from isr_pipeline.tables import store
from isr_pipeline.verdicts import baseline
from isr_pipeline.verdicts.record import load_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.scenarios.model import Scenario

NAMES_SHOWN_MAX = 8


def scenario_of_night(
    experiment: str, night: str, scenario_id: str, config: str, settings: Sequence[str] = ()
) -> Scenario:
    """Return the scenario exactly as the night's jobs ran it.

    Args:
        experiment: name.
        night: YYYY-MM-DD.
        scenario_id: as in the tables and the report.
        config: name or config_id of a configuration of that night.
        settings: ``KEY=VALUE`` texts laid over it.

    Raises:
        InputError: no such scenario, configuration or setting.
        TableMissing: the night has no scenarios.
    """
    where = f"night {night} of {experiment}"
    plan = Plan.of_night(experiment, night)
    chosen = _configuration(plan, config, where)
    scenario = apply(_stored(experiment, night, scenario_id), chosen.overrides)
    if not settings:
        return scenario
    raw = scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
    return parse_scenario(with_settings(raw, settings, where), where)


def _stored(experiment: str, night: str, scenario_id: str) -> Scenario:
    """A scenario of a night, without a configuration."""
    rows = store.read_arrow(
        "scenarios",
        experiment,
        night,
        columns=["scenario_id", "scenario_json"],
        where=pc.field("scenario_id") == scenario_id,
    ).to_pylist()
    if not rows:
        known = store.read_arrow("scenarios", experiment, night, columns=["scenario_id"])
        names = _some(known.column("scenario_id").to_pylist())
        raise InputError(f"night {night} of {experiment}", "--scenario", scenario_id, names)
    return scenario_from_json(rows[0]["scenario_json"])


def baseline_of_night(
    experiment: str, night: str, scenario_id: str, config: str
) -> Scenario | None:
    """Return the same scenario under the baseline's configuration, to be run beside it.

    Args:
        experiment: name.
        night: YYYY-MM-DD.
        scenario_id: as in the tables and the report.
        config: name or config_id of a configuration of that night.

    Returns:
        None if the night was not compared with the baseline that is there now, if the settings are
        the same, or if the baseline ran another kernel than this one: `why` runs both.
    """
    plan = Plan.of_night(experiment, night)
    chosen = _configuration(plan, config, f"night {night} of {experiment}")
    try:
        partner = load_verdict(experiment, night).configuration(chosen.config_id).baseline_config_id
        accepted = baseline.load(experiment)
    except Refused:
        return None
    if accepted is None or partner is None:
        return None
    record = accepted.record
    if partner not in {one.config_id for one in record.configurations}:
        return None
    overrides = record.configuration(partner).overrides
    same_kernel = kernel_of(record.acceptance(partner).code_version) == kernel_of(code_version())
    if overrides == chosen.overrides or not same_kernel:
        return None
    return apply(_stored(experiment, night, scenario_id), overrides)


def _configuration(plan: Plan, config: str, where: str) -> Configuration:
    for one in plan.configurations:
        if config in (one.name, one.config_id):
            return one
    raise InputError(where, "--config", config, _some([one.name for one in plan.configurations]))


def _some(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:NAMES_SHOWN_MAX])
    more = len(names) - NAMES_SHOWN_MAX
    return f"{shown}, and {more} more" if more > 0 else shown
