"""An imported cluster against what was made: every field that a cluster file has."""

from __future__ import annotations

from typing import Any

from isr_pipeline.kafka.broker_config import KEYS


def compare(seen: dict[str, Any], truth: dict[str, Any], standing: list[dict[str, Any]]) -> int:
    """Compare what an import says with what was made.

    Args:
        seen: what ``cluster show --json`` prints.
        truth: `tools.lab.topology.truth`.
        standing: leaders and ISR at the moment of the import.

    Returns:
        How many values were compared.
    """
    assert seen["controller"] == truth["metadata"].lower()
    assert [one["id"] for one in seen["brokers"]] == [one["id"] for one in truth["brokers"]]
    compared = 2
    for broker, made in zip(seen["brokers"], truth["brokers"], strict=True):
        assert broker["rack"] == made["rack"]
        assert broker["log_dirs"] == sorted(made["log_dirs"])
        compared += 2
        wanted = {**truth["cluster_wide"], **made["static"], **made["dynamic"]}
        effective = {**seen["settings"], **broker["settings"]}
        for key, value in wanted.items():
            if key in KEYS:
                assert as_text(effective[key]) == value, f"broker {made['id']}: {key}"
                compared += 1
    return compared + _topics(seen, truth, standing)


def _topics(seen: dict[str, Any], truth: dict[str, Any], standing: list[dict[str, Any]]) -> int:
    made = {one["name"]: one for one in truth["topics"]}
    found = {one["name"]: one for one in seen["topics"]}
    assert sorted(set(made) - {"alone"}) == sorted(found)
    assert any("alone" in one and "replication factor 1" in one for one in seen["left_out"])
    stands = {(row["topic"], row["partition"]): row for row in standing}
    place = {
        (broker["id"], replica): path
        for broker in truth["brokers"]
        for path, replicas in broker["log_dirs"].items()
        for replica in replicas
    }
    compared = 2
    for name, topic in found.items():
        settings = {key: as_text(value) for key, value in topic["settings"].items()}
        assert settings == made[name]["settings"], name
        assert [p["id"] for p in topic["partitions"]] == [p["id"] for p in made[name]["partitions"]]
        compared += 2
        for partition, known in zip(topic["partitions"], made[name]["partitions"], strict=True):
            which = f"{name}-{partition['id']}"
            if "replicas" not in known:  # Kafka's own topic: its brokers chose
                assert sorted(partition["replicas"]) == known["replicas_in_any_order"], which
                compared += 1
                continue
            row = stands[name, partition["id"]]
            assert partition["replicas"] == row["replicas"], which
            assert partition["leader"] == row["leader"], which
            assert sorted(partition["isr"]) == row["isr"], which
            dirs = [place.get((broker, which)) for broker in row["replicas"]]
            assert partition["log_dirs"] == dirs, which
            compared += 4
    return compared


def as_text(value: object) -> str:
    """Write a value as Kafka's files do."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)
