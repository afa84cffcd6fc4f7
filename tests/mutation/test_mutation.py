"""A handful of mutants, and the tool that runs them all."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

import pytest

from tests.mutation.__main__ import main
from tests.mutation.check import (
    ROOT,
    CannotMutateError,
    mutated,
    run_without_compiler,
    source_of,
)
from tests.mutation.mutants import MUTANTS, SIMULATION, Mutant
from tests.saying import finished

BUDGET_S = float(os.environ.get("ISR_PIPELINE_MUTANTS_S", "10"))
"""Time for mutants of the simulation; `make mutants` tries all."""


def printed_without_compiler(lines: Sequence[str]) -> list[str]:
    """Words that some lines of Python print in an interpreter without the compiler."""
    done = finished(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=True,
    )
    return done.stdout.split()


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
        source = source_of(mutant)
        changed = mutated(source, mutant)
        compile(changed, mutant.file, "exec")
        assert changed != source


class TestTool:
    """Running them."""

    @pytest.mark.slow
    def test_a_third_of_the_mutants_is_killed(self) -> None:
        """None survives of every third; `make mutants` tries all."""
        assert run_without_compiler("rules", ["--every", "3"]) == 0

    @pytest.mark.slow
    def test_one_that_changes_nothing_survives(self) -> None:
        """No test fails of a mutant that does the same."""
        lines = (
            "from tests.mutation.mutants import Mutant",
            "from tests.mutation.rules import first_failure",
            "same = Mutant('replica.py', 'in_time', '<= lag_max', '<= (lag_max)')",
            "wrong = Mutant('replica.py', 'in_time', '<= lag_max', '< lag_max')",
            "for mutant in (same, wrong):",
            "    print(bool(first_failure(['tests/kafka/test_replica.py'], mutant)))",
        )
        assert printed_without_compiler(lines) == ["False", "True"]

    @pytest.mark.slow
    def test_mutants_of_the_simulation_are_killed(self) -> None:
        """As many as there is time for, spread over its files."""
        assert run_without_compiler("small_worlds", ["--budget-s", str(BUDGET_S)]) == 0

    def test_line_that_is_not_there(self) -> None:
        """A mutant that fits nowhere is an error, not a survivor."""
        lost = Mutant("replica.py", "in_time", ">= lag_max", "> lag_max")
        with pytest.raises(CannotMutateError):
            mutated(source_of(lost), lost)

    def test_function_that_is_not_there(self) -> None:
        """So is one whose function is gone."""
        lost = Mutant("replica.py", "in_no_time", "<= lag_max", "< lag_max")
        with pytest.raises(CannotMutateError):
            mutated(source_of(lost), lost)

    @pytest.mark.slow
    def test_only_the_named_test_counts(self) -> None:
        """Dirs that work are not counted down: that fails with two of them, not with one."""
        two = "test_world[log_dirs_that_fail_one_by_one_end_the_broker_with_the_last]"
        one = "test_the_last_log_dirs_failure_is_the_brokers_death[3.7-3.9]"
        lines = (
            "from tests.mutation.mutants import SIMULATION, chosen",
            "from tests.mutation.small_worlds import fails",
            "(mutant,) = chosen(SIMULATION, ['log_dirs_working -= 1'])",
            f"for test in ({two!r}, {one!r}):",
            "    print(fails([f'simulation/test_brokers.py::{test}'], mutant))",
        )
        assert printed_without_compiler(lines) == ["True", "False"]

    def test_list(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`--list` names them."""
        assert main([":tick_period:", "--list"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2
