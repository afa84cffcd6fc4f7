"""A handful of mutants, and the tool that runs them all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.__main__ import main
from tests.mutation.check import ROOT, CannotMutateError, check, copy_project, mutated
from tests.mutation.mutants import MUTANTS, SIMULATION, Mutant
from tests.mutation.small_worlds import run_without_compiler

BATCHES = 10
BUDGET_S = float(os.environ.get("ISR_PIPELINE_MUTANTS_S", "10"))
"""Time for mutants of the simulation; `make mutants` tries all."""

HANDFUL = [
    Mutant("replica.py", "in_time", "<= lag_max", "< lag_max"),
    Mutant(
        "partition.py",
        "next_high_watermark",
        "max(leader.high_watermark",
        "min(leader.high_watermark",
    ),
    Mutant("releases.py", "", "    tick_divisor=2,", "    tick_divisor=5,"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, whose tests pass."""
    folder = tmp_path_factory.mktemp("mutation") / "project"
    copy_project(folder)
    return folder


def _source(mutant: Mutant) -> str:
    return (ROOT / "isr_pipeline" / mutant.room / mutant.file).read_text(encoding="utf-8")


class TestMutants:
    """The list."""

    def test_enough(self) -> None:
        """At least 25, each its own."""
        assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 25

    def test_a_hundred_of_the_simulation(self) -> None:
        """Each its own, and each has a test, or a reason why none can fail."""
        assert len({mutant.name for mutant in SIMULATION}) == len(SIMULATION) >= 100
        assert [m.name for m in SIMULATION if bool(m.test) is bool(m.lives)] == []

    def test_their_tests_are_there(self) -> None:
        """By file, class and function."""
        missing = []
        for mutant in SIMULATION:
            file, *names = mutant.test.split("[")[0].split("::")
            text = (ROOT / "tests" / file).read_text(encoding="utf-8") if file else ""
            missing += [mutant.test for n in names if not re.search(rf"(class|def) {n}\b", text)]
        assert missing == []

    @pytest.mark.parametrize("mutant", [*MUTANTS, *SIMULATION], ids=lambda mutant: mutant.name)
    def test_fits(self, mutant: Mutant) -> None:
        """Its line is there, and the changed module is still Python, and another."""
        source = _source(mutant)
        changed = mutated(source, mutant)
        compile(changed, mutant.file, "exec")
        assert changed != source


class TestTool:
    """Running them."""

    @pytest.mark.slow
    def test_handful_is_killed(self, project: Path) -> None:
        """A wrong limit, a wrong minimum and a wrong period each fail a test."""
        outcomes = list(check(HANDFUL, project))
        assert [outcome.mutant for outcome in outcomes] == HANDFUL
        assert all(outcome.killed_by.startswith("tests/") for outcome in outcomes)

    @pytest.mark.slow
    @pytest.mark.parametrize("first", range(BATCHES))
    def test_a_third_of_the_mutants_is_killed(self, first: int, project: Path) -> None:
        """None survives of every third; `make mutants` tries all."""
        outcomes = check(MUTANTS[::3][first::BATCHES], project)
        assert [one.mutant.name for one in outcomes if not one.killed_by] == []

    @pytest.mark.slow
    def test_mutants_of_the_simulation_are_killed(self) -> None:
        """As many as there is time for, spread over its files."""
        assert run_without_compiler([], BUDGET_S) == 0

    def test_line_that_is_not_there(self) -> None:
        """A mutant that fits nowhere is an error, not a survivor."""
        lost = Mutant("replica.py", "in_time", ">= lag_max", "> lag_max")
        with pytest.raises(CannotMutateError):
            mutated(_source(lost), lost)

    def test_function_that_is_not_there(self) -> None:
        """So is one whose function is gone."""
        lost = Mutant("replica.py", "in_no_time", "<= lag_max", "< lag_max")
        with pytest.raises(CannotMutateError):
            mutated(_source(lost), lost)

    @pytest.mark.slow
    def test_only_the_named_test_counts(self) -> None:
        """Dirs that work are not counted down: that fails with two of them, not with one."""
        two = "test_log_dirs_that_fail_one_by_one_end_the_broker_with_the_last"
        one = "test_the_last_log_dirs_failure_is_the_brokers_death[3.7+]"
        lines = (
            "from tests.mutation.mutants import SIMULATION, chosen",
            "from tests.mutation.small_worlds import fails",
            "(mutant,) = chosen(SIMULATION, ['log_dirs_working -= 1'])",
            f"for test in ({two!r}, {one!r}):",
            "    print(fails([f'simulation/test_brokers.py::{test}'], mutant))",
        )
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(lines)],
            cwd=ROOT,
            env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == ["True", "False"]

    def test_list(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`--list` names them."""
        assert main([":tick_period:", "--list"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2
