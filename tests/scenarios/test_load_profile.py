"""Nights with load: replays, backups, returns, disks that slow down, bursts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.panels import ScenarioRow
from isr_pipeline.tables.validation.frames import _told
from tests.approved import Approved


@pytest.fixture(scope="module")
def rows() -> list[ScenarioRow]:
    """A panel of the shipped experiment."""
    return list(draw_panel(load_experiment("load").resized(80).source, "regression"))


def of_pattern(rows: list[ScenarioRow], pattern: str) -> list[dict[str, Any]]:
    """Scenarios that a pattern drew."""
    return [json.loads(one.scenario_json) for one in rows if one.pattern == pattern]


def test_each_scenario_is_called_by_what_happens_in_it(rows: list[ScenarioRow]) -> None:
    """A return is no fault, and has its word all the same; the table's check agrees."""
    kinds = Counter(one.fault_kinds for one in rows)
    single = {"", "cold_reader", "slow_disk", "returned_broker", "produce_rate"}
    assert kinds.keys() == single | {"crash,slow_disk", "log_dir_failure,slow_disk"}
    assert all(_told(one.scenario_json)["kinds_in_scenario"] == one.fault_kinds for one in rows)


def test_who_returns_leads_nothing_and_lacks_what_has_come(rows: list[ScenarioRow]) -> None:
    """All its replicas are out of sync by as many records."""
    for scenario in of_pattern(rows, "returned_broker"):
        (topic,) = scenario["topics"]
        (back,) = {broker for late in topic["behind"].values() for broker in late}
        assert topic["behind"].keys() == topic["assignment"].keys()
        assert int(back) not in topic["leaders"].values()
        (records,) = {late[back] for late in topic["behind"].values()}
        assert 600 <= records / 4800 <= 7200


def test_a_backup_has_a_pace_and_a_replay_none(rows: list[ScenarioRow]) -> None:
    """They are strata of one pattern."""
    paces = {
        stratum: {
            json.loads(one.scenario_json)["faults"][0]["bytes_per_s"]
            for one in rows
            if one.stratum == stratum
        }
        for stratum in ("replay", "backup")
    }
    assert paces["replay"] == {None}
    assert None not in paces["backup"]


def test_a_cluster_of_unknown_machines_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approved: Approved
) -> None:
    """Before a night begins: its disks could not slow down."""
    copytree(REPOSITORY / "config", tmp_path / "config")
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(tmp_path / "config"))
    file = tmp_path / "config" / "experiments" / "load.yaml"
    file.write_text(file.read_text().replace("cloud-volume", "default"))
    with approved.refusal(InputError, HOME=tmp_path):
        load_experiment("load")
