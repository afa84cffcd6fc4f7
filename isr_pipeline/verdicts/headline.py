"""The one line of a night: how many configurations are what, and on which metrics."""

from __future__ import annotations

import re
from collections import Counter

from isr_pipeline.verdicts.model import (
    LOST,
    WORST_FIRST,
    ConfigVerdict,
    Status,
    accept_command,
)
from isr_pipeline.verdicts.quantities import label

ADVICE = "; accept this night: "
"""Before the command that accepts a night, where no baseline can be compared with it."""


def headline(
    configurations: tuple[ConfigVerdict, ...], experiment: str, night: str, *, pending: bool
) -> str:
    """One line: worst first, with the metrics that regressed.

    Args:
        configurations: the verdicts.
        experiment: for the command that accepts a first baseline.
        night: likewise.
        pending: whether the suspects still await further scenarios.
    """
    counts = Counter(one.status for one in configurations)
    total = len(configurations)
    parts: list[str] = []
    for status in WORST_FIRST:
        count = counts[status]
        if not count:
            continue
        subject = f"{count} of {total} configurations" if not parts else str(count)
        parts.append(f"{subject} {_words(status, configurations, pending)}")
    parts += [_beside(status, configurations) for status in WORST_FIRST]
    line = "; ".join(part for part in parts if part)
    if counts[Status.BASELINE] == total:
        accept = accept_command(experiment, night)
        line = f"no baseline accepted yet ({total} configurations){ADVICE}{accept}"
    return line


def without_advice(line: str) -> str:
    """The headline of a night that is not whole: it cannot be accepted."""
    return re.sub(rf"{ADVICE}[^)]*", "", line)


def _beside(status: Status, configurations: tuple[ConfigVerdict, ...]) -> str:
    """Which of those with a status improved as well, and on what; empty if none did."""
    having = [one for one in configurations if one.status is status]
    better = tuple(one for one in having if len(one.words) > 1)
    if not better:
        return ""
    subject = f"{len(better)} of the {status}"
    if len(better) == len(having):
        subject = f"the {status} one" if len(having) == 1 else f"all of the {status}"
    return f"{subject} also improved on {_on(Status.IMPROVED, better)}"


def _words(status: Status, configurations: tuple[ConfigVerdict, ...], pending: bool) -> str:
    having = tuple(one for one in configurations if one.status is status)
    named = _on(status, having)
    match status:
        case Status.REGRESSED:
            return f"regressed on {named}, confirmed"
        case Status.SUSPECT:
            return f"suspect on {named}, {'to be' if pending else 'not'} confirmed"
        case Status.IMPROVED | Status.UNDECIDED:
            return f"{status} on {named}"
        case Status.NO_DATA:
            reasons = {one.reason for one in having}
            return f"without data ({having[0].reason})" if len(reasons) == 1 else "without data"
        case Status.BASELINE:
            return "new, without a baseline"
        case _:
            return str(status)


def _on(status: Status, configurations: tuple[ConfigVerdict, ...]) -> str:
    """The metrics that have a status: lost data before anything else, then the most frequent."""
    metrics: Counter[str] = Counter()
    for one in configurations:
        metrics.update(one.metrics_with(status))
    ordered = sorted(metrics, key=lambda name: (name != LOST, -metrics[name]))
    return ", ".join(label(name) for name in ordered)
