"""A Python that lacks libraries, though they are installed."""

from __future__ import annotations

OF_NIGHTS = ("great_expectations", "mlflow", "pyspark", "zstandard")
"""Modules that the extra `night` brings and `simulate` does not."""


def bare(when: str = "True", gone: tuple[str, ...] = (*OF_NIGHTS, "numba", "pandas")) -> str:
    """What such a Python runs when it starts.

    Args:
        when: it lacks them, as an expression over what is imported here.
        gone: modules that it lacks.
    """
    return f"""
import pathlib, sys

GONE = {gone!r}

class Gone:
    def find_spec(name, path, target=None):
        if name.partition(".")[0] in GONE and {when}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Gone)
"""
