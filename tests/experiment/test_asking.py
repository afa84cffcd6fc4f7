"""`experiment new`: a question about a cluster, written as an experiment."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isr_pipeline.cli import app
from isr_pipeline.errors import InputError
from isr_pipeline.experiment import asking
from isr_pipeline.experiment.asking import Answer, new_experiment
from isr_pipeline.experiment.file import Experiment, healthy_scenario, load_experiment
from isr_pipeline.experiment.grid import configurations
from isr_pipeline.home import REPOSITORY
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import apply

CLUSTER = """
release: 3.9.1
controller: kraft
settings: {replica.lag.time.max.ms: 10000}
brokers: [{id: 1}, {id: 2}, {id: 3}]
topics:
  - {name: own, partitions: 3, replication_factor: 3, settings: {min.insync.replicas: 2}, produce: [{records_per_s: 10}]}
  - {name: plain, partitions: 2, replication_factor: 3, produce: [{records_per_s: 10}]}
"""  # noqa: E501 - one topic a line


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of our own, with a cluster in it."""
    folder = tmp_path / "config"
    shutil.copytree(REPOSITORY / "config", folder)
    (folder / "clusters" / "mine.yaml").write_text(CLUSTER)
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
    return folder


def ask(*asks: str, override_topics: bool = False) -> Answer:
    """Ask about our cluster under the small fault profile."""
    return new_experiment("q", "mine", "smoke", asks, override_topics=override_topics)


def refusal(*asks: str) -> str:
    """Give the error line of a question."""
    with pytest.raises(InputError) as caught:
        ask(*asks)
    return str(caught.value)


class TestSuccess:
    """What is written."""

    def test_today_is_the_reference(self, config: Path) -> None:
        """The product of the values is compared with the cluster as it stands."""
        answer = ask("replica.lag.time.max.ms=5000,10000,30000", "min.insync.replicas=1,2")
        assert answer.file == config / "experiments" / "q.yaml"
        experiment = load_experiment("q")
        assert experiment.reference == "today"
        found = configurations(experiment)
        assert [one.name for one in found if one.group == "asked"] == [
            "today",
            "lag.time.max.ms-5000_min.insync.replicas-1",
            "lag.time.max.ms-5000_min.insync.replicas-2",
            "lag.time.max.ms-10000_min.insync.replicas-2",
            "lag.time.max.ms-30000_min.insync.replicas-1",
            "lag.time.max.ms-30000_min.insync.replicas-2",
        ]
        today = next(one for one in found if one.name == "today")
        assert today.params["replica.lag.time.max.ms"] == 10000

    def test_published_advice_comes_along(self) -> None:
        """Rivals by name, but those that are asked anyway."""
        ask("replica.lag.time.max.ms=60000")
        found = {one.name: one for one in configurations(load_experiment("q"))}
        assert found.keys() == {
            *("today", "lag.time.max.ms-60000", "conduktor-throughput"),
            *("conduktor-durability", "conduktor-latency"),
        }
        assert found["conduktor-latency"].why.startswith("Conduktor")

    def test_releases(self) -> None:
        """What an upgrade costs is asked by release numbers."""
        ask("release=3.9.2,4.1")
        found = {one.name: one.params for one in configurations(load_experiment("q"))}
        assert found["release-4.1"]["cluster.release"] == "3.7+"
        assert "release-3.9.2" not in found  # as today

    def test_a_key_of_topics_stays_theirs(self) -> None:
        """The answer says for how many partitions."""
        answer = ask("min.insync.replicas=3")
        line = "min.insync.replicas: 3 partitions of 1 topics have their own, and keep it"
        assert line in answer.lines

    def test_override_topics(self) -> None:
        """Asked everywhere, the topics' own values give way."""
        ask("min.insync.replicas=3", override_topics=True)
        experiment = load_experiment("q")
        asked = next(
            one for one in configurations(experiment) if one.name == "min.insync.replicas-3"
        )
        assert asked.overrides == {"min.insync.replicas": 3, "topics.min.insync.replicas": 3}

    def test_what_fits_into_ten_minutes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Slower scenarios make smaller panels; the answer says what the full one takes."""
        monkeypatch.setattr(asking, "_seconds_a_pair", lambda _: 2.0)
        answer = ask("replica.lag.time.max.ms=5000")
        count = len(configurations(load_experiment("q")))
        size = int(480 * 2 / (2.0 * count))
        assert load_experiment("q").panels.regression == size
        full = round((2.0 * count * 200 / 2 + 120) / 60)
        assert answer.lines[-2] == (
            f"{size} scenarios instead of 200 for the first answer (about 10 minutes); the full "
            f"one takes about {full} minutes: panels in the file"
        )

    def test_what_does_not_fit_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Then the published advice is left out first, and that is said."""
        monkeypatch.setattr(asking, "_seconds_a_pair", lambda _: 60.0)
        answer = ask("replica.lag.time.max.ms=5000")
        left_out = "left out for the first answer: published advice (4 configurations)"
        assert left_out in answer.lines
        assert {one.group for one in configurations(load_experiment("q"))} == {"asked"}

    def test_a_large_cluster_is_reduced(
        self, config: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Partitions are left out first, until half of the full panel fits; all of it is said.

        A pair takes a millisecond for each partition that is simulated: 6 s for all of them.
        """
        text = CLUSTER.replace("name: plain, partitions: 2,", "name: plain, partitions: 5997,")
        (config / "clusters" / "mine.yaml").write_text(text)
        monkeypatch.setattr(asking, "_seconds_a_pair", lambda one: _simulated(one) / 1000)
        answer = ask("replica.lag.time.max.ms=5000,20000,30000")
        experiment = load_experiment("q")
        count = len(configurations(experiment))
        kept = int(float(f"{0.9 * 480_000 * 2 / (100 * count):.2g}"))
        assert _simulated(experiment) == kept
        assert experiment.panels.regression == int(480_000 * 2 / (kept * count)) >= 100
        assert experiment.budget.minutes == 10
        assert experiment.budget.scenarios == 10 * experiment.panels.regression
        left_out = next(line for line in answer.lines if line.startswith("left out"))
        assert left_out.startswith(
            f"left out for the first answer: {6000 - kept} of 6000 partitions: {kept} stand for all"
        )
        minutes = round((6.0 * count * 200 / 2 + 120) / 60)
        full = f"the full one takes about {minutes} minutes: panels and reduction in the file"
        assert full in answer.lines[-2]

    def test_a_small_cluster_is_never_reduced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Five partitions stay five, however long a pair takes."""
        monkeypatch.setattr(asking, "_seconds_a_pair", lambda _: 30.0)
        ask("replica.lag.time.max.ms=5000")
        assert not load_experiment("q").reduced

    def test_command(self) -> None:
        """The command says what will be compared and how to get the answer."""
        run = CliRunner().invoke(
            app,
            [
                *("experiment", "new", "q", "--cluster", "mine", "--faults", "smoke"),
                *("--ask", "replica.lag.time.max.ms=5000"),
            ],
        )
        assert run.exit_code == 0
        assert "answer: make nightly EXPERIMENT=q\n" in run.stdout


def _simulated(experiment: Experiment) -> int:
    """How many partitions an experiment simulates."""
    healthy = healthy_scenario(experiment, "F")
    return sum(len(topic.assignment) for topic in healthy.topics)


class TestRefused:
    """Nothing is written then, not even a draft."""

    @pytest.mark.parametrize(
        ("ask_", "line"),
        [
            ("x", "--ask: x; allowed: KEY=V1,V2"),
            ("min.insync.replicas=", "--ask: min.insync.replicas=; allowed: KEY=V1,V2"),
            (
                "min.insync.replicas=1,1",
                "--ask: min.insync.replicas: 1,1; allowed: each value once",
            ),
            ("min.insync.replicas=x", "--ask: min.insync.replicas: x; allowed: a whole number"),
            ("min.insync.repicas=2", "--ask: min.insync.repicas: unknown key; allowed: min.insync"),
            (
                "zookeeper.session.timeout.ms=6000",
                "--ask: zookeeper.session.timeout.ms: a key that 3.9 under kraft does not read",
            ),
            (
                "follower.fetch.process.time.max.ms=9",
                "--ask: follower.fetch.process.time.max.ms: a key of a proposal",
            ),
            ("background.threads=3", "--ask: background.threads: a key that no simulated rule"),
            ("release=9.9", "--ask: release: "),
            ("release=2.2", "--ask: cluster.controller: kraft; allowed: zookeeper"),
            (
                "replica.lag.time.max.ms=10000",
                "--ask: replica.lag.time.max.ms=10000; allowed: a value that is not today's",
            ),
        ],
    )
    def test_what_is_asked(self, config: Path, ask_: str, line: str) -> None:
        """A key that brokers of the release do not have, a value that the key cannot have."""
        before = sorted((config / "experiments").iterdir())
        assert refusal(ask_).startswith(line)
        assert sorted((config / "experiments").iterdir()) == before

    def test_twice(self) -> None:
        """All values of a key stand together."""
        line = refusal("min.insync.replicas=2", "min.insync.replicas=3")
        assert line.startswith("--ask: min.insync.replicas: asked twice")

    def test_a_name_that_is_taken(self) -> None:
        """An experiment is never written over."""
        with pytest.raises(InputError, match=r"a name that .* does not have"):
            new_experiment("smoke", "mine", "smoke", ["min.insync.replicas=3"])

    def test_no_such_cluster(self) -> None:
        """The clusters that there are stand in the line."""
        with pytest.raises(
            InputError, match="new: --cluster: theirs; allowed: default, demo, mine, small"
        ):
            new_experiment("q", "theirs", "smoke", ["min.insync.replicas=3"])


def test_topics_may_be_given_a_key(tmp_path: Path) -> None:
    """An override under ``topics`` is every topic's own."""
    (tmp_path / "c.yaml").write_text(CLUSTER)
    (tmp_path / "s.yaml").write_text("{scenario_id: s, horizon_ms: 9, cluster: {file: c.yaml}}")
    scenario = apply(load_scenario(tmp_path / "s.yaml"), {"topics.min.insync.replicas": 3})
    assert [topic.settings for topic in scenario.topics] == [{"min.insync.replicas": 3}] * 2
