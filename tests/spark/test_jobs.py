"""The Spark jobs: a whole night of the smallest experiment, in a folder of its own."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.progress import is_progress
from isr_pipeline.base.storage.published import replacing
from isr_pipeline.experiment.cost import core_seconds
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.experiment.plan import Plan, make_plan
from isr_pipeline.night.spark import extend, simulate
from isr_pipeline.night.spark.progress import Progress
from isr_pipeline.scenarios.panels import ScenarioRow, panel_digest
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.scenarios_table import generate_scenarios
from isr_pipeline.tables.schemas import SCHEMAS
from isr_pipeline.tables.summary import summarize_night
from isr_pipeline.tables.validation.run import check
from tests.saying import refused
from tests.validation.tables import records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

NIGHT = "2026-11-19"


@dataclass(frozen=True)
class Made:
    """A night that the jobs have made: its plan, and where the plan is."""

    plan: Plan
    file: Path

    def digests(self) -> dict[str, str]:
        """Digest of each table."""
        plan = self.plan
        return {
            name: store.table_digest(name, plan.experiment, plan.night, root=plan.root)
            for name in SCHEMAS
        }


def plan_night(folder: Path) -> Made:
    """Plan a night of the smoke experiment with its state in a folder."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ISR_PIPELINE_ROOT", str(folder / "tables"))
        plan = make_plan("smoke", NIGHT)
    plan.save(folder / "plan.json")
    return Made(plan, folder / "plan.json")


def make_night(spark: SparkSession, folder: Path) -> Made:
    """Make a night's tables, shard by shard."""
    made = plan_night(folder)
    generate_scenarios(made.plan)
    for shard in made.plan.shards:
        options = ["--plan", str(made.file), "--shard", shard.name]
        simulate.run(spark, simulate.parse(options))
    parts.assemble(made.plan)
    summarize_night(made.plan)
    return made


@pytest.fixture(scope="module")
def night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a night that is made once for all tests that only look at it."""
    return make_night(spark, tmp_path_factory.mktemp("night"))


class TestNight:
    """A night as the DAG makes it."""

    def test_schemas(self, night: Made) -> None:
        """Every file of every table has its literal schema."""
        plan = night.plan
        for name, schema in SCHEMAS.items():
            folder = store.table_path(name, plan.experiment, plan.night, plan.root)
            assert isinstance(folder, Path)
            found = {str(pq.read_schema(file)) for file in folder.glob("*.parquet")}
            assert found == {str(schema)}, name

    def test_a_shard_has_one_file(self, night: Made) -> None:
        """Its tasks' files are one, with one group of rows: each group costs some kilobytes."""
        plan = night.plan
        folder = store.table_path("outcomes", plan.experiment, plan.night, plan.root)
        assert isinstance(folder, Path)
        names = [f"regression.{shard.name}.parquet" for shard in plan.shards]
        groups = {one.name: pq.ParquetFile(one).num_row_groups for one in folder.glob("regr*")}
        assert groups == dict.fromkeys(names, 1)

    def test_gates_pass(
        self, spark: SparkSession, night: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """What the jobs make passes the gates."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        for table in ("scenarios", "outcomes", "summary"):
            check(table, night.plan)

    def test_panel_as_planned(self, night: Made) -> None:
        """Scenarios that are drawn are those whose digest the plan has."""
        plan = night.plan
        for panel, digest in (("regression", plan.panel_digest), ("confirm", plan.confirm_digest)):
            rows = store.read_table(
                "scenarios",
                plan.experiment,
                plan.night,
                where=pc.field("panel") == panel,
                root=plan.root,
            )
            drawn = records(rows.sort_values("index"))
            assert panel_digest(ScenarioRow(**row) for row in drawn) == digest

    def test_again(self, spark: SparkSession, night: Made, tmp_path: Path) -> None:
        """The same night cut into other tasks, without shards, has the same digests."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simulate, "TASKS_PER_CORE", 2)
            patch.setattr("isr_pipeline.tables.scenarios_table.SCENARIOS_AT_ONCE", 3)
            other = plan_night(tmp_path)
            arguments = ["--plan", str(other.file)]
            generate_scenarios(other.plan)
            simulate.run(spark, simulate.parse(arguments))
            summarize_night(other.plan)
        assert other.digests() == night.digests()


class TestTasks:
    """Into how many tasks a part is cut."""

    def test_short_pairs_are_cut_by_cores(self) -> None:
        """Every task has its price."""
        assert simulate.tasks_wanted(load_experiment("operators"), 2, 4400) == 12

    def test_long_pairs_are_cut_by_time(self) -> None:
        """A task has 20 core-seconds, so that who watches sees how far it is."""
        experiment = load_experiment("operators").model_copy(update={"horizon_ms": 3_600_000})
        many = math.ceil(core_seconds(experiment, 100) / simulate.SECONDS_PER_TASK)
        assert simulate.tasks_wanted(experiment, 2, 100) == many > 12
        assert simulate.tasks_wanted(experiment, 2, 1) == 12


class TestParts:
    """Putting shards together."""

    def test_missing_shard(
        self, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A shard that has not run is named; there is no outcomes table."""
        made = plan_night(tmp_path)
        arguments = ["--plan", str(made.file)]
        generate_scenarios(made.plan)
        first, *rest = made.plan.shards
        capsys.readouterr()
        simulate.run(spark, simulate.parse([*arguments, "--shard", first.name]))
        lines = capsys.readouterr().out.splitlines()
        assert refused(lambda: parts.assemble(made.plan), Refused) == (
            "night 2026-11-19 of smoke: no regression outcomes of this plan from shard "
            f"{', '.join(shard.name for shard in rest)}; run simulate for it again"
        )
        assert not store.has_table("outcomes", "smoke", NIGHT, made.plan.root)
        pairs = made.plan.panels["regression"] * len(first.config_ids)
        assert lines[0].startswith(f"regression/{first.name}: ")
        own = [line for line in lines if line.startswith("progress ")]
        assert own[-1].startswith(f"progress {pairs}/{pairs}: regression/{first.name}, ")

    def test_fewer_rows_than_planned(
        self, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A shard whose tasks write fewer pairs than were planned fails, and leaves no part."""
        made = plan_night(tmp_path)
        plan, shard = made.plan, made.plan.shards[0]
        arguments = ["--plan", str(made.file)]
        generate_scenarios(made.plan)
        there = simulate.scenario_costs(plan, "regression")
        # The tasks look for a scenario that the table does not hold.
        monkeypatch.setattr(simulate, "scenario_costs", lambda *_: {**there, len(there): 1.0})
        wrote = plan.panels["regression"] * len(shard.config_ids)
        pairs = wrote + len(shard.config_ids)
        expected = f"regression/{shard.name}: the tasks wrote {wrote} pairs of {pairs}"
        with pytest.raises(RuntimeError, match=f"^{re.escape(expected)}$"):
            simulate.run(spark, simulate.parse([*arguments, "--shard", shard.name]))
        assert not parts.part_path(plan, "regression", shard.name).exists()

    def test_part_of_another_plan(self, spark: SparkSession, night: Made, tmp_path: Path) -> None:
        """A part that other code made is not taken for this plan's."""
        made = plan_night(tmp_path)
        for shard in made.plan.shards:
            folder = parts.part_path(made.plan, "regression", shard.name)
            with replacing(folder) as writing:
                lineage = parts.part_lineage(made.plan, "regression", shard.config_ids)
                store.write_lineage(writing, {**lineage, "plan": "another"})
        with pytest.raises(Refused, match=r"no regression outcomes of this plan from shard "):
            parts.assemble(made.plan)

    def test_other_panel_joins(self, spark: SparkSession, tmp_path: Path) -> None:
        """Confirm outcomes of one configuration join the table; the standing panel's stay."""
        made = plan_night(tmp_path)
        arguments = ["--plan", str(made.file)]
        plan = made.plan
        generate_scenarios(made.plan)
        names = [configuration.name for configuration in plan.configurations[:2]]
        simulate.run(spark, simulate.parse([*arguments, "--configs", ",".join(names)]))
        before = store.read_table("outcomes", plan.experiment, NIGHT, root=plan.root)
        confirm = [*arguments, "--panel", "confirm", "--configs", names[1]]
        for _ in range(2):
            simulate.run(spark, simulate.parse(confirm))
            after = store.read_table("outcomes", plan.experiment, NIGHT, root=plan.root)
            counts = after.groupby(["panel", "config_name"]).size().to_dict()
            assert counts == {
                ("confirm", names[1]): plan.panels["confirm"],
                ("regression", names[0]): plan.panels["regression"],
                ("regression", names[1]): plan.panels["regression"],
            }
        regression = after[after["panel"] == "regression"]
        assert store.digest(regression) == store.digest(before)
        parts.assemble(plan)

    def test_other_configurations_join(self, spark: SparkSession, tmp_path: Path) -> None:
        """Confirm outcomes of a second configuration join those of the first, which stay."""
        made = plan_night(tmp_path)
        plan, arguments = made.plan, ["--plan", str(made.file)]
        generate_scenarios(made.plan)
        first, second = (one.name for one in plan.configurations[:2])
        for name in (first, second, first):
            confirm = [*arguments, "--panel", "confirm", "--configs", name]
            simulate.run(spark, simulate.parse(confirm))
        rows = store.read_table("outcomes", plan.experiment, NIGHT, root=plan.root)
        size = plan.panels["confirm"]
        assert rows.groupby("config_name").size().to_dict() == {first: size, second: size}
        ids = {one.config_id for one in plan.configurations[:2]}
        assert set(parts.assembled(plan)["confirm"]) == ids

    def test_drawn_again(self, spark: SparkSession, tmp_path: Path) -> None:
        """Drawing a night's scenarios takes away what was made from the last draw."""
        made = plan_night(tmp_path)
        part = parts.part_path(made.plan, "regression", "x")
        part.mkdir(parents=True)
        table = store.table_path("outcomes", "smoke", NIGHT, made.plan.root)
        table.mkdir(parents=True)
        generate_scenarios(made.plan)
        assert not part.exists()
        assert not table.exists()


class TestCommandLine:
    """The jobs' options."""

    @pytest.mark.parametrize(
        ("option", "value"), [("--shard", "nope"), ("--panel", "nope"), ("--configs", "nope")]
    )
    def test_unknown(self, night: Made, option: str, value: str) -> None:
        """A name that the plan does not have is refused with those it has."""
        assert refused(
            lambda: simulate.parse(["--plan", str(night.file), option, value])
        ).startswith(f"{option}: nope; allowed: ")

    @pytest.mark.parametrize("job", [simulate, extend])
    def test_stops_its_session(self, job: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also where it fails: a driver in a pod might not end without it."""
        ended = []

        @contextmanager
        def session(*_: object, **__: object) -> Iterator[object]:
            try:
                yield SimpleNamespace(sparkContext=SimpleNamespace(master="local[2]"))
            finally:
                ended.append(1)

        def run(*_: object) -> None:
            raise Refused("no")

        config = SimpleNamespace(plan=SimpleNamespace(root=""))
        monkeypatch.setattr(job, "parse", lambda _: config)
        monkeypatch.setattr(job, "spark_session", session)
        monkeypatch.setattr(job, "run", run)
        assert job.main([]) != 0
        assert ended == [1]

    def test_no_plan(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a plan the program ends with status 2 and one line on stderr."""
        assert simulate.main(["--plan", str(tmp_path / "none.json")]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert len(printed.err.splitlines()) == 1


class TestProgress:
    """Progress lines."""

    def test_lines(self, spark: SparkSession) -> None:
        """Before, in the middle, at the end."""
        told = Progress(spark, "regression/x", 8, 100.0)
        assert told.line().startswith(
            "progress 0/8: regression/x, 0 pairs/s, time left not known yet"
        )
        told.pairs_done.add(2)
        told.cost_done.add(50.0)
        assert told.line().endswith(" s left")
        told.pairs_done.add(6)
        assert told.line().startswith("progress 8/8: regression/x, ")
        assert ", done in " in told.line()
        assert is_progress(told.line())

    def test_time_left_falls_while_nothing_ends(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Half was done after 40 s: 40 s are left, then 10, then it takes longer than expected."""
        clock = [1000.0]
        monkeypatch.setattr("isr_pipeline.night.spark.progress.time.monotonic", lambda: clock[0])
        told = Progress(spark, "regression/x", 8, 100.0)
        told.pairs_done.add(4)
        told.cost_done.add(50.0)
        said = []
        for clock[0] in (1040.0, 1070.0, 1085.0):
            said.append(told.line())
        head = "progress 4/8: regression/x, 0.1 pairs/s, "
        assert said == [f"{head}40 s left", f"{head}10 s left", f"{head}longer than expected"]
