"""Where two histories part, and what is to blame, on kernels that really run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.kernels.process import Kernel, Ran, _places
from isr_pipeline.kernels.source import PACKAGE, Source, read_package
from isr_pipeline.verdicts.blame.culprit import Search
from isr_pipeline.verdicts.blame.why import chain, explain, first_difference
from tests.blame.cases import LAG, RULES, SCENARIO, SESSION, case, checkout, edited

UNCLEAN = "unclean.leader.election.enable"
LAZY, STRICT = {LAG: 16_000}, {LAG: 4_000}
LINE = "return now - lag_clock(rules, follower) <= lag_max"
LENIENT = "return now - lag_clock(rules, follower) <= lag_max * 2"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder of the test's own."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path / "home"))


def lenient() -> Source:
    """A kernel whose lag rule gives followers twice the time: where baselines here begin."""
    return edited(read_package(), LINE, LENIENT)


def harsh(source: Source) -> Source:
    """The same with the rule as it is."""
    return edited(source, LENIENT, LINE)


def noisy(source: Source) -> Source:
    """A kernel that does the same in other words, and one thing else that does not show."""
    text = "def is_stale_fetch(rules: Rules, broker_epoch: int, cached_epoch: int) -> bool:"
    return edited(source, text, f"def unused(x):\n    return x\n\n\n@rule\n{text}")


def anew(source: Source, name: str) -> Source:
    """A kernel that draws all phases anew."""
    salt = "{purpose}|{name}"
    return edited(source, salt, salt.replace("|", f"|{name}|"), "worlds/encoder.py")


class TestWhy:
    """The first event, what decided it, and the chain."""

    def test_a_key(self) -> None:
        """The shrink that the smaller limit makes, then the leader's end: offline."""
        found = explain(case(LAZY, STRICT | {SESSION: 8_500}), compiled=False).as_json()
        assert found["scenario"] == "paused"
        first = found["first_difference"]
        assert 7_000 < first["t_ms"] < 10_000
        assert first["after"]["kind"] == "isr_shrink"
        assert found["decided_by"] == {
            "kind": "key",
            "name": LAG,
            "before": 16_000,
            "after": 4_000,
            "text": f"{LAG}: 16000 to 4000",
        }
        kinds = [one["kind"] for one in found["chain"]]
        assert kinds == ["isr_shrink", "broker_fenced", "partition_offline"]
        assert found["libraries"] == []

    def test_one_changed_function(self) -> None:
        """It decided the first event, whatever that is."""
        old = lenient()
        found = explain(case(STRICT, STRICT, old=old, new=harsh(old)), compiled=False)
        assert found.decided_by["kind"] == "rule"
        assert found.decided_by["name"] == f"{RULES}: in_time"
        assert found.first["after"]["kind"] == "isr_shrink"
        assert found.lines()[4] == (
            f"first differing event decided by changed code, {RULES}: in_time"
        )

    @pytest.mark.slow
    def test_one_thing_that_changed_needs_no_blame(self) -> None:
        """What decided the first event is the cause where nothing else changed."""
        assert explain(case(LAZY, STRICT), compiled=False).command == ""
        old = lenient()
        found = explain(case(STRICT, STRICT, old=old, new=harsh(old)), compiled=False)
        assert found.command == ""
        assert not any("blame" in line for line in found.lines())

    @pytest.mark.slow
    def test_of_a_key_and_code_blame_names_the_cause(self) -> None:
        """What decided the first event need not be it: a line has the command."""
        found = explain(case(LAZY, STRICT, old=lenient()), compiled=False)
        assert found.lines()[5] == (
            "more than one thing changed: `isr-pipeline blame 2026-11-20 today --experiment made` "
            "names the cause"
        )

    @pytest.mark.slow
    def test_noise_that_decides_the_first_event(self) -> None:
        """A limit that moved by a hundredth comes first; the cause is a switch."""
        made = case(STRICT | {UNCLEAN: True}, {LAG: 4_040})
        found = explain(made, compiled=False)
        assert found.lines()[4] == f"first differing event decided by {LAG}: 4000 to 4040"
        assert found.command == "isr-pipeline blame 2026-11-20 today --experiment made"
        assert Search(made, compiled=False).blame()["cause"]["name"] == UNCLEAN

    @pytest.mark.slow
    def test_of_several_functions_none_is_named(self) -> None:
        """They are listed, with the command that names the commit."""
        old = lenient()
        made = case(STRICT, STRICT, old=old, new=noisy(harsh(old)))
        found = explain(made, compiled=False)
        assert (found.decided_by["kind"], found.decided_by["name"]) == ("unknown", "")
        assert found.decided_by["text"] == (
            f"one of the changed functions: {RULES}: in_time, {RULES}: unused"
        )
        assert found.command == "isr-pipeline blame 2026-11-20 today --experiment made"

    @pytest.mark.slow
    def test_a_first_event_has_its_decision(self) -> None:
        """The line says when it is, and when it was decided; nothing is said to be the same."""
        found = explain(case(LAZY, STRICT | {SESSION: 8_500}), compiled=False)
        line = found.lines()[3]
        assert re.match(
            r"the first event that differs is at [\d.]+ ms \(decided at [\d.]+ ms\); ", line
        )

    @pytest.mark.slow
    def test_alike(self) -> None:
        """Histories that do not part are refused, in one line."""
        made = case(LAZY, LAZY)
        with pytest.raises(Refused) as refusal:
            explain(made, compiled=False)
        assert str(refusal.value) == (
            "night 2026-11-20 of made: today: run again, both runs are the same in every "
            "deciding scenario"
        )

    def test_a_history_that_ends_sooner(self) -> None:
        """An event that only one side has is the first difference."""
        event = {"t_ms": 5, "kind": "partition_offline", "topic": "t", "partition": 0}
        none, one = Ran({}, [], [], {}), Ran({}, [event], [], {})
        found = first_difference(none, one)
        assert found is not None
        assert (found["t_ms"], found["before"], found["after"]) == (5, None, event)
        assert found["text"] == "the baseline has no further event; tonight: partition_offline t-0"
        ended = first_difference(one, none)
        assert ended is not None
        assert ended["text"] == (
            "tonight has no further event; the baseline: partition_offline t-0"
        )
        assert [event["kind"] for event in chain(found, none, one)] == ["partition_offline"]

    def test_an_event_that_was_decided_otherwise(self) -> None:
        """A shrink at the same time, of followers that were caught up until later, is the first."""
        shrink = {"t_ms": 5, "kind": "isr_shrink", "topic": "t", "partition": 0, "leader": 1,
                  "leader_epoch": 3, "isr": [1], "decided_ms": 4.0, "cause": "a"}  # fmt: skip
        later = {**shrink, "t_ms": 9}
        before, after = (
            Ran({}, [shrink, later], [], {}),
            Ran({}, [{**shrink, "cause": "b"}], [], {}),
        )
        found = first_difference(before, after)
        assert found is not None
        assert found["t_ms"] == 5
        what = "isr_shrink t-0 leader 1, epoch 3, ISR [1] decided at 4.000 ms"
        assert found["text"] == f"before: {what} a; tonight: {what} b"

    def test_an_older_kernel_that_does_not_say_why(self) -> None:
        """What only one side says is no difference."""
        event = {"t_ms": 5, "kind": "isr_shrink", "topic": "t", "partition": 0}
        told = {**event, "decided_ms": 4.0, "cause": "a"}
        assert first_difference(Ran({}, [event], [], {}), Ran({}, [told], [], {})) is None

    def test_only_curves_differ(self) -> None:
        """Without a differing event the first differing sample is told."""
        before = Ran({}, [], [0.0, 1.0], {"hw of t-0": [3, 4]})
        after = Ran({}, [], [0.0, 1.0], {"hw of t-0": [3, 5]})
        found = first_difference(before, after)
        assert found is not None
        assert found["t_ms"] == 1.0
        assert found["text"] == "hw of t-0: 4 before, 5 tonight (no event differs so far)"
        assert first_difference(before, before) is None


class TestKernel:
    """A kernel in a process of its own."""

    def test_a_scenario_that_it_refuses(self) -> None:
        """One line, and the next scenario runs."""
        with Kernel(read_package(), "the test's code", compiled=False) as kernel:
            wrong = kernel.run({**SCENARIO, "horizon_ms": -1}, LAZY)
            assert wrong.problem.startswith("InputError: a drawn scenario: horizon_ms: -1")
            assert "\n" not in wrong.problem
            assert not kernel.run(SCENARIO, LAZY, events=False).problem

    def test_code_that_does_not_import(self) -> None:
        """One line that says whose code it is and what is wrong with it."""
        broken = edited(read_package(), LINE, "return now - ) lag_max")
        with pytest.raises(Refused, match=r"^the old code cannot be run: SyntaxError: "):
            Kernel(broken, "the old code", compiled=False)

    @pytest.mark.slow
    def test_what_differs_elsewhere_shares_machine_code(self) -> None:
        """Other phases are no other rules: the same compiled rooms, and the other phases run."""
        here = read_package()
        some, others = anew(here, "some"), anew(here, "others")
        (folder, rooms, cache), again = (
            _places(one, Home.from_environment()) for one in (some, others)
        )
        assert (rooms, cache) == again[1:]
        assert folder != again[0]
        with Kernel(some, "some", compiled=False) as kernel:
            first = kernel.run(SCENARIO, STRICT).events
        with Kernel(others, "others", compiled=False) as kernel:
            assert kernel.run(SCENARIO, STRICT).events != first

    def test_other_libraries_are_told(self) -> None:
        """Versions that are not those of the acceptance."""
        source = Source(read_package().files, "x", {"numba": "0.1", "python": "2.7"})
        with Kernel(source, "the old code", compiled=False) as kernel:
            told = kernel.other_libraries()
        assert [one.split()[0] for one in told] == ["numba", "python"]
        assert told[0].endswith("(it ran with 0.1)")


class TestBlameSettings:
    """A changed configuration."""

    def test_one_of_two_keys(self) -> None:
        """Each key alone and all but it: four trials, one cause."""
        found = Search(case(LAZY, STRICT | {SESSION: 8_500}), compiled=False).blame()
        assert (found["cause"]["kind"], found["cause"]["name"]) == ("key", LAG)
        assert [(one["what"], one["like"]) for one in found["tried"]] == [
            (f"{LAG} alone", "tonight"),
            (f"all but {LAG}", "the baseline"),
            (f"{SESSION} alone", "the baseline"),
            (f"all but {SESSION}", "tonight"),
        ]

    def test_nothing_changed(self) -> None:
        """The cause is unknown, and says so."""
        cause = Search(case(LAZY, LAZY), compiled=False).blame()["cause"]
        assert cause["kind"] == "unknown"
        assert cause["text"] == "unknown (neither its settings nor the code changed)"


class TestBlameCode:
    """Changed code."""

    def test_a_commit_among_five(self, tmp_path: Path) -> None:
        """Halving ends at the planted commit: author, message, files."""
        start = lenient()
        first = noisy(start)
        second = edited(first, "def unused(x):\n    return x\n", "def unused(x):\n    return 2\n")
        culprit = harsh(second)
        after = edited(culprit, "    return 2\n", "    return 3\n")
        last = edited(after, "    return 3\n", "    return 4\n")
        folder = checkout(tmp_path / "checkout", start, first, second, culprit, after, last)
        made = case(
            STRICT, STRICT, old=start, new=last, versions=("step0+kernel.x", "step5+kernel.y")
        )
        said: list[str] = []
        found = Search(made, say=said.append, checkout=folder, compiled=False).blame()
        cause = found["cause"]
        assert (cause["kind"], cause["message"], cause["author"]) == ("commit", "step3", "Ada")
        assert cause["files"] == [f"{PACKAGE}/{RULES}"]
        assert len(found["tried"]) <= 4  # of five commits, and tonight itself
        assert len(said) == len(found["tried"])

    @pytest.mark.slow
    def test_texts_and_comments_cost_no_trial(self, tmp_path: Path) -> None:
        """Commits that change nothing that runs are passed over; the one that is left is named."""
        start = lenient()
        culprit = harsh(start)
        comment = edited(culprit, LINE, f"# As it is.\n    {LINE}")
        folder = checkout(tmp_path / "checkout", start, culprit, comment)
        made = case(
            STRICT, STRICT, old=start, new=comment, versions=("step0+kernel.x", "step2+kernel.y")
        )
        found = Search(made, checkout=folder, compiled=False).blame()
        assert (found["cause"]["kind"], found["cause"]["message"]) == ("commit", "step1")
        assert [one["what"] for one in found["tried"]] == ["the night's code"]

    @pytest.mark.slow
    def test_a_regression_among_other_phases(self, tmp_path: Path) -> None:
        """A commit that draws all phases anew stands before the planted one, and is not named."""
        start = lenient()
        phases = anew(start, "again")
        last = harsh(phases)
        folder = checkout(tmp_path / "checkout", start, phases, last)
        made = case(
            STRICT, STRICT, old=start, new=last, versions=("step0+kernel.x", "step2+kernel.y")
        )
        found = Search(made, checkout=folder, compiled=False).blame()
        assert (found["cause"]["kind"], found["cause"]["message"]) == ("commit", "step2")

    @pytest.mark.slow
    def test_a_regression_and_other_phases_in_one_commit(self, tmp_path: Path) -> None:
        """The commit that mixes both is named."""
        start = lenient()
        mixed = anew(harsh(start), "again")
        last = noisy(mixed)
        folder = checkout(tmp_path / "checkout", start, mixed, last)
        made = case(
            STRICT, STRICT, old=start, new=last, versions=("step0+kernel.x", "step2+kernel.y")
        )
        found = Search(made, checkout=folder, compiled=False).blame()
        assert (found["cause"]["kind"], found["cause"]["message"]) == ("commit", "step1")

    @pytest.mark.slow
    def test_a_dirty_tree(self, tmp_path: Path) -> None:
        """What was never committed is said, with the functions that changed since."""
        start = lenient()
        last = noisy(start)
        folder = checkout(tmp_path / "checkout", start, last)
        made = case(
            STRICT,
            STRICT,
            old=start,
            new=harsh(last),
            versions=("step0+kernel.x", "step1+kernel.y"),
        )
        cause = Search(made, checkout=folder, compiled=False).blame()["cause"]
        assert (cause["kind"], cause["name"]) == ("code", f"{RULES}: in_time")
        assert cause["note"] == "the tree was not that of a commit"
        assert cause["share"] == pytest.approx(1.0)

    @pytest.mark.slow
    def test_no_git(self, tmp_path: Path) -> None:
        """Without git, as in a wheel, the changed functions are listed, and none is tried."""
        start = lenient()
        made = case(STRICT, STRICT, old=start, new=noisy(harsh(start)))
        found = Search(made, checkout=tmp_path, compiled=False).blame()
        parts = f"{RULES}: in_time, {RULES}: unused"
        assert (found["cause"]["kind"], found["cause"]["name"]) == ("code", parts)
        assert found["cause"]["text"] == (
            f"code that no commit tells of (git does not know old and new): {parts} "
            "(100 % of the change, over 1 scenario)"
        )
        assert [one["what"] for one in found["tried"]] == ["the night's code"]

    @pytest.mark.slow
    def test_code_and_settings(self, tmp_path: Path) -> None:
        """Where both changed, the one that makes the change is followed."""
        start = lenient()
        made = case(STRICT, STRICT | {SESSION: 8_900}, old=start, new=harsh(start))
        found = Search(made, checkout=tmp_path, compiled=False).blame()
        assert (found["cause"]["kind"], found["cause"]["name"]) == ("code", f"{RULES}: in_time")
        made = case(STRICT, {LAG: 2_000}, old=start, new=noisy(start))
        found = Search(made, checkout=tmp_path, compiled=False).blame()
        assert (found["cause"]["kind"], found["cause"]["name"]) == ("key", LAG)
