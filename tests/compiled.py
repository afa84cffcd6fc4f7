"""Compile the kernel and its debug build, side by side, before tests run in several processes.

    python -m tests.compiled

Each takes a minute or more. A process that finds neither would compile for itself what another one
is compiling at that moment.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.worlds.ready import SMALLEST_SCENARIO, compile_kernel
from tests.worlds.checks import checked_run

if TYPE_CHECKING:
    from collections.abc import Callable


def _compile_debug_build() -> None:
    checked_run(parse_scenario(SMALLEST_SCENARIO, "the smallest scenario"))


BUILDS: dict[str, Callable[[], None]] = {
    "kernel": compile_kernel,
    "debug-build": _compile_debug_build,
}


def main() -> int:
    """Compile each build in a process of its own; exit status 1 if one cannot be compiled."""
    if sys.argv[1:]:
        BUILDS[sys.argv[1]]()
        return 0
    command = [sys.executable, "-m", "tests.compiled"]
    started = [subprocess.Popen([*command, build]) for build in BUILDS]
    statuses = [process.wait() for process in started]
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
