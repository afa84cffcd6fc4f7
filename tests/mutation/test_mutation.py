"""A handful of mutants, and the tool that runs them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.__main__ import main
from tests.mutation.check import ROOT, CannotMutateError, check, copy_project, mutated
from tests.mutation.mutants import MUTANTS, Mutant

BATCHES = 10

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
    return (ROOT / "isr_pipeline" / "kafka" / mutant.file).read_text(encoding="utf-8")


class TestMutants:
    """The list."""

    def test_enough(self) -> None:
        """At least 25, each its own."""
        assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 25

    @pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
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

    def test_list(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`--list` names them."""
        assert main(["tick_period", "--list"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2
