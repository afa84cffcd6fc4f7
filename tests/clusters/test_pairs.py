"""Two sources of one cluster, drawn: what either says is used, told, or counted by its key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isr_pipeline.base.files.words import scalar
from isr_pipeline.clusters.importing import import_cluster
from isr_pipeline.kafka.broker_config import resolve
from isr_pipeline.kafka.release_numbers import rule_set_text
from tests.clusters.reading import Seen

T = (
    "Topic: t\tTopicId: kQd2pQm9Rj6h3mQx0vYrTg\tPartitionCount: 1\tReplicationFactor: 3\t"
    "Configs: {}\n\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
)
OF_TOPICS = {
    "min.insync.replicas": ("1", "2", "3"),
    "unclean.leader.election.enable": ("true", "false"),
}
OF_BROKERS = {
    **OF_TOPICS,
    "replica.lag.time.max.ms": ("10000", "30000", "45000"),
    "num.io.threads": ("8", "16"),
    "background.threads": ("10", "20"),
    "inter.broker.protocol.version": ("2.4", "3.6"),
}
"""The last is read by no rule but where it holds a release back; the one before by none."""

Values = dict[str, str]
Form = Callable[[Values], str]


def entries(values: Values, *origins: str) -> str:
    """Print entries of kafka-configs.sh; their origins take turns."""
    return "".join(
        f"  {key}={value} sensitive=false synonyms={{{origins[i % len(origins)]}:{key}={value}}}\n"
        for i, (key, value) in enumerate(values.items())
    )


def file_of(*lines: str) -> Form:
    """Write a server.properties that begins with these lines."""
    return lambda values: "".join(
        f"{line}\n" for line in (*lines, *(f"{key}={value}" for key, value in values.items()))
    )


def resource(kind: str, values: Values, spec: str) -> str:
    """Write a resource of Strimzi with these settings."""
    config = json.dumps({key: scalar(value) for key, value in values.items()})
    return (
        f"apiVersion: kafka.strimzi.io/v1beta2\nkind: {kind}\nmetadata: {{name: t, labels: "
        f"{{strimzi.io/cluster: k}}}}\nspec: {spec.replace('CONFIG', config)}\n"
    )


TOPIC, STATIC, OWN = "DYNAMIC_TOPIC_CONFIG", "STATIC_BROKER_CONFIG", "DYNAMIC_BROKER_CONFIG"
DEFAULTS = "DYNAMIC_DEFAULT_BROKER_CONFIG"
FORMS: dict[str, tuple[dict[str, tuple[str, ...]], Form]] = {
    "listing": (OF_TOPICS, lambda v: T.format(",".join(f"{k}={x}" for k, x in v.items()))),
    "topic --all": (
        OF_TOPICS,
        lambda v: "All configs for topic t are:\n" + entries(v, STATIC, TOPIC, DEFAULTS),
    ),
    "topic": (OF_TOPICS, lambda v: "Dynamic configs for topic t are:\n" + entries(v, TOPIC)),
    "topic by ZooKeeper": (
        OF_TOPICS,
        lambda v: (
            f"Configs for topic 't' are {','.join(f'{key}={value}' for key, value in v.items())}\n"
        ),
    ),
    "broker --all": (
        OF_BROKERS,
        lambda v: "All configs for broker 1 are:\n" + entries(v, STATIC, OWN),
    ),
    "broker": (OF_BROKERS, lambda v: "Dynamic configs for broker 2 are:\n" + entries(v, OWN)),
    "all brokers": (
        OF_BROKERS,
        lambda v: "Default configs for brokers in the cluster are:\n" + entries(v, DEFAULTS),
    ),
    "file": (OF_BROKERS, file_of("broker.id=1", "zookeeper.connect=zk:2181")),
    "file without id": (OF_BROKERS, file_of("zookeeper.connect=zk:2181")),
    "controller": (OF_BROKERS, file_of("process.roles=controller", "node.id=100")),
    "Strimzi": (
        OF_BROKERS,
        lambda v: resource("Kafka", v, "{kafka: {config: CONFIG}, zookeeper: {}}"),
    ),
    "topic of Strimzi": (OF_TOPICS, lambda v: resource("KafkaTopic", v, "{config: CONFIG}")),
}
OLD = "inter.broker.protocol.version"


def accounted(seen: Seen, key: str, value: str) -> bool:
    """Whether a value is somebody's, or told of with its key, or its key is counted."""
    ids = [one["id"] for one in seen.cluster["brokers"]]
    default = resolve(rule_set_text(seen.cluster["release"]) or "", {}).get(key)
    own = seen.topic("t")["settings"].get(key)
    held = {seen.setting(number, key) for number in ids}
    effective = {str(own).lower(), *(str(default).lower() if v == "none" else v for v in held)}
    told = [*seen.cluster["conflicts"], *seen.cluster["left_out"]]
    texts = [json.dumps(one) for one in told]
    counted = any(key in one["keys"] for one in told if isinstance(one, dict) and "keys" in one)
    released = key == OLD and seen.cluster["release"].startswith(value)
    mentioned = any(key in text and value in text for text in texts)
    return value in effective or released or counted or mentioned


def values_of(form: str) -> st.SearchStrategy[Values]:
    """Some settings that a source of this form may have, each with a value."""
    choices = {key: st.sampled_from(values) for key, values in FORMS[form][0].items()}
    return st.fixed_dictionaries({}, optional=choices)


PAIRS = [(one, other) for one in FORMS for other in FORMS if one < other]


@pytest.mark.parametrize(("one", "other"), PAIRS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_nothing_that_a_source_says_is_lost(
    one: str, other: str, tmp_path: Path, data: st.DataObject
) -> None:
    """Every value; and two sources that say the same do not contradict each other."""
    drawn = {name: data.draw(values_of(name), label=name) for name in (one, other)}
    if data.draw(st.booleans(), label="the same"):
        drawn[other] = {k: v for k, v in drawn[one].items() if k in FORMS[other][0]}
    texts = {name: FORMS[name][1](values) for name, values in drawn.items()}
    files = {"base" if "listing" in drawn else "listing": T.format(""), **texts}
    files.pop("base", None)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    sources = [str(tmp_path / name) for name in files]
    seen = Seen(import_cluster(sources, "x", out=tmp_path / "x.yaml"))
    for name, values in drawn.items():
        for key, value in values.items():
            assert accounted(seen, key, value), f"{name}: {key}={value}\n{seen.printed}"
    if drawn[one] == drawn[other]:
        conflicts = [one for one in seen.cluster["conflicts"] if one["what"] != "controller"]
        assert not conflicts, seen.printed
