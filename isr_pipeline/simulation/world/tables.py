"""The simulated world, declared once: every table, and what its cells hold.

The whole world is one flat int64 array, because a copy of a running world is then one memory copy,
and a comparison of two worlds one loop. `World` is its header, at the beginning; the tables follow,
a row an entity (`kafka.rows`). Times are microseconds, offsets record numbers, a set of replicas a
mask over positions in the assignment.

The kind of a cell says how it may move while the world repeats. A `Fixed` number and a `Ref` are
laid out once; ``Annotated[Fixed, "min.insync.replicas"]`` holds the value of that Kafka key. Behind
other cells stands who writes them: *enc* whoever lays the world out, once; *ctl* the controller;
*ldr* the leader of the partition; *fol* the follower; *flt* a fault; *msr* what measures.

Rows that a fetch passes begin at cache lines, with what it touches in the first ones: a world is
larger than a core's first cache, and a line that is not touched is not waited for.
"""

from __future__ import annotations

from typing import Annotated, Final

from isr_pipeline.kafka.election import Change, Registration
from isr_pipeline.kafka.fetcher import Error
from isr_pipeline.kafka.quota import Lag, Quota, QuotaSample, Throttled
from isr_pipeline.kafka.record import Follower, Leader
from isr_pipeline.kafka.recovery import Lost
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import (
    Bits,
    Cell,
    Counter,
    Current,
    Fixed,
    Flag,
    Gathered,
    Hint,
    Loose,
    Mask,
    Maybe,
    Offset,
    Ref,
    Row,
    Several,
    Span,
    State,
    Tail,
    Time,
    Total,
    Until,
    copy_at,
    initial,
    row_at,
    row_in,
)
from isr_pipeline.simulation.world.states import (
    AlterAnswer,
    AlterItem,
    BatchState,
    Depends,
    EventKind,
    FaultKind,
    FaultState,
    FetchState,
    HandlerState,
    Leaving,
    Mover,
    Phase,
    RequestError,
    RequestKind,
    RequestState,
    Resignation,
    Standing,
    ThreadState,
    Tick,
    WriteLock,
)

INF: Final = 1 << 50  # "never": later than every horizon
NEVER: Final = -(1 << 60)  # "before all time": what Kafka writes as 0
SLOT_BITS: Final = 20  # a key is time << 20 | number, a slot leaf << 20 | number
SLOT_MASK: Final = (1 << SLOT_BITS) - 1
NOT_DUE: Final = (1 << (63 - SLOT_BITS)) - 1  # the time in the key of a slot that does not fire
KIND_BITS: Final = 15  # an entity is its place << 15 | `Slot`
KIND_MASK: Final = (1 << KIND_BITS) - 1
MAX_RF: Final = 15  # replicas of a partition: an ISR's order is packed into 4 bits a position
EPOCHS_MAX: Final = 32  # leader epochs remembered per replica (`log._forget_epochs`)
LOG_DIRS_MAX: Final = 8  # of a broker
INJECTED_ONCE: Final = 0  # `Replica.injected_until`: the next append fails
INJECTED_MET: Final = -1  # and has
REQUESTS_PER_THREAD: Final = 3
REQUESTS_PER_STREAM: Final = 2
LOCKED_MAX: Final = 256  # reads that `World.locked_reads` holds: a power of two
LATENCY_SUB_BITS: Final = 7  # 128 buckets an octave: at most 0.8 % wide


class World(Row, lines=True, header=True):
    """Header of a world: how many there are of each, where their tables begin, totals, settings."""

    broker_count: Fixed
    partition_count: Fixed
    replica_count: Fixed  # of all partitions
    thread_count: Fixed
    stream_count: Fixed
    fault_count: Fixed
    slot_count: Fixed
    tree_size: Fixed  # cells of the winner tree
    replicas_max: Fixed  # largest replication factor
    handler_count: Fixed  # request handlers of all brokers
    sender_count: Fixed  # network threads of all brokers
    samples_of_quota: Fixed  # samples that each quota has room for
    request_count: Fixed
    fetched_count: Fixed  # fetched partitions of all threads
    latency_buckets: Fixed  # of each histogram of latencies
    check_slot: Fixed  # slot of the check for preferred leaders
    sample_slot: Fixed
    compared_cells: Fixed  # cells up to `entities`: what a world that repeats is compared by
    brokers: Ref[Broker]
    partitions: Ref[Partition]
    replicas: Ref[Replica]
    followers: Ref[Follower]  # what each replica, as leader, remembers of the others
    threads: Ref[FetcherThread]
    fetched: Ref[Fetched]
    requests: Ref[Request]
    entries: Ref[Entry]
    streams: Ref[Stream]
    handlers: Ref[Handler]
    senders: Ref[Sender]
    disks: Ref[Disk]
    quotas: Ref[Quota]  # two a broker
    quota_samples: Ref[QuotaSample]  # of all
    faults: Ref[Fault]
    touched: Span  # faults x partitions: 1 where the fault touches the partition
    links: Ref[Link]  # (brokers + 1) x (brokers + 1)
    reports: Span  # ctl: broker that stops x other broker (`controller.await_reports`)
    latencies: Span  # msr: histogram of commit latency
    acks_1_latencies: Span  # msr: of produce latency of acks=1
    acks_all_latencies: Span  # msr: likewise
    entities: Span  # number of a slot -> place of its entity << 15 | kind
    slots: Span  # number of a slot -> slot
    fetching: Ref[Fetching]  # replica x follower's position -> who fetches from it
    threads_by_broker: Ref[BrokerThread]  # broker by broker
    epochs: Ref[LeaderEpoch]  # of all replicas
    hosted: Ref[Hosted]  # broker by broker, in the order of its tick
    # (brokers + 1)^2: what racks add to half_rtt_us one way; may be negative
    rack_distances: Span
    locked_reads: Ref[LockedRead]  # ldr: ring of the last reads that held a lock
    disk_faults: Span  # numbers of the brokers' faults of disk and log
    ledgers: Ref[Batch]
    queues: Ref[Queued]
    metadata: Ref[MetadataRecord]
    events: Ref[Event]  # msr
    samples: Span  # msr
    change: Ref[Change]  # ctl: the one that it works out; a row keeps no array of its own alive
    # enc: the world is larger than a core's caches: what comes next is fetched ahead
    fetches_ahead: Flag
    has_nics: Flag  # enc: some broker's NIC has a speed
    events_max: Fixed
    sample_period_us: Fixed  # of the trace's samples, 0 = none
    samples_max: Fixed
    period_us: Fixed  # after which workload and clients repeat, 0 = unknown
    now: Loose  # what follows changes: microseconds since the scenario's start
    event_count: Loose
    failed_partitions: Cell  # msr: marked failed at present, over all brokers
    failed_partitions_max: Cell  # msr
    dead_threads: Cell  # msr: dead fetcher threads at present
    dead_threads_max: Cell  # msr
    isr_shrinks: Cell  # msr
    isr_expands: Cell  # msr
    isr_flaps: Cell  # msr
    spurious_removals: Cell  # msr
    leader_changes: Cell  # msr
    resignations: Cell  # msr
    unclean_elections: Cell  # msr
    uncommitted_batches: Cell  # msr
    acknowledged_records: Total  # msr
    # msr: of these, those that no other replica's log held at that moment
    records_of_one_replica: Total
    lost_records: Cell  # msr
    lost_by_replaced_leaders: Cell  # msr: records of acks=1
    shortened_logs: Cell  # flt: logs that lost something to a power cut, or with their disk
    failed_time: Total  # msr
    failed_since: Time  # msr
    untracked_time: Total  # msr
    detection_delay: Total  # msr
    latency_max: Cell  # msr
    listed_events: Cell  # msr
    dropped_events: Cell  # msr
    controller_out_until: Until  # flt: end of a controller outage, 0 if none
    controller_resumed: Flag  # flt: the same controller comes back
    controller_busy_until: Until  # ctl: ZooKeeper's works on a change, 0 if it never did
    readers_wait_time: Total  # msr
    append_wait_time: Total  # msr: of handlers and fetchers, for a log or its disk
    log_wait_time: Total  # msr: of fetches, and of answers to them, for a log that is appended to
    send_wait_time: Total  # msr: of answers and requests, for their network thread
    cold_bytes: Total  # msr: read from disks
    catch_up_time: Total  # msr: from brokers' returns to their last joins
    controller_out_since: Time  # flt
    sample_count: Cell  # msr
    # events so far that are no part of requests: metadata, faults, elections, ...
    rare_events: Loose
    budget_spent: Flag
    broken_invariant: Cell  # debug build: number of the first invariant that broke
    untracked_partitions: Cell  # msr
    untracked_since: Time  # msr
    latency_batches: Total  # msr
    tick_count: Loose  # of the events, those of isr-expiration ticks
    # of the events, those that were not simulated one by one (`shortcuts.cycles`)
    jumped_events: Loose
    jump_count: Loose
    least_isr: Cell  # fewest members that an ISR had or was to have (`shortcuts.depends`)
    longest_read: Cell  # longest read for a follower
    # msr: how near the run came to keys with a bound (`verdicts.exercised`)
    largest_read: Cell  # most bytes of a partition in an answer; the limit where that cut it
    largest_response: Cell  # likewise of an answer
    longest_silence: Cell  # of a broker that is not fenced, to the controller
    longest_queue: Cell  # most requests that waited on a broker
    locked_read_count: Total  # reads so far that held a partition's lock
    held_up_ticks: Cell  # ticks that had to wait for a lock: they make events beside their own
    # when this controller became active; 0: the first, whose checks have a phase
    controller_since: Time
    last_stream: Hint[Stream]  # that sent last, where a world is large
    depends_on: Bits[Depends]  # settings that decided something
    min_insync_replicas: Annotated[Fixed, "min.insync.replicas"]  # settings follow
    unclean_leader_election: Annotated[Flag, "unclean.leader.election.enable"]  # enc
    consumer_byte_rate: Annotated[Fixed, "consumer_byte_rate"]
    request_timeout_us: Annotated[Fixed, "request.timeout.ms"]
    imbalance_percentage: Annotated[Fixed, "leader.imbalance.per.broker.percentage"]
    fetch_process_time_max_us: Annotated[Fixed, "follower.fetch.process.time.max.ms"]
    resign_cooldown_us: Fixed  # Solution 2
    half_rtt_us: Fixed
    alter_partition_us: Fixed  # the controller's answer to AlterPartition
    zookeeper_write_us: Fixed
    zookeeper_request_us: Fixed  # of its controller
    metadata_low_us: Fixed  # least delay of a metadata record
    metadata_high_us: Fixed
    horizon: Fixed
    warmup: Fixed
    seed: Fixed
    event_budget: Fixed
    # leader.imbalance.check.interval, INF if auto.leader.rebalance.enable is off
    imbalance_check_us: Fixed
    refused_place: Cell  # debug build: of the cell whose write broke an assertion
    refused_value: Cell  # likewise what was to be written
    tree: Tail  # the winner tree: winner at 1


class Broker(Row, lines=True):
    """A broker: what requests touch comes first, then what the controller knows of it."""

    is_up: Flag = initial(1)  # flt: the process runs (paused counts as running)
    paused_until: Until  # flt: 0, or the end of its last pause
    cpu_factor: Cell = initial(1000000)  # flt: service time factor in millionths
    idle_handlers: Cell
    queue_head: Loose
    queue_tail: Loose
    queue_length: Cell  # requests in the queue, at most queued.max.requests
    faults_on: Cell  # flt: how many of its faults of disk and log are going on
    machine_is_gone: Flag  # flt: with its process, so that nobody resets its connections
    appending: Cell  # appends to its logs that are written, or wait for the log
    waiting_answers: Cell  # for a network thread
    held_from: Cell  # number of the network thread that has held a request for longest
    senders: Ref[Sender]  # its first network thread, of the clients' listener
    handlers: Ref[Handler]  # its first handler
    number: Fixed
    client_next: Time
    client_period_us: Fixed  # whole microseconds of client_period_ns
    client_rest_ns: Cell  # what client_next leaves out
    client_period_rest_ns: Fixed  # the rest of it
    client_requests: Total  # requests so far
    client_slot: Fixed
    queue: Ref[Queued]  # ring of requests that wait for a handler
    queue_capacity: Fixed
    network_threads: Fixed  # num.network.threads, of each listener
    sender_count: Fixed  # those of both, where replication has a listener of its own
    read_us: Fixed  # service times of its own machine
    produce_us: Fixed
    send_us: Fixed
    client_us: Fixed
    append_us: Fixed
    queued_max: Annotated[Fixed, "queued.max.requests"]
    fetch_min_bytes: Annotated[Fixed, "replica.fetch.min.bytes"]
    fetch_wait_us: Annotated[Fixed, "replica.fetch.wait.max.ms"]
    fetch_max_bytes: Annotated[Fixed, "replica.fetch.max.bytes"]
    fetch_response_max_bytes: Annotated[Fixed, "replica.fetch.response.max.bytes"]
    fetch_backoff_us: Annotated[Fixed, "replica.fetch.backoff.ms"]
    socket_timeout_us: Annotated[Fixed, "replica.socket.timeout.ms"]
    lag_time_max_us: Annotated[Fixed, "replica.lag.time.max.ms"]
    tick_period_us: Fixed  # of the isr-expiration tick
    lag_max_messages: Annotated[Fixed, "replica.lag.max.messages"]
    session_timeout_us: Fixed  # ZooKeeper's or KRaft's
    heartbeat_us: Fixed  # likewise
    shutdown_tries: Annotated[Fixed, "controlled.shutdown.max.retries"]
    shutdown_backoff_us: Annotated[Fixed, "controlled.shutdown.retry.backoff.ms"]
    io_threads: Fixed  # num.io.threads
    log_dirs: Annotated[Several, LOG_DIRS_MAX]  # flt: a `LogDir` each
    disks: Ref[Disk]  # likewise
    cache_bytes: Fixed  # enc: of its page cache; 0: nothing ever leaves it
    clock: Total  # bytes that have entered the page cache
    is_stopping: Flag  # flt: in controlled shutdown
    is_registered: Flag = initial(1)  # ctl: since its last start
    is_fenced: Flag  # ctl
    # ctl: when its session ends, if no heartbeat arrives; 0: it has none
    fence_at: Time = initial(INF)
    last_heartbeat: Time  # enc, flt
    epoch: Cell = initial(1)  # ctl: number of its registrations
    tick_due: Loose
    tick_position: Cell = initial(-1)  # place of the walk, -1 between walks
    tick_state: State[Tick]
    hosted: Ref[Hosted]  # its replicas in walk order
    hosted_count: Fixed
    # AlterPartition request in flight: when it is answered, INF if none
    alter_due: Time = initial(INF)
    alter_queued: Cell  # items that wait for the next request
    metadata_head: Cell
    metadata_tail: Cell
    metadata: Ref[MetadataRecord]  # ring of records on their way to it
    metadata_capacity: Fixed
    client_period_ns: Fixed  # nanoseconds, so that odd rates do not drift
    surge_requests: Cell  # on the broker
    surge_gathered: Cell
    surge_next: Time = initial(INF)
    surge_period_ns: Cell  # 0 if there is no surge
    surge_us: Cell
    surge_connections: Cell
    surge_count: Counter
    was_killed: Flag  # flt: last stop was a kill
    log_dirs_working: Cell  # log dirs that work
    tick_slot: Fixed
    session_slot: Fixed
    metadata_slot: Fixed
    alter_slot: Fixed
    surge_slot: Fixed
    log_dir_slot: Fixed  # a noticed log-dir failure reaches the controller
    # since when the controller has not heard it, INF while it does
    unheard_since: Time = initial(INF)
    disk_faults: Span  # numbers of its faults of disk and log
    disk_fault_count: Fixed
    # ctl: metadata records sent to it so far; not those that a later one stands for
    metadata_sent: Cell
    metadata_applied: Cell  # fol: of these, those that it has applied
    alter_answered: Flag  # the answer is there, and waits for a partition's lock
    threads: Ref[BrokerThread]  # its fetcher threads
    thread_count: Fixed
    reports: Span  # ctl: of each broker, whether it knows of this one's shutdown (`await_reports`)
    exits: Flag  # fol: its process is about to end itself (KAFKA-7414)
    leaving: State[Leaving]  # ctl
    # flt: its return, or the last join since; -1: all its replicas are in the ISR
    returned_at: Time = initial(-1)
    hangs_until: Until  # flt: its heartbeat waits for a dead controller's answer; 0: none does
    nic_bytes_per_s: Fixed  # each direction; 0: no limit
    sends_until: Until  # its NIC
    receives_until: Until
    quotas: Ref[Quota]  # of what it sends to followers, and of what it fetches
    quota_window_num: Annotated[Fixed, "replication.quota.window.num"]
    quota_window_us: Annotated[Fixed, "replication.quota.window.size.seconds"]
    leader_throttled_rate: Annotated[Fixed, "leader.replication.throttled.rate"]
    follower_throttled_rate: Annotated[Fixed, "follower.replication.throttled.rate"]


class Partition(Registration, lines=True):
    """A partition, to the controller; its ledger, and what is measured of it."""

    replicas: Ref[Replica]
    stands_since: Time = initial(-1)  # msr: HW below LEO and still since, -1 if not
    streams: Ref[Stream]
    stream_count: Fixed
    watched_followers: Cell  # flt: followers whose removal may be overdue (detection_delay_ms)
    ledger: Ref[Batch]
    ledger_capacity: Fixed
    ledger_head: Loose  # ldr
    ledger_tail: Loose
    ledger_uncommitted: Loose  # first batch not yet committed
    ledger_start: Offset  # at which the ledger's first entry begins
    # ldr: by so much the stamps of batches are ahead of the clock of the leader's page cache
    clock_shift: Cell
    eligible: Mask  # ctl: see `simulation.eligible`
    flags: Bits[Standing]  # msr
    unavailable_time: Total  # msr: time so far, after warm-up; so are the others
    unavailable_before: Total  # msr: unavailable time at `stands_since`
    unled_time: Total  # msr
    unled_before: Total  # msr: unled time at `stands_since`
    flags_since: Time  # msr: the flags hold since
    record_bytes: Fixed
    ledger_joins: Cell
    preferred: Cell  # flt: position of the preferred replica
    leader_since: Time  # ctl: since when it has this leader, or none
    last_leader: Cell  # msr: position of the last leader, across offline periods
    offline_time: Total  # msr
    under_min_isr_time: Total  # msr
    led_under_min_isr_time: Total  # msr: of these, with a living leader
    under_replicated_time: Total  # msr
    one_replica_time: Total  # msr
    isr_order: Cell  # ctl: ISR order, 4 bits a position, for Solution 2's isr_order
    last_resignation: Time = initial(NEVER)  # ldr
    burst_batch_records: Fixed  # records a batch of a burst holds
    is_recovering: Flag
    min_insync_replicas: Fixed  # the topic's own, 0 if it has none
    unclean_leader_election: Fixed  # the topic's own: `OwnSetting`
    clock_of: Cell  # ldr: position of the replica whose broker's clock batches are stamped by
    begins_cold: Flag  # enc: it holds records that are older than the scenario
    has_waiting_produces: Loose  # ldr: an acks=all request may wait for the high watermark
    acknowledged_records: Total  # ldr: acknowledged to acks=all
    lost_records: Cell  # msr: of these, those that are gone


class Replica(Leader, lines=True):
    """A replica: the log of a partition on a broker, which leads or follows."""

    partition: Ref[Partition]
    is_leader: Flag
    write_lock: Bits[WriteLock]  # 0 free; who waits for the write lock, or holds it
    is_online: Flag = initial(1)  # flt: its log dir works; else the log is lost for good
    broker: Ref[Broker]
    fetching: Ref[Fetching]  # who fetches from it, by position
    fetch_state: State[FetchState]  # fol
    leader: Cell  # position of the leader as applied, -1 none
    readers: Cell  # reads and appends in progress that hold the partition lock
    log_until: Until  # ldr: the append that is written holds the log's own lock up to then
    appending: Cell  # ldr: this one, and those that wait for the lock
    # flt: error met once at the next append (or response), -1 none
    injected_error: State[Error] = initial(-1)
    newest_epoch: Cell  # log: newest leader epoch in it
    # flt: a fault of a moment hit it then and still shows, INF if none
    touched_from: Time = initial(INF)
    overdue_since: Time = initial(-1)  # msr: counted since, -1 if not
    # msr: detection is overdue from this time on, INF if no fault
    overdue_from: Until = initial(INF)
    log_dir: Fixed
    must_truncate: Flag  # fol: the first fetch must find out where the logs part
    epochs: Ref[LeaderEpoch]  # leader epochs in its log
    epoch_count: Cell = initial(1)  # log: how many
    alter_item: State[AlterItem]  # alter manager
    resigns: State[Resignation]  # ldr: asked for, and on its way
    partition_epoch: Cell
    decided_at: Time  # ldr
    decided: Mask  # ldr: replicas the pending change adds or removes
    delayed_until: Until  # fol
    injected_until: Until  # flt: with a window, its end; else INJECTED_ONCE or INJECTED_MET
    removed_at: Time = initial(NEVER)  # msr: removed by a leader at, NEVER if not
    mover_state: State[Mover]  # flt: its log-dir fetcher
    answer: State[AlterAnswer]  # ldr: what was answered
    answer_isr: Mask
    answer_partition_epoch: Cell
    # log: up to here it survives the loss that hit its broker, or is about to; INF: wholly
    survives_to: Cell = initial(INF)
    recovery_point: Cell  # log: flushed up to here by Kafka itself
    # ldr: cold data that a read brought back: these offsets, at this clock of the broker
    warmed_from: Cell
    warmed_to: Cell
    warmed_at: Cell
    taken_when_replaced: Counter  # msr: records of acks=1 that it took when another led


class FetcherThread(Row, lines=True):
    """A replica fetcher: one for each (leader broker, fetcher id), one outstanding request."""

    state: State[ThreadState]
    request: Maybe[Request]  # it waits for
    fetched: Ref[Fetched]  # its first fetched partition
    append_place: Cell  # fetched partition being appended
    append_until: Time  # its append lasts at least so long, and until its disk has
    disk_target: Counter  # written so much
    holds_back: Flag  # appending: batches before a corrupt one are held back
    validated_at: Loose = initial(-1)  # fol: World.rare_events when all its checks passed, -1 else
    slot: Fixed
    follower: Ref[Broker]
    leader: Ref[Broker]
    sender: Ref[Sender]  # the leader's network thread of its connection
    requests: Ref[Request]
    waiting: Loose  # a bit a request that may be in purgatory
    way: Ref[Link]  # its link to the leader, and back
    way_back: Ref[Link]
    fetched_count: Fixed  # those of the leader at the beginning come first
    used_count: Cell  # fol: fetched partitions up to the last that was ever fetched
    takes_turns: Flag  # fol: an answer could not hold all
    first_turn: Cell  # fol: then the place that the next fetch names first
    # msr: since it last found nothing to fetch, how long it waited for its own disk, for the
    # leader's log, and for the leader's network thread
    disk_waited: Counter
    log_waited: Counter
    send_waited: Counter


class Fetching(Row):
    """Who fetches from a leader for the follower at a position."""

    thread: Ref[FetcherThread]
    place: Fixed  # number of the partition among those that it fetches


class Fetched(Row):
    """A partition that a thread fetches."""

    follower: Ref[Replica]
    leader: Ref[Replica]  # the same partition on the leader broker
    record: Ref[Follower]  # the leader's record of this follower
    # fol: in the last answer, -1 if the next one counts anyway
    answered_high_watermark: Offset = initial(-1)
    next_turn: Cell  # fol: the place that a fetch names after it, where its thread takes turns
    throttled: Bits[Throttled]  # enc
    lag: State[Lag]  # fol: of a throttled replica


class Request(Row, lines=True):
    """A request on its way: a fetch of a thread, a produce of a stream, or a reader's."""

    state: State[RequestState]
    kind: State[RequestKind]  # enc
    thread: Ref[FetcherThread]  # whose fetch it is
    broker: Current[Broker]  # it was sent to
    slot: Cell
    entries: Ref[Entry]  # of a fetch
    entry_count: Cell  # fol: entries up to the last that is part of it
    validated_at: Loose  # fol: FetcherThread.validated_at when it was sent
    is_abandoned: Flag
    error: State[RequestError]
    has_data: Flag  # the response holds data
    is_cut: Flag  # it could not hold all that there was
    bytes: Cell
    pending: Flag  # KIP-501: its reads are pending
    deadline: Time  # purgatory
    locked: Maybe[Replica]  # whose lock an own read holds
    next_answer: Maybe[Request]  # that waits behind it for the same network thread
    clients_before: Cell  # answers to other clients that leave before it; ``surges_before``
    surges_before: Cell
    place: Cell  # entry that is being read
    not_before: Time  # when purgatory's own read ends
    stream: Ref[Stream]  # whose produce it is
    leader: Current[Replica]  # of a produce
    records: Cell  # of a produce
    acks_all: Flag  # of a produce
    required_offset: Offset  # acks=all: the high watermark it waits for
    is_received: Flag  # its network thread, which was held up, has read it
    waits_since: Time  # msr: for its network thread
    unread: Cell  # bytes that its network thread, which was held up, has not read yet
    reader: Ref[Fault]  # whose reader's it is
    turn: Fixed  # of the reader's connection among all
    log_dir: Fixed  # that it reads from


class Queued(Row):
    """A request in a broker's queue, or a client's or surge's (`Caller`)."""

    code: Cell  # place of the request, or a `Caller`
    count: Cell  # how many like it come in a row


class Entry(Row):
    """One partition of a fetch request."""

    offset: Offset = initial(-1)  # -1: not part of this request
    leader_epoch: Cell
    read_at: Time  # F: just before the read
    leader_end: Offset  # leader's log end just before the read
    end: Offset = initial(-1)  # data read up to here
    high_watermark: Offset  # the leader's, in the response
    error: State[RequestError]
    bit: Fixed  # the follower's bit in an ISR


class Stream(Row, lines=True):
    """A producer of a partition."""

    partition: Ref[Partition]
    acks_all: Flag  # enc
    period_ns: Cell  # nanoseconds between batches
    batch_records: Fixed
    record_bytes: Fixed
    batch_number: Counter  # next batch
    gathered: Gathered  # records that wait at the producer, not yet sent
    request: Maybe[Request]  # that is out
    requests: Ref[Request]
    turn: Fixed  # of its connection among all producers'
    slot: Fixed
    stops_at: Until  # enc: no batch from here on
    retry_at: Until
    next_batch: Time
    request_records_max: Fixed
    rate: Cell = initial(1000000)  # flt: factor in millionths
    counted_from: Time  # flt: batches are counted from here since the last change of rate
    after: Hint[Stream]  # stream that fired after it the last time
    leader: Cell = initial(-1)  # position of the one that its metadata name; -1: it asks anew
    to_send_again: Cell  # records of the request that was refused or timed out, out again or not
    delivery_timeout_us: Fixed
    acknowledged: Total  # msr: records; ``given_up``: those that it sends no more
    given_up: Total
    last_before: Time  # msr: the last batch before the last change of rate
    period_before_ns: Cell  # msr: the period up to then
    sends_again: Flag  # enc
    metadata_at: Time  # when it learned its leader; then again each time they are too old


class Handler(Row):
    """A request handler: a small state machine, one step a firing of its slot."""

    broker: Ref[Broker]
    state: State[HandlerState]
    request: Maybe[Request]
    slot: Fixed
    place: Cell  # fetch: fetched partition being read
    completing: Maybe[Request]  # whose delayed fetch is being completed
    position: Cell  # completion: next follower position to look at
    locked: Maybe[Replica]  # whose lock is held or waited for
    read_end: Time
    alarm_fired: Flag  # Solution 2's timer has fired for this read
    phase: State[Phase]  # what to do once the lock is free
    disk_target: Counter  # append: what its disk must have written by its end
    rule_time: Time  # fetch: of the record that waits to raise the high watermark
    appends_before: Cell  # how many appends to the log it waits for
    came_at: Time  # append: when it came to the log
    appended: Maybe[Replica]  # completion: row whose lock the append holds


class Sender(Row):
    """A network thread."""

    broker: Ref[Broker]
    code: Cell  # place of the request whose answer it sends, or a `Caller`
    slot: Fixed
    blocked_until: Until  # its send waits for a disk: until then it reads no request either
    cold_until: Until  # the disk reads up to then what it sends
    oldest: Maybe[Request]  # whose answers, or own bytes, wait for it, the oldest and the newest
    newest: Maybe[Request]
    clients: Cell  # answers to other clients behind the newest; ``surges``: likewise to a surge
    surges: Cell
    waiting: Cell  # all of them


class Disk(Row):
    """The disk under a log dir of a broker."""

    write_bytes_per_s: Fixed  # enc; 0: no limit
    read_bytes_per_s: Fixed  # enc; 0: no limit
    seek_us: Fixed  # enc
    dirty_bytes_max: Fixed  # enc: bytes not yet written above which who writes waits
    write_factor: Cell = initial(1000000)  # flt: millionths of its speed that it has now
    read_factor: Cell = initial(1000000)  # flt: likewise
    stands_until: Until  # flt: it reads nothing up to then
    read_until: Until  # its reads, one after the other, last up to then
    dirty: Cell  # bytes not yet written at `drained_at`
    written_rest: Cell  # what was written of the next byte then, in quarters of a millionth
    drained_at: Until
    entered: Counter  # bytes ever made dirty


class Fault(Row):
    """A fault of the scenario."""

    kind: State[FaultKind]  # enc
    broker: Maybe[Broker]  # enc
    start: Until  # enc
    end: Until  # enc; flt: later where a registration is refused
    at_send: Fixed  # 0 handler, 1 send
    reads: Fixed  # `Reads`
    appends: Fixed  # `Appends`
    value: Fixed  # append_ms (us), factor (millionths), records
    from_node: Fixed  # link
    to_node: Fixed
    drops: Flag  # enc
    both_ways: Flag  # enc
    hangs: Flag  # enc: who is connected to the dead controller does not notice
    partition: Fixed  # number, -1 all
    error: State[Error]  # enc
    fetcher: Fixed  # 0 Replica, 1 ReplicaAlterLogDirs
    log_dir: Fixed
    arg: Fixed  # restart_after, shutdown, requests period, preferred leader
    arg2: Fixed
    slot: Fixed
    state: State[FaultState]
    all_partitions: Flag  # enc
    touched: Span  # by partition: 1 where the fault names it
    once: Flag  # enc
    touches: Fixed  # `Touch`
    retry_us: Fixed  # crash: from a refused start under ZooKeeper to the next, -1 none
    tries: Cell  # flt: refused registrations so far
    asked_at: Cell  # controlled restart: since when it wants to go, -1 once it does
    asked: Cell  # flt: controlled restart under ZooKeeper: how often it asked
    load_us: Fixed  # time to load one replica's log at a start
    has_loaded: Flag  # flt: the process that starts has begun to load its logs
    lost: State[Lost]  # crash
    flushed_at: Fixed  # crash that loses a tail: the operating system's last flush before it
    is_reformatted: Fixed  # crash that loses all: somebody formats the empty disk
    recovery_bytes: Fixed  # crash: of each replica it holds, older than the scenario
    recovery_bytes_per_s: Fixed  # 0: recovery takes no time
    readers: Ref[Request]  # cold reader: its connections, arg2 of them


class Link(Row):
    """The way from one node to another."""

    added_us: Cell  # flt: latency beside half_rtt_us
    dropped_until: Until  # flt


class LeaderEpoch(Row):
    """A leader epoch in a log."""

    epoch: Cell
    start: Cell  # its first record


class Hosted(Row):
    """A replica on a broker, in the order of its tick."""

    replica: Ref[Replica]


class BrokerThread(Row):
    """A fetcher thread of a broker."""

    thread: Ref[FetcherThread]


class Batch(Row):
    """A batch in a partition's ledger."""

    end: Cell  # offset behind its last record
    bytes: Cell  # of it and all before it
    appended_at: Cell
    clock: Cell  # of the leader's page cache then
    acks_all_records: Cell
    state: State[BatchState]


class LockedRead(Row):
    """A read that held a partition's lock."""

    begin: Cell
    end: Cell
    broker: Current[Broker]


class MetadataRecord(Row):
    """A metadata record on its way to a broker."""

    due: Cell
    partition: Current[Partition]
    leader: Cell
    leader_epoch: Cell
    isr: Mask
    partition_epoch: Cell
    is_full: Flag  # sent after a restart


class Event(Row):
    """An event of a run."""

    time: Cell
    kind: State[EventKind]
    partition: Cell  # number, -1
    broker: Cell  # number, -1
    leader: Cell  # position, -1
    leader_epoch: Cell
    isr: Mask
    decided_at: Cell
    mask: Cell  # replicas, or a number: as the kind has it (`worlds.events`)
    # msr: of a removal, by position: how long the follower waited by load, times 4, and for what
    waited: Annotated[Several, MAX_RF]
    caught_up_times: Annotated[Several, MAX_RF]  # by position; of a resignation, the ISR's order


world_in = row_in(World)
rules_in = row_in(Rules)
request_at = row_at(Request)
broker_at = row_at(Broker)
handler_at = row_at(Handler)
sender_at = row_at(Sender)
thread_at = row_at(FetcherThread)
stream_at = row_at(Stream)
fault_at = row_at(Fault)
world_in_copy = copy_at(World)
batches_in_copy = copy_at(Batch)
BATCH_CELLS: Final = Batch.size
QUEUED_CELLS: Final = Queued.size
RECORD_CELLS: Final = MetadataRecord.size
