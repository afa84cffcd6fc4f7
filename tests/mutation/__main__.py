"""Command line of the mutation check; see the package's text."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import tests.mutation
from tests.mutation.check import check, copy_project
from tests.mutation.mutants import MUTANTS


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
    chosen = [
        mutant
        for mutant in MUTANTS
        if not options.names or any(name in mutant.name for name in options.names)
    ]
    if options.list:
        for mutant in chosen:
            sys.stdout.write(f"{mutant.name!r}\n")
        return 0
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        project = Path(folder) / "project"
        copy_project(project)
        for outcome in check(chosen, project):
            survivors += not outcome.killed_by
            verdict = outcome.killed_by or "SURVIVED"
            sys.stdout.write(f"{outcome.mutant.name!r}\n    {verdict}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} mutants, {survivors} survived\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
