"""What the DAGs share: trigger forms, tags, the night of a run, errors in one line.

Also the button that leads to a night, and the assets that others may wait for.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.configuration import conf
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, AssetAlias, BaseOperator, BaseOperatorLink, Param
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowRescheduleException,
    AirflowRuntimeError,
    AirflowSkipException,
    AirflowTaskTimeout,
)

from isr_pipeline.base.disk import disk_full
from isr_pipeline.base.errors import USER_ERRORS, InputError, Refused, shortened
from isr_pipeline.base.extras import missing
from isr_pipeline.base.home import SHIPPED, Home
from isr_pipeline.experiment.file import Nightly, experiment_of, known_experiments
from isr_pipeline.experiment.stages import PANEL_SIZE_MAX, SCENARIOS_MAX
from isr_pipeline.night.airflow.airflow_rest import WHY
from isr_pipeline.night.airflow.connections import (
    Settings,
    into_environment,
    settings,
    spark_connection,
)
from isr_pipeline.night.airflow.elsewhere import checked, do, step_in
from isr_pipeline.night.airflow.notifiers import notifiers
from isr_pipeline.night.spark.spark_errors import cause, only_a_person_mends

if TYPE_CHECKING:
    from airflow.sdk.types import TaskInstanceKey

    from isr_pipeline.experiment.plan import Plan

VERDICT = AssetAlias("isr-pipeline/verdict")
BASELINE = AssetAlias("isr-pipeline/baseline")
"""What others may wait for: an experiment's verdict, and its baseline.

An asset is `isr-pipeline/verdict/EXPERIMENT` or `isr-pipeline/baseline/EXPERIMENT`. The alias
without the experiment stands for those of all.
"""


JOBS = SHIPPED / "spark_jobs"

TURN = datetime.timedelta(seconds=20)
"""How long a task is put off while another run writes: the scheduler has to hear that it ended
before its time comes again, or it takes the message for a lost task."""

GATE_MAY_SKIP = frozenset({"confirm", "look_1", "extend_1", "look_2", "extend_2", "look_3"})
"""Tasks that a good night may leave out."""

WHY_CHARACTERS = 400
"""As much of a reason as the note of a run has room for."""


class Tag(StrEnum):
    """What a DAG is about; a test knows these and no others."""

    NIGHTLY = "schedule/nightly"
    WEEKLY = "schedule/weekly"
    BY_HAND = "schedule/by-hand"
    SPARK = "needs/spark"
    VERDICT = "makes/verdict"
    BASELINE = "makes/baseline"
    UPKEEP = "does/upkeep"


def is_switched_off(one: Nightly) -> bool:
    """Whether an experiment's DAG has nothing to wait for: it is then made paused."""
    return not one.schedule or not conf.getboolean("scheduler", "use_job_schedule")


NIGHT_PARAMS = {
    "night": Param(
        None,
        type=["null", "string"],
        format="date",
        title="Night",
        description="Which night to run or run again (YYYY-MM-DD). Empty: the run's own date. "
        "Leave it empty in a backfill, whose runs are the nights of their dates.",
    ),
    "panel_size": Param(
        None,
        type=["null", "integer"],
        minimum=1,
        maximum=PANEL_SIZE_MAX,
        title="Standing panel",
        description=f"Scenarios in the standing panel, 1 to {PANEL_SIZE_MAX}. Empty: as the "
        "experiment says. Another size is another panel: no comparison with the accepted baseline.",
    ),
    "scenarios": Param(
        None,
        type=["null", "integer"],
        minimum=1,
        maximum=SCENARIOS_MAX,
        title="Scenarios",
        description="Budget of one configuration over all panels, to decide what is undecided. "
        "Empty: as the experiment says. The panel stays, so the night is compared.",
    ),
    "replace": Param(
        False,
        type="boolean",
        title="Replace",
        description="Whether the run may take the place of a night of its date that was judged on "
        "other scenarios, which cannot be compared with it.",
    ),
    "fail_on_regression": Param(
        True,
        type="boolean",
        title="Fail on regression",
        description="Whether a confirmed regression makes the run red. Refused or missing data "
        "always does.",
    ),
}


def accept_params() -> dict[str, Param]:
    """The form of an acceptance, with the experiments that there are."""
    return {
        "night": Param(
            type="string",
            format="date",
            title="Night",
            description="Finished night whose numbers become the baseline (YYYY-MM-DD).",
        ),
        "experiment": Param(
            type="string",
            enum=known_experiments(),
            title="Experiment",
            description="A file of config/experiments.",
        ),
        "why": Param(
            type="string",
            minLength=3,
            maxLength=500,
            title="Why",
            description="What changed and why that is meant: kept with the baseline.",
        ),
        "only": Param(
            None,
            type=["null", "string"],
            pattern=r"^\S*$",
            maxLength=2000,
            title="Only these",
            description="Names of configurations, separated by commas. Empty: all of the night.",
        ),
        "absorb_unseen": Param(
            False,
            type="boolean",
            title="Absorb unseen",
            description="Accept a night that could not be compared with the baseline. Without it "
            "such a night is refused, and the log says what had got worse in the last run that "
            "was.",
        ),
        "who": Param(
            None,
            type=["null", "string"],
            maxLength=100,
            title="Who",
            description="Who accepts. Empty: the Airflow user who triggers this.",
        ),
    }


MAINTENANCE_PARAMS = {
    "keep_nights": Param(
        60,
        type="integer",
        minimum=1,
        title="Nights",
        description="How many nights of each experiment stay, besides those of its baseline.",
    ),
    "keep_days": Param(
        90,
        type="integer",
        minimum=1,
        title="Days",
        description="How long task logs and runs stay.",
    ),
}


def check_params(context: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuse parameters that the DAG does not have: Airflow's API takes any name.

    Args:
        context: of a task.
        known: parameters of the DAG.

    Raises:
        InputError: one is misspelt.
    """
    unknown = sorted(set(context["params"]) - set(known))
    if unknown:
        raise InputError("params", "", unknown[0], f"the parameters {', '.join(sorted(known))}")


def night_of(context: Mapping[str, Any]) -> str:
    """Return a run's night: its param, else its logical date, else its run-after date (UTC).

    Raises:
        AirflowFailException: a backfill names one night for all its dates.
    """
    named = context["params"].get("night")
    if named and context["dag_run"].run_type == "backfill":
        raise AirflowFailException(
            f"params: night: {named} for every date of a backfill; allowed: empty"
        )
    if named:
        return datetime.date.fromisoformat(str(named)).isoformat()
    run = context["dag_run"]
    moment: datetime.datetime = run.logical_date or run.run_after
    return moment.astimezone(datetime.UTC).date().isoformat()


def one_line_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Say what a person can fix as the exception in the log, and do not retry.

    Why a task failed is kept under the key :data:`WHY`, where the gate finds it. What the Airflow
    Variable says is in the environment before the function begins.
    """

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            into_environment(settings())
            return function(*args, **kwargs)
        except USER_ERRORS as error:
            _keep_why(str(error), args, kwargs)
            raise AirflowFailException(str(error)) from None
        except (AirflowRescheduleException, AirflowSkipException):
            raise
        except AirflowTaskTimeout:
            _keep_why("it took longer than its time limit", args, kwargs)
            raise
        except Exception as error:
            hopeless = disk_full(error) or missing(error)
            said = str(error) if isinstance(error, AirflowException) else cause(error)
            _keep_why(hopeless or said, args, kwargs)
            if not hopeless:
                raise
            raise AirflowFailException(hopeless) from None

    return wrapped


def _keep_why(reason: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Leave a reason for the gate, if a task's context is among a function's arguments.

    A task of ours has it as its keywords, an operator as an argument or as ``context``.
    """
    candidates = (kwargs, kwargs.get("context"), *args)
    context = next((one for one in candidates if isinstance(one, Mapping) and "ti" in one), None)
    if context is None:
        return
    # What Airflow cannot keep, as on a full disk, stands in the task's log all the same.
    with contextlib.suppress(Exception):
        context["ti"].xcom_push(key=WHY, value=shortened(reason, WHY_CHARACTERS))


def plan_of(context: Mapping[str, Any]) -> Any:
    """Return the plan that the run's first task made."""
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - parse fast

    return Plan.load(_plan_file(context))


def _plan_file(context: Mapping[str, Any]) -> str:
    return str(context["ti"].xcom_pull(task_ids="plan", key="plan"))


def done(context: Mapping[str, Any], name: str, work: Callable[[Plan], object]) -> object:
    """Do a step of the run's night, in the Python that the Airflow Variable names, else here.

    Args:
        context: of the step's task.
        name: of the step.
        work: what it does.
    """
    python = settings().python
    if not python:
        return work(plan_of(context))
    return step_in(python, name, _plan_file(context)) or None


@contextlib.contextmanager
def claimed(context: Mapping[str, Any], *, first: bool = False) -> Iterator[None]:
    """Write the run's night as the only one: around all that a task does to it.

    While another run of this Airflow writes it, the task is put off, which takes up no worker.

    Args:
        context: of the task.
        first: whether the task begins the night.

    Raises:
        Refused: another program writes the night, has made it anew, or took it meanwhile.
    """
    from isr_pipeline.night.claim import NotYet, renewed  # noqa: PLC0415 - parse fast

    try:
        take_claim(context, first=first)
    except NotYet as busy:
        sys.stdout.write(f"{busy}\n")
        raise AirflowRescheduleException(datetime.datetime.now(datetime.UTC) + TURN) from None
    run = context["dag_run"]
    # Airflow ends a run after these hours, however long its next task stands in line.
    with renewed(
        Home.from_environment(),
        experiment_of(run.dag_id),
        night_of(context),
        owner=run.run_id,
        then_s=datetime.timedelta(hours=settings().run_hours).total_seconds(),
    ):
        yield


def take_claim(context: Mapping[str, Any], *, first: bool = False) -> None:
    """Claim the run's night for it, or confirm that it has it.

    Args:
        context: of a task.
        first: whether the task begins the night.

    Raises:
        NotYet: another run of this Airflow writes the night.
        Refused: another program does, or has made the night anew since this run began it.
    """
    from isr_pipeline.night.claim import claim_night  # noqa: PLC0415 - parse fast
    from isr_pipeline.night.publication import is_under_way  # noqa: PLC0415
    from isr_pipeline.night.status import check_not_replaced  # noqa: PLC0415

    run = context["dag_run"]
    experiment, night = experiment_of(run.dag_id), night_of(context)
    if not first:
        check_not_replaced(experiment, night, run.run_id)
    claim_night(
        Home.from_environment(),
        owner=run.run_id,
        experiment=experiment,
        night=night,
        airflow=os.environ.get("AIRFLOW_HOME", ""),
        is_running=functools.partial(_is_running, context["ti"], run.dag_id),
    )
    if not first and not is_under_way(experiment, night, run.run_id):
        do("take_up", experiment=experiment, night=night, run=run.run_id)


@one_line_errors
def claim_and_limit(context: Mapping[str, Any], panel: str = "") -> None:
    """Claim the night, and give a Spark task a time limit that fits the experiment's size.

    Airflow reads the limit after this ran. One that somebody set by a cluster policy stays, if it
    is shorter.

    Raises:
        AirflowSkipException: the task simulates a stage of a panel that is left out.
    """
    with claimed(context):
        said = do("before_spark", plan=_plan_file(context), panel=panel)
    if said["skipped"]:
        raise AirflowSkipException(said["skipped"])
    limit = datetime.timedelta(seconds=said["limit_s"])
    operator = context["task"]
    operator.execution_timeout = min(limit, operator.execution_timeout or limit)
    sys.stdout.write(f"time limit: {operator.execution_timeout}\n")


def _is_running(instance: Any, dag_id: str, run_id: str) -> bool:
    """Ask Airflow whether another run is under way; one it does not know is not."""
    try:
        return bool(instance.get_dagrun_state(dag_id, run_id) == "running")
    except AirflowRuntimeError:
        return False


@one_line_errors
def check_ground() -> None:
    """Refuse at once what every later task would find out by itself, some of them after minutes.

    Raises:
        AirflowFailException: a folder, MLflow's store, Spark or a notifier cannot be used.
    """
    from isr_pipeline.night import notify, preconditions  # noqa: PLC0415 - parse fast

    chosen = settings()
    notify.configured()
    notifiers(chosen.on_failure | chosen.on_success)
    do("check_places")
    spark = spark_connection(chosen.spark_connection)
    where = f"connection {spark.conn_id}"
    if spark.master.startswith(("local", "spark://")):
        preconditions.check_master(spark.master, where)
    if shutil.which(spark.launcher) is None:
        raise Refused(f"{where}: {spark.launcher} is not on the PATH of Airflow's workers")


DEPLOY_MODE = "client"
"""Of every job, whatever Spark's own files say: its driver reads files of Airflow's worker."""


def pool(chosen: Settings) -> dict[str, Any]:
    """Where tasks that use Spark stand in line, as an operator takes it."""
    return {"pool": chosen.pool} if chosen.pool else {}


class NightLink(BaseOperatorLink):
    """The report from the task on that writes it, the night's runs in MLflow before.

    Airflow asks for the address when a task ends, in the task's own process.
    """

    @property
    def name(self) -> str:
        """Words on the button."""
        return "The night"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Address for a browser; empty where nothing of the experiment was ever logged."""
        from isr_pipeline.night.life import made_by  # noqa: PLC0415 - parse fast

        return made_by(operator.task_id, experiment_of(ti_key.dag_id), ti_key.run_id)


class SparkJob(SparkSubmitOperator):
    """One of our Spark jobs, by spark-submit as the connection says.

    Args:
        job: file of ``spark_jobs/``.
    """

    operator_extra_links = (NightLink(),)  # a shard is made from the class, not from the DAG

    def __init__(self, *, job: str, **options: Any) -> None:
        super().__init__(
            application=str(JOBS / job),
            name=f"isr-{options['task_id']}",
            deploy_mode=DEPLOY_MODE,
            **options,
        )

    @one_line_errors
    def execute(self, context: Any) -> Any:
        """Run the job to its end, or to that of the claim on its night.

        Raises:
            AirflowFailException: a second try would end for the same reason.
        """
        from isr_pipeline.night.spark.submit import JobFailed, JobNotStarted  # noqa: PLC0415

        def work(conf: dict[str, str]) -> Any:
            self.conf: dict[Any, Any] = {**(self.conf or {}), **conf}
            try:
                return super(SparkJob, self).execute(context)
            except Exception:
                raise
            except BaseException:  # broken off: the job would go on
                self.on_kill()
                raise

        try:
            with claimed(context):
                return _submitted(work)
        except JobFailed as failed:
            hopeless = isinstance(failed, JobNotStarted) or only_a_person_mends(str(failed))
            kind = AirflowFailException if hopeless else AirflowException
            raise kind(str(failed)) from None


def simulate_confirm(arguments: list[str]) -> None:
    """Run the confirm panel of a night that is being accepted, as the connection says.

    Args:
        arguments: of the job.

    Raises:
        Refused: why it could not be simulated.
    """
    from isr_pipeline.night.spark.submit import JobFailed  # noqa: PLC0415

    def work(conf: dict[str, str]) -> None:
        SparkSubmitHook(
            conf=conf,
            conn_id=settings().spark_connection,
            name="isr-confirm",
            application_args=arguments,
            deploy_mode=DEPLOY_MODE,
        ).submit(str(JOBS / "simulate.py"))

    try:
        _submitted(work)
    except JobFailed as failed:
        raise Refused(f"the confirm panel could not be simulated: {failed}") from None


def _submitted(work: Callable[[dict[str, str]], Any]) -> Any:
    """Let the provider submit a job, and say why it failed.

    Args:
        work: submits it, with these settings of Spark: the Variable's, and before them those of
            the connection.

    Raises:
        JobFailed: the reason.
        InputError: the Variable's Python cannot be a driver's.
    """
    from isr_pipeline.night.spark import submit  # noqa: PLC0415
    from isr_pipeline.night.spark.spark_errors import STARTED  # noqa: PLC0415

    chosen = settings()
    connection = spark_connection(chosen.spark_connection)
    driver = {submit.DRIVER_PYTHON: checked(chosen.python) if chosen.python else sys.executable}
    with tempfile.TemporaryDirectory() as folder:
        sign = Path(folder) / "started"
        # In this process's environment, which the driver inherits: variables that the provider is
        # given do not reach a driver of Kubernetes in client mode.
        os.environ[STARTED] = str(sign)
        try:
            return work({**chosen.spark_conf, **driver, **connection.conf})
        except OSError as error:
            why = str(error.strerror).lower()
            raise submit.JobNotStarted(f"{connection.launcher} cannot be started: {why}") from None
        except AirflowException as error:
            status = re.search(r"Error code is: (-?\d+)", str(error))
            if status is None:
                raise
            said = str(error).partition("\n")[2]
            raise submit.failure(int(status[1]), sign, said) from None
        finally:
            del os.environ[STARTED]


def states_of(context: Mapping[str, Any]) -> dict[str, str | None]:
    """State of every task of the run, of a shard under the task's name and its number."""
    run = context["dag_run"]
    states: dict[str, str | None] = (
        context["ti"].get_task_states(dag_id=run.dag_id, run_ids=[run.run_id]).get(run.run_id, {})
    )
    return states


def broken_tasks(context: Mapping[str, Any], tasks: frozenset[str]) -> list[str]:
    """Return ``simulate_2 failed: why`` for every task of this run that did not end well.

    Tasks that never came to run because of another are left out if there is such another.

    Args:
        context: of the gate.
        tasks: ids of every task the gate answers for.
    """
    instance = context["ti"]
    causes, never_ran = [], []
    seen = set()
    for name, state in sorted(states_of(context).items()):
        task = name if name in tasks else name.rpartition("_")[0]
        if task not in tasks:
            continue
        seen.add(task)
        allowed = {"success", "skipped"} if task in GATE_MAY_SKIP else {"success"}
        if state in allowed:
            continue
        if state in (None, "upstream_failed"):
            never_ran.append(f"{name} {state or 'never ran'}")
        else:
            causes.append(f"{name} {state}{_why(instance, task, name)}")
    never_ran += [f"{task} never ran" for task in sorted(tasks - seen)]
    return causes or never_ran


def _why(instance: Any, task: str, name: str) -> str:
    """The reason that a task left, after a colon; empty if it left none, as when it was killed.

    Args:
        instance: the gate's.
        task: id.
        name: of the task's instance: the id, and the number of the shard if it has any.
    """
    number = name.removeprefix(task).removeprefix("_")
    reason = instance.xcom_pull(
        task_ids=task, map_indexes=int(number) if number else -1, key=WHY, default=None
    )
    return f": {reason}" if isinstance(reason, str) else ""


def tell_verdict(context: Mapping[str, Any]) -> None:
    """Say that a night has its verdict.

    Args:
        context: of a task whose outlet is :data:`VERDICT`.
    """
    from isr_pipeline.base.storage.places import place_of  # noqa: PLC0415
    from isr_pipeline.verdicts.record import verdict_in  # noqa: PLC0415

    experiment, night = experiment_of(context["dag_run"].dag_id), night_of(context)
    folder = place_of(_plan_file(context)).parent
    verdict = verdict_in(folder, experiment, night)
    _tell(
        context,
        VERDICT,
        experiment,
        {
            "night": night,
            "status": str(verdict.status),
            "red": verdict.red,
            "report": str(folder / "report.html"),
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
