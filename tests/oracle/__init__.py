"""Timelines of Kafka's own unit tests, run through the rules.

A timeline drives one *machine*: a piece of Kafka (the leader's record of a follower, a partition on
its leader, a fetcher thread, a controller's election ...) that asks the rule functions of `kafka/`
what to do, the very ones that the kernel compiles. What the simulation has no need of, such as
list-offsets or the AlterPartition queue, is written here beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.kafka.releases import todays_names
from tests.oracle.steps import Place
from tests.oracle.timeline import MACHINES, run_timeline
from tests.oracle.variants import VARIANTS

__all__ = ["MACHINES", "VARIANTS", "replay_file", "replay_vector"]


def replay_vector(
    vector: Mapping[str, Any], line_no: int, file: str = "timeline"
) -> dict[str, Any]:
    """Run one timeline.

    Args:
        vector: the timeline.
        line_no: its line, for errors; the first is 1.
        file: the file's name, for errors.

    Returns:
        ``{"id", "passed": true | false | None, "state", "mismatch"}``.

    Raises:
        InputError: the timeline cannot be run.
    """
    return run_timeline(vector, Place(file, f"line {line_no}: "))


def replay_file(path: str | Path) -> Iterator[dict[str, Any]]:
    """Run every timeline of a file, one JSON object a line; empty lines are passed over.

    Args:
        path: the file.

    Yields:
        What `replay_vector` returns, line by line.

    Raises:
        InputError: the file cannot be read, or a line cannot be run.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise InputError(str(path), "", problem.strerror, "a readable file") from problem
    except UnicodeDecodeError as problem:
        raise InputError(str(path), "", "not UTF-8 text", "JSON, one object a line") from problem
    for line_no, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            vector = json.loads(todays_names(line))
        except (ValueError, RecursionError) as problem:
            raise InputError(
                str(path), f"line {line_no}", "not JSON", "one JSON object a line"
            ) from problem
        if not isinstance(vector, dict):
            raise InputError(
                str(path), f"line {line_no}", type(vector).__name__, "one JSON object a line"
            )
        yield replay_vector(vector, line_no, str(path))
