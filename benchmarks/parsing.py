"""Processor time that Airflow's DAG processor needs for twenty experiments' DAGs.

    python -m benchmarks.parsing

Copies the shipped experiments until they are twenty and reads the DAG folder five times, each in a
process of its own that has loaded Airflow before, as the DAG processor has.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FILES = 20
TIMES = 5
READ = """
import sys, time
from airflow.dag_processing.dagbag import BundleDagBag
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
began = time.process_time()
bag = BundleDagBag(sys.argv[1], bundle_path=sys.argv[1], bundle_name="dags-folder")
assert not bag.import_errors, bag.import_errors
print(time.process_time() - began)
"""


def seconds(home: Path) -> float:
    """Processor seconds of one reading of the DAG folder, with the experiments below `home`."""
    own = {"AIRFLOW_HOME": str(home), "ISR_PIPELINE_CONFIG": str(home / "config")}
    done = subprocess.run(
        [sys.executable, "-c", READ, str(REPOSITORY / "dags")],
        env=os.environ | own,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    """Print the median and the range."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        experiments = shutil.copytree(REPOSITORY / "config", home / "config") / "experiments"
        for number in range(FILES - len(list(experiments.glob("*.yaml")))):
            shutil.copy(experiments / "operators.yaml", experiments / f"copy-{number}.yaml")
        found = [seconds(home) for _ in range(TIMES)]
    median = statistics.median(found)
    print(f"{median:.2f} s of processor time ({min(found):.2f} to {max(found):.2f}), {FILES} files")


if __name__ == "__main__":
    main()
