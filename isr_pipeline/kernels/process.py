"""A kernel of any day, in a process of its own: scenarios in, outcomes and events out."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from isr_pipeline.base.compiling import compiled_digest
from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.kafka.releases import RENAMED, former_names, todays_names
from isr_pipeline.kernels.source import CACHE, PACKAGE, Source, read_package, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SERVING = Path(__file__).with_name("serving.py")
CLOSE_SECONDS_MAX = 10.0
LINE_MAX = 300


@dataclass(frozen=True, slots=True)
class Ran:
    """What a kernel said of one scenario.

    Attributes:
        outcome: column -> value.
        events: in order, in the names of the model page; empty if not asked for.
        t_ms: times of the samples; ``curves``: what was sampled -> its values; empty likewise.
        problem: why there is none of these, one line; empty if all is well.
    """

    outcome: dict[str, Any]
    events: list[dict[str, Any]]
    t_ms: list[float]
    curves: dict[str, list[int]]
    problem: str = ""


class Kernel:
    """A kernel that runs in a process of its own; a context manager, or `close` it.

    Its machine code is compiled when it first runs a scenario, and kept with its sources.
    """

    def __init__(self, source: Source, name: str, *, compiled: bool = True) -> None:
        """Start the process.

        Args:
            source: its sources.
            name: how errors call it: ``the baseline's code``.
            compiled: False runs it as plain Python: no compiler, a thousand times slower.

        Raises:
            Refused: these sources cannot be run here; one line.
        """
        self.name = name
        self.source = source
        self._names = todays_names if _knows_todays_names(source) else former_names
        folder, rooms, cache = _places(source, Home.from_environment())
        environment = os.environ | {
            "PYTHONPATH": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": cache,
            "NUMBA_DISABLE_JIT": "0" if compiled else "1",
        }
        self._errors = tempfile.TemporaryFile(  # noqa: SIM115 - `close` closes it
            mode="w+", encoding="utf-8", errors="replace"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", str(SERVING), str(rooms / PACKAGE)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )
        try:
            first = self._read()
        except BaseException:
            self.close()
            raise
        self.libraries: dict[str, str] = first.get("libraries", {})
        if "error" in first:
            self.close()
            raise Refused(f"{name} cannot be run: {_one_line(first['error'])}")

    def other_libraries(self) -> list[str]:
        """What is another version than it ran with; see :meth:`Source.other_libraries`."""
        return self.source.other_libraries(self.libraries)

    def run(
        self,
        scenario: Mapping[str, Any],
        overrides: Mapping[str, Any],
        *,
        events: bool = True,
        sample_ms: float = 0.0,
    ) -> Ran:
        """Run one scenario under one configuration.

        Args:
            scenario: as its JSON has it.
            overrides: of the configuration.
            events: list the events as well.
            sample_ms: period of the samples; 0 for none.

        Raises:
            Refused: the process ended; a scenario that it refuses is a `Ran` with a problem.
        """
        asked = {
            "scenario": scenario,
            "overrides": dict(overrides),
            "events": events,
            "sample_ms": sample_ms,
        }
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(self._names(json.dumps(asked)) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        return _ran(self._read())

    def outcomes(
        self, pairs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]
    ) -> Iterator[Ran]:
        """Run (scenario, overrides) after (scenario, overrides), without events."""
        for scenario, overrides in pairs:
            yield self.run(scenario, overrides, events=False)

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(CLOSE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> Self:
        """Use it in a ``with``."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise self._ended()
        return dict(json.loads(line))

    def _ended(self) -> Refused:
        self._process.wait()
        self._errors.seek(0)
        last = (self._errors.read().strip() or "it said nothing").splitlines()[-1]
        status = self._process.returncode
        return Refused(f"{self.name} cannot be run: its process ended with {status}: {last}")


def _places(source: Source, home: Home) -> tuple[Path, Path, str]:
    """Folder of a kernel's package, folder of one with its compiled rooms, and numba's cache.

    Kernels that differ in other rooms alone, as in how a scenario is read, share their compiled
    rooms and so their machine code: numba knows a function by its file.
    """
    if read_package().digest == source.digest:
        cache = os.environ.get("NUMBA_CACHE_DIR")
        return REPOSITORY, REPOSITORY, cache or str(home.numba_cache / compiled_digest())
    rooms = unpacked(source.compiled, home)
    return unpacked(source, home), rooms, str(rooms / CACHE)


def _knows_todays_names(source: Source) -> bool:
    """Whether these sources call every rule set as today's do."""
    return all(
        any(f'"{name}"'.encode() in content for content in source.files.values())
        for name in RENAMED.values()
    )


def _ran(answer: dict[str, Any]) -> Ran:
    return Ran(
        outcome=answer.get("outcome", {}),
        events=answer.get("events", []),
        t_ms=answer.get("t_ms", []),
        curves=answer.get("curves", {}),
        problem=_one_line(answer.get("error", "")),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:LINE_MAX]
