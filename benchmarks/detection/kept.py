"""Nights that were judged, a line each: a run that was cut off goes on after the last whole one."""

from __future__ import annotations

import json
import os
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


def kept_rows(file: Path) -> Iterator[dict[str, Any]]:
    """What was said so far; a line that was cut off is left out."""
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def judge_and_keep(
    tasks: Sequence[Any],
    file: Path,
    judge: Callable[[Any], dict[str, Any]],
    processes: int,
    prepare: tuple[Callable[..., None], tuple[Any, ...]],
) -> Iterator[dict[str, Any]]:
    """Judge nights by several processes; each row is kept as it comes, and given.

    Args:
        tasks: of the nights that are not kept yet, in the order of the rows.
        file: where rows are added.
        judge: makes a task's row; a function of a module.
        processes: how many judge at a time.
        prepare: what each process calls first, and with what.
    """
    if not tasks:
        return
    # one thread each: the processes share the cores already
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    file.parent.mkdir(parents=True, exist_ok=True)
    with (
        file.open("a", encoding="utf-8") as lines,
        get_context("spawn").Pool(processes, *prepare) as workers,
    ):
        for row in workers.imap(judge, tasks):
            lines.write(json.dumps(row) + "\n")
            lines.flush()
            yield row
