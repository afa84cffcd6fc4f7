"""Every test that `.ci/run` runs, by its id: ``python -m tools.test_ids [CHECKOUT]``.

Two lists that were written before and after a change show by ``diff`` which tests left or came.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SELECTED = "slow or not rehearsal"
"""What `make test` and `make test-slow` run together."""


def collected(checkout: Path) -> list[str]:
    """Ids of a checkout's tests, sorted; they are read with the libraries that run this.

    Raises:
        SystemExit: pytest cannot collect them, and has said why.
    """
    options = ["-p", "no:cacheprovider", "--collect-only", "-m", SELECTED]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=checkout,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stdout)
    return sorted(line for line in done.stdout.splitlines() if "::" in line)


if __name__ == "__main__":
    sys.stdout.writelines(f"{one}\n" for one in collected(Path(*sys.argv[1:2])))
