"""What `make nightly` repeats of a running task's log, and how it is stopped."""

from __future__ import annotations

import json
import os
import signal
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.night.airflow.airflow_rest import Silent
from isr_pipeline.night.runner import _Tail, check_airflow, mark
from isr_pipeline.night.stack import STOP_SIGNALS, stop_on_signals
from tests.saying import refused

if TYPE_CHECKING:
    from pathlib import Path


def log_line(text: str) -> str:
    """A line of a task's log."""
    return json.dumps({"event": text}) + "\n"


class TestAirflow:
    """Which Airflow `night run` can schedule in."""

    @pytest.mark.parametrize("version", ["3.2.0", "3.3.2", "3.10.1"])
    def test_good(self, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
        """Every release from 3.2 on; the parts of a version are numbers."""
        monkeypatch.setattr(metadata, "version", lambda _: version)
        check_airflow()

    def test_too_old(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One line that says where the night can be run instead."""
        monkeypatch.setattr(metadata, "version", lambda _: "3.1.8")
        assert refused(check_airflow, Refused) == (
            "Airflow is 3.1.8; allowed: 3.2 or newer; "
            "without Airflow: isr-pipeline night run --in-process"
        )

    def test_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One line, and no traceback of a module that is missing."""

        def missing(name: str) -> str:
            raise metadata.PackageNotFoundError(name)

        monkeypatch.setattr(metadata, "version", missing)
        with pytest.raises(Refused, match=r"^Airflow is not installed; make setup, or without "):
            check_airflow()


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
        now.write_text(log_line("progress 1/2: regression/all, 1 pairs/s, 1 s left"))
        tail.end(now)
        assert "progress 1/2" in capsys.readouterr().out


class TestMark:
    """A stopped run is marked as failed, or it is said why not."""

    def test_a_busy_airflow_is_asked_again(self) -> None:
        """Its database may be locked by what has just been killed."""
        answers = iter([Refused("Airflow: PATCH: 500 database is locked"), None])

        def fail() -> None:
            if why := next(answers):
                raise why

        assert mark(fail, is_there=lambda: True) == ""
        assert list(answers) == []

    def test_an_airflow_that_never_does_it_is_told(self) -> None:
        """The reason is Airflow's own."""

        def fail() -> None:
            raise Refused("Airflow: PATCH: 500 no")

        assert mark(fail, is_there=lambda: True, seconds_max=0.0) == "Airflow: PATCH: 500 no"

    def test_an_airflow_that_has_ended_is_asked_once(self) -> None:
        """Nothing would answer later."""
        asked: list[int] = []

        def fail() -> None:
            asked.append(1)
            raise Silent("connection refused")

        assert mark(fail, is_there=lambda: False) == "connection refused"
        assert asked == [1]


class TestStop:
    """Ctrl-C, a kill and a closed terminal."""

    def test_the_second_signal_does_not_break_off_the_stopping(self) -> None:
        """The first raises KeyboardInterrupt, whichever it is; those after it are ignored."""
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        try:
            stop_on_signals()
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
            for number in STOP_SIGNALS:
                os.kill(os.getpid(), number)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
