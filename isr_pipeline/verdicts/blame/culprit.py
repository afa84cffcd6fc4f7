"""Blame: the key or commit that makes a configuration differ from its baseline.

Each change is tried alone, and all but it. Of many commits one after the other, bisection finds the
one that makes most of the change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.kernels import commits
from isr_pipeline.kernels.difference import changed_parts, is_same_code
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.verdicts.blame.lines import of_parts, of_trial, share_of_change
from isr_pipeline.verdicts.blame.why import cause_of_settings, swapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isr_pipeline.kernels.commits import Commit
    from isr_pipeline.kernels.source import Source
    from isr_pipeline.verdicts.blame.case import Case


ENOUGH = 0.75
"""Share of the change from which on no further commit is looked for."""

LEAST = 0.1
"""Share of the change from which on a further commit is named."""

CAUSES_MAX = 3
"""Commits that are named."""


class Search:
    """Trials of one case, reported as they are made.

    Args:
        case: what is asked about.
        say: called with the line of each trial.
        expect: called with the number of trials that are still to come, as far as is known.
        checkout: whose commits are tried.
        compiled: whether kernels are compiled; otherwise they run as plain Python.

    Attributes:
        tried: ``what``, ``share`` of the change (None if it cannot be run; below 0 if the trial
            changes the other way), ``like`` and ``scenarios``.
    """

    def __init__(
        self,
        case: Case,
        *,
        say: Callable[[str], object] = lambda _line: None,
        expect: Callable[[int], object] = lambda _trials: None,
        checkout: Path = REPOSITORY,
        compiled: bool = True,
    ) -> None:
        self.case = case
        self.tried: list[dict[str, Any]] = []
        self._say = say
        self._expect = expect
        self._checkout = checkout
        self._compiled = compiled

    def blame(self) -> dict[str, Any]:
        """Find the cause.

        Returns:
            ``cause`` (``kind``, ``name``, ``text`` and what else is known of it), ``also`` (what
            else makes part of the change, alike) and ``tried``.
        """
        case = self.case
        if case.same_code and not case.changed_keys:
            causes = [self._unknown("neither its settings nor the code changed")]
        elif case.same_code or (case.changed_keys and self._is_setting()):
            causes = [self._settings(case.before.source)]
        else:
            causes = self._code()
        return {
            "night": case.night,
            "experiment": case.experiment,
            "config": case.config,
            "metric": case.metric,
            "cause": causes[0],
            "also": causes[1:],
            "tried": self.tried,
        }

    # -- trials -------------------------------------------------------------------------------

    def _share(self, what: str, kernel: Kernel, overrides: Mapping[str, Any]) -> float | None:
        drawn = self.case.differing
        values: list[float | None] = []
        for ran in kernel.outcomes((one.scenario, overrides) for one in drawn):
            if ran.problem or ran.outcome.get(self.case.metric) is None:
                return self._record(what, None, ran.problem or f"has no {self.case.metric}")
            values.append(float(ran.outcome[self.case.metric]))
        return self._record(what, self.case.share(values, drawn), scenarios=len(drawn))

    def _record(
        self, what: str, share: float | None, problem: str = "", *, scenarios: int = 0
    ) -> float | None:
        like = "tonight" if share is not None and share >= HALF else "the baseline"
        entry: dict[str, Any] = {
            "what": what,
            "share": share,
            "like": like,
            "scenarios": scenarios,
        }
        if share is None:
            entry |= {"like": None, "problem": problem}
        self.tried.append(entry)
        self._say(of_trial(entry))
        return share

    def _with_share(self, cause: dict[str, Any], share: float) -> dict[str, Any]:
        """A cause with how much of the change it makes, over how many scenarios."""
        scenarios = len(self.case.differing)
        text = f"{cause['text']} ({share_of_change(share, scenarios)})"
        return {**cause, "share": share, "scenarios": scenarios, "text": text}

    def _of_source(self, what: str, source: Source, overrides: Mapping[str, Any]) -> float | None:
        try:
            with Kernel(source, what, compiled=self._compiled) as kernel:
                return self._share(what, kernel, overrides)
        except Refused as refusal:
            return self._record(what, None, str(refusal))

    # -- settings -----------------------------------------------------------------------------

    def _is_setting(self) -> bool:
        """Whether tonight's settings alone, under the baseline's code, make most of the change."""
        case = self.case
        self._expect(2)
        what = "tonight's settings under the baseline's code"
        settings = self._of_source(what, case.before.source, case.after.overrides)
        what = "the baseline's settings under tonight's code"
        code = self._of_source(what, case.after.source, case.before.overrides)
        return settings is not None and settings >= max(HALF, code or 0.0)

    def _settings(self, source: Source) -> dict[str, Any]:
        case = self.case
        keys = case.changed_keys
        alone: dict[str, float] = {}
        rest: dict[str, float | None] = {}
        self._expect(2 * len(keys) if len(keys) > 1 else 1)
        with Kernel(source, case.before.name, compiled=self._compiled) as kernel:
            for key in keys:
                what = f"{key} alone"
                alone[key] = self._share(what, kernel, swapped(case, key, alone=True)) or 0.0
                if len(keys) > 1:
                    others = swapped(case, key, alone=False)
                    rest[key] = self._share(f"all but {key}", kernel, others)
        found = named(alone, rest)
        if not found:
            return self._unknown("no changed setting makes half of the change")
        cause = cause_of_settings(case, found)
        if len(found) == 1 and alone[found[0]] >= HALF:
            return self._with_share(cause, alone[found[0]])
        return cause | {"text": f"{cause['text']} ({not_alone(found)})"}

    # -- code ---------------------------------------------------------------------------------

    def _code(self) -> list[dict[str, Any]]:
        case = self.case
        self._expect(1)
        control = self._of_source(case.after.name, case.after.source, case.after.overrides)
        if control is None or control < HALF:
            return [self._unknown("run again, the night's code does not make the change")]
        old = commits.resolved(case.before.code_version, self._checkout)
        new = commits.resolved(case.after.code_version, self._checkout)
        between = commits.between(old, new, self._checkout) if old and new else None
        if between is None:
            known = "git cannot tell the commits between" if old and new else "git does not know"
            note = f"{known} {case.before.code_version} and {case.after.code_version}"
            return [self._uncommitted(case.before.source, case.after.source, note, control)]
        return self._bisected(between, control)

    def _bisected(self, between: list[Commit], control: float) -> list[dict[str, Any]]:
        """Halve the way from the baseline to tonight, and what is left of it if that is much."""
        case = self.case
        sources = [self._source(commit) for commit in between]
        last = sources[-1] if sources else None
        steps: list[Commit | None] = self._effective(between, sources)
        if last is None or last.kernel_digest != case.after.source.kernel_digest:
            steps.append(None)  # the tree was changed after its commit
        if not steps:
            return [self._unknown("no commit between the two changes what runs")]
        rest = [Stretch(tuple(steps), case.before.source, 0.0, control)]
        causes: list[dict[str, Any]] = []
        explained = 0.0
        while rest and explained < ENOUGH and len(causes) < CAUSES_MAX:
            largest = max(rest, key=lambda one: one.share)
            if causes and largest.share < LEAST:
                break
            rest.remove(largest)
            step, others = self._halved(largest)
            rest += others
            explained += step.share
            if not causes or step.share >= LEAST:
                causes.append(self._step(step))
        return causes

    def _effective(
        self, between: list[Commit], sources: list[Source | None]
    ) -> list[Commit | None]:
        """Commits that change what runs; those of texts and comments alone cost no trial."""
        kept: list[Commit | None] = []
        before = self.case.before.source
        for commit, source in zip(between, sources, strict=True):
            if source is None or not is_same_code(before, source):
                kept.append(commit)
            before = source or before
        return kept

    def _halved(self, stretch: Stretch) -> tuple[Stretch, list[Stretch]]:
        self._expect(math.ceil(math.log2(len(stretch.steps))))
        return halved(stretch, self._of_commit)

    def _of_commit(self, commit: Commit) -> tuple[Source, float] | None:
        """Sources of a commit, and the share of the change with it; None if it cannot be run."""
        source = self._source(commit)
        if source is None:
            return None
        what = f"commit {commit.sha[:12]} {commit.message}"
        share = self._of_source(what, source, self.case.after.overrides)
        return None if share is None else (source, share)

    def _step(self, step: Stretch) -> dict[str, Any]:
        """A step as a cause; of a merge the commit that it brought."""
        (found,) = step.steps
        if found is None:
            note = "the tree was not that of a commit"
            return self._uncommitted(step.before, self.case.after.source, note, step.share)
        inner = commits.merged(found.sha, self._checkout)
        if inner:
            step, _ = self._halved(Stretch(tuple(inner), step.before, step.low, step.high))
            (found,) = step.steps
            assert found is not None, "a merge's commits are commits"
        text = f"commit {found.sha[:12]} by {found.author}: {found.message}"
        return self._with_share({"kind": "commit", **found.as_json(), "text": text}, step.share)

    def _source(self, commit: Commit) -> Source | None:
        return commits.source_of(commit.sha, self._checkout)

    def _uncommitted(
        self, before: Source, after: Source, note: str, share: float
    ) -> dict[str, Any]:
        """What changed in the code where no commit can be named; nothing of it is tried."""
        names = of_parts(changed_parts(before, after)) or "no function of it alone"
        text = f"code that no commit tells of ({note}): {names}"
        return self._with_share({"kind": "code", "name": names, "note": note, "text": text}, share)

    @staticmethod
    def _unknown(text: str) -> dict[str, Any]:
        return {"kind": "unknown", "name": "", "text": f"unknown ({text})"}


HALF = 0.5
"""Share of the difference from which on a trial is as tonight, not as the baseline."""

Changed = TypeVar("Changed")


def named(alone: Mapping[Changed, float], rest: Mapping[Changed, float | None]) -> list[Changed]:
    """The change that makes half alone; else all without which half is gone; else none.

    Args:
        alone: change -> share of the difference with it and no other; 0 if that cannot be run.
        rest: change -> share with all others; None if that was not tried, or cannot be run.
    """
    lost = {one: 0.0 if share is None else 1.0 - share for one, share in rest.items()}
    best = max(alone, key=lambda one: alone[one] + lost.get(one, 0.0), default=None)
    if best is not None and alone[best] >= HALF:
        return [best]
    return [one for one in alone if lost.get(one, 0.0) >= HALF]


def not_alone(causes: Sequence[object]) -> str:
    """How causes make a difference that none of them makes alone."""
    return "together, none alone" if len(causes) > 1 else "not alone, but half is gone without it"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps of the code, and how much of the change is there before and after them.

    Attributes:
        steps: commits, the oldest first; None is what was never committed, and the last.
        before: sources before the first step.
        low: share of the change before the first step; ``high``: after the last.
    """

    steps: tuple[Commit | None, ...]
    before: Source
    low: float
    high: float

    @property
    def share(self) -> float:
        """How much of the change its steps make."""
        return self.high - self.low


def halved(
    stretch: Stretch, trial: Callable[[Commit], tuple[Source, float] | None]
) -> tuple[Stretch, list[Stretch]]:
    """Halve a stretch until the step is left with which half of its share is there.

    Args:
        stretch: one step or more.
        trial: sources of a commit and the share of the change with it; None if it cannot be run.

    Returns:
        the step, as a stretch of its own; and the other stretches, each with what it makes.
    """
    goal = (stretch.low + stretch.high) / 2
    rest: list[Stretch] = []
    while len(stretch.steps) > 1:
        at = (len(stretch.steps) - 1) // 2
        commit = stretch.steps[at]
        assert commit is not None, "only the last step is no commit"
        made = trial(commit)
        if made is None:
            steps = (*stretch.steps[:at], *stretch.steps[at + 1 :])
            stretch = replace(stretch, steps=steps)
            continue
        source, share = made
        first = replace(stretch, steps=stretch.steps[: at + 1], high=share)
        second = Stretch(stretch.steps[at + 1 :], source, share, stretch.high)
        stretch, other = (first, second) if share >= goal else (second, first)
        rest.append(other)
    return stretch, rest
