"""The tutorials, typed from beginning to end in a fresh clone: `make tutorials`.

A page's blocks are one session of a shell. A block with `file=` is written; in a block of `console`
a line with a prompt is a command, and the lines below it are printed by it, in this order; `...`
stands for any text. A command ends with status 0, unless the next one is `echo $?`.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from isr_pipeline.base.home import REPOSITORY
from tests.saying import finished

PAGES = sorted((REPOSITORY / "docs" / "tutorials").glob("*.md"))
WORDS_MAX = 400
PROCESSOR_SECONDS_MAX = 600

_BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)
_END = "-- end of a step, status"
_FOREIGN = (
    *("AIRFLOW", "ISR_PIPELINE", "MAKE", "MLFLOW", "NUMBA", "PYSPARK", "PYTEST", "SPARK"),
    "VIRTUAL_ENV",
)
"""Beginnings of variables that a person's shell has not."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is typed, and the lines that the page shows of what it prints."""

    typed: str
    shown: list[str]


def steps(page: str) -> list[Step]:
    """A page's steps."""
    found = []
    for language, file, text in _BLOCK.findall(page):
        if file:
            found.append(Step(f"cat >{file} <<'END'\n{text}END", []))
        elif language == "console":
            for one in _PROMPT.split(text)[1:]:
                whole = re.match(r"(?:.*\\\n)*.*", one)
                assert whole
                found.append(Step(whole[0], one[whole.end() :].strip("\n").splitlines()))
    return found


def session(page: list[Step]) -> str:
    """A script that takes all steps, tells where each ends, and stops where one fails."""
    lines = ["exec 2>&1"]
    for step, after in zip(page, [*page[1:], None], strict=True):
        lines += [f"{{ {step.typed}\n}} </dev/null", f"status=$?; echo; echo '{_END}' $status"]
        if after is None or after.typed != "echo $?":
            lines.append("test $status = 0 || exit")
        lines.append("(exit $status)")
    return "\n".join(lines)


def not_printed(shown: list[str], printed: str) -> list[str]:
    """Lines of a page that a command did not print, from the first one on."""
    ahead = iter(printed.splitlines())
    return [line for line in shown if not any(_like(line, one.rstrip()) for one in ahead)]


def _like(shown: str, printed: str) -> bool:
    return bool(re.fullmatch(".*".join(map(re.escape, shown.rstrip().split("..."))), printed))


def test_not_printed() -> None:
    """Lines in between may be left out, none may be added, and none may change places."""
    printed = "one\ntwo 2.5\nthree"
    assert not_printed(["one", "two ...", "three"], printed) == []
    assert not_printed(["three"], printed) == []
    assert not_printed(["two", "three"], printed) == ["two", "three"]
    assert not_printed(["three", "one"], printed) == ["one"]


def test_steps_are_one_session(tmp_path: Path) -> None:
    """Files, continued lines, variables and a status that is asked for; nothing after a failure."""
    page = (
        "```yaml file=a.yaml\na: 1\n```\n```console\n$ cat \\\n  a.yaml\na: 1\n$ A=2\n$ false\n"
        "$ echo $?\n1\n$ echo $A\n2\n$ false\n$ echo never\n```\n"
    )
    found = steps(page)
    assert found[1] == Step("cat \\\n  a.yaml", ["a: 1"])
    said = finished(["bash", "-c", session(found)], cwd=tmp_path).stdout.split(_END)
    assert [part.split() for part in said] == [
        *([], ["0", "a:", "1"], ["0"], ["0"], ["1", "1"], ["0", "2"], ["0"], ["1"]),
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_is_short(page: Path) -> None:
    """A tutorial of ten minutes is read in two."""
    assert len(page.read_text(encoding="utf-8").split()) <= WORDS_MAX


@pytest.mark.rehearsal
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_step(page: Path, tmp_path: Path) -> None:
    """Each command of the committed page ends as told, and prints what the page shows."""
    clone = tmp_path / "isr-pipeline"
    subprocess.run(["git", "clone", "-q", REPOSITORY, clone], check=True)
    typed = steps((clone / page.relative_to(REPOSITORY)).read_text(encoding="utf-8"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = finished(["bash", "-c", session(typed)], cwd=clone, env=kept)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    shutil.rmtree(clone)
    said = re.split(rf"\n{_END} (\d+)\n", done.stdout)
    assert done.returncode == 0, "\n".join(said[-3:])
    for step, printed in zip(typed, said[::2], strict=False):
        assert not_printed(step.shown, printed) == [], f"{step.typed}\n{printed}"
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < PROCESSOR_SECONDS_MAX
