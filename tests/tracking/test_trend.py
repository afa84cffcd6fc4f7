"""Trends of nights in a real MLflow store on SQLite."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from isr_pipeline.report.tracking import names
from isr_pipeline.report.tracking.client import delete_night, find_runs
from isr_pipeline.report.tracking.log_night import log_night
from isr_pipeline.report.tracking.trend import page
from isr_pipeline.tables import store
from isr_pipeline.verdicts import acceptance
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import load_verdict
from tests.verdicts.synthetic import LATER, NIGHT, Change, World, decided, scaled

LATENCY = "commit_latency_p99_ms"
LAST = "2026-11-23"


def logged(night: str, change: Change | None = None, world: World | None = None) -> None:
    """Judge a night, confirm panel included, and log it."""
    plan = (world or World()).write(night, change)
    judge_night(plan)
    decided(plan)
    log_night(plan, "manual__1")


def trends(client: MlflowClient, **tags: str) -> list[Run]:
    """All trends with these tags."""
    return find_runs(client, "synthetic/trends", kind="trend", **tags)


def curve(client: MlflowClient, name: str, metric: str) -> list[tuple[int, float]]:
    """(step, value) of the one trend of a configuration, in order."""
    (run,) = trends(client, config_name=name)
    return sorted((p.step, p.value) for p in client.get_metric_history(run.info.run_id, metric))


class TestTrends:
    """A run per configuration, a point per night."""

    def test_a_night_is_a_point_of_every_configuration(self, client: MlflowClient) -> None:
        """Steps are days since the first night, and the time of a point is its night's."""
        for night in (NIGHT, LATER, LAST):
            logged(night)
        assert {run.info.run_name for run in trends(client)} == {
            "trend: today",
            "trend: kip-501-s1",
            "trend: lag-20s",
        }
        assert [step for step, _ in curve(client, "today", LATENCY)] == [0, 1, 4]
        (run,) = trends(client, config_name="today")
        times = {p.timestamp for p in client.get_metric_history(run.info.run_id, LATENCY)}
        assert max(times) - min(times) == 4 * 86_400_000

    def test_all_count_from_the_same_night(self, client: MlflowClient) -> None:
        """A configuration that is new has its first point where the others have theirs."""
        logged(NIGHT)
        logged(LATER, world=World(names=("today", "kip-501-s1", "lag-20s", "new")))
        assert [step for step, _ in curve(client, "new", LATENCY)] == [1]
        notes = {run.data.tags["mlflow.note.content"] for run in trends(client)}
        assert len(notes) == 1
        assert NIGHT in notes.pop()

    def test_another_panel_names_the_trends_of_the_one_before(self, client: MlflowClient) -> None:
        """Of two trends of one configuration, the one without a panel is that of the last night."""
        logged(NIGHT)
        logged(LATER, world=World(panel_digest="c" * 64))
        names = {run.data.tags["panel_digest"][0]: run.info.run_name for run in trends(client)}
        assert {name.partition(" (")[2] for name in names.values()} == {"panel aaaaaaaa)", ""}
        assert names["a"].endswith("(panel aaaaaaaa)")
        logged(LAST)
        (run,) = trends(client, config_name="today", panel_digest="a" * 64)
        assert run.info.run_name == "trend: today"
        (run,) = trends(client, config_name="today", panel_digest="c" * 64)
        assert run.info.run_name == "trend: today (panel cccccccc)"

    def test_the_night_links_to_them(self, client: MlflowClient) -> None:
        """The parent's note links to all trends, a child's to its own."""
        logged(NIGHT)
        (parent,) = find_runs(client, "synthetic", kind="night")
        known = trends(client)[0].info.experiment_id
        assert known != parent.info.experiment_id
        panel = parent.data.tags["panel_digest"]
        assert (
            f"[trends of nights]({page(known, panel)})" in parent.data.tags["mlflow.note.content"]
        )
        (child,) = find_runs(client, "synthetic", kind="configuration", config_name="today")
        note = child.data.tags["mlflow.note.content"]
        assert f"[its nights so far]({page(known, panel, 'today')})" in note
        assert "tags.config_name%20%3D%20%27today%27" in page(known, panel, "today")

    def test_a_night_logged_again_replaces_its_point(self, client: MlflowClient) -> None:
        """The points of other nights stay, and no deleted run remains."""
        logged(NIGHT)
        logged(LATER)
        before = curve(client, "today", LATENCY)
        logged(NIGHT, scaled(LATENCY, 2.0, "today"))
        after = curve(client, "today", LATENCY)
        assert after == [(0, pytest.approx(2 * before[0][1])), before[1]]
        known = client.get_experiment_by_name("isr-pipeline/synthetic/trends")
        assert known is not None
        assert client.search_runs([known.experiment_id], run_view_type=2) == []

    def test_an_earlier_night_may_be_filled_in(self, client: MlflowClient) -> None:
        """A night before the first has a step below zero."""
        logged(LATER)
        logged(NIGHT)
        assert [step for step, _ in curve(client, "today", LATENCY)] == [-1, 0]

    def test_a_regression_marks_its_night(self, client: MlflowClient) -> None:
        """`regressed` is 1 in that night, for that configuration."""
        logged(NIGHT)
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        logged(LATER, scaled(LATENCY, 2.0, "today"))
        assert curve(client, "today", "regressed") == [(0, 0.0), (1, 1.0)]
        assert curve(client, "lag-20s", "regressed") == [(0, 0.0), (1, 0.0)]

    def test_what_regressed_is_drawn_first(self, client: MlflowClient) -> None:
        """MLflow charts the ten runs that its list shows first: red ones, then the reference."""
        logged(NIGHT)
        listed = [run.data.tags["config_name"] for run in trends(client)]
        assert listed[0] == "today"  # the newest first, as MLflow's own list
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        logged(LATER, scaled(LATENCY, 2.0, "lag-20s"))
        order = {run.data.tags["config_name"]: run.data.tags["order"] for run in trends(client)}
        assert sorted(order, key=lambda name: order[name])[:2] == ["lag-20s", "today"]
        assert "orderByKey=tags.%60order%60&orderByAsc=true" in page("1", "a" * 64)

    def test_points_are_of_the_regression_panel(self, client: MlflowClient) -> None:
        """What the confirm panel shows of a night that was looked at again is no point of it."""
        logged(NIGHT)
        acceptance.accept("synthetic", NIGHT, "Ada", "first", version="1234abc")
        logged(LATER, scaled(LATENCY, 2.0, "today"))
        verdict = load_verdict("synthetic", LATER)
        (today,) = (one for one in verdict.configurations if one.name == "today")
        summary = store.read_table("summary", "synthetic", LATER)
        (own,) = summary[(summary["config_name"] == "today") & (summary["metric"] == LATENCY)].value
        (_, (_, point)) = curve(client, "today", LATENCY)
        assert point == own
        assert point != today.metric(LATENCY).value

    def test_another_panel_begins_other_trends(self, client: MlflowClient) -> None:
        """Values of two panels are never one curve."""
        logged(NIGHT)
        logged(LATER, world=replace(World(), panel_digest="e" * 64))
        assert len(trends(client, config_name="today")) == 2

    def test_pruned_nights_keep_their_points(self, client: MlflowClient) -> None:
        """The runs of the night go; the curve stays whole."""
        logged(NIGHT)
        logged(LATER)
        assert delete_night("synthetic", NIGHT) == 4
        assert [step for step, _ in curve(client, "today", LATENCY)] == [0, 1]

    def test_what_was_cut_off_is_removed(self, client: MlflowClient) -> None:
        """A trend that lacks `complete` is debris, and gone after the next night."""
        logged(NIGHT)
        (run,) = trends(client, config_name="today")
        tags = {**run.data.tags, "status": names.WRITING}
        debris = client.create_run(run.info.experiment_id, run_name="trend: today", tags=tags)
        logged(LATER)
        (left,) = trends(client, config_name="today")
        assert left.info.run_id != debris.info.run_id
        assert [step for step, _ in curve(client, "today", LATENCY)] == [0, 1]
