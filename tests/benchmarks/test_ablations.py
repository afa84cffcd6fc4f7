"""Ablations: what a switch changes, what is compared, what is written."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from benchmarks.ablations import __main__ as ablations
from benchmarks.ablations.arm import BASE
from benchmarks.ablations.switches import SWITCHES, switch_off
from benchmarks.speed import record
from isr_pipeline.base.compiling import compiled_digest
from isr_pipeline.base.home import REPOSITORY
from tests.saying import finished
from tests.tables import data_of

IN_PLAIN_PYTHON = [
    name
    for name, switch in SWITCHES.items()
    if not switch.compiles or name.endswith(("-fetches", "-partitions"))
]
"""Switches of what is there without the compiler, too."""

PROGRAM = """
import sys
from benchmarks.ablations.switches import SWITCHES, switch_off
if sys.argv[1] in SWITCHES:
    switch_off(sys.argv[1])
from isr_pipeline.scenarios.model import apply
from isr_pipeline.worlds.reuse import Simulations
from tests.simulation.print_runs import kip_501
one, runs = kip_501("s2", horizon_ms=1500), Simulations()
for lag in (400, 500):
    outcome, events = runs.result_for(apply(one, {"replica.lag.time.max.ms": lag}))
    print(outcome, events.named())
"""

LINE: dict[str, Any] = data_of(__file__, "LINE")


class Fake:
    """An arm that answers from a list."""

    def __init__(self, name: str, seconds: float, gave: str) -> None:
        self.name, self.compile_s = name, 10.0
        self._answer = {"seconds": seconds, "gave": gave}

    def ask(self, _question: str) -> dict[str, Any]:
        """The same for every question."""
        return self._answer


def outcomes(name: str) -> str:
    """What a small scenario gives, in plain Python, with one thing switched off."""
    done = finished(
        [sys.executable, "-c", PROGRAM, name],
        cwd=REPOSITORY,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def whole() -> str:
    """What it gives with everything on."""
    return outcomes(BASE)


class TestSwitches:
    """What is switched off."""

    @pytest.mark.parametrize("name", IN_PLAIN_PYTHON)
    def test_no_result_changes(self, name: str, whole: str) -> None:
        """Outcomes and events are those of the whole."""
        assert outcomes(name) == whole

    def test_only_before_the_kernel(self) -> None:
        """A kernel that is imported has what was to be replaced."""
        from isr_pipeline.simulation import kernel  # noqa: F401

        with pytest.raises(RuntimeError, match="imported already"):
            switch_off("cycles")


class TestLine:
    """One switch, measured."""

    def test_ratios_of_turns(self) -> None:
        """Of each turn one ratio, times of the arm over those of the whole."""
        whole: Any = Fake(BASE, 2.0, "x")
        off: Any = Fake("validated-fetches", 3.0, "x")
        found = ablations.line("validated-fetches", SWITCHES["validated-fetches"], whole, off)
        assert found["panel"] == found["large"] == [1.5] * ablations.TURNS

    def test_what_computes_something_else_has_no_time(self) -> None:
        """A switch that changes a result is an error."""
        whole: Any = Fake(BASE, 2.0, "x")
        off: Any = Fake("validated-fetches", 3.0, "y")
        with pytest.raises(ablations.ResultsDiffer, match="without validated-fetches"):
            ablations.line("validated-fetches", SWITCHES["validated-fetches"], whole, off)

    def test_goes_on_where_it_was(self) -> None:
        """What this kernel has a line for on this machine is not measured again."""
        here = {**LINE, "kernel": compiled_digest(), "machine": record.machine()}
        assert "forced-inlining" not in ablations.missing([here])
        assert ablations.missing([{**here, "kernel": "another"}]) == list(SWITCHES)


class TestPage:
    """What is written."""

    def test_a_row(self) -> None:
        """Medians with the least and the largest; the newest line of a switch."""
        (row,) = (
            one
            for one in ablations.page([{**LINE, "panel": [9.0]}, LINE]).splitlines()
            if one.startswith("| forced inlining")
        )
        assert row.endswith("| 1.25 (1.00–1.50) | 2.00 (2.00–2.00) | 0.75 |")

    def test_a_dash_where_it_plays_no_part(self) -> None:
        """Small worlds are not fetched ahead, and no other kernel is compiled."""
        text = ablations.page([{**LINE, "name": "prefetch", "panel": [], "compile_s": None}])
        assert "| prefetch of large worlds | – | 2.00 (2.00–2.00) | – |" in text

    def test_has_the_recorded_figures(self) -> None:
        """The table is what the recorded lines give."""
        assert ablations.page(record.read(ablations.RESULTS)) == ablations.PAGE.read_text()
