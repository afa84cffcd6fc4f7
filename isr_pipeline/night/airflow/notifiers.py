"""Airflow's notifiers, as the Variable names them: of installed packages, and no other class.

Importing runs code. So a module is found first, as a file that an installed package lists, and only
then imported; one beside the DAGs, or in the current folder, is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from airflow.sdk import BaseNotifier

from isr_pipeline.base.errors import InputError
from isr_pipeline.night.airflow.connections import VARIABLE


def notifiers(wanted: Mapping[str, Mapping[str, Any]]) -> list[BaseNotifier]:
    """Make the notifiers that the settings name.

    Args:
        wanted: class of Airflow's ``BaseNotifier``, with its module -> its arguments. What it
            renders may hold ``{{ line }}``.

    Raises:
        InputError: no installed package has such a class, or it takes no such argument.
    """
    made = []
    for name, arguments in wanted.items():
        try:
            made.append(_class_of(name)(**arguments))
        except (Exception, SystemExit) as error:  # whatever a package does when it is imported
            where = f"Airflow Variable {VARIABLE}"
            allowed = f"a notifier's class and its arguments ({error})"
            raise InputError(where, "on_failure, on_success", name, allowed) from None
    return made


def _class_of(name: str) -> type[BaseNotifier]:
    """Import a class.

    Raises:
        TypeError: it is no notifier.
        ImportError: its module is not installed.
    """
    module, _, kind = name.rpartition(".")
    _check_installed(module)
    found = getattr(import_module(module), kind)
    if not isinstance(found, type) or not issubclass(found, BaseNotifier):
        raise TypeError("it is no subclass of airflow.sdk.BaseNotifier")
    return found


def _check_installed(module: str) -> None:
    """Refuse a module that no installed package has.

    Raises:
        ImportError: it, or a package above it, is another's file.
    """
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        # To find a module Python imports the packages above it, which were looked at before.
        spec = find_spec(".".join(parts[:end]))
        # A folder without __init__.py has no origin, and nothing that an import would run.
        is_folder = spec is not None and spec.origin is None and end < len(parts)
        if spec is None or not (is_folder or _is_installed(Path(spec.origin or ""))):
            raise ImportError("no installed package has that module")


def _is_installed(file: Path) -> bool:
    """Whether a package lists a file among those that it has installed."""
    for one in metadata.distributions():
        folder = Path(str(one.locate_file("")))
        if file.is_relative_to(folder):
            record = one.read_text("RECORD") or ""
            if f"\n{file.relative_to(folder).as_posix()}," in f"\n{record}":
                return True
    return False
