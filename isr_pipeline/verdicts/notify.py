"""Tell somebody: whatever is called at the end of a night gets the night's one line.

``ISR_PIPELINE_NOTIFY=package.module:function`` names a function of one argument, the line.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import cast

from isr_pipeline.errors import InputError
from isr_pipeline.verdicts.model import load_verdict

Notifier = Callable[[str], object]

VARIABLE = "ISR_PIPELINE_NOTIFY"


def announce(experiment: str, night: str, notifier: Notifier | None = None) -> str:
    """Give a night's line to a notifier.

    Args:
        experiment: experiment name.
        night: YYYY-MM-DD, judged and confirmed.
        notifier: who gets it; the one that ``ISR_PIPELINE_NOTIFY`` names if None, nobody if that
            is not set.

    Returns:
        The line: ``EXPERIMENT NIGHT: headline``.

    Raises:
        Refused: the night was not judged.
        InputError: the variable names nothing that can be called.
    """
    line = f"{experiment} {night}: {load_verdict(experiment, night).headline}"
    notifier = notifier or configured()
    if notifier is not None:
        notifier(line)
    return line


def configured() -> Notifier | None:
    """Return the notifier that the environment names, or None.

    Raises:
        InputError: there is no such function.
    """
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    module, _, name = given.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        found = None
    if not callable(found):
        allowed = "package.module:function, a function of one argument"
        raise InputError("environment", VARIABLE, given, allowed)
    return cast("Notifier", found)
