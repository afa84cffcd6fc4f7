"""Command line of the mutation check; see the package's text."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import tests.mutation
from tests.mutation.check import check, copy_project
from tests.mutation.mutants import MUTANTS, SIMULATION, Mutant, chosen
from tests.mutation.small_worlds import run_without_compiler


def main(arguments: list[str] | None = None) -> int:
    """Run the mutants that were asked for; 1 if one survives."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation",
        description=tests.mutation.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="part of a mutant's name")
    parser.add_argument("--list", action="store_true", help="only list them")
    options = parser.parse_args(arguments)
    of_rules = chosen(MUTANTS, options.names)
    of_simulation = chosen(SIMULATION, options.names)
    if options.list:
        for mutant in (*of_rules, *of_simulation):
            lives = f"\n    lives: {mutant.lives}" if mutant.lives else ""
            sys.stdout.write(f"{mutant.name!r}{lives}\n")
        return 0
    survivors = _try_rules(of_rules) if of_rules else 0
    status = run_without_compiler(options.names) if of_simulation else 0
    return 1 if survivors else status


def _try_rules(mutants: list[Mutant]) -> int:
    """Run the tests of the rules against each of these mutants; how many survive."""
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        project = Path(folder) / "project"
        copy_project(project)
        for outcome in check(mutants, project):
            survivors += not outcome.killed_by
            verdict = outcome.killed_by or "SURVIVED"
            sys.stdout.write(f"{outcome.mutant.name!r}\n    {verdict}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(mutants)} mutants, {survivors} survived\n")
    return survivors


if __name__ == "__main__":
    sys.exit(main())
