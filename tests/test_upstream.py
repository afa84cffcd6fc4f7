"""Pages for Kafka's developers: each names its scenario, and its commands print what it shows."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isr_pipeline import cli
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.scenarios.loading import load_scenario

FOLDER = REPOSITORY / "docs" / "upstream"
PAGES = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "index.md"})
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIMULATE = "$ isr-pipeline simulate "


def shown(page: Path) -> list[tuple[str, list[str]]]:
    """Each command of a page that simulates, with the lines that it prints there."""
    found: list[tuple[str, list[str]]] = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith(SIMULATE):
                found.append((line.removeprefix("$ isr-pipeline "), []))
            elif found and not line.startswith("$"):
                found[-1][1].append(line)
    return found


SHOWN = [
    pytest.param(command, lines, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, (command, lines) in enumerate(shown(page))
]


def even(text: str) -> str:
    """A text with single spaces: columns are as wide as their widest cell."""
    return " ".join(text.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
class TestPages:
    """What every page has."""

    def test_scenario_parses(self, page: Path) -> None:
        """Each that its commands name, and it links to each."""
        text = page.read_text(encoding="utf-8")
        files = {Path(shlex.split(command)[1]) for command, _ in shown(page)}
        assert files
        for file in files:
            load_scenario(REPOSITORY / file)
            assert f"(scenarios/{file.name})" in text

    def test_is_of_a_comments_size(self, page: Path) -> None:
        """Whoever gets it reads it."""
        assert 300 <= len(page.read_text(encoding="utf-8").split()) <= 510

    def test_is_listed(self, page: Path) -> None:
        """In the folder's index."""
        assert f"]({page.name})" in (FOLDER / "index.md").read_text(encoding="utf-8")


def test_every_scenario_is_of_a_page() -> None:
    """None that nobody runs."""
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    files = [file.name for file in (FOLDER / "scenarios").iterdir()]
    assert [name for name in files if f"scenarios/{name})" not in pages] == []


@pytest.mark.parametrize(("command", "lines"), SHOWN)
def test_prints_what_the_page_shows(
    command: str, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line, or the beginning of it."""
    monkeypatch.chdir(REPOSITORY)
    done = CliRunner().invoke(cli.app, shlex.split(command), catch_exceptions=False)
    printed = even(done.stdout)
    assert lines
    assert [line for line in lines if even(line) not in printed] == []


def recordings() -> dict[str, Any]:
    """Recordings of real brokers, by id."""
    folder = REPOSITORY / "isr_pipeline" / "conformance" / "recordings"
    lines = [
        line
        for file in folder.glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return {one["id"]: one for one in map(json.loads, lines)}


def loop(found: Any) -> list[str]:
    """Shrinks and expands, and what became of ``acks=all``."""
    kinds = Counter(event["kind"] for event in found["observed"])
    said = found["producer"]["acks=all"]
    failed = [said["errors"].get(why, 0) for why in ("_MSG_TIMED_OUT", "NOT_ENOUGH_REPLICAS")]
    return [*map(str, (kinds["isr_shrink"], kinds["isr_expand"], said["acked"], *failed))]


def restart(found: Any) -> list[str]:
    """When a broker was let go, asked again and was let in, in seconds after it was stopped."""
    at = {event["kind"]: event["t_ms"] for event in reversed(found["observed"])}
    (fault,) = found["scenario"]["faults"]
    tries = found["note"]["register_answers_ms"]
    away = (at["broker_fenced"], tries[0], tries[-1])
    granted, first, last = (f"{(one - fault['start_ms']) / 1000:.1f}" for one in away)
    offline = f"{(at['partition_online'] - at['partition_offline']) / 1000:.1f}"
    session = found["scenario"]["config"]["broker.session.timeout.ms"] // 1000
    return [str(session), granted, first, str(len(tries) - 1), last, offline]


def replay(found: Any) -> list[str]:
    """Listeners, ISR changes, the first of them, and where the leader was left alone."""
    changes = [event for event in found["observed"] if "decided" not in event["kind"]]
    listeners = "two" if found["scenario"]["cluster"]["replication_listener"] else "one"
    if not changes:
        return [listeners, "0", "", ""]
    alone = {event["partition"] for event in changes if event["isr"] == [1]}
    first = f"{changes[0]['t_ms'] / 1000:.1f}"
    return [listeners, str(len(changes)), first, "both partitions" if len(alone) == 2 else "none"]


def slow_disk(found: Any) -> list[str]:
    """Connections, and when each partition lost a follower: of the slow dir, and of the other."""
    (topic,) = found["scenario"]["topics"]
    slow = topic["produce"][0]["partitions"]
    first: dict[int, float] = {}
    for event in found["observed"]:
        if event["kind"] == "isr_shrink":
            first.setdefault(event["partition"], event["t_ms"] / 1000 - 10)
    sides = [
        ", ".join(f"{s:.1f}" for s in sorted(s for p, s in first.items() if (p in slow) == side))
        for side in (True, False)
    ]
    writers = sum(
        stream["partitions"] == slow and stream["acks"] == 1 for stream in topic["produce"]
    )
    return [str(writers), sides[0] or "none", sides[1]]


@pytest.mark.parametrize(
    ("page", "cells"),
    [("pr-23024", loop), ("kafka-19047", restart), ("kafka-7504", replay), ("log-lock", slow_disk)],
)
def test_recordings_hold_what_the_page_says(page: str, cells: Callable[[Any], list[str]]) -> None:
    """Each row of a table that names one."""
    held = recordings()
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in (FOLDER / f"{page}.md").read_text(encoding="utf-8").splitlines()
    ]
    told = {row[0]: row[1:] for row in rows if row[0] in held}
    assert told
    assert told == {name: cells(held[name])[: len(row)] for name, row in told.items()}
