"""What the DAG `isr_maintenance` does: remove what nights leave and nobody reads any more."""

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
from isr_pipeline.night.keep import prune
from isr_pipeline.night.status import nights

CONNECTION = "SQL_ALCHEMY_CONN"
"""Ends the variables by which Airflow keeps tasks from its database; its own command needs it."""


def prune_nights(keep: int) -> None:
    """Remove all but the newest nights of each experiment; tell each.

    Args:
        keep: nights of each experiment that stay, besides those of its baseline.

    Raises:
        Refused: nights of some experiment had to stay; the others' were removed.
    """
    refused = []
    for experiment in sorted({name for name, _ in nights()}):
        try:
            for name, night in prune(keep, experiment):
                _say(f"removed {night} of {name}")
        except Refused as refusal:
            refused.append(str(refusal))
    if refused:
        raise Refused("; ".join(refused))


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
