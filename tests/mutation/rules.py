"""Mutants of the rules, each against the tests of the rules.

A mutant is tried in a process of its own, forked from one that has read pytest and the libraries
but nothing of the package. There the package is read with the mutant's line changed, and the JIT
off: some seconds each.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import settings

from tests.mutation.check import ROOT, CannotMutateError, mutated, source_of
from tests.mutation.mutants import MUTANTS, Mutant, chosen

TESTS = ("kafka", "oracle")
"""Folders of the tests of the rules."""

TIMEOUT_S = 600
LIBRARIES = (numba, np)
"""Read here, they are not read for every mutant."""

_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Outcome:
    """What the tests said of a mutant.

    Args:
        mutant: the mutant.
        killed_by: the test that failed, "" if none did.
    """

    mutant: Mutant
    killed_by: str


def check(mutants: Iterable[Mutant]) -> Iterator[Outcome]:
    """Run the tests against each mutant in turn; the JIT is off in this interpreter.

    Args:
        mutants: what to try.

    Yields:
        One outcome a mutant.

    Raises:
        CannotMutateError: a mutant fits nowhere, the tests fail without any, or cannot be run.
    """
    every = [f"tests/{folder}" for folder in TESTS]
    failed = first_failure(every, None)
    if failed:
        message = f"{failed} fails without any mutant"
        raise CannotMutateError(message)
    for mutant in mutants:
        own = f"tests/kafka/test_{mutant.file}"  # fails soonest
        killed_by = first_failure([own], mutant) if (ROOT / own).is_file() else ""
        yield Outcome(mutant, killed_by or first_failure(every, mutant))


def first_failure(tests: list[str], mutant: Mutant | None) -> str:
    """Run tests in a process of their own; return the first that fails, "" if none does.

    Args:
        tests: folders or files, from the checkout's root on.
        mutant: with which the package is read; None: as it is.

    Raises:
        CannotMutateError: the mutant fits nowhere, or the tests could not be run at all.
    """
    if mutant is not None:
        mutated(source_of(mutant), mutant)
    receiver, sender = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_run, args=(tests, mutant, sender))
    child.start()
    sender.close()
    said = receiver.recv() if receiver.poll(TIMEOUT_S) else None
    child.kill()
    child.join()
    status, failed = said if said is not None else (pytest.ExitCode.INTERNAL_ERROR, "")
    if status == pytest.ExitCode.OK:
        return ""
    if not failed:
        name = mutant.name if mutant else "without any mutant"
        message = f"{name}: pytest of {', '.join(tests)} ends with {status}"
        raise CannotMutateError(message)
    return str(failed)


def _run(tests: list[str], mutant: Mutant | None, sender: Connection) -> None:
    """Put the mutant in, run the tests, and tell the status and the first that failed."""
    settings.load_profile("ci")  # no deadline, the same draws every time
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.chdir(ROOT)
    first = _First()
    options = ["-x", "-q", "-p", "no:cacheprovider", "--noconftest"]
    status = pytest.main([*options, *tests], plugins=[first])
    sender.send((int(status), first.failed))
    os._exit(0)


class _First:
    """Notes the first test, or file of tests, that fails."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A part of a test has run."""
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        """A file was read."""
        if report.failed:
            self.failed = self.failed or report.nodeid


class _Finder(MetaPathFinder):
    """Finds the module that a mutant changes, before anybody else does."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._name = f"isr_pipeline.{mutant.room}.{Path(mutant.file).stem}"

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Of that module alone."""
        if fullname != self._name:
            return None
        file = str(ROOT / "isr_pipeline" / self._mutant.room / self._mutant.file)
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, file, self._mutant))


class _Loader(SourceFileLoader):
    """Reads a module with the mutant's line changed."""

    def __init__(self, fullname: str, file: str, mutant: Mutant) -> None:
        super().__init__(fullname, file)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        """Compile what no cache has."""
        code: CodeType = compile(mutated(source_of(self._mutant), self._mutant), self.path, "exec")
        return code


def main() -> int:
    """Try what the command line asks for; 1 if one survives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--every", type=int, default=1, help="one of so many")
    options = parser.parse_args()
    mutants = chosen(MUTANTS, options.names)[:: options.every]
    survived = 0
    for outcome in check(mutants):
        survived += not outcome.killed_by
        verdict = outcome.killed_by or "SURVIVED"
        sys.stdout.write(f"{outcome.mutant.name!r}\n    {verdict}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(mutants)} mutants, {survived} survived\n")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
