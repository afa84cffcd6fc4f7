"""### A night of replication experiments.

Draws a panel of fault scenarios, runs every configuration of an experiment through every scenario
on Spark, refuses bad data, compares with the accepted baseline and says in MLflow and in a report
which configuration got worse, and how sure that is.

**Run it**: *Trigger*, and choose an experiment; an empty *night* means the run's own date (UTC).
**Backfill**: any dates, in any order; a night run again is replaced, tables and MLflow runs.

#### Triage notes
* **Normal**: `smoke` takes about a minute, `operators` a few minutes. Runs wait for each other.
  `confirm` is skipped (pink) when no configuration looks worse: that is the good case.
* **`plan` failed**: the experiment file has a mistake; the last line of the log names file, field,
  value and what is allowed. Or another program is writing a night: the line says which.
* **`validate_…` failed**: data was refused, nothing was judged. The log names the expectation and
  the rows; Data Docs are in `.state/data_docs/<experiment>/<night>/`.
* **`simulate` failed**: look at the red shard's log (shards are named); it was tried twice. Clear
  the shard to try once more: the tasks after it follow.
* **`gate` failed**: its last line says why. A *confirmed regression* is news about the rules or the
  code, not about the pipeline: read the night's report. If the change is meant, accept the night
  as the new baseline with the DAG `isr_baseline_accept`.
* **Worry** when `simulate` shows no new progress line for five minutes.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, CronTriggerTimetable, TriggerRule, task

from isr_pipeline.orchestration.wiring import (
    JOBS,
    NIGHT_PARAMS,
    SparkJob,
    Tag,
    broken_tasks,
    check_ground,
    claim,
    claim_if_flagged,
    night_of,
    one_line_errors,
    plan_of,
)

PLAN = "{{ ti.xcom_pull(task_ids='plan', key='plan') }}"
FLAGGED = "{{ ti.xcom_pull(task_ids='judge', key='flagged') }}"

with DAG(
    dag_id="isr_nightly",
    description="Fault scenarios × configurations on Spark, checked, judged against the baseline",
    doc_md=__doc__,
    # No start date and no run for a tick that has passed: switching Airflow on starts nothing.
    # Midnight, so that a backfill "from 14 to 16" is the nights 14, 15 and 16.
    schedule=CronTriggerTimetable("0 0 * * *", timezone="UTC", run_immediately=timedelta(0)),
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
    params=NIGHT_PARAMS,
    tags=[Tag.NIGHTLY, Tag.SPARK, Tag.VERDICT],
    default_args={"owner": "isr-pipeline", "retries": 1, "retry_delay": timedelta(seconds=5)},
) as dag:

    @task
    @one_line_errors
    def plan(**context: Any) -> list[list[str]]:
        """Read the experiment file, refuse mistakes, fix the night; return arguments by shard."""
        from isr_pipeline.night.life import begin  # noqa: PLC0415

        check_ground()
        claim(context)
        params = context["params"]
        file, shards = begin(
            params["experiment"],
            night_of(context),
            panel_size=params["panel_size"],
            dag_run_id=context["dag_run"].run_id,
        )
        context["ti"].xcom_push(key="plan", value=str(file))
        return [["--plan", str(file), "--shard", shard] for shard in shards]

    def spark(task_id: str, job: str) -> dict[str, Any]:
        """Arguments of one of our Spark jobs on the connection `spark_default`."""
        return {"task_id": task_id, "name": f"isr-{task_id}", "application": str(JOBS / job)}

    @one_line_errors
    def check_table(table: str, context: Any) -> None:
        """Refuse a table that breaks its suite in expectations/."""
        from isr_pipeline.validation.run import check  # noqa: PLC0415

        claim(context)
        check(table, plan_of(context))

    @task
    def validate_scenarios(**context: Any) -> None:
        """Are the scenarios those of the plan, every stratum with its weight?"""
        check_table("scenarios", context)

    @task
    @one_line_errors
    def validate_outcomes(**context: Any) -> None:
        """Put the shards together: is every pair there once, possible and consistent?"""
        from isr_pipeline.outcomes.parts import assemble_night  # noqa: PLC0415

        claim(context)
        assemble_night(plan_of(context))
        check_table("outcomes", context)

    @task
    def validate_summary(**context: Any) -> None:
        """Does the summary hold every configuration and metric, interval around value?"""
        check_table("summary", context)

    @task(multiple_outputs=True)
    @one_line_errors
    def judge(**context: Any) -> dict[str, str]:
        """Compare every configuration with the accepted baseline on the same panel."""
        from isr_pipeline.verdicts.judge import judge_night  # noqa: PLC0415

        claim(context)
        verdict = judge_night(plan_of(context))
        return {"headline": verdict.headline, "flagged": ",".join(verdict.awaits_confirm)}

    @task(trigger_rule=TriggerRule.NONE_FAILED)
    @one_line_errors
    def decide(**context: Any) -> str:
        """Settle every suspicion by the confirm panel (if there was one)."""
        from isr_pipeline.verdicts.confirm import decide as decide_night  # noqa: PLC0415

        claim(context)
        return decide_night(plan_of(context)).headline

    @task
    @one_line_errors
    def log_to_mlflow(**context: Any) -> str:
        """Replace the night's runs in MLflow: a parent, and a child per configuration."""
        from isr_pipeline.tracking.log_night import log_night  # noqa: PLC0415

        claim(context)
        return log_night(plan_of(context), context["dag_run"].run_id)

    @task
    @one_line_errors
    def report(**context: Any) -> str:
        """Draw the figures, write the page of the night, and keep both with its MLflow run."""
        from isr_pipeline.report.figures import write_figures  # noqa: PLC0415
        from isr_pipeline.report.html import write_report  # noqa: PLC0415
        from isr_pipeline.tracking.log_night import attach_report  # noqa: PLC0415

        claim(context)
        night = plan_of(context)
        write_figures(night)
        page = write_report(night)
        attach_report(night)
        return str(page)

    @task(trigger_rule=TriggerRule.ALL_DONE, retries=0)
    @one_line_errors
    def gate(**context: Any) -> str:
        """Fail the run unless every task ended well and nothing got worse."""
        from isr_pipeline.night.life import finish  # noqa: PLC0415

        claim(context)
        params = context["params"]
        return finish(
            params["experiment"],
            night_of(context),
            broken=broken_tasks(context, frozenset(dag.task_ids) - {"gate"}),
            fail_on_regression=params["fail_on_regression"],
            dag_run_id=context["dag_run"].run_id,
        )

    planned = plan()
    generate_scenarios = SparkJob(
        **spark("generate_scenarios", "generate_scenarios.py"),
        application_args=["--plan", PLAN],
        pre_execute=claim,
    )
    # One shard at a time: each already uses every core that Spark has here.
    simulate = SparkJob.partial(
        **spark("simulate", "simulate.py"),
        pre_execute=claim,
        max_active_tis_per_dagrun=1,
        map_index_template="{{ task.application_args[3] }}",
    ).expand(application_args=planned)
    summarize = SparkJob(
        **spark("summarize", "summarize.py"),
        application_args=["--plan", PLAN],
        pre_execute=claim,
    )
    confirm = SparkJob(
        **spark("confirm", "simulate.py"),
        application_args=["--plan", PLAN, "--panel", "confirm", "--configs", FLAGGED],
        pre_execute=claim_if_flagged,
    )

    (
        planned
        >> generate_scenarios
        >> validate_scenarios()
        >> simulate
        >> validate_outcomes()
        >> summarize
        >> validate_summary()
        >> judge()
        >> confirm
        >> decide()
        >> log_to_mlflow()
        >> report()
        >> gate()
    )
