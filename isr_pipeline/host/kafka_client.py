"""What kafka-python does not do for every release of Kafka."""

from __future__ import annotations

from typing import Any


def describe_cluster(client: Any) -> dict[str, Any]:
    """Ask for the cluster's id and its brokers, whatever the release.

    kafka-python 3.0.12 fails on version 0 of DescribeCluster's answer, all that Kafka 2.8 to 3.6
    have: a field is missing that version 1 added (KIP-919). A client that takes them for 2.7, which
    has no DescribeCluster, asks Metadata, and is told all but fenced brokers.

    Args:
        client: kafka-python's KafkaAdminClient.
    """
    try:
        answer: dict[str, Any] = client.describe_cluster()
    except KeyError:
        with type(client)(**client.config | {"api_version": (2, 7)}) as older:
            answer = older.describe_cluster()
    return answer
