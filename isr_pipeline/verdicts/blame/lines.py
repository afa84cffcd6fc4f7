"""What `blame` says: each trial, and the causes, in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isr_pipeline.base.files.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isr_pipeline.kernels.difference import Part

PARTS_MAX = 12
"""Changed functions that are listed."""


def share_of_change(share: float, scenarios: int) -> str:
    """``62 % of the change, over 35 scenarios``."""
    return f"{_percent(share)} of the change, over {counted(scenarios, 'scenario')}"


def of_trial(trial: Mapping[str, Any]) -> str:
    """A trial in one line.

    Args:
        trial: ``what``, ``share``, ``like``, and the ``problem`` of one that cannot be run.
    """
    share = trial["share"]
    if share is None:
        return f"{trial['what']}: cannot be run: {trial['problem']}"
    if round(100 * share) < 0:
        return f"{trial['what']}: changes the other way, {_percent(-share)} as far"
    return f"{trial['what']}: {_percent(share)} of it, like {trial['like']}"


def of_causes(found: Mapping[str, Any], status: str, change: str) -> list[str]:
    """What was found, in lines: the cause with its files, and what else makes part of the change.

    Args:
        found: as `Search.blame` returns it.
        status: of the metric.
        change: how much it changed, as the night's page says it.
    """
    lines = [f"{found['config']}: {status}: {change}", f"cause: {found['cause']['text']}"]
    lines += _files(found["cause"])
    for other in found["also"]:
        lines += [f"  and also: {other['text']}", *_files(other)]
    return lines


def of_parts(parts: Sequence[Part]) -> str:
    """Changed functions, the first `PARTS_MAX` by their names."""
    names = ", ".join(map(str, parts[:PARTS_MAX]))
    more = len(parts) - PARTS_MAX
    return f"{names} and {more} more" if more > 0 else names


def _files(cause: Mapping[str, Any]) -> list[str]:
    return [f"    {file}" for file in cause.get("files", ())]


def _percent(share: float) -> str:
    return f"{abs(round(100 * share))} %"
