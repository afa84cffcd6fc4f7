"""A Python that lacks the libraries of a night, though they are installed."""

from __future__ import annotations


def bare(when: str = "True") -> str:
    """What such a Python runs when it starts.

    Args:
        when: it lacks them, as an expression over what is imported here.
    """
    return f"""
import pathlib, sys

GONE = ("great_expectations", "mlflow", "numba", "pandas", "pyspark")

class Gone:
    def find_spec(name, path, target=None):
        if name.partition(".")[0] in GONE and {when}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Gone)
"""
