"""The night that docs/operations.md prints: kept as `night show --json` said it.

`make pictures` runs it, keeps it in benchmarks/results and writes the page, as a terminal shows it.
After a change of the words alone, `python -m tools.example_night` writes it anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from typing import Any

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.report.terminal import print_night

KEPT = REPOSITORY / "benchmarks" / "results" / "example-night.json"
PAGE = REPOSITORY / "docs" / "operations.md"
BLOCK = re.compile(r"(?<=<!-- output:nightly -->\n)```text\n.*?```\n", re.DOTALL)
"""What stands behind the page's marker."""

OF_THE_MACHINE = ("root", "places", "tables", "dag_run_id", "panel_digest")
"""Parts of a night that say where it ran: another machine has others."""


def keep(shown: dict[str, Any]) -> None:
    """Keep what a night says, without what is its machine's."""
    kept = {name: value for name, value in shown.items() if name not in OF_THE_MACHINE}
    kept["configs"] = [
        {name: value for name, value in one.items() if name != "params"} for one in kept["configs"]
    ]
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def block() -> str:
    """The kept night as it is printed, without its places and its answers against the reference."""
    shown = json.loads(KEPT.read_text(encoding="utf-8"))
    nowhere = {"report": "/nowhere", "data_docs": "/nowhere", "mlflow": ""}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print_night({**shown, "tables": {}, "places": nowhere})
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    lines = [line for line in lines if line and not line.startswith("MLflow")]
    first = next(n for n, line in enumerate(lines) if line.startswith("against ")) + 1
    end = next(n for n, line in enumerate(lines) if line.startswith("what to do"))
    lines[first:end] = ["  …"]
    return "```text\n" + "\n".join(lines) + "\n```\n"


def write() -> None:
    """Write it into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda _: block(), text), encoding="utf-8")


if __name__ == "__main__":
    write()
