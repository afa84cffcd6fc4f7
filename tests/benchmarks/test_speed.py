"""The speed benchmark's own logic: samples, bounds, records, pages. Nothing is timed here."""

from __future__ import annotations

import heapq
import json
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import reference
from benchmarks.speed import __main__ as program
from benchmarks.speed import kernel, large, night, plot, record, sizing, tree
from benchmarks.speed import spark as on_spark
from benchmarks.speed.arms import measured, ratios, sample, sampled_pairs
from benchmarks.speed.spark_arm import (
    Slice,
    SliceRun,
    chosen_configurations,
    chosen_scenarios,
)
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.file import scenario_frame
from isr_pipeline.night.status import Status, folder_of, write_status
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.simulation.world.tables import SLOT_BITS, SLOT_MASK
from tests.tables import from_table

if TYPE_CHECKING:
    from pathlib import Path

    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.scenarios.panels import ScenarioRow


def _drawn(row: ScenarioRow) -> tuple[Any, ...]:
    """What the generator draws: the kept panel's cluster and weights are of a former day."""
    raw = json.loads(row.scenario_json)
    drawn = (row.scenario_id, row.stratum, row.fault_kinds, row.expected_cost)
    return (*drawn, raw["seed"], raw["faults"])


class TestReference:
    """What is measured on."""

    def test_the_kept_panel_is_the_one_of_its_digest(self) -> None:
        """41 configurations over 200 scenarios of two minutes with every kind of fault."""
        rows = reference.scenarios()
        kinds = {kind for row in rows for kind in row.fault_kinds.split(",") if kind}
        assert len(rows) == 200
        assert len(reference.configurations()) == 41
        assert len(kinds) == 16
        assert reference.experiment().horizon_ms == 120_000

    def test_the_generator_still_draws_it(self) -> None:
        """If not, the kept one still counts; `python -m benchmarks.reference` renews it."""
        assert [*map(_drawn, reference.draw())] == [*map(_drawn, reference.scenarios())]

    def test_a_changed_panel_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Figures are never of another panel than their line says."""
        monkeypatch.setattr(reference, "PANEL", tmp_path / "panel.jsonl.xz")
        monkeypatch.setattr(reference, "DIGEST", tmp_path / "panel.sha256")
        rows = reference.draw()[:3]
        assert reference.write(rows) == reference.digest()
        assert reference.scenarios() == rows
        (tmp_path / "panel.sha256").write_text("0" * 64)
        with pytest.raises(reference.PanelChanged, match=r"panel\.sha256"):
            reference.scenarios()


class TestRuns:
    """Medians, spreads, ratios, samples."""

    def test_a_figure_is_the_median_of_its_runs(self) -> None:
        """With the least and the most beside it."""
        one = measured([3.0, 1.0, 2.0])
        assert (one.median, one.least, one.most, one.runs, one.spread) == (2.0, 1.0, 3.0, 3, 1.0)

    def test_no_run_is_no_figure(self) -> None:
        """Nothing is made up where nothing was measured."""
        with pytest.raises(ValueError, match="at least one run"):
            measured([])

    def test_ratios_are_taken_run_by_run(self) -> None:
        """A machine that slows down for both arms changes no ratio."""
        one = ratios([10.0, 5.0, 20.0], [5.0, 2.5, 10.0])
        assert (one.median, one.spread) == (2.0, 0.0)

    def test_a_sample_is_spread_and_never_repeats_a_pair(self) -> None:
        """200 pairs are 200 scenarios; the whole of it is every pair; it grows at its end."""
        every = sampled_pairs(200, 41, 8_200)
        assert len(set(every)) == 8_200
        assert len({scenario for scenario, _ in every[:200]}) == 200
        assert {configuration for _, configuration in every[:41]} == set(range(41))
        assert sampled_pairs(200, 41, 30) == every[:30]

    def test_the_sample_runs_under_its_configurations(self) -> None:
        """The first pairs are different scenarios under different configurations."""
        first, second = sample(2)
        assert first.scenario_id != second.scenario_id
        assert (first.config, first.rules) != (second.config, second.rules)


class TestBareTree:
    """The lower bound does what it is compared for."""

    @pytest.mark.parametrize("handler", list(tree.HANDLERS.values()))
    @pytest.mark.parametrize("way", list(tree.WAYS.values()))
    @pytest.mark.parametrize("slots", [3, 40, 388])
    def test_slots_fire_in_order_of_time(self, slots: int, way: Any, handler: Any) -> None:
        """After any number of events the winner is the one a heap has."""
        states = tree.states_of(slots)
        planted, leaves = tree.planted(slots)
        heap = [int(key) for key in planted[leaves : leaves + slots]]
        heapq.heapify(heap)
        periods = tree.periods_of(slots)
        for _ in range(500):
            key = heap[0]
            wait = int(handler(states, periods, key & SLOT_MASK))
            heapq.heapreplace(heap, key + (wait << SLOT_BITS))
        fresh = tree.states_of(slots)
        assert tree.fire(planted, fresh, periods, leaves, 500, handler, way) == heap[0]

    def test_the_branching_handler_goes_both_ways(self) -> None:
        """Neither way is rare: a processor that always guessed the same would be wrong as often."""
        periods, states = tree.periods_of(40), tree.states_of(40)
        for event in range(4000):
            tree.branching(states, periods, event % 40)
        assert 1500 < states[0] < 2500


def stretch(horizon_ms: float) -> Scenario:
    """The reference's cluster and load, with a disk that stalls for a third of the time."""
    frame = scenario_frame(reference.experiment())
    broker = frame["cluster"]["brokers"][0]
    third = int(horizon_ms // 3)
    stall = {"kind": "read_stall", "broker": broker, "start_ms": third, "duration_ms": third}
    written = {**frame, "scenario_id": "stretch", "horizon_ms": horizon_ms, "warmup_ms": 0}
    return parse_scenario({**written, "faults": [stall]}, "the stretch")


class TestArms:
    """Arms that are compared do the same work."""

    def test_jumps_leave_events_and_broker_hours_as_they_are(self) -> None:
        """Both arms have simulated the same; with jumps fewer events fired."""
        brute, jumps = kernel.Arm(), kernel.Arm()
        kernel.run_both(stretch(20_000.0), brute, jumps)
        assert brute.events == brute.all_events == jumps.all_events
        assert jumps.events < brute.events / 2
        assert brute.broker_hours == jumps.broker_hours == pytest.approx(6 * 20 / 3600)

    def test_a_panel_with_shared_runs(self) -> None:
        """Fewer runs than pairs, and far fewer events than brute force would fire."""
        panel = kernel.run_panel(1)
        assert panel.pairs == 41
        assert panel.runs < panel.pairs
        assert panel.events * 5 < panel.all_events

    def test_a_jump_that_changes_an_outcome_ends_the_measurement(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A fast kernel that is wrong has no speed."""
        outcomes = iter([{"records_acked": 1}, {"records_acked": 2}])
        monkeypatch.setattr(kernel, "outcome_of", lambda _: next(outcomes))
        with pytest.raises(kernel.OutcomesDiffer, match="stretch"):
            kernel.run_both(stretch(100.0), kernel.Arm(), kernel.Arm())


RUN = SliceRun(
    pairs=8,
    job_seconds=6.0,
    simulation_seconds=5.0,
    task_seconds=[1.0, 2.0, 3.0, 2.0],
    shuffle_bytes=0,
    driver_bytes=4_000,
    cpu={
        "worker_cpu": 7.0,
        "task_cpu": 6.0,
        "kernel": 4.0,
        "prepare": 0.0,
        "encode": 1.0,
        "outcome": 0.0,
        "events": 0.0,
        "configure": 0.0,
    },
    kernel_seconds=6.0,
    peak_rss_mb=200.0,
    java_peak_rss_mb=500.0,
    outcomes_bytes=1_600,
    events_bytes=800,
)


@pytest.mark.slow
class TestOnSpark:
    """Slices of the reference, and what their runs amount to."""

    def test_copies_stand_under_names_of_their_own(self) -> None:
        """Four times the scenarios are four times the rows, and no key is there twice."""
        wanted = Slice(3, 4, scenario_copies=4)
        rows = chosen_scenarios(reference.scenarios(), wanted)
        configurations = chosen_configurations(wanted)
        assert len({row.scenario_id for row in rows}) == len(rows) == 12
        assert [row.index for row in rows] == list(range(12))
        assert len({row.scenario_json for row in rows}) == 3
        assert len({one.config_id for one in configurations}) == len(configurations) == 4
        assert wanted.pairs == 48

    def test_figures_of_runs(self) -> None:
        """Shares are of the tasks' run time, and all parts of it together are all of it."""
        one = replace(RUN, simulation_seconds=9.0)
        grown = {"scenarios": {1: RUN}, "configurations": {1: RUN}}
        found = on_spark.figures([(one, RUN)], [RUN], grown)
        assert found.two_over_one.median == pytest.approx(1.8)
        assert found.kernel_share.median == 0.75
        assert found.kernel_cpu_share.median == 0.5
        assert sum(found.split.values()) == pytest.approx(1.0)
        assert found.split["rows"] == pytest.approx(1 / 8)
        assert found.longest_over_median.median == 1.5
        assert found.pairs_per_core_s.median == 1.0
        assert found.bytes_per_pair == {"outcomes": 200.0, "events": 100.0}
        assert found.scaling["scenarios"]["1x"]["core_seconds"] == 8.0

    def test_a_real_slice_is_simulated_and_accounted_for(self, tmp_path: Path) -> None:
        """Spark's own account of the tasks and the probe in the workers agree on what ran."""
        with on_spark.Arm("local[1]", tmp_path / "one") as arm:
            done = arm.run(Slice(1, 2))
        assert done.pairs == 2
        assert done.shuffle_bytes == 0
        assert 0 < done.cpu["kernel"] <= done.cpu["task_cpu"] <= sum(done.task_seconds)
        assert done.cpu["kernel"] * 0.99 <= done.kernel_seconds < sum(done.task_seconds)
        assert done.outcomes_bytes > 0

    def test_a_spark_that_ends_says_why(self, tmp_path: Path) -> None:
        """A master that does not exist is an error with Spark's own words."""
        with (
            on_spark.Arm("nowhere", tmp_path / "none") as arm,
            pytest.raises(RuntimeError, match="nowhere"),
        ):
            arm.run(Slice(1, 1))


class TestNight:
    """A night by task, from what Airflow recorded."""

    def test_all_of_a_night_is_told(self) -> None:
        """Mapped tasks are added up; what is before and between tasks has names too."""
        ran = [
            night.Instance("simulate", 14.0, 18.0),
            night.Instance("plan", 12.0, 13.0),
            night.Instance("simulate", 18.5, 20.0),
        ]
        assert night.by_task(10.0, ran) == {
            "start": 2.0,
            "plan": 1.0,
            "simulate": 5.5,
            "between tasks": 1.5,
        }

    def test_tasks_are_read_from_airflows_database(self, tmp_path: Path) -> None:
        """Times there are UTC without saying so; a task that never ran is none."""
        with sqlite3.connect(tmp_path / "airflow.db") as database:
            database.execute("create table task_instance (task_id, run_id, start_date, end_date)")
            database.executemany(
                "insert into task_instance values (?, ?, ?, ?)",
                [
                    ("plan", "a", "1970-01-01 00:00:10.500000", "1970-01-01 00:00:12.000000"),
                    ("gate", "a", None, None),
                    ("plan", "b", "1970-01-01 00:01:00.000000", "1970-01-01 00:01:01.000000"),
                ],
            )
        file = tmp_path / "airflow.db"
        assert night.recorded(file, "a") == [night.Instance("plan", 10.5, 12.0)]
        with pytest.raises(night.NoNight, match="no tasks of c"):
            night.recorded(file, "c")
        with pytest.raises(night.NoNight, match=r"none\.db"):
            night.recorded(tmp_path / "none.db", "a")


class TestNewestNight:
    """Which night is described, and from when on."""

    def night(self, home: Home, night: str, run_id: str, *tasks: tuple[str, str, str]) -> None:
        """A finished night, and the tasks that Airflow recorded of its run."""
        write_status(folder_of("smoke", night), Status("unchanged", dag_run_id=run_id))
        plan = {"code_version": "v", "panels": {"regression": 8}, "configurations": [1, 2]}
        (home.night_dir("smoke", night) / "plan.json").write_text(json.dumps(plan))
        home.airflow.mkdir(exist_ok=True)
        with sqlite3.connect(home.airflow / "airflow.db") as database:
            database.execute(
                "create table if not exists task_instance (task_id, run_id, start_date, end_date)"
            )
            rows = [(task, run_id, start, end) for task, start, end in tasks]
            database.executemany("insert into task_instance values (?, ?, ?, ?)", rows)

    @pytest.fixture
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
        """An empty one."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.delenv("ISR_PIPELINE_ROOT", raising=False)
        return Home.from_environment()

    def test_of_another_date_begins_when_it_began(self, home: Home) -> None:
        """A run's logical date is its night's: nine days before it, or after it, here."""
        for date, day in (("2026-11-18", "27"), ("2026-12-06", "28")):
            ran = ("plan", f"2026-11-{day} 05:00:08.000000", f"2026-11-{day} 05:01:30.000000")
            self.night(home, date, f"manual__{date}T05:00:00+00:00", ran)
            found = night.newest()
            assert (found.night, found.begun) == (date, f"2026-11-{day}T05:00:00Z")
            assert (found.total, found.seconds["start"]) == (90.0, 8.0)

    def test_begun_before_midnight(self, home: Home) -> None:
        """Its first task ran on the next day."""
        ran = ("plan", "2026-11-28 00:00:06.000000", "2026-11-28 00:01:00.000000")
        self.night(home, "2026-11-18", "manual__2026-11-18T23:59:58+00:00", ran)
        found = night.newest()
        assert (found.begun, found.total) == ("2026-11-27T23:59:58Z", 62.0)

    def test_newest_is_the_last_that_was_run(self, home: Home) -> None:
        """Not the one of the latest date; one that Airflow no longer knows is none."""
        early = ("plan", "2026-11-20 05:00:08.000000", "2026-11-20 05:00:09.000000")
        late = ("plan", "2026-11-27 04:00:08.000000", "2026-11-27 04:00:09.000000")
        self.night(home, "2026-11-19", "manual__2026-11-19T05:00:00+00:00", early)
        self.night(home, "2026-11-01", "manual__2026-11-01T04:00:00+00:00", late)
        self.night(home, "2026-11-30", "manual__2026-11-30T06:00:00+00:00")
        assert night.newest().night == "2026-11-01"

    @from_table
    def test_of_no_make_nightly(self, home: Home, run_id: str) -> None:
        """Nothing says when a program started them."""
        self.night(
            home, "2026-11-18", run_id, ("plan", "2026-11-18 05:00:08", "2026-11-18 05:00:09")
        )
        with pytest.raises(night.NoNight, match="make nightly"):
            night.newest()


def a_line(**changed: Any) -> dict[str, Any]:
    """A line of results in which everything was measured."""
    ratio = dict.fromkeys(record.ratios_of(record.Figures()), 1.0)
    grown = {
        "1x": {"pairs": 8, "seconds": 1.0, "core_seconds": 2.0, "peak_rss_mb": 200.0},
        "16x": {"pairs": 128, "seconds": 16.0, "core_seconds": 33.0, "peak_rss_mb": 201.0},
    }
    return {
        **record.line(record.Figures(), 0.0),
        "machine": "a machine",
        "ratios": ratio,
        "spread": {name: [0.9, 1.1, 3] for name in ratio},
        "pairs_per_core_s": 50.0,
        "kernel_ms_per_pair": 15.0,
        "broker_hours_per_core_s": {"brute_force": 1.0, "jumps": 12.0},
        "worker_peak_rss_mb": 210.0,
        "java_peak_rss_mb": 500.0,
        "shuffle_bytes": 0,
        "result_bytes_per_task": 4_000,
        "bytes_per_pair": {"outcomes": 200.0, "events": 100.0},
        "scaling": {"scenarios": grown, "configurations": grown},
        **changed,
    }


class TestRecord:
    """One line a run."""

    def test_a_part_that_was_not_run_is_null_with_a_reason(self) -> None:
        """Nothing is carried over and nothing is zero."""
        found = record.Figures(not_run=dict.fromkeys(record.PARTS, "not asked for"))
        line = json.loads(json.dumps(record.line(found, 0.5)))
        assert set(line["ratios"].values()) == {None}
        assert set(line["events_per_s"].values()) == {None}
        assert line["scaling"] is line["night_seconds"] is line["worker_peak_rss_mb"] is None
        assert line["not_run"] == dict.fromkeys(record.PARTS, "not asked for")
        assert line["panel_digest"] == reference.digest()

    def test_lines_are_appended(self, tmp_path: Path) -> None:
        """What was there stays."""
        file = tmp_path / "results" / "speed.jsonl"
        assert record.read(file) == []
        record.append({"commit": "a"}, file)
        record.append({"commit": "b"}, file)
        assert record.read(file) == [{"commit": "a"}, {"commit": "b"}]

    def test_bars(self) -> None:
        """A least, or a most; the bar itself meets it."""
        assert record.BARS["two_cores_over_one"].met(1.8)
        assert not record.BARS["two_cores_over_one"].met(1.79)
        assert record.BARS["longest_over_median_task"].met(2.0)
        assert not record.BARS["longest_over_median_task"].met(2.01)
        assert str(record.BARS["longest_over_median_task"]) == "<= 2"


class TestPages:
    """What is made of the results."""

    def test_the_page_is_reckoned_from_the_newest_whole_line(self) -> None:
        """A line without Spark's figures is passed over; growth is beside the smallest panel."""
        lines = [a_line(), a_line(pairs_per_core_s=100.0), record.line(record.Figures(), 0.0)]
        assert sizing.usable(lines) == lines[1]
        assert sizing.usable(lines[2:]) is None
        block = sizing.block(lines[0])
        assert "| pairs per busy core-second (the kernel's share) | 50 (" in block
        assert "16x scenarios 16.50x" in block

    def test_only_the_block_of_a_page_changes(self, tmp_path: Path) -> None:
        """Text around the marks stays; filled in twice is filled in once."""
        page, results = tmp_path / "page.md", tmp_path / "speed.jsonl"
        page.write_text(f"before\n{sizing.BEGIN}\nold\n{sizing.END}\nafter\n")
        assert not sizing.fill(page, results)
        record.append(a_line(), results)
        assert sizing.fill(page, results)
        once = page.read_text()
        assert once.startswith("before\n")
        assert once.endswith("after\n")
        assert "old" not in once
        sizing.fill(page, results)
        assert page.read_text() == once
        with pytest.raises(ValueError, match="no <!-- figures"):
            sizing.filled("no marks", "figures")

    def test_the_shipped_page_has_the_newest_figures(self) -> None:
        """What was recorded last stands there: a recorded benchmark writes every block of it."""
        text = sizing.PAGE.read_text()
        line = sizing.usable(record.read(record.RESULTS))
        assert line is not None
        assert sizing.filled(text, sizing.block(line)) == text
        plan = large.block(record.read(large.RESULTS)[-1], line)
        assert sizing.filled(text, plan, large.BEGIN, large.END) == text

    def test_lines_of_one_panel_are_drawn_together(self, tmp_path: Path) -> None:
        """Another panel is another series, another machine is not; without a ratio, no point."""
        lines = [
            a_line(panel_digest="another"),
            a_line(machine="another"),
            a_line(),
            {**record.line(record.Figures(), 0.0), "machine": "a machine"},
            a_line(),
        ]
        lines[3]["panel_digest"] = lines[4]["panel_digest"]
        alike = plot.of_one_panel(lines)
        assert alike == lines[1:]
        assert [point[0] for point in plot.series(alike, "two_cores_over_one")] == [0, 1, 3]
        plot.draw(alike, tmp_path / "speed.png")
        assert (tmp_path / "speed.png").stat().st_size > 10_000


class TestProgram:
    """``python -m benchmarks.speed``."""

    def test_an_unknown_part_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With the parts there are."""
        monkeypatch.setattr("sys.argv", ["speed", "--parts", "kernel,moon"])
        with pytest.raises(SystemExit):
            program.main()
        said = capsys.readouterr().err
        assert "moon is no part; there are kernel, scale, spark, night" in said

    def test_a_part_that_fails_is_recorded_as_not_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The others are measured all the same; the program says 1."""

        def broken() -> None:
            msg = "no such thing"
            raise RuntimeError(msg)

        figures = night.NightFigures("e", "2026-11-19", "", "v", 8, {"plan": 2.0}, 2.0, 0.0)
        parts = {"kernel": broken, "night": lambda: figures}
        appended: list[dict[str, Any]] = []
        monkeypatch.setattr("sys.argv", ["speed", "--record", "--parts", "kernel night"])
        monkeypatch.setattr(program, "compile_kernel", lambda: None)
        monkeypatch.setattr(program, "_parts", lambda *_: parts)
        monkeypatch.setattr(record, "append", appended.append)
        monkeypatch.setattr(sizing, "fill", lambda: False)
        assert program.main() == 1
        [line] = appended
        assert line["not_run"] == {"kernel": "RuntimeError: no such thing"}
        assert line["ratios"]["kernel_over_bare_tree"] is None
        assert line["night_seconds"] == {"plan": 2.0}

    @pytest.mark.parametrize("how", [[], ["--quick"]])
    def test_nothing_is_kept_unless_it_is_asked(
        self, how: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who tries `make bench` has the same checkout afterwards, which the tests compare."""
        figures = night.NightFigures("e", "2026-11-19", "", "v", 8, {"plan": 2.0}, 2.0, 0.0)
        monkeypatch.setattr("sys.argv", ["speed", *how, "--parts", "night"])
        monkeypatch.setattr(program, "_parts", lambda *_: {"night": lambda: figures})
        monkeypatch.setattr(record, "append", lambda _: pytest.fail("recorded"))
        assert program.main() == 0
