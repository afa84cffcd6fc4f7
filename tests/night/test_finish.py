"""How a night ends: which statuses of configurations are red, and the exit status of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.night import life
from isr_pipeline.night.status import read_status
from isr_pipeline.verdicts.record import Status
from tests.verdicts.synthetic import NIGHT, World, home, record_with

__all__ = ["home"]

RUN = "manual__1"


def exit_status(status: Status) -> int:
    """Finish a night in which one configuration has a status; what a command exits with."""
    record_with("smoke", status).save(World(experiment="smoke").begun(NIGHT, RUN).place)
    try:
        life.finish("smoke", NIGHT, broken=[], fail_on_regression=True, dag_run_id=RUN)
    except Refused as red:
        return red.exit_status
    return 0


@pytest.mark.parametrize(
    ("status", "exits"),
    [
        (Status.UNDECIDED, 0),
        (Status.SUSPECT, 0),
        (Status.IMPROVED, 0),
        (Status.OK, 0),
        (Status.REGRESSED, 1),
        (Status.NO_DATA, 1),
    ],
)
def test_only_regressed_and_no_data_are_red(home: Path, status: Status, exits: int) -> None:
    """What is not proven passes; the night is noted by its word either way."""
    assert home
    assert exit_status(status) == exits
    assert read_status("smoke", NIGHT).state == str(status)


def test_a_reason_is_one_line(home: Path) -> None:
    """Also where a task was refused for several mistakes of a file: a list has a line a night."""
    assert home
    World(experiment="smoke").begun(NIGHT, RUN)
    broken = ["plan failed: a.yaml:1: x\na.yaml:2: y"]
    with pytest.raises(Refused):
        life.finish("smoke", NIGHT, broken=broken, fail_on_regression=True, dag_run_id=RUN)
    assert read_status("smoke", NIGHT).reason.endswith(" a.yaml:1: x; a.yaml:2: y")
