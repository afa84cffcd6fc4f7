"""Why a step on Spark broke off: one line, from what a real Spark hands on."""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.disk import disk_full
from isr_pipeline.base.errors import Refused
from isr_pipeline.night.spark.program import run_as_program
from isr_pipeline.night.spark.spark_errors import cause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession


def broken_by(spark: SparkSession, breaks: Callable[[], None]) -> Exception:
    """Return the error of a job whose workers do something."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            breaks()
            yield batch

    with pytest.raises(Exception, match=r".") as raised:
        spark.range(0, 4, 1, 2).mapInArrow(work, "id long").count()
    return raised.value


class TestCause:
    """What is said instead of fifty lines."""

    def test_full_disk_in_a_worker(self, spark: SparkSession) -> None:
        """The file that could not be written, and what to do."""

        def breaks() -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/tables/part-0.parquet")

        assert cause(broken_by(spark, breaks)) == (
            "/data/tables/part-0.parquet: no space left on device; free some, and run the night "
            "again"
        )

    def test_full_disk_in_java(self, spark: SparkSession, tmp_path: Path) -> None:
        """Java's own writer does not name the file."""
        java = spark.sparkContext._jvm.java.io
        with pytest.raises(Exception, match="No space left on device") as raised:
            java.FileOutputStream("/dev/full").write(1)
        assert cause(raised.value) == (
            "no space left on device; free some, and run the night again"
        )

    def test_error_of_a_worker(self, spark: SparkSession) -> None:
        """The last line of the worker's traceback."""

        def breaks() -> None:
            raise ValueError("scenario regression-00007: negative lag")

        assert cause(broken_by(spark, breaks)) == (
            "ValueError: scenario regression-00007: negative lag"
        )

    def test_killed_worker(self, spark: SparkSession) -> None:
        """As the system does when memory is short."""

        def breaks() -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        assert cause(broken_by(spark, breaks)) == (
            "a process of Spark was killed while the step ran (was memory short?)"
        )

    def test_spark_gone(self) -> None:
        """Nobody answers where Spark was."""
        assert cause(ConnectionRefusedError(111, "Connection refused")) == (
            "Spark was killed while the step ran, or ended by itself (was memory short?)"
        )

    def test_an_error_whose_spark_has_ended(self) -> None:
        """Pyspark refuses to tell such an error; what it holds says why all the same."""

        class Captured(Exception):
            _desc = "Job aborted."
            _stackTrace = (  # noqa: N815 - as pyspark names it
                "Traceback (most recent call last):\n  raise StoreDamaged(...)\n"
                "isr_pipeline.base.storage.remote.StoreDamaged: "
                "s3://b/t: was published, and is gone\n"
            )

            def __str__(self) -> str:
                raise AssertionError

        assert cause(Captured()) == "s3://b/t: was published, and is gone"

    def test_another_error_is_itself(self) -> None:
        """What is not Spark's is said as it is, in one line."""
        assert cause(KeyError("offline\nrate")) == r"KeyError: 'offline\nrate'"
        assert disk_full(KeyError("offline")) == ""

    def test_full_database(self) -> None:
        """SQLite has its own words for a full disk."""
        import sqlite3

        error = sqlite3.OperationalError("database or disk is full")
        assert disk_full(error).startswith("no space left on device")


class TestProgram:
    """A job that spark-submit started."""

    def test_reason_stands_alone_in_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Whoever submitted it reads one line there, and the traceback is on standard error."""
        sign = tmp_path / "started"
        sign.touch()
        monkeypatch.setenv("ISR_PIPELINE_SPARK_STARTED", str(sign))

        def work() -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x")

        assert run_as_program(work) == 1
        assert sign.read_text().startswith("/data/x: no space left on device;")
        said = capsys.readouterr().err
        assert said.splitlines()[-1] == sign.read_text()
        assert "Traceback" in said

    def test_refusal_has_its_exit_status(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A person's mistake is its line, without a traceback."""

        def work() -> None:
            raise Refused("no outcomes")

        assert run_as_program(work) == 1
        assert capsys.readouterr().err == "no outcomes\n"


class TestUnfitWorker:
    """A worker elsewhere that cannot run our Python, as a real Spark tells of it."""

    def python(self, folder: Path, content: bytes) -> str:
        """Write a program that Spark is given for Python."""
        file = folder / "python"
        file.write_bytes(content)
        file.chmod(0o755)
        return str(file)

    def cause_with(self, spark: SparkSession, setting: str, value: str) -> str:
        """Run a job whose workers are told something else of Python."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spark.sparkContext, setting, value)
            return cause(broken_by(spark, lambda: None))

    def test_older_c_library(self, spark: SparkSession, tmp_path: Path) -> None:
        """As its loader words it."""
        words = "libpython3.11.so: version `GLIBC_2.38' not found (required by python)"
        program = self.python(tmp_path, f'#!/bin/sh\ncat >&2 <<"."\n{words}\n.\nexit 1\n'.encode())
        assert self.cause_with(spark, "pythonExec", program).startswith(
            "a worker of Spark has an older C library than the driver's machine (GLIBC_2.38 is"
        )

    def test_no_python(self, spark: SparkSession, tmp_path: Path) -> None:
        """The path is of the driver's machine alone."""
        assert self.cause_with(spark, "pythonExec", f"{tmp_path}/none") == (
            f"a worker of Spark cannot start its Python: {tmp_path}/none; allowed: this program's "
            "environment at the same path there, or one from an image or from spark.archives "
            '(docs/deploy.md, "A Spark elsewhere")'
        )

    def test_python_ends(self, spark: SparkSession, tmp_path: Path) -> None:
        """It starts, but not our code: a library is missing, or the C library is older."""
        program = self.python(tmp_path, b"#!/bin/sh\nexit 3\n")
        assert "isr_pipeline.night.spark.spark_daemon ended at once" in self.cause_with(
            spark, "pythonExec", program
        )

    def test_another_minor_release(self, spark: SparkSession) -> None:
        """Functions of one release of Python are no functions of another."""
        here = f"{sys.version_info[0]}.{sys.version_info[1]}"
        assert self.cause_with(spark, "pythonVer", "3.9").startswith(
            f"a worker of Spark cannot start its Python: it is Python {here}, not this program's"
        )
