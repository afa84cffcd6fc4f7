"""``python -m tests.oracle FILE [--check]``: run a file of timelines, one JSON line each.

Exit status 1 if an expectation is not met and ``--check`` was given, 2 if the file cannot be run;
nothing was written then.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from isr_pipeline.base.errors import USER_ERRORS
from isr_pipeline.base.home import Home
from isr_pipeline.base.refusals import refuse
from isr_pipeline.night.preconditions import check_home
from isr_pipeline.night.surroundings import enter
from tests.oracle import replay_file


def main() -> int:
    """Run the command in ``sys.argv``; never a traceback for a mistake in a file."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="timelines, one JSON object a line")
    parser.add_argument("--check", action="store_true", help="fail unless every expect holds")
    given = parser.parse_args()
    try:
        check_home(Home.from_environment())
        results = list(replay_file(given.file))
    except USER_ERRORS as error:
        refuse(str(error))
        return error.exit_status
    sys.stdout.write("".join(json.dumps(result) + "\n" for result in results))
    return int(given.check and any(result["passed"] is False for result in results))


if __name__ == "__main__":
    enter("tests.oracle", sys.argv[1:])
    sys.exit(main())
