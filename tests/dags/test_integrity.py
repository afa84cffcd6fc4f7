"""The DAGs as Airflow sees them: they parse, and say of themselves what an operator needs."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.exceptions import ParamValidationError
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowRescheduleException,
    AirflowSkipException,
    AirflowTaskTimeout,
)

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import REPOSITORY, SHIPPED, Home
from isr_pipeline.experiment.cost import task_limit_s
from isr_pipeline.experiment.file import DAG_PREFIX, dag_id_of, known_experiments
from isr_pipeline.experiment.plan import Plan, make_plan
from isr_pipeline.experiment.stages import CONFIRM, FURTHER
from isr_pipeline.night import steps
from isr_pipeline.night.airflow import wiring
from isr_pipeline.night.airflow.wiring import (
    GATE_MAY_SKIP,
    NIGHT_PARAMS,
    VERDICT,
    SparkJob,
    Tag,
    accept_params,
    broken_tasks,
    check_ground,
    check_params,
    claim_and_limit,
    night_of,
    one_line_errors,
    take_claim,
    tell_verdict,
)
from isr_pipeline.night.spark.java import java_home, spark_home
from isr_pipeline.night.stack import environment
from isr_pipeline.night.status import Status, folder_of, write_status
from isr_pipeline.verdicts.judge import judge_night
from tests.saying import finished, refused
from tests.tables import from_table
from tests.verdicts.synthetic import NIGHT, World, home

__all__ = ["home"]

STORED = '{"conn_type": "spark", "host": "local[1]", "extra": {"spark-binary": "spark-submit"}}'

NIGHTLY = "isr_nightly_operators"
OTHERS = ("isr_baseline_accept", "isr_doctor", "isr_maintenance")
DAG_IDS = (*OTHERS, NIGHTLY, "isr_nightly_smoke")

CHAIN = list(steps.NAMES)
"""What a night without Airflow does, in that order."""


class TestEveryDag:
    """What holds for all DAGs."""

    def test_all_parse(self, bag: Any) -> None:
        """No file of the folder fails to import, and nothing else is taken for a DAG."""
        assert bag.import_errors == {}
        ours = {dag_id_of(name) for name in known_experiments()}
        assert set(bag.dags) == ours | set(OTHERS)

    @pytest.mark.parametrize("dag_id", DAG_IDS)
    def test_page_has_triage_notes(self, bag: Any, dag_id: str) -> None:
        """The page in the UI says what is normal and what to do when it is red."""
        assert "#### Triage notes" in bag.dags[dag_id].doc_md

    @pytest.mark.parametrize("name", known_experiments())
    def test_page_says_why_backfill_is_grey(self, bag: Any, name: str) -> None:
        """Where the experiment has no schedule, and nowhere else; with the way to past dates."""
        dag = bag.dags[dag_id_of(name)]
        is_grey = not dag.timetable.can_be_scheduled
        assert ("#### Why *Backfill* is grey" in dag.doc_md) == is_grey

    @pytest.mark.parametrize("dag_id", DAG_IDS)
    def test_tags_are_known(self, bag: Any, dag_id: str) -> None:
        """Every tag is a member of the enum, and there is at least one."""
        tags = bag.dags[dag_id].tags
        assert tags
        assert set(tags) <= {str(tag) for tag in Tag}

    @pytest.mark.parametrize("dag_id", DAG_IDS)
    def test_params_explain_themselves(self, bag: Any, dag_id: str) -> None:
        """Every field of the trigger form has a title and a description."""
        for name, param in bag.dags[dag_id].params.items():
            schema = bag.dags[dag_id].params.get_param(name)
            assert schema.schema.get("title"), name
            assert schema.description, (name, param)

    @pytest.mark.parametrize("dag_id", DAG_IDS)
    def test_one_run_at_a_time(self, bag: Any, dag_id: str) -> None:
        """Two runs never write at once."""
        assert bag.dags[dag_id].max_active_runs == 1

    def test_is_on_from_the_start_here(self, tmp_path: Path) -> None:
        """A fresh checkout needs no switch to be flipped before a run starts."""
        variables = environment(Home(tmp_path, str(tmp_path)))
        assert variables["AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION"] == "False"

    @pytest.mark.parametrize("dag_id", DAG_IDS)
    def test_is_run_by_the_file_of_the_folder(self, bag: Any, dag_id: str) -> None:
        """Airflow finds a task by a path below its DAG folder, not by the package's."""
        name = "isr_nightly" if dag_id.startswith(DAG_PREFIX) else dag_id
        assert Path(bag.dags[dag_id].fileloc) == SHIPPED / "dags" / f"{name}.py"


Read = Callable[..., dict[str, Any]]


READ = """
import json, os, sys
from pathlib import Path
from airflow.dag_processing.dagbag import BundleDagBag
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

folder = Path(sys.argv[1])

def read():
    bag = BundleDagBag(folder, bundle_path=folder, bundle_name="dags-folder")
    return {
        "errors": bag.import_errors,
        "paused": {one.dag_id: one.is_paused_upon_creation for one in bag.dags.values()},
        "schedules": {
            one.dag_id: getattr(one.timetable, "expression", None) for one in bag.dags.values()
        },
        "heavy": [
            one
            for one in ("great_expectations", "mlflow", "numba", "pandas", "pyspark")
            if one in sys.modules
        ],
    }

for line in sys.stdin:
    child = os.fork()
    if not child:
        os.environ.update(json.loads(line))
        answer = json.dumps(read())
        print(answer, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("over", flush=True)
"""
"""Airflow is imported once; each folder of experiments is read in a fork of it."""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """A process that has Airflow and nothing of ours."""
    own = {"AIRFLOW_HOME": str(tmp_path_factory.mktemp("airflow"))}
    own |= {"AIRFLOW__CORE__DAGBAG_IMPORT_ERROR_TRACEBACKS": "False"}
    with subprocess.Popen(
        [sys.executable, "-c", READ, str(REPOSITORY / "dags")],
        env=os.environ | own, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        yield process
        process.communicate()


class TestEveryExperiment:
    """A DAG for each file of `config/experiments`."""

    @pytest.fixture
    def config(self, tmp_path: Path) -> Path:
        """A copy of the shipped experiments."""
        return Path(shutil.copytree(REPOSITORY / "config", tmp_path / "config"))

    @pytest.fixture
    def read(self, reader: subprocess.Popen[str], config: Path) -> Read:
        """What Airflow makes of the DAG folder with these experiments and some variables."""

        def made(**variables: str) -> dict[str, Any]:
            assert reader.stdin is not None
            assert reader.stdout is not None
            reader.stdin.write(json.dumps({"ISR_PIPELINE_CONFIG": str(config), **variables}) + "\n")
            reader.stdin.flush()
            *_, answer = itertools.takewhile(lambda line: line != "over\n", reader.stdout)
            found: dict[str, Any] = json.loads(answer)
            return found

        return made

    def test_schedule_of_the_file(self, read: Read) -> None:
        """It is the DAG's; a DAG without one is paused, of another Airflow decides."""
        found = read()
        assert found["schedules"][NIGHTLY] == "0 0 * * *"
        assert found["schedules"]["isr_nightly_smoke"] is None
        assert found["paused"][NIGHTLY] is None
        assert found["paused"]["isr_nightly_smoke"] is True

    def test_what_removes_things_is_paused(self, read: Read) -> None:
        """Wherever it is new, until somebody switches it on."""
        assert read()["paused"]["isr_maintenance"] is True

    def test_schedule_is_switched_off(self, read: Read) -> None:
        """Where Airflow starts nothing by itself every DAG of an experiment is paused."""
        paused = read(AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE="False")["paused"]
        assert {name for name, value in paused.items() if value is None} == {
            "isr_baseline_accept",
            "isr_doctor",
        }
        assert set(paused.values()) == {True, None}

    def test_a_broken_file(self, config: Path, read: Read) -> None:
        """One line of a file without DAGs: Airflow hides the DAGs of a file that has an error."""
        file = config / "experiments" / "smoke.yaml"
        above, rest = file.read_text().split("seed:", 1)
        file.write_text(f"{above}schedule: midnight\nseed:{rest}")
        line = len(above.splitlines()) + 1
        found = read()
        assert found["errors"] == {
            "isr_broken_experiments.py": (
                f"{file}:{line}: schedule: midnight; allowed: a cron expression of five fields, "
                "days of the month up to 28, such as 0 0 * * *"
            )
        }
        assert "isr_nightly_smoke" not in found["schedules"]
        assert NIGHTLY in found["schedules"]

    def test_a_name_that_airflow_does_not_take(self, config: Path, read: Read) -> None:
        """It is refused as a mistake in the file is, and not by Airflow for all of them."""
        file = config / "experiments" / "smoke.yaml"
        bad = file.rename(file.with_name("smoke+.yaml"))
        found = read()["errors"]
        assert found == {
            "isr_broken_experiments.py": f"{bad}: smoke+.yaml; allowed: a name of a-z, 0-9, . _ - "
            "(at most 60), with .yaml"
        }

    def test_twenty_files_are_read_without_heavy_libraries(self, config: Path, read: Read) -> None:
        """Airflow reads the files all day; how long it takes, `benchmarks.parsing` says."""
        folder = config / "experiments"
        for number in range(20 - len(list(folder.glob("*.yaml")))):
            shutil.copy(folder / "operators.yaml", folder / f"copy-{number}.yaml")
        found = read()
        assert len(found["schedules"]) == 20 + len(OTHERS)
        assert found["heavy"] == []


class TestNightly:
    """The DAG of an experiment."""

    def test_tasks_are_one_chain(self, bag: Any) -> None:
        """Each task waits for the one before it, in the order of the data."""
        dag = bag.dags[NIGHTLY]
        assert sorted(dag.task_ids) == sorted(CHAIN)
        for before, after in itertools.pairwise(CHAIN):
            assert dag.get_task(after).upstream_task_ids >= {before}

    @pytest.mark.parametrize("step", [step for step in steps.BETWEEN if step.job])
    def test_spark_does_the_same_as_without_airflow(self, bag: Any, step: steps.Step) -> None:
        """A task of Spark runs the job that the list of steps names."""
        task = bag.dags[NIGHTLY].get_task(step.name)
        job = task.partial_kwargs["job"] if task.is_mapped else Path(task.application).name
        assert job == step.job

    @pytest.mark.parametrize("step", [step for step in steps.BETWEEN if not step.job])
    def test_the_rest_is_the_same_function(self, bag: Any, step: steps.Step) -> None:
        """Any other task does the function of its name, that of a look without its number."""
        task = bag.dags[NIGHTLY].get_task(step.name)
        name = "look" if step.name.startswith("look_") else step.name
        does = task.python_callable.__wrapped__
        given = inspect.getclosurevars(does).nonlocals.get("work")
        said = inspect.getsource(does)
        assert given is getattr(steps, name) or f"steps.{name}" in said
        assert "done(context, " in said

    @pytest.mark.parametrize("step", steps.BETWEEN)
    def test_what_is_done_after_a_skipped_step_is_the_same(
        self, bag: Any, step: steps.Step
    ) -> None:
        """Airflow leaves out what comes after a skipped task, but for tasks of another rule."""
        rule = bag.dags[NIGHTLY].get_task(step.name).trigger_rule
        assert rule == ("none_failed" if step.after_skipped else "all_success")

    def test_what_may_be_skipped_may_be_missing(self) -> None:
        """The gate forgives exactly the steps that a good night leaves out."""
        names, skipping = set(), False
        for step in steps.BETWEEN:
            skipping = (skipping and not step.after_skipped) or step.skipped is not None
            names |= {step.name} if skipping else set()
        assert names == GATE_MAY_SKIP

    def test_runs_every_night_and_not_before(self, bag: Any) -> None:
        """Midnight UTC, and no run for a time that has passed when Airflow is switched on."""
        dag = bag.dags[NIGHTLY]
        assert dag.timetable.expression == "0 0 * * *"
        assert dag.timetable.run_immediately == timedelta(0)
        assert dag.catchup is False

    def test_work_is_tried_again(self, bag: Any) -> None:
        """Every task but the gate is tried a second time."""
        dag = bag.dags[NIGHTLY]
        retries = {name: dag.get_task(name).retries for name in CHAIN}
        assert retries.pop("gate") == 0
        assert set(retries.values()) == {1}

    def test_a_run_ends_some_day(self, bag: Any) -> None:
        """A run that hangs between its tasks is ended by Airflow: after a day, unless said."""
        assert bag.dags[NIGHTLY].dagrun_timeout == timedelta(hours=24)

    @pytest.mark.parametrize("step", [step for step in steps.BETWEEN if step.job])
    def test_spark_tasks_have_limits(self, bag: Any, step: steps.Step) -> None:
        """What sets a limit of the experiment's size is called before each of them."""
        task = bag.dags[NIGHTLY].get_task(step.name)
        hook = (task.partial_kwargs if task.is_mapped else vars(task))[
            "pre_execute" if task.is_mapped else "_pre_execute_hook"
        ]
        hook = getattr(hook, "func", hook)
        assert hook is claim_and_limit

    def test_shards_are_mapped_and_named(self, bag: Any) -> None:
        """Simulation is one task per shard, shown by its name, one at a time."""
        task = bag.dags[NIGHTLY].get_task("simulate")
        assert task.is_mapped
        assert task.partial_kwargs["map_index_template"] == "{{ task.application_args[3] }}"
        assert task.partial_kwargs["max_active_tis_per_dagrun"] == 1

    def test_stages_are_the_plans(self, bag: Any) -> None:
        """A task for every stage that a plan can have, named in its arguments, and a look each."""
        dag = bag.dags[NIGHTLY]
        stages = [dag.get_task(name) for name in ("confirm", "extend_1", "extend_2")]
        assert tuple(task.application_args[3] for task in stages) == (CONFIRM, *FURTHER)
        assert len([name for name in dag.task_ids if name.startswith("look_")]) == len(stages)

    def test_a_skipped_stage_skips_all_up_to_the_decision(self, bag: Any) -> None:
        """Only `decide` runs after a skipped stage: a quiet night starts nothing for the rest."""
        dag = bag.dags[NIGHTLY]
        assert {dag.get_task(name).trigger_rule for name in GATE_MAY_SKIP} == {"all_success"}
        assert dag.get_task("decide").trigger_rule == "none_failed"

    @pytest.mark.parametrize("name", ["simulate", "confirm", "extend_1", "extend_2"])
    def test_spark_jobs_go_through_the_connection(self, bag: Any, name: str) -> None:
        """Where Spark runs is said by `spark_default` alone, to the provider's own operator."""
        task = bag.dags[NIGHTLY].get_task(name)
        assert task.task_type == "SparkJob"
        assert issubclass(SparkJob, SparkSubmitOperator)
        settings = task.partial_kwargs if task.is_mapped else vars(task)
        assert settings.get("_conn_id", settings.get("conn_id", "spark_default")) == "spark_default"


class TestAssets:
    """What other DAGs may wait for."""

    @pytest.mark.parametrize(
        ("dag_id", "task", "asset"),
        [
            (NIGHTLY, "decide", "isr-pipeline/verdict"),
            ("isr_baseline_accept", "accept", "isr-pipeline/baseline"),
        ],
    )
    def test_outlets(self, bag: Any, dag_id: str, task: str, asset: str) -> None:
        """The task that decides, and the one that accepts."""
        assert [one.name for one in bag.dags[dag_id].get_task(task).outlets] == [asset]

    def test_a_verdict_has_what_a_reader_asks(self, home: Path) -> None:
        """Night, status, colour and report, under the experiment's own name."""
        plan = World(experiment="smoke").write(NIGHT)
        judge_night(plan)
        told: list[Any] = []
        events = {VERDICT: SimpleNamespace(add=lambda asset, extra: told.append((asset, extra)))}
        run = SimpleNamespace(dag_id="isr_nightly_smoke", run_type="manual")
        file = str(plan.place / "plan.json")
        tell_verdict({
            "outlet_events": events, "dag_run": run, "params": {"night": NIGHT},
            "ti": SimpleNamespace(xcom_pull=lambda **_: file),
        })  # fmt: skip
        ((asset, extra),) = told
        assert asset.name == "isr-pipeline/verdict/smoke"
        report = str(home / "nights" / "smoke" / NIGHT / "report.html")
        assert extra == {"night": NIGHT, "status": "baseline", "red": False, "report": report}


class TestParams:
    """The trigger form refuses what cannot be meant."""

    @from_table
    def test_refuses(self, bag: Any, name: str, value: object) -> None:
        """A value out of range, of another kind, or not in the list."""
        param = bag.dags[NIGHTLY].params.get_param(name)
        with pytest.raises(ParamValidationError):
            param.resolve(value)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("night", "2026-11-19"), ("night", None), ("panel_size", 1)],
    )
    def test_accepts(self, bag: Any, name: str, value: object) -> None:
        """What an operator would enter."""
        assert bag.dags[NIGHTLY].params.get_param(name).resolve(value) == value

    def test_experiments_are_the_files(self, bag: Any) -> None:
        """The list in the form of an acceptance is the folder config/experiments."""
        param = bag.dags["isr_baseline_accept"].params.get_param("experiment")
        assert param.schema["enum"] == known_experiments()
        with pytest.raises(ParamValidationError):
            param.resolve("operator")

    def test_a_reason_is_asked_for(self, bag: Any) -> None:
        """A baseline is not accepted without night and reason."""
        with pytest.raises(ParamValidationError):
            bag.dags["isr_baseline_accept"].params.validate()

    def test_a_night_to_come_is_refused(self, bag: Any) -> None:
        """The form takes any date: the run's first task says which may run, and is not retried."""
        run = SimpleNamespace(run_type="manual", run_id="manual__1", logical_date=None)
        params = {"night": "2999-01-01", "panel_size": None, "fail_on_regression": True}
        task = bag.dags[NIGHTLY].get_task("plan")
        left = SimpleNamespace(xcom_push=lambda **_: None)
        with pytest.raises(AirflowFailException, match=r"^params: night: 2999-01-01; allowed: tod"):
            task.python_callable("smoke", params=params, dag_run=run, ti=left)

    def test_failed_pairs_are_refused_as_on_the_command_line(
        self, bag: Any, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The task's failure is the line that names them, and it is not tried again."""
        assert home

        def failing(_: str, name: str, columns: dict[str, Any], __: object) -> None:
            columns["failed"][3] = int(name == "lag-20s")

        judge_night(World(experiment="smoke").write(NIGHT, failing))
        write_status(folder_of("smoke", NIGHT), Status("no-data"))
        params = dict.fromkeys(accept_params()) | {
            "experiment": "smoke", "night": NIGHT, "why": "meant", "who": "Ada",
        }  # fmt: skip
        left = SimpleNamespace(xcom_push=lambda **_: None)
        run = SimpleNamespace(run_type="manual", run_id="manual__1")
        task = bag.dags["isr_baseline_accept"].get_task("accept")
        with pytest.raises(AirflowFailException, match=r"no baseline: lag-20s \(1 of 120 pairs"):
            task.python_callable(params=params, dag_run=run, ti=left)


class TestNightOf:
    """Which night a run is."""

    LOGICAL = datetime(2026, 11, 19, 2, tzinfo=UTC)
    AFTER = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

    def context(
        self, night: str | None, logical: datetime | None, run_type: str = "manual"
    ) -> dict[str, Any]:
        """Return what of a task's context decides the night."""
        run = SimpleNamespace(logical_date=logical, run_after=self.AFTER, run_type=run_type)
        return {"params": {"night": night}, "dag_run": run}

    def test_param_wins(self) -> None:
        """A night that is named is that night, whenever it is run."""
        assert night_of(self.context("2026-01-02", self.LOGICAL)) == "2026-01-02"

    def test_else_logical_date(self) -> None:
        """A scheduled or backfilled run is the night of its logical date."""
        assert night_of(self.context(None, self.LOGICAL)) == "2026-11-19"

    def test_else_run_after(self) -> None:
        """A run by hand may have no logical date: then its run-after date."""
        assert night_of(self.context(None, None)) == "2026-11-21"

    def test_backfill_names_no_night(self) -> None:
        """One night for all dates of a backfill would be written again and again."""
        with pytest.raises(AirflowFailException, match=r"^params: night: 2026-01-02 for every"):
            night_of(self.context("2026-01-02", self.LOGICAL, "backfill"))


class TestGate:
    """What the gate counts as broken."""

    TASKS = frozenset({"plan", "simulate", "confirm", "report"})

    def broken(
        self, states: dict[str, str | None], why: dict[tuple[str, int], str] | None = None
    ) -> list[str]:
        """Ask the gate about a run with these task states, and reasons by task and shard."""
        instance = SimpleNamespace(
            get_task_states=lambda **_: {"r": states},
            xcom_pull=lambda task_ids, map_indexes, **_: (why or {}).get((task_ids, map_indexes)),
        )
        run = SimpleNamespace(dag_id=NIGHTLY, run_id="r")
        return broken_tasks({"ti": instance, "dag_run": run}, self.TASKS)

    def good(self) -> dict[str, str | None]:
        """States of a good night."""
        return {
            "plan": "success",
            "simulate_0": "success",
            "simulate_1": "success",
            "confirm": "skipped",
            "report": "success",
        }

    def test_good_night(self) -> None:
        """All tasks succeeded, confirm was skipped."""
        assert self.broken(self.good()) == []

    def test_failed_shard(self) -> None:
        """One failed shard of two, the rest of the run not reached."""
        states = self.good() | {"simulate_1": "failed", "report": "upstream_failed"}
        assert self.broken(states) == ["simulate_1 failed"]

    def test_why_a_task_failed(self) -> None:
        """The reason that a task or a shard left stands behind it."""
        states = self.good() | {"simulate_1": "failed", "report": "failed"}
        why = {("simulate", 1): "memory was short", ("report", -1): "no space left"}
        assert self.broken(states, why) == [
            "report failed: no space left",
            "simulate_1 failed: memory was short",
        ]

    def test_skipped_shard(self) -> None:
        """A skipped shard is a hole in the data."""
        assert self.broken(self.good() | {"simulate_0": "skipped"}) == ["simulate_0 skipped"]

    def test_no_shard_at_all(self) -> None:
        """A mapped task that never expanded left no data."""
        states = self.good()
        del states["simulate_0"], states["simulate_1"]
        assert self.broken(states) == ["simulate never ran"]

    def test_state_missing(self) -> None:
        """A task without a state did not run."""
        assert self.broken(self.good() | {"report": None}) == ["report never ran"]


class TestWhyATaskFailed:
    """The reason of a failure, left for the gate."""

    def kept(self, failure: BaseException) -> list[str]:
        """What a task that fails so leaves."""
        left = []

        @one_line_errors
        def work(**_: Any) -> None:
            raise failure

        instance = SimpleNamespace(xcom_push=lambda key, value: left.append(f"{key}: {value}"))
        with pytest.raises(BaseException):  # noqa: B017, PT011 - which one, other tests say
            work(ti=instance)
        return left

    def test_of_a_person(self) -> None:
        """The one line that says what to do."""
        assert self.kept(Refused("no baseline")) == ["why: no baseline"]

    @pytest.mark.parametrize("by_keyword", [False, True])
    def test_of_an_operator(self, by_keyword: bool) -> None:
        """Airflow gives an operator the context as an argument of either sort."""
        left = []

        @one_line_errors
        def execute(_operator: object, context: Any) -> None:
            raise AirflowException(f"spark-submit was killed with {len(context)} argument")

        context = {"ti": SimpleNamespace(xcom_push=lambda **given: left.append(given["value"]))}
        given = ((self,), {"context": context}) if by_keyword else ((self, context), {})
        with pytest.raises(AirflowException, match="killed"):
            execute(*given[0], **given[1])
        assert left == ["spark-submit was killed with 1 argument"]

    def test_of_a_defect(self) -> None:
        """The error and what it says."""
        assert self.kept(ValueError("x is 3")) == ["why: ValueError: x is 3"]

    def test_of_a_limit(self) -> None:
        """Airflow ends a task whose time is over."""
        assert self.kept(AirflowTaskTimeout()) == ["why: it took longer than its time limit"]

    def test_putting_off_and_skipping_are_no_failures(self) -> None:
        """Nothing is left."""
        assert self.kept(AirflowSkipException("nothing is open")) == []
        assert self.kept(AirflowRescheduleException(datetime.now(UTC))) == []

    def test_where_nothing_can_be_kept(self) -> None:
        """On a full disk the reason stands in the log, and is not replaced by another."""

        @one_line_errors
        def work(**_: Any) -> None:
            raise Refused("no baseline")

        with pytest.raises(AirflowFailException, match=r"^no baseline$"):
            work(ti=SimpleNamespace())


class TestNamesOfParams:
    """What a run may be asked for: Airflow's API takes any name."""

    def test_a_misspelt_one(self) -> None:
        """It is named, with those that there are."""
        assert refused(lambda: check_params({"params": {"nigth": "2026-11-19"}}, NIGHT_PARAMS)) == (
            "params: nigth; allowed: the parameters fail_on_regression, night, panel_size, "
            "replace, scenarios"
        )

    def test_the_dags_own(self) -> None:
        """All of them are taken."""
        check_params({"params": dict.fromkeys(NIGHT_PARAMS)}, NIGHT_PARAMS)


@pytest.mark.slow
class TestSparkJobThatCannotStart:
    """By the real spark-submit: what cannot start is failed at once, what broke off is not."""

    def submit(self, monkeypatch: pytest.MonkeyPatch, application: Path, **variables: str) -> None:
        """Run a job outside Airflow, on this Python's Spark."""
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", STORED)
        programs = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        java = str(java_home(Home.from_environment()))
        settings = {"PATH": programs, "SPARK_HOME": str(spark_home()), "JAVA_HOME": java}
        settings |= variables
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(wiring, "claimed", lambda _: contextlib.nullcontext())
        job = SparkJob(task_id="job", job=str(application))
        job.execute({})

    def test_no_launcher(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """No spark-submit on PATH."""
        said = refused(
            lambda: self.submit(monkeypatch, tmp_path / "job.py", PATH="/none"),
            AirflowFailException,
        )
        assert said == "spark-submit cannot be started: no such file or directory"

    def test_no_java(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exit status 127, and the shell's reason in the first line."""
        with pytest.raises(AirflowFailException) as failed:
            self.submit(monkeypatch, tmp_path / "job.py", JAVA_HOME="/none")
        assert str(failed.value).startswith("the job did not start (exit status 1")
        assert "/none/bin/java: No such file or directory" in str(failed.value)

    def test_no_job(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Python has nothing to run."""
        file = tmp_path / "job.py"
        with pytest.raises(AirflowFailException) as failed:
            self.submit(monkeypatch, file)
        assert str(failed.value).startswith("the job did not start (exit status 2): ")
        assert f"{file}" in str(failed.value)

    def test_ended_without_a_word(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody knows that a second try would end so too."""
        file = tmp_path / "job.py"
        file.write_text("raise SystemExit(1)\n")
        with pytest.raises(AirflowException) as failed:
            self.submit(monkeypatch, file)
        assert not isinstance(failed.value, AirflowFailException)
        assert str(failed.value) == (
            "the job ended before it began, without a reason (exit status 1)"
        )

    def test_broke_off(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A job that had its session may be tried again."""
        file = tmp_path / "job.py"
        file.write_text(
            "from isr_pipeline.night.spark.spark_session import spark_session\n"
            "spark_session('job')\nraise SystemExit(1)\n"
        )
        with pytest.raises(AirflowException) as failed:
            self.submit(monkeypatch, file)
        assert not isinstance(failed.value, AirflowFailException)


class TestCheckGround:
    """The first task finds what every later one would."""

    def test_no_launcher(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The connection and its program are named."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", STORED)
        monkeypatch.setenv("PATH", "/none")
        assert refused(check_ground, AirflowFailException) == (
            "connection spark_default: spark-submit is not on the PATH of Airflow's workers"
        )

    @pytest.mark.parametrize(
        ("connection", "line"),
        [
            ("spark://yarn?deploy-mode=cluster", "deploy-mode: cluster; allowed: client"),
            ("k8s://https%3A%2F%2Fkube:443", "k8s://https://kube:443: Airflow needs apache-airfl"),
        ],
    )
    def test_a_spark_that_cannot_be_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connection: str, line: str
    ) -> None:
        """Before any job is submitted."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", connection)
        with pytest.raises(AirflowFailException, match=f"^connection spark_default: {line}"):
            check_ground()

    def test_no_notifier(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever is to be told, nobody would be, and that only at the end."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.setenv("ISR_PIPELINE_NOTIFY", "nowhere:tell")
        with pytest.raises(AirflowFailException, match=r"ISR_PIPELINE_NOTIFY: nowhere:tell; allow"):
            check_ground()

    def test_no_store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Before the night has run, not after."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "nonsense")
        with pytest.raises(AirflowFailException, match=r"^MLFLOW_TRACKING_URI: nonsense; allowed:"):
            check_ground()


LIMITED = """
import time
from datetime import timedelta
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG

def limit(context):
    context["task"].execution_timeout = timedelta(seconds=1)

def sleep():
    print("began", flush=True)
    time.sleep(60)
    print("slept", flush=True)

with DAG("limited", schedule=None) as dag:
    PythonOperator(task_id="sleeps", python_callable=sleep, pre_execute=limit)

if __name__ == "__main__":
    dag.test()
"""


class TestLimits:
    """How long a Spark task may take, said to Airflow just before it runs."""

    @pytest.fixture
    def context(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """Return what a task of a night of `smoke` is given, whose plan is made."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        file = make_plan("smoke", "2026-11-19").save(tmp_path / "plan.json")
        instance = SimpleNamespace(
            xcom_pull=lambda **_: str(file), get_dagrun_state=lambda *_: "running"
        )
        run = SimpleNamespace(
            run_id="r",
            dag_id="isr_nightly_smoke",
            run_type="manual",
            logical_date=None,
            run_after=None,
        )
        params = {"night": "2026-11-19"}
        context = {"ti": instance, "dag_run": run, "params": params}
        take_claim(context, first=True)
        return context

    def limit(self, context: dict[str, Any], given: timedelta | None = None) -> timedelta | None:
        """Return the limit of a task after its hook."""
        job = SparkJob(task_id="job", job="/none.py", execution_timeout=given)
        claim_and_limit({**context, "task": job})
        limit: timedelta | None = job.execution_timeout
        return limit

    def test_of_the_experiments_size(self, context: dict[str, Any]) -> None:
        """Fifteen minutes, and three times what one core needs for all stages by force."""
        plan = Plan.load(Path(context["ti"].xcom_pull()))
        expected = timedelta(seconds=round(task_limit_s(plan)))
        assert self.limit(context) == expected
        assert expected > timedelta(minutes=15)

    def test_a_shorter_one_stays(self, context: dict[str, Any]) -> None:
        """Whoever runs Airflow may be stricter, by a cluster policy or its default."""
        assert self.limit(context, timedelta(minutes=1)) == timedelta(minutes=1)
        assert self.limit(context, timedelta(days=9)) == self.limit(context)

    @pytest.mark.slow  # a database of Airflow's is made
    def test_airflow_reads_it_after_the_hook(self, tmp_path: Path) -> None:
        """What is set just before a task runs holds for this run of it: Airflow's own order."""
        file = tmp_path / "dags" / "limited.py"
        file.parent.mkdir()
        file.write_text(LIMITED)
        variables = {
            "AIRFLOW_HOME": str(tmp_path),
            "AIRFLOW__CORE__DAGS_FOLDER": str(file.parent),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        }
        for command in (["-m", "airflow", "db", "migrate"], [str(file)]):
            done = finished([sys.executable, *command], env=os.environ | variables)
        said = f"{done.stdout}{done.stderr}"
        assert "began" in said
        assert "AirflowTaskTimeout" in said
        assert "slept" not in said


class TestLinks:
    """The button on a task."""

    def test_every_task_of_a_night_has_it(self, bag: Any) -> None:
        """As the web server gets it: in the serialized DAG, the mapped task among them."""
        from airflow.serialization.serialized_objects import DagSerialization

        tasks = DagSerialization.to_dict(bag.dags[NIGHTLY])["dag"]["tasks"]
        links = {
            task["__var"]["task_id"]: task["__var"].get("_operator_extra_links") for task in tasks
        }
        assert set(links) == set(bag.dags[NIGHTLY].task_ids)
        assert all(one == {"The night": "_link_NightLink"} for one in links.values()), links

    def test_a_shard_has_it_when_it_runs(self, bag: Any) -> None:
        """Airflow makes the mapped task's operators anew from their class."""
        shard = bag.dags[NIGHTLY].get_task("simulate").unmap({"application_args": ["a"]})
        assert [link.name for link in shard.operator_extra_links] == ["The night"]
