"""Command line of the mutation check; see the package's text."""

from __future__ import annotations

import argparse
import sys

import tests.mutation
from tests.mutation.check import run_without_compiler
from tests.mutation.mutants import MUTANTS, SIMULATION, chosen


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
    statuses = [
        run_without_compiler(program, options.names)
        for program, mutants in (("rules", of_rules), ("small_worlds", of_simulation))
        if mutants
    ]
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
