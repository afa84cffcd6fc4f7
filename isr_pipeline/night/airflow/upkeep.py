"""What the DAGs `isr_maintenance` and `isr_doctor` do: remove old things, ask what is wrong."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
from pathlib import Path

from airflow.configuration import conf
from airflow.sdk.exceptions import AirflowSkipException

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.night.airflow.connections import settings, spark_connection
from isr_pipeline.night.airflow.elsewhere import do
from isr_pipeline.night.airflow.wiring import check_ground

CONNECTION = "SQL_ALCHEMY_CONN"
"""Ends the variables by which Airflow keeps tasks from its database; its own command needs it."""


def prune_nights(keep: int) -> None:
    """Remove all but the newest nights of each experiment; tell each.

    Args:
        keep: nights of each experiment that stay, besides those of its baseline.

    Raises:
        Refused: nights of some experiment had to stay; the others' were removed.
    """
    done = do("prune", keep=keep)
    for line in done["lines"]:
        _say(line)
    if done["refused"]:
        raise Refused("; ".join(done["refused"]))


def examine() -> None:
    """Say what is wrong with the installation, and what the first task of a night would refuse.

    Raises:
        Refused: something is wrong; a line for each.
    """
    os.environ["SPARK_MASTER"] = spark_connection(settings().spark_connection).master
    found = do("examine")
    for line in found["lines"]:
        _say(line)
    if found["wrong"]:
        raise Refused("\n".join(found["wrong"]))
    check_ground()


def remove_logs(days: int) -> None:
    """Remove task logs of our DAGs' runs that nobody has written to for so long."""
    limit = _ago(days).timestamp()
    folder = Path(conf.get("logging", "base_log_folder"))
    old = [one for one in folder.glob("dag_id=isr_*/run_id=*") if _written_s(one) < limit]
    for one in old:
        shutil.rmtree(one, ignore_errors=True)
    _say(f"logs of {len(old)} runs removed")


def _written_s(folder: Path) -> float:
    """When something below a folder was last written, seconds since 1970."""
    return max((one.stat().st_mtime for one in [folder, *folder.rglob("*")]), default=0.0)


def clean_airflow(days: int) -> None:
    """Remove what is older from Airflow's database, by Airflow's own command.

    Raises:
        AirflowSkipException: the database is not this home's own.
        Refused: Airflow could not; its last line.
    """
    home = Home.from_environment()
    own = Path(os.environ.get("AIRFLOW_HOME", "")).resolve() == home.airflow.resolve()
    if not own:
        raise AirflowSkipException("this Airflow is not this home's own: `airflow db clean`")
    before = _ago(days).isoformat(timespec="seconds")
    command = ["airflow", "db", "clean", "--clean-before-timestamp", before]
    done = subprocess.run(
        [sys.executable, "-m", *command, "--skip-archive", "--yes"],
        env={name: one for name, one in os.environ.items() if not name.endswith(CONNECTION)},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Refused(f"airflow db clean failed: {lines[-1] if lines else done.returncode}")


def _ago(days: int) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
