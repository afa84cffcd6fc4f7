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
        "lag is time alone, from a read's end on",
        {"clock": "read_end", "reset": "offsets", "message_lag": False},
    ),
    Fix(
        "KAFKA-1461",
        ("0.9",),
        "a failed fetch waits, its thread once more",
        {"backoff_none": False, "double_backoff": True},
    ),
    Fix(
        "KAFKA-1387",
        ("0.9",),
        "the znode of an old session ends a broker that starts",
        {"start_waits_for_session": False},
    ),
    Fix(
        "KAFKA-1845",
        ("0.9",),
        "no start with a fetch wait above `replica.socket.timeout.ms`",
        {"socket_timeout_checked": True},
    ),
    Fix(
        "KAFKA-2083",
        ("0.9",),
        "clients can be held to quotas (KIP-13)",
        {"has_client_quotas": True},
    ),
    Fix(
        "KAFKA-2063",
        ("0.10.1",),
        "`replica.fetch.response.max.bytes` bounds an answer; larger batches pass (KIP-74)",
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
        "a corrupt batch is fetched again and ends no thread",
        {"corrupt_kills_thread": False},
    ),
    Fix(
        "KAFKA-4485",
        ("0.10.2",),
        "caught up is as of the fetch, and the high watermark waits for it; two ticks a lag limit",
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
        "raising the high watermark waits for appends (KIP-98)",
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
        "a new follower truncates to where its leader's epoch ends",
        {"truncate_to_hw": False},
    ),
    Fix("KIP-112", ("1.0",), "a failed log dir ends no broker", {"io_error_halts": False}),
    Fix(
        "KAFKA-5642",
        ("1.1",),
        "under ZooKeeper the last ISR member stays",
        {"last_member_leaves": False},
    ),
    Fix(
        "KAFKA-5642",
        ("1.1",),
        "requests to ZooKeeper are in flight together",
        {"zookeeper_pipelined": True},
    ),
    Fix(
        "KAFKA-6937",
        ("1.1.1", "2.0"),
        "replication quotas spare the ISR's fetches",
        {"quota_spares_in_sync": True},
    ),
    Fix(
        "KAFKA-7414",
        ("2.0.1",),
        "a follower survives a leader with a shorter log",
        {"exits_over_truncation": False},
    ),
    Fix(
        "KAFKA-7128",
        ("2.0.1",),
        "joining needs an offset in the leader's epoch",
        {"expand_needs_epoch_start": True},
    ),
    Fix(
        "KAFKA-7152",
        ("2.1",),
        "at the log's very end a follower is in sync",
        {"log_end_exempt": True},
    ),
    Fix(
        "KIP-320",
        ("2.1",),
        "a fetch names the leader epoch; reads and ticks take the partition's lock",
        {"fetch_names_epoch": True, "isr_lock": "rw_always"},
    ),
    Fix(
        "KIP-461",
        ("2.3",),
        "a failed partition ends no fetcher thread",
        {"fetcher": "kip-461"},
    ),
    Fix(
        "KAFKA-3143",
        ("2.3",),
        "a new ZooKeeper controller takes dead followers out",
        {"failover_removes_dead": True},
    ),
    Fix(
        "KAFKA-8400",
        ("2.4",),
        "a failed read keeps the follower's record",
        {"failed_read_applied": False, "reset": "every_call"},
    ),
    Fix(
        "KAFKA-7538",
        ("2.5",),
        "a tick locks only where it would shrink",
        {"isr_lock": "rw_precheck"},
    ),
    Fix(
        "KAFKA-9102",
        ("2.5",),
        "defaults: lag limit 30 s, ZooKeeper session 18 s (KIP-537)",
        {"key_defaults": "2.7-3.2"},
    ),
    Fix(
        "KAFKA-9039",
        ("2.5",),
        "an idle follower in sync is throttled",
        {"idle_lag_known": False},
    ),
    Fix(
        "KAFKA-8836",
        ("2.7",),
        "the controller changes ISRs, asked by leaders (KIP-497)",
        {"async_isr": True, "answer_raises_hw": False},
    ),
    Fix(
        "KAFKA-8334",
        ("2.7",),
        "a produce is answered before delayed fetches are read",
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
        "no wait after a last try to stop (ZooKeeper)",
        {"pauses_after_last_try": False},
    ),
    Fix(
        "KAFKA-13091",
        ("3.1",),
        "an ISR change's answer raises the high watermark",
        {"answer_raises_hw": True},
    ),
    Fix(
        "KAFKA-8529",
        ("3.1",),
        "a failed fetch waits once",
        {"double_backoff": False},
    ),
    Fix(
        "KAFKA-13790",
        ("3.3",),
        "only a new leader epoch resets followers' records; older metadata are ignored",
        {"reset": "leader_epoch", "metadata_by_epoch": True},
    ),
    Fix(
        "#12081",
        ("3.3",),
        "the log's end is caught up for the high watermark too",
        {"prev_leo_monotone": True, "hw_log_end": True},
    ),
    Fix(
        "KAFKA-13837",
        ("3.3",),
        "records are written after each partition's read",
        {"record_per_partition": True},
    ),
    Fix(
        "KAFKA-13916",
        ("3.3",),
        "no fenced or stopping broker joins (KIP-841)",
        {"expand_needs_eligible": True, "alter_reverts": True, "controller_checks_isr": True},
    ),
    Fix(
        "KAFKA-14392",
        ("3.3.2",),
        "KRaft's heartbeats wait half a session at most",
        {"heartbeats_within_session": True},
    ),
    Fix(
        "KAFKA-14617",
        ("3.5",),
        "leaders remember a fetch's broker epoch (KIP-903)",
        {"records_broker_epoch": True},
    ),
    Fix(
        "KAFKA-15080",
        ("3.5.1",),
        "an idle follower in sync is not throttled",
        {"idle_lag_known": True},
    ),
    Fix(
        "KAFKA-15021",
        ("3.6",),
        "a KRaft shrink begins no leader epoch; the high watermark waits for nobody who may not "
        "join",
        {"kraft_shrink_bumps": False, "hw_ignores_ineligible": True},
    ),
    Fix(
        "KAFKA-15221",
        ("3.7",),
        "fetches of older broker epochs are refused",
        {"stale_fetch_rejected": True},
    ),
    Fix(
        "KAFKA-15583",
        ("3.7",),
        "the high watermark stands still under min ISR, at most the replication factor",
        {"hw_frozen_under_min_isr": True, "min_isr_capped": True},
    ),
    Fix(
        "KAFKA-15363",
        ("3.7",),
        "KRaft brokers report failed log dirs (KIP-858)",
        {"log_dirs_reported": True},
    ),
    Fix(
        "#15889",
        ("3.8",),
        "quotas forget bytes a whole time after their sample's last",
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
        "sessions outlive a fence, looked at by eighths; preferred leaders at a fixed rate",
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
        "refused registrations wait half a session at most",
        {"registration_retry": "up_to_half_session"},
    ),
    Fix(
        "KAFKA-19294",
        ("3.9.2", "4.0.1", "4.1"),
        "refused registrations wait a heartbeat interval",
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
        "the last known leader must live",
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
