"""### Keep the disk from filling up.

Removes the older nights of every experiment (tables, folders, Data Docs, MLflow runs), old task
logs of these DAGs, and old runs from Airflow's database where that is this home's own. Nights that
a baseline is made of stay. A new DAG of this kind is paused: it removes nothing until somebody
switches it on.

#### Triage notes
* **`prune_nights` failed**: the last line of its log says why: a night of that experiment is being
  written (the next run has it), or a baseline is damaged, so that nobody can tell which night it
  was. The other experiments were pruned.
* **`clean_airflow` skipped**: Airflow's database belongs to somebody else's Airflow, who runs
  `airflow db clean` for all its DAGs.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, CronTriggerTimetable, task

from isr_pipeline.night.airflow.wiring import (
    MAINTENANCE_PARAMS,
    Tag,
    check_params,
    one_line_errors,
)

with DAG(
    dag_id="isr_maintenance",
    description="Remove old nights, Data Docs, task logs and runs",
    doc_md=__doc__,
    schedule=CronTriggerTimetable("0 12 * * 0", timezone="UTC", run_immediately=timedelta(0)),
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,
    params=MAINTENANCE_PARAMS,
    tags=[Tag.WEEKLY, Tag.UPKEEP],
    default_args={"owner": "isr-pipeline", "retries": 0},
) as dag:

    @task
    @one_line_errors
    def prune_nights(**context: Any) -> None:
        """Remove all but the newest nights of each experiment."""
        from isr_pipeline.night.airflow.upkeep import prune_nights as prune  # noqa: PLC0415

        check_params(context, MAINTENANCE_PARAMS)
        prune(context["params"]["keep_nights"])

    @task
    @one_line_errors
    def remove_logs(**context: Any) -> None:
        """Remove the task logs of runs of these DAGs that are older."""
        from isr_pipeline.night.airflow.upkeep import remove_logs as remove  # noqa: PLC0415

        remove(context["params"]["keep_days"])

    @task
    @one_line_errors
    def clean_airflow(**context: Any) -> None:
        """Remove what is older from Airflow's database, where that is this home's own."""
        from isr_pipeline.night.airflow.upkeep import clean_airflow as clean  # noqa: PLC0415

        clean(context["params"]["keep_days"])

    [prune_nights(), remove_logs(), clean_airflow()]
