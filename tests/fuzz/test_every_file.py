"""Every kind of file that a person writes, damaged: one line that names it, or a result."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isr_pipeline import cli
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.worlds.ready import compile_kernel
from tests.clusters import samples
from tests.fuzz.damage import damaged_texts, damaged_values
from tests.oracle import __main__ as oracle

EXAMPLES = int(os.environ.get("ISR_PIPELINE_EXAMPLES", "140"))
"""Of all kinds together."""

HANGS_CPU_S = 60
"""Processor time of one example that is no work any more, on however busy a machine."""

EVENTS = "200000"
LIBRARY = REPOSITORY / "isr_pipeline" / "scenarios" / "library"
RECORDINGS = REPOSITORY / "isr_pipeline" / "conformance" / "recordings" / "observations.jsonl"
VECTORS = REPOSITORY / "tests" / "data" / "oracle" / "vectors.jsonl"


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        file: where it is, below the folder of a test.
        command: arguments that read it; ``OUT`` stands for a file that they may write.
        whole: contents to damage.
        is_data: they are YAML or JSON, so that values can be damaged as well as text.
        program: what takes the command.
    """

    file: str
    command: tuple[str, ...]
    whole: tuple[str, ...]
    is_data: bool = True
    program: Callable[[], int | None] = cli.run


def _lines(file: Path, count: int) -> tuple[str, ...]:
    lines = file.read_text().splitlines()
    return tuple(lines[:: max(1, len(lines) // count)])


SIMULATE = ("--event-budget", EVENTS, "--json", "OUT")


def _dump(release: str) -> str:
    return (RECORDINGS_OF_CLUSTERS / release / "metadata-log.txt").read_text()


RECORDINGS_OF_CLUSTERS = REPOSITORY / "tests" / "recordings" / "import"
IMPORT = ("cluster", "import", "--name", "x", "--release", "3.9.1", "--out", "OUT")
IMPORT_OF_ANY = ("cluster", "import", "--name", "x", "--out", "OUT")
"""Of what says its release itself; that of another is refused where it has eligible leaders."""

CLUSTERS = tuple(
    (Path(samples.__file__).parent / name).read_text() for name in ("one.yaml", "two.yaml")
)


def _pasted(*suffixes: str) -> tuple[str, ...]:
    """What people paste, the last cases first: a file each that is read as it is."""
    cases = REPOSITORY / "tests" / "clusters" / "cases"
    return tuple(
        file.read_bytes().decode("latin-1")
        for file in sorted(cases.glob("*/*"), reverse=True)
        if file.suffix in suffixes
    )


KINDS = {
    "experiment": Kind(
        "config/experiments/smoke.yaml",
        ("experiment", "check", "smoke"),
        tuple(file.read_text() for file in sorted(REPOSITORY.glob("config/experiments/*.yaml"))),
    ),
    "cluster": Kind(
        "config/clusters/tiny.yaml",
        ("experiment", "check", "smoke"),
        tuple(file.read_text() for file in sorted(REPOSITORY.glob("config/clusters/*.yaml"))),
    ),
    "faults": Kind(
        "config/faults/smoke.yaml",
        ("experiment", "check", "smoke"),
        tuple(file.read_text() for file in sorted(REPOSITORY.glob("config/faults/*.yaml"))),
    ),
    "scenario": Kind(
        "mine.yaml",
        ("simulate", "mine.yaml", *SIMULATE),
        tuple(file.read_text() for file in sorted(LIBRARY.glob("*.yaml"))),
    ),
    "rule set": Kind(
        "config/rule-sets/joins-in-time.yaml",
        ("simulate", "sound.yaml", "--set", "cluster.release=joins-in-time", *SIMULATE),
        tuple(file.read_text() for file in sorted(REPOSITORY.glob("config/rule-sets/*.yaml"))),
    ),
    "timelines": Kind("mine.jsonl", ("mine.jsonl",), _lines(VECTORS, 60), program=oracle.main),
    "cluster as shown": Kind("mine.yaml", ("cluster", "show", "mine.yaml"), CLUSTERS),
    "cluster of a scenario": Kind(
        "mine.yaml", ("simulate", "names-mine.yaml", *SIMULATE), CLUSTERS
    ),
    "topics listed": Kind(
        "mine.txt", (*IMPORT, "mine.txt"), tuple(samples.TOPICS.values()), is_data=False
    ),
    "configs listed": Kind(
        "mine.txt", (*IMPORT, "sound.txt", "mine.txt"), (samples.CONFIGS,), is_data=False
    ),
    "log dirs listed": Kind(
        "mine.txt", (*IMPORT, "sound.txt", "mine.txt"), (samples.LOG_DIRS,), is_data=False
    ),
    "server.properties": Kind(
        "mine.txt", (*IMPORT, "sound.txt", "mine.txt"), (samples.PROPERTIES,), is_data=False
    ),
    "metadata dumped": Kind(
        "mine.txt", (*IMPORT_OF_ANY, "mine.txt"), (_dump("4.3.1"), _dump("3.9.2")), is_data=False
    ),
    "Strimzi": Kind("mine.txt", (*IMPORT, "sound.txt", "mine.txt"), (samples.STRIMZI,), False),
    "Cruise Control": Kind(
        "mine.json",
        (*IMPORT, "mine.json"),
        (samples.CRUISE_CONTROL,),
    ),
    "Cruise Control's load": Kind(
        "mine.json",
        (*IMPORT, "sound.txt", "mine.json"),
        (samples.LOAD, samples.PARTITION_LOAD),
    ),
    "pasted": Kind("mine.txt", (*IMPORT, "mine.txt"), _pasted(".txt"), is_data=False),
    "pasted beside a listing": Kind(
        "mine.txt",
        (*IMPORT, "sound.txt", "mine.txt"),
        _pasted(".yaml", ".properties"),
        is_data=False,
    ),
    "observations": Kind("seen.jsonl", ("conform", "seen.jsonl"), _lines(RECORDINGS, 12)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder to work in, with a configuration of its own; put right after each example."""
    place = tmp_path_factory.mktemp("damaged")
    before = Path.cwd()
    os.chdir(place)
    sound(place)
    compile_kernel()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISR_PIPELINE_CONFIG", str(place / "config"))
        yield place
    os.chdir(before)


def sound(place: Path) -> None:
    """Make everything whole again."""
    shutil.copytree(REPOSITORY / "config", place / "config", dirs_exist_ok=True)
    shutil.copy(LIBRARY / "w12.yaml", place / "sound.yaml")
    (place / "sound.txt").write_text(samples.NEW)
    (place / "names-mine.yaml").write_text(
        "{scenario_id: s, horizon_ms: 1000, cluster: {file: mine.yaml}}"
    )


def run(arguments: list[str], program: Callable[[], int | None] = cli.run) -> tuple[int, str]:
    """Run a program in this process; its exit status and what it said of errors."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["isr-pipeline", *arguments]
    status: Any
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = program() or 0
    except SystemExit as end:
        status = end.code or 0
    finally:
        sys.argv = before
    return int(status), err.getvalue()


def damaged(kind: Kind) -> st.SearchStrategy[bytes]:
    """Contents of a file of this kind, damaged one way or the other."""
    in_lines = kind.file.endswith((".jsonl", ".json"))

    def of(text: str) -> st.SearchStrategy[bytes]:
        if not kind.is_data:
            return damaged_texts(text)
        data = json.loads(text) if in_lines else yaml.safe_load(text)
        return damaged_values(data, json.dumps if in_lines else None) | damaged_texts(text)

    return st.sampled_from(kind.whole).flatmap(of)


@pytest.mark.parametrize("name", KINDS)
def test_damaged(name: str, folder: Path) -> None:
    """Never a traceback, a hang or half a result; each mistake is one line with its name."""
    kind = KINDS[name]

    @settings(
        max_examples=max(1, EXAMPLES // len(KINDS)),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(content=damaged(kind))
    def refused_or_done(content: bytes) -> None:
        file, out = folder / kind.file, folder / "out.json"
        file.write_bytes(content)
        try:
            began = time.process_time()
            arguments = [str(out) if one == "OUT" else one for one in kind.command]
            status, said = run(arguments, kind.program)
            assert time.process_time() - began < HANGS_CPU_S
            assert status in (0, 1, 2, 3)
            if out.exists():
                yaml.safe_load(out.read_text())
            if status in (2, 3) or said:
                assert said.endswith("\n")
                lines = said.splitlines()
                assert all(0 < len(line) <= 400 for line in lines)
                # A budget is spent by a scenario, whose keys may decide nothing, and a file may
                # name a rule set's that is missing.
                others = {0: "scenario ", 3: "sound.yaml: scenario"}
                other = others.get(status, ".yaml: no such file")
                assert all(file.stem in line or other in line for line in lines)
                assert status == 0 or not out.exists()
        finally:
            out.unlink(missing_ok=True)
            sound(folder)

    refused_or_done()


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_damaged_log(release: str, folder: Path) -> None:
    """The same of a metadata log's own file, of which bytes are changed, lost or doubled."""
    whole = next((RECORDINGS_OF_CLUSTERS / release).glob("*.log")).read_bytes()
    out = folder / "out.yaml"

    @settings(max_examples=max(1, EXAMPLES // len(KINDS)), deadline=None)
    @given(data=st.data())
    def refused_or_done(data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(whole)))
        lost = data.draw(st.integers(0, 300))
        content = whole[:place] + data.draw(st.binary(max_size=40)) + whole[place + lost :]
        (folder / "mine.log").write_bytes(content)
        status, said = run([*IMPORT_OF_ANY[:-1], str(out), str(folder / "mine.log")])
        assert (status, said.count("\n")) == (2, 1) if content != whole else status == 0
        assert out.exists() == (status == 0)
        out.unlink(missing_ok=True)

    refused_or_done()


@pytest.mark.parametrize("name", KINDS)
def test_whole(name: str, folder: Path) -> None:
    """Undamaged, each is read: the commands of the other test reach what they are meant to."""
    kind = KINDS[name]
    if not kind.file.startswith("config/"):
        (folder / kind.file).write_text(kind.whole[0])
    out = str(folder / "whole.json")
    status, said = run([out if one == "OUT" else one for one in kind.command], kind.program)
    assert status != 2, said
