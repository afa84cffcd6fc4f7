"""`isr-pipeline keys`: everything that can be set, and what is said of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isr_pipeline.base.files.reading import parse_mapping
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.cli import app
from isr_pipeline.experiment.keys import (
    PROPOSALS,
    Entry,
    about,
    entries,
    found,
    lines,
    unread,
    unread_overrides,
    unread_settings,
)
from isr_pipeline.kafka.broker_config import KEYS, UNREAD
from isr_pipeline.kafka.releases import RELEASES
from isr_pipeline.scenarios.model import (
    Rules,
    Service,
    apply,
    check_overrides,
    parse_scenario,
)
from isr_pipeline.scenarios.streams import ProduceStream
from tests.approved import Approved
from tests.saying import refused

PENDING, LIMIT = PROPOSALS


def entry(name: str) -> Entry:
    """The entry of a name."""
    (one,) = found(name)
    return one


class TestWhatIsListed:
    """Which names there are."""

    def test_every_kafka_key(self) -> None:
        """Each key that a scenario may name, with a meaning and a source of its own."""
        listed = [one for one in entries() if one.group == "kafka"]
        assert [one.name for one in listed] == list(KEYS)
        assert set(about()) == set(KEYS)
        assert all(one.meaning and one.source for one in listed)

    def test_every_switch_and_service_time(self) -> None:
        """Each field of the models, with its description."""
        names = [one.name for one in entries()]
        for group, model in (("rules", Rules), ("service", Service), ("produce", ProduceStream)):
            assert [n for n in names if n.startswith(f"{group}.")] == [
                f"{group}.{field}" for field in model.model_fields
            ]
        assert all(one.meaning not in ("", "None") for one in entries())

    @pytest.mark.parametrize("one", entries(), ids=lambda one: one.name)
    def test_an_experiment_may_set_what_says_so(self, one: Entry) -> None:
        """What is listed as an experiment's is accepted as an override, at its own default."""
        if "experiment" not in one.set_in or one.default is None:
            return
        value = (2, 30) if one.name == "service.metadata_ms" else one.default
        assert check_overrides({one.name: value}, "f", "") == {one.name: value}


class TestWhatIsSaid:
    """Unit, range, defaults, releases, readers."""

    def test_a_default_that_a_release_changed(self) -> None:
        """KIP-537 made 30 s of 10 s in 2.5: rule sets up to 2.1-2.6 have the old one."""
        one = entry("replica.lag.time.max.ms")
        assert (one.default, one.unit) == (30000, "ms")
        assert one.defaults == dict.fromkeys(RELEASES[:5], 10000)

    def test_a_key_that_a_release_brought(self) -> None:
        """KIP-74's limit came with 0.10.1, fetch back-off with 0.9: 0.8.2 has neither."""
        for name in ("replica.fetch.response.max.bytes", "replica.fetch.backoff.ms"):
            assert entry(name).rule_sets == RELEASES[1:]

    def test_a_key_that_went(self) -> None:
        """Message lag was measured in 0.8.2 alone."""
        one = entry("replica.lag.max.messages")
        assert one.rule_sets == one.read_by == ("0.8.2",)

    def test_of_a_controller(self) -> None:
        """KRaft's keys are read where KRaft is, ZooKeeper's wherever ZooKeeper can be."""
        assert entry("broker.session.timeout.ms").read_by == (
            "2.7-3.2",
            "3.3-3.6",
            "3.7-3.9",
            "4.0",
            "4.1+",
        )
        assert entry("zookeeper.session.timeout.ms").read_by == RELEASES

    def test_of_a_change_of_the_isr(self) -> None:
        """ZooKeeper's write is read to 2.6; whoever resigns asks the controller in all releases."""
        assert entry("service.isr_zk_write_ms").read_by == RELEASES[:5]
        assert entry("service.alter_partition_ms").read_by == RELEASES

    def test_nobody_reads(self) -> None:
        """Keys that no simulated rule reads say so."""
        assert all(entry(name).read_by == () for name in UNREAD)

    def test_of_a_proposal(self) -> None:
        """No release has KIP-501's keys; the rules read them all the same."""
        one = entry("follower.fetch.pending.reads.insync.enable")
        assert one.rule_sets == ()
        assert one.read_by == RELEASES

    def test_for_a_person(self) -> None:
        """One key: all of it, alike defaults together."""
        said = "\n".join(lines(found("rules.isr_lock")))
        assert "default       rw_precheck\n" in said
        assert re.search(r"completion in 0\.8\.2, 0\.9-0\.10\.1, 0\.10\.2-2\.0\n", said)


PAGE = "https://kafka.apache.org/44/configuration/broker-configs#brokerconfigs_background.threads"


class TestUnread:
    """What is set and decides nothing."""

    ELR = "eligible.leader.replicas.version"
    SCENARIO = """
scenario_id: x
horizon_ms: 100
cluster: {release: 3.7-3.9, controller: kraft, brokers: [1, 2]}
topics: [{name: t, partitions: 1, replication_factor: 2}]
config: {eligible.leader.replicas.version: 1, replica.lag.time.max.ms: 9000}
"""

    @pytest.mark.parametrize(
        ("overrides", "why"),
        [
            ({ELR: 1}, "a key that 3.7-3.9 under kraft does not read"),
            ({ELR: 1, "cluster.release": "4.0"}, None),
            ({"background.threads": 3}, f"a key that no simulated rule reads ({PAGE})"),
            ({"service.isr_zk_write_ms": 3}, "a key that 3.7-3.9 under kraft does not read"),
            ({"topics.min.insync.replicas": 1}, None),
            ({"cluster.release": "3.3-3.6"}, None),
            ({PENDING: True}, "a key that nothing reads while rules.kip501 is none"),
            ({PENDING: True, "rules.kip501": "s1-doc"}, None),
            ({PENDING: False, "rules.kip501": "s1-doc"}, None),
            (
                {"rules.kip501": "s1-doc", PENDING: False},
                f"a proposal that does nothing while {PENDING} is false",
            ),
            ({"rules.kip501": "li-transfer"}, None),
            ({LIMIT: 9, PENDING: True, "rules.kip501": "s2"}, None),
            (
                {LIMIT: 9, "rules.kip501": "s2"},
                f"a key that nothing reads while {PENDING} is false",
            ),
        ],
    )
    def test_why(self, overrides: dict[str, Any], why: str | None) -> None:
        """A key of another release, of no rule, of a proposal that is off, or one that is read."""
        today = parse_scenario({**parse_mapping(self.SCENARIO, "F"), "config": {}}, "F")
        key = next(iter(overrides))
        assert unread(apply(today, overrides), [key]) == ({key: why} if why else {})

    def test_configurations_are_named(self, approved: Approved) -> None:
        """One line for each key and reason, with the first three configurations."""
        today = parse_scenario({**parse_mapping(self.SCENARIO, "F"), "config": {}}, "F")
        named: dict[str, dict[str, Any]] = {name: {self.ELR: 1} for name in "abcde"}
        named["new"] = {self.ELR: 1, "cluster.release": "4.1+"}
        approved([*unread_overrides(today, named)])

    def test_simulate_says_it(self, tmp_path: Path, approved: Approved) -> None:
        """A line on standard error, also where the outcome goes to standard output as JSON."""
        file = tmp_path / "s.yaml"
        file.write_text(self.SCENARIO)
        done = CliRunner().invoke(app, ["simulate", str(file), "--json", "-"])
        approved(done.stderr)
        assert "outcome" in json.loads(done.stdout)

    @pytest.mark.parametrize(
        ("setting", "why"),
        [
            ("service.isr_zk_write_ms=3", "a key that 3.7-3.9 under kraft does not read"),
            ("rules.kip501=s1-doc", f"a proposal that does nothing while {PENDING} is false"),
        ],
    )
    def test_simulate_says_it_of_what_is_set(self, tmp_path: Path, setting: str, why: str) -> None:
        """Of a service time and a switch as well."""
        file = tmp_path / "s.yaml"
        file.write_text(self.SCENARIO.replace(f"{self.ELR}: 1, ", ""))
        done = CliRunner().invoke(app, ["simulate", str(file), "--set", setting, "--json", "-"])
        assert done.stderr == f"scenario x: {setting.partition('=')[0]}: {why}\n"

    def test_a_switch_in_the_file(self) -> None:
        """A scenario's own `rules` are looked at too."""
        raw = parse_mapping(self.SCENARIO, "F") | {"rules": {"kip501": "s1-doc"}, "config": {}}
        assert [*unread_settings(parse_scenario(raw, "F"))] == [
            f"rules.kip501: a proposal that does nothing while {PENDING} is false"
        ]

    def test_experiment_check_says_it(self, tmp_path: Path) -> None:
        """A line beside the costs, and one of `notes` in JSON."""
        file = tmp_path / "mine.yaml"
        candidate = f"      - {{name: old, set: {{cluster.release: 3.7-3.9, {self.ELR}: 1}}}}\n"
        smoke = (REPOSITORY / "config" / "experiments" / "smoke.yaml").read_text()
        file.write_text(f"{smoke}\n  - name: more\n    candidates:\n{candidate}")
        said = f"{self.ELR}: a key that 3.7-3.9 under kraft does not read (in old)"
        done = CliRunner().invoke(app, ["experiment", "check", str(file)], catch_exceptions=False)
        assert said in done.stdout.splitlines()
        done = CliRunner().invoke(app, ["experiment", "check", str(file), "--json"])
        assert json.loads(done.stdout)["notes"] == [said]


class TestCommand:
    """The command line."""

    def test_all(self) -> None:
        """Without a word every name has its line."""
        done = CliRunner().invoke(app, ["keys"], catch_exceptions=False)
        assert done.exit_code == 0
        assert all(re.search(rf"^  {re.escape(n.name)} ", done.stdout, re.M) for n in entries())

    def test_json(self) -> None:
        """JSON has every field of the entries that a word is in."""
        done = CliRunner().invoke(app, ["keys", "min.insync", "--json"], catch_exceptions=False)
        (one,) = json.loads(done.stdout)
        assert one["name"] == "min.insync.replicas"
        assert one["allowed"] == "a whole number 1..2147483647"
        assert set(one) == set(Entry.__dataclass_fields__)

    def test_unknown(self) -> None:
        """A word that is nowhere is refused with the nearest names."""
        assert refused(lambda: found("replica.fetch.backof.ms")) == (
            "keys: WORD: replica.fetch.backof.ms, unknown key; allowed: replica.fetch.backoff.ms, "
            "replica.fetch.wait.max.ms (isr-pipeline keys lists all keys)"
        )
