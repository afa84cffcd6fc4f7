"""The few numbers of a configuration that MLflow compares."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from isr_pipeline.report.tracking.client import connect, find_runs
from isr_pipeline.report.tracking.compared import RATIO, SCENARIOS, VALUE, metrics_of
from isr_pipeline.report.tracking.log_night import log_night
from isr_pipeline.report.tracking.names import HOW_TO_READ, NOTE_CHARACTERS, experiment_note
from isr_pipeline.report.tracking.pages import charted
from isr_pipeline.verdicts.quantities import FLAPS, TESTABLE
from isr_pipeline.verdicts.record import NightVerdict
from isr_pipeline.worlds.columns import METRICS
from tests.approved import Approved
from tests.verdicts.synthetic import LATER
from tests.verdicts.test_figures import night
from tests.verdicts.test_reference import world_of
from tests.verdicts.test_year import counted

METRICS_MAX = 25


@dataclass(frozen=True)
class Logged:
    """A night with a year, in which lag-20s has more flaps than the reference, and its runs."""

    verdict: NightVerdict
    client: MlflowClient
    parent: str
    children: list[Run]


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Iterator[Logged]:
    """Logged once: nothing below changes it."""
    home = tmp_path_factory.mktemp("home")
    shutil.copy(empty_store, home / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISR_PIPELINE_HOME", str(home))
        for name in ("ISR_PIPELINE_ROOT", "MLFLOW_TRACKING_URI"):
            patch.delenv(name, raising=False)
        verdict, client = night(counted()), connect()
        parent = log_night(world_of().plan(LATER), "manual__1")
        children = find_runs(client, verdict.experiment, kind="configuration")
        yield Logged(verdict, client, parent, children)


@pytest.fixture
def verdict(logged: Logged) -> NightVerdict:
    """What was judged."""
    return logged.verdict


def numbers(verdict: NightVerdict, name: str, section: str) -> list[float]:
    """Those of a section of a configuration, in the order in which MLflow lists them."""
    found = metrics_of(verdict)[f"id-{name}"]
    return [found[each] for each in sorted(found) if each.startswith(f"{section}/")]


class TestMetrics:
    """What a configuration's run has."""

    def test_names(self, verdict: NightVerdict, approved: Approved) -> None:
        """As MLflow sorts them: what counts most comes first, with its unit and direction."""
        approved(sorted(metrics_of(verdict)["id-today"]))

    def test_a_ratio_is_as_judged(self, verdict: NightVerdict) -> None:
        """It is the one that every page prints, with the number of scenarios that it is of."""
        (one,) = (each for each in verdict.against_reference if each.name == "lag-20s")
        pairs = {each.metric: each.pair for each in one.differences}
        told = [pairs[name] for name in METRICS if name in pairs]
        assert numbers(verdict, "lag-20s", RATIO) == [pair.ratio for pair in told]
        assert numbers(verdict, "lag-20s", SCENARIOS) == [pair.scenarios for pair in told]
        assert pairs[FLAPS].ratio == pytest.approx(1.5)

    def test_a_value_is_a_years(self, verdict: NightVerdict) -> None:
        """It is the figure of the table of configurations, and every configuration has it."""
        for one in verdict.configurations:
            told = [one.own[name] for name in METRICS if name in one.own]
            assert numbers(verdict, one.name, VALUE) == told
            assert len(told) == len(one.metrics)

    def test_the_reference_is_1(self, verdict: NightVerdict) -> None:
        """So that its column has no hole, and a chart has it."""
        ratios, scenarios = (numbers(verdict, "today", one) for one in (RATIO, SCENARIOS))
        assert set(ratios) == {1.0}
        assert len(ratios) == len(scenarios)
        assert set(scenarios) == set(numbers(verdict, "lag-20s", SCENARIOS))

    def test_there_are_few_whatever_is_tested(self, verdict: NightVerdict) -> None:
        """An installation that tests every metric has the first of them."""
        one, beside = verdict.configuration("id-lag-20s"), verdict.against_reference[0]
        assert beside.config_id == one.config_id
        judged, difference = one.metrics[0], beside.differences[0]
        tested = [judged.model_copy(update={"metric": name}) for name in TESTABLE]
        compared = [difference.model_copy(update={"metric": name}) for name in TESTABLE]
        own = {"metrics": tuple(tested), "own": dict.fromkeys(TESTABLE, 1.0)}
        update = {
            "configurations": (one.model_copy(update=own),),
            "against_reference": (beside.model_copy(update={"differences": tuple(compared)}),),
        }
        found = metrics_of(verdict.model_copy(update=update))[one.config_id]
        assert len(TESTABLE) > len(found) / 3
        assert len(found) <= METRICS_MAX

    def test_from_none_there_is_no_ratio(self, verdict: NightVerdict) -> None:
        """MLflow has no infinity that a chart could draw; the value says it."""
        one = verdict.against_reference[0]
        flaps = one.difference(FLAPS)
        assert flaps is not None
        newly = flaps.model_copy(update={"pair": flaps.pair.model_copy(update={"ratio": None})})
        against = (one.model_copy(update={"differences": (newly,)}),)
        found = metrics_of(verdict.model_copy(update={"against_reference": against}))[one.config_id]
        assert not [name for name in found if name.startswith((RATIO, SCENARIOS))]


class TestRuns:
    """What of it is in the store."""

    def test_as_they_are(self, logged: Logged) -> None:
        """MLflow takes the names, and nothing else is in a configuration's run."""
        found = {run.data.tags["config_id"]: run.data.metrics for run in logged.children}
        assert found == metrics_of(logged.verdict)

    def test_tables_have_the_limits(self, logged: Logged) -> None:
        """Of values, of ratios to the reference, and of what changed since the baseline."""
        columns = {}
        for table in ("summary", "reference", "verdicts"):
            file = logged.client.download_artifacts(logged.parent, f"tables/{table}.json")
            columns[table] = json.loads(Path(file).read_text())["columns"]
        assert {"value", "low", "high", "scenarios"} <= set(columns["summary"])
        assert {"ratio", "ratio_low", "ratio_high", "q", "scenarios"} <= set(columns["reference"])
        assert {"delta", "q", "ratio_low", "ratio_high"} <= set(columns["verdicts"])

    @pytest.mark.parametrize("order", ["attributes.start_time DESC", "tags.`order` ASC"])
    def test_in_the_experiments_order(self, logged: Logged, order: str) -> None:
        """MLflow lists the newest first, and the prepared charts are sorted by the tag."""
        known = logged.children[0].info.experiment_id
        wanted = f"tags.mlflow.parentRunId = '{logged.parent}'"
        listed = logged.client.search_runs([known], wanted, order_by=[order])
        expected = [one.name for one in logged.verdict.configurations]
        assert [run.info.run_name for run in listed] == expected

    def test_the_note_leads_to_the_charts(self, logged: Logged) -> None:
        """Of this night's configurations alone."""
        note = logged.client.get_run(logged.parent).data.tags["mlflow.note.content"]
        known = logged.children[0].info.experiment_id
        address = charted(known, f"tags.mlflow.parentRunId = '{logged.parent}'")
        assert f"[their ratios, charted]({address})" in note


def test_a_description_says_what_they_are(approved: Approved, verdict: NightVerdict) -> None:
    """Somebody who compares has no other page: links, the last night's values, how to read on."""
    approved(experiment_note("smoke", "What it asks.", {"trends": "#/x"}, verdict))


def test_a_description_of_many_configurations_has_room_for_all_it_explains(
    verdict: NightVerdict,
) -> None:
    """MLflow takes so many characters; rows that do not fit are counted."""
    many = verdict.model_copy(update={"configurations": verdict.configurations * 100})
    note = experiment_note("smoke", "What it asks.", {"trends": "#/x"}, many)
    assert len(note) <= NOTE_CHARACTERS
    assert note.endswith(HOW_TO_READ)
    assert " more: see the report" in note


def test_stars_and_underscores_of_names_are_no_markdown(verdict: NightVerdict) -> None:
    """A point of a grid is called by its values, some of which are lists."""
    first, *others = verdict.configurations
    named = verdict.model_copy(
        update={"configurations": (first.model_copy(update={"name": "a_b_@l=*"}), *others)}
    )
    assert r"| a\_b\_@l=\* |" in experiment_note("smoke", "What it asks.", {}, named)
