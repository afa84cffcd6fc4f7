"""Which strata the stages of a night take, kept in the night's folder (``strata.json``).

`verdicts/stages.py` decides it when a stage begins; whoever draws the stage's scenarios, or
checks them, reads it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from isr_pipeline.errors import Refused
from isr_pipeline.experiment.stages import CONFIRM
from isr_pipeline.files.whole import write_whole
from isr_pipeline.home import Home

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.experiment.stages import Stage
    from isr_pipeline.storage.places import Place

Counts = dict[str, int]
"""Stratum -> scenarios."""

FILE = "strata.json"


def strata_before(plan: Plan, stage: Stage) -> list[Counts]:
    """Strata of the stages between the confirm panel and one.

    Raises:
        Refused: one of them was not decided, or the file is damaged.
    """
    return _decided(plan, _beyond_confirm(plan, stage)[:-1])


def stage_strata(plan: Plan, stage: Stage) -> list[Counts]:
    """Strata of the stages beyond the confirm panel, up to and with one.

    Raises:
        Refused: one of them was not decided, or the file is damaged.
    """
    return _decided(plan, _beyond_confirm(plan, stage))


def _beyond_confirm(plan: Plan, stage: Stage) -> list[str]:
    """Panels of the stages beyond the confirm panel, up to and with one."""
    names = [one.panel for one in plan.stages if one.panel != CONFIRM]
    return names[: names.index(stage.panel) + 1]


def _decided(plan: Plan, panels: list[str]) -> list[Counts]:
    known = _read(_path(plan))
    missing = [panel for panel in panels if panel not in known]
    if missing:
        raise Refused(
            f"night {plan.night} of {plan.experiment}: {FILE} does not say which strata stage "
            f"{missing[0]} takes; run the night again"
        )
    return [known[panel] for panel in panels]


def keep_strata(plan: Plan, stage: Stage, counts: Counts) -> None:
    """Note which strata a stage takes; what stood there of it and of later ones goes."""
    names = [one.panel for one in plan.stages]
    known = _read(_path(plan))
    earlier = {one: known[one] for one in names[: names.index(stage.panel)] if one in known}
    text = json.dumps({**earlier, stage.panel: counts}, indent=1) + "\n"
    write_whole(_path(plan), text)


def _path(plan: Plan) -> Place:
    return Home.from_environment().night_dir(plan.experiment, plan.night) / FILE


def _read(path: Place) -> dict[str, Counts]:
    """Panel -> strata; nothing where no stage was decided.

    Raises:
        Refused: the file is damaged.
    """
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return {str(panel): dict(counts) for panel, counts in known.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError, TypeError):
        raise Refused(f"{path} is damaged; run the night again") from None
