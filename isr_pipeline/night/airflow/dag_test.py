"""Run a DAG of `dags/isr_nightly.py` once, by Airflow's own `dag.test` with its executor.

    python -m isr_pipeline.night.airflow.dag_test DAG_ID MOMENT CONF

The run is `manual__MOMENT`; its tasks are forked from this program, so what takes seconds to import
is imported here.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import runpy
import sys
from datetime import datetime
from pathlib import Path

from isr_pipeline.night import steps

FILE = "isr_nightly.py"


def main() -> int:
    """Run it to its end; how it went, Airflow knows."""
    dag_id, moment, conf = sys.argv[1:]
    multiprocessing.set_start_method("fork")
    read = runpy.run_path(str(Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]) / FILE))
    dag = next(one for one in read["DAGS"] if one.dag_id == dag_id)
    steps.import_what_is_needed()
    when = datetime.fromisoformat(moment)
    # One without a logical date would take the place of any other run that has none.
    dag.test(run_after=when, logical_date=when, run_conf=json.loads(conf), use_executor=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
