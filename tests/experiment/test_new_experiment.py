"""`experiment new`: a question about a cluster, written as an experiment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.cli import app
from isr_pipeline.experiment import new_experiment as module
from isr_pipeline.experiment.advice import published
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import Candidate, Experiment, healthy_scenario, load_experiment
from isr_pipeline.experiment.new_experiment import Answer, new_experiment
from isr_pipeline.experiment.stages import Budget
from isr_pipeline.report import words
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import apply, check_overrides
from tests.approved import Approved
from tests.saying import refused
from tests.tables import data_of, from_table

ELR, LAG = "eligible.leader.replicas.version", "replica.lag.time.max.ms"
AUTO, INTERVAL = "auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds"

CLUSTER: str = data_of(__file__, "CLUSTER")

ALL_TOPICS = CLUSTER.replace(
    "partitions: 2, replication_factor: 3",
    "partitions: 2, replication_factor: 3, settings: {min.insync.replicas: 2}",
)


NO_REBALANCE = CLUSTER.replace("settings: {", f"settings: {{{AUTO}: false, ", 1)


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of our own, with a cluster in it."""
    folder = tmp_path / "config"
    shutil.copytree(REPOSITORY / "config", folder)
    (folder / "clusters" / "mine.yaml").write_text(CLUSTER)
    monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
    return folder


def ask(*asks: str, override_topics: bool = False, topics: tuple[str, ...] = ()) -> Answer:
    """Ask about our cluster under the small fault profile, published advice beside it."""
    asks = (*asks, module.ADVICE)
    return new_experiment(
        "mine", "q", "smoke", asks, override_topics=override_topics, topics=topics
    )


def refusal(*asks: str) -> str:
    """Give the error line of a question."""
    with pytest.raises(InputError) as caught:
        ask(*asks)
    return str(caught.value)


class TestSuccess:
    """What is written."""

    def test_today_is_the_reference(self, config: Path) -> None:
        """Every combination of the values and of today's; a name leaves out what is today's."""
        answer = ask("replica.lag.time.max.ms=5000,10000,30000", "min.insync.replicas=1,2")
        assert answer.file == config / "experiments" / "q.yaml"
        experiment = load_experiment("q")
        assert experiment.reference == "today"
        found = configurations(experiment)
        assert [one.name for one in found if one.group == "asked"] == [
            "today",
            "min.insync.replicas-2",
            "lag.time.max.ms-5000",
            "lag.time.max.ms-5000_min.insync.replicas-2",
            "lag.time.max.ms-30000",
            "lag.time.max.ms-30000_min.insync.replicas-2",
        ]
        today = next(one for one in found if one.name == "today")
        assert today.params["replica.lag.time.max.ms"] == 10000
        names = "min.insync.replicas=1, replica.lag.time.max.ms=10000"
        assert f"  today: {names}{module.AS_TODAY}" in answer.lines

    def test_published_advice_may_be_set(self) -> None:
        """Each key is one of Kafka's and takes its value; otherwise it would count as not read."""
        for one in published():
            assert check_overrides(one.set, "advice.yaml", one.name) == one.set

    def test_no_rivals_that_nobody_asked_for(self) -> None:
        """What was asked alone, and the whole cluster's incidents of a year."""
        answer = new_experiment("mine", "q", "smoke", ["replica.lag.time.max.ms=60000"])
        assert answer.configurations == ("today", "lag.time.max.ms-60000")
        assert not [line for line in answer.lines if "published" in line]

    def test_advice_alone_is_no_question(self) -> None:
        """It is a rival of what is asked."""
        assert "advice alone" in refusal()

    def test_published_advice_comes_along(self) -> None:
        """By its names, but what is asked anyway."""
        ask("replica.lag.time.max.ms=60000")
        found = {one.name: one for one in configurations(load_experiment("q"))}
        assert found.keys() == {
            *("today", "lag.time.max.ms-60000", "conduktor-throughput"),
            *("conduktor-durability", "conduktor-latency"),
        }
        assert found["conduktor-latency"].why.startswith("Conduktor")

    def test_releases(self) -> None:
        """What an upgrade costs is asked by release numbers."""
        ask("release=4.0,4.1")
        found = {one.name: one.params for one in configurations(load_experiment("q"))}
        assert found["release-4.1-finalised"]["cluster.release"] == "4.1+"
        assert found["release-4.0"]["cluster.release"] == "4.0"

    @pytest.mark.parametrize("now", [False, True])
    def test_a_listener_of_replication(self, now: bool, config: Path) -> None:
        """What it costs, or gains, to share the clients'; today's is left out."""
        file = config / "clusters" / "mine.yaml"
        file.write_text(f"{file.read_text()}replication_listener: {str(now).lower()}\n")
        answer = ask("cluster.replication_listener=true,false")
        found = configurations(load_experiment("q"))
        [today, other] = [one for one in found if one.group == "asked"]
        assert words.differing(other, today) == {"cluster.replication_listener": not now}
        assert today.params["cluster.replication_listener"] is now
        assert today.config_id != other.config_id
        told = f"cluster.replication_listener={str(now).lower()}: is today's value; left out"
        assert told in answer.lines

    def test_the_release_asked_for_is_the_one_shown(self) -> None:
        """Not the range whose rules it has; the digest of an experiment does not see it."""
        ask("release=4.1")
        experiment = load_experiment("q")
        today, *others = configurations(experiment)
        asked = next(one for one in others if one.name == "release-4.1-finalised")
        assert words.differing(asked, today)["cluster.release"] == "4.1"
        assert experiment.model_copy(update={"releases": {}}).digest == experiment.digest

    def test_a_key_of_topics_stays_theirs(self) -> None:
        """The answer says for how many partitions."""
        answer = ask("min.insync.replicas=3")
        line = "min.insync.replicas: 3 partitions of 1 topic have their own, and keep it"
        assert line in answer.lines

    @from_table
    def test_a_key_of_brokers_stays_theirs(
        self, config: Path, brokers: list[int], said: str
    ) -> None:
        """The answer names the first few brokers with their values, and how many there are."""
        listed = "brokers: [" + ", ".join(
            f"{{id: {one}, settings: {{replica.lag.time.max.ms: {60000 + one}}}}}"
            if one in brokers
            else f"{{id: {one}}}"
            for one in range(1, 6)
        )
        text = CLUSTER.replace("brokers: [{id: 1}, {id: 2}, {id: 3}", listed)
        (config / "clusters" / "mine.yaml").write_text(text)
        answer = ask("replica.lag.time.max.ms=5000,60000")
        assert f"replica.lag.time.max.ms: {said}" in answer.lines

    def test_what_each_configuration_sets(self) -> None:
        """Today's values of what is asked, and what the published advice is."""
        answer = ask("release=4.0", "replica.lag.time.max.ms=5000")
        assert answer.lines[1:4] == (
            f"  today: replica.lag.time.max.ms=10000, release 3.7-3.9{module.AS_TODAY}",
            "  lag.time.max.ms-5000",
            "  release-4.0",
        )

    def test_fewer_replicas_than_asked(self, config: Path) -> None:
        """Of a value above the replication factor of some, the answer counts their partitions."""
        text = CLUSTER.replace(
            "partitions: 2, replication_factor: 3", "partitions: 2, replication_factor: 2"
        )
        (config / "clusters" / "mine.yaml").write_text(text)
        line = "min.insync.replicas=3: more than the replicas of 2 partitions"
        assert line in ask("min.insync.replicas=2,3", override_topics=True).lines

    def test_advice_is_asked_of_topics_too(self, config: Path) -> None:
        """What is asked of topics that set it, published advice sets there too."""
        (config / "clusters" / "mine.yaml").write_text(
            ALL_TOPICS.replace("min.insync.replicas: 2", "min.insync.replicas: 3")
        )
        ask("min.insync.replicas=1", override_topics=True)
        found = {one.name: one.overrides for one in configurations(load_experiment("q"))}
        assert found["conduktor-durability"]["topics.min.insync.replicas"] == 2

    def test_advice_whose_key_every_topic_has(self, config: Path) -> None:
        """The rest of the advice is measured, without a key that nobody takes; that is said."""
        (config / "clusters" / "mine.yaml").write_text(ALL_TOPICS)
        answer = ask("replica.lag.time.max.ms=5000")
        found = {one.name: one.overrides for one in configurations(load_experiment("q"))}
        assert "min.insync.replicas" not in found["conduktor-durability"]
        assert (
            "conduktor-durability: without min.insync.replicas, "
            "a key of which every topic has its own value"
        ) in answer.lines

    def test_advice_that_nothing_reads(self, config: Path) -> None:
        """A key behind a switch that is off is left out of the advice, and that is said."""
        (config / "clusters" / "mine.yaml").write_text(NO_REBALANCE)
        answer = ask("replica.lag.time.max.ms=5000")
        found = {one.name: one.overrides for one in configurations(load_experiment("q"))}
        assert INTERVAL not in found["conduktor-latency"]
        line = (
            f"conduktor-latency: without {INTERVAL}, a key that nothing reads while {AUTO} is false"
        )
        assert line in answer.lines

    def test_a_key_whose_switch_is_asked_too(self, config: Path) -> None:
        """The switch that is on lets the key in; where it is off the value is dropped."""
        (config / "clusters" / "mine.yaml").write_text(NO_REBALANCE)
        answer = ask(f"{AUTO}=true,false", f"{INTERVAL}=60,300")
        assert f"{AUTO}=false: is today's value; left out" in answer.lines
        assert not [line for line in answer.lines if line.startswith(f"{AUTO}=false, ")]
        asked = [one for one in configurations(load_experiment("q")) if one.group == "asked"]
        assert [one.overrides for one in asked] == [
            {},
            {AUTO: True},
            {AUTO: True, INTERVAL: 60},
        ]

    def test_what_is_being_done_is_told(self) -> None:
        """A large cluster takes minutes; each scenario that is tried is told."""
        told: list[str] = []
        new_experiment("mine", "q", "smoke", ["replica.lag.time.max.ms=5000"], say=told.append)
        assert told[:2] == ["reading the cluster", "telling configurations apart"]
        assert told[-1] == "simulating scenario 6 of 6, the whole cluster"

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
        monkeypatch.setattr(module, "_seconds_a_pair", lambda *_: 2.0)
        answer = ask("replica.lag.time.max.ms=5000")
        count = len(configurations(load_experiment("q")))
        size = int(480 * 2 / (2.0 * count))
        assert load_experiment("q").panels.regression == size
        assert load_experiment("q").budget == Budget(scenarios=10 * size, minutes=10)
        full = round((2.0 * count * 200 / 2 + 120) / 60)
        assert answer.lines[-2] == (
            f"{size} scenarios instead of 200 for the first answer (about 10 minutes); the full "
            f"one takes about {full} minutes: panels in the file"
        )

    def test_what_was_asked_gets_further_scenarios(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Published advice stays with the panel."""
        monkeypatch.setattr(module, "_seconds_a_pair", lambda *_: 0.1)
        ask("replica.lag.time.max.ms=5000")
        experiment = load_experiment("q")
        assert [one.asked for one in experiment.groups] == [True, False]
        assert experiment.budget == Budget(scenarios=2_000, minutes=10)

    def test_what_does_not_fit_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Then the published advice is left out first, and that is said."""
        monkeypatch.setattr(module, "_seconds_a_pair", lambda *_: 60.0)
        answer = ask("replica.lag.time.max.ms=5000")
        left_out = "for the first answer published advice is left out (4 configurations)"
        assert left_out in answer.lines
        assert {one.group for one in configurations(load_experiment("q"))} == {"asked"}

    def test_topics_of_a_large_cluster_are_left_out(
        self, config: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The least busy first, until half of the full panel fits; all of it is said.

        A pair takes a millisecond for each partition that is simulated: 6 s for all of them.
        """
        more = "".join(
            f"  - {{name: {name}, partitions: {count}, replication_factor: 3, "
            f"produce: [{{records_per_s: {rate}}}]}}\n"
            for name, count, rate in (("busy", 600, 50), ("calm", 400, 5), ("idle", 4995, 0))
        )
        (config / "clusters" / "mine.yaml").write_text(CLUSTER + more)
        monkeypatch.setattr(module, "_seconds_a_pair", lambda one, _say: _simulated(one) / 1000)
        answer = ask("replica.lag.time.max.ms=5000,20000,30000")
        experiment = load_experiment("q")
        assert [one["name"] for one in experiment.cluster.topics] == [
            "own",
            "plain",
            "busy",
            "calm",
        ]
        count = len(configurations(experiment))
        assert experiment.panels.regression == min(200, int(480_000 * 2 / (1005 * count)))
        assert experiment.budget.scenarios == 10 * experiment.panels.regression
        first = "1005 of 6000 partitions simulated (4 of 5 topics), nothing is scaled up"
        assert f"for the first answer {first}" in answer.lines
        assert answer.lines[-2].endswith(": panels and topics in the file")

    def test_topics_that_are_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those are simulated, however long a pair takes."""
        monkeypatch.setattr(module, "_seconds_a_pair", lambda *_: 0.1)
        answer = ask("replica.lag.time.max.ms=5000", topics=("pl*",))
        experiment = load_experiment("q")
        assert [one["name"] for one in experiment.cluster.topics] == ["plain"]
        said = "2 of 5 partitions simulated (1 of 2 topics), nothing is scaled up"
        assert experiment.simulated == said
        assert f"for the first answer {said}" in answer.lines

    def test_a_small_cluster_is_simulated_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Five partitions stay five, however long a pair takes."""
        monkeypatch.setattr(module, "_seconds_a_pair", lambda *_: 30.0)
        ask("replica.lag.time.max.ms=5000")
        assert not load_experiment("q").simulated

    def test_command(self) -> None:
        """The command says what will be compared and how to get the answer."""
        run = CliRunner().invoke(
            app,
            [
                *("experiment", "new", "mine", "--name", "q", "--faults", "smoke"),
                *("--ask", "replica.lag.time.max.ms=5000"),
            ],
        )
        assert run.exit_code == 0
        assert "answer: isr-pipeline night run --in-process --experiment q\n" in run.stdout


class TestLeftOut:
    """What would do the same as today, or as something else, is dropped and said."""

    @from_table
    def test_each_has_a_line(self, asks: list[str], said: str) -> None:
        """What is dropped, and why; nothing else is."""
        left_out = [line for line in ask(*asks).lines if line.endswith("; left out")]
        of_advice = "fixwikihub", "conduktor"
        asked = [line for line in left_out if not line.startswith(of_advice)]
        assert f"{said}; left out" in left_out
        assert len(asked) == (not said.startswith(of_advice))

    @from_table
    def test_a_value_is_told_once(self, asks: list[str], said: list[str]) -> None:
        """Not again with each value of the other key."""
        lines = [line for line in ask(*asks).lines if line.endswith("; left out")]
        assert {line.removesuffix("; left out") for line in lines} == set(said)

    def test_a_combination_that_cannot_be(self) -> None:
        """A value that the cluster does not go with is told alone, not with each other key."""
        answer = ask("release=1.1,4.0", "num.replica.fetchers=2")
        assert answer.configurations[:4] == (
            *("today", "num.replica.fetchers-2", "release-4.0"),
            "release-4.0_num.replica.fetchers-2",
        )
        clashes = [line for line in answer.lines if line.startswith("release 1.1")]
        assert clashes == ["release 1.1: does not go with cluster.controller=kraft; left out"]

    def test_advice_that_is_todays_setting(self, config: Path) -> None:
        """Published advice that changes nothing is dropped too."""
        text = CLUSTER.replace("replica.lag.time.max.ms: 10000", "replica.lag.time.max.ms: 60000")
        (config / "clusters" / "mine.yaml").write_text(text)
        answer = ask("replica.lag.time.max.ms=5000")
        assert "fixwikihub-lag-60s: does the same as today; left out" in answer.lines

    def test_advice_that_this_cluster_cannot_follow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A key that nothing reads here."""
        setting = {"zookeeper.session.timeout.ms": 6000}
        advice = (Candidate(name="zookeeper", set=setting),)
        monkeypatch.setattr(module, "published", lambda: advice)
        answer = ask("replica.lag.time.max.ms=30000")
        assert answer.configurations == ("today", "lag.time.max.ms-30000")
        assert (
            "zookeeper: zookeeper.session.timeout.ms is a key that 3.7-3.9 under kraft does not "
            "read; left out"
        ) in answer.lines

    def test_the_topics_that_are_asked_have_it(self, config: Path) -> None:
        """A value that every topic has for itself changes nothing where it is asked of them."""
        (config / "clusters" / "mine.yaml").write_text(ALL_TOPICS)
        answer = ask("min.insync.replicas=1,2", override_topics=True)
        assert "min.insync.replicas=2: does the same as today; left out" in answer.lines
        assert "min.insync.replicas-1" in answer.configurations

    def test_a_key_that_only_an_asked_release_reads(self, config: Path) -> None:
        """What today's release does not have is dropped where it means nothing, and said."""
        elr = "eligible.leader.replicas.version"
        answer = ask("release=3.9,4.1", f"{elr}=0,1")
        assert [one for one in answer.configurations if "release" in one] == [
            f"release-4.1_{elr}-0",
            f"release-4.1_{elr}-1",
        ]
        assert f"{elr}=1: does the same as today; left out" in answer.lines

    def test_json_has_the_lines(self) -> None:
        """`said` is what the terminal shows."""
        run = CliRunner().invoke(
            app,
            [
                *("experiment", "new", "mine", "--name", "q", "--faults", "smoke", "--json"),
                *("--ask", "release=3.7,3.8"),
            ],
        )
        said = json.loads(run.stdout)["said"]
        assert "release 3.8: does the same as release-3.7; left out" in said


def _simulated(experiment: Experiment) -> int:
    """How many partitions an experiment simulates."""
    healthy = healthy_scenario(experiment)
    return sum(len(topic.assignment) for topic in healthy.topics)


class TestUpgrade:
    """A release is asked as its binaries alone, and with the feature that it finalises."""

    def test_each_step_has_its_command(self, approved: Approved) -> None:
        """Who reads the answer sees what was done on the brokers."""
        answer = ask("release=4.1")
        approved(line for line in answer.lines if line.startswith("  release"))

    def test_the_steps_differ_in_the_feature_alone(self) -> None:
        """Both run the new release; the binaries keep what the cluster has."""
        assert _asked("release=4.1") == {
            "release-4.1-binaries": {"cluster.release": "4.1+", ELR: 0},
            "release-4.1-finalised": {"cluster.release": "4.1+", ELR: 1},
        }

    def test_with_another_key(self) -> None:
        """Each step with each value."""
        assert [*_asked("release=4.1", f"{LAG}=5000")] == [
            "lag.time.max.ms-5000",
            "release-4.1-binaries",
            "release-4.1-binaries_lag.time.max.ms-5000",
            "release-4.1-finalised",
            "release-4.1-finalised_lag.time.max.ms-5000",
        ]

    def test_with_the_feature_itself(self) -> None:
        """Who asks it too gets each release with each level, today's among them."""
        assert [one[ELR] for one in _asked("release=4.0,4.1", f"{ELR}=1").values()] == [0, 1, 0, 1]

    def test_a_release_that_finalises_nothing(self) -> None:
        """4.0 has the feature only on demand: one configuration, as ever."""
        assert _asked("release=4.0") == {"release-4.0": {"cluster.release": "4.0"}}

    def test_todays_own_release(self, config: Path) -> None:
        """Its features may still wait for the command; the binaries are today's."""
        text = CLUSTER.replace("3.9.1", "4.1.1").replace("{", f"{{{ELR}: 0, ", 1)
        (config / "clusters" / "mine.yaml").write_text(text)
        assert [*_asked("release=4.1")] == ["release-4.1-finalised"]

    def test_a_feature_that_is_on_stays_on(self, config: Path) -> None:
        """Finalising takes no feature down: both steps are one."""
        text = CLUSTER.replace("3.9.1", "4.0").replace("{", f"{{{ELR}: 1, ", 1)
        (config / "clusters" / "mine.yaml").write_text(text)
        assert [*_asked("release=4.1")] == ["release-4.1"]

    def test_an_older_release(self, config: Path) -> None:
        """Going back finalises nothing."""
        (config / "clusters" / "mine.yaml").write_text(CLUSTER.replace("3.9.1", "4.1.1"))
        assert [*_asked("release=4.0")] == ["release-4.0"]


def _asked(*asks: str) -> dict[str, dict[str, object]]:
    """What an experiment asks: name -> overrides, today left out."""
    ask(*asks)
    found = configurations(load_experiment("q"))
    return {one.name: one.overrides for one in found if one.group == "asked" and one.overrides}


class TestSeconds:
    """Seconds that were typed where milliseconds stand."""

    def test_a_time_far_below_its_default(self) -> None:
        """Such a value can be, so it is asked; the answer says what may be meant."""
        answer = ask("replica.fetch.backoff.ms=5")
        assert [line for line in answer.lines if line.startswith("replica.fetch.backoff.ms=5: ")]

    def test_a_session_below_the_heartbeat(self, config: Path) -> None:
        """No cluster wants it; nothing is written."""
        with pytest.raises(Refused, match=r"broker\.heartbeat\.interval\.ms"):
            ask("broker.session.timeout.ms=18")
        assert not (config / "experiments" / "q.yaml").exists()


class TestRefused:
    """Nothing is written then, not even a draft."""

    @from_table
    def test_what_is_asked(self, config: Path, ask_: str, line: str) -> None:
        """A key that brokers of the release do not have, a value that the key cannot have."""
        before = sorted((config / "experiments").iterdir())
        assert refusal(ask_).startswith(line)
        assert sorted((config / "experiments").iterdir()) == before

    @from_table
    def test_nothing_to_compare(self, config: Path, ask_: str, reasons: str) -> None:
        """That an upgrade changes no rule is the answer, in one line."""
        before = sorted((config / "experiments").iterdir())
        assert refused(lambda: ask(ask_), Refused) == (
            f"--ask: nothing to compare: {reasons}; allowed: a value that changes something"
        )
        assert sorted((config / "experiments").iterdir()) == before

    def test_a_key_whose_switch_is_off(self, config: Path) -> None:
        """Nothing reads it in this cluster; the line says what to ask as well."""
        (config / "clusters" / "mine.yaml").write_text(NO_REBALANCE)
        assert refusal(f"{INTERVAL}=60") == (
            f"--ask: {INTERVAL}: a key that nothing reads while {AUTO} is false; allowed: "
            f"a key that decides something in this cluster, or --ask {AUTO}=true as well"
        )

    def test_a_key_that_no_asked_release_reads(self) -> None:
        """Asking for releases besides does not let it in."""
        assert refusal("release=4.0", "zookeeper.session.timeout.ms=6000").startswith(
            "--ask: zookeeper.session.timeout.ms: a key that 3.7-3.9 under kraft does not read"
        )

    def test_every_topic_has_its_own(self, config: Path) -> None:
        """No value of the cluster changes anything then; the line says how to ask all the same."""
        (config / "clusters" / "mine.yaml").write_text(ALL_TOPICS)
        assert refusal("min.insync.replicas=1,2,3,4") == (
            "--ask: min.insync.replicas: every topic has its own value, and keeps it; "
            "allowed: --override-topics, which asks it of the topics too"
        )

    def test_every_broker_has_its_own(self, config: Path) -> None:
        """The same of a key that brokers have for themselves."""
        text = CLUSTER
        for broker in (1, 2, 3):
            own = f"{{id: {broker}, settings: {{replica.lag.time.max.ms: 9000}}}}"
            text = text.replace(f"{{id: {broker}}}", own)
        (config / "clusters" / "mine.yaml").write_text(text)
        assert refusal("replica.lag.time.max.ms=5000").startswith(
            "--ask: replica.lag.time.max.ms: every broker has its own value, and keeps it; "
        )

    def test_twice(self) -> None:
        """All values of a key stand together."""
        line = refusal("min.insync.replicas=2", "min.insync.replicas=3")
        assert line.startswith("--ask: min.insync.replicas: asked twice")

    def test_too_many(self) -> None:
        """Today's value counts among those of each key, and once."""
        lags = ",".join(str(1000 * one) for one in range(10, 18))
        fetchers = ",".join(map(str, range(1, 6)))
        threads = ",".join(map(str, range(8, 14)))
        asks = f"replica.lag.time.max.ms={lags}", f"num.replica.fetchers={fetchers}"
        assert refusal(*asks, f"num.io.threads={threads}") == (
            "--ask: 240 combinations, those with today's values included; allowed: at most 200"
        )

    def test_a_name_that_is_taken(self) -> None:
        """An experiment is never written over."""
        with pytest.raises(InputError, match=r"a name that .* does not have"):
            new_experiment("mine", "smoke", "smoke", ["min.insync.replicas=3"])

    def test_no_such_cluster(self) -> None:
        """The clusters that there are stand in the line."""
        with pytest.raises(
            InputError, match="new: CLUSTER: theirs; allowed: cloud-volume, default, demo, local"
        ):
            new_experiment("theirs", "q", "smoke", ["min.insync.replicas=3"])


def test_topics_may_be_given_a_key(tmp_path: Path) -> None:
    """An override under ``topics`` is every topic's own."""
    (tmp_path / "c.yaml").write_text(CLUSTER)
    (tmp_path / "s.yaml").write_text("{scenario_id: s, horizon_ms: 9, cluster: {file: c.yaml}}")
    scenario = apply(load_scenario(tmp_path / "s.yaml"), {"topics.min.insync.replicas": 3})
    assert [topic.settings for topic in scenario.topics] == [{"min.insync.replicas": 3}] * 2
