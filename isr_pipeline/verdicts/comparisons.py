"""Comparisons with the reference that were made once, and are kept for later nights.

What was asked may take thousands of scenarios. The next night would simulate the same ones under
the same rules and settings, and find the same. So a night that is decided keeps what it says of
what was asked, in one file for its experiment, and a later night takes it from there.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from isr_pipeline.files.models import Strict, format_of
from isr_pipeline.files.whole import write_whole
from isr_pipeline.home import Home
from isr_pipeline.kernels.source import kernel_of
from isr_pipeline.verdicts.difference import AgainstReference

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.storage.places import Place
    from isr_pipeline.verdicts.model import NightVerdict
    from isr_pipeline.verdicts.settings import VerdictSettings

FORMAT = 1
"""Number of the format of the file: one more when an older one cannot be read any more."""

DRAWN_FROM = frozenset({"seed", "cluster", "profile", "horizon_ms", "warmup_ms", "budget"})
"""Fields of an experiment that say which scenarios a night may look at."""


class Comparisons(Strict):
    """The file of an experiment.

    Attributes:
        made: :func:`digest` -> what was said; each has the night that it was said in.
        format: `FORMAT`.
    """

    made: dict[str, AgainstReference]
    format: int


def digest(plan: Plan, config_id: str, settings: VerdictSettings) -> str:
    """SHA-256 over all that a comparison with the reference follows from.

    Args:
        plan: says rules, scenarios and both configurations.
        config_id: of the one that is compared.
        settings: how it is tested, and what matters.
    """
    overrides = {one.config_id: one.overrides for one in plan.configurations}
    content = {
        "kernel": kernel_of(plan.code_version),
        "sides": [overrides[plan.reference_id], overrides[config_id]],
        "panels": [plan.panel_digest, plan.confirm_digest],
        "drawn_from": plan.definition.model_dump(mode="json", include=set(DRAWN_FROM)),
        "settings": settings.model_dump(mode="json"),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def recalled(
    plan: Plan, against: tuple[AgainstReference, ...], settings: VerdictSettings
) -> tuple[AgainstReference, ...]:
    """What was said of the same comparison before, instead of what the regression panel says."""
    made = _read(_path(plan.experiment))
    if not made:
        return against
    known = {
        config_id: made[key]
        for config_id in plan.asked
        if (key := digest(plan, config_id, settings)) in made
    }
    return tuple(
        known[one.config_id].model_copy(update={"name": one.name})
        if one.config_id in known and not one.problem
        else one
        for one in against
    )


def keep(plan: Plan, verdict: NightVerdict, settings: VerdictSettings) -> None:
    """Keep what a decided night says of what was asked; what its experiment had before goes.

    What is undecided is kept as well: the budget is spent. Unless something was open against the
    baseline too, which may have taken the time.
    """
    shared = any(one.is_open for one in verdict.configurations) or any(
        stage.configurations for stage in verdict.stages
    )
    made = {
        digest(plan, one.config_id, settings): one.model_copy(
            update={"night": one.night or plan.night}
        )
        for one in verdict.against_reference
        if one.config_id in plan.asked
        and not one.problem
        and not (verdict.stopped and shared and one.is_open)
    }
    path = _path(plan.experiment)
    if made and made != _read(path):
        text = Comparisons(made=made, format=FORMAT).model_dump_json(indent=1)
        write_whole(path, text + "\n")


def _path(experiment: str) -> Place:
    return Home.from_environment().made / "comparisons" / f"{experiment}.json"


def _read(path: Place) -> dict[str, AgainstReference]:
    """What is kept; nothing where the file is damaged or of another format: it is made again."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return Comparisons.model_validate(raw).made if format_of(raw) == FORMAT else {}
    except (FileNotFoundError, ValueError):
        return {}
