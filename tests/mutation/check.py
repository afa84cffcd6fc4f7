"""What a mutant does to a module's source, and the interpreter that mutants are tried in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.mutation.mutants import Mutant

ROOT = Path(__file__).resolve().parents[2]


class CannotMutateError(RuntimeError):
    """A mutant's line is not in its function, or is there more than once."""


def mutated(source: str, mutant: Mutant) -> str:
    """Return the module's source with the mutant's line changed.

    Raises:
        CannotMutateError: the line is not there (once, within its function; module level takes the
            first).
    """
    begin, end = 0, len(source)
    if mutant.function:
        found = re.search(rf"^def {mutant.function}\(", source, re.MULTILINE)
        if found is None:
            raise CannotMutateError(mutant.name)
        begin = found.start()
        after = re.compile(r"^(?=@|def |class )", re.MULTILINE).search(source, found.end())
        end = after.start() if after else len(source)
    body = source[begin:end]
    if mutant.old not in body:
        raise CannotMutateError(mutant.name)
    return source[:begin] + body.replace(mutant.old, mutant.new, 1) + source[end:]


def source_of(mutant: Mutant) -> str:
    """Return the source of the module that a mutant changes."""
    return (ROOT / "isr_pipeline" / mutant.room / mutant.file).read_text(encoding="utf-8")


def run_without_compiler(program: str, arguments: list[str]) -> int:
    """Run a program of this folder in an interpreter without the compiler; its exit status.

    Args:
        program: name of its module.
        arguments: of the program.
    """
    return subprocess.run(
        [sys.executable, "-m", f"tests.mutation.{program}", *arguments],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    ).returncode
