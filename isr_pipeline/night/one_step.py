"""One step of a night as a program: `isr-pipeline night step`, in whichever Python runs it.

Whoever runs a night calls it between the plan and the gate, such as a task of Airflow whose own
Python has other libraries. The run's claim on its night stands already; the step renews it.
"""

from __future__ import annotations

import os
import traceback
from typing import TYPE_CHECKING, TypeVar

from isr_pipeline.base.errors import USER_ERRORS, InputError, Refused
from isr_pipeline.base.home import Home
from isr_pipeline.base.processes import end_with
from isr_pipeline.base.storage.places import place_of
from isr_pipeline.experiment.plan import Plan, kernel_digest
from isr_pipeline.kernels.source import kernel_of
from isr_pipeline.night import steps
from isr_pipeline.night.claim import renewed
from isr_pipeline.night.spark.spark_errors import cause, only_a_person_mends
from isr_pipeline.night.supervisor import MARK

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

NAMES = tuple(step.name for step in steps.BETWEEN if step.work is not None)
"""Steps that are functions of the plan; Spark's jobs are submitted by whoever runs the night."""


class BrokeOff(Refused):
    """A step that broke off: another try may succeed, unlike after a refusal."""

    exit_status = 4


def run_step(name: str, file: str) -> str:
    """Do a step of the run that a plan is of, and end with the process that started this one.

    Args:
        name: of :data:`NAMES`.
        file: of the plan; a path or a URI.

    Returns:
        What the step says; may be empty.

    Raises:
        InputError: no such step, or no plan.
        Refused: the run no longer writes its night, or the plan is of another kernel.
        BrokeOff: the step did, and says why.
    """
    work = next((step.work for step in steps.BETWEEN if step.work and step.name == name), None)
    if work is None:
        raise InputError("night step", "NAME", name, ", ".join(NAMES))
    plan = Plan.load(place_of(file))
    _check_kernel(plan, file)
    with_caller()
    with renewed(Home.from_environment(), plan.experiment, plan.night, owner=plan.run):
        said = told(lambda: work(plan))
    return said if isinstance(said, str) else ""


def with_caller() -> None:
    """Have this process end with the one that started it."""
    caller = int(os.environ.get(MARK, "0"))
    if caller:
        end_with(caller)


def told(work: Callable[[], T]) -> T:
    """Do some work; why it broke off is one line below its traceback."""
    try:
        return work()
    except USER_ERRORS:
        raise
    except Exception as error:
        traceback.print_exc()
        reason = cause(error)
        raise (Refused if only_a_person_mends(reason) else BrokeOff)(reason) from None


def _check_kernel(plan: Plan, file: str) -> None:
    """Refuse a plan of other code: its night would be judged by two simulators."""
    planned, here = kernel_of(plan.code_version), kernel_digest()
    if not here.startswith(planned):
        raise Refused(
            f"{file}: planned with kernel {planned}; allowed: {here[: len(planned)]}, which this "
            "Python has: install one version of isr-pipeline wherever a night runs"
        )
