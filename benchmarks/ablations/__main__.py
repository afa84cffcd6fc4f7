"""``python -m benchmarks.ablations``: what each way to be faster gives, switched off alone.

Each is measured in turns with the whole: two processes, one question at a time. A ratio is of the
two times of one turn; of six turns the median, the least and the largest are kept. What an arm
computes has to be what the whole computes. Each finished one is a line of
``results/ablations.jsonl``, so a run that was ended goes on where it was. The table is in
``results/ablations.md``. With all of them it takes about an hour of one core.

python -m benchmarks.ablations                     what this kernel and machine have no line for
python -m benchmarks.ablations reuse prefetch      these, again
python -m benchmarks.ablations --fill              measure nothing, write the table
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.ablations.arm import BASE
from benchmarks.ablations.switches import NOT_SWITCHED, SWITCHES
from benchmarks.speed import record
from isr_pipeline.base.compiling import compiled_digest
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.base.version import commit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.ablations.switches import Switch

TURNS = 6
"""Between the least and the largest of six ratios lies the median with 97 % (2 / 2^6 of a sign)."""
RESULTS = REPOSITORY / "benchmarks" / "results" / "ablations.jsonl"
PAGE = RESULTS.with_suffix(".md")
HEAD = f"""# What each way to be faster gives

`python -m benchmarks.ablations` writes this page. A number is processor time with one of them off,
over that of the whole: the median of {TURNS} turns, with the least and the largest. The true median
lies between these with 97 %. Panel: as a night simulates it. Large cluster: by brute force; for
jumps 20 s at equal rates, for reuse a healthy moment under all configurations of the panel."""

Line = dict[str, Any]


class ResultsDiffer(RuntimeError):
    """An arm computed something else than the whole: its time says nothing."""


class Arm:
    """A process of `benchmarks.ablations.arm`.

    Args:
        name: of the switch; `BASE` for none.
        home: where its kernel is compiled; a switch that is no other kernel shares that of the
            whole.
        environment: variables besides.
        checkout: whose code it runs.
    """

    def __init__(
        self, name: str, home: Path, environment: Mapping[str, str], checkout: Path
    ) -> None:
        self.name = name
        kept = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.ablations.arm", name],
            cwd=checkout,
            env={**kept, "ISR_PIPELINE_HOME": str(home), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.compile_s = float(self._answer()["seconds"])

    def ask(self, question: str) -> dict[str, Any]:
        """Ask one question of `benchmarks.ablations.arm`."""
        assert self._process.stdin is not None
        print(question, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            msg = f"the arm {self.name} ended: what it says is above"
            raise RuntimeError(msg)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def arm(
    name: str,
    home: Path,
    environment: Mapping[str, str] | None = None,
    checkout: Path = REPOSITORY,
) -> Iterator[Arm]:
    """An arm for as long as the block lasts."""
    begun = Arm(name, home, environment or {}, checkout)
    try:
        yield begun
    finally:
        begun.end()


def measure(names: Sequence[str]) -> Iterator[Line]:
    """Measure switches one after the other, each in turns with the whole."""
    with tempfile.TemporaryDirectory(prefix="ablations-") as scratch:
        whole_home = Path(scratch) / BASE
        with arm(BASE, whole_home) as whole:
            for name in names:
                switch = SWITCHES[name]
                home = Path(scratch) / name if switch.compiles else whole_home
                with arm(name, home, switch.environment) as off:
                    yield line(name, switch, whole, off)


def line(name: str, switch: Switch, whole: Arm, off: Arm) -> Line:
    """Measure one switch.

    Raises:
        ResultsDiffer: it is no switch, it changes what comes out.
    """
    load = os.getloadavg()[0]
    _same(name, whole.ask("digest"), off.ask("digest"))
    asked = {"panel": f"panel {switch.panel}" if switch.panel else "", "large": ""}
    asked["large"] = f"large {switch.large}"
    ratios: dict[str, list[float]] = {place: [] for place in asked}
    for turn in range(TURNS):
        for place, question in asked.items():
            if question:
                ratios[place].append(_ratio(name, question, whole, off, turn % 2 == 1))
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit(),
        "kernel": compiled_digest(),
        "machine": record.machine(),
        "load_before": round(load, 2),
        "name": name,
        "panel_scenarios": switch.panel,
        **{place: [round(one, 4) for one in found] for place, found in ratios.items()},
        "compile_s": round(off.compile_s, 1) if switch.compiles else None,
        "whole_compile_s": round(whole.compile_s, 1) if switch.compiles else None,
    }


def _ratio(name: str, question: str, whole: Arm, off: Arm, backwards: bool) -> float:
    """Ask both; how many times as long the arm takes."""
    arms = (off, whole) if backwards else (whole, off)
    answers = {one.name: one.ask(question) for one in arms}
    _same(name, answers[whole.name], answers[off.name])
    return float(answers[off.name]["seconds"] / answers[whole.name]["seconds"])


def _same(name: str, one: dict[str, Any], other: dict[str, Any]) -> None:
    if one.get("gave") != other.get("gave"):
        msg = f"without {name} something else comes out: {other['gave']}, not {one['gave']}"
        raise ResultsDiffer(msg)


# ------------------------------------------------------------------ what is written


def page(lines: Sequence[Line]) -> str:
    """The page with its table, from the newest line of each switch."""
    newest = {one["name"]: one for one in lines}
    found = [newest[name] for name in SWITCHES if name in newest]
    days = sorted({one["date"][:10] for one in found})
    commits = list(dict.fromkeys(one["commit"] for one in found))
    machines = list(dict.fromkeys(one["machine"] for one in found))
    when = (
        f"Measured {' to '.join(dict.fromkeys((days[0], days[-1])))} at {' and '.join(commits)}, "
        f"beside other programs. Machines: {'; '.join(machines)}."
    )
    rows = [
        f"| {SWITCHES[one['name']].words} | {_times(one['panel'])} | {_times(one['large'])} "
        f"| {_compile(one)} |"
        for one in found
    ]
    head = "| switched off | reference panel | 30 x 3 000 | compilation |"
    nots = [f"* {what}: {why}." for what, why in NOT_SWITCHED.items()]
    parts = [HEAD, when, "\n".join([head, "|---|---|---|---|", *rows]), "Not switched off alone:"]
    return "\n\n".join([*parts, "\n".join(nots)]) + "\n"


def _times(ratios: Sequence[float]) -> str:
    """The median with the least and the largest; a dash where it plays no part."""
    if not ratios:
        return "–"
    return f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def _compile(one: Line) -> str:
    if one["compile_s"] is None:
        return "–"
    return f"{one['compile_s'] / one['whole_compile_s']:.2f}"


def fill() -> None:
    """Write the page from what was noted."""
    PAGE.write_text(page(record.read(RESULTS)))


def missing(lines: Sequence[Line]) -> list[str]:
    """Switches that this kernel has no line for on this machine."""
    here = (compiled_digest(), record.machine())
    known = {one["name"] for one in lines if (one["kernel"], one["machine"]) == here}
    return [name for name in SWITCHES if name not in known]


def main() -> int:
    """Measure what is missing, note it, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablations", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(SWITCHES)}")
    parser.add_argument("--fill", action="store_true", help="only write the page of what was noted")
    given = parser.parse_args()
    for name in given.names:
        if name not in SWITCHES:
            parser.error(f"{name} is no switch; there are {', '.join(SWITCHES)}")
    names = given.names or missing(record.read(RESULTS))
    if not given.fill:
        for found in measure(names):
            record.append(found, RESULTS)
            fill()  # a run may be cut off here, and the page shows every line
            print(f"{found['name']}: {_times(found['panel'])}, {_times(found['large'])}")
    fill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
