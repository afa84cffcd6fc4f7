"""How the kernel's functions are compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.kafka.compiling import UNCOUNTED
from isr_pipeline.simulation.pending_reads import forget_pending
from isr_pipeline.simulation.world import jit
from isr_pipeline.simulation.world.jit import INTERNALS
from isr_pipeline.simulation.world.tables import request_at, rules_in, world_in
from tests.saying import finished
from tests.simulation.test_pending_reads import Fetching


def _forget_twice(w, rules, q):  # type: ignore[no-untyped-def]
    """Called at two places, a function is not inlined."""
    forget_pending(rules_in(rules), request_at(world_in(w), q))
    forget_pending(rules_in(rules), request_at(world_in(w), q + 0))


def _forget(w, rules, q):  # type: ignore[no-untyped-def]
    forget_pending(rules_in(rules), request_at(world_in(w), q))


def _acts(w, kind):  # type: ignore[no-untyped-def]
    """Do one of eight things, as the kernel does at every event."""
    if kind == 0:
        w[0] += 1
    elif kind == 1:
        w[3] -= 2
    elif kind == 2:
        w[5] *= 3
    elif kind == 3:
        w[7] = 4
    elif kind == 4:
        w[9] += w[1]
    elif kind == 5:
        w[11] = w[2]
    elif kind == 6:
        w[1] = 7
    elif kind == 7:
        w[2] = w[3]


class TestDispatch:
    """What an event is is found by comparisons, not by a jump through a table."""

    def test_no_jump_table(self) -> None:
        """A choice of one in eight is compiled without a table of targets."""
        acts = numba.njit(_acts)
        acts(np.zeros(12, dtype=np.int64), 3)
        (code,) = acts.inspect_asm().values()
        assert ".LJTI" not in code


class TestLinking:
    """An entry's own copies of the functions that it links."""

    def test_nobody_else_is_linked_to_them(self) -> None:
        """They take other arguments: a library that calls the function gets one of its own."""
        fetching = Fetching()
        fetching.act(jit.entry(_forget_twice), fetching.fetch)
        fetching.fetch.pending = 1
        fetching.act(numba.njit(_forget), fetching.fetch)
        assert fetching.fetch.pending == 0


def _run(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    """A process with kernels of its own: they are cached by their sources, whatever numba lacks."""
    others = ("NUMBA_CACHE_DIR", "SPARK_", "PYSPARK_")  # what tests before have set
    known = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return finished(
        [sys.executable, *words], cwd=REPOSITORY, env={**known, "ISR_PIPELINE_HOME": str(home)}
    )


def _small_kernel(*lacking: str, home: Path) -> dict[str, Any]:
    done = _run("-m", "tests.simulation.without_internal", *lacking, home=home)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
class TestMissingInternals:
    """What happens with a numba that lacks what is replaced here."""

    def test_the_locked_numba_has_all(self, tmp_path: Path) -> None:
        """The hooks are in use, and no references are counted."""
        found = _small_kernel(home=tmp_path)
        assert found["hooked"]
        assert not found["counted"]

    @pytest.mark.parametrize("lacking", INTERNALS)
    def test_without_one_all_is_compiled_the_ordinary_way(
        self, lacking: str, tmp_path: Path
    ) -> None:
        """No hook is in use then, and the kernel gives the same."""
        found = _small_kernel(lacking, home=tmp_path / "lacking")
        assert not found["hooked"]
        assert found["cells"] == _small_kernel(home=tmp_path / "whole")["cells"]

    def test_without_the_private_option_references_are_counted(self, tmp_path: Path) -> None:
        """The kernel gives the same."""
        found = _small_kernel(UNCOUNTED, home=tmp_path / "lacking")
        assert found["counted"]
        assert found["cells"] == _small_kernel(home=tmp_path / "whole")["cells"]

    def test_without_a_part_that_rows_need_one_line_says_so(self, tmp_path: Path) -> None:
        """It names what is missing, and what to install."""
        program = (
            "import numba.core.imputils as parts, sys; del parts.lower_cast;"
            "from isr_pipeline.cli import main; sys.argv = ['isr-pipeline', 'simulate', 'x.yaml'];"
            "main()"
        )
        done = _run("-c", program, home=tmp_path)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1, done.stderr
        line = done.stderr
        assert "lower_cast" in line
        assert "make setup" in line
