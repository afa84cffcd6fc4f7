"""Running the tests against mutants."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import Mutant

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests/kafka", "tests/oracle")
_TIMEOUT_S = 600


class CannotMutateError(RuntimeError):
    """A mutant's line is not in its function, or is there more than once."""


@dataclass(frozen=True)
class Outcome:
    """What the tests said of a mutant.

    Args:
        mutant: the mutant.
        killed_by: the test that failed, "" if none did.
    """

    mutant: Mutant
    killed_by: str


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


def copy_project(target: Path) -> None:
    """Copy what the tests of the rules need: the package, their folders and their data.

    Raises:
        CannotMutateError: the tests fail there without any mutant.
    """
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("isr_pipeline", *TESTS, "tests/data/oracle"):
        shutil.copytree(ROOT / name, target / name, ignore=ignore)
    shutil.copy(ROOT / "tests" / "__init__.py", target / "tests" / "__init__.py")
    clean = first_failure(target)
    if clean:
        message = f"{clean} fails without any mutant"
        raise CannotMutateError(message)


def first_failure(project: Path, changed: str = "") -> str:
    """Run the copied tests; return the first that fails, "" if none does.

    Args:
        project: the copy.
        changed: file of the rules whose own tests come first, for they fail soonest.

    Raises:
        CannotMutateError: the tests could not be run at all.
    """
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": str(project),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(project / ".hypothesis"),
    }
    # Hypothesis's own profile for machines that are busy: no deadline, the same draws every time.
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=ci"]
    own = Path("tests", "kafka", f"test_{changed}")
    first = [str(own)] if (project / own).is_file() else []
    command = [sys.executable, "-m", "pytest", *options, *first, *TESTS]
    done = subprocess.run(
        command,
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode == 0:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if failed is None:
        raise CannotMutateError(done.stdout[-2000:] + done.stderr[-2000:])
    return failed.group(1)


def check(mutants: Iterable[Mutant], project: Path) -> Iterator[Outcome]:
    """Run the tests against each mutant in turn.

    Args:
        mutants: what to try.
        project: a copy of the project, whose tests pass.

    Yields:
        One outcome a mutant.

    Raises:
        CannotMutateError: a mutant fits nowhere.
    """
    for mutant in mutants:
        path = project / "isr_pipeline" / "kafka" / mutant.file
        source = path.read_text(encoding="utf-8")
        path.write_text(mutated(source, mutant), encoding="utf-8")
        try:
            yield Outcome(mutant, first_failure(project, mutant.file))
        finally:
            path.write_text(source, encoding="utf-8")
