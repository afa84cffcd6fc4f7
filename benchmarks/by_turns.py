"""``python -m benchmarks.by_turns BEFORE AFTER...``: commits measured by turns.

Each commit is a worktree with a process of `benchmarks.ablations.arm`. One after the other they
simulate the reference panel, nine times, and 30 brokers with 3 000 partitions, five times; every
second turn goes backwards. A ratio is of the processor times of one turn, to the commit before it
in the list and to the first. What does not give the first one's digest is said.

Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.ablations.__main__ import Arm, arm
from benchmarks.ablations.arm import BASE
from benchmarks.speed import record
from isr_pipeline.base.home import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUESTIONS = {"panel": ("panel 8", 9), "30 x 3 000": ("large events", 5)}
"""Column -> what each commit is asked, and how often."""
RESULTS = REPOSITORY / "benchmarks" / "results" / "by_turns.jsonl"

Seconds = dict[str, dict[str, list[float]]]
"""Column -> commit -> processor time of each turn."""


def git(*words: str) -> str:
    """Run git in this repository."""
    return subprocess.run(
        ["git", *words], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout.strip()


@contextmanager
def worktree(commit: str, folder: Path) -> Iterator[Path]:
    """A commit's files, for as long as the block lasts."""
    git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    try:
        yield folder
    finally:
        git("worktree", "remove", "--force", str(folder))


@contextmanager
def arms(commits: Sequence[str]) -> Iterator[dict[str, Arm]]:
    """Start a process for each commit."""
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as open_:
        started: dict[str, Arm] = {}
        for commit in commits:
            folder = open_.enter_context(worktree(commit, Path(scratch) / commit))
            started[commit] = open_.enter_context(arm(BASE, folder / ".state", checkout=folder))
        yield started


def measure(started: dict[str, Arm]) -> Seconds:
    """Ask all of them, turn by turn."""
    seconds: Seconds = {}
    for column, (question, turns) in QUESTIONS.items():
        of_column = seconds[column] = {commit: [] for commit in started}
        for turn in range(turns):
            order = list(started) if turn % 2 == 0 else list(started)[::-1]
            for commit in order:
                of_column[commit].append(float(started[commit].ask(question)["seconds"]))
    return seconds


def ratios(seconds: Seconds, after: str, before: str) -> dict[str, list[float]]:
    """Of each column, the ratios of the turns."""
    return {
        column: [a / b for a, b in zip(of[after], of[before], strict=True)]
        for column, of in seconds.items()
    }


def table(seconds: Seconds, commits: Sequence[str], subjects: Sequence[str]) -> str:
    """A row a commit: to the one before it, and to the first."""
    heads = ["commit", *seconds, *(f"{column}, to the first" for column in seconds)]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for i, after in enumerate(commits[1:], 1):
        cells = [
            f"{median(turns):.3f} ({sum(one > 1 for one in turns)} of {len(turns)} above 1)"
            for before in (commits[i - 1], commits[0])
            for turns in ratios(seconds, after, before).values()
        ]
        lines.append(f"| {after} {subjects[i]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="+", metavar="COMMIT")
    parser.add_argument("--record", action="store_true", help=f"keep it in {RESULTS.name}")
    given = parser.parse_args()
    commits = [git("rev-parse", "--short=10", commit) for commit in given.commits]
    subjects = [git("log", "-1", "--format=%s", commit) for commit in commits]
    with arms(commits) as started:
        digests = {commit: one.ask("digest")["gave"] for commit, one in started.items()}
        seconds = measure(started)
        compiled = {commit: one.compile_s for commit, one in started.items()}
    for commit, gave in digests.items():
        if gave != digests[commits[0]]:
            print(f"{commit} gives another digest than {commits[0]}: {gave}")
    print(table(seconds, commits, subjects))
    if given.record:
        line = {
            "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "machine": record.machine(),
            "commits": commits,
            "seconds": seconds,
            "compile_s": compiled,
        }
        record.append(line, RESULTS)


if __name__ == "__main__":
    main()
