"""``python -m benchmarks.causes``: plant causes one at a time, and ask `blame` and `why` for them.

Plants are kept line by line below the home, by the digest of the kernel, and a run goes on where it
was cut off; ``--minutes`` ends it early. ``--record`` appends a line of what was played so far and
puts it into docs/project/detection.md; ``--write`` puts the last line there again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.causes.cases import FILES, Causes, Planted, commits, load_causes, settings
from benchmarks.causes.play import Stage
from benchmarks.causes.tell import PAGE, RESULTS, counted, missed, of_docs, write
from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.plan import code_version, kernel_digest


def main() -> int:
    """Play what is missing; 1 if a bar was missed, 2 if it could not be run."""
    given = _arguments()
    console = Console()
    if given.write:
        console.print(f"{'written' if write() else 'unchanged'}: {PAGE}")
        return 0
    try:
        causes = load_causes(FILES[given.experiment])
        kept = _kept(causes)
        if not given.record:
            _play(causes, kept, given.minutes, console)
        return _tell(causes, kept, console, record=given.record)
    except (InputError, Refused) as problem:
        console.print(f"[red]causes: {problem}")
        return 2


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.causes", description=__doc__)
    parser.add_argument("--experiment", choices=FILES, default="operators")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after")
    parser.add_argument("--record", action="store_true", help="record what was played, and stop")
    parser.add_argument("--write", action="store_true", help="write the table, and stop")
    return parser.parse_args()


def _kept(causes: Causes) -> Path:
    """File of what was played of this kernel and these plants."""
    name = f"{causes.experiment}-{kernel_digest()[:12]}-{causes.seed}-{causes.scenarios}"
    return Home.from_environment().path / "causes" / name / "played.jsonl"


def _read(kept: Path) -> list[dict[str, Any]]:
    if not kept.is_file():
        return []
    lines = kept.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _wanted(causes: Causes, played: list[dict[str, Any]]) -> Iterator[Planted]:
    """What is to be played still, until enough of each sort count; what compiles nothing first.

    Args:
        causes: how many are wanted.
        played: what was played; may grow between two plants.
    """
    for every, most in ((settings(causes), causes.settings), (commits(causes), causes.commits)):
        for one in every:
            counting = sum(other["sort"] == one.sort and other["counts"] for other in played)
            if counting >= most:
                break
            if one.key not in {other["plant"] for other in played}:
                yield one


def _play(causes: Causes, kept: Path, minutes: float, console: Console) -> None:
    """Play what is missing, each plant in the benchmark's own home."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    played = _read(kept)
    os.environ["ISR_PIPELINE_HOME"] = str(kept.parent.parent)
    for name in ("ISR_PIPELINE_ROOT", "ISR_PIPELINE_STORE"):
        os.environ.pop(name, None)
    end = time.monotonic() + 60 * minutes
    with closing(Stage(causes, kept.parent)) as stage:
        for planted in _wanted(causes, played):
            if time.monotonic() > end:
                console.print("stopped: the same command goes on here")
                return
            told = stage.play(planted)
            played.append(told)
            with kept.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(told) + "\n")
            console.print(_said(told), markup=False, highlight=False, soft_wrap=True)


def _said(told: dict[str, Any]) -> str:
    if not told["counts"]:
        return f"{told['plant']}: left out, {told['left_out']}"
    blame = told["blame"]
    named = "named" if blame["named"] else f"NOT NAMED ({blame.get('text', blame.get('problem'))})"
    first = "first event" if told["why"]["first"] else f"NOT THE FIRST EVENT ({told['why']})"
    return f"{told['plant']}: {named}, {first}, {told['seconds']:.0f} s"


def _tell(causes: Causes, kept: Path, console: Console, *, record: bool) -> int:
    """Print what was played so far, and keep it if that is wanted."""
    played = _read(kept)
    told: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "code_version": code_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "experiment": causes.experiment,
        "seed": causes.seed,
        "scenarios": causes.scenarios,
        "wanted": causes.settings + causes.commits,
        "counts": counted(played),
        "plants": played,
    }
    told["missed"] = missed(told)
    console.print(of_docs(told), markup=False)
    if record:
        with RESULTS.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(told) + "\n")
        write()
        console.print(f"one line appended to {RESULTS.name}, and written into {PAGE.name}")
    return 1 if told["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
