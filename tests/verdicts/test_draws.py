"""Two draws of a reduced cluster: what each calls a configuration, and whether they agree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isr_pipeline.cli import app
from isr_pipeline.errors import InputError
from isr_pipeline.home import REPOSITORY
from isr_pipeline.verdicts.draws import Called, Draws, compare_draws
from isr_pipeline.worlds.columns import TESTED

CLUSTER = """
release: 3.9.1
controller: kraft
settings: {replica.lag.time.max.ms: 30000}
brokers: [{id: 1}, {id: 2}, {id: 3}, {id: 4}]
topics:
  - {name: t, partitions: 40, replication_factor: 3, settings: {min.insync.replicas: 2}, produce: [{acks: all, records_per_s: 20, records_per_batch: 10}]}
"""  # noqa: E501 - one topic a line
EXPERIMENT = """
seed: 5
cluster: mine
faults: smoke
horizon_ms: 60000
panels: {regression: 16, confirm: 16}
reference: lag-30
groups:
  - name: g
    candidates:
      - {name: lag-30}
      - {name: lag-5, set: {replica.lag.time.max.ms: 5000}}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of our own, with a cluster and an experiment in it."""
    folder = tmp_path / "config"
    shutil.copytree(REPOSITORY / "config", folder)
    (folder / "clusters" / "mine.yaml").write_text(CLUSTER)
    (folder / "experiments" / "q.yaml").write_text(EXPERIMENT)
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
    return folder


def draws(*calls: tuple[str, str]) -> Draws:
    """Two draws that call a configuration so, metric by metric."""
    both = {
        ("lag-5", f"metric-{i}"): (Called(first, 0.5), Called(second, 1.5))
        for i, (first, second) in enumerate(calls)
    }
    return Draws(("first", "second"), 16, both)


class TestAgreement:
    """What is said of two draws."""

    def test_they_agree(self) -> None:
        """The same calls, and a call that one draw leaves open, are no contradiction."""
        said = list(draws(("better", "better"), ("open", "worse"), ("open", "open")).lines())
        assert said[0] == "two draws agree, on 16 scenarios"
        assert said[3] == (
            "of 3 comparisons with the reference 2 are called the same, 1 by one draw only, "
            "0 contradict"
        )
        assert said[4] == "  lag-5 metric-0: better (0.5 x), better (1.5 x)"

    def test_they_contradict(self) -> None:
        """Better in one and worse in the other: too few partitions are kept."""
        two = draws(("better", "worse"), ("better", "open"))
        assert two.contradictions == [("lag-5", "metric-0")]
        said = list(two.lines())
        assert said[0] == "two draws contradict each other, on 16 scenarios"
        assert said[-1] == "keep more partitions, or more scenarios"


class TestCommand:
    """`experiment check --reduction`."""

    def test_half_of_the_partitions(self, config: Path) -> None:
        """Without a reduction in the file each draw keeps half; every tested metric is called."""
        two = compare_draws("q", scenarios=12)
        assert two.reduced[0].startswith("20 of 40 partitions stand for all")
        assert two.reduced[0] != two.reduced[1]
        assert set(two.calls) == {("lag-5", metric) for metric in TESTED}

    def test_as_the_file_says(self, config: Path) -> None:
        """The experiment's own number of partitions, and its draw and the next."""
        path = config / "experiments" / "q.yaml"
        path.write_text(EXPERIMENT + "reduction: {partitions: 16, draw: 7}\n")
        run = CliRunner().invoke(
            app, ["experiment", "check", "q", "--reduction", "--scenarios", "8", "--json"]
        )
        assert "16 of 40 partitions stand for all (4 classes, none joined; draw 7)" in (run.stdout)
        assert "draw 8" in run.stdout
        assert run.exit_code == int('"agree": false' in run.stdout)

    def test_too_few_partitions(self, config: Path) -> None:
        """The least stands in the error line."""
        with pytest.raises(InputError) as caught:
            compare_draws("q", partitions=4)
        assert str(caught.value).endswith(
            "q.yaml: reduction: partitions: 4; allowed: at least 12 "
            "(3 for each broker that leads partitions)"
        )

    def test_options_that_need_it(self, config: Path) -> None:
        """How many partitions and scenarios are options of the comparison."""
        run = CliRunner().invoke(app, ["experiment", "check", "q", "--partitions", "20"])
        assert isinstance(run.exception, InputError)
        assert str(run.exception) == (
            "experiment check: --partitions: 20; allowed: only together with --reduction"
        )
