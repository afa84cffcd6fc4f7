"""`isr-pipeline compare`: the night's own answer for two configurations, told in a table."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import InputError
from isr_pipeline.cli import app
from isr_pipeline.experiment.file import AskedIncidents
from isr_pipeline.experiment.plan import make_plan
from isr_pipeline.kafka.own_rules import narrower, rule_set_of, text_of
from isr_pipeline.report import compare as comparing
from isr_pipeline.report.compare import Compared, Curve, Mostly, Point, compare, lines, table
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.model import scenario_from_json
from isr_pipeline.tables.pairs import simulate_scenario
from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.quantities import (
    LATENCY,
    OFFLINE,
    ONE_REPLICA,
    PRODUCE,
    UNDER_MIN,
    load_settings,
)
from isr_pipeline.verdicts.record import AgainstReference, Difference, Per, Word
from isr_pipeline.verdicts.reference import against_reference
from tests.approved import Approved

LAG = "replica.lag.time.max.ms"
SHORT, LONG = f"{LAG}=3000", f"{LAG}=9000"
SCENARIOS = 15


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scenarios of half a minute, and curves of two points: what is asked is how it is told."""
    monkeypatch.setattr(comparing, "HORIZON_MS", 30_000)
    monkeypatch.setattr(comparing, "POINTS", 2)
    monkeypatch.setattr(comparing, "PER_POINT", 2)


@pytest.fixture
def asked(short: None) -> Compared:
    """A lag limit of 9 s against one of 3 s, on the smallest cluster."""
    return compare(SHORT, LONG, cluster="tiny", faults="smoke", scenarios=SCENARIOS, cores=1)


def difference(metric: str, word: Word, **more: object) -> Difference:
    """What is found in one metric."""
    given: dict[str, object] = {
        "metric": metric, "word": word, "scenarios": 200, "differing": 40, "before": 0.01,
        "after": 0.02, "ratio": 2.0, "low": 1.8, "high": 2.2,
    }  # fmt: skip
    given |= more
    given["after"] = float(str(given["before"])) * float(str(given["ratio"]))
    sides = {name: given[name] for name in ("before", "after", "ratio", "low", "high")}
    return Difference.model_validate({"pair": {"per": Per.YEAR, "scenarios": 200, **sides}} | given)


def found(
    *those: Difference, weaker: tuple[str, ...] = (), curves: tuple[Curve, ...] = ()
) -> Compared:
    """A comparison with these differences."""
    against = AgainstReference(name="b", config_id="c", weaker=weaker, differences=those)
    mostly = {one.metric: Mostly("read_stall,crash", 0.8, "offline") for one in those}
    return Compared(
        "today", LONG, "tiny", "smoke", 200, "crash 3 (counted)", against, mostly, curves, (), "abc"
    )


class TestAsANight:
    """The answer is that of a night of the same panel."""

    def test_equal_to_the_reports(self, asked: Compared, tmp_path: Path) -> None:
        """Every metric has the word, the ratio and the interval that the report would have."""
        file = tmp_path / "same.yaml"
        sides = {"a": {LAG: 3000}, "b": {LAG: 9000}}
        file.write_text(comparing._experiment("tiny", "smoke", AskedIncidents({}, {}, {}), sides))
        plan = make_plan(file, "2026-11-26", SCENARIOS)
        drawn = list(draw_panel(plan.definition.source, "regression"))
        outcomes = [simulate_scenario((one, plan.configurations)) for one in drawn]
        rows = pd.DataFrame(list(chain.from_iterable(outcomes)))
        scenarios = pd.DataFrame(map(asdict, drawn))
        ids = [one.config_id for one in plan.configurations]
        panel = PanelOutcomes.from_frames(rows, scenarios, ids)
        assert (asked.against,) == against_reference(plan, panel, load_settings())
        assert any(one.differing for one in asked.against.differences)

    def test_cores_change_nothing(self, asked: Compared) -> None:
        """The same question has the same answer, however many processes simulate."""
        again = compare(SHORT, LONG, cluster="tiny", faults="smoke", scenarios=SCENARIOS, cores=2)
        assert again == asked

    def test_incidents_that_were_counted(self, short: None) -> None:
        """They change what a year costs, and no scenario."""
        plans = [
            comparing._plan(SHORT, LONG, "tiny", "smoke", SCENARIOS, counts)
            for counts in ((), ("pause=40",))
        ]
        drawn = [list(draw_panel(one.definition.source, "regression")) for one in plans]
        ours, counted = ([row.scenario_json for row in rows] for rows in drawn)
        assert ours == counted
        assert [one.definition.profile.incidents["pause"].per_year for one in plans] == [10, 40]

    def test_an_unknown_incident(self) -> None:
        """The line has the kinds of the profile."""
        with pytest.raises(
            InputError, match=r"^--incidents: paus: unknown kind of incident; allowed: pause"
        ):
            compare(SHORT, LONG, cluster="tiny", faults="smoke", incidents=("paus=4",))

    def test_weaker_promise(self, short: None, approved: Approved) -> None:
        """Who needs fewer replicas than the reference is marked, with what it does to records."""
        two, one = "min.insync.replicas=2", "min.insync.replicas=1"
        asked = compare(two, one, cluster="tiny", faults="smoke", scenarios=SCENARIOS, cores=1)
        assert asked.against.weaker == ("min.insync.replicas",)
        approved(table(asked)[0])
        assert UNDER_MIN not in {each.metric for each in asked.against.differences}


class TestCurve:
    """A metric over the length of its incident."""

    def test_only_the_length_differs(self, short: None) -> None:
        """All points draw the same scenarios but for the length."""
        plan = comparing._plan(SHORT, LONG, "tiny", "nightly", SCENARIOS, ())
        drawn = []
        for length in (2000, 4000):
            fixed = {"read_stall.duration_ms": length}
            alone = comparing._alone(plan.definition, "leader-read", "read_stall", fixed)
            rows = draw_panel(alone.source, "regression")
            scenarios = [scenario_from_json(row.scenario_json) for row in rows]
            faults = [fault.model_dump() for one in scenarios for fault in one.faults]
            assert [fault.pop("duration_ms") for fault in faults] == [length, length]
            drawn.append(faults)
        assert drawn[0] == drawn[1]

    def test_whole_range(self, short: None) -> None:
        """From the shortest to the longest of the profile, or of what a scenario has room for."""
        plan = comparing._plan(SHORT, LONG, "tiny", "nightly", SCENARIOS, ())
        ends = comparing._lengths(plan.definition, "read_stall.duration_ms", "read-stall-24s")
        assert ends == [1000, 30_000]

    def test_of_what_is_worse_and_of_what_is_better(self) -> None:
        """Each has one; what guards records and what producers feel comes before the rest."""
        against = found(
            difference(UNDER_MIN, Word.WORSE, ratio=9.0),
            difference(OFFLINE, Word.WORSE, ratio=2.0),
            difference(LATENCY, Word.BETTER, ratio=0.5),
        ).against
        assert comparing._told_over_lengths(against) == [OFFLINE, LATENCY]

    def test_of_what_differs_most_where_nothing_is_decided(self) -> None:
        """A rare incident decides nothing over all faults, and its curve shows it."""
        against = found(
            difference(PRODUCE, Word.NONE, ratio=1.001),
            difference(UNDER_MIN, Word.UNDECIDED, ratio=1.2),
        ).against
        assert comparing._told_over_lengths(against) == [UNDER_MIN]

    @pytest.mark.parametrize(
        ("key", "pattern", "ends"),
        [
            ("broker.session.timeout.ms", "pause", (4_500, 36_000)),
            (LAG, "read_stall", (4_500, 36_000)),
        ],
    )
    def test_around_the_key(self, key: str, pattern: str, ends: tuple[int, int]) -> None:
        """A key of a limit is asked about what is shorter and what is longer than it."""
        plan = comparing._plan(f"{key}=9000", f"{key}=18000", "tiny", "nightly", SCENARIOS, ())
        around = comparing._around(plan)
        assert around is not None
        assert (around.pattern, around.lengths[0], around.lengths[-1]) == (pattern, *ends)
        assert len(around.lengths) == comparing.POINTS

    @pytest.mark.parametrize(
        ("b", "faults"),
        [
            ("num.replica.fetchers=4", "nightly"),
            (f"{LAG}=9000,broker.session.timeout.ms=18000", "nightly"),
            ("broker.session.timeout.ms=18000", "stuck-reads"),
        ],
    )
    def test_around_no_key(self, b: str, faults: str) -> None:
        """A key without a length, two keys, or faults without such an incident."""
        plan = comparing._plan("today", b, "tiny", faults, SCENARIOS, ())
        assert comparing._around(plan) is None

    def test_equal_points(self) -> None:
        """What both have alike is called so."""
        curve = Curve(PRODUCE, "pause", (Point(1000, 0.5, 0.5), Point(24_000, 12.0, 30.25)))
        said = table(found(difference(PRODUCE, Word.WORSE), curves=(curve,)))
        assert said[-2:] == ["| 1 s | 0.5 | the same |", "| 24 s | 12 | 30.2 |"]

    def test_told_in_the_total(self, approved: Approved) -> None:
        """Each length has what one incident costs."""
        curve = Curve(PRODUCE, "read_stall", (Point(1000, 0.0, 0.5), Point(24_000, 12.0, 30.25)))
        said = table(found(difference(PRODUCE, Word.WORSE), curves=(curve,)))
        approved(said)
        assert said[-2:] == ["| 1 s | 0 | 0.5 |", "| 24 s | 12 | 30.2 |"]


class TestWords:
    """The answer and the table."""

    def test_records_first(self, approved: Approved) -> None:
        """What guards records has the first lines, also where producers feel more."""
        said = lines(
            found(
                difference(PRODUCE, Word.BETTER, ratio=0.5, low=0.4, high=0.6),
                difference(ONE_REPLICA, Word.WORSE, before=10.0, after=20.0),
                difference("records_lost", Word.NONE, differing=0, before=0.0, after=0.0),
            )
        )
        approved(said)

    def test_what_else_got_worse_or_better(self, approved: Approved) -> None:
        """It has a line as well: a price outside records and producers is not left to the table."""
        said = lines(
            found(
                difference(PRODUCE, Word.NONE),
                difference(
                    "isr_flaps_per_partition_hour", Word.WORSE, ratio=13.2, low=8.2, high=18.4
                ),
                difference(LATENCY, Word.BETTER, ratio=0.9, low=0.85, high=0.95),
            )
        )
        approved(said)

    def test_undecided(self) -> None:
        """How many more scenarios would decide it, where that is known."""
        said = lines(
            found(
                difference(PRODUCE, Word.UNDECIDED, decided_by=2600),
                difference(LATENCY, Word.UNDECIDED),
            )
        )
        assert said[-1] == "2 of 2 metrics undecided; --budget 2600 would decide 1"

    def test_row(self, approved: Approved) -> None:
        """Values in the metric's unit, ratio, word, and the faults that most of it comes with."""
        said = table(found(difference(OFFLINE, Word.WORSE)))
        approved(said)

    def test_a_rule_that_could_be_narrower(self) -> None:
        """A reviewer asks whether less of it would do; where it would not, nothing is said."""
        both = found(difference(OFFLINE, Word.WORSE), difference(PRODUCE, Word.WORSE))
        step = "expand_needs_lag=under_min_isr"
        rows = table(replace(both, narrower=step, no_wider=(OFFLINE,)))
        said = {row.split("|")[1]: "changes nothing more" in row for row in rows if "worse" in row}
        assert [*said.values()] == [False, True]

    @pytest.mark.parametrize(
        ("value", "step"),
        [("always", "expand_needs_lag=under_min_isr"), ("under_min_isr", "")],
    )
    def test_what_is_narrower(self, value: str, step: str) -> None:
        """Only the widest value of a switch has a step below it that asks at all."""
        release = text_of("mine", "4.1+", {"expand_needs_lag": value})
        found_ = narrower(release)
        assert (found_[1] if found_ else "") == step
        assert found_ is None or rule_set_of(found_[0]).expand_needs_lag.name == "UNDER_MIN_ISR"
        assert narrower("4485-doc") is None

    def test_every_row_has_every_column(self, asked: Compared) -> None:
        """It is Markdown: each table's rows have as many cells as its heading."""
        rows = [re.split(r"(?<!\\)\|", line) for line in table(asked) if line.startswith("|")]
        assert len({len(row) for row in rows}) <= 2


class TestCommand:
    """`isr-pipeline compare`."""

    def test_files(self, short: None, tmp_path: Path) -> None:
        """The table in the file is the one that is printed; the JSON has its numbers."""
        options = ["--cluster", "tiny", "--faults", "smoke", "--budget", str(SCENARIOS)]
        arguments = ["compare", SHORT, LONG, *options, "--out", str(tmp_path / "new")]
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert (tmp_path / "new" / "table.md").read_text() in done.stdout
        kept = json.loads((tmp_path / "new" / "compare.json").read_text())
        assert (kept["a"], kept["b"], kept["scenarios"]) == (SHORT, LONG, SCENARIOS)

    @pytest.mark.parametrize(
        ("a", "b", "line"),
        [
            ("today", "today", "compare: B: today does the same as A; allowed: what changes "),
            (
                "today",
                "background.threads=5",
                "compare: B: background.threads=5 does the same as A (background.threads is a ",
            ),
            (
                "replica.fetch.wait.max.ms=99999",
                "today",
                "compare A: config.replica.fetch.wait.max.ms: 99999; allowed: at most ",
            ),
            ("lag=3", "today", "compare A: lag: unknown key; allowed: "),
            ("today", f"{LAG}=abc", f"compare B: {LAG}: abc; allowed: a whole number 2.."),
            ("today", f"{LAG}=3,{LAG}=4", f"compare B: {LAG}: given twice; allowed: each key once"),
            ("today", f"{LAG}=3,oops", "compare B: oops; allowed: KEY=VALUE, release=NUMBER or "),
            ("release=9.9", "today", 'compare A: release: "9.9"; allowed: a release of Kafka, '),
            ("rules=nope", "today", "compare A: rules: nope; allowed: a release of Kafka, "),
        ],
    )
    def test_refused(self, a: str, b: str, line: str) -> None:
        """One line, before anything is simulated."""
        with pytest.raises(InputError) as refused:
            compare(a, b, cluster="tiny", faults="smoke")
        assert str(refused.value).startswith(line)

    def test_a_key_that_nothing_reads_is_told(self) -> None:
        """3.7 to 3.9 have no ELR: the other key of B decides, and this one does nothing."""
        b = f"release=3.9,eligible.leader.replicas.version=1,{SHORT}"
        plan = comparing._plan("today", b, "tiny", "smoke", SCENARIOS, ())
        said = (
            "eligible.leader.replicas.version: a key that 3.7-3.9 under kraft does not read (in B)"
        )
        assert said in comparing._notes(plan)

    @pytest.mark.parametrize(
        ("more", "line"),
        [
            ({"cluster": "none"}, "compare: --cluster: none; allowed: cloud-volume, default, "),
            ({"faults": "none"}, "compare: --faults: none; allowed: load, nightly, "),
            ({"scenarios": 2}, "compare: --budget: 2; allowed: at least "),
        ],
    )
    def test_options_refused(self, more: dict[str, object], line: str) -> None:
        """Files that are not there, and too few scenarios for the strata."""
        given = {"cluster": "tiny", "faults": "nightly", **more}
        with pytest.raises(InputError) as refused:
            compare(SHORT, LONG, **given)  # type: ignore[arg-type]
        assert str(refused.value).startswith(line)

    def test_no_folder(self, tmp_path: Path) -> None:
        """A file stands where the folder would be."""
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match=r"compare: --out: .*; allowed: a folder"):
            comparing.write(found(difference(PRODUCE, Word.WORSE)), tmp_path / "file")
