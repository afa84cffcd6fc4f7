"""### A night of an experiment.

Draws a panel of fault scenarios, runs every configuration of the experiment through every scenario
on Spark, refuses bad data, compares with the accepted baseline and says in MLflow and in a report
which configuration got worse, and how sure that is. Each file of `config/experiments` has a DAG of
this kind; its `schedule` says when it runs.

**Run it**: *Trigger*; an empty *night* means the run's own date (UTC). Name another date by
*night*, never by a *Logical date* to come: Airflow begins no task of such a run, and no other run.
**Backfill**, where the experiment has a schedule: any dates, in any order; it needs no parameter.
A night run again stays as it is until the new run is whole.

#### Triage notes
* **Normal**: `smoke` takes about a minute, `operators` a few minutes. Runs of one night
  wait for each other; a backfill's nights go on beside each other.
  `confirm` and all up to `decide` are skipped (pink) when nothing differs, or all that differs is
  decided: that is the good case. `extend_1` and `extend_2` go on where the confirm panel did not
  settle it, within the experiment's budget.
* **`plan` failed**: the experiment file or `config/verdicts.yaml` has a mistake; the exception in
  the log names file, field, value and what is allowed. Or another program is writing a night: the
  line says which.
* **`validate_…` failed**: data was refused, nothing was judged. The log names the expectation and
  the rows; Data Docs are in `.state/data_docs/<experiment>/`.
* **`simulate` failed**: look at the red shard's log (shards are named); it was tried twice. Clear
  the shard to try once more: the tasks after it follow.
* **`gate` failed**: its log ends with the reason: which task failed and why, or what got worse, by
  how much, what changed, and the commands that find the cause. A *confirmed regression* is news
  about the rules or the code, not about the pipeline: read the night's report. If the change is
  meant, accept the night as the new baseline with the DAG `isr_baseline_accept`.
* **Ended by hand**: mark the run as failed; `gate` still runs, and gives the night free.
* **A run's logical date is to come**: mark its task `gate` as failed, then the run; in the Airflow
  of `make ui` the run alone is enough. `isr-pipeline doctor` names such a run.
* **A Spark task timed out**: its limit is fifteen minutes, and three times what one core would
  need for the night by force. It hung, or other work has the cluster. It is tried twice.
* **Worry** when `simulate` shows no new progress line for five minutes.
"""

from __future__ import annotations

import functools
from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, CronTriggerTimetable, TaskGroup, TriggerRule, get_parsing_context, task

from isr_pipeline.experiment.file import Nightly, nightlies
from isr_pipeline.experiment.stages import CONFIRM, FURTHER
from isr_pipeline.night import steps
from isr_pipeline.night.airflow.connections import at_parsing
from isr_pipeline.night.airflow.elsewhere import do
from isr_pipeline.night.airflow.run_end import close, free_night, note_end, tell_end
from isr_pipeline.night.airflow.wiring import (
    NIGHT_PARAMS,
    VERDICT,
    NightLink,
    SparkJob,
    Tag,
    check_ground,
    check_params,
    claim_and_limit,
    claimed,
    done,
    is_switched_off,
    night_of,
    one_line_errors,
    pool,
    tell_verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow.sdk import XComArg

    from isr_pipeline.experiment.plan import Plan

SETTINGS = at_parsing()
SPARK = {"conn_id": SETTINGS.spark_connection, **pool(SETTINGS)}

BY_HAND = """
#### Why *Backfill* is grey
This experiment's file has no `schedule`, and Airflow backfills only what has one. For a past date
use *Trigger*, *Single Run*, and write the date into *night*; runs wait for each other. Or write a
`schedule` into the file: *Backfill* then takes any dates.
"""
"""Ends the docs of a DAG without a schedule."""

PLAN = "{{ ti.xcom_pull(task_ids='plan', key='plan') }}"


@task
@one_line_errors
def plan(experiment: str, **context: Any) -> list[list[str]]:
    """Read the experiment file, refuse mistakes, fix the night; return arguments by shard."""
    from isr_pipeline.night.question import Question  # noqa: PLC0415
    from isr_pipeline.night.status import check_has_come  # noqa: PLC0415

    check_params(context, NIGHT_PARAMS)
    check_has_come(night_of(context), "params", "night")
    check_ground()
    with claimed(context, first=True):
        begun = do(
            "begin",
            experiment=experiment,
            night=night_of(context),
            run=context["dag_run"].run_id,
            question={one.name: context["params"][one.name] for one in fields(Question)},
        )
    context["ti"].xcom_push(key="plan", value=begun["plan"])
    return [steps.of_shard(begun["plan"], shard) for shard in begun["shards"]]


def step(work: Callable[[Plan], object]) -> XComArg:
    """The task of a step that is a function of the night's plan; it has its name and its words."""

    @one_line_errors
    def run(**context: Any) -> object:
        with claimed(context):
            return done(context, work.__name__, work)

    return task(task_id=work.__name__, doc_md=work.__doc__)(run)()


@task
@one_line_errors
def look(number: int, **context: Any) -> object:
    """Check what a stage added, and call again what is not decided."""
    with claimed(context):
        return done(context, f"look_{number}", functools.partial(steps.look, number=number))


@task(trigger_rule=TriggerRule.NONE_FAILED, outlets=[VERDICT])
@one_line_errors
def decide(**context: Any) -> object:
    """Make the verdict final: what no stage could decide stays open."""
    with claimed(context):
        headline = done(context, "decide", steps.decide)
    tell_verdict(context)
    return headline


@task(retries=0)
@one_line_errors
def gate(experiment: str, **context: Any) -> str:
    """Fail the run unless every task ended well and nothing got worse."""
    return close(context, experiment, frozenset(context["dag"].task_ids) - {"gate"})


def stage(task_id: str, panel: str) -> SparkJob:
    """Simulate a stage of further scenarios, if anything is not decided."""
    return SparkJob(
        task_id=task_id,
        job="extend.py",
        **SPARK,
        application_args=steps.of_stage(PLAN, panel),
        pre_execute=functools.partial(claim_and_limit, panel=panel),
    )


def nightly(one: Nightly) -> DAG:
    """The DAG of an experiment."""
    # No start date and no run for a tick that has passed: switching Airflow on starts nothing.
    # Midnight, so that a backfill "from 14 to 16" is the nights 14, 15 and 16.
    schedule = one.schedule and CronTriggerTimetable(
        one.schedule, timezone="UTC", run_immediately=timedelta(0)
    )
    with DAG(
        dag_id=one.dag_id,
        description=one.description or f"A night of {one.experiment}, judged against its baseline",
        doc_md=__doc__ + ("" if schedule else BY_HAND),
        schedule=schedule or None,
        is_paused_upon_creation=is_switched_off(one) or None,
        catchup=False,
        max_active_runs=1,
        dagrun_timeout=timedelta(hours=SETTINGS.run_hours),
        on_success_callback=[note_end, functools.partial(tell_end, failed=False)],
        on_failure_callback=[free_night, note_end, functools.partial(tell_end, failed=True)],
        params=NIGHT_PARAMS,
        tags=[Tag.NIGHTLY if schedule else Tag.BY_HAND, Tag.SPARK, Tag.VERDICT],
        default_args={
            "owner": "isr-pipeline",
            "retries": 1,
            "retry_delay": timedelta(seconds=SETTINGS.retry_delay),
        },
    ) as dag:
        planned = plan(one.experiment)
        with TaskGroup("scenarios", prefix_group_id=False):
            drawn = step(steps.generate_scenarios)
            drawn_well = step(steps.validate_scenarios)
        with TaskGroup("outcomes", prefix_group_id=False):
            # One shard at a time: each already uses every core that Spark has here.
            simulate = SparkJob.partial(
                task_id="simulate",
                job="simulate.py",
                **SPARK,
                pre_execute=claim_and_limit,
                max_active_tis_per_dagrun=1,
                map_index_template="{{ task.application_args[3] }}",
            ).expand(application_args=planned)
            simulated_well = step(steps.validate_outcomes)
            summarized = step(steps.summarize)
            summarized_well = step(steps.validate_summary)
        judged = step(steps.judge)
        with TaskGroup("further_scenarios", prefix_group_id=False):
            confirmed, looked = stage("confirm", CONFIRM), look.override(task_id="look_3")(3)
            (
                confirmed
                >> look.override(task_id="look_1")(1)
                >> stage("extend_1", FURTHER[0])
                >> look.override(task_id="look_2")(2)
                >> stage("extend_2", FURTHER[1])
                >> looked
            )
        with TaskGroup("results", prefix_group_id=False):
            logged, reported = step(steps.log_to_mlflow), step(steps.report)

        planned >> drawn >> drawn_well >> simulate >> simulated_well
        simulated_well >> summarized >> summarized_well >> judged >> confirmed
        last = gate(one.experiment).as_teardown(on_failure_fail_dagrun=True)
        looked >> decide() >> logged >> reported >> last
        for made in dag.tasks:
            made.operator_extra_links = (NightLink(),)
    return dag


# A task's own process needs its own DAG alone.
WANTED = get_parsing_context().dag_id
DAGS = [nightly(one) for one in nightlies()[0] if WANTED in (None, one.dag_id)]
