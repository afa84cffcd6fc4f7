"""What `make nightly` repeats of a running task's log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from isr_pipeline.experiment.runner import _Tail

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def log_line(text: str) -> str:
    """A line of a task's log."""
    return json.dumps({"event": text}) + "\n"


class TestTail:
    """Progress of the task that runs."""

    def test_the_end_of_another_task_is_told_late(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A task goes on being followed when the one before it is said to have ended."""
        before, now = tmp_path / "validate.log", tmp_path / "simulate.log"
        for file in (before, now):
            file.touch()
        tail = _Tail()
        tail.follow(before)
        tail.follow(now)
        tail.end(before)
        now.write_text(log_line("regression/all: pairs 1/2, 1 pairs/s, 1 s left"))
        tail.end(now)
        assert "pairs 1/2" in capsys.readouterr().out
