"""Spark's workers, asked before a night: have they this code, and can they write the tables?

A worker elsewhere that lacks either would be found out by the first step that needs it, minutes
later and in fifty lines.
"""

from __future__ import annotations

import functools
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from isr_pipeline.base.compiling import sources_digest
from isr_pipeline.base.errors import USER_ERRORS, Refused
from isr_pipeline.base.home import REPOSITORY, SHIPPED, Home
from isr_pipeline.base.places import root_path
from isr_pipeline.base.processes import user_name
from isr_pipeline.night.spark.spark_errors import RECIPES, cause
from isr_pipeline.night.spark.spark_session import spark_session
from isr_pipeline.night.stack import on_this_machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Worker:
    """A Python worker of Spark, as it describes itself.

    Attributes:
        host: name of its machine.
        user: whose process it is.
        home: folder of its compiled kernels.
        python: version of its Python, with the processor's architecture.
        sources: digest of the package that it imports.
        refusal: why it cannot write the tables; empty if it can.
    """

    host: str
    user: str
    home: str
    python: str
    sources: str
    refusal: str


_SCHEMA = ", ".join(f"{name} string" for name in Worker.__dataclass_fields__)


def ask_workers(spark: SparkSession, root: str) -> list[Worker]:
    """Ask as many workers as there are cores, of the executors that are there by now.

    Args:
        spark: a session.
        root: of the tables.

    Raises:
        Refused: a worker cannot be started, runs other code, or cannot write the tables; one line.
    """
    cores = spark.sparkContext.defaultParallelism
    try:
        rows = spark.range(0, cores, 1, cores).mapInArrow(
            functools.partial(_describe, root), _SCHEMA
        )
        found = [Worker(**row.asDict()) for row in rows.collect()]
    except Exception as error:
        raise Refused(f"Spark's workers cannot be used: {cause(error)}") from None
    for one in found:
        if one.sources != package_digest():
            raise Refused(
                f"Spark's worker on {one.host} runs other code of isr_pipeline than this program; "
                f"allowed: the same there, {RECIPES}"
            )
        if one.refusal:
            raise Refused(
                f"Spark's worker on {one.host} (user {one.user}) cannot write the tables: "
                f"{one.refusal}; allowed: a folder that driver and workers share and both may write"
            )
    return found


def told(workers: list[Worker]) -> str:
    """Say in a line who the workers are: ``2 workers on a, b: Python 3.11.7 x86_64``."""
    hosts = ", ".join(sorted({one.host for one in workers}))
    pythons = ", ".join(sorted({one.python for one in workers}))
    return f"{len(workers)} workers on {hosts}: Python {pythons}"


def check_workers(spark: SparkSession, root: str) -> None:
    """Ask workers that are elsewhere, before they get work.

    Args:
        spark: their session. Workers of this machine share everything with us.
        root: of the tables.

    Raises:
        Refused: they cannot be used; one line.
    """
    master = spark.sparkContext.master
    if not on_this_machine(master):
        ask_workers(spark, root)


def _describe(root: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Say what a worker is, once for each batch."""
    for _ in batches:
        row = Worker(
            host=platform.node(),
            user=user_name(),
            home=str(Home.from_environment().path),
            python=f"{platform.python_version()} {platform.machine()}",
            sources=package_digest(),
            refusal=_refusal(root),
        )
        names = Worker.__dataclass_fields__
        yield pa.RecordBatch.from_pydict({name: [getattr(row, name)] for name in names})


def _refusal(root: str) -> str:
    """Why the tables' folder cannot be written from here; empty if it can."""
    folder = root_path(root)
    if not isinstance(folder, Path):
        return ""  # an object store is asked for by whoever reads it first
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"{folder}: {str(error.strerror).lower()}"


def package_digest() -> str:
    """Digest of every source file that a worker may import: 16 hexadecimal digits."""
    package = REPOSITORY / "isr_pipeline"
    rooms = [one.name for one in package.iterdir() if one.is_dir() and one != SHIPPED]
    return sources_digest(sorted(rooms), package)[:16]


def main(arguments: list[str] | None = None) -> int:
    """Ask the workers of a master, in a session of its own; says who they are, or why not."""
    master, root = arguments or sys.argv[1:]
    try:
        with spark_session("isr-pipeline doctor", master) as spark:
            sys.stdout.write(f"{told(ask_workers(spark, root))}\n")
    except USER_ERRORS as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
