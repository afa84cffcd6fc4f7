"""Libraries that the bare package does not bring: which extra of it does, in one line."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from isr_pipeline.base.version import PACKAGE

CALLED = {"airflow": "apache-airflow", "kafka": "kafka-python"}
"""Module -> distribution, where the two have different names."""

NOT_OF_SET_UP = frozenset({"k8s", "server"})
"""Extras that `make setup` leaves out (tools/setup.py)."""

_WITH_EXTRA = re.compile(r"([\w.-]+).*\bextra == ['\"](\w+)['\"]")


def missing(error: BaseException, *, of_night: bool = False) -> str:
    """Say which library is not installed and what installs it; empty of any other error.

    Args:
        error: what an import raised.
        of_night: whether a night's command asked, which needs more than the simulator's libraries.
    """
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return ""
    module = error.name.partition(".")[0]
    library = CALLED.get(module, module.replace("_", "-"))
    extra = _extras().get(library)
    if of_night and extra == "simulate":
        extra = "night"
    return f"needs {library}; {install(extra)}" if extra else ""


def install(extra: str) -> str:
    """The command that brings an extra's libraries: set-up's, in a checkout where it has them."""
    if extra not in NOT_OF_SET_UP and (Path(sys.prefix) / ".set-up").is_file():
        return "make setup"
    return f"pip install '{PACKAGE}[{extra}]'"


def _extras() -> dict[str, str]:
    """Library -> the extra that brings it, as the installed package says."""
    try:
        wanted = metadata.requires(PACKAGE) or ()
    except metadata.PackageNotFoundError:
        return {}
    found = (_WITH_EXTRA.match(one) for one in wanted)
    return {one[1].lower(): one[2] for one in found if one}
