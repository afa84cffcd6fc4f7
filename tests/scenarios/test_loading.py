"""A file that is given as a scenario and is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.scenarios.loading import SCENARIO, load_scenario
from tests.tables import from_table


def refusal(path: Path) -> str:
    """The line that refuses it."""
    with pytest.raises(InputError) as refused:
        load_scenario(path)
    return str(refused.value)


@from_table
def test_another_file_of_ours(file: str, what: str) -> None:
    """The line says what the file is, and what is allowed instead."""
    path = REPOSITORY / file
    assert refusal(path) == f"{path}: {what}; allowed: {SCENARIO}"


def test_a_damaged_scenario_keeps_its_line(tmp_path: Path) -> None:
    """What is written like a scenario is refused where it breaks."""
    file = tmp_path / "s.yaml"
    file.write_text("scenario_id: [")
    assert "line 1" in refusal(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """It is not called something else."""
    assert "no such file or directory" in refusal(tmp_path / "s.txt")
