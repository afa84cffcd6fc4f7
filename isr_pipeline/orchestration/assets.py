"""What others may wait for: an experiment's verdict, and its baseline, as Airflow's assets.

An asset is `isr-pipeline/verdict/EXPERIMENT` or `isr-pipeline/baseline/EXPERIMENT`. The alias
without the experiment stands for those of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAlias

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

VERDICT = AssetAlias("isr-pipeline/verdict")
BASELINE = AssetAlias("isr-pipeline/baseline")


def tell_verdict(context: Mapping[str, Any], plan: Plan) -> None:
    """Say that a night has its verdict.

    Args:
        context: of a task whose outlet is :data:`VERDICT`.
        plan: of the night.
    """
    from isr_pipeline.night.status import folder_of  # noqa: PLC0415 - parse fast
    from isr_pipeline.verdicts.record import load_verdict  # noqa: PLC0415

    verdict = load_verdict(plan.experiment, plan.night)
    _tell(
        context,
        VERDICT,
        plan.experiment,
        {
            "night": plan.night,
            "status": str(verdict.status),
            "red": verdict.red,
            "report": str(folder_of(plan.experiment, plan.night) / "report.html"),
        },
    )


def tell_baseline(context: Mapping[str, Any], experiment: str, night: str, why: str) -> None:
    """Say that a night was accepted, and why.

    Args:
        context: of a task whose outlet is :data:`BASELINE`.
        experiment: name.
        night: YYYY-MM-DD.
        why: the reason.
    """
    _tell(context, BASELINE, experiment, {"night": night, "why": why})


def _tell(
    context: Mapping[str, Any], alias: AssetAlias, experiment: str, extra: dict[str, Any]
) -> None:
    context["outlet_events"][alias].add(Asset(f"{alias.name}/{experiment}"), extra=extra)
