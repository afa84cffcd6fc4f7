"""The steps of a night, in order: what the DAG's tasks and a night without Airflow both do.

A step is either a Spark job or a function of the plan. `dags/isr_nightly.py` makes a task of
each, `night/in_process.py` goes through the list; a test holds the two together.

Whoever runs a step claims the night first (:mod:`isr_pipeline.night.claim`).
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isr_pipeline.base.files.lock import alone
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.stages import CONFIRM, FURTHER

if TYPE_CHECKING:
    from collections.abc import Callable

    from isr_pipeline.experiment.plan import Plan


# What steps do. Heavy libraries are imported by the step that needs them.


def generate_scenarios(plan: Plan) -> None:
    """Draw every panel of the plan."""
    from isr_pipeline.tables.scenarios_table import generate_scenarios as draw  # noqa: PLC0415

    draw(plan)


def validate_scenarios(plan: Plan) -> None:
    """Refuse scenarios that are not those of the plan, every stratum with its weight."""
    _check("scenarios", plan)


def validate_outcomes(plan: Plan) -> None:
    """Put the shards together; refuse them unless every pair is there once and consistent."""
    from isr_pipeline.tables.parts import assemble  # noqa: PLC0415

    assemble(plan)
    _check("outcomes", plan)


def summarize(plan: Plan) -> None:
    """A row for each configuration, metric and stratum."""
    from isr_pipeline.tables.summary import summarize_night  # noqa: PLC0415

    summarize_night(plan)


def validate_summary(plan: Plan) -> None:
    """Refuse a summary that lacks a configuration or metric, or a value outside its interval."""
    _check("summary", plan)


def _check(table: str, plan: Plan) -> None:
    """Refuse a table that breaks what is critical in its suite of expectations/; tell the rest."""
    from isr_pipeline.tables.validation.run import check, told  # noqa: PLC0415

    for one in check(table, plan):
        sys.stdout.write(f"{table} of night {plan.night}: {told(one)}\n")


def judge(plan: Plan) -> str:
    """Compare every configuration with the baseline; the headline."""
    from isr_pipeline.verdicts.judge import judge_night  # noqa: PLC0415
    from isr_pipeline.verdicts.sentences import headline  # noqa: PLC0415

    return headline(judge_night(plan))


def look(plan: Plan, number: int) -> str:
    """Check what a stage added, and call again what is not decided; the headline."""
    from isr_pipeline.verdicts.sentences import headline  # noqa: PLC0415
    from isr_pipeline.verdicts.stages import look_night  # noqa: PLC0415

    _check("scenarios", plan)
    _check("outcomes", plan)
    return headline(look_night(plan, number))


def decide(plan: Plan) -> str:
    """Make the verdict final; the headline.

    What no stage could decide stays open.
    """
    from isr_pipeline.verdicts.sentences import headline  # noqa: PLC0415
    from isr_pipeline.verdicts.stages import decide as decide_night  # noqa: PLC0415

    return headline(decide_night(plan))


def log_to_mlflow(plan: Plan) -> str:
    """Replace the night's runs in MLflow: a parent, and a child per configuration."""
    from isr_pipeline.report.tracking.log_night import log_night  # noqa: PLC0415

    # All nights of an experiment share its MLflow experiment and the trends in it.
    with alone(Home.from_environment().locks, f"mlflow.{plan.experiment}"):
        return log_night(plan, plan.run)


def report(plan: Plan) -> str:
    """Draw the figures, write the page of the night, and keep both with its MLflow run."""
    from isr_pipeline.report.figures import write_figures  # noqa: PLC0415
    from isr_pipeline.report.html import write_report  # noqa: PLC0415
    from isr_pipeline.report.tracking.log_night import attach_report  # noqa: PLC0415

    write_figures(plan)
    page = write_report(plan)
    attach_report(plan)
    return str(page)


# Arguments of Spark jobs. In the DAG they are templates, without it the values themselves.


def of_shard(plan: str, shard: str) -> list[str]:
    """Arguments of one shard of the simulation."""
    return ["--plan", plan, "--shard", shard]


def of_stage(plan: str, panel: str) -> list[str]:
    """Arguments of a stage of further scenarios."""
    return ["--plan", plan, "--stage", panel]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a function, or a Spark job.

    Attributes:
        name: of the task, and of the step on the terminal.
        work: function of the plan; None for a Spark job.
        job: file of ``spark_jobs/`` that Spark runs; empty for a function.
        arguments: of the job, a list for each time it is run, by the plan and the plan's file.
        skipped: why the step is left out, empty if it is done; None for one that always is. What
            comes after it is left out too, up to the next step that is done after skipped ones.
        after_skipped: whether it is done where the step before it was left out.
    """

    name: str
    work: Callable[[Plan], object] | None = None
    job: str = ""
    arguments: Callable[[Plan, str], list[list[str]]] | None = None
    skipped: Callable[[Plan], str] | None = None
    after_skipped: bool = False


def no_stage(plan: Plan, panel: str) -> str:
    """Why a stage is not simulated (nothing is open: the good case); empty if it is."""
    from isr_pipeline.verdicts.stages import why_not  # noqa: PLC0415

    return why_not(plan, panel)


def _stage(name: str, panel: str) -> Step:
    return Step(
        name,
        job="extend.py",
        arguments=lambda _, file: [of_stage(file, panel)],
        skipped=lambda plan: no_stage(plan, panel),
    )


PLAN, GATE = "plan", "gate"
"""The first step, which makes the plan, and the last, which is done whatever happened before."""

BETWEEN: tuple[Step, ...] = (
    Step("generate_scenarios", generate_scenarios),
    Step("validate_scenarios", validate_scenarios),
    Step(
        "simulate",
        job="simulate.py",
        arguments=lambda plan, file: [of_shard(file, shard.name) for shard in plan.shards],
    ),
    Step("validate_outcomes", validate_outcomes),
    Step("summarize", summarize),
    Step("validate_summary", validate_summary),
    Step("judge", judge),
    _stage("confirm", CONFIRM),
    Step("look_1", lambda plan: look(plan, 1)),
    _stage("extend_1", FURTHER[0]),
    Step("look_2", lambda plan: look(plan, 2)),
    _stage("extend_2", FURTHER[1]),
    Step("look_3", lambda plan: look(plan, 3)),
    Step("decide", decide, after_skipped=True),
    Step("log_to_mlflow", log_to_mlflow),
    Step("report", report),
)
"""Every step between the two, in order; each needs all before it."""

NAMES = (PLAN, *(step.name for step in BETWEEN), GATE)
"""Names of all steps, in order."""

NEEDED = (
    "isr_pipeline.tables.scenarios_table",
    "isr_pipeline.tables.summary",
    "great_expectations",
    "isr_pipeline.tables.validation.run",
    "isr_pipeline.verdicts.stages",
    "isr_pipeline.verdicts.judge",
    "mlflow",
    "mlflow.entities",
    "mlflow.store.tracking.sqlalchemy_store",
    "isr_pipeline.report.tracking.log_night",
    "isr_pipeline.report.figures",
    "isr_pipeline.report.html",
    "isr_pipeline.night.life",
)
"""Modules that take steps seconds to import."""


def import_what_is_needed() -> None:
    """Import it once for all steps; what cannot be imported is left to the step that needs it."""
    logging.getLogger("great_expectations").setLevel(logging.ERROR)  # a line for every function
    for module in NEEDED:
        with contextlib.suppress(Exception):
            importlib.import_module(module)
