"""What a night is made worse by, to measure what deciding it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.night_cost import with_lag_limit
from isr_pipeline.base.home import SHIPPED
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import load_experiment

OPERATORS = SHIPPED / "config" / "experiments" / "operators.yaml"


def test_one_configuration_gets_another_limit(tmp_path: Path) -> None:
    """The experiment is read as before but for that key."""
    file = tmp_path / "operators.yaml"
    file.write_text(with_lag_limit(OPERATORS.read_text(encoding="utf-8"), "today"))
    changed = {one.name: one.overrides for one in configurations(load_experiment(file))}
    before = {one.name: one.overrides for one in configurations(load_experiment("operators"))}
    assert changed.pop("today") == {"replica.lag.time.max.ms": 2_000}
    assert before.pop("today") == {}
    assert changed == before


def test_no_such_configuration() -> None:
    """Its name is said."""
    with pytest.raises(ValueError, match="no candidate nobody"):
        with_lag_limit("groups: []\n", "nobody")
