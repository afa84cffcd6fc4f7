"""Blame: the one key, function or commit that makes a configuration differ from its baseline."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from isr_pipeline.blame.why import cause_of_settings, swapped
from isr_pipeline.errors import Refused
from isr_pipeline.home import REPOSITORY
from isr_pipeline.kernels import commits
from isr_pipeline.kernels.difference import changed_parts, is_same_code, with_parts
from isr_pipeline.kernels.process import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from isr_pipeline.blame.case import Case, Drawn
    from isr_pipeline.kernels.commits import Commit
    from isr_pipeline.kernels.source import Source

HALF = 0.5
"""Share of the change from which on a trial is as tonight, not as the baseline."""

PARTS_MAX = 24
PART_SCENARIOS = 2
"""Deciding scenarios under one changed function, which runs as plain Python."""

UNCOMMITTED = "uncommitted changes"


class Search:
    """Trials of one case, reported as they are made.

    Args:
        case: what is asked about.
        say: called with the line of each trial.
        note: called with what is decided between trials; `say` if None.
        expect: called with the number of trials that are still to come, as far as is known.
        checkout: whose commits are tried.
        compiled: whether kernels are compiled; otherwise they run as plain Python.

    Attributes:
        tried: ``what``, ``share`` of the change (None if it cannot be run) and ``like``.
    """

    def __init__(
        self,
        case: Case,
        *,
        say: Callable[[str], object] = lambda _line: None,
        note: Callable[[str], object] | None = None,
        expect: Callable[[int], object] = lambda _trials: None,
        checkout: Path = REPOSITORY,
        compiled: bool = True,
    ) -> None:
        self.case = case
        self.tried: list[dict[str, Any]] = []
        self._say = say
        self._note = note or say
        self._expect = expect
        self._checkout = checkout
        self._compiled = compiled

    def blame(self) -> dict[str, Any]:
        """Find the cause.

        Returns:
            ``cause`` (``kind``, ``name``, ``text`` and what else is known of it) and ``tried``.
        """
        case = self.case
        if case.same_code:
            cause = self._settings(case.before.source) if case.changed_keys else self._unknown(
                "neither its settings nor the code changed"
            )  # fmt: skip
        elif case.changed_keys and self._is_setting():
            cause = self._settings(case.before.source)
        else:
            cause = self._code()
        return {
            "night": case.night,
            "experiment": case.experiment,
            "config": case.config,
            "metric": case.metric,
            "cause": cause,
            "tried": self.tried,
        }

    # -- trials -------------------------------------------------------------------------------

    def _share(
        self,
        what: str,
        kernel: Kernel,
        overrides: Mapping[str, Any],
        drawn: tuple[Drawn, ...] | None = None,
    ) -> float | None:
        drawn = drawn or self.case.differing
        values: list[float | None] = []
        for ran in kernel.outcomes((one.scenario, overrides) for one in drawn):
            if ran.problem or ran.outcome.get(self.case.metric) is None:
                return self._record(what, None, ran.problem or f"has no {self.case.metric}")
            values.append(float(ran.outcome[self.case.metric]))
        return self._record(what, self.case.share(values, drawn))

    def _record(self, what: str, share: float | None, problem: str = "") -> float | None:
        like = "tonight" if share is not None and share >= HALF else "the baseline"
        entry: dict[str, Any] = {"what": what, "share": share, "like": like}
        if share is None:
            entry |= {"like": None, "problem": problem}
        self.tried.append(entry)
        words = f"cannot be run: {problem}" if share is None else f"{share:.0%} of it, like {like}"
        self._say(f"{what}: {words}")
        return share

    def _of_source(
        self,
        what: str,
        source: Source,
        overrides: Mapping[str, Any],
        drawn: tuple[Drawn, ...] | None = None,
        *,
        compiled: bool | None = None,
    ) -> float | None:
        try:
            compiled = self._compiled if compiled is None else compiled
            with Kernel(source, what, compiled=compiled) as kernel:
                return self._share(what, kernel, overrides, drawn)
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
        needed: dict[str, float] = {}
        self._expect(2 * len(keys) if len(keys) > 1 else 1)
        with Kernel(source, case.before.name, compiled=self._compiled) as kernel:
            for key in keys:
                share = self._share(f"{key} alone", kernel, swapped(case, key, alone=True))
                alone[key] = share if share is not None else 0.0
                if len(keys) > 1:
                    rest = self._share(f"all but {key}", kernel, swapped(case, key, alone=False))
                    needed[key] = 1.0 - (rest if rest is not None else 1.0)
        best = max(keys, key=lambda key: alone[key] + needed.get(key, 0.0))
        if alone[best] >= HALF:
            return cause_of_settings(case, [best])
        together = [key for key in keys if needed.get(key, 0.0) >= HALF]
        if together:
            cause = cause_of_settings(case, together)
            return cause | {"text": f"{cause['text']} (together, none alone)"}
        return self._unknown("no changed setting makes half of the change")

    # -- code ---------------------------------------------------------------------------------

    def _code(self) -> dict[str, Any]:
        case = self.case
        self._expect(1)
        control = self._of_source(case.after.name, case.after.source, case.after.overrides)
        if control is None or control < HALF:
            return self._unknown("run again, the night's code does not make the change")
        old = commits.resolved(case.before.code_version, self._checkout)
        new = commits.resolved(case.after.code_version, self._checkout)
        between = commits.between(old, new, self._checkout) if old and new else None
        if between is None:
            known = "git cannot tell the commits between" if old and new else "git does not know"
            note = f"{known} {case.before.code_version} and {case.after.code_version}"
            return self._parts(case.before.source, case.after.source, note)
        return self._bisected(between)

    def _bisected(self, between: list[Commit]) -> dict[str, Any]:
        """Halve the way from the baseline to tonight until one commit is left."""
        case = self.case
        sources = [self._source(commit) for commit in between]
        last = sources[-1] if sources else None
        steps: list[Commit | None] = self._effective(between, sources)
        if last is None or last.kernel_digest != case.after.source.kernel_digest:
            steps.append(None)  # the tree was changed after its commit
        if not steps:
            return self._unknown("no commit between the two changes what runs")
        found, before = self._halved(steps, case.before.source)
        if found is None:
            note = "the tree was not that of a commit"
            return self._parts(before, case.after.source, note)
        inner = commits.merged(found.sha, self._checkout)
        if inner:
            found, _ = self._halved([*inner], before)
            assert found is not None, "a merge's commits are commits"
        text = f"commit {found.sha[:12]} by {found.author}: {found.message}"
        return {"kind": "commit", **found.as_json(), "text": text}

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

    def _halved(self, steps: list[Commit | None], before: Source) -> tuple[Commit | None, Source]:
        """The first step that is as tonight (the last one is, or nothing would be asked)."""
        steps = [*steps]
        self._expect(math.ceil(math.log2(max(len(steps), 1))))
        while len(steps) > 1:
            middle = (len(steps) - 1) // 2
            commit = steps[middle]
            assert commit is not None, "only the last step is no commit"
            source = self._source(commit)
            what = f"commit {commit.sha[:12]} {commit.message}"
            share = self._of_source(what, source, self._overrides()) if source else None
            if source is None or share is None:
                del steps[middle]
            elif share >= HALF:
                steps = steps[: middle + 1]
            else:
                steps, before = steps[middle + 1 :], source
        return steps[0], before

    def _source(self, commit: Commit) -> Source | None:
        return commits.source_of(commit.sha, self._checkout)

    def _overrides(self) -> dict[str, Any]:
        return self.case.after.overrides

    def _parts(self, before: Source, after: Source, note: str) -> dict[str, Any]:
        """Each changed function alone, where there are no commits to choose from."""
        self._note(f"{note}: each changed function is tried alone")
        parts = changed_parts(before, after)
        best, most = None, 0.0
        if len(parts) == 1:
            best, most = parts[0], 1.0
        drawn = self.case.deciding[:PART_SCENARIOS]
        self._expect(len(parts[:PARTS_MAX]) if len(parts) > 1 else 0)
        for part in parts[:PARTS_MAX] if len(parts) > 1 else ():
            source = with_parts(before, after, [part])
            share = self._of_source(str(part), source, self._overrides(), drawn, compiled=False)
            if share is not None and share > most:
                best, most = part, share
        if best is None or most < HALF:
            names = ", ".join(str(part) for part in parts[:PARTS_MAX])
            cause = self._unknown(f"{note}; no changed function alone makes half of the change")
            return cause | {"parts": names}
        return {"kind": "rule", "name": str(best), "note": note, "text": f"{best} ({note})"}

    @staticmethod
    def _unknown(text: str) -> dict[str, Any]:
        return {"kind": "unknown", "name": "", "text": text}
