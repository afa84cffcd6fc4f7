"""The command ``night validate``; what it does is imported where it is called."""

from __future__ import annotations

import typer

from isr_pipeline.base.errors import Refused
from isr_pipeline.night.options import AsJson, ExperimentOfNight, NightArgument


def night_validate(
    night: NightArgument, experiment: ExperimentOfNight = None, *, as_json: AsJson = False
) -> None:
    """Check a night's tables and files again as they lie; say what does not hold."""
    from isr_pipeline.base.files.whole import write_json  # noqa: PLC0415
    from isr_pipeline.night.publication import find_night  # noqa: PLC0415
    from isr_pipeline.night.validate import plan_of, validate  # noqa: PLC0415

    found = validate(plan_of(*find_night(night, experiment)))
    if as_json:
        write_json(found.as_json(), "-", "--json")
    else:
        typer.echo("\n".join(found.lines()))
    if found.refused:
        raise typer.Exit(Refused.exit_status)
