"""A night through Airflow, Spark, Great Expectations and MLflow: whole, again, cut off, broken."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.night.status import KILLED, RUNS
from tests.end_to_end.conftest import EXPERIMENT, Site
from tests.tables import from_table

NIGHT = "2026-11-19"
TABLES = {"scenarios", "outcomes", "events", "summary", "verdicts"}


def digests(told: dict[str, Any]) -> dict[str, str]:
    """Table -> digest."""
    return {name: one["digest"] for name, one in told["tables"].items()}


def dag_runs(site: Site) -> list[str]:
    """States of all runs of the DAG, oldest first."""
    asked = "select state from dag_run where dag_id = 'isr_nightly_smoke' order by id"
    return [state for (state,) in site.airflow(asked)]


def note(site: Site, run_id: str) -> str:
    """What the page of a run says of it."""
    asked = "select content from dag_run_note join dag_run on dag_run_id = id where run_id = ?"
    return "".join(content for (content,) in site.airflow(asked, run_id))


def later(site: Site) -> str:
    """What came of a run of the night since the one that is the night."""
    return str(site.show(NIGHT)["later"])


@pytest.fixture(scope="module")
def first(site: Site) -> dict[str, Any]:
    """The first night of a fresh home."""
    said = site.night(NIGHT)
    told = site.show(NIGHT)
    return {"said": said, **told}


class TestWholeNight:
    """The first night."""

    def test_says_what_it_found(self, first: dict[str, Any]) -> None:
        """The terminal shows every configuration with its verdict, and where the rest is."""
        assert f"night {NIGHT} of {EXPERIMENT}: baseline" in first["said"]
        for one in first["configs"]:
            assert one["name"] in first["said"]
        for place in ("report     ", "Data Docs  ", "MLflow     "):
            assert place in first["said"]

    def test_shows_itself_as_json(self, first: dict[str, Any]) -> None:
        """`night show --json` has tables with digests, and configurations with all they have."""
        assert first["night"] == NIGHT
        assert first["experiment"] == EXPERIMENT
        assert first["status"] == "baseline"
        assert set(first["tables"]) == TABLES
        assert all(len(one["digest"]) == 64 for one in first["tables"].values())
        params = {frozenset(one["params"]) for one in first["configs"]}
        metrics = {frozenset(one["metrics"]) for one in first["configs"]}
        assert len(params) == 1
        assert len(metrics) == 1
        assert "offline_partition_rate" in next(iter(metrics))

    def test_every_configuration_has_a_run(self, site: Site, first: dict[str, Any]) -> None:
        """MLflow has a parent run and one child per configuration."""
        assert site.mlflow_runs(NIGHT) == 1 + len(first["configs"])

    def test_task_logs_are_where_airflow_reads_them(
        self, site: Site, first: dict[str, Any]
    ) -> None:
        """Every task, and every shard, has a log of its attempt."""
        folder = site.home / "airflow" / "logs" / "dag_id=isr_nightly_smoke"
        logs = list((folder / f"run_id={first['dag_run_id']}").rglob("attempt=1.log"))
        tasks = {path.relative_to(folder).parts[1] for path in logs}
        assert {"task_id=plan", "task_id=gate", "task_id=summarize"} <= tasks
        assert any("map_index=0" in path.parts for path in logs)
        assert any("pairs/s" in path.read_text() for path in logs)

    def test_run_is_recorded(self, site: Site, first: dict[str, Any]) -> None:
        """Airflow has the run as a success."""
        assert dag_runs(site)[0] == "success"
        assert first["dag_run_id"].startswith(f"manual__{NIGHT}T")

    def test_run_has_its_note(self, site: Site, first: dict[str, Any]) -> None:
        """Callbacks are called here too, though Airflow gives them nothing that tasks left."""
        said = f"**{NIGHT} of {EXPERIMENT}: {first['headline']}**"
        assert note(site, first["dag_run_id"]).startswith(said)

    def test_leaves_report_and_data_docs(self, site: Site, first: dict[str, Any]) -> None:
        """The report and the checks' pages are there."""
        assert Path(first["places"]["report"]).stat().st_size > 1000
        assert Path(first["places"]["data_docs"]).is_file()

    def test_ends_clean(self, site: Site, first: dict[str, Any]) -> None:
        """No process is left, and nothing half-written."""
        assert site.processes() == []
        assert site.debris() == []


@pytest.fixture(scope="module")
def stopped(site: Site, first: dict[str, Any]) -> str:
    """What a run of the same night said that was stopped while it simulates."""
    command = ["night", "run", "--experiment", EXPERIMENT, "--night", NIGHT]
    started = site.start(*command)
    started.wait_for("simulate")
    time.sleep(2)
    assert started.interrupt() == 130
    return started.said()


@pytest.mark.slow
class TestInterrupted:
    """Ctrl-C in the middle."""

    def test_says_so(self, stopped: str) -> None:
        """The last line says what was stopped and what to do."""
        assert stopped.splitlines()[-1] == (
            f"night {NIGHT} of {EXPERIMENT} stopped; run it again to have it whole"
        )

    def test_leaves_no_debris(self, site: Site, stopped: str) -> None:
        """No process, no half table, and a run that is failed, not running for ever."""
        assert site.processes() == []
        assert site.debris() == []
        assert dag_runs(site)[-1] == "failed"

    def test_the_night_is_as_it_was(self, site: Site, first: dict[str, Any], stopped: str) -> None:
        """Its verdict and tables are those of the first run; a line says what came of this one."""
        told = site.show(NIGHT)
        assert told["status"] == first["status"]
        assert digests(told) == digests(first)
        assert later(site).endswith(" was interrupted: stopped by hand")


@pytest.fixture(scope="module")
def orphaned(site: Site, stopped: str) -> None:
    """A run of the same night whose command line is killed while it simulates."""
    started = site.start("night", "run", "--experiment", EXPERIMENT, "--night", NIGHT)
    started.wait_for("simulate")
    started.kill()
    site.wait_for_the_end()


@pytest.mark.slow
class TestOrphaned:
    """The command itself is killed: nobody is left to clean up."""

    def test_ends_with_it(self, site: Site, orphaned: None) -> None:
        """No process is left, and the night says that a run of it was killed."""
        assert site.processes() == []
        assert later(site).endswith(f" was interrupted: {KILLED}")

    def test_is_never_resumed(self, site: Site, orphaned: None, killed: str) -> None:
        """The next run marks it as failed, removes what it wrote, and says so."""
        there = f"night {NIGHT} of {EXPERIMENT} is there (baseline)"
        assert f"{there}: this run takes its place once it is whole" in killed
        assert re.search(rf"run manual__{NIGHT}T\S+ of isr_\w+ was killed: it is marked", killed)
        assert dag_runs(site)[-2] == "failed"


@pytest.fixture(scope="module")
def killed(site: Site, orphaned: None) -> str:
    """What a run of the same night said whose Airflow was killed while it simulates."""
    started = site.start("night", "run", "--experiment", EXPERIMENT, "--night", NIGHT)
    started.wait_for("simulate")
    for child in psutil.Process(started.process.pid).children(recursive=True):
        if any(word.endswith("dag_test") for word in child.cmdline()[:4]):
            child.kill()
            break
    assert started.process.wait(timeout=180) == 1
    return started.said()


@pytest.mark.slow
class TestKilled:
    """The program that schedules a night is killed in the middle; then the night again."""

    def test_says_so(self, killed: str) -> None:
        """The last line says how Airflow ended, and where its messages are."""
        assert killed.splitlines()[-1].startswith(
            "Airflow ended before the run did: killed by signal 9; its messages are in "
        )

    def test_leaves_no_debris(self, site: Site, killed: str) -> None:
        """No process, no half table, and a run that is failed, not running for ever."""
        assert site.processes() == []
        assert site.debris() == []
        assert dag_runs(site)[-1] == "failed"
        assert " was interrupted" in later(site)

    def test_again_is_the_same_night(self, site: Site, first: dict[str, Any], killed: str) -> None:
        """After all three: the same digests of every table, as many MLflow runs."""
        runs = 1 + len(first["configs"])
        site.night(NIGHT)
        assert digests(site.show(NIGHT)) == digests(first)
        assert later(site) == ""
        assert site.mlflow_runs(NIGHT) == runs


@pytest.mark.slow
class TestBrokenShard:
    """A shard whose Java is killed, and killed again when it is tried again on its own Java."""

    BROKEN = "2026-11-17"

    def test_is_red(self, site: Site, first: dict[str, Any]) -> None:
        """The run fails, says which shard, and there is no night of that date to read."""
        over = threading.Event()
        killer = threading.Thread(target=self.kill_last_shard, args=(site, over))
        killer.start()
        try:
            said = site.night(self.BROKEN, status=1)
        finally:
            over.set()
            killer.join()
        told = site.show(self.BROKEN)
        assert told["status"] == "failed"
        began = f"night {self.BROKEN} of {EXPERIMENT} has no verdict: simulate_"
        assert re.match(rf"{began}\d+ failed: .*killed", told["reason"])
        assert told["reason"] in said
        assert told["tables"] == {}
        assert dag_runs(site)[-1] == "failed"

    def kill_last_shard(self, site: Site, over: threading.Event) -> None:
        """Kill every Java of the run whenever the plan's last shard is being written."""
        while not over.wait(0.05):
            if not self.last_is_written(site):
                continue
            for one in psutil.process_iter():
                try:
                    words = one.cmdline()
                    if (
                        words
                        and Path(words[0]).name == "java"
                        and (one.environ().get("ISR_PIPELINE_HOME") == str(site.home))
                    ):
                        one.kill()
                except psutil.Error:
                    continue

    def last_is_written(self, site: Site) -> bool:
        """Whether the last shard's part is being written; folders may go while one looks."""
        parts = site.home / "tables" / RUNS
        try:
            return any(parts.glob(f"**/_writing-shard={self.last_shard(site)}-*"))
        except OSError:
            return False

    def last_shard(self, site: Site) -> str:
        """Name of the plan's last shard."""
        from isr_pipeline.experiment.plan import Plan

        runs = site.home / "nights" / EXPERIMENT / RUNS
        plans = list(runs.glob(f"{self.BROKEN}.*/plan.json"))
        return Plan.load(plans[0]).shards[-1].name if plans else "not planned yet"


class TestDamagedTable:
    """A file of a table is cut short."""

    def test_one_line(self, site: Site, first: dict[str, Any]) -> None:
        """`night show` names table, night and file in one line, and what to do."""
        folder = site.home / "tables" / "outcomes" / f"experiment={EXPERIMENT}" / f"night={NIGHT}"
        file = next(folder.rglob("*.parquet"))
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        try:
            said = site.run("night", "show", NIGHT, "--experiment", EXPERIMENT, status=1)
        finally:
            file.write_bytes(whole)
        told = f"table outcomes of night {NIGHT} of {EXPERIMENT} is damaged, run the night again: "
        assert said.startswith(told)
        assert str(file) in said
        assert said.count("\n") == 1


class TestMistakes:
    """What a user can write wrongly is refused before anything runs."""

    @from_table
    def test_one_line(self, site: Site, arguments: list[str], line: str) -> None:
        """One line on standard error, exit status 2."""
        assert site.run(*arguments, status=2) == f"{line}\n"

    @pytest.mark.slow
    @from_table
    def test_nothing_to_stand_on(self, site: Site, variable: str, value: str, found: str) -> None:
        """One line that names the variable, before Airflow starts."""
        command = ["night", "run", "--experiment", EXPERIMENT]
        said = site.run(*command, status=2, more={variable: value})
        assert said.startswith(f"{variable}: {found}; allowed: ")
        assert said.count("\n") == 1

    def test_no_such_night(self, site: Site) -> None:
        """A night that never ran is refused with a hint."""
        said = site.run("night", "show", "2001-01-01", status=1)
        assert said.startswith("there is no night 2001-01-01")

    def test_sources_are_in_place(self) -> None:
        """The command runs from the checkout that is tested."""
        assert (REPOSITORY / "dags" / "isr_nightly.py").is_file()
