"""Every wrong scenario file is refused in one line that names field, value and what is allowed."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files import reading
from isr_pipeline.base.files.reading import parse_mapping
from isr_pipeline.base.files.words import with_list
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.scenarios.faults import KINDS
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import (
    canonical_json,
    parse_scenario,
    scenario_from_json,
    with_settings,
)

GOOD = """
scenario_id: x
horizon_ms: 60000
cluster: {release: "3.7+", controller: kraft, brokers: [1001, 1002, 1003]}
topics: [{name: t, partitions: 2, replication_factor: 2}]
faults: [{kind: crash, broker: 1001, start_ms: 10}]
"""
MS = "milliseconds >= 0 (below 2^50 microseconds)"
LAG, WAIT = "replica.lag.time.max.ms", "replica.fetch.wait.max.ms"
ALL_KINDS = ", ".join(KINDS)


def good(**changes: Any) -> dict[str, Any]:
    """Give a scenario that is right but for the changes."""
    return {**copy.deepcopy(parse_mapping(GOOD, "F")), **changes}


def refusal(raw: dict[str, Any]) -> str:
    """Give the error line of a scenario."""
    with pytest.raises(InputError) as caught:
        parse_scenario(raw, "F")
    return str(caught.value)


def test_success() -> None:
    """The scenario that the others vary is accepted."""
    assert parse_scenario(good(), "F").topics[0].assignment == {0: (1001, 1002), 1: (1002, 1003)}


TOP = [
    ("hrizon_ms: 1", "hrizon_ms: unknown key; allowed: horizon_ms"),
    ("horizon_ms: true", "horizon_ms: true; allowed: milliseconds > 0 (below 2^43 microseconds)"),
    ("horizon_ms: '5'", 'horizon_ms: "5"; allowed: milliseconds > 0 (below 2^43 microseconds)'),
    ("horizon_ms: .nan", "horizon_ms: .nan; allowed: milliseconds > 0 (below 2^43 microseconds)"),
    ("horizon_ms: .inf", "horizon_ms: .inf; allowed: milliseconds > 0 (below 2^43 microseconds)"),
    ("horizon_ms: 0", "horizon_ms: 0; allowed: milliseconds > 0 (below 2^43 microseconds)"),
    (
        "horizon_ms: 8796093022.208",
        "horizon_ms: 8796093022.208; allowed: milliseconds > 0 (below 2^43 microseconds)",
    ),
    ("warmup_ms: 60000", "warmup_ms: 60000; allowed: less than horizon_ms (60000)"),
    ("warmup_ms: -1", f"warmup_ms: -1; allowed: {MS}"),
    ("warmup_ms: null", f"warmup_ms: null; allowed: {MS}"),
    ("scenario_id: 7", "scenario_id: 7; allowed: a name of 1..200 printable characters"),
    ("scenario_id: ''", 'scenario_id: ""; allowed: a name of 1..200 printable characters'),
    ("seed: 1.5", "seed: 1.5; allowed: a whole number 0..9223372036854775807"),
    ("seed: -1", "seed: -1; allowed: a whole number 0..9223372036854775807"),
    ("cluster: 3", "cluster: 3; allowed: a mapping"),
    ("topics: {}", "topics: {}; allowed: a list"),
    ("topics: []", "topics: []; allowed: a list of at least one topic"),
    ("topics: [t]", "topics[0]: t; allowed: a mapping"),
    ("faults: null", "faults: null; allowed: a list"),
    ("config: []", "config: []; allowed: a mapping of Kafka keys"),
    ("rules: {kip501: s3}", "rules.kip501: s3; allowed: none, s1-doc, s1-pr, s2, li-transfer"),
    (
        "rules: {kip501: null}",
        "rules.kip501: null; allowed: none, s1-doc, s1-pr, s2, li-transfer",
    ),
    ("rules: {fetcher: new}", "rules.fetcher: new; allowed: legacy, kip-461"),
    ("rules: {election: any}", "rules.election: any; allowed: assignment_order, isr_order"),
    (
        "rules: {isr_lock: rw}",
        "rules.isr_lock: rw; allowed: none, completion, rw_always, rw_precheck",
    ),
    (
        "rules: {shrink_bumps_leader_epoch: 1}",
        "rules.shrink_bumps_leader_epoch: 1; allowed: true, false",
    ),
    ("rules: {s2_cooldown_ms: -1}", f"rules.s2_cooldown_ms: -1; allowed: {MS}"),
    ("service: {send_ms: 3}", "service.send_ms: unknown key; allowed: send_us"),
    ("service: {send_us: true}", "service.send_us: true; allowed: microseconds >= 0 (below 2^50)"),
    (
        "service: {metadata_ms: [30, 2]}",
        (
            "service.metadata_ms: [30, 2]; allowed: two numbers of milliseconds [low, high], "
            "low <= high"
        ),
    ),
    (
        "service: {metadata_ms: [30]}",
        "service.metadata_ms: [30]; allowed: two numbers of milliseconds [low, high], low <= high",
    ),
    ("service: {metadata_ms: [-1, 2]}", f"service.metadata_ms[0]: -1; allowed: {MS}"),
]


@pytest.mark.parametrize(("change", "line"), TOP)
def test_top_level(change: str, line: str) -> None:
    """Fields of the file itself, rules and service."""
    assert refusal(good(**parse_mapping(change, "F"))) == f"F: {line}"


@pytest.mark.parametrize("field", ["scenario_id", "horizon_ms", "cluster", "topics"])
def test_required(field: str) -> None:
    """Each required field is missed by name."""
    raw = good()
    del raw[field]
    assert refusal(raw).startswith(f"F: {field}: missing; allowed: ")


CLUSTER = [
    (
        "release: 2.7-3.1",
        "release: 2.7-3.1; allowed: 2.7-3.2",
    ),
    (
        "release: 0.8.2",
        "controller: kraft; allowed: zookeeper (KRaft only with 2.7-3.2, 3.3-3.6, 3.7+, 4.0, 4.1+)",
    ),
    ("controller: raft", "controller: raft; allowed: zookeeper, kraft"),
    ("brokers: []", "brokers: []; allowed: a list of broker ids"),
    ("brokers: [1, 1]", "brokers[1]: 1; allowed: each value once"),
    ("brokers: ['1']", 'brokers[0]: "1"; allowed: a whole number 0..2147483647'),
    ("brokers: 3", "brokers: 3; allowed: a list of broker ids"),
    ("controler: kraft", "controler: unknown key; allowed: controller"),
    ("log_dirs_per_broker: 0", "log_dirs_per_broker: 0; allowed: a whole number 1..1000"),
    (
        "isr_expiration_phase_ms: {1001: 15000}",
        "isr_expiration_phase_ms.1001: 15000; allowed: 0 <= first tick < 15000 (the tick's period)",
    ),
    (
        "isr_expiration_phase_ms: {9: 1}",
        "isr_expiration_phase_ms.9: unknown broker; allowed: 1001, 1002, 1003",
    ),
    ("isr_expiration_phase_ms: {1001: -1}", f"isr_expiration_phase_ms.1001: -1; allowed: {MS}"),
]


@pytest.mark.parametrize(("change", "line"), CLUSTER)
def test_cluster(change: str, line: str) -> None:
    """Fields of the cluster."""
    raw = good()
    raw["cluster"] |= parse_mapping(change, "F")
    assert refusal(raw) == f"F: cluster.{line}"


TOPICS = [
    (
        "{name: t}",
        (
            "assignment: missing; allowed: a mapping of partition to its brokers, "
            "or partitions and "
            "replication_factor"
        ),
    ),
    ("{name: 'a b', partitions: 1}", "name: a b; allowed: a topic name (letters, digits, . _ -)"),
    (
        "{name: t, partitions: 3}",
        "replication_factor: missing; allowed: a whole number 1..3 (the brokers)",
    ),
    (
        "{name: t, partitions: 3, replication_factor: 4}",
        "replication_factor: 4; allowed: a whole number 1..3 (the brokers)",
    ),
    (
        "{name: t, partitions: 0, replication_factor: 1}",
        "partitions: 0; allowed: a whole number 1..100000",
    ),
    ("{name: t, replication_factor: 2}", "partitions: missing; allowed: a whole number >= 1"),
    (
        "{name: t, assignment: {0: [1001]}, partitions: 1}",
        (
            "partitions: 1 beside assignment; allowed: either assignment, or partitions and "
            "replication_factor"
        ),
    ),
    (
        "{name: t, assignment: {}}",
        "assignment: {}; allowed: a mapping of partition to its brokers",
    ),
    (
        "{name: t, assignment: {0: []}}",
        "assignment.0: []; allowed: a list of brokers, the preferred leader first",
    ),
    ("{name: t, assignment: {0: [1001, 1001]}}", "assignment.0[1]: 1001; allowed: each value once"),
    ("{name: t, assignment: {0: [9]}}", "assignment.0[0]: 9; allowed: 1001, 1002, 1003"),
    (
        "{name: t, assignment: {a: [1001]}}",
        "assignment.a: unknown key; allowed: the number of a partition of the topic",
    ),
    (
        "{name: t, assignment: {0: [1001]}, produce: {acks: 2}}",
        "produce.acks: 2; allowed: 1, all",
    ),
    (
        "{name: t, assignment: {0: [1001]}, produce: [{acks: true}]}",
        "produce[0].acks: true; allowed: 1, all",
    ),
    (
        "{name: t, assignment: {0: [1001]}, produce: {records_per_s: -1}}",
        "produce.records_per_s: -1; allowed: a number >= 0 (below 1e9)",
    ),
    (
        "{name: t, assignment: {0: [1001]}, produce: {records_per_batch: 0.5}}",
        "produce.records_per_batch: 0.5; allowed: a whole number 1..1000000000",
    ),
    (
        "{name: t, assignment: {0: [1001]}, produce: {partitions: [0, 1]}}",
        "produce.partitions[1]: 1; allowed: 0",
    ),
    (
        "{name: t, assignment: {0: [1001]}, produce: {start_ms: 5, duration_ms: 60000}}",
        "produce.duration_ms: 60000; allowed: 0..59995 (start_ms + duration_ms <= horizon_ms)",
    ),
    (
        "{name: t, assignment: {0: [1001]}, produce: {rate: 5}}",
        (
            "produce.rate: unknown key; allowed: records_per_s, records_per_batch, "
            "record_bytes, acks, "
            "partitions, partition_rates, start_ms, duration_ms"
        ),
    ),
]


@pytest.mark.parametrize(("topic", "line"), TOPICS)
def test_topic(topic: str, line: str) -> None:
    """Fields of a topic and its load."""
    raw = good(topics=[parse_mapping(topic, "F")], faults=[])
    assert refusal(raw) == f"F: topics[0].{line}"


def test_topic_twice() -> None:
    """A topic's name is its own."""
    topic = {"name": "t", "assignment": {"0": [1001]}}
    assert refusal(good(topics=[topic, topic])) == "F: topics[1].name: t; allowed: each topic once"


WINDOW = "0..59999 (start_ms + duration_ms <= horizon_ms)"
FAULTS = [
    ("{}", f"kind: missing; allowed: {ALL_KINDS}"),
    ("{kind: crsh}", f"kind: crsh; allowed: {ALL_KINDS}"),
    ("{kind: [crash]}", f'kind: ["crash"]; allowed: {ALL_KINDS}'),
    ("{kind: crash, broker: 1044, start_ms: 1}", "broker: 1044; allowed: 1001, 1002, 1003"),
    (
        "{kind: crash, start_ms: 1}",
        "broker: missing; allowed: the id of a broker, or rack or power_domain",
    ),
    ("{kind: crash, broker: 1001}", f"start_ms: missing; allowed: {MS}"),
    (
        "{kind: crash, broker: true, start_ms: 1}",
        "broker: true; allowed: the id of a broker of the cluster",
    ),
    (
        "{kind: crash, broker: 1001, start_ms: 1, restart_afterms: 3}",
        "restart_afterms: unknown key; allowed: restart_after_ms",
    ),
    (
        "{kind: crash, broker: 1001, start_ms: 60001}",
        "start_ms: 60001; allowed: 0..60000 (horizon_ms)",
    ),
    (
        "{kind: crash, broker: 1001, start_ms: 1, restart_after_ms: -1}",
        f"restart_after_ms: -1; allowed: {MS}, or null (never)",
    ),
    ("{kind: pause, broker: 1001, start_ms: 1}", f"duration_ms: missing; allowed: {MS}"),
    (
        "{kind: pause, broker: 1001, start_ms: 1, duration_ms: 60000}",
        f"duration_ms: 60000; allowed: {WINDOW}",
    ),
    ("{kind: pause, broker: 1001, start_ms: -1, duration_ms: 1}", f"start_ms: -1; allowed: {MS}"),
    (
        "{kind: cpu, broker: 1001, start_ms: 1, duration_ms: 1, factor: 0}",
        "factor: 0; allowed: a number > 0 (below 1e9)",
    ),
    (
        "{kind: link, from: 1001, to: 1001, start_ms: 1, duration_ms: 1, drop: true}",
        "to: 1001; allowed: another node than from",
    ),
    (
        "{kind: link, from: 7, to: controller, start_ms: 1, duration_ms: 1, drop: true}",
        "from: 7; allowed: 1001, 1002, 1003, controller",
    ),
    (
        "{kind: link, from: 1001, to: controler, start_ms: 1, duration_ms: 1, drop: true}",
        "to: controler; allowed: the id of a broker, or controller",
    ),
    (
        "{kind: link, from: 1001, to: 1002, start_ms: 1, duration_ms: 1}",
        "drop: missing; allowed: either drop: true or latency_ms",
    ),
    (
        (
            "{kind: link, from: 1001, to: 1002, start_ms: 1, duration_ms: 1, drop: true, "
            "latency_ms: 3}"
        ),
        "latency_ms: 3; allowed: either drop: true or latency_ms",
    ),
    (
        "{kind: read_stall, broker: 1001, start_ms: 1, duration_ms: 1, stage: disk}",
        "stage: disk; allowed: handler, send",
    ),
    (
        "{kind: read_stall, broker: 1001, start_ms: 1, duration_ms: 1, reads: [direct, x]}",
        "reads[1]: x; allowed: direct, completion, all, visits",
    ),
    (
        "{kind: read_stall, broker: 1001, start_ms: 1, duration_ms: 1, partitions: [t-0, t-9]}",
        "partitions[1]: t-9; allowed: t-0",
    ),
    (
        "{kind: read_stall, broker: 1001, start_ms: 1, duration_ms: 1, partitions: [t-1]}",
        "partitions[0]: t-1; allowed: t-0 (hosted by 1001)",
    ),
    (
        "{kind: slow_read, broker: 1001, start_ms: 1, duration_ms: 1, read_ms: 1, partitions: al}",
        "partitions: al; allowed: all, or a list of TOPIC-N",
    ),
    (
        "{kind: slow_append, broker: 1001, start_ms: 1, duration_ms: 1, append_ms: -2}",
        f"append_ms: -2; allowed: {MS}",
    ),
    (
        "{kind: controlled_restart, broker: 1001, start_ms: 1, downtime_ms: 500}",
        "shutdown_ms: 1000; allowed: 0..500 (downtime_ms)",
    ),
    (
        "{kind: log_dir_failure, broker: 1001, start_ms: 1, log_dir: 1}",
        "log_dir: 1; allowed: 0 (log_dirs_per_broker: 1)",
    ),
    (
        "{kind: controller_outage, start_ms: 1, duration_ms: 1, sessions: old}",
        "sessions: old; allowed: fresh, resumed",
    ),
    (
        "{kind: produce_burst, topic: u, partition: 0, start_ms: 1, records: 1}",
        "topic: u; allowed: t",
    ),
    (
        "{kind: produce_burst, topic: t, partition: 2, start_ms: 1, records: 1}",
        "partition: 2; allowed: 0, 1",
    ),
    (
        "{kind: produce_burst, topic: t, partition: 0, start_ms: 1, records: 0}",
        "records: 0; allowed: a whole number 1..1000000000",
    ),
    (
        "{kind: produce_rate, topic: t, partition: 4, start_ms: 1, duration_ms: 1, factor: 2}",
        "partition: 4; allowed: all, 0, 1",
    ),
    (
        "{kind: client_surge, broker: 1001, start_ms: 1, duration_ms: 1, requests_per_s: 5}",
        "request_us: missing; allowed: microseconds >= 0 (below 2^50)",
    ),
    (
        (
            "{kind: partition_error, broker: 1003, topic: t, partition: 0, "
            "start_ms: 1, error: storage}"
        ),
        "broker: 1003; allowed: 1001, 1002 (the replicas of t-0)",
    ),
    (
        "{kind: partition_error, broker: 1002, topic: t, partition: 0, start_ms: 1, error: bad}",
        "error: bad; allowed: storage, unexpected, fenced_epoch, corrupt_record",
    ),
    (
        "{kind: stop_replica, broker: 1002, topic: t, partition: x, start_ms: 1}",
        "partition: x; allowed: the number of a partition of the topic",
    ),
    (
        "{kind: preferred_election, topic: t, partition: 0, start_ms: 1, leader: 1003}",
        "leader: 1003; allowed: 1001, 1002 (the replicas of t-0)",
    ),
    (
        "{kind: bootstrap, broker: 1002, topic: t, partition: 0, start_ms: 1}",
        "records: missing; allowed: a whole number 1..1000000000",
    ),
]


@pytest.mark.parametrize(("fault", "line"), FAULTS)
def test_fault(fault: str, line: str) -> None:
    """Fields of the faults; the second of two is named by its place."""
    raw = good()
    raw["faults"].append(parse_mapping(fault, "F"))
    assert refusal(raw) == f"F: faults[1].{line}"


CONFIG = [
    (
        "replica.lag.time.max.mss: 1",
        (
            "replica.lag.time.max.mss: unknown key; allowed: replica.lag.time.max.ms, "
            "replica.lag.max.messages (isr-pipeline keys lists all keys)"
        ),
    ),
    (
        "replica.lag.time.max.ms: '1'",
        'replica.lag.time.max.ms: "1"; allowed: a whole number 2..1125899906842',
    ),
    (
        "replica.fetch.wait.max.ms: -1",
        "replica.fetch.wait.max.ms: -1; allowed: a whole number 0..2147483647",
    ),
    (
        "min.insync.replicas: true",
        "min.insync.replicas: true; allowed: a whole number 1..2147483647",
    ),
    (
        "unclean.leader.election.enable: 'true'",
        'unclean.leader.election.enable: "true"; allowed: true, false',
    ),
    ("num.io.threads: 8.5", "num.io.threads: 8.5; allowed: a whole number 1..1024"),
    (
        "eligible.leader.replicas.version: 2",
        "eligible.leader.replicas.version: 2; allowed: 0, 1",
    ),
    (
        "follower.fetch.process.time.max.ms: 0",
        "follower.fetch.process.time.max.ms: 0; allowed: a whole number 1..1125899906842",
    ),
]


@pytest.mark.parametrize(("config", "line"), CONFIG)
def test_config(config: str, line: str) -> None:
    """Kafka's keys, their types and ranges."""
    assert refusal(good(config=parse_mapping(config, "F"))) == f"F: config.{line}"


class TestBounds:
    """Keys that KafkaConfig checks together: the replicas' fetch wait, and the lag limit."""

    @pytest.mark.parametrize(
        ("config", "line"),
        [
            (
                {WAIT: 30001},
                (
                    f"config.{WAIT}: 30001; allowed: at most {LAG} (30000): no broker from 0.8.1 "
                    "on starts with more"
                ),
            ),
            (
                {LAG: 499},
                (
                    f"config.{LAG}: 499; allowed: at least {WAIT} (500): no broker from 0.8.1 on "
                    "starts with less"
                ),
            ),
            (
                {WAIT: 2000, LAG: 1000},
                (
                    f"config.{WAIT}: 2000; allowed: at most {LAG} (1000): no broker from 0.8.1 on "
                    "starts with more"
                ),
            ),
        ],
    )
    def test_of_the_cluster(self, config: dict[str, int], line: str) -> None:
        """The line stands at a key that was given, and names the other with its value."""
        assert refusal(good(config=config)) == f"F: {line}"

    def test_the_default_of_the_release(self) -> None:
        """A wait that 4.1's lag limit of 30 s allows is above that of 2.2, which is 10 s."""
        raw = good(config={WAIT: 20000})
        parse_scenario(raw, "F")
        raw["cluster"] |= {"release": "2.1-2.6", "controller": "zookeeper"}
        assert refusal(raw).startswith(f"F: config.{WAIT}: 20000; allowed: at most {LAG} (10000)")

    def test_of_one_broker(self) -> None:
        """A broker's own lag limit has to fit the cluster's wait."""
        raw = good(config={WAIT: 1000})
        raw["cluster"]["broker_settings"] = {1002: {LAG: 999}}
        assert refusal(raw).startswith(
            f"F: cluster.broker_settings.1002.{LAG}: 999; allowed: at least {WAIT} (1000)"
        )

    def test_what_every_broker_has_of_its_own(self) -> None:
        """What no broker takes from the cluster keeps none from starting."""
        raw = good(config={WAIT: 1000, LAG: 999})
        raw["cluster"]["broker_settings"] = {
            broker: {LAG: 1000} for broker in raw["cluster"]["brokers"]
        }
        assert parse_scenario(raw, "F").config == {WAIT: 1000, LAG: 999}


FILES = [
    ("", "empty; allowed: one YAML or JSON mapping"),
    ("# nothing\n", "empty; allowed: one YAML or JSON mapping"),
    ("- 1\n", "a list; allowed: one YAML or JSON mapping"),
    ("3", "a number; allowed: one YAML or JSON mapping"),
    ("text", "a text; allowed: one YAML or JSON mapping"),
    (
        "a: b: c",
        (
            "line 1, column 5: no YAML (mapping values are not allowed here); allowed: one YAML or "
            "JSON mapping"
        ),
    ),
    ("a: 1\na: 2\n", "a: given twice; allowed: each key once"),
    ("cluster: {release: 1, release: 2}", "cluster.release: given twice; allowed: each key once"),
    ('{"a": {"0": 1, "0": 2}}', "a.0: given twice; allowed: each key once"),
    ("a: {0: 1, '0': 2}", "a.0: given twice; allowed: each key once"),
    (
        "seed: !!int 3",
        "line 1: the tag tag:yaml.org,2002:int; allowed: values without a tag",
    ),
    (
        "a: !!python/name:os.system x",
        "line 1: the tag tag:yaml.org,2002:python/name:os.system; allowed: values without a tag",
    ),
    ("---\na: 1\n---\nb: 1\n", "line 3: a second document; allowed: one YAML or JSON mapping"),
    ("a: *x\n", "line 1: the alias *x; allowed: a finished anchor"),
    ("a: &x [*x]\n", "line 1: the alias *x; allowed: a finished anchor"),
    ("? [1]\n: 2\n", "line 1: a key that is no plain text; allowed: texts as keys"),
    ("[" * 60 + "]" * 60, "line 1: nested too deeply; allowed: at most 50 levels"),
]


@pytest.mark.parametrize(("content", "line"), FILES)
def test_file(tmp_path: Path, content: str, line: str) -> None:
    """Files that are no single mapping without tags, duplicates and dangling aliases."""
    path = tmp_path / "f.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    colon = " " if line[0].isupper() else ": "
    assert str(caught.value.at_line(0)) == f"{path}{colon}{line}"


def test_alias_bomb(tmp_path: Path) -> None:
    """Aliases that multiply are refused before they unfold."""
    lines = ["a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"the alias \*a3 multiplies; allowed: aliases that"):
        load_scenario(path)


HURTING = [
    ("[" * 20_000, "line 1: nested too deeply; allowed: at most 50 levels"),
    ("- " * 20_000 + "1", "line 1: nested too deeply; allowed: at most 50 levels"),
    ('{"a":' * 20_000, "nested too deeply; allowed: at most 50 levels"),
    ("- 1\n" * 100_001, "100001 lines and commas; allowed: at most 100000"),
    ("a" * 2_200_000, "more than 2097152 bytes; allowed: a smaller file, or several"),
]


@pytest.mark.parametrize(("content", "line"), HURTING, ids=range(len(HURTING)))
def test_made_to_hurt(tmp_path: Path, content: str, line: str) -> None:
    """Depth, length and number of values have limits that end the reading at once."""
    path = tmp_path / "f.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert line in str(caught.value)


def test_values_are_counted_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line may hold a key and a value."""
    monkeypatch.setattr(reading, "NODES_MAX", 100)
    path = tmp_path / "f.yaml"
    path.write_text("".join(f"k{i}: 1\n" for i in range(60)))
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert str(caught.value) == (
        f"{path}: line 50: more than 100 keys and values; allowed: fewer, or several files"
    )


class TestLength:
    """A refusal is one line that fits a terminal."""

    def test_nearest_words(self) -> None:
        """Of a long list of allowed words the nearest five, and how many more there are."""
        words = ", ".join(f"release-{n:03}" for n in range(90))
        line = str(InputError("f.yaml", "cluster.release", "release-042", words))
        assert line == (
            "f.yaml: cluster.release: release-042; allowed: release-042, release-002, "
            "release-004, release-012, release-014 and 85 more "
            "(docs/scenario-format.md lists them)"
        )

    def test_the_command_stays(self) -> None:
        """Which command lists all keys is said behind the nearest few, too."""
        keys = ", ".join(f"some.long.kafka.key.{n:02}" for n in range(40))
        line = str(InputError("f.yaml", "config.x", "unknown key", with_list(keys, "isr keys")))
        assert line.endswith(" and 35 more (isr keys lists all keys)")

    def test_short_lists_are_whole(self) -> None:
        """Nothing is left out that fits."""
        words = ", ".join(f"w{n}" for n in range(60))
        assert str(InputError("f", "", "x", words)).endswith(words)

    @pytest.mark.parametrize("allowed", ["word " * 200, ", ".join(["w" * 300] * 30), "x" * 5000])
    def test_at_most_400(self, allowed: str) -> None:
        """Whatever is long: place, field, value or what is allowed; the file's name stays."""
        line = str(InputError("folder/" * 80 + "mine.yaml", "a." * 300, "v" * 900, allowed))
        assert len(line) <= 400
        assert "mine.yaml: a." in line
        assert "; allowed: " in line


def test_not_utf8(tmp_path: Path) -> None:
    """Bytes that are no text."""
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert str(caught.value) == f"{path}: not UTF-8 at byte 0; allowed: one YAML or JSON mapping"


def test_missing_file() -> None:
    """A file that is not there."""
    with pytest.raises(InputError) as caught:
        load_scenario("/nowhere/x.yaml")
    assert str(caught.value) == (
        "/nowhere/x.yaml: no such file or directory; allowed: a readable YAML or JSON file"
    )


def test_broken_json(tmp_path: Path) -> None:
    """A .json file is read as JSON and nothing else."""
    path = tmp_path / "f.json"
    path.write_text('{"a": 1,}')
    with pytest.raises(InputError, match=r"line 1, column \d+: no JSON"):
        load_scenario(path)


SETTINGS = [
    ("replica.lag.time.max.ms", "--set: replica.lag.time.max.ms; allowed: KEY=VALUE"),
    ("=3", "--set: =3; allowed: KEY=VALUE"),
    ("cluster.releas=1", "cluster.releas: unknown key; allowed: release"),
    ("faults[3].broker=2", 'faults.3: "3"; allowed: 0..0'),
    ("horizon_ms.x=3", "horizon_ms: 60000; allowed: a mapping to set a part of"),
    (
        "replica.lag.time.mx.ms=3",
        "replica.lag.time.mx.ms: unknown key; allowed: replica.lag.time.max.ms",
    ),
]


@pytest.mark.parametrize(("setting", "line"), SETTINGS)
def test_setting(setting: str, line: str) -> None:
    """Settings are refused like the file itself."""
    with pytest.raises(InputError) as caught:
        parse_scenario(with_settings(good(), [setting], "F"), "F")
    assert str(caught.value).startswith(f"F: {line}")


def test_one_line() -> None:
    """Whatever stands in a file, the refusal has one line."""
    line = refusal(good(scenario_id="a\nb\x1b[31m" + "c" * 500))
    assert "\n" not in line
    assert line.isprintable()


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["all", "none", "t-0", "controller", 0, 1001, 1e300, "0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
LIBRARY = REPOSITORY / "isr_pipeline" / "scenarios" / "library"

RICH = parse_mapping((LIBRARY / "w13.yaml").read_text(), "F") | {
    "faults": [{"kind": "crash", "broker": 1, "start_ms": 1}]
    + [parse_mapping(fault, "F") for fault, _ in FAULTS if "1001" not in fault]
}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the path of every node."""
    inner: Any = ()
    if isinstance(value, (dict, list)):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
    below = [one for key, item in inner for one in _paths(item, (*path, key))]
    return [path, *below] if path else below


def _said(read: Callable[[], object]) -> list[str]:
    """Give the line of each error; none if there is none."""
    try:
        read()
    except InputError as error:
        return [str(one) for one in error.each]
    return []


@settings(max_examples=300)
@given(data=st.data())
def test_nothing_else_is_raised(data: st.DataObject) -> None:
    """Whatever stands in whatever place, a file is accepted or refused in printable lines."""
    raw = good() if data.draw(st.booleans()) else copy.deepcopy(RICH)
    path = data.draw(st.sampled_from(_paths(raw)))
    here: Any = raw
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = data.draw(ANYTHING)
    for line in _said(lambda: scenario_from_json(canonical_json(parse_scenario(raw, "F")))):
        assert line.isprintable()
        assert line.startswith("F: ")


@settings(max_examples=200)
@given(st.text(alphabet="{}[]:,-&*!|>?'\"%@`# \n\tab01.~", max_size=40))
@example("!%00")
def test_no_text_is_too_odd(content: str) -> None:
    """Whatever the text, it is read or refused in one printable line."""
    assert all(line.isprintable() for line in _said(lambda: parse_mapping(content, "F")))
