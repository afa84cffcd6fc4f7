"""The states of what is simulated: one enumeration for each, and the bits of what has several."""

from __future__ import annotations

from enum import IntEnum


class RequestError(IntEnum):
    """What is wrong with an entry of a fetch, or with a produce."""

    NONE = 0
    NOT_LEADER = 1
    FENCED_EPOCH = 2
    UNKNOWN_EPOCH = 3
    DIVERGING = 4
    STORAGE = 5
    CONNECTION = 6
    NOT_ENOUGH_REPLICAS = 7
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 8


class FetchState(IntEnum):
    """What a fetcher thread does with a follower partition."""

    NONE = 0  # not a follower here
    FETCHING = 1
    DELAYED = 2
    FAILED = 3
    STOPPED = 4  # StopReplica
    DEAD = 5  # added to a dead thread


class Mover(IntEnum):
    """What the log-dir mover (ReplicaAlterLogDirs) of a replica has met."""

    WORKS = 0
    FAILED = 1
    DEAD = 2  # its thread


class ThreadState(IntEnum):
    """What a fetcher thread does."""

    IDLE = 0
    WAITING = 1
    APPENDING = 2
    BACKOFF = 3
    DEAD = 4
    DOWN = 5  # no such thread: stopped as idle, never needed yet, or its broker is down


class RequestKind(IntEnum):
    """What a request asks for."""

    FETCH = 0
    PRODUCE = 1
    COLD_READ = 2  # old data, by a consumer that replays or a backup


class WaitedFor(IntEnum):
    """What made a follower wait, without a fault."""

    NOTHING = 0
    OWN_DISK = 1
    LEADERS_LOG = 2  # it is appended to, over a slow disk
    LEADERS_THREAD = 3  # its network thread reads old data for others, or for it


class RequestState(IntEnum):
    """Where a request is."""

    FREE = 0
    TO_BROKER = 1
    QUEUED = 2
    HANDLING = 3
    PURGATORY = 4
    WAITS_FOR_HIGH_WATERMARK = 5
    EXPIRING = 6  # read by the purgatory's own thread
    TO_SENDER = 7
    SENDING = 8
    TO_OWNER = 9
    COMPLETING = 10  # read by an append's handler
    EXPIRING_READ = 11  # as EXPIRING, while a read goes on
    RECEIVING = 12  # its network thread reads it by turns with what it sends


class Resignation(IntEnum):
    """What a leader that resigns has asked the controller for."""

    NONE = 0
    ANY_LEADER = 1
    ANOTHER_LEADER = 2


class Delivery(IntEnum):
    """What became of records at their producer."""

    OPEN = 0  # they wait at the horizon
    ACKNOWLEDGED = 1
    GIVEN_UP = 2


class Caller(IntEnum):
    """Whose request waits, where it is none of a fetcher or a producer."""

    NONE = 0
    CLIENT = -1
    SURGE = -2


class LogDir(IntEnum):
    """State of a log dir."""

    WORKS = 0
    FAILS = 1  # at its next append
    NOTICED = 2
    UNTOLD = 3  # offline, and the controller is to know
    TOLD = 4  # offline, and it knows
    SILENT = 5  # offline, and nobody tells it


class HandlerState(IntEnum):
    """What a request handler does."""

    IDLE = 0
    FETCH = 1  # reads of a fetch
    FETCH_LOCK = 2
    FETCH_AFTER = 3  # a read has ended
    PRODUCE = 4
    PRODUCE_LOCK = 5
    COMPLETE = 6
    COMPLETE_LOCK = 7
    CLIENT = 8
    EXPAND = 9  # synchronous ISR write by a fetch
    SURGE = 10
    PRODUCE_DISK = 11  # an append is written
    RECORD_LOCK = 12  # a fetch's ISR check waits for an ISR write in progress
    LOG_WAIT = 13  # a fetch that raises the high watermark waits for appends to the log
    PRODUCE_LOG = 14  # so does an append
    COLD_READ = 15


class Phase(IntEnum):
    """What a fetch's handler does with a partition once it may go on."""

    READ = 0
    RECORD = 1


class BatchState(IntEnum):
    """Whether a batch is acknowledged."""

    OPEN = 0
    COMMITTED = 1
    ACKNOWLEDGED = 2


class Tick(IntEnum):
    """What the walk of an isr-expiration tick does."""

    READY = 0
    WAITS = 1  # for a lock
    WRITES = 2  # to ZooKeeper


class WriteLock(IntEnum):
    """Who waits for a partition's write lock, or holds it: a bit each."""

    FREE = 0
    TICK_WAITS = 1
    HELD = 2  # by a synchronous ISR write
    METADATA_WAIT = 4
    ANSWER_WAITS = 8


class AlterItem(IntEnum):
    """Where a leader's proposal is."""

    NONE = 0
    QUEUED = 1
    IN_FLIGHT = 2
    ANSWERED = 3  # not yet taken


class AlterAnswer(IntEnum):
    """What the controller has answered to a proposal."""

    NONE = 0  # nothing follows: it stays pending until the metadata arrive
    COMMIT = 1
    REVERT = 2
    RESUBMIT = 3
    HANDED_OVER = 4


class OwnSetting(IntEnum):
    """A topic's own unclean.leader.election.enable."""

    NO = 0
    YES = 1
    SILENT = -1  # the topic has no value of its own: the configuration's holds


class Standing(IntEnum):
    """How a partition stands: a bit each."""

    OFFLINE = 1
    UNDER_MIN_ISR = 2
    UNDER_REPLICATED = 4
    UNAVAILABLE = 8  # for acks=all
    UNLED = 16  # no leader, or one that is dead or paused
    ONE_REPLICA = 32  # a live leader takes acks=all and is the only member of the ISR


class Depends(IntEnum):
    """Settings that may decide nothing in a whole run: a bit each."""

    OUTSIDE = 1  # a replica was outside the ISR
    EXPIRED = 2  # a tick found a follower out of sync
    LOCK = 4  # a tick that wanted to remove a follower met a read or a write in progress
    FETCHER = 8  # a fetcher met an error
    ORDER = 16  # an election for which it matters in which order the ISR is walked
    NOBODY = 32  # nobody in the ISR could be elected
    SESSION = 64  # a broker was not heard, so that its session ran
    COOLDOWN = 128  # a partition wanted to resign once more
    QUOTA = 256  # a throttled replica that is not in sync


class Touch(IntEnum):
    """Whose removal from the ISR a fault explains: a bit each."""

    PROCESS = 1  # followers on the broker
    LOG_DIR = 2  # followers on the broker in that log dir
    LINK = 4  # followers that fetch over the link
    APPEND = 8  # followers on the broker of the partitions named, while it goes on
    MOMENT = 16  # likewise of a fault of a moment: Replica.touched_from says how long it shows


class Appends(IntEnum):
    """Appends that a fault slows: a bit each."""

    OF_FOLLOWERS = 1
    OF_LEADERS = 2


class Reads(IntEnum):
    """Reads that a fault stalls: a bit each."""

    DIRECT = 1
    COMPLETION = 2
    VISIT = 4


class FaultState(IntEnum):
    """How far a fault is."""

    TO_BEGIN = 0
    RUNNING = 1
    SECOND_STEP = 2  # of running
    OVER = 3


class EventKind(IntEnum):
    """What an event of a run is."""

    ISR_SHRINK = 0
    ISR_EXPAND = 1
    CONTROLLER_ISR_REMOVE = 2
    LEADER_ELECTED = 3
    LEADER_RESIGNED = 4
    UNCLEAN_ELECTION = 5
    PARTITION_OFFLINE = 6
    PARTITION_ONLINE = 7
    UNDER_MIN_ISR_START = 8
    UNDER_MIN_ISR_END = 9
    BROKER_FENCED = 10
    BROKER_UNFENCED = 11
    PARTITION_FAILED = 12
    PARTITION_UNFAILED = 13
    FETCHER_THREAD_DIED = 14
    FETCHER_THREAD_STOPPED = 15
    RECORDS_LOST = 16


class Slot(IntEnum):
    """Whose moment a slot is: a bit each, in order at one instant (`kernel.act`)."""

    FAULT = 1 << 0
    TICK = 1 << 1
    CONTROLLER = 1 << 2  # rebalance check, end of an outage
    SESSION = 1 << 3
    LOG_DIR = 1 << 4
    ALTER = 1 << 5
    METADATA = 1 << 6
    HANDLER = 1 << 7
    SENDER = 1 << 8
    THREAD = 1 << 9
    REQUEST = 1 << 10
    STREAM = 1 << 11
    CLIENT = 1 << 12
    SURGE = 1 << 13
    SAMPLE = 1 << 14


class Leaving(IntEnum):
    """What ZooKeeper's controller has still to do for a broker that it found dead."""

    DONE = 0
    ELECT = 1
    """Other leaders, and then the ISRs."""
    ELECT_ONLY = 2
    """Other leaders: it is a new controller, to 2.2."""
    REMOVE = 3
    """The ISRs."""


class FaultKind(IntEnum):
    """Kinds of faults."""

    READ_STALL = 1
    SLOW_APPEND = 2
    PAUSE = 3
    CPU = 4
    LINK = 5
    CRASH = 6
    CONTROLLED_RESTART = 7
    LOG_DIR = 8
    CONTROLLER_OUTAGE = 9
    BURST = 10
    RATE = 11
    SURGE = 12
    PARTITION_ERROR = 13
    STOP_REPLICA = 14
    PREFERRED_LEADER = 15
    BOOTSTRAP = 16
    SLOW_DISK = 17
    COLD_READER = 18
