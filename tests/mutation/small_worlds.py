"""Mutants of the simulation, each against the one test that has to fail.

With the JIT off the kernel's functions are ordinary Python, so a mutant is one function with other
code. It is tried in a process forked from one that has read the package already: a second each.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tests.mutation.check import ROOT, CannotMutateError, mutated, source_of
from tests.mutation.mutants import SIMULATION, Mutant, chosen

LIMIT_S = 20
"""Processor time of a mutant; one that needs more hangs."""

_APART = 7
_FORK = multiprocessing.get_context("fork")


def try_each(mutants: Iterable[Mutant], budget_s: float) -> Iterator[tuple[Mutant, bool]]:
    """Try one mutant after the other, as long as there is time.

    Args:
        mutants: of the simulation, each with its test.
        budget_s: no mutant is begun after so many seconds.

    Yields:
        A mutant, and whether its test failed.

    Raises:
        CannotMutateError: a mutant fits nowhere, or its test is not there.
    """
    begun = time.monotonic()
    for mutant in mutants:
        if time.monotonic() - begun > budget_s:
            return
        yield mutant, fails([mutant.test], mutant)


def fails(tests: list[str], mutant: Mutant | None) -> bool:
    """Whether one of these tests fails, with the mutant or without any.

    Raises:
        CannotMutateError: the mutant fits nowhere, or a test is not there.
    """
    changed = None if mutant is None else (_function(mutant), _code(mutant))
    child = _FORK.Process(target=_test, args=(tests, changed))
    child.start()
    child.join()
    ended = child.exitcode or 0
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and ended > 0:
        name = mutant.name if mutant else "without any mutant"
        message = f"{name}: pytest of {', '.join(tests)} ends with {ended}"
        raise CannotMutateError(message)
    return ended != pytest.ExitCode.OK  # below 0: it has used up its time


def _test(tests: list[str], changed: tuple[FunctionType, CodeType] | None) -> None:
    """Put the mutant in, run the tests, and end the process as pytest does."""
    if changed is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
        function, code = changed
        function.__code__ = code
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    options = ["-x", "-q", "-p", "no:cacheprovider", "--noconftest"]
    os._exit(pytest.main([*options, *(f"{ROOT}/tests/{test}" for test in tests)]))


def _function(mutant: Mutant) -> FunctionType:
    """The function that the mutant changes: the one which all its callers have."""
    room = importlib.import_module(f"isr_pipeline.{mutant.room}.{Path(mutant.file).stem}")
    function = getattr(room, mutant.function)
    if not isinstance(function, FunctionType):
        message = f"{mutant.name}: compiled; set NUMBA_DISABLE_JIT=1"
        raise CannotMutateError(message)
    return function


def _code(mutant: Mutant) -> CodeType:
    """Compile the mutant's function."""
    path = ROOT / "isr_pipeline" / mutant.room / mutant.file
    module = compile(mutated(source_of(mutant), mutant), str(path), "exec")
    return next(
        constant
        for constant in module.co_consts
        if isinstance(constant, CodeType) and constant.co_name == mutant.function
    )


def main() -> int:
    """Try what the command line asks for; 1 if one survives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--budget-s", type=float, default=float("inf"))
    options = parser.parse_args()
    importlib.import_module("tests.simulation.worlds")  # read here, it is not read in every child
    mutants = [mutant for mutant in chosen(SIMULATION, options.names) if mutant.test]
    if options.budget_s == float("inf") and fails(sorted({m.test for m in mutants}), None):
        message = "a test of the simulation's mutants fails without any mutant"
        raise CannotMutateError(message)
    spread = [mutant for first in range(_APART) for mutant in mutants[first::_APART]]
    tried = survived = 0
    for mutant, died in try_each(spread, options.budget_s):
        tried += 1
        survived += not died
        sys.stdout.write(f"{mutant.name!r}\n    {mutant.test if died else 'SURVIVED'}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{tried} of {len(mutants)} mutants of the simulation, {survived} survived\n")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
