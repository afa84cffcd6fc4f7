"""Forget old nights in MLflow."""

from __future__ import annotations

from collections.abc import Collection

from isr_pipeline.tracking.client import connect, find_runs, remove_runs, told_in_one_line


def prune(experiment: str, keep: Collection[str]) -> int:
    """Remove every run of an experiment whose night is not to be kept.

    Args:
        experiment: experiment name.
        keep: nights to keep (YYYY-MM-DD); the caller adds the baseline's.

    Returns:
        Number of runs removed, children included.

    Raises:
        Refused: the store cannot be read or written.
    """
    client = connect()
    with told_in_one_line():
        doomed = [
            run.info.run_id
            for run in find_runs(client, experiment, experiment=experiment)
            if run.data.tags.get("night") not in keep
        ]
        remove_runs(client, doomed)
    return len(doomed)
