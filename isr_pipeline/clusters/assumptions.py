"""What is assumed where no source says anything, each with its reason."""

from __future__ import annotations

from typing import Any

from isr_pipeline.base.files.words import counted
from isr_pipeline.kafka.release_numbers import version_of
from isr_pipeline.scenarios.cluster_file import ELR, RATES
from isr_pipeline.scenarios.model import ALTER_PARTITION_MS, Service

HARDWARE = "hardware"
RELEASE = "4.1"
RECORDS_PER_S = 10
BATCHES_PER_S = 20
RECORD_BYTES = 500
INTERNAL = frozenset(
    {
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        "__cluster_metadata",
        "__remote_log_metadata",
        "__amazon_msk_canary",
        "__CruiseControlMetrics",
        "__KafkaCruiseControlModelTrainingSamples",
        "__KafkaCruiseControlPartitionMetricSamples",
        "__strimzi_store_topic",
        "_schemas",
    }
)
"""Topics of Kafka's own and of those around it: clients do not produce to them by themselves."""


def is_internal(topic: str) -> bool:
    """Whether a topic is one of Kafka's own, or of a well-known program around it."""
    return topic in INTERNAL


class Assumptions:
    """What was assumed so far, the most important first."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []

    def add(self, what: str, value: Any, why: str) -> Any:
        """Assume a value."""
        self.listed.append({"what": what, "value": value, "why": why})
        return value

    def release(self, hint: tuple[str, str] | None) -> str:
        """Assume a release: one that fits what the sources look like."""
        if hint is None:
            return str(self.add("release", RELEASE, "no source tells it; --release does"))
        return str(self.add("release", hint[0], f"{hint[1]}; --release says better"))

    def controller(self, release: str, hint: str | None = None) -> str:
        """Assume who elects leaders.

        Args:
            release: of Kafka, assumed or not.
            hint: who the listing looks like, if it looks like one.
        """
        version = version_of(release) or (4,)
        if version >= (4,):
            return "kraft"
        if version < (2, 8):
            return "zookeeper"
        why = f"no source tells it; {release} has both"
        if hint is not None:
            under = {"kraft": "KRaft", "zookeeper": "ZooKeeper"}[hint]
            why = f"no source tells it; the listing looks as under {under}"
        likely = hint or ("kraft" if version >= (3, 3) else "zookeeper")
        return str(self.add("controller", likely, why))

    def eligible_leader_replicas(self, release: str, controller: str, *, shown: bool) -> int | None:
        """Whether KIP-966 is on; None where the release does not have it.

        Args:
            release: of Kafka, assumed or not.
            controller: who elects leaders.
            shown: whether a source shows the cluster's features, and with them no such one.
        """
        version = version_of(release)
        if version is None or version < (4,) or controller != "kraft":
            return None
        if shown:
            return 0
        on = version >= (4, 1)
        why = "clusters made with 4.1 or later have it" if on else "4.0 has it only on demand"
        other = f"`--feature {ELR}={int(not on)}` says otherwise"
        return int(self.add(f"features.{ELR}", int(on), f"no source tells it; {why}; {other}"))

    def no_eligible_leaders(self, release: str) -> None:
        """Assume that KIP-966 is off, with a release that was assumed to be too old for it."""
        why = f"{release}, which is assumed, does not have it; --release 4.1 or later assumes it on"
        self.add(f"features.{ELR}", 0, why)

    def replication_listener(self) -> bool:
        """Assume that followers share the clients' listener, as by Kafka's defaults."""
        why = "no source has a broker's listeners (kafka-configs.sh --all); Kafka's default is one"
        return bool(self.add("replication_listener", False, why))

    def acks(self, release: str) -> int | str:
        """Assume how producers wait."""
        version = version_of(release) or (4,)
        acks: int | str = "all" if version >= (3,) else 1
        since = "since" if version >= (3,) else "before"
        why = f"no source tells it; {acks} is the clients' default {since} 3.0"
        self.add("topics.*.produce.acks", acks, why)
        return acks

    def rates(self, topics: int) -> None:
        """Assume a load where nobody has measured any."""
        why = (
            f"no source tells the rates of {topics} topics; one batch a second keeps a partition "
            "from being idle (Kafka's own topics are idle here)"
        )
        self.add(RATES, RECORDS_PER_S, why)

    def idle(self, partitions: int) -> None:
        """Assume that partitions without a rate are idle, where others of their topic have one."""
        why = f"no source tells the rates of {partitions} partitions, only of others of their topic"
        self.add("topics.*.partitions.records_per_s of the others", 0, why)

    def estimated_rates(self, partitions: int) -> None:
        """Assume that what a partition holds came evenly in the time for which it is kept."""
        why = (
            f"no source tells the rates of {counted(partitions, 'partition')}; their sizes are "
            "known, and too small where a topic is younger than its retention.ms"
        )
        self.add("topics.*.partitions.records_per_s", "size / retention.ms / record_bytes", why)

    def topic_settings(self) -> None:
        """Assume that what a listing shows with a topic is the topic's own setting."""
        why = (
            "kafka-topics.sh and Cruise Control show values of brokers in the same place; "
            "kafka-configs.sh --entity-type topics tells them apart"
        )
        self.add("topics.*.settings", "the topics' own", why)

    def unlisted_settings(self, listing: str, other: str, topics: int) -> None:
        """Assume that settings hold which a listing without any settings does not show."""
        why = (
            f"{listing} shows no setting of {counted(topics, 'topic')}: they have none, or whoever "
            "listed them has no right to DescribeConfigs"
        )
        self.add("topics.*.settings that the listing lacks", f"those of {other}", why)

    def batches(self, *, rated: bool, unrated: bool) -> None:
        """Assume how many records a request holds.

        Args:
            rated: whether a topic has rates that some source tells.
            unrated: whether a topic has the assumed rate.
        """
        ones, shared = "one batch a second", f"at most {BATCHES_PER_S} batches a second a partition"
        value: int | str = RECORDS_PER_S
        if rated:
            value = f"the rate of a topic's busiest partition / {BATCHES_PER_S}, rounded up"
        if rated and unrated:
            value = f"{value}; {RECORDS_PER_S} in topics without rates"
        said = [*([shared] if rated else []), *([ones] if unrated else [])]
        why = f"no source tells batches; {', '.join(said) or 'every topic is idle'}"
        self.add("topics.*.produce.records_per_batch", value, why)
        self.add("topics.*.produce.record_bytes", RECORD_BYTES, "no source tells sizes")

    def service(self, controller: str) -> None:
        """Assume service times: those of the simulator."""
        times = {
            **{key: list(v) if isinstance(v, tuple) else v for key, v in dict(Service()).items()},
            "alter_partition_ms": ALTER_PARTITION_MS[controller],
        }
        self.add("service", times, "no source tells service times; these are the simulator's")
