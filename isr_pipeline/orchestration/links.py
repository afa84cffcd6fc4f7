"""A button on every task of a night's run that leads to what the run makes.

Airflow asks for the address when a task ends, in the task's own process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseOperatorLink

from isr_pipeline.experiment.nightly import experiment_of

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


class NightLink(BaseOperatorLink):
    """The report from the task on that writes it, the night's runs in MLflow before."""

    @property
    def name(self) -> str:
        """Words on the button."""
        return "The night"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Address for a browser; empty where nothing of the experiment was ever logged."""
        from isr_pipeline.night.life import made_by  # noqa: PLC0415 - parse fast

        return made_by(operator.task_id, experiment_of(ti_key.dag_id), ti_key.run_id)
