"""Skipping the unchanged partitions of a fetch gives the same world as visiting them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.saying import finished
from tests.simulation.visit_both_ways import ENOUGH

ROOT = Path(__file__).resolve().parents[2]


def test_a_passed_partition_is_as_if_visited() -> None:
    """Whatever leaders know of followers, passing over leaves the world that visits leave."""
    done = finished(
        [sys.executable, "-m", "tests.simulation.visit_both_ways"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(str(ENOUGH)) == 2, done.stdout
