"""### What is wrong with this installation.

Runs the checks of `isr-pipeline doctor` in a task: in a worker, with what the Airflow Variable and
Connections say, in the Python that the Variable names. Run it before the first night, and after
each change of the installation. It changes nothing.

#### Triage notes
* **`examine` failed**: its exception has what is wrong, with what is allowed. Its log has a line
  for each part; `ok` parts need nothing.
* **Airflow, not installed**: true of the Python that the Variable names, which needs none.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, task

from isr_pipeline.night.airflow.connections import at_parsing
from isr_pipeline.night.airflow.wiring import Tag, one_line_errors, pool

SETTINGS = at_parsing()

with DAG(
    dag_id="isr_doctor",
    description="Say what is wrong with this installation",
    doc_md=__doc__,
    schedule=None,
    max_active_runs=1,
    tags=[Tag.BY_HAND, Tag.SPARK, Tag.UPKEEP],
) as dag:

    @task(**pool(SETTINGS))
    @one_line_errors
    def examine(**_: Any) -> None:
        """Ask every part, and fail with the lines of those that are wrong."""
        from isr_pipeline.night.airflow.upkeep import examine as ask  # noqa: PLC0415

        ask()

    examine()
