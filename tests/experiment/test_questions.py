"""`experiment new` without `--ask`: what a cluster's own values make worth asking."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.cli import app
from isr_pipeline.experiment.combinations import combined
from isr_pipeline.experiment.file import standing_cluster
from isr_pipeline.experiment.questions import QUESTIONS_MAX, Question, questions
from tests.approved import Approved
from tests.tables import from_table

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
ELR, LAG = "eligible.leader.replicas.version", "replica.lag.time.max.ms"
SESSION, FETCHERS = "broker.session.timeout.ms", "num.replica.fetchers"


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of our own."""
    folder = tmp_path / "config"
    shutil.copytree(REPOSITORY / "config", folder)
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
    return folder


def asked(
    config: Path, *own: dict[str, Any], settings: dict[str, Any] | None = None, **fields: Any
) -> tuple[Question, ...]:
    """What is worth asking of a cluster of ours, whose topics have these settings of their own."""
    produce = [{"acks": "all", "records_per_s": 10}]
    topics = [
        {"partitions": 3, "replication_factor": 3, "settings": one, "produce": produce}
        for one in own or ({},)
    ]
    text = {
        "release": "4.1",
        "controller": "kraft",
        "brokers": [{"id": one} for one in (1, 2, 3)],
        "settings": {MIN_ISR: 2} if settings is None else settings,
        "topics": [{"name": f"t{index}", **one} for index, one in enumerate(topics)],
        **fields,
    }
    (config / "clusters" / "mine.yaml").write_text(yaml.safe_dump(text))
    return questions(standing_cluster("mine"))


def named(found: tuple[Question, ...]) -> dict[str, tuple[str, ...]]:
    """Name -> what is asked."""
    return {one.name: one.asks for one in found}


class TestValues:
    """Each question has its reason in the cluster."""

    def test_min_isr_1(self, config: Path, approved: Approved) -> None:
        """A leader alone may acknowledge: of topics that take the cluster's value."""
        first, *_ = asked(config, {}, {MIN_ISR: 2}, settings={})
        assert (first.asks, first.override_topics) == ((f"{MIN_ISR}=2",), False)
        approved(first.why)

    def test_min_isr_1_of_topics(self, config: Path) -> None:
        """Where it is the topics' own, the question is asked of them."""
        first, *_ = asked(config, {MIN_ISR: 1})
        assert (first.name, first.override_topics) == ("min-isr", True)

    def test_no_question_lowers_min_isr(self, config: Path) -> None:
        """Asked of all topics it would lower that of another one."""
        assert "min-isr" not in named(asked(config, {MIN_ISR: 1}, {MIN_ISR: 3}))

    def test_min_isr_2_is_no_question(self, config: Path) -> None:
        """Nor are producers that wait for one replica only."""
        assert "min-isr" not in named(asked(config))

    def test_unclean(self, config: Path, approved: Approved) -> None:
        """Records may be lost; the partitions are counted."""
        (one,) = (q for q in asked(config, {UNCLEAN: True}, {}) if q.name == "unclean")
        assert (one.asks, one.override_topics) == ((f"{UNCLEAN}=false",), True)
        approved(one.why)

    def test_elr_is_off(self, config: Path) -> None:
        """In a cluster that was upgraded."""
        found = named(asked(config, features={ELR: 0}))
        assert found["elr"] == (f"{ELR}=1",)
        assert "elr" not in named(asked(config))

    def test_a_release_without_elr(self, config: Path) -> None:
        """An upgrade, which is asked with its feature and without."""
        found = named(asked(config, release="3.9.1"))
        assert found["release"] == ("release=4.1",)

    @from_table
    def test_lag_limit(self, config: Path, limit_ms: int, values: str, hint: str) -> None:
        """The limits that others have, but for today's; when a follower leaves is told."""
        found = asked(config, settings={MIN_ISR: 2, LAG: limit_ms})
        (one,) = (q for q in found if q.name == "lag-limit")
        assert one.asks == (f"{LAG}={values}",)
        assert hint in one.why

    def test_session(self, config: Path) -> None:
        """Shorter and longer ones."""
        assert named(asked(config))["session"] == (f"{SESSION}=6000,18000",)

    def test_zookeeper(self, config: Path) -> None:
        """Its sessions have a key of their own; an upgrade to 4.1 needs another controller."""
        found = named(asked(config, release="2.8.1", controller="zookeeper"))
        assert found["session"] == ("zookeeper.session.timeout.ms=6000,9000",)
        assert "release" not in found

    def test_fetchers(self, config: Path) -> None:
        """Where several partitions of a leader share a thread, and more threads would be new."""
        many = asked(config, {}, {}, {})
        assert named(many)["fetchers"] == (f"{FETCHERS}=2,4",)
        assert "fetchers" not in named(asked(config, settings={MIN_ISR: 2, FETCHERS: 4}))

    def test_what_nobody_takes(self, config: Path) -> None:
        """A key that every broker has for itself is no question."""
        brokers = [{"id": one, "settings": {LAG: 9000}} for one in (1, 2, 3)]
        assert "lag-limit" not in named(asked(config, brokers=brokers))

    def test_at_most_four(self, config: Path) -> None:
        """The most urgent ones: what concerns acknowledged records."""
        own: tuple[dict[str, Any], ...] = ({MIN_ISR: 1}, {UNCLEAN: True}, {})
        found = asked(config, *own, features={ELR: 0}, settings={MIN_ISR: 2})
        assert [one.name for one in found] == ["min-isr", "unclean", "elr", "lag-limit"]
        assert len(found) == QUESTIONS_MAX

    @pytest.mark.parametrize("name", ["default", "demo", "small", "tiny"])
    def test_of_the_shipped_clusters(self, name: str) -> None:
        """Each command can be asked."""
        today = standing_cluster(name)
        for one in questions(today):
            assert combined(one.asks, today, override_topics=one.override_topics)


class TestCommand:
    """What is printed."""

    def test_commands_to_paste(self, config: Path, approved: Approved) -> None:
        """Each below its reason; nothing is written."""
        before = sorted(config.rglob("*"))
        run = CliRunner().invoke(app, ["experiment", "new", "demo"], catch_exceptions=False)
        lines = run.stdout.splitlines()
        assert (len(lines), lines[0][:2]) == (2 * QUESTIONS_MAX, "# ")
        approved(lines[1])
        assert sorted(config.rglob("*")) == before

    def test_json_and_faults(self) -> None:
        """Other faults stay in the command."""
        words = ["experiment", "new", "demo", "--faults", "racks", "--json"]
        found = json.loads(CliRunner().invoke(app, words, catch_exceptions=False).stdout)
        assert {tuple(one) for one in found} == {("why", "command")}
        assert all(" --faults racks --ask " in one["command"] for one in found)

    @pytest.mark.parametrize("option", [["--name", "q"], ["--override-topics"]])
    def test_an_option_of_a_question(self, option: list[str]) -> None:
        """Without one it is refused."""
        run = CliRunner().invoke(app, ["experiment", "new", "demo", *option])
        assert str(run.exception).startswith(f"experiment new: {option[0]}: ")
        assert str(run.exception).endswith("; allowed: only together with --ask")
