"""How far long work is: in a terminal, and elsewhere."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from isr_pipeline.base import progress
from isr_pipeline.base.progress import BEGINS, PassingLine, Progress, is_progress, watched
from isr_pipeline.worlds import ready


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    """A clock."""
    return Clock()


class TestElsewhere:
    """A file, a pipe: plain lines."""

    def test_every_few_seconds(self, clock: Clock) -> None:
        """A line after five seconds, with what is left at the pace so far; none in between."""
        out = io.StringIO()
        with Progress("compared", 10, out=out, now=clock) as shown:
            for _ in range(10):
                clock.seconds += 2
                shown.step()
        assert out.getvalue().splitlines() == [
            "compared: 3 of 10, 14 s left",
            "compared: 6 of 10, 8 s left",
            "compared: 9 of 10, 2 s left",
        ]

    def test_short_work_says_nothing(self, clock: Clock) -> None:
        """What is done within five seconds needs no line."""
        out = io.StringIO()
        with Progress("compared", 3, out=out, now=clock) as shown:
            for _ in range(3):
                shown.step()
        assert out.getvalue() == ""

    def test_with_results(self, clock: Clock) -> None:
        """A result is always said, with how far the work is; how many there are may come late."""
        out = io.StringIO()
        with Progress("trials", out=out, now=clock) as shown:
            clock.seconds = 4
            shown.step("a key alone")
            shown.expect(2)
            shown.step("all but it")
        assert out.getvalue() == "a key alone (1 done)\nall but it (2 of 3, 2 s left)\n"

    def test_without_parts(self, clock: Clock) -> None:
        """What cannot be counted says how far it is, and how long it has taken."""
        out = io.StringIO()
        with Progress("fetching", out=out, now=clock) as shown:
            clock.seconds = 7
            shown.note("40 MB")
            shown.note("41 MB")
        assert out.getvalue() == "fetching: 40 MB, 7 s so far\n"

    def test_watched(self, clock: Clock) -> None:
        """A thread looks until it is told to end."""
        out = io.StringIO()
        looks: list[int] = []

        def look() -> str:
            looks.append(1)
            clock.seconds += 6
            return f"{len(looks)} MB"

        with Progress("fetching", out=out, now=clock) as shown:
            end = watched(shown, look, seconds=0.001)
            while len(looks) < 2:
                pass
            end()
        seen = len(looks)
        assert out.getvalue().startswith("fetching: 1 MB, 6 s so far\n")
        assert len(looks) == seen


class TestStages:
    """Work whose parts are told."""

    def test_a_long_part_is_told_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A line names the part and says how long all of it takes so far; none comes later."""
        monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
        out = io.StringIO()
        with progress.stages("experiment q", out=out, seconds=0.001) as say:
            say("reading")
            while out.getvalue().count("\n") < 3:
                pass
        seen = out.getvalue()
        assert seen.startswith("experiment q: ")
        assert seen.count("experiment q: reading, 0 s so far\n") >= 2
        assert out.getvalue() == seen

    def test_short_work_says_nothing(self) -> None:
        """Where nobody watches, only what takes long is told."""
        out = io.StringIO()
        with progress.stages("experiment q", out=out) as say:
            say("reading")
        assert out.getvalue() == ""


class TestTerminal:
    """A bar."""

    def test_bar(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It counts, has an estimate, prints results above, and is gone at the end."""
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "100")
        out = Terminal()
        with Progress("compared", 4, out=out) as shown:
            shown.step("one [result]")
            shown.step()
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())
        assert "one [result]\n" in text
        assert "compared" in text
        assert "2/4" in text
        assert out.getvalue().rstrip().endswith("\x1b[2K")


class TestJobs:
    """What a job says of how far it is."""

    def test_a_kernel_that_is_compiled(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It takes a minute, so whoever waits is told."""
        monkeypatch.setattr(ready, "_mark", lambda: tmp_path / "compiled")
        monkeypatch.setattr(ready, "_run_smallest", lambda: None)
        ready.compile_kernel(BEGINS)
        said = capsys.readouterr().out
        assert is_progress(said)
        assert said.startswith("progress 0/1: compiling the kernel")


class TestPassingLine:
    """A night's shard."""

    LINE = "progress 6/24: regression/kraft, 19 pairs/s, 1 s left"

    def test_in_a_terminal(self) -> None:
        """A bar before the line, which the next one takes away."""
        line, out = PassingLine(), Terminal()
        assert line.show(self.LINE, out)
        assert f"{'━' * 6}{'╌' * 18} progress 6/24: regression/kraft" in out.getvalue()
        line.clear(out)
        line.clear(out)
        assert out.getvalue().endswith("\r\x1b[2K")
        assert out.getvalue().count("\x1b[2K") == 2

    @pytest.mark.parametrize(
        ("text", "out"),
        [
            (LINE, io.StringIO()),
            ("progress 24/24: regression/kraft, 19 pairs/s, done in 1.3 s", Terminal()),
            ("26/11/26 WARN TaskSetManager: Lost task", Terminal()),
        ],
    )
    def test_lines_that_stay(self, text: str, out: io.StringIO) -> None:
        """Elsewhere, or with nothing left to do, the line is for others to print."""
        assert not PassingLine().show(text, out)
        assert out.getvalue() == ""
