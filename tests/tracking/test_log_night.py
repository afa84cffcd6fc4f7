"""A night in a real MLflow store on SQLite."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy
from mlflow import MlflowClient
from mlflow.entities import Run

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.report.tracking import log_night as logging
from isr_pipeline.report.tracking.client import delete_night, find_runs
from isr_pipeline.report.tracking.log_night import (
    attach_report,
    find_parent,
    log_night,
    pin_baseline,
    retract,
)
from isr_pipeline.report.tracking.names import config_note, night_note
from isr_pipeline.report.tracking.pages import logged_experiments
from isr_pipeline.report.tracking.trend import page
from isr_pipeline.tables import store
from isr_pipeline.verdicts import acceptance
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import (
    ConfigVerdict,
    Figures,
    MetricVerdict,
    Per,
    Status,
    accept_command,
    load_verdict,
)
from tests.validation.tables import warn
from tests.verdicts.synthetic import LATER, NIGHT, World, decided, scaled


def judged(night: str = NIGHT) -> World:
    """A judged night, never accepted."""
    world = World(scenarios=30)
    judge_night(world.write(night))
    return world


def transactions_of_a_night(night: str, children: int) -> int:
    """Transactions with the store while a night of so many configurations is logged."""
    world = World(scenarios=2, names=tuple(f"c{index}" for index in range(children)))
    plan = world.write(night)
    judge_night(plan)
    seen: list[object] = []

    def note(connection: object) -> None:
        seen.append(connection)

    sqlalchemy.event.listen(sqlalchemy.Engine, "commit", note)
    try:
        log_night(plan, "manual__1")
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "commit", note)
    return len(seen)


def runs(client: MlflowClient, **tags: str) -> list[Run]:
    """Active runs with these tags."""
    return find_runs(client, "synthetic", **tags)


def source(run: Run) -> tuple[str, str]:
    """Kind and address of a run's dataset."""
    assert run.inputs is not None
    (given,) = run.inputs.dataset_inputs
    return given.dataset.source_type, json.loads(given.dataset.source)["uri"]


class TestLogNight:
    """A parent per night, a child per configuration."""

    def test_one_parent_and_a_child_per_configuration(self, client: MlflowClient) -> None:
        """Children name their parent and carry the tags that a filter needs."""
        parent = log_night(judged().plan(NIGHT), "manual__1")
        children = runs(client, kind="configuration")
        assert len(children) == 3
        for child in children:
            tags = child.data.tags
            assert tags["mlflow.parentRunId"] == parent
            assert (tags["night"], tags["status"], tags["dag_run_id"]) == (
                NIGHT,
                "complete",
                "manual__1",
            )
            assert tags["verdict"] == "baseline"
            assert child.info.status == "FINISHED"

    def test_columns_of_the_list_are_filled(self, client: MlflowClient) -> None:
        """User, source and version; a run began when the night did; its dataset is the panel."""
        plan = judged().plan(NIGHT)
        file = Home.from_environment().night_dir(plan.experiment, NIGHT) / "plan.json"
        plan.save(file)
        os.utime(Path(str(file)), (1_000_000, 1_000_000))
        log_night(plan, "manual__1")
        for run in runs(client, night=NIGHT):
            assert run.data.tags["mlflow.user"]
            assert run.data.tags["mlflow.source.type"] == "JOB"
            assert run.info.start_time // 1_000 == 1_000_000
            assert run.info.end_time > run.info.start_time
            assert run.inputs is not None
            (given,) = run.inputs.dataset_inputs
            assert given.dataset.digest == plan.panel_digest[:36]

    def test_tables_can_be_compared(self, client: MlflowClient) -> None:
        """MLflow's own form of a table; once, whatever is attached later."""
        plan = judged().plan(NIGHT)
        parent = log_night(plan, "manual__1")
        attach_report(plan)
        listed = {one.path for one in client.list_artifacts(parent, "tables")}
        assert listed == {f"tables/{name}.json" for name in ("summary", "verdicts", "reference")}
        file = client.download_artifacts(parent, "tables/verdicts.json")
        expected = store.count_rows("verdicts", plan.experiment, NIGHT)
        assert len(json.loads(Path(file).read_text())["data"]) == expected

    def test_every_run_names_the_version_that_planned_it(self, client: MlflowClient) -> None:
        """Parent and children carry the release's number beside the code's commit."""
        plan = judged().plan(NIGHT).model_copy(update={"version": "3.2.1"})
        log_night(plan, "manual__1")
        tags = [run.data.tags for run in find_runs(client, "synthetic", night=NIGHT)]
        assert {(one["version"], one["code_version"]) for one in tags} == {("3.2.1", "1234abc")}

    def test_every_child_fills_every_column(self, client: MlflowClient) -> None:
        """Comparing children shows no hole: same params, same metrics, all finite.

        Time under min ISR has no ratio where min.insync.replicas is another.
        """
        log_night(judged().plan(NIGHT), "manual__1")
        children = runs(client, kind="configuration")
        assert len({frozenset(child.data.params) for child in children}) == 1
        every = [
            {name for name in one.data.metrics if "time under min ISR" not in name}
            for one in children
        ]
        assert [one ^ every[0] for one in every] == [set()] * len(every)
        assert "replica.lag.time.max.ms" in children[0].data.params
        assert all(math.isfinite(v) for child in children for v in child.data.metrics.values())

    def test_every_night_has_its_own_panel(self, client: MlflowClient) -> None:
        """The address of a dataset is that of the night's table, though the panel is the same."""
        for night in (NIGHT, LATER):
            parent = client.get_run(log_night(judged(night).plan(night), "manual__1"))
            assert source(parent) == (
                "local",
                str(store.table_path("scenarios", "synthetic", night)),
            )

    def test_a_panel_in_a_store(
        self, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its address is the store's, of the kind that MLflow has for it."""
        plan = judged().plan(NIGHT)
        monkeypatch.setenv("ISR_PIPELINE_ROOT", "s3://bucket/tables")
        parent = client.get_run(log_night(plan, "manual__1"))
        place = f"s3://bucket/tables/scenarios/experiment=synthetic/night={NIGHT}"
        assert source(parent) == ("s3", place)

    def test_running_again_replaces(self, client: MlflowClient) -> None:
        """One set of runs counts; the former one stays, says what replaced it, and so do files."""
        plan = judged().plan(NIGHT)
        first = log_night(plan, "manual__1")
        second = log_night(plan, "manual__2")
        assert find_parent(client, "synthetic", NIGHT) == second
        assert len(runs(client, night=NIGHT, status="complete")) == 4
        former = runs(client, night=NIGHT, status="replaced")
        assert {run.data.tags["superseded_by"] for run in former} == {second}
        assert len(former) == 4
        assert client.get_run(first).info.run_name == f"{NIGHT} baseline (replaced)"
        third = log_night(plan, "manual__3")
        assert len(runs(client, night=NIGHT)) == 12
        assert client.get_run(first).data.tags["superseded_by"] == second
        assert client.get_run(second).data.tags["superseded_by"] == third

    def test_other_nights_stay(self, client: MlflowClient) -> None:
        """Replacing one night leaves the others alone."""
        log_night(judged(NIGHT).plan(NIGHT), "a")
        log_night(judged(LATER).plan(LATER), "b")
        log_night(judged(NIGHT).plan(NIGHT), "c")
        for night in (NIGHT, LATER):
            assert len(runs(client, night=night, status="complete")) == 4

    def test_regressed_is_found_by_its_tag(self, client: MlflowClient) -> None:
        """`tags.verdict = 'regressed'` finds the child."""
        world = judged()
        world.scenarios = 120
        judge_night(world.write(NIGHT))
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        plan = world.write(LATER, scaled("isr_flaps_per_partition_hour", 2.0, "lag-20s"))
        judge_night(plan)
        decided(plan)
        parent = log_night(plan, "manual__1")
        (found,) = runs(client, verdict="regressed", kind="configuration")
        assert found.data.tags["config_name"] == "lag-20s"
        assert found.data.tags["regressed_metrics"] == "isr_flaps_per_partition_hour"
        tags = client.get_run(parent).data.tags
        assert tags["verdict"] == "regressed"
        assert tags["headline"] in tags["mlflow.note.content"]

    def test_a_regressed_night_is_seen_in_the_list(self, client: MlflowClient) -> None:
        """Its name says what regressed, and it and that configuration have the red sign."""
        world = World(scenarios=120)
        judge_night(world.write(NIGHT))
        log_night(world.plan(NIGHT), "manual__1")
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        plan = world.write(LATER, scaled("isr_flaps_per_partition_hour", 2.0, "lag-20s"))
        judge_night(plan)
        decided(plan)
        log_night(plan, "manual__2")
        listed = {run.info.run_name: run.info.status for run in runs(client)}
        assert listed[f"{NIGHT} baseline"] == "FINISHED"
        assert listed[f"{LATER} regressed: lag-20s"] == "FAILED"
        statuses = {
            run.info.run_name: run.info.status
            for run in runs(client, night=LATER, kind="configuration")
        }
        assert statuses == {"today": "FINISHED", "kip-501-s1": "FINISHED", "lag-20s": "FAILED"}

    def test_an_experiment_says_what_it_asks(self, client: MlflowClient) -> None:
        """It has the classic kind; its description leads to trends and to the last comparison."""
        plan = judged().plan(NIGHT)
        log_night(plan, "manual__1")
        experiment = client.get_experiment_by_name("isr-pipeline/synthetic")
        assert experiment is not None
        assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
        note = experiment.tags["mlflow.note.content"]
        assert plan.definition.description in note
        trends = client.get_experiment_by_name("isr-pipeline/synthetic/trends")
        assert trends is not None
        assert f"({page(trends.experiment_id, plan.panel_digest)})" in note
        assert f"[{NIGHT}: report](" in note
        assert "[configurations side by side](#/compare-runs?" in note

    def test_a_backfill_leaves_the_latest_night_above_the_list(self, client: MlflowClient) -> None:
        """A night of an earlier date that is logged later is not the last one."""
        for night in (LATER, NIGHT):
            log_night(judged(night).plan(night), "manual__1")
        experiment = client.get_experiment_by_name("isr-pipeline/synthetic")
        assert experiment is not None
        assert f"[{LATER}: report](" in experiment.tags["mlflow.note.content"]

    def test_an_experiment_of_somebody_else_is_refused(
        self, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """On a shared server: nothing of it is changed, and another prefix helps."""
        theirs = client.create_experiment("isr-pipeline/synthetic", tags={"team": "theirs"})
        plan = judged().plan(NIGHT)
        with pytest.raises(Refused) as refused:
            log_night(plan, "manual__1")
        assert str(refused.value) == (
            "MLflow has an experiment isr-pipeline/synthetic that is not ours (no tag isr_pipeline "
            "= synthetic); nothing was logged, set ISR_PIPELINE_MLFLOW_PREFIX to another beginning "
            "of names"
        )
        assert client.get_experiment(theirs).tags == {"team": "theirs"}
        assert client.search_runs([theirs]) == []
        monkeypatch.setenv("ISR_PIPELINE_MLFLOW_PREFIX", "kafka/")
        log_night(plan, "manual__1")
        assert client.get_experiment_by_name("kafka/synthetic") is not None

    def test_logged_experiments_are_known_without_mlflow(self, client: MlflowClient) -> None:
        """`make ui` prints an address for each; a damaged note of a night is left out."""
        assert logged_experiments() == {}
        log_night(judged().plan(NIGHT), "manual__1")
        known = client.get_experiment_by_name("isr-pipeline/synthetic")
        assert known is not None
        damaged = Home.from_environment().night_dir("another", NIGHT)
        damaged.mkdir(parents=True)
        (damaged / "mlflow.json").write_text("{")
        assert logged_experiments() == {"synthetic": known.experiment_id}

    def test_the_note_leads_to_all_configurations_side_by_side(self, client: MlflowClient) -> None:
        """The link names every child, and the experiment."""
        parent = log_night(judged().plan(NIGHT), "manual__1")
        note = client.get_run(parent).data.tags["mlflow.note.content"]
        (link,) = re.findall(r"\[configurations side by side\]\((.*?)\)", note)
        query = parse_qs(urlsplit(link).fragment.partition("?")[2])
        children = {run.info.run_id for run in runs(client, kind="configuration")}
        assert set(json.loads(query["runs"][0])) == children
        assert json.loads(query["experiments"][0]) == [client.get_run(parent).info.experiment_id]

    def test_panel_is_the_input_dataset(self, client: MlflowClient) -> None:
        """The parent names the panel by its digest."""
        parent = log_night(judged().plan(NIGHT), "manual__1")
        inputs = client.get_run(parent).inputs
        assert inputs is not None
        (given,) = inputs.dataset_inputs
        assert given.dataset.digest == "a" * 36
        assert given.tags[0].value == "standing panel"

    def test_tables_and_verdict_are_artifacts(self, client: MlflowClient) -> None:
        """The small tables and the night's files hang on the parent; the report when it is made."""
        plan = judged().plan(NIGHT)
        parent = log_night(plan, "manual__1")
        names = {one.path for one in client.list_artifacts(parent)}
        assert names == {"plan.json", "verdict.json", "changed.json", "tables"}
        folder = Home.from_environment().night_dir("synthetic", NIGHT)
        (folder / "report.html").write_text("<!doctype html>")
        assert attach_report(plan) == parent
        assert "report.html" in {one.path for one in client.list_artifacts(parent)}

    def test_warnings_about_the_data(self, client: MlflowClient) -> None:
        """What a night's tables break that did not stop it is a tag, and a line of the note."""
        world = World(scenarios=2)
        warned, sound = world.write(NIGHT), world.write(LATER)
        warn(warned)
        tags = []
        for plan in (warned, sound):
            judge_night(plan)
            tags.append(client.get_run(log_night(plan, "manual__1")).data.tags)
        assert [one["warnings"] for one in tags] == ["outcomes.event_budget_spent", ""]
        assert ["* warning: " in one["mlflow.note.content"] for one in tags] == [True, False]

    def test_a_note_of_many_configurations_fits(self, client: MlflowClient) -> None:
        """MLflow keeps a note in 8 000 characters: the rest is counted."""
        names = tuple(f"configuration-with-a-long-name-{index:03d}" for index in range(150))
        world = World(scenarios=2, names=names)
        judge_night(world.write(NIGHT))
        note = night_note(load_verdict("synthetic", NIGHT), {})
        assert len(note) < 8_000
        assert note.splitlines()[-1].endswith("more: see the report")

    @pytest.mark.usefixtures("client")
    def test_a_child_takes_fourteen_transactions(self) -> None:
        """A configuration more costs at most fourteen transactions with the store."""
        few, many = (
            transactions_of_a_night(NIGHT, children=4),
            transactions_of_a_night(LATER, children=14),
        )
        assert (many - few) / 10 <= 14


class TestTrouble:
    """A night is logged whole or not at all."""

    def test_failure_removes_what_was_made(
        self, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A disk that fills up half-way leaves no run, and the night of before stays."""
        plan = judged().plan(NIGHT)
        before = log_night(plan, "manual__1")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(logging, "_attach_files", full)
        with pytest.raises(Refused) as refusal:
            log_night(plan, "manual__2")
        assert "No space left on device; nothing was logged" in str(refusal.value)
        assert len(str(refusal.value).splitlines()) == 1
        assert find_parent(client, "synthetic", NIGHT) == before
        assert len(runs(client, night=NIGHT)) == 4

    def test_debris_of_a_killed_attempt_is_no_night(self, client: MlflowClient) -> None:
        """A run that still says `writing` is not found as done and goes with the next attempt."""
        plan = judged().plan(NIGHT)
        parent = log_night(plan, "manual__1")
        client.set_tag(parent, "status", "writing")
        assert find_parent(client, "synthetic", NIGHT) is None
        log_night(plan, "manual__2")
        assert len(runs(client, night=NIGHT)) == 4

    def test_read_only_store_is_one_line(
        self, client: MlflowClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """A store that cannot be written is named, with what to do."""
        monkeypatch.chdir(tmp_path)  # MLflow makes a folder for what it takes for a relative path
        plan = judged().plan(NIGHT)
        file = Home.from_environment().path / "mlflow.db"
        uri = f"sqlite:///file:{file}?mode=ro&uri=true"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        with pytest.raises(Refused) as refusal:
            log_night(plan, "manual__1")
        assert str(refusal.value) == (
            f"MLflow store {uri} cannot be used: attempt to write a readonly database; nothing "
            "was logged, make it writable or set MLFLOW_TRACKING_URI"
        )

    def test_unreachable_server_is_one_line(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A tracking server that does not answer is named, without its password."""
        plan = judged().plan(NIGHT)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:secret@127.0.0.1:9")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        with pytest.raises(Refused) as refusal:
            log_night(plan, "manual__1")
        assert str(refusal.value).startswith("MLflow store http://127.0.0.1:9 cannot be used: ")
        assert "secret" not in str(refusal.value)

    def test_night_never_judged_is_refused(self, client: MlflowClient) -> None:
        """There is nothing to log without a verdict."""
        plan = World(scenarios=5).write(NIGHT)
        with pytest.raises(Refused, match="not judged"):
            log_night(plan, "manual__1")
        assert runs(client, night=NIGHT) == []


class TestPinAndPrune:
    """The baseline is marked, old nights are forgotten."""

    def test_the_accepted_night_is_marked(self, client: MlflowClient) -> None:
        """Who, when and why are tags of the parent; the former baseline is unmarked."""
        world = judged(NIGHT)
        first = log_night(world.plan(NIGHT), "a")
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        assert pin_baseline("synthetic") == first
        tags = client.get_run(first).data.tags
        assert (tags["baseline"], tags["baseline_accepted_by"]) == ("accepted", "Ada")
        assert tags["baseline_why"] == "first"
        judged(LATER)
        second = log_night(world.plan(LATER), "b")
        acceptance.accept("synthetic", LATER, "Bob", "second", version="1234abc")
        assert pin_baseline("synthetic") == second
        assert client.get_run(first).data.tags["baseline"] == "former"

    def test_nothing_is_left_to_do_about_it(self, client: MlflowClient) -> None:
        """Its note had the command that accepts it, and keeps the rest."""
        parent = log_night(judged(NIGHT).plan(NIGHT), "a")
        before = client.get_run(parent).data.tags["mlflow.note.content"].splitlines()
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        pin_baseline("synthetic")
        after = client.get_run(parent).data.tags["mlflow.note.content"].splitlines()
        gone = f"* `{accept_command('synthetic', NIGHT)}`"
        assert gone in before
        assert after == [line for line in before if line != gone]

    def test_the_mark_survives_running_again(self, client: MlflowClient) -> None:
        """A baseline night that is logged again keeps its mark."""
        plan = judged(NIGHT).plan(NIGHT)
        log_night(plan, "a")
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        again = log_night(plan, "a")
        assert client.get_run(again).data.tags["baseline"] == "accepted"

    def test_a_later_run_of_its_date_has_no_mark(self, client: MlflowClient) -> None:
        """What was accepted keeps it, though it is replaced, and is still there after pruning."""
        began = f"{NIGHT}T03:11:00Z"
        plan = replace(judged(NIGHT), run="first", began=began).plan(NIGHT)
        first = log_night(plan, "first")
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        plan = World(scenarios=30, run="second", began=began).write(NIGHT)
        judge_night(plan)
        second = log_night(plan, "second")
        assert client.get_run(first).data.tags["baseline"] == "accepted"
        assert "baseline" not in client.get_run(second).data.tags
        assert delete_night("synthetic", NIGHT) == 4
        assert len(runs(client, night=NIGHT)) == 4

    def test_a_baseline_of_an_older_release(self, client: MlflowClient) -> None:
        """It says no run: one that began after the acceptance is another."""
        first = log_night(judged(NIGHT).plan(NIGHT), "first")
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        plan = World(scenarios=30, run="second", began="2999-01-01T00:00:00Z").write(NIGHT)
        judge_night(plan)
        second = log_night(plan, "second")
        assert client.get_run(first).data.tags["baseline"] == "accepted"
        assert "baseline" not in client.get_run(second).data.tags

    def test_delete_night_removes_its_runs(self, client: MlflowClient) -> None:
        """Four runs go, the other night's stay."""
        log_night(judged(NIGHT).plan(NIGHT), "a")
        log_night(judged(LATER).plan(LATER), "b")
        assert delete_night("synthetic", NIGHT) == 4
        assert runs(client, night=NIGHT) == []
        assert len(runs(client, night=LATER)) == 4
        assert delete_night("synthetic", NIGHT) == 0


class TestRetract:
    """A run that was logged, and failed before it became the night."""

    def test_has_no_verdict(self, client: MlflowClient) -> None:
        """Its runs say why; those that it had replaced are the night's again."""
        plan = judged().plan(NIGHT)
        first = log_night(plan, "manual__1")
        second = log_night(plan, "manual__2")
        retract("synthetic", NIGHT, "manual__2", "report failed: no room", restore=True)
        assert find_parent(client, "synthetic", NIGHT) == first
        for run in runs(client, dag_run_id="manual__2"):
            assert run.data.tags["status"] == "no verdict"
            assert str(run.info.run_name).endswith(" (no verdict)")
        tags = client.get_run(second).data.tags
        assert tags["mlflow.note.content"] == "**report failed: no room**"
        assert not any("(replaced)" in str(run.info.run_name) for run in runs(client, night=NIGHT))

    def test_of_the_night_itself(self, client: MlflowClient) -> None:
        """Where its data was refused afterwards, the date has no verdict any more."""
        plan = judged().plan(NIGHT)
        log_night(plan, "manual__1")
        log_night(plan, "manual__2")
        retract("synthetic", NIGHT, "manual__2", "outcomes refused", restore=False)
        assert find_parent(client, "synthetic", NIGHT) is None

    def test_of_a_run_that_logged_nothing(self, client: MlflowClient) -> None:
        """Nothing is touched."""
        parent = log_night(judged().plan(NIGHT), "manual__1")
        retract("synthetic", NIGHT, "manual__2", "plan failed", restore=True)
        assert find_parent(client, "synthetic", NIGHT) == parent


def test_a_ratio_has_its_scenarios() -> None:
    """The table of a configuration's description says of how many each ratio is."""
    flaps = MetricVerdict(
        metric="isr_flaps_per_partition_hour", status=Status.REGRESSED, value=9.0,
        baseline_value=6.0, ratio=1.5, ratio_low=1.2, ratio_high=1.9, q=0.004, scenarios=872,
        pair=Figures(
            per=Per.YEAR, scenarios=872, before=6.0, after=9.0, ratio=1.5, low=1.2, high=1.9
        ),
    )  # fmt: skip
    one = ConfigVerdict(name="today", config_id="c", status=Status.REGRESSED, metrics=(flaps,))
    heading, _, row = [
        line for line in config_note(one, "x", "today", None).splitlines() if line.startswith("|")
    ]
    assert heading == "| metric | status | baseline to tonight | ratio (interval) | scenarios | q |"
    assert row.endswith(" | 6 to 9 events a year | 1.5 × (1.2 to 1.9) | 872 | 0.004 |")
