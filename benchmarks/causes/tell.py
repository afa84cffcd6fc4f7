"""The last line of ``causes.jsonl`` as words, in docs/project/detection.md between two marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import told as results
from isr_pipeline.base.home import REPOSITORY

RESULTS = Path(__file__).resolve().parent.parent / "results" / "causes.jsonl"
PAGE = REPOSITORY / "docs" / "project" / "detection.md"
MARKS = "<!-- causes:{}:begin -->", "<!-- causes:{}:end -->"
"""Around what is told of an experiment."""

WANTED = 40
NAMED_MIN = 0.95
"""Share of the plants that `blame` is to name; `why` is to give all first events."""

SORTS = {
    "key": "a key, beside two that move by a hundredth",
    "service": "a service time, likewise",
    "rule": "a switch of the rules, likewise",
    "commit": "a commit among others",
}


def counted(played: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Sort -> plants that count, and how many of them were named.

    Args:
        played: plants, as they are kept.
    """
    every = {sort: [one for one in played if _sort(one) == sort] for sort in SORTS}
    every["together"] = list(played)
    every["phases drawn anew as well"] = [one for one in played if one["anew"]]
    return {sort: _count([one for one in some if one["counts"]]) for sort, some in every.items()}


def _sort(one: Mapping[str, Any]) -> str:
    return "commit" if one["sort"] == "commit" else str(one["kind"])


def _count(some: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {
        "plants": len(some),
        "named": sum(bool(one["blame"]["named"]) for one in some),
        "first": sum(bool(one["why"]["first"]) for one in some),
        "decided": sum(bool(one["why"].get("decided")) for one in some),
    }


def missed(told: Mapping[str, Any]) -> list[str]:
    """Bars that are missed."""
    all_ = told["counts"]["together"]
    plants = all_["plants"]
    found = []
    if plants < told["wanted"]:
        found.append(f"plants played: {plants} of {told['wanted']}")
    if all_["named"] < NAMED_MIN * plants:
        found.append(f"`blame` named {all_['named']} of {plants}")
    if all_["first"] < plants:
        found.append(f"`why` gave the first event of {all_['first']} of {plants}")
    return found


def of_docs(told: Mapping[str, Any]) -> str:
    """The table of docs/project/detection.md."""
    command = f"`python -m benchmarks.causes{_of(told)}`"
    made = f"Made by {command} on {told['date'][:10]}, on {told['machine']}"
    lines = [
        f"{made}; `{RESULTS.name}` has every plant.",
        "",
        "| planted | plants | `blame` names it | `why`: first event | `why`: decided by it |",
        "|---|---:|---:|---:|---:|",
    ]
    for sort, one in told["counts"].items():
        if not one["plants"]:
            continue
        cells = " | ".join(str(one[name]) for name in ("plants", "named", "first", "decided"))
        lines.append(f"| {SORTS.get(sort, sort)} | {cells} |")
    out = [one for one in told["plants"] if not one["counts"]]
    wrong = [one for one in told["plants"] if one["counts"] and not one["blame"]["named"]]
    lines += ["", f"Left out: {len(out)} more, for nothing of them alone is called."]
    for one in wrong:
        said = one["blame"].get("text") or one["blame"]["problem"]
        lines.append(f"* Not named: `{one['plant']}`; `blame` said: {said}.")
    short = missed(told)
    lines += ["", f"Bars that are missed: {'; '.join(short)}." if short else "Every bar is met."]
    return "\n".join(lines)


def _of(told: Mapping[str, Any]) -> str:
    """The command's argument, if it needs one."""
    named = told["experiment"]
    return "" if named == "operators" else f" --experiment {named}"


def last_lines() -> dict[str, dict[str, Any]]:
    """Experiment -> its last record."""
    return results.last_lines(RESULTS)


def write(page: Path = PAGE) -> bool:
    """Write the tables into the page; whether that changed it."""
    before = text = page.read_text(encoding="utf-8")
    for experiment, line in last_lines().items():
        text = results.replaced(text, MARKS, experiment, of_docs(line))
    page.write_text(text, encoding="utf-8")
    return text != before
