"""Hold one Spark for all steps of a run, until standard input closes.

    host.py --master MASTER --place FILE

The file says where it can be reached (:mod:`isr_pipeline.host.spark_place`) and goes when the
program ends. Java ends with this process, however that ends: it holds its standard input.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.host.spark_place import Place
from isr_pipeline.host.spark_session import spark_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

END_SECONDS_MAX = 5.0

EVERY_STEP = (
    "isr_pipeline.scenarios.generator",
    "isr_pipeline.outcomes.pairs",
    "isr_pipeline.outcomes.summary",
    "isr_pipeline.worlds.ready:load_kernel",
)
"""What the workers of a Spark that serves a whole run have imported before they are forked."""


COLLECT_SECONDS = 60.0
"""Between two collections of Java's garbage; one takes about 0.1 s."""


def main(arguments: list[str] | None = None) -> int:
    """Run as a program; exit status 1 if Java ended by itself."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--master", required=True, help="local[2], spark://…")
    parser.add_argument("--place", type=Path, required=True, help="file to write")
    options = parser.parse_args(arguments)
    spark = spark_session("isr-pipeline", options.master, preload=EVERY_STEP)
    gateway = spark.sparkContext._gateway
    known = gateway.gateway_parameters
    try:
        here = Place(os.getpid(), options.master, known.port, known.auth_token, EVERY_STEP)
        here.write(options.place)
        _start_workers(spark)
        return _wait_for_end(gateway.proc, gateway.jvm.System.gc)
    finally:
        options.place.unlink(missing_ok=True)
        spark.stop()
        _end_java(gateway.proc)


def _start_workers(spark: SparkSession) -> None:
    """Let every core start its Python worker, so that the first step finds them."""
    cores = spark.sparkContext.defaultParallelism
    with contextlib.suppress(Exception):  # whoever needs them is told why there are none
        spark.range(0, cores, 1, cores).mapInArrow(_same, "id long").count()


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _wait_for_end(java: subprocess.Popen[bytes], collect: Callable[[], None]) -> int:
    """Wait until standard input closes (0) or Java ends (1).

    Args:
        java: the process.
        collect: makes Java collect its garbage, which it does about once a minute: by itself
            Java lets its heap grow first, night by night.
    """
    collected_at = time.monotonic()
    while java.poll() is None:
        readable, _, _ = select.select([sys.stdin], [], [], 1.0)
        if readable and not os.read(sys.stdin.fileno(), 1024):
            return 0
        if time.monotonic() - collected_at > COLLECT_SECONDS:
            with contextlib.suppress(Exception):  # a Java that is gone is seen above
                collect()
            collected_at = time.monotonic()
    return 1


def _end_java(java: subprocess.Popen[bytes]) -> None:
    """Ask Java to end, which removes its scratch files; then make it."""
    java.terminate()
    try:
        java.wait(END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()


if __name__ == "__main__":
    sys.exit(main())
