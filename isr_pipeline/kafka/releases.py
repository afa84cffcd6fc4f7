"""The rule sets: which of Kafka's rules each release has, as differences.

A rule set is a frozen :class:`RuleSet`; every release is `dataclasses.replace` of the one before,
so that reading this file downwards is reading Kafka's history. The proposals (KIP-501 and its
relatives, KIP-966) are switches on top of any release. `switches` joins a rule set and the choices
of a scenario to the `Rules` that every rule function takes first.

Sources are named as `path @ release`; S000 is KIP-501's text, S003 that of KAFKA-4485.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from types import MappingProxyType
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

NEVER: Final = -(1 << 60)
"""The instant "0": a time before all others. Kafka writes 0 ms since 1970, which on a simulated
clock that starts at 0 would be a moment ago. `now - NEVER` exceeds every limit, and int64 holds
it."""

UNKNOWN: Final = -1
"""An offset that nobody has reported (`LogOffsetMetadata.UnknownOffset`)."""

NO_BROKER_EPOCH: Final = -2
"""A follower that has not named its broker epoch; -1 is a follower too old to name one."""


class Clock(IntEnum):
    """What moves the clock that a follower's lag is measured with."""

    ANY_FETCH = 0
    """0.8.2: the follower's record was written, whatever it read."""
    READ_END = 1
    """0.9-0.10.1: a fetch at the log end, at the moment its read has ended."""
    ISSUE_TEXT = 2
    """KAFKA-4485 as worded: read end, or else the previous fetch."""
    FETCH_TIME = 3
    """0.10.2 and later: the fetch's arrival, or else the previous fetch."""


class Reset(IntEnum):
    """What becoming leader does to the records of the followers."""

    OFFSETS_AND_CLOCK = 0
    """0.8.2: the offset's setter also restarts the stuck timer, at every call."""
    OFFSETS = 1
    """0.9-0.10.1: offsets only, and only for a new leader; the lag clock goes on."""
    EVERY_CALL_SENTINEL = 2
    """0.10.2-2.3: clocks at every call; a new leader then records a failed read (-1 everywhere)."""
    EVERY_CALL = 3
    """2.4-3.2: as before, but the unknown fetch is dated 0."""
    LEADER_EPOCH = 4
    """3.3 and later: on a new leader epoch only."""


class ExpandNeedsLag(IntEnum):
    """When a follower's lag is tested before it joins the ISR."""

    NEVER = 0
    """Every release."""
    ALWAYS = 1
    """KAFKA-4485 as worded."""
    UNDER_MIN_ISR = 2
    """While the ISR is below min.insync.replicas (apache/kafka#23024, open)."""


class Lock(IntEnum):
    """What holds the partition's lock against the isr-expiration tick."""

    NONE = 0
    """Nothing: what the proposals assume."""
    COMPLETION = 1
    """To 2.0: the append that completes a delayed fetch; every tick wants it (ReplicaManager.scala,
    Partition.scala @ 0.10.2.2, 2.0.1)."""
    RW_ALWAYS = 2
    """2.1-2.4: every handler-stage read; every tick wants it (Partition.scala @ 2.2.2)."""
    RW_PRECHECK = 3
    """2.5 and later: the same, but a tick wants it only where it would shrink (KAFKA-7538)."""


class Fetcher(IntEnum):
    """What a follower's fetcher thread does with a partition that fails."""

    LEGACY = 0
    """To 2.2: unexpected errors end the thread with all its partitions."""
    KIP_461 = 1
    """2.3 and later: the partition is marked failed, and the thread goes on."""


class Kip501(IntEnum):
    """Which answer to slow reads on the leader is in the code."""

    NONE = 0
    S1_DOC = 1
    S1_PR = 2
    S2 = 3
    LI_TRANSFER = 4


class RegistrationRetry(IntEnum):
    """When KRaft's broker tries again whose registration was refused."""

    UP_TO_SESSION = 0
    """After 100 ms, doubling up to the session's length (BrokerLifecycleManager.scala @ 2.8.2,
    3.9.1)."""
    UP_TO_HALF_SESSION = 1
    """The same up to half of it (BrokerLifecycleManager @ 4.0.0)."""
    HEARTBEAT_INTERVAL = 2
    """After every heartbeat interval (KAFKA-19294: 3.9.2, 4.0.1, 4.1)."""


class ElectionOrder(IntEnum):
    """The list that an election walks down."""

    ASSIGNMENT_ORDER = 0
    """Every release."""
    ISR_ORDER = 1
    """No release: KIP-501's Solution 2 needs it."""


class Controller(IntEnum):
    """Who elects leaders and keeps the committed ISR."""

    ZOOKEEPER = 0
    KRAFT = 1


E = TypeVar("E", bound=IntEnum)


def _words(enumeration: type[E], between: str = "_") -> dict[str, E]:
    """How files write each member: its name in small letters, with this between the parts."""
    return {one.name.lower().replace("_", between): one for one in enumeration}


CLOCKS: Final = _words(Clock)
RESETS: Final = _words(Reset)
EXPAND_NEEDS_LAG: Final = _words(ExpandNeedsLag)
LOCKS: Final = _words(Lock)
FETCHERS: Final = _words(Fetcher, "-")
KIP501_VARIANTS: Final = _words(Kip501, "-")
KIP501_BEHIND_KEY: Final = (Kip501.S1_DOC, Kip501.S1_PR, Kip501.S2)
"""Those that do nothing unless follower.fetch.pending.reads.insync.enable is on."""
REGISTRATION_RETRIES: Final = _words(RegistrationRetry)
ELECTION_ORDERS: Final = _words(ElectionOrder)
CONTROLLERS: Final = _words(Controller)


def word_of(words: Mapping[str, IntEnum], member: IntEnum) -> str:
    """How files write a member of an enumeration."""
    return next(word for word, one in words.items() if one is member)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRules:
    """The switches that a release sets; what 0.8.2 has is the default.

    Attributes:
        clock: what moves a follower's lag clock.
        reset: what becoming leader does to the followers' records.
        message_lag: a follower more than replica.lag.max.messages behind is out of sync.
        log_end_exempt: a follower whose offset equals the leader's LEO is in sync (KAFKA-7152).
        prev_leo_monotone: the leader LEO of the previous fetch never goes back (3.3).
        failed_read_applied: a failed read overwrites the follower's record (until KAFKA-8400).
        records_broker_epoch: a good fetch's broker epoch is remembered (KIP-903).
        stale_fetch_rejected: a fetch of an older broker epoch than the metadata's is refused
            (KAFKA-15221).
        hw_waits_for_caught_up: the HW also waits for replicas that are caught up, though not in
            the ISR (KAFKA-4485).
        hw_log_end: and a replica at the log end counts as caught up there (3.3).
        hw_ignores_ineligible: but not one that may not join (KAFKA-15021).
        hw_takes_log_lock: raising the HW takes the log's lock, for which appends are waited for
            (KIP-98, 0.11).
        hw_frozen_under_min_isr: the HW stands still while |ISR| < min.insync.replicas
            (KAFKA-15583).
        min_isr_capped: min.insync.replicas is at most the replication factor (KAFKA-15583).
        expand_needs_epoch_start: joining asks for an offset in the leader's own epoch (KAFKA-7128).
        expand_needs_eligible: joining asks for a broker neither fenced nor stopping (KIP-841).
        expand_needs_lag: when joining asks for a lag within the limit: always in the text of
            KAFKA-4485 only; under_min_isr is what apache/kafka#23024 proposes.
        async_isr: ISR changes are proposed and answered later (KIP-497).
        answer_raises_hw: the answer to an ISR change raises the high watermark at once; without
            it the next append or fetch does (KAFKA-13091, 3.1).
        alter_reverts: a refusal as ineligible takes the proposal back (3.3).
        response_limit: replica.fetch.response.max.bytes bounds an answer, whose first batch is
            whole however large it is (KIP-74, 0.10.1).
        record_per_partition: a fetch's record is written right after its partition's read, not
            after those of the whole request (3.3).
        tick_divisor: the isr-expiration period is replica.lag.time.max.ms divided by it.
        isr_lock: what holds the partition's lock.
        fetch_names_epoch: a fetch names the leader epoch, which fences it (KIP-320, 2.1).
        answers_before_delayed: a produce is answered before the delayed fetches that it completes
            are read (KAFKA-8334, 2.7).
        fetcher: the fetcher thread's way with failures.
        corrupt_kills_thread: a corrupt batch ends a legacy thread.
        backoff_none: a failed fetch is repeated at once (0.8.2).
        double_backoff: after a failed request the thread itself waits one more back-off (0.9-3.2).
        io_error_halts: an I/O error in any log dir halts the process (before KIP-112, 1.0).
        log_dirs_reported: under KRaft a broker tells the controller of a failed log dir, and halts
            if its metadata log is in it (KIP-858, 3.7).
        last_member_leaves: under ZooKeeper the last member leaves the ISR too where
            unclean.leader.election.enable is on (to 1.0).
        failover_removes_dead: a new controller of ZooKeeper takes replicas on brokers that it finds
            dead out of the ISRs; otherwise only elects where they led (KAFKA-3143, 2.3).
        zookeeper_pipelined: requests of ZooKeeper's controller are in flight together; otherwise
            one partition's after the other's (KAFKA-5642, 1.1).
        pauses_after_last_try: under ZooKeeper a stopping broker waits
            controlled.shutdown.retry.backoff.ms after its last try as well (to 3.0).
        truncate_to_hw: a new follower truncates to its HW, not to an epoch's end (until KIP-101).
        exits_over_truncation: a follower whose leader's log is shorter than its own ends its
            process, unless unclean.leader.election.enable is on (to 2.0.0; KAFKA-7414).
        metadata_by_epoch: metadata of an older partition epoch are ignored (3.3).
        last_known_must_live: with ELR the last known leader is elected only if its broker is alive
            (KAFKA-19522, 4.1).
        controller_checks_isr: the controller refuses a proposed ISR with ineligible members (3.3).
        kraft_elects_uncleanly: under KRaft unclean.leader.election.enable is read; before 3.9 no
            election is unclean there (KAFKA-12670).
        fence_ends_session: under KRaft a broker that is fenced has no session left; otherwise the
            session runs on from the last heartbeat (KAFKA-17793, 4.0).
        sessions_checked_by_eighths: under KRaft the controller looks for stale sessions every
            eighth of a session; otherwise each ends at its very end (KAFKA-17793, 4.0).
        fenced_get_sessions: under KRaft a new controller gives fenced brokers a session as
            well (4.0; KAFKA-19130 ended it in 4.1).
        heartbeats_within_session: under KRaft a broker waits half a session for the answer to a
            heartbeat; otherwise as for any other answer, 30 s (KAFKA-14392, 3.3.2).
        registration_retry: when a refused registration is tried again under KRaft.
        start_waits_for_session: under ZooKeeper a broker that finds the znode of its own old
            session waits a session's length for it; otherwise its process ends (KAFKA-1387, 0.9).
        quota_spares_in_sync: a replication quota holds up no fetch of a follower in the ISR
            (KAFKA-6937, 1.1.1).
        idle_lag_known: a follower in sync whose partition stands still is not throttled; otherwise
            it does not know that it is in sync (2.5; KAFKA-15080 ended it in 3.5.1).
        quota_counts_from_last_byte: a sample of a quota is forgotten a whole time after its last
            byte; otherwise after its begin (#15889, 3.8).
        check_from_imbalance: under KRaft leader.imbalance.check.interval.seconds is counted from
            the first imbalance on; otherwise from the controller's start (4.0).
    """

    clock: Clock = Clock.ANY_FETCH
    reset: Reset = Reset.OFFSETS_AND_CLOCK
    message_lag: bool = True
    log_end_exempt: bool = False
    prev_leo_monotone: bool = False
    failed_read_applied: bool = True
    records_broker_epoch: bool = False
    stale_fetch_rejected: bool = False
    hw_waits_for_caught_up: bool = False
    hw_log_end: bool = False
    hw_ignores_ineligible: bool = False
    hw_takes_log_lock: bool = False
    hw_frozen_under_min_isr: bool = False
    min_isr_capped: bool = False
    expand_needs_epoch_start: bool = False
    expand_needs_eligible: bool = False
    expand_needs_lag: ExpandNeedsLag = ExpandNeedsLag.NEVER
    async_isr: bool = False
    answer_raises_hw: bool = True
    alter_reverts: bool = False
    response_limit: bool = False
    record_per_partition: bool = False
    tick_divisor: int = 1
    isr_lock: Lock = Lock.COMPLETION
    fetch_names_epoch: bool = False
    answers_before_delayed: bool = False
    fetcher: Fetcher = Fetcher.LEGACY
    corrupt_kills_thread: bool = True
    backoff_none: bool = True
    double_backoff: bool = False
    io_error_halts: bool = True
    log_dirs_reported: bool = False
    last_member_leaves: bool = True
    failover_removes_dead: bool = False
    zookeeper_pipelined: bool = False
    pauses_after_last_try: bool = True
    truncate_to_hw: bool = True
    exits_over_truncation: bool = True
    metadata_by_epoch: bool = False
    last_known_must_live: bool = False
    controller_checks_isr: bool = False
    kraft_elects_uncleanly: bool = False
    fence_ends_session: bool = True
    sessions_checked_by_eighths: bool = False
    fenced_get_sessions: bool = False
    heartbeats_within_session: bool = False
    registration_retry: RegistrationRetry = RegistrationRetry.UP_TO_SESSION
    start_waits_for_session: bool = True
    quota_spares_in_sync: bool = False
    idle_lag_known: bool = True
    quota_counts_from_last_byte: bool = False
    check_from_imbalance: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet(ReleaseRules):
    """The rules of one release, and what decides its defaults and what may be chosen.

    Attributes:
        name: the name that a scenario's `cluster.release` selects it by.
        release: the release it stands for, where a range of releases differs within itself.
        key_defaults: the shipped rule set whose defaults of Kafka's keys it has: its own, or that
            of the one it was derived from.
        socket_timeout_checked: a broker whose replica.fetch.wait.max.ms is above its
            replica.socket.timeout.ms does not start; 0.8.2 compares before it has read the wait.
        fetch_size_checked: nor does one whose message.max.bytes is above its
            replica.fetch.max.bytes (until KIP-74, 0.10.1).
        has_elr: eligible.leader.replicas.version can be 1 under KRaft (KIP-966, 4.0).
        has_client_quotas: brokers hold clients to their quotas (KIP-13, 0.9).
        has_replication_quotas: brokers may throttle replicas (KIP-73, 0.10.1).
        kraft: the release can run without ZooKeeper.
        kraft_shrink_bumps: under KRaft an ISR shrink begins a new leader epoch
            (metadata.version < 3.6).
    """

    name: str
    release: str
    key_defaults: str
    socket_timeout_checked: bool = False
    fetch_size_checked: bool = True
    has_elr: bool = False
    has_client_quotas: bool = False
    has_replication_quotas: bool = False
    kraft: bool = False
    kraft_shrink_bumps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules(ReleaseRules):
    """All switches of a run: those of its release, and what its scenario chooses.

    Every rule function takes them first. The kernel reads them from an int64 array of this order
    (`as_cells`).

    Attributes:
        controller: who elects leaders.
        shrink_bumps_leader_epoch: an ISR shrink begins a new leader epoch.
        election: the list that an election walks down.
        kip501: which answer to slow reads is in the code.
        kip501_enabled: follower.fetch.pending.reads.insync.enable.
        elr: eligible.leader.replicas.version = 1 (KIP-966).
    """

    controller: Controller
    shrink_bumps_leader_epoch: bool
    election: ElectionOrder
    kip501: Kip501
    kip501_enabled: bool
    elr: bool


# cluster/Partition.scala, cluster/Replica.scala, server/KafkaApis.scala @ 0.8.2.2
_V082: Final = RuleSet(name="0.8.2", release="0.8.2.2", key_defaults="0.8.2")

# KAFKA-1546 measures lag in time alone; the fetcher learns to wait and to retry a corrupt batch.
# cluster/Replica.scala updateLogReadResult, server/AbstractFetcherThread.scala @ 0.10.1.1; KIP-74
_V09: Final = replace(
    _V082,
    name="0.9-0.10.1",
    key_defaults="0.9-0.10.1",
    release="0.10.1.1",
    clock=Clock.READ_END,
    reset=Reset.OFFSETS,
    message_lag=False,
    socket_timeout_checked=True,
    fetch_size_checked=False,
    response_limit=True,
    has_client_quotas=True,
    has_replication_quotas=True,
    corrupt_kills_thread=False,
    backoff_none=False,
    double_backoff=True,
    start_waits_for_session=False,
)

# KAFKA-4485 as its text words it (S003): a pseudo-ISR that joining and the HW both obey. Never
# released; the proposal's picture has no lock, and the tick of the release that merged it.
_V4485_DOC: Final = replace(
    _V09,
    name="4485-doc",
    key_defaults="4485-doc",
    release="0.10.2.2",
    clock=Clock.ISSUE_TEXT,
    reset=Reset.EVERY_CALL_SENTINEL,
    hw_waits_for_caught_up=True,
    expand_needs_lag=ExpandNeedsLag.ALWAYS,
    tick_divisor=2,
    isr_lock=Lock.NONE,
)

# KAFKA-4485 as merged: the fetch's own time, joining by the HW alone.
# cluster/Replica.scala, cluster/Partition.scala, server/ReplicaManager.scala @ 0.10.2.2
_V0102: Final = replace(
    _V4485_DOC,
    name="0.10.2-2.0",
    key_defaults="0.10.2-2.0",
    clock=Clock.FETCH_TIME,
    expand_needs_lag=ExpandNeedsLag.NEVER,
    isr_lock=Lock.COMPLETION,
)

# KAFKA-7152, KAFKA-7128, KIP-320 with its locked read; KIP-101's truncation (0.11), KIP-112 (1.0).
# cluster/Partition.scala @ 2.2.2
_V21: Final = replace(
    _V0102,
    name="2.1-2.6",
    key_defaults="2.1-2.6",
    release="2.2.2",
    log_end_exempt=True,
    hw_takes_log_lock=True,
    expand_needs_epoch_start=True,
    isr_lock=Lock.RW_ALWAYS,
    fetch_names_epoch=True,
    io_error_halts=False,
    last_member_leaves=False,
    zookeeper_pipelined=True,
    quota_spares_in_sync=True,
    truncate_to_hw=False,
    exits_over_truncation=False,
)

# KIP-497's asynchronous ISR; KAFKA-8334, KAFKA-8400, KAFKA-7538 and KIP-461 of the releases
# between.
# cluster/Partition.scala, server/AlterIsrManager.scala @ 2.8.2
_V27: Final = replace(
    _V21,
    name="2.7-3.2",
    key_defaults="2.7-3.2",
    release="2.8.2",
    reset=Reset.EVERY_CALL,
    failed_read_applied=False,
    failover_removes_dead=True,
    async_isr=True,
    answer_raises_hw=False,
    isr_lock=Lock.RW_PRECHECK,
    answers_before_delayed=True,
    fetcher=Fetcher.KIP_461,
    kraft=True,
    kraft_shrink_bumps=True,
    check_from_imbalance=True,
    idle_lag_known=False,
)

# KAFKA-13091 (3.1), ReplicaState, KIP-841's eligibility, KIP-903 (3.5), KAFKA-15021 (3.6).
# cluster/Replica.scala, cluster/Partition.scala @ 3.6
_V33: Final = replace(
    _V27,
    name="3.3-3.6",
    key_defaults="3.3-3.6",
    release="3.6",
    reset=Reset.LEADER_EPOCH,
    prev_leo_monotone=True,
    hw_log_end=True,
    hw_ignores_ineligible=True,
    expand_needs_eligible=True,
    records_broker_epoch=True,
    metadata_by_epoch=True,
    answer_raises_hw=True,
    alter_reverts=True,
    record_per_partition=True,
    double_backoff=False,
    pauses_after_last_try=False,
    heartbeats_within_session=True,
    kraft_shrink_bumps=False,
    controller_checks_isr=True,
    idle_lag_known=True,
)

# KAFKA-15583, KAFKA-15221 and KIP-858 (3.7); KAFKA-12670 (3.9).
# cluster/Partition.scala @ 3.7, 3.9; controller/ConfigurationControlManager.java @ 3.9
_V37: Final = replace(
    _V33,
    name="3.7-3.9",
    key_defaults="3.7-3.9",
    release="3.9",
    stale_fetch_rejected=True,
    hw_frozen_under_min_isr=True,
    min_isr_capped=True,
    log_dirs_reported=True,
    kraft_elects_uncleanly=True,
    quota_counts_from_last_byte=True,
)

# KAFKA-17793's heartbeat tracker and periodic tasks, KAFKA-18138, KIP-966.
# controller/BrokerHeartbeatTracker.java, ClusterControlManager.java, QuorumController.java @ 4.0.0
_V40: Final = replace(
    _V37,
    name="4.0",
    key_defaults="4.0",
    release="4.0.0",
    has_elr=True,
    fence_ends_session=False,
    sessions_checked_by_eighths=True,
    fenced_get_sessions=True,
    registration_retry=RegistrationRetry.UP_TO_HALF_SESSION,
    check_from_imbalance=False,
)

# KAFKA-19294, KAFKA-19130, KAFKA-19522; ELR is on in new clusters. 4.2 to 4.4 differ in nothing
# that is simulated.
# controller/PartitionChangeBuilder.java, ClusterControlManager.java @ 4.1.0, 4.3.1
_V41: Final = replace(
    _V40,
    name="4.1+",
    key_defaults="4.1+",
    release="4.4",
    fenced_get_sessions=False,
    last_known_must_live=True,
    registration_retry=RegistrationRetry.HEARTBEAT_INTERVAL,
)

RULE_SETS: Final[dict[str, RuleSet]] = {
    rule_set.name: rule_set
    for rule_set in (_V082, _V09, _V4485_DOC, _V0102, _V21, _V27, _V33, _V37, _V40, _V41)
}
"""Every rule set by name, in order of release."""

RELEASES: Final[tuple[str, ...]] = tuple(RULE_SETS)
"""Their names; ``4485-doc`` (never released) is where it was proposed."""

NEWEST: Final = RELEASES[-1]

RENAMED: Final[Mapping[str, str]] = MappingProxyType({"3.7+": "3.7-3.9"})
"""Former name of a rule set (to 0.2.0) -> its name."""


def todays_names(text: str) -> str:
    """What an older release stored, JSON or a text of `own_rules`, with today's names."""
    for former, name in RENAMED.items():
        text = re.sub(rf"{_BEFORE}{re.escape(former)}{_BEHIND}", name, text)
    return text


def former_names(text: str) -> str:
    """The same with the names that older releases know, by which digests stay what they were."""
    for former, name in RENAMED.items():
        text = re.sub(rf"{_BEFORE}{re.escape(name)}{_BEHIND}", former, text)
    return text


_BEFORE, _BEHIND = r"(?:(?<=[\"(= ])|^)", r"(?=[\"), ]|$)"

SWITCHES: Final[tuple[str, ...]] = tuple(one.name for one in fields(Rules))
"""Names of all switches, in the order of their cells."""

REPLAY_ONLY: Final = frozenset(
    {"records_broker_epoch", "stale_fetch_rejected", "metadata_by_epoch"}
)
"""Switches that no simulated night reads, only timelines (`tests/oracle`): simulated brokers never
send a fetch of an older incarnation, and their metadata never overtake one another."""


def default_controller(rule_set: RuleSet) -> str:
    """Who elects leaders unless the scenario says otherwise: KRaft where the release has it."""
    return "kraft" if rule_set.kraft else "zookeeper"


def default_shrink_bumps(rule_set: RuleSet, controller: str) -> bool:
    """Whether an ISR shrink begins a new leader epoch, by release and controller."""
    return rule_set.kraft_shrink_bumps and controller == "kraft"


def switches(
    rule_set: RuleSet,
    *,
    kip501: str = "none",
    kip501_enabled: bool = False,
    fetcher: str | None = None,
    election: str | None = None,
    isr_lock: str | None = None,
    shrink_bumps_leader_epoch: bool | None = None,
    controller: str | None = None,
    elr: bool = False,
) -> Rules:
    """The switches that every rule function takes first.

    Args:
        rule_set: the release.
        kip501: which answer to slow reads is in the code, a key of `KIP501_VARIANTS`.
        kip501_enabled: follower.fetch.pending.reads.insync.enable.
        fetcher: a key of `FETCHERS`; None is the release's own.
        election: a key of `ELECTION_ORDERS`; None is the assignment's order, as in every release.
        isr_lock: a key of `LOCKS`; None is the release's own.
        shrink_bumps_leader_epoch: None is the default of release and controller.
        controller: a key of `CONTROLLERS`; None is KRaft where the release has it.
        elr: eligible.leader.replicas.version = 1 (KIP-966).

    Raises:
        KeyError: a name that is not among the keys named above.
    """
    chosen = default_controller(rule_set) if controller is None else controller
    bumps = shrink_bumps_leader_epoch
    values = {one.name: getattr(rule_set, one.name) for one in fields(ReleaseRules)} | {
        "isr_lock": rule_set.isr_lock if isr_lock is None else LOCKS[isr_lock],
        "fetcher": rule_set.fetcher if fetcher is None else FETCHERS[fetcher],
    }
    return Rules(
        **values,
        controller=CONTROLLERS[chosen],
        shrink_bumps_leader_epoch=(
            default_shrink_bumps(rule_set, chosen) if bumps is None else bumps
        ),
        election=ELECTION_ORDERS["assignment_order" if election is None else election],
        kip501=KIP501_VARIANTS[kip501],
        kip501_enabled=kip501_enabled,
        elr=elr,
    )


def as_cells(rules: Rules) -> npt.NDArray[np.int64]:
    """The switches as the kernel reads them."""
    return np.array([int(getattr(rules, name)) for name in SWITCHES], dtype=np.int64)
