"""Kafka's changes that the rules know, and defects of single releases that no rule has.

`FIXES` is the one list of which release number has which change, backports included;
`isr_pipeline.kafka.releases` says what each range of releases has. Every number to 3.9.0 was looked
up in apache/kafka: the first tags whose history has the commit, or, where a commit of another name
changed the code, the file at the tags around it. Later numbers were read in the published sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """One change.

    Attributes:
        source: what its commit names: an issue, a proposal or a pull request.
        since: the first number that has it; before it, the first of each older line that has it.
        what: what is so from then on.
        switches: switch -> its value from then on, as a rule-set file writes it.
    """

    source: str
    since: tuple[str, ...]
    what: str
    switches: Mapping[str, object]

    def is_in(self, version: Version) -> bool:
        """Whether a release has it."""
        *lines, everywhere = self.since
        return _at_least(version, everywhere) or any(
            _at_least(version, first) and line_of(_numbers(first)) == line_of(version)
            for first in lines
        )


@dataclass(frozen=True, slots=True)
class Defect:
    """What single releases do wrong and no rule has.

    Attributes:
        source: the issue.
        first: number that has it; ``mended``: the first one that has it no more.
        what: what goes wrong.
    """

    source: str
    first: str
    mended: str
    what: str

    def is_in(self, version: Version) -> bool:
        """Whether a release has it."""
        return _at_least(version, self.first) and not _at_least(version, self.mended)


FIXES: tuple[Fix, ...] = (
    Fix(
        "KAFKA-1546",
        ("0.9",),
        "a follower's lag is time alone, measured at the end of a read",
        {"clock": "read_end", "reset": "offsets", "message_lag": False},
    ),
    Fix(
        "KAFKA-1461",
        ("0.9",),
        "a fetcher waits after a failed request, its thread once more",
        {"backoff_none": False, "double_backoff": True},
    ),
    Fix(
        "KAFKA-1387",
        ("0.9",),
        "a broker does not wait for the znode of its old session: its process ends",
        {"start_waits_for_session": False},
    ),
    Fix(
        "KAFKA-1845",
        ("0.9",),
        "a broker whose fetch wait is above `replica.socket.timeout.ms` does not start",
        {"socket_timeout_checked": True},
    ),
    Fix(
        "KAFKA-2063",
        ("0.10.1",),
        "`replica.fetch.response.max.bytes` bounds an answer, and a batch above "
        "`replica.fetch.max.bytes` passes (KIP-74)",
        {"response_limit": True, "fetch_size_checked": False},
    ),
    Fix(
        "KAFKA-1464",
        ("0.10.1",),
        "replicas can be throttled (KIP-73)",
        {"has_replication_quotas": True},
    ),
    Fix(
        "KAFKA-4384",
        ("0.10.1.1",),
        "a corrupt batch is fetched again; before, the next fetch ended the fetcher thread",
        {"corrupt_kills_thread": False},
    ),
    Fix(
        "KAFKA-4485",
        ("0.10.2",),
        "a follower at the end of the log in time is caught up as of its fetch; the high watermark "
        "waits for it; ticks come twice in a lag limit",
        {
            "clock": "fetch_time",
            "reset": "every_call_sentinel",
            "hw_waits_for_caught_up": True,
            "tick_divisor": 2,
        },
    ),
    Fix(
        "KAFKA-5121",
        ("0.11",),
        "raising the high watermark takes the log's lock, and so waits for appends (KIP-98)",
        {"hw_takes_log_lock": True},
    ),
    Fix(
        "KAFKA-4623",
        ("0.11",),
        "`unclean.leader.election.enable` is false by default (KIP-106)",
        {"key_defaults": "2.1-2.6"},
    ),
    Fix(
        "KIP-101",
        ("0.11",),
        "a new follower truncates to where its leader's epoch ends, not to its high watermark",
        {"truncate_to_hw": False},
    ),
    Fix("KIP-112", ("1.0",), "a failed log dir ends no broker", {"io_error_halts": False}),
    Fix(
        "KAFKA-5642",
        ("1.1",),
        "the last member stays in the ISR under ZooKeeper, unclean elections or not",
        {"last_member_leaves": False},
    ),
    Fix(
        "KAFKA-5642",
        ("1.1",),
        "requests of the controller to ZooKeeper are in flight together",
        {"zookeeper_pipelined": True},
    ),
    Fix(
        "KAFKA-6937",
        ("1.1.1", "2.0"),
        "a replication quota delays no fetch of a follower in the ISR",
        {"quota_spares_in_sync": True},
    ),
    Fix(
        "KAFKA-7414",
        ("2.0.1",),
        "a follower whose leader's log is shorter than its own goes on",
        {"exits_over_truncation": False},
    ),
    Fix(
        "KAFKA-7128",
        ("2.0.1",),
        "a follower joins only at an offset of its leader's own epoch",
        {"expand_needs_epoch_start": True},
    ),
    Fix(
        "KAFKA-7152",
        ("2.1",),
        "a follower at the leader's very end is in sync however long ago it asked",
        {"log_end_exempt": True},
    ),
    Fix(
        "KIP-320",
        ("2.1",),
        "a fetch names the leader epoch; each read and each tick takes the partition's lock",
        {"fetch_names_epoch": True, "isr_lock": "rw_always"},
    ),
    Fix(
        "KIP-461",
        ("2.3",),
        "a partition that fails leaves its fetcher thread alive",
        {"fetcher": "kip-461"},
    ),
    Fix(
        "KAFKA-3143",
        ("2.3",),
        "a new controller of ZooKeeper takes dead followers out of the ISRs",
        {"failover_removes_dead": True},
    ),
    Fix(
        "KAFKA-8400",
        ("2.4",),
        "a failed read leaves the follower's record as it was",
        {"failed_read_applied": False, "reset": "every_call"},
    ),
    Fix(
        "KAFKA-7538",
        ("2.5",),
        "a tick takes the partition's lock only where it would shrink",
        {"isr_lock": "rw_precheck"},
    ),
    Fix(
        "KAFKA-9102",
        ("2.5",),
        "lag limit of 30 s and ZooKeeper session of 18 s by default (KIP-537)",
        {"key_defaults": "2.7-3.2"},
    ),
    Fix(
        "KAFKA-9039",
        ("2.5",),
        "a follower in sync whose partition stands still does not know it, and is throttled",
        {"idle_lag_known": False},
    ),
    Fix(
        "KAFKA-8836",
        ("2.7",),
        "a leader asks the controller to change the ISR (KIP-497)",
        {"async_isr": True, "answer_raises_hw": False},
    ),
    Fix(
        "KAFKA-8334",
        ("2.7",),
        "a produce request is answered before the fetches that it completes are read",
        {"answers_before_delayed": True},
    ),
    Fix(
        "#9883",
        ("2.8",),
        "brokers run under KRaft (early access)",
        {"kraft": True, "kraft_shrink_bumps": True, "check_from_imbalance": True},
    ),
    Fix(
        "#11246",
        ("3.1",),
        "a stopping broker does not wait after its last try under ZooKeeper",
        {"pauses_after_last_try": False},
    ),
    Fix(
        "KAFKA-13091",
        ("3.1",),
        "the answer to an ISR change raises the high watermark at once",
        {"answer_raises_hw": True},
    ),
    Fix(
        "KAFKA-8529",
        ("3.1",),
        "a fetcher thread waits once after a failed request, not twice",
        {"double_backoff": False},
    ),
    Fix(
        "KAFKA-13790",
        ("3.3",),
        "a leader forgets what it knows of followers on a new leader epoch alone, and ignores "
        "older metadata",
        {"reset": "leader_epoch", "metadata_by_epoch": True},
    ),
    Fix(
        "#12081",
        ("3.3",),
        "a follower at the log's end is caught up for the high watermark too",
        {"prev_leo_monotone": True, "hw_log_end": True},
    ),
    Fix(
        "KAFKA-13837",
        ("3.3",),
        "a follower's record is written after each partition's read",
        {"record_per_partition": True},
    ),
    Fix(
        "KAFKA-13916",
        ("3.3",),
        "neither leader nor controller takes a fenced or stopping broker into an ISR (KIP-841)",
        {"expand_needs_eligible": True, "alter_reverts": True, "controller_checks_isr": True},
    ),
    Fix(
        "KAFKA-14392",
        ("3.3.2",),
        "a heartbeat of KRaft waits for half a session at most",
        {"heartbeats_within_session": True},
    ),
    Fix(
        "KAFKA-14617",
        ("3.5",),
        "a leader remembers the broker epoch of a fetch (KIP-903)",
        {"records_broker_epoch": True},
    ),
    Fix(
        "KAFKA-15080",
        ("3.5.1",),
        "a follower in sync knows it however long its partition stands still",
        {"idle_lag_known": True},
    ),
    Fix(
        "KAFKA-15021",
        ("3.6",),
        "a shrink begins no leader epoch under KRaft, and the high watermark waits for nobody who "
        "may not join",
        {"kraft_shrink_bumps": False, "hw_ignores_ineligible": True},
    ),
    Fix(
        "KAFKA-15221",
        ("3.7",),
        "a fetch of an older broker epoch is refused",
        {"stale_fetch_rejected": True},
    ),
    Fix(
        "KAFKA-15583",
        ("3.7",),
        "the high watermark stands still under min ISR, which is at most the replication factor",
        {"hw_frozen_under_min_isr": True, "min_isr_capped": True},
    ),
    Fix(
        "KAFKA-15363",
        ("3.7",),
        "a KRaft broker reports a failed log dir (KIP-858)",
        {"log_dirs_reported": True},
    ),
    Fix(
        "#15889",
        ("3.8",),
        "a replication quota forgets bytes a whole time after the last of their sample",
        {"quota_counts_from_last_byte": True},
    ),
    Fix(
        "KAFKA-12670",
        ("3.9",),
        "KRaft's controllers read `unclean.leader.election.enable`",
        {"kraft_elects_uncleanly": True},
    ),
    Fix(
        "KAFKA-17793",
        ("4.0",),
        "KRaft's sessions outlive a fence and are looked at every eighth of their length; "
        "controllers look for leads to give back at a fixed rate",
        {
            "fence_ends_session": False,
            "sessions_checked_by_eighths": True,
            "check_from_imbalance": False,
        },
    ),
    Fix(
        "KAFKA-18138",
        ("4.0",),
        "a new controller gives fenced brokers a session",
        {"fenced_get_sessions": True},
    ),
    Fix("KIP-966", ("4.0",), "eligible leader replicas can be switched on", {"has_elr": True}),
    Fix(
        "BrokerLifecycleManager",
        ("4.0",),
        "a refused registration is tried again after at most half a session",
        {"registration_retry": "up_to_half_session"},
    ),
    Fix(
        "KAFKA-19294",
        ("3.9.2", "4.0.1", "4.1"),
        "a refused registration is tried again every heartbeat interval",
        {"registration_retry": "heartbeat_interval"},
    ),
    Fix(
        "KAFKA-19130",
        ("4.1",),
        "a new controller gives fenced brokers no session",
        {"fenced_get_sessions": False},
    ),
    Fix(
        "KAFKA-19522",
        ("4.1",),
        "the last known leader is elected only alive",
        {"last_known_must_live": True},
    ),
)
"""In order of release, but for backports."""

DEFECTS: tuple[Defect, ...] = (
    Defect(
        "KAFKA-4313", "0.10.1.0", "0.10.1.1", "replication quotas throttle replicas in sync too"
    ),
    Defect("KAFKA-4399", "0.10.1.0", "0.10.1.1", "request handlers may deadlock"),
    Defect("KAFKA-6042", "0.11.0.0", "0.11.0.2", "request handlers may deadlock"),
    Defect("KAFKA-6361", "0.11", "2.0", "logs may differ after two elections in a row"),
    Defect("KAFKA-7697", "2.1.0", "2.1.1", "request handlers may deadlock"),
    Defect("KAFKA-7786", "2.1.0", "2.1.1", "a follower may drop a partition on a new epoch"),
    Defect("KAFKA-9731", "2.4", "2.6", "each new high watermark answers waiting fetches at once"),
    Defect("KAFKA-15019", "3.3", "3.5", "a controller under load may fence brokers that live"),
    Defect("KAFKA-16234", "3.7.0", "3.7.1", "a failed log dir's partitions start empty in another"),
)
"""Those that the release which the rule set stands for does not have."""


def line_of(version: Version) -> Version:
    """The release line: 3.9 of 3.9.1, 0.10.2 of 0.10.2.2."""
    return version[:3] if version[0] == 0 else version[:2]


def switches_in(version: Version, start: Mapping[str, object]) -> dict[str, object]:
    """The switches of a release.

    Args:
        version: its number.
        start: what 0.8.2 has of each, as a rule-set file writes it.
    """
    switches = dict(start)
    for fix in FIXES:
        if fix.is_in(version):
            switches |= fix.switches
    return switches


def defects_in(version: Version) -> tuple[Defect, ...]:
    """What a release does wrong that no rule has."""
    return tuple(defect for defect in DEFECTS if defect.is_in(version))


def _numbers(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def _at_least(version: Version, text: str) -> bool:
    """Whether a release is another one or a later one; 2.1 is 2.1.0."""
    asked = _numbers(text)
    length = max(len(version), len(asked))
    return _to(length, version) >= _to(length, asked)


def _to(length: int, version: Version) -> Version:
    return version + (0,) * (length - len(version))
