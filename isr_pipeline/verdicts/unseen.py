"""A night that cannot be compared with the baseline, and what is known of the runs before it.

Another panel has other scenarios, so nobody can tell whether such a night got worse. Where the runs
before it had, that must not be forgotten: its verdict names the last run that was compared, and a
person who accepts it is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.verdicts.record import LastCompared, load_verdict
from isr_pipeline.verdicts.sentences import SAID_WORSE

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.baseline import BaselineRecord
    from isr_pipeline.verdicts.record import NightVerdict


def last_compared(plan: Plan, record: BaselineRecord | None) -> LastCompared | None:
    """The last run that was compared with a baseline: of the plan's date, else of the newest.

    Args:
        plan: of a night that could not be; a run of its date that it replaces is told by it.
        record: of the baseline; None of one that is damaged, which may be any.
    """
    latest_at = record.note().latest_at if record else None
    folders = Home.from_environment().night_dir(plan.experiment, plan.night).parent.glob("*")
    nights = sorted((one.name for one in folders), key=lambda name: (name == plan.night, name))
    for night in reversed(nights):
        try:
            found = _compared(load_verdict(plan.experiment, night))
        except Refused:
            continue
        if found is not None and latest_at in (None, found.latest_at):
            return found
    return None


def _compared(verdict: NightVerdict) -> LastCompared | None:
    """What a night's verdict says, or what it keeps of the last that was compared."""
    if not verdict.is_compared or verdict.baseline is None:
        return verdict.last_compared
    worse = []
    for one in verdict.configurations:
        metrics = tuple(each for each in one.metrics if each.status in SAID_WORSE)
        worse += [one.model_copy(update={"metrics": metrics})] if metrics else []
    return LastCompared(
        night=verdict.night,
        began=verdict.began,
        latest_at=verdict.baseline.latest_at,
        worse=tuple(worse),
    )
