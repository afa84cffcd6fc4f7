"""How recorded results reach a page: the last line of each experiment, between marks of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

Marks = tuple[str, str]
"""Begin and end; `{}` stands for the experiment."""


def last_lines(file: Path) -> dict[str, dict[str, Any]]:
    """Experiment -> its last record; lines of before experiments were named are of `operators`."""
    lines = [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines() if text]
    named = [{"experiment": "operators", **line} for line in lines]
    return {line["experiment"]: line for line in named}


def between(page: str, marks: Marks, experiment: str) -> str | None:
    """What stands between an experiment's marks; None without them."""
    begin, end = (mark.format(experiment) for mark in marks)
    found = re.search(f"{begin}\n(.*?)\n{end}", page, re.DOTALL)
    return found[1] if found else None


def replaced(page: str, marks: Marks, experiment: str, text: str) -> str:
    """The page with another text there; as it was without the marks."""
    now = between(page, marks, experiment)
    begin, end = (mark.format(experiment) for mark in marks)
    return page.replace(f"{begin}\n{now}\n{end}", f"{begin}\n{text}\n{end}")
