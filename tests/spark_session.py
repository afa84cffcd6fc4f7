"""One Spark session for all tests that need one: it takes seconds to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return a real session on two local cores."""
    from isr_pipeline.night.spark.spark_session import spark_session

    session = spark_session("tests", "local[2]")
    yield session
    session.stop()
