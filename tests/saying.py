"""What is said: by a refusal, and by a program that runs in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError


def refused(call: Callable[[], object], kind: type[Exception] = InputError) -> str:
    """The line with which a call is refused."""
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def finished(
    command: Sequence[str | Path], *, check: bool = False, **how: Any
) -> subprocess.CompletedProcess[str]:
    """A program that has ended, with what it said.

    Args:
        command: the program and its arguments.
        check: whether any other end than a good one is an error of the test.
        how: as `subprocess.run` takes it.
    """
    return subprocess.run(command, check=check, capture_output=True, text=True, **how)
