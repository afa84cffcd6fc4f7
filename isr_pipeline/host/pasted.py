"""Commands in texts for a person, written so that they can be pasted into the shell as they stand.

Rooms write ``isr-pipeline night list`` and ``make nightly EXPERIMENT=smoke``, which also stand in
tables and reports. Where such a text goes to a terminal, one function decides how this program is
started there.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

from isr_pipeline.home import IN_CHECKOUT, REPOSITORY

PROGRAM = "isr-pipeline"

COMMANDS = (
    *("night", "why", "blame", "baseline", "cluster", "experiment", "keys", "simulate", "conform"),
    *("lab", "replay", "sources", "doctor", "ui", "airflow"),
)
"""First words of the command line: only before these is the program's name a command."""

_CALL = re.compile(rf"(?<![\w./-]){PROGRAM}(?= (?:{'|'.join(COMMANDS)})\b)")
_MAKE = re.compile(r"(?<![\w./-])make (nightly|ui)\b((?: (?:NIGHT|EXPERIMENT)=[^\s`;,]+)*)")


def program() -> str:
    """How a person starts this program here: by its name if that is on PATH, else by its path."""
    own = Path(sys.executable).parent / PROGRAM
    if not own.is_file():
        return f"{shlex.quote(sys.executable)} -m isr_pipeline.cli"
    found = shutil.which(PROGRAM)
    if found is not None and Path(found).absolute() == own.absolute():
        return PROGRAM
    try:
        place = own.absolute().relative_to(Path.cwd())
    except (ValueError, OSError):
        place = own.absolute()
    return shlex.quote(str(place))


def pasted(text: str) -> str:
    """Write the commands in a text so that they can be pasted.

    Args:
        text: one that a room wrote.
    """
    made = _MAKE.sub(lambda match: _make(match[1], match[2]), text)
    return _CALL.sub(lambda _: program(), made)


def _make(target: str, variables: str) -> str:
    """A target of the checkout's Makefile; without a checkout, the command that it stands for."""
    if not IN_CHECKOUT:
        words = "ui" if target == "ui" else "night run"
        options = re.sub(r"([A-Z]+)=", lambda match: f"--{match[1].lower()} ", variables)
        return f"{PROGRAM} {words}{options}"
    here = Path.cwd() == REPOSITORY
    return f"make {'' if here else f'-C {shlex.quote(str(REPOSITORY))} '}{target}{variables}"
