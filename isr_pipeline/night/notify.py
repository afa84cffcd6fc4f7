"""Tell somebody how a night ended, whether it was judged or failed before.

``ISR_PIPELINE_NOTIFY=package.module:function`` names a function of one argument, the line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import cast

from isr_pipeline.base.errors import InputError

Notifier = Callable[[str], object]

VARIABLE = "ISR_PIPELINE_NOTIFY"


def tell(line: str) -> None:
    """Give a line to the notifier that is set; one that fails does not fail the night.

    Args:
        line: how a night ended.
    """
    try:
        notifier = configured()
        if notifier is not None:
            notifier(line)
    except Exception as error:
        sys.stdout.write(f"the notifier failed: {error}\n")


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
