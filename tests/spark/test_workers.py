"""Spark's workers, asked before a night begins."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.night.spark import spark_workers
from isr_pipeline.night.spark.spark_workers import ask_workers, told
from tests.saying import refused

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


class TestAsked:
    """What a real worker answers."""

    @pytest.mark.slow
    def test_fit(self, spark: SparkSession, tmp_path: Path) -> None:
        """Workers of this code that may write: one for each core, told in a line."""
        found = ask_workers(spark, str(tmp_path))
        release = ".".join(map(str, sys.version_info[:3]))
        assert told(found).startswith(f"2 workers on {found[0].host}: Python {release} ")

    def test_tables_cannot_be_written(self, spark: SparkSession, tmp_path: Path) -> None:
        """The folder, the reason and the worker's user are named."""
        assert refused(lambda: ask_workers(spark, f"{tmp_path}/none"), Refused).endswith(
            f"cannot write the tables: {tmp_path}/none: no such file or directory; "
            "allowed: a folder that driver and workers share and both may write"
        )

    def test_other_code(
        self, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A checkout of another version on the worker is no error of a step, hours later."""
        monkeypatch.setattr(spark_workers, "package_digest", lambda: "other")
        said = refused(lambda: ask_workers(spark, str(tmp_path)), Refused)
        assert "runs other code of isr_pipeline than this program" in said
        assert said.endswith('or from spark.archives (docs/deploy.md, "A Spark elsewhere")')

    def test_no_python(
        self, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What Spark says of it is one line."""
        monkeypatch.setattr(spark.sparkContext, "pythonExec", f"{tmp_path}/none")
        with pytest.raises(Refused, match=r"^Spark's workers cannot be used: a worker of Spark"):
            ask_workers(spark, str(tmp_path))


class TestWhen:
    """Which nights ask."""

    @pytest.mark.parametrize(
        ("master", "asked"), [("local[2]", []), ("spark://elsewhere:7077", ["/tables"])]
    )
    def test_not_on_this_machine(
        self, master: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Workers here share everything and are not asked; others are."""
        found: list[str] = []
        monkeypatch.setattr(spark_workers, "ask_workers", lambda _, root: found.append(root))
        session = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
        spark_workers.check_workers(cast("SparkSession", session), "/tables")
        assert found == asked
