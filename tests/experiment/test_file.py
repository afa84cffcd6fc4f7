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
WRONG = [
    (SMOKE, "horizon_ms: 30000", "horizn_ms: 30000", "horizn_ms: unknown key; allowed: horizon_ms"),
    (
        SMOKE,
        "seed: 501",
        "seed: true",
        "seed: true; allowed: a whole number 0..9223372036854775807",
    ),
    (
        SMOKE,
        "warmup_ms: 3000",
        "warmup_ms: 30000",
        "warmup_ms: 30000; allowed: less than horizon_ms (30000)",
    ),
    (
        SMOKE,
        "cluster: tiny",
        "cluster: tinny",
        "cluster: tinny; allowed: default, demo, small, tiny",
    ),
    (
        SMOKE,
        "faults: smoke",
        "faults: smok",
        "faults: smok; allowed: nightly, racks, smoke, stuck-reads",
    ),
    (
        SMOKE,
        "regression: 8",
        "regression: 3",
        "panels.regression: 3; allowed: at least 4 (one scenario of every stratum)",
    ),
    (
        SMOKE,
        "reference:",
        "shares: {quite: 1}\nreference:",
        "shares.quite: unknown stratum; allowed: quiet",
    ),
    (
        SMOKE,
        "reference:",
        "shares: {quiet: 0}\nreference:",
        "shares.quiet: 0; allowed: a number > 0",
    ),
    (
        SMOKE,
        "regression: 8",
        "regression: 0",
        "panels.regression: 0; allowed: a whole number 1..1000000",
    ),
    (
        SMOKE,
        "reference: today",
        "reference: todays",
        (
            "reference: todays; allowed: today, today-without-lock, solution-1, solution-1-locked, "
            "solution-2"
        ),
    ),
    (
        SMOKE,
        "budget: {scenarios: 400",
        "budget: {scenarios: 0",
        "budget.scenarios: 0; allowed: a whole number 1..1000000",
    ),
    (
        SMOKE,
        "budget: {scenarios: 400",
        "budget: {scenarios: 9000000000",
        "budget.scenarios: 9000000000; allowed: a whole number 1..1000000",
    ),
    (
        SMOKE,
        "budget: {scenarios: 400",
        "budget: {scenarios: 15",
        "budget.scenarios: 15; allowed: at least 16 (regression and confirm panel)",
    ),
    (
        SMOKE,
        "minutes: 10",
        "minutes: 0",
        "budget.minutes: 0; allowed: a number > 0 and <= 1440",
    ),
    (
        SMOKE,
        "minutes: 10",
        "minutes: 1441",
        "budget.minutes: 1441; allowed: a number > 0 and <= 1440",
    ),
    (
        SMOKE,
        "replica.lag.time.max.ms: 4000",
        "replica.lag.time.max.ms: -1",
        "base.replica.lag.time.max.ms: -1; allowed: a whole number 2..1125899906842",
    ),
    (
        SMOKE,
        "replica.lag.time.max.ms: 4000",
        "replica.lag.time.max: 4000",
        (
            "base.replica.lag.time.max: unknown key; allowed: replica.lag.time.max.ms "
            "(isr-pipeline keys lists all keys)"
        ),
    ),
    (
        SMOKE,
        "set: {rules.isr_lock: none}",
        "set: {rules.isr_lock: no}",
        (
            "groups[0].candidates[1].set.rules.isr_lock: no; allowed: none, completion, rw_always, "
            "rw_precheck"
        ),
    ),
    (
        SMOKE,
        "set: {rules.isr_lock: none}",
        "set: {cluster.release: 0.8.2}",
        (
            "groups[0].candidates[1].set.cluster.controller: kraft; allowed: "
            "zookeeper (KRaft only with "
            "2.7-3.2, 3.3-3.6, 3.7+, 4.0, 4.1+)"
        ),
    ),
    (
        SMOKE,
        "name: solution-1-locked",
        "name: solution-1",
        (
            "groups[1].candidates[1].name: solution-1; allowed: a name not yet used (by "
            "groups[1].candidates[0])"
        ),
    ),
    (
        SMOKE,
        "name: solution-1-locked",
        "name: Solution One",
        (
            "groups[1].candidates[1].name: Solution One; allowed: a name of a-z, "
            "0-9, . _ + - (at most 60)"
        ),
    ),
    (
        SMOKE,
        "set: {rules.isr_lock: none}",
        "set: {follower.fetch.process.time.max.ms: 100}",
        (
            "groups[0].candidates[1]: today-without-lock does the same as today; "
            "allowed: configurations "
            "that differ in a key that their rules read"
        ),
    ),
    (
        SMOKE,
        "  - name: kip-501\n",
        "  - name: nothing\n  - name: kip-501\n",
        "groups[1]: no configuration; allowed: at least one candidate or grid",
    ),
    (
        SMOKE,
        "  - name: kip-501\n",
        "  - name: kip-501\n    grids: [{name: g, axes: {}}]\n",
        "groups[1].grids[0].axes: {}; allowed: a mapping of at least one key to its values",
    ),
    (
        SMOKE,
        "  - name: kip-501\n",
        (
            "  - name: kip-501\n    grids: [{name: g, axes: {num.io.threads: "
            "{label: io, values: []}}}]\n"
        ),
        "groups[1].grids[0].axes.num.io.threads.values: []; allowed: a list of at least one value",
    ),
    (
        SMOKE,
        "  - name: kip-501\n",
        (
            "  - name: kip-501\n    grids: [{name: g, axes: {num.io.threads: "
            "{label: io, values: [0]}}}]\n"
        ),
        "groups[1].grids[0].axes.num.io.threads.values[0]: 0; allowed: a whole number 1..1024",
    ),
    (
        SMOKE,
        "  - name: kip-501\n",
        (
            "  - name: kip-501\n    grids: [{name: g, axes: {num.io.thread: "
            "{label: io, values: [1]}}}]\n"
        ),
        (
            "groups[1].grids[0].axes.num.io.thread: unknown key; allowed: num.io.threads, "
            "num.network.threads (isr-pipeline keys lists all keys)"
        ),
    ),
    (
        "clusters/tiny.yaml",
        "  - {id: 1003, log_dirs: [data-1]}\n",
        "",
        "topics[0].replication_factor: 3; allowed: a whole number 1..2 (the brokers)",
    ),
    (
        "faults/smoke.yaml",
        "{pause: 1,",
        "{paus: 1,",
        "strata.follower.patterns.paus: unknown pattern; allowed: pause",
    ),
    (
        "faults/smoke.yaml",
        "population: 0.6",
        "population: 0",
        "strata.quiet.population: 0; allowed: a number > 0",
    ),
    (
        "faults/smoke.yaml",
        "pause.duration_ms: {log_uniform: [5000, 8000]}",
        "",
        (
            "parameters.pause.duration_ms: missing (pattern pause draws it); "
            "allowed: a distribution: "
            "log_uniform, uniform or choice"
        ),
    ),
    (
        "faults/smoke.yaml",
        "log_uniform: [5000, 8000]",
        "log_uniform: [8000, 5000]",
        (
            "parameters.pause.duration_ms.log_uniform: [8000, 5000]; allowed: two "
            "numbers [low, high], "
            "0 < low <= high"
        ),
    ),
    (
        "faults/smoke.yaml",
        "log_uniform: [5000, 8000]",
        "uniform: [-2000, 5000]",
        (
            "parameters.pause.duration_ms.uniform[0]: -2000; allowed: milliseconds "
            ">= 0 (below 2^50 "
            "microseconds)"
        ),
    ),
    (
        "faults/smoke.yaml",
        "{log_uniform: [5000, 8000]}",
        "{uniform: [1, 2], log_uniform: [1, 2]}",
        (
            "parameters.pause.duration_ms: log_uniform, uniform; allowed: one of "
            "log_uniform, uniform, "
            "choice"
        ),
    ),
    (
        "faults/smoke.yaml",
        "pause.duration_ms",
        "pause.duratio_ms",
        (
            "parameters.pause.duratio_ms: unknown parameter; allowed: pause.duration_ms, "
            "cpu.duration_ms"
        ),
    ),
    (
        "faults/smoke.yaml",
        "[[unexpected, 1]]",
        "[[unexpectd, 1]]",
        (
            "parameters.partition_error.error.choice[0]: unexpectd; allowed: storage, unexpected, "
            "fenced_epoch, corrupt_record"
        ),
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "line"), WRONG)
def test_wrong(edit: Edit, name: str, old: str, new: str, line: str) -> None:
    """A mistake is named with its file, field, value and what is allowed."""
    edit(name, old, new)
    assert refusal() == f"{name}: {line}"


def test_unknown_experiment() -> None:
    """An experiment that is not there is answered with those that are."""
    with pytest.raises(InputError) as caught:
        load_experiment("operatorss")
    assert (
        str(caught.value)
        == "experiment: operatorss; allowed: demo-cluster, history, operators, proposals, smoke"
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
