"""What is planted to be found by `blame` and `why`, and what is told of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.causes import tell
from benchmarks.causes.__main__ import _wanted
from benchmarks.causes.cases import COMMIT, SETTING, Planted, commits, load_causes, settings
from benchmarks.causes.history import Clone, changed, phases_anew, stepped
from benchmarks.causes.play import CONFIRM, _first_apart
from benchmarks.told import between
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.kernels import commits as git
from isr_pipeline.kernels.difference import Part, changed_parts, is_same_code
from isr_pipeline.kernels.source import read_package
from tests.mutation.mutants import MUTANTS
from tests.tables import from_table

MUTANT = next(one for one in MUTANTS if one.name.startswith("replica.py:in_time: <= lag_max"))


def every() -> list[Planted]:
    """All plants."""
    causes = load_causes()
    return [*settings(causes), *commits(causes)]


class TestPlants:
    """What is planted."""

    def test_enough_of_each_sort(self) -> None:
        """More than are wanted, for some change nothing; forty are wanted."""
        causes = load_causes()
        counts = Counter(one.sort for one in every())
        assert causes.settings + causes.commits == tell.WANTED
        assert counts[SETTING] > causes.settings
        assert counts[COMMIT] > causes.commits
        assert len({one.key for one in every()}) == len(every())

    def test_a_setting_stands_among_others(self) -> None:
        """The planted setting changes, and two others beside it, which are not the same ones."""
        for one in settings(load_causes()):
            changed = {key for key in one.after if one.after[key] != one.before.get(key)}
            assert one.cause in changed
            assert len(changed) == 3, one.key

    def test_every_kind_is_planted_with_phases_drawn_anew(self) -> None:
        """A setting, and commits in both ways."""
        anew = [one for one in every() if one.anew]
        assert {one.sort for one in anew} == {SETTING, COMMIT}
        histories = {one.history for one in anew if one.sort == COMMIT}
        assert len(histories) == 2

    def test_every_mutant_can_be_planted(self) -> None:
        """Its line is there, and changes what runs."""
        source = read_package()
        for one in commits(load_causes()):
            assert one.mutant is not None
            assert not is_same_code(source, changed(source, one.mutant)), one.name

    def test_every_stratum_has_a_scenario(self) -> None:
        """In both panels: an experiment with fewer is refused."""
        strata = load_experiment(load_causes().experiment).profile.strata
        assert len(strata) <= CONFIRM <= load_causes().scenarios

    def test_until_enough_count(self) -> None:
        """A plant that does not count is replaced by another of its sort."""
        causes = load_causes()
        played: list[dict[str, Any]] = []
        for index, one in enumerate(_wanted(causes, played)):
            played.append({"plant": one.key, "sort": one.sort, "counts": index != 0})
        counting = Counter(one["sort"] for one in played if one["counts"])
        assert counting == {SETTING: causes.settings, COMMIT: causes.commits}
        assert len(played) == tell.WANTED + 1


class TestHistory:
    """Commits around a plant."""

    def test_a_history(self, tmp_path: Path) -> None:
        """Git gives the commits that touch the kernel; one of them is the planted one."""
        clone = Clone(tmp_path / "clone")
        made = clone.plant(("unused", "phases", "plant", "comment"), MUTANT)
        between = git.between(made.first, made.last, clone.folder)
        assert between is not None
        assert len(between) == 4
        assert between[2].sha == made.planted
        found = git.source_of(made.last, clone.folder)
        assert found is not None
        assert found.kernel_digest == made.after.kernel_digest
        assert changed_parts(made.before, made.alone) == [Part("kafka/replica.py", "in_time")]

    def test_harmless_steps_change_no_function(self) -> None:
        """An unused function is new, a comment is nothing, phases change the hashing alone."""
        source = read_package()
        assert is_same_code(source, stepped(source, "comment", 0))
        (unused,) = changed_parts(source, stepped(source, "unused", 0))
        assert unused.name == "unused_0"
        assert unused.file == "worlds/size.py"
        (phases,) = changed_parts(source, phases_anew(source))
        assert phases == Part("worlds/encoder.py", "draws")


class TestFirst:
    """Where two histories part, by all that an event holds."""

    @from_table
    def test_first_apart(
        self, before: list[list[int]], after: list[list[int]], t_ms: float | None
    ) -> None:
        """The earlier of the two events; none if all are the same."""

        def events(some: list[list[int]]) -> list[dict[str, Any]]:
            return [{"t_ms": at, "extra": extra} for at, extra in some]

        assert _first_apart(events(before), events(after)) == t_ms


def played(sort: str, *, named: bool = True, first: bool = True, counts: bool = True) -> Any:
    """A plant as it is kept."""
    one: dict[str, Any] = {"plant": f"{sort} x", "sort": sort, "kind": "rule", "anew": False}
    if not counts:
        return {**one, "counts": False, "left_out": "nothing of it is called"}
    blame = {"named": named, "text": "another"}
    return {**one, "counts": True, "blame": blame, "why": {"first": first, "decided": True}}


def told(*some: Any) -> dict[str, Any]:
    """A record of some plants."""
    made = {"experiment": "operators", "date": "2026-11-24T00:00:00Z", "machine": "M", "wanted": 2}
    return {**made, "plants": list(some), "counts": tell.counted(some)}


class TestTold:
    """What is told."""

    def test_bars(self) -> None:
        """Too few plants, one not named, one without its first event."""
        assert tell.missed(told(played(SETTING), played(COMMIT))) == []
        assert tell.missed(told(played(SETTING))) == ["plants played: 1 of 2"]
        wrong = told(played(SETTING, named=False), played(COMMIT, first=False))
        assert tell.missed(wrong) == [
            "`blame` named 1 of 2",
            "`why` gave the first event of 1 of 2",
        ]

    def test_what_was_left_out_counts_nowhere(self) -> None:
        """It is told apart."""
        said = told(played(SETTING), played(COMMIT, counts=False), played(COMMIT))
        assert said["counts"]["together"]["plants"] == 2
        assert "Left out: 1 more" in tell.of_docs(said)

    def test_what_was_not_named_is_told(self) -> None:
        """With what was said instead."""
        text = tell.of_docs(told(played(SETTING, named=False)))
        assert "* Not named: `setting x`; `blame` said: another." in text

    def test_the_page_has_the_last_line(self) -> None:
        """`python -m benchmarks.causes --write` puts it there."""
        page = tell.PAGE.read_text(encoding="utf-8")
        for experiment, line in tell.last_lines().items():
            assert between(page, tell.MARKS, experiment) == tell.of_docs(line)

    def test_written(self, tmp_path: Path) -> None:
        """What stands between the marks is replaced, and nothing else."""
        page = tmp_path / "page.md"
        begin, end = (mark.format("operators") for mark in tell.MARKS)
        page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
        assert tell.write(page)
        told_last = tell.of_docs(tell.last_lines()["operators"])
        assert page.read_text() == f"before\n{begin}\n{told_last}\n{end}\nafter\n"
        assert not tell.write(page)
