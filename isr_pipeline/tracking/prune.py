"""Forget old nights in MLflow."""

from __future__ import annotations

from isr_pipeline.tracking.client import connect, find_runs, refused_in_one_line, remove_runs


def delete_night(experiment: str, night: str) -> int:
    """Remove every run of one night: its parent, its children, debris of attempts.

    Returns:
        Number of runs removed.

    Raises:
        Refused: the store cannot be read or written.
    """
    client = connect()
    with refused_in_one_line():
        runs = [run.info.run_id for run in find_runs(client, experiment, night=night)]
        remove_runs(client, runs)
    return len(runs)
