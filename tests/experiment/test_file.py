"""Experiment, cluster and fault files, and how they are refused."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import REPOSITORY, config_dir
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.cost import cost_lines, rounded
from isr_pipeline.experiment.file import healthy_scenario, load_experiment, read_experiment_file
from isr_pipeline.worlds.load import load_of
from tests.approved import Approved
from tests.saying import refused
from tests.tables import from_table

Edit = Callable[[str, str, str], None]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Give a way to spoil a copy of ``config/``: file, old text (which is there), new text."""
    folder = tmp_path / "config"
    shutil.copytree(REPOSITORY / "config", folder)
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
    monkeypatch.chdir(folder)

    def replace(name: str, old: str, new: str) -> None:
        path = folder / name
        content = path.read_text()
        assert old in content
        path.write_text(content.replace(old, new, 1))

    return replace


def mistakes() -> tuple[InputError, ...]:
    """What is wrong with the smoke experiment."""
    with pytest.raises(InputError) as caught:
        configurations(load_experiment("smoke"))
    return caught.value.each


def refusal() -> str:
    """Give the error line of the smoke experiment, which has one, without its number."""
    (one,) = mistakes()
    return str(one.at_line(0))


SMOKE = "experiments/smoke.yaml"


@from_table
def test_wrong(edit: Edit, name: str, old: str, new: str, line: str) -> None:
    """A mistake is named with its file, field, value and what is allowed."""
    edit(name, old, new)
    assert refusal() == f"{name}: {line}"


def test_unknown_experiment() -> None:
    """An experiment that is not there is answered with those that are."""
    said = refused(lambda: load_experiment("operatorss"))
    assert (
        said == "experiment: operatorss; allowed: "
        "demo-cluster, history, load, operators, proposals, smoke"
    )


def test_by_path(edit: Edit) -> None:
    """An experiment may be named by the path of its file."""
    assert load_experiment("experiments/smoke.yaml") == load_experiment("smoke")


def test_digest(edit: Edit) -> None:
    """The digest moves with what decides the tables, not with the description or the place."""
    before = load_experiment("smoke").digest
    edit(SMOKE, "a quick look at whether all works", "a quick look")
    assert load_experiment("smoke").digest == before
    edit("faults/smoke.yaml", "population: 0.6", "population: 0.5")
    assert load_experiment("smoke").digest != before


@pytest.mark.parametrize(
    "schedule", ["0 0 * * *", "*/15 6-8,20 * * 1-5", "59 23 28 12 6", "  30   2 * * * "]
)
def test_a_schedule(edit: Edit, schedule: str) -> None:
    """Five fields of numbers, ranges, lists and steps; it moves no digest."""
    before = load_experiment("smoke").digest
    edit(SMOKE, "seed:", f'schedule: "{schedule}"\nseed:')
    file = config_dir() / SMOKE
    assert read_experiment_file(file).schedule == " ".join(schedule.split())
    assert load_experiment("smoke").digest == before


@pytest.mark.parametrize(
    "schedule",
    ["midnight", "@daily", "0 0 * *", "60 0 * * *", "0 24 * * *", "0 0 29 * *", "0 0 * 13 *"]
    + ["0 0 * * 7", "5-1 0 * * *", "*/0 0 * * *", "٣ 0 * * *"],
)
def test_no_schedule(edit: Edit, schedule: str) -> None:
    """What is none, or never comes, is refused before Airflow sees it."""
    edit(SMOKE, "seed:", f'schedule: "{schedule}"\nseed:')
    with pytest.raises(InputError, match="a cron expression of five fields"):
        load_experiment("smoke")


@pytest.mark.parametrize("name", ["operators", "smoke"])
def test_common_period(name: str) -> None:
    """Produce and client requests of the shipped clusters repeat together within 0.1 s."""
    experiment = load_experiment(name)
    assert 0 < load_of(healthy_scenario(experiment)).period_us <= 100_000


def test_a_load_of_any_rate_is_read(edit: Edit, approved: Approved) -> None:
    """Rates that never repeat together are said to, and said to cost every event."""
    edit("clusters/tiny.yaml", "records_per_s: 100", "records_per_s: 99.7")
    experiment = load_experiment("smoke")
    assert load_of(healthy_scenario(experiment)).period_us == 0
    load, cost = cost_lines(experiment, 5)
    approved([load, cost])


def test_how_a_large_number_of_events_is_said() -> None:
    """Two digits and one word."""
    said = [rounded(number) for number in (7.2, 46_123.0, 1.24e6, 2.34e10)]
    assert said == ["7.2", "46 000", "1.2 million", "23 billion"]
