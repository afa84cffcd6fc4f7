"""What was measured, kept in a file, and the blocks of README and pages that show it.

``findings.jsonl`` has a line for each measurement. A block begins with a comment such as
``<!-- finding:table:lag-limit:4000 -->`` and ends with ``<!-- finding:end -->``. What stands
between is written from the newest line of that finding and panel.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from benchmarks.findings import show
from benchmarks.findings.panel import Ratio
from benchmarks.findings.question import question
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.plan import code_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

RESULTS = REPOSITORY / "benchmarks" / "results" / "findings.jsonl"

_BLOCK = re.compile(
    r"(?P<start><!-- finding:(?P<form>text|table|neighbours):"
    r"(?P<name>[a-z-]+):(?P<scenarios>\d+) -->\n)"
    r"(?P<inside>.*?)"
    r"(?P<end><!-- finding:end -->)",
    re.DOTALL,
)

Found = dict[str, dict[str, Ratio]]


def pages(root: Path = REPOSITORY) -> Iterator[Path]:
    """README and every page of the docs."""
    yield root / "README.md"
    yield from sorted((root / "docs").rglob("*.md"))


def keep(
    name: str,
    scenarios: int,
    found: Mapping[str, Mapping[str, Ratio]],
    reference: Mapping[str, float],
) -> None:
    """Add a measurement to the results.

    Args:
        name: of the finding.
        scenarios: of its panel.
        found: configuration -> metric -> ratio to the reference.
        reference: metric -> the reference's own figure, of a year or of a typical scenario.
    """
    line = {
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "code_version": code_version(),
        "finding": name,
        "scenarios": scenarios,
        "year": dict(reference),
        "ratios": {
            arm: {metric: [one.value, one.low, one.high] for metric, one in ratios.items()}
            for arm, ratios in found.items()
        },
    }
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def newest(name: str, scenarios: int) -> dict[str, Any] | None:
    """The newest measurement of a finding on a panel of that size."""
    lines = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    fitting = [one for one in lines if (one["finding"], one["scenarios"]) == (name, scenarios)]
    return fitting[-1] if fitting else None


def found_in(line: Mapping[str, Any]) -> Found:
    """The ratios of a kept measurement."""
    return {
        arm: {metric: Ratio(*values) for metric, values in ratios.items()}
        for arm, ratios in line["ratios"].items()
    }


def filled(text: str) -> str:
    """A page with every block as the results have it.

    Raises:
        LookupError: a block names a measurement that was never made.
    """
    return _BLOCK.sub(_fill, text)


def _fill(block: re.Match[str]) -> str:
    name, scenarios = block["name"], int(block["scenarios"])
    line = newest(name, scenarios)
    if line is None:
        msg = f"findings.jsonl has no {name} of {scenarios} scenarios"
        raise LookupError(msg)
    if block["form"] == "neighbours":
        inside = ["", *show.neighbours_table(line), ""]
        return block["start"] + "\n".join(inside) + "\n" + block["end"]
    asked, found = question(name), found_in(line)
    own, of_a_year = line.get("year") or line["reference"], "year" in line
    if block["form"] == "text":
        inside = [
            "```text",
            *show.text(asked, found, own, scenarios, is_of_a_year=of_a_year),
            "```",
        ]
    else:
        day, version = line["measured_at"][:10], line["code_version"]
        inside = [
            "",
            *show.markdown_table(asked, found),
            "",
            show.absolute(asked, own, is_of_a_year=of_a_year),
            f"{scenarios} scenarios, measured on {day} with `{version}`.",
            "",
        ]
    return block["start"] + "\n".join(inside) + "\n" + block["end"]


def write_pages() -> None:
    """Write the blocks of every page anew; a page with a block that nobody measured stays."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        try:
            new = filled(text)
        except LookupError:
            continue
        if new != text:
            page.write_text(new, encoding="utf-8")
