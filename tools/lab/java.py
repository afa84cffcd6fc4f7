"""The Java that brokers run on: the one that the project finds for Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import Refused
from isr_pipeline.night.spark.java import java_home

if TYPE_CHECKING:
    from isr_pipeline.base.home import Home


def lab_java(home: Home) -> Path:
    """Return the home of a Java 17 or 21.

    Raises:
        Refused: there is none.
    """
    try:
        return java_home(home)
    except Refused:
        raise Refused("lab: no Java 17 or 21: set JAVA_HOME to one, or install it") from None
