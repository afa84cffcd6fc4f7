"""Says which files of `config/experiments` cannot be read, as an import error of Airflow's.

Airflow hides every DAG of a file that has an import error. So the DAGs of experiments, which are
all made by `isr_nightly.py`, have their errors here: only the broken one's DAG is missing.
"""

from __future__ import annotations

from isr_pipeline.experiment.file import nightlies
from isr_pipeline.night.airflow.connections import at_parsing

at_parsing()
BROKEN = nightlies()[1]
if BROKEN:
    raise ImportError("\n".join(map(str, BROKEN)))
