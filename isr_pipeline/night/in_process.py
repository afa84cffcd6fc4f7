"""A night in one program, without Airflow: the same steps in the same order.

For a CI job or a laptop. Airflow needs not be installed. The claim on the tables, the lock, the
notes of how far the night came, the tables, the verdict and the exit status are those of a DAG run;
what Airflow adds (logs per task, runs by schedule, retries of single tasks by hand) is not there.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TextIO

from isr_pipeline.base.errors import USER_ERRORS, Refused
from isr_pipeline.base.home import Home
from isr_pipeline.base.progress import Listener
from isr_pipeline.base.storage.places import Place
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.night import life, notify, stack, steps
from isr_pipeline.night.airflow.airflow_lock import SUPERVISOR_VARIABLE, AirflowLock
from isr_pipeline.night.claim import claim_night, renewed
from isr_pipeline.night.preconditions import check_night_can_start
from isr_pipeline.night.question import AS_WRITTEN, Question
from isr_pipeline.night.runner import (
    Interrupted,
    print_line,
    print_progress,
    wait_for_turn,
)
from isr_pipeline.night.spark.spark_errors import cause, only_a_person_mends
from isr_pipeline.night.spark.submit import JobFailed, JobNotStarted, submit
from isr_pipeline.night.status import check_not_replaced
from isr_pipeline.report.tracking.pages import IN_PROCESS

LOG = "in-process.log"
"""File in the home: all that the steps of the last such night said."""

TRIES = 2
"""Of each step, as in the DAG; what only a person can put right is not tried again."""


def run_in_process(
    experiment: str,
    night: str,
    question: Question = AS_WRITTEN,
    *,
    fail_on_regression: bool = True,
    spark_master: str | None = None,
    wait: bool = True,
) -> bool:
    """Do every step of a night here, and say on the terminal how far it is.

    Args:
        experiment: a name from ``config/experiments``.
        night: YYYY-MM-DD.
        question: what it is asked beside what the experiment says.
        fail_on_regression: whether a confirmed regression makes the night fail.
        spark_master: Spark master URL, None: ``SPARK_MASTER``, else ``local[*]``.
        wait: for another ``make nightly`` to end, instead of being refused.

    Returns:
        Whether the night succeeded.

    Raises:
        InputError: a variable names a place, a server or a Java that cannot be used.
        Refused: another night is running.
        Interrupted: Ctrl-C.
    """
    home = Home.from_environment()
    master = stack.wanted_master(spark_master)
    check_night_can_start(home, master)
    notify.configured()  # refused now, not when the night has run
    lock = AirflowLock(home)
    stack.stop_on_signals()
    one = _Night(home, master, experiment, night, question)
    begun = False
    try:
        # Where `make ui` runs Airflow, its nights and this one know of each other by the claim.
        wait_for_turn(lock, experiment, night, wait=wait)
        os.environ.update(stack.environment(home, spark_master=master))
        os.environ[SUPERVISOR_VARIABLE] = str(os.getpid())
        one.claim(wait=wait)
        begun = True
        return one.to_its_end(fail_on_regression=fail_on_regression)
    except KeyboardInterrupt:
        life.interrupt(experiment, night, one.run_id)
        stopped = f"night {night} of {experiment} stopped; run it again to have it whole"
        raise Interrupted(stopped if begun else "stopped while waiting") from None
    finally:
        lock.release()


class _Night:
    """One night, from its plan to its gate."""

    def __init__(
        self, home: Home, master: str, experiment: str, night: str, question: Question
    ) -> None:
        self.run_id = f"{IN_PROCESS}{datetime.now(UTC).isoformat()}"
        self._home, self._master = home, master
        self._experiment, self._night = experiment, night
        self._question = question
        self._terminal = sys.stdout
        self._broken: list[str] = []
        self._plan: Place | None = None

    def claim(self, *, wait: bool = False) -> None:
        """Claim the tables, or confirm that they are claimed.

        Raises:
            Refused: another program is writing a night, and waiting is not wanted.
        """
        announced = False
        while True:
            try:
                claim_night(
                    self._home,
                    owner=self.run_id,
                    experiment=self._experiment,
                    night=self._night,
                    airflow="",
                    is_running=lambda _: True,
                )
            except Refused as busy:
                if not wait:
                    raise
                if not announced:
                    self._say(f"{busy}; waiting for it to end (Ctrl-C to give up)")
                announced = True
                time.sleep(1)
            else:
                return

    def to_its_end(self, *, fail_on_regression: bool) -> bool:
        """Do the steps, then ask the gate; returns whether it let the night pass."""
        with _log_in(self._home) as log:
            said = Listener(log, lambda line: print_progress(line, self._terminal))
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                steps.import_what_is_needed()
                with renewed(self._home, self._experiment, self._night, owner=self.run_id):
                    self._step(steps.PLAN, self._make_plan)
                    self._between()
                return self._pass_gate(fail_on_regression=fail_on_regression)

    def _say(self, text: str) -> None:
        print_line(text, self._terminal)

    def _make_plan(self) -> None:
        self._plan, _ = life.begin(
            self._experiment, self._night, self._question, dag_run_id=self.run_id
        )

    def _pass_gate(self, *, fail_on_regression: bool) -> bool:
        passed = True
        try:
            said = life.finish(
                self._experiment,
                self._night,
                broken=self._broken,
                fail_on_regression=fail_on_regression,
                dag_run_id=self.run_id,
            )
        except Exception as error:
            said, passed = _reason(error), False
        self._say(f"{steps.GATE:<34} {'success' if passed else 'failed'}")
        if not passed:
            self._say(f"    {said}")
        notify.tell(f"{self._experiment} {self._night}: {said}")
        return passed

    def _between(self) -> None:
        """Do every step between plan and gate, up to the first that fails."""
        if self._broken:
            return
        assert self._plan, "made by the first step"
        file = self._plan
        plan = Plan.load(file)
        skipping = False
        for step in steps.BETWEEN:
            skipping = skipping and not step.after_skipped
            skipping = skipping or bool(step.skipped is not None and step.skipped(plan))
            if skipping:
                self._say(f"{step.name:<34} skipped")
            elif step.work is not None:
                self._step(step.name, functools.partial(step.work, plan))
            elif step.arguments is not None:
                for arguments in step.arguments(plan, str(file)):
                    shard = f" [{arguments[-1]}]" if "--shard" in arguments else ""
                    work = functools.partial(self._submit, step, arguments)
                    self._step(f"{step.name}{shard}", work)
            if self._broken:
                return

    def _submit(self, step: steps.Step, arguments: list[str]) -> None:
        name = f"isr-{step.name}"
        submit(step.job, arguments, name=name, master=self._master, variables=os.environ)

    def _step(self, name: str, work: Callable[[], object]) -> None:
        """Do something, a second time if it broke off; note its name if it did not end."""
        if self._broken:
            return
        self._say(f"{name:<34} running")
        began = time.monotonic()
        reason = ""
        for _ in range(TRIES):
            if name != steps.PLAN:
                check_not_replaced(self._experiment, self._night, self.run_id)
            self.claim()
            try:
                work()
            except Exception as error:
                reason = _reason(error)
                hopeless = (*USER_ERRORS, JobNotStarted)
                if isinstance(error, hopeless) or only_a_person_mends(reason):
                    break
                continue
            self._say(f"{name:<34} success  {time.monotonic() - began:.1f} s")
            return
        self._broken.append(f"{name} failed: {reason}")
        self._say(f"{name:<34} failed  {time.monotonic() - began:.1f} s")
        self._say(f"    {reason}")
        self._say(f"    log: {self._home.path / LOG}")


def _reason(error: Exception) -> str:
    """Say in one line why something failed; the log has the rest of what a defect says."""
    if isinstance(error, (*USER_ERRORS, JobFailed)):
        return str(error)
    traceback.print_exc()
    return cause(error)


@contextlib.contextmanager
def _log_in(home: Home) -> Iterator[TextIO]:
    """Give the log, emptied; what a full disk does not take of it at the end is left out."""
    log = (home.path / LOG).open("w")
    try:
        yield log
    finally:
        with contextlib.suppress(OSError):
            log.close()
