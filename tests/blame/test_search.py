"""What is named where several changes make parts of one, by the shares that trials give."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.kernels.commits import Commit
from isr_pipeline.kernels.source import Source, read_package
from isr_pipeline.verdicts.blame.case import Case, Drawn, Side
from isr_pipeline.verdicts.blame.culprit import Search, Stretch, halved, named
from isr_pipeline.verdicts.blame.lines import of_causes, of_trial
from tests.blame.cases import RULES, checkout, edited

CHANGE = "ISR flaps 2 × (1.5 to 2.5)"
TICK, REFUSED, SYNC = "tick_period", "append_refused", "is_out_of_sync"


def rewritten(source: Source, *functions: str) -> Source:
    """Sources in which some rules say something else."""
    lines = {
        TICK: ("kafka/partition.py", "return lag_max // rules.tick_divisor"),
        REFUSED: ("kafka/partition.py", "return acks_all and isr_size < min_isr_eff"),
        SYNC: (RULES, "return not is_caught_up(rules, follower, leader_leo, now, lag_max)"),
    }
    for name in functions:
        file, line = lines[name]
        source = edited(source, line, f"{line} or False", file)
    return source


def made(old: Source, new: Source, versions: tuple[str, str] = ("old", "new")) -> Case:
    """A case that nobody runs."""
    drawn = tuple(Drawn(f"s{index}", {}, 1.0, 0.0, 1.0, 1.0) for index in range(35))
    return Case(
        experiment="made", night="2026-11-20", config="today",
        metric="isr_flaps_per_partition_hour", status="regressed",
        change=CHANGE,
        before=Side("the baseline's code", old, versions[0], {}),
        after=Side("the night's code", new, versions[1], {}),
        deciding=drawn[:3], differing=drawn,
    )  # fmt: skip


def with_shares(
    monkeypatch: pytest.MonkeyPatch, case: Case, shares: Mapping[str, float], checkout: Path
) -> tuple[dict[str, Any], list[str]]:
    """What a search finds where each trial has the share of the first text that it holds."""

    def share(search: Search, what: str, *_: object, **__: object) -> float | None:
        found = next((one for text, one in shares.items() if text in what), 1.0)
        return search._record(what, found, scenarios=35)

    said: list[str] = []
    monkeypatch.setattr(Search, "_of_source", share)
    return Search(case, say=said.append, checkout=checkout).blame(), said


class TestWithoutCommits:
    """Changed functions without git."""

    def test_a_night_that_does_not_repeat(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """If the night's code does not make the change again, no code is named."""
        old = read_package()
        case = made(old, rewritten(old, TICK, REFUSED))
        found, _ = with_shares(monkeypatch, case, {"the night's code": 0.3}, tmp_path)
        assert found["cause"]["kind"] == "unknown"
        assert of_causes(found, "regressed", CHANGE) == [
            "today: regressed: ISR flaps 2 × (1.5 to 2.5)",
            "cause: unknown (run again, the night's code does not make the change)",
        ]

    def test_a_long_list_is_cut(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """The first by name, and how many more there are."""
        old = read_package()
        text = old.files[RULES] + b"".join(b"\n\nX%02d = 1\n" % one for one in range(14))
        new = Source({**old.files, RULES: text}, "new")
        found, _ = with_shares(monkeypatch, made(old, new), {}, tmp_path)
        assert found["cause"]["name"].endswith(f"{RULES}: X11 and 2 more")


class TestCommits:
    """Commits, each with a part of the change."""

    def test_the_rest_has_a_cause_too(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """62 % and 38 %: both commits are named, each with its share and the scenarios."""
        start = read_package()
        first = rewritten(start, TICK)
        second, last = rewritten(first, REFUSED), rewritten(first, REFUSED, SYNC)
        folder = checkout(tmp_path / "checkout", start, first, second, last)
        case = made(start, last, ("step0+kernel.x", "step3+kernel.y"))
        found, _ = with_shares(monkeypatch, case, {"step1": 0.38, "step2": 0.38}, folder)
        (also,) = found["also"]
        assert (found["cause"]["message"], also["message"]) == ("step3", "step1")
        assert found["cause"]["share"] == pytest.approx(0.62)
        lines = of_causes(found, "regressed", CHANGE)
        assert lines[1].endswith("by Ada: step3 (62 % of the change, over 35 scenarios)")
        assert lines[3].endswith("by Ada: step1 (38 % of the change, over 35 scenarios)")
        assert lines[3].startswith("  and also: commit ")

    def test_three_quarters_are_enough(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """A commit with 80 % stands alone, and no trial looks for the rest."""
        start = read_package()
        first = rewritten(start, TICK)
        last = rewritten(first, SYNC)
        folder = checkout(tmp_path / "checkout", start, first, last)
        case = made(start, last, ("step0+kernel.x", "step2+kernel.y"))
        found, _ = with_shares(monkeypatch, case, {"step1": 0.2}, folder)
        assert (found["cause"]["message"], found["also"]) == ("step2", [])
        assert len(found["tried"]) == 2


def commit(number: int) -> Commit:
    """A commit by its number."""
    return Commit(str(number), "Ada", "2026-11-20", f"step {number}", ())


class TestHalving:
    """Steps of the code, halved."""

    @pytest.mark.parametrize("culprit", range(6))
    def test_the_step_and_what_the_others_make(self, culprit: int) -> None:
        """Nine tenths are made by one step of six: it is found, and the rest adds up to a tenth."""
        source = read_package()

        def trial(one: Commit) -> tuple[Source, float]:
            return source, 0.9 if int(one.sha) >= culprit else 0.0

        whole = Stretch(tuple(map(commit, range(6))), source, 0.0, 1.0)
        step, rest = halved(whole, trial)
        assert step.steps == (commit(culprit),)
        assert step.share + sum(one.share for one in rest) == pytest.approx(1.0)

    def test_a_commit_that_cannot_be_run_is_passed_over(self) -> None:
        """The next one that can stands for both."""
        source = read_package()

        def trial(one: Commit) -> tuple[Source, float] | None:
            return None if one.sha == "1" else (source, float(one.sha == "2"))

        whole = Stretch(tuple(map(commit, range(4))), source, 0.0, 1.0)
        step, _ = halved(whole, trial)
        assert step.steps == (commit(2),)


class TestWords:
    """What a trial says."""

    def test_the_other_way(self) -> None:
        """A share below nothing is no share."""
        trial = {"what": "x alone", "share": -2.57, "like": "the baseline"}
        assert of_trial(trial) == "x alone: changes the other way, 257 % as far"

    def test_hardly_anything_is_nothing(self) -> None:
        """A share that rounds to 0 has no sign."""
        trial = {"what": "x alone", "share": -0.001, "like": "the baseline"}
        assert of_trial(trial) == "x alone: 0 % of it, like the baseline"

    def test_what_makes_half_alone_is_the_only_one(self) -> None:
        """Whatever else is missed when it is gone."""
        assert named({"a": 0.6, "b": 0.1}, {"a": 0.2, "b": 0.4}) == ["a"]

    def test_those_without_which_half_is_gone(self) -> None:
        """None makes half alone: neither noise nor what changes the other way is named."""
        alone = {"a": -0.21, "noise": 0.0, "c": 0.4}
        assert named(alone, {"a": 0.4, "noise": 1.0, "c": -0.21}) == ["a", "c"]

    def test_one_without_which_it_is_gone(self) -> None:
        """What makes little alone is the cause if nothing is left without it."""
        assert named({"a": 0.2, "b": 0.2}, {"a": 0.9, "b": 0.1}) == ["b"]

    def test_nobody(self) -> None:
        """None makes half alone, and without none of them half is gone."""
        assert named({"a": 0.1, "b": 0.1}, {"a": 0.9, "b": 0.9}) == []

    def test_nothing_changed_names_nothing(self) -> None:
        """No change, no cause."""
        assert not named({}, {})
