"""Where each fact of the simulated world stands in the one flat int64 array ``w``.

One array, because a copy of a running world is then one memory copy, and a comparison of two worlds
one loop. It begins with a header (scalars, and the places of the tables); tables follow, one row an
entity. A *row pointer* is the index of a row's first cell: ``w[part + P_HW]`` where ``part`` is the
pointer of a partition's row. Times are int64 microseconds, offsets int64 record numbers, booleans
0/1, a set of replicas a bit mask over positions in the assignment.

The rows that a fetch passes (partitions, replicas, threads, requests, entries, the leaders'
records) begin at cache lines, with what it touches in the first ones: a world is larger than a
core's first cache, and a line that is not touched is not waited for.

Who writes a field stands behind it: *enc* the encoder, once; *ctl* the controller; *ldr* the leader
of the row's partition; *fol* the follower; *flt* a fault; *msr* the measuring functions.
"""

from isr_pipeline.kafka.broker_config import KERNEL_KEYS

INF = 1 << 50  # "never": later than every horizon
NEVER = -(1 << 60)  # "before all time": what Kafka writes as 0
SLOT_BITS = 20  # a key is time << 20 | number, a slot leaf << 20 | number
SLOT_MASK = (1 << SLOT_BITS) - 1
NOT_DUE = (1 << (63 - SLOT_BITS)) - 1  # the time in the key of a slot that does not fire
LINE = 8  # cells of a cache line

# ---------------------------------------------------------------- header: sizes (enc)
H_BROKERS = 0
H_PARTITIONS = 1
H_ROWS = 2  # replicas of all partitions
H_THREADS = 3
H_STREAMS = 4
H_FAULTS = 5
H_SLOTS = 6
H_TREE_SIZE = 7  # cells of the winner tree
H_MAX_RF = 8
H_HANDLERS = 10  # request handlers of all brokers
H_SENDERS = 11  # network threads of all brokers
H_REQUESTS = 12
H_SLOT_REBALANCE = 13  # slot of the check for preferred leaders
H_SLOT_SAMPLE = 14
H_DISTANCE = 15  # (brokers + 1)^2: what racks add to C_HALF_RTT one way; may be negative
# ---------------------------------------------------------------- header: places of tables (enc)
H_BRK = 16
H_PART = 17
H_ROW = 18
H_REC = 19  # the leader's records of its followers: see kafka.replica
H_THR = 20
H_FETCHED = 21
H_REQ = 22
H_ENT = 23
H_STR = 24
H_HND = 25
H_SND = 26
H_FLT = 27
H_FPART = 28  # faults x partitions: 1 where the fault touches the partition
H_LINK = 29  # (brokers + 1)^2 x 2: added latency, end of the drop
H_BYKIND = 30  # number of a slot -> row pointer of its entity << 4 | kind
H_TOWARDS = 31  # row x follower's position -> who fetches from it
H_EPOCHS = 32
H_QUEUE = 33
H_SENDQ = 34
H_MD = 35
H_LEDGER = 36
H_HIST = 37
H_EVENTS = 38
H_WALK = 39
H_SEEN = 40  # broker that stops x other broker: see `controller.await_reports`
H_BFLIST = 43  # brokers' faults of disk and log: others are never scanned for a read
H_SAMPLE = 44
H_LOCKED = 45  # ring of the last reads that held a lock
H_INNER = 46  # nodes of the winner tree that are no leaf, deepest first
H_SLOT_OF = 47  # number of a slot -> slot
H_MASKS = 48  # words of all threads
H_OF_BROKER = 49  # row pointers of the brokers' fetcher threads, broker by broker
H_AHEAD = 50  # 1 where a world is larger than a core's caches: what comes next is fetched ahead
# ---------------------------------------------------------------- header: limits of a run (enc)
C_EVENTS_MAX = 81
C_SAMPLE = 82  # period of the trace's samples, 0 = none
C_SAMPLES_MAX = 83
C_SCRATCH = 85  # place of 16 free cells: the order in which an election walks
C_PERIOD = (
    86  # what workload and clients have in common: the period of a world that repeats, 0 = unknown
)
# ---------------------------------------------------------------- header: running totals
G_NOW = 96
G_EVENTS = 97
G_FAILED = 98  # partitions marked failed at present, over all brokers
G_FAILED_MAX = 99
G_DEAD = 100  # dead fetcher threads at present
G_DEAD_MAX = 101
G_SHRINKS = 102
G_EXPANDS = 103
G_FLAPS = 104
G_SPURIOUS = 105
G_LEADER_CHANGES = 106
G_RESIGNATIONS = 107
G_UNCLEAN = 108
G_UNCOMMITTED = 109
G_ACKED = 110
G_LOST = 111
G_FAILED_TIME = 112
G_FAILED_SINCE = 113
G_UNTRACKED_TIME = 114
G_DETECTION_DELAY = 115
G_LATENCY_MAX = 116
G_EVENT_COUNT = 118
G_EVENTS_DROPPED = 119
G_CTL_OUT_UNTIL = 120  # controller outage: end, 0 if none
G_CTL_RESUMED = 121
G_UNAVAILABLE = 122
G_CTL_OUT_SINCE = 126
G_SAMPLE_COUNT = 127
G_RARE = 128  # events so far that are no part of requests: metadata, faults, elections, ...
G_BUDGET_SPENT = 129
G_BROKEN = 130  # debug build: number of the first invariant that broke
G_UNTRACKED = 131
G_UNTRACKED_SINCE = 132
G_LATENCY_BATCHES = 133
G_TICKS = 135  # of the events, those of isr-expiration ticks
G_JUMPED = 136  # of the events, those that were not simulated one by one (`shortcuts.cycles`)
G_JUMPS = 137
G_LEAST_ISR = 138  # fewest members that an ISR had or was to have (`shortcuts.depends`)
G_LONGEST_READ = 139  # longest read for a follower
G_LOCKED_READS = 141  # reads so far that held a partition's lock
G_TICKS_HELD_UP = 142  # ticks that had to wait for a lock: they make events beside their own
G_CTL_SINCE = 144  # when this controller became active; 0: the first, whose checks have a phase
G_LAST_STREAM = 143  # row pointer of the stream that sent last, where a world is large
G_DEPENDS = 140  # DEP_ bits: settings that decided something

# settings that may decide nothing in a whole run
DEP_OUTSIDE = 1  # a replica was outside the ISR
DEP_EXPIRED = 2  # a tick found a follower out of sync
DEP_LOCK = 4  # a tick that wanted to remove a follower met a read or a write in progress
DEP_FETCHER = 8  # a fetcher met an error
DEP_ORDER = 16  # an election for which it matters in which order the ISR is walked
DEP_NOBODY = 32  # nobody in the ISR could be elected
DEP_SESSION = 64  # a broker was not heard, so that its session ran
DEP_COOLDOWN = 128  # a partition wanted to resign once more

# ---------------------------------------------------------------- header: configuration (enc)
CONFIG_FIRST = 160
KEY_CELLS = {name: CONFIG_FIRST + place for place, name in enumerate(KERNEL_KEYS)}
"""Kafka's key -> its cell; times are in microseconds there."""
# What every broker reads for itself stands in its own row too (OF_BROKER): rules read it there.
C_LAG = KEY_CELLS["replica.lag.time.max.ms"]
C_LAG_MESSAGES = KEY_CELLS["replica.lag.max.messages"]
C_FETCH_WAIT = KEY_CELLS["replica.fetch.wait.max.ms"]
C_FETCH_MIN_BYTES = KEY_CELLS["replica.fetch.min.bytes"]
C_FETCH_MAX_BYTES = KEY_CELLS["replica.fetch.max.bytes"]
C_RESPONSE_MAX_BYTES = KEY_CELLS["replica.fetch.response.max.bytes"]
C_BACKOFF = KEY_CELLS["replica.fetch.backoff.ms"]
C_SOCKET_TIMEOUT = KEY_CELLS["replica.socket.timeout.ms"]
C_MIN_ISR = KEY_CELLS["min.insync.replicas"]
C_UNCLEAN = KEY_CELLS["unclean.leader.election.enable"]
C_QUEUED_MAX = KEY_CELLS["queued.max.requests"]
C_REQUEST_TIMEOUT = KEY_CELLS["request.timeout.ms"]
C_IMBALANCE = KEY_CELLS["leader.imbalance.per.broker.percentage"]
C_S2_LIMIT = KEY_CELLS["follower.fetch.process.time.max.ms"]

# what follows from several keys, service times, and what a scenario has of its own
_BEHIND_KEYS = CONFIG_FIRST + len(KEY_CELLS)
C_TICK = _BEHIND_KEYS + 0  # period of the isr-expiration tick
C_SESSION = _BEHIND_KEYS + 1  # the controller's: of ZooKeeper or KRaft
C_HEARTBEAT = _BEHIND_KEYS + 2  # likewise
C_S2_COOLDOWN = _BEHIND_KEYS + 3
C_READ = _BEHIND_KEYS + 4
C_PRODUCE = _BEHIND_KEYS + 5
C_SEND = _BEHIND_KEYS + 6
C_APPEND = _BEHIND_KEYS + 7
C_HALF_RTT = _BEHIND_KEYS + 8
C_ALTER = _BEHIND_KEYS + 9
C_ZK_WRITE = _BEHIND_KEYS + 10
C_MD_LOW = _BEHIND_KEYS + 11
C_MD_HIGH = _BEHIND_KEYS + 12
C_CLIENT = _BEHIND_KEYS + 13
C_HORIZON = _BEHIND_KEYS + 14
C_WARMUP = _BEHIND_KEYS + 15
C_SEED = _BEHIND_KEYS + 16
C_BUDGET = _BEHIND_KEYS + 17
C_REBALANCE = (
    _BEHIND_KEYS + 18
)  # leader.imbalance.check.interval, INF if auto.leader.rebalance.enable is off
CONFIG_END = _BEHIND_KEYS + 19

TREE = -(-CONFIG_END // LINE) * LINE  # the winner tree stands behind the header: winner at TREE + 1

# ---------------------------------------------------------------- a broker
# what requests touch comes first
B_UP = 0  # flt: the process runs (paused counts as running)
B_PAUSED_UNTIL = 1  # flt: 0, or the end of the pause
B_CPU = 2  # flt: service time factor in millionths
B_IO_IDLE = 3  # request path: idle handlers
B_QHEAD = 4
B_QTAIL = 5
B_QLEN = 6  # requests in the queue, at most queued.max.requests
B_FAULTS_ON = 7  # flt: how many of its faults of disk and log are going on
B_SHEAD = 8
B_STAIL = 9
B_SENDERS_BUSY = 10
B_SENDERS = 11  # enc: row pointer of its first network thread
B_HANDLERS = 12  # enc: row pointer of its first handler
B_SCAP = 13
B_SBASE = 14
B_INDEX = 15  # enc: its number
B_CLIENT_NEXT = 16
B_CLIENT_PERIOD_US = 17  # enc: whole microseconds of B_CLIENT_PERIOD
B_CLIENT_REST_NS = 18  # what B_CLIENT_NEXT leaves out
B_CLIENT_PERIOD_REST_NS = 19  # enc: the rest of it
B_CLIENT_K = 20  # requests so far
B_SLOT_CLIENT = 21
B_QBASE = 22  # enc: its ring in H_QUEUE
B_QCAP = 23
# enc: what the broker reads for itself, and the service times of its own machine
B_NET = 24  # num.network.threads
B_READ = 25
B_PRODUCE = 26
B_SEND = 27
B_CLIENT = 28
B_APPEND = 29
B_QUEUED_MAX = 30
B_FETCH_MIN_BYTES = 31
B_FETCH_WAIT = 32
B_FETCH_MAX_BYTES = 33
B_RESPONSE_MAX_BYTES = 34
B_BACKOFF = 35
B_SOCKET_TIMEOUT = 36
B_LAG = 37
B_TICK = 38
B_LAG_MESSAGES = 39
B_SESSION = 40
B_HEARTBEAT = 41
B_IO = 42  # num.io.threads
B_DIR_BAD_BASE = 44  # 8 log dirs, a DIR_ state each
B_STOPPING = 52  # flt: in controlled shutdown
B_REGISTERED = 53  # ctl: registered since its last start
B_FENCED = 54  # ctl
B_FENCE_AT = 55  # ctl: when its session ends, if no heartbeat arrives; 0: it has none
B_UNFENCE_AT = 56  # ctl
B_HB_PHASE = 57  # enc
B_EPOCH = 58  # ctl: number of its registrations
B_TICK_DUE = 59
B_TICK_POS = 60  # place of the walk, -1 between walks
B_TICK_STATE = 61  # 0 ready, 1 waits for a lock, 2 writes to ZooKeeper
B_WALK = 62  # enc: its rows in walk order in H_WALK
B_WALK_N = 63
B_ALTER_DUE = 64  # AlterPartition request in flight: when it is answered, INF if none
B_ALTER_QUEUED = 65  # items that wait for the next request
B_MDHEAD = 66
B_MDTAIL = 67
B_MDBASE = 68
B_MDCAP = 69
B_CLIENT_PERIOD = 70  # enc: nanoseconds, so that odd rates do not drift
B_SURGE_OUT = 71  # surge requests on the broker
B_SURGE_GATHERED = 72
B_SURGE_NEXT = 73
B_SURGE_PERIOD = 74  # nanoseconds, 0 if there is no surge
B_SURGE_COST = 75
B_SURGE_CONNS = 76
B_SURGE_K = 77
B_CRASH_UNCLEAN = 78  # flt: last stop was a kill
B_DIRS_OK = 79  # log dirs that work
B_SLOT_TICK = 80
B_SLOT_SESSION = 81
B_SLOT_MD = 82
B_SLOT_ALTER = 83
B_SLOT_SURGE = 84
B_SLOT_DIR = 85  # a noticed log-dir failure reaches the controller
B_CUT_SINCE = 86  # since when the controller has not heard it, INF while it does
B_FAULT0 = 87  # enc: its faults of disk and log in H_BFLIST: first, number
B_FAULTS = 88
B_MD_SENT = 89  # ctl: metadata records sent to it so far
B_MD_DONE = 90  # fol: of these, those that it has applied
B_ALTER_ANSWERED = 91  # the answer is there, and waits for a partition's lock
B_THREAD0 = 92  # enc: its fetcher threads in H_OF_BROKER: place of the first, number
B_THREADS = 93
B_SIZE = 96

OF_BROKER = {
    B_READ: C_READ,
    B_PRODUCE: C_PRODUCE,
    B_SEND: C_SEND,
    B_CLIENT: C_CLIENT,
    B_APPEND: C_APPEND,
    B_QUEUED_MAX: C_QUEUED_MAX,
    B_FETCH_MIN_BYTES: C_FETCH_MIN_BYTES,
    B_FETCH_WAIT: C_FETCH_WAIT,
    B_FETCH_MAX_BYTES: C_FETCH_MAX_BYTES,
    B_RESPONSE_MAX_BYTES: C_RESPONSE_MAX_BYTES,
    B_BACKOFF: C_BACKOFF,
    B_SOCKET_TIMEOUT: C_SOCKET_TIMEOUT,
    B_LAG: C_LAG,
    B_TICK: C_TICK,
    B_LAG_MESSAGES: C_LAG_MESSAGES,
    B_SESSION: C_SESSION,
    B_HEARTBEAT: C_HEARTBEAT,
}
"""A broker's cell -> the cell of the header that has what the configuration says of all brokers;
in the order of both, one behind the other in a broker's row."""

# ---------------------------------------------------------------- a partition, to the controller
P_ROW0 = 0  # enc
P_RF = 1  # enc
P_LEADER = 2  # ctl: position, -1 none
P_LEPOCH = 3
P_STAND_SINCE = 4  # msr: HW below LEO and still since, -1 if not
P_STREAM0 = 5  # enc: row pointer of its first stream
P_STREAMS = 6  # enc: how many
P_WATCHED = 7  # flt: followers whose removal may be overdue (detection_delay_ms)
P_LED_BASE = 8  # enc: its ledger
P_LED_CAP = 9
P_LED_HEAD = 10  # ldr
P_LED_TAIL = 11
P_LED_NEXT = 12  # first batch not yet committed
P_LED_OFF0 = 13  # offset at which the ledger's first entry begins
P_ISR = 14  # committed
P_ELIGIBLE = 15  # ctl: see simulation.eligible
P_FLAGS = 16  # msr
P_SINCE = 17  # msr: the flags hold since
P_T_UNAVAILABLE = 18  # msr: time so far, after warm-up; so are the other P_T_
P_STAND_BASE = 19  # msr: unavailable time at that moment
P_BYTES_PER_RECORD = 20  # enc
P_LED_COARSE = 21
P_PEPOCH = 22
P_ELR = 23
P_LAST_KNOWN = 24
P_PREFERRED = 25  # flt: position of the preferred replica
P_LAST_LEADER = 26  # msr: id (position) of the last leader, across offline periods
P_T_OFFLINE = 27
P_T_UNDER_MIN = 28
P_T_UNDER_REPLICATED = 29
P_ORDER = 30  # ctl: ISR order, 4 bits a position, for Solution 2's isr_order
P_S2_LAST = 31  # ldr: last resignation
P_BURST_RECORDS = 32  # enc: records a batch of a burst holds
P_RECOVERING = 33
P_MIN_ISR = 34  # enc: the topic's own min.insync.replicas, 0 if it has none
P_UNCLEAN = 35  # enc: its own unclean.leader.election.enable: TOPIC_ values
P_WAITS = 36  # ldr: 1 while an acks=all request may wait for the high watermark
P_WEIGHT = 37  # enc: how many partitions it stands for: what is counted of it counts so often
P_SIZE = 40

TOPIC_NO = 0
TOPIC_YES = 1
TOPIC_SILENT = -1  # the topic has no value of its own: the configuration's holds

# flags of P_FLAGS
FLAG_OFFLINE = 1
FLAG_UNDER_MIN = 2
FLAG_UNDER_REPLICATED = 4
FLAG_UNAVAILABLE = 8

# ---------------------------------------------------------------- a replica
R_LEO = 0  # ldr by produce, fol by append
R_HW = 1
R_EPOCH = 2  # leader epoch as this broker has applied it
R_ISR = 3  # ldr: committed ISR as it knows it
R_PART = 4  # enc
R_POS = 5  # enc
R_IS_LEADER = 6
R_GONE = 7  # log lost for good
R_WRITER = 8  # 0 free; bits: who waits for the write lock, or holds it (see leader.LOCK_)
R_ONLINE = 9  # flt: its log dir works
R_DIR = 10  # enc: log dir
R_INJECT = 11  # flt: error met once at the next append (or response), -1 none
R_TOUCH_FROM = 12  # flt: a fault of a moment hit it then and still shows, INF if none
R_ML_SINCE = 13  # msr: counted since, -1 if not
R_ML_ARMED = 14  # msr: detection is overdue from this time on, INF if no fault
R_NEWEST = 15  # log: newest leader epoch in it
R_TOWARDS = 16  # enc: its row, as leader, in H_TOWARDS
R_REC0 = 17  # enc: index of this replica's record, as leader, of the replica at position 0
R_BROKER = 18  # enc
R_READERS = 19  # reads in progress that hold the partition lock
R_PENDING = 20  # ldr: 0 none, 1 expand, 2 shrink
R_PENDING_ISR = 21  # ldr: what was proposed
R_FSTATE = 22  # fol: see F_*
R_LEADER = 23  # leader's position as applied, -1 none
R_NEED_TRUNC = 24  # fol: the first fetch must find out where the logs part
R_EPOCHS = 25  # enc: its leader epochs in H_EPOCHS
R_NEP = 26  # log: number of leader epochs in the log
R_ITEM = 27  # alter manager: 0 none, 1 queued, 2 in flight, 3 answered, not yet taken
R_RESIGN = 28  # ldr: a resignation was asked for and is on its way
R_PEPOCH = 29
R_EPOCH_START = 30
R_DECIDED = 31  # ldr: when
R_DECIDED_MASK = 32  # ldr: replicas the pending change adds or removes
R_DELAY_UNTIL = 33  # fol
R_INJECT_UNTIL = 34  # flt: with a window, its end
R_REMOVED_AT = 35  # msr: removed by a leader at, NEVER if not
R_LOGDIR_FAILED = 36  # flt: its log-dir fetcher has failed the partition
R_CAUSE0 = 37  # ldr: lastCaughtUpTimeMs of up to 8 replicas at the decision
R_ANSWER = 45  # ldr: what was answered (see leader.ANSWER_)
R_ANSWER_ISR = 46
R_ANSWER_PEPOCH = 47
R_SIZE = 48

F_NONE = 0  # not a follower here
F_FETCHING = 1
F_DELAYED = 2
F_FAILED = 3
F_STOPPED = 4  # StopReplica
F_DEAD = 5  # added to a dead thread

EPOCHS_MAX = 32  # leader epochs remembered per replica

# ---------------------------------------------------------------- a fetcher thread
T_STATE = 0
T_REQ = 1  # the request it waits for, -1
T_FETCHED = 2  # enc: row pointer of its first fetched partition
T_IDX = 3  # fetched partition being appended
T_HOLD = 4  # appending: batches before a corrupt one are held back
T_VALIDATED = 5  # fol: G_RARE when all its checks passed (see `follower`), -1 else
T_MASKS = 6  # enc: its first word in H_MASKS
T_SLOT = 7  # enc
T_FOLLOWER = 8  # enc: broker
T_LEADER = 9  # enc: broker
T_REQ0 = 10  # enc: row pointer of its first request
T_WAITS = 11  # a bit a request that may be in purgatory
T_WAY = 12  # enc: its link to the leader, and back
T_WAY_BACK = 13
T_FETCHED_COUNT = 14  # enc: those of the leader at the beginning come first
T_USED = 15  # fol: fetched partitions up to the last that was ever fetched
T_SIZE = 16

TS_IDLE = 0
TS_WAITING = 1
TS_APPENDING = 2
TS_BACKOFF = 3
TS_DEAD = 4
TS_DOWN = 5  # no such thread: stopped as idle, never needed yet, or its broker is down

REQS_PER_THREAD = 3
REQS_PER_STREAM = 2

# a thread's partitions, WORD_BITS of them a word: a bit each
W_DIRTY = 0  # ldr sets, fol clears: may be new (`dirty`)
W_UNCHANGED = 1  # ldr: its record needs only times (`dirty`)
W_SIZE = 2
WORD_SHIFT = 5
WORD_BITS = 1 << WORD_SHIFT
WORD_MASK = WORD_BITS - 1

# who fetches from a leader for the follower at a position
Y_THREAD = 0  # enc: row pointer of the thread
Y_PLACE = 1  # enc: number of the partition among those that it fetches
Y_WORD = 2  # enc: row pointer of the word in H_MASKS that has the partition's bits
Y_BIT = 3  # enc: the bit
Y_SIZE = 4

# fetched partition of a thread
K_FROW = 0  # row pointer of the follower replica
K_LROW = 1  # row pointer of the same partition on the leader broker
K_REC = 2  # index of the leader's record of this follower
K_HW = 3  # fol: the high watermark in the last answer, -1 if the next one counts anyway
K_SIZE = 4

# ---------------------------------------------------------------- a request
Q_STATE = 0
Q_KIND = 1  # enc
Q_OWNER = 2  # enc: thread or stream (row pointer)
Q_BROKER = 3  # row pointer of the broker it was sent to
Q_SLOT = 4
Q_ENT = 5  # enc, fetch: row pointer of its first entry
Q_ROW = 5  # produce: row of the leader replica
Q_N = 6  # fol, fetch: entries up to the last that is part of it
Q_RECORDS = 6  # produce
Q_VALIDATED = 7  # fol, fetch: T_VALIDATED when it was sent
Q_ACKS_ALL = 7  # produce
Q_ABANDONED = 8
Q_ERR = 9
Q_DATA = 10  # the response holds data
Q_BYTES = 11
Q_PENDING = 12  # KIP-501: 1 while its reads are pending, and bits of those deferred (`pending`)
Q_DEADLINE = 13  # purgatory
Q_READ_ROW = 14  # row whose lock is held by an own read, -1
Q_END = 15  # acks=all: the HW it waits for
Q_IDX = 16
Q_NOT_BEFORE = 17  # when purgatory's own read ends
Q_SIZE = 24

REQ_FETCH = 0
REQ_PRODUCE = 1

QS_FREE = 0
QS_TO_BROKER = 1
QS_QUEUED = 2
QS_HANDLING = 3
QS_PURGATORY = 4
QS_WAIT_HW = 5
QS_EXPIRING = 6  # read by the purgatory's own thread
QS_SENDQ = 7
QS_SENDING = 8
QS_TO_OWNER = 9
QS_COMPLETING = 10  # read by an append's handler

# queue entries: request index, or one of these
QE_CLIENT = -1
QE_SURGE = -2

# an entry of a fetch request: one partition
E_OFFSET = 0  # -1: not part of this request
E_EPOCH = 1
E_TIME = 2  # F: just before the read
E_LLEO = 3  # L: leader's LEO just before the read
E_END = 4  # data read up to here
E_HW = 5  # leader's HW in the response
E_ERR = 6
E_BIT = 7  # enc: the follower's bit in an ISR
E_SIZE = 8

ERR_NONE = 0
ERR_NOT_LEADER = 1
ERR_FENCED_EPOCH = 2
ERR_UNKNOWN_EPOCH = 3
ERR_DIVERGING = 4
ERR_STORAGE = 5
ERR_CONNECTION = 6
ERR_NOT_ENOUGH = 7
ERR_NOT_ENOUGH_AFTER = 8

# ---------------------------------------------------------------- a produce stream
S_PART = 0  # enc
S_ACKS_ALL = 1  # enc
S_PERIOD = 2  # enc: nanoseconds between batches
S_BATCH = 3  # enc: records a batch
S_RECORD_BYTES = 4  # enc
S_K = 5  # next batch
S_GATHERED = 6  # records that wait at the producer
S_REQ = 7  # request that is out, -1
S_REQ0 = 8  # enc: row pointer of its first request
S_SLOT = 9  # enc
S_STOP = 10  # enc: no batch from here on
S_RETRY_AT = 11
S_NEXT = 12  # time of the next batch
S_MOST = 13  # enc: most records of a request
S_RATE = 14  # flt: factor in millionths
S_BASE = 15  # flt: batches are counted from here since the last change of rate
S_AFTER = 16  # row pointer of the stream that fired after it the last time
S_SIZE = 24

# ---------------------------------------------------------------- a request handler
D_BROKER = 0  # enc: row pointer
D_STATE = 1
D_REQ = 2
D_SLOT = 3  # enc
D_IDX = 4  # fetch: fetched partition being read
D_CREQ = 5  # request whose delayed fetch is being completed, -1
D_POS = 6  # completion: next follower position to look at
D_ROW = 7  # row whose lock is held or waited for
D_END = 8  # when the read ends
D_S2 = 9  # the timer has fired for this read
D_AGAIN = 10  # what to do once the lock is free
D_SINCE = 11
D_SIZE = 12

# States of a log dir (B_DIR_BAD_BASE).
DIR_WORKS = 0
DIR_FAILS = 1  # at its next append
DIR_NOTICED = 2
DIR_UNTOLD = 3  # offline, and the controller is to know
DIR_TOLD = 4  # offline, and it knows
DIR_SILENT = 5  # offline, and nobody tells it

DS_IDLE = 0
DS_FETCH = 1  # reads of a fetch
DS_FETCH_LOCK = 2
DS_FETCH_AFTER = 3  # a read has ended
DS_PRODUCE = 4
DS_PRODUCE_LOCK = 5
DS_COMPLETE = 6
DS_COMPLETE_LOCK = 7
DS_CLIENT = 8
DS_EXPAND = 9  # synchronous ISR write by a fetch
DS_SURGE = 10
DS_RECORD_LOCK = 12  # a fetch's ISR check waits for an ISR write in progress

# ---------------------------------------------------------------- a sender (network thread)
N_BROKER = 0
N_REQ = 1  # request, -1 idle, -2 client, -3 surge
N_SLOT = 2
N_SIZE = 3
SEND_NONE = -1
SEND_CLIENT = -2
SEND_SURGE = -3

# ---------------------------------------------------------------- a fault
X_KIND = 0
X_BROKER = 1  # row pointer, -1 none
X_START = 2
X_END = 3  # enc; flt: later where a registration is refused
X_STAGE = 4  # 0 handler, 1 send
X_READS = 5  # 1 direct, 2 completion, 4 visits
X_VALUE = 6  # read_ms, append_ms (us), factor (millionths), records
X_FROM = 7  # link: node index; broker faults of partitions: row
X_TO = 8
X_DROP = 9
X_BOTH = 10
X_PART = 11  # partition index, -1 all
X_ERROR = 12
X_FETCHER = 13  # 0 Replica, 1 ReplicaAlterLogDirs
X_DIR = 14
X_ARG = 15  # restart_after, shutdown, requests period, preferred leader
X_ARG2 = 16
X_SLOT = 17
X_STATE = 18  # 0 to begin, 1 running, 2 the second step of running, 3 over
X_ALL_PARTS = 19
X_ONCE = 20
X_TOUCHES = 21  # TOUCH_ bits
X_RETRY = 22  # enc: crash: from a refused start under ZooKeeper to the next, -1 none
X_TRIES = 23  # flt: refused registrations so far
X_ASKED = 24  # flt: controlled restart under KRaft: since when it wants to go, -1 once it may
X_LOAD = 25  # enc: time to load one replica's log at a start
X_LOADED = 26  # flt: whether the process that starts has begun to load its logs
X_SIZE = 28

# TOUCH_ bits: whose removal from the ISR a fault explains
TOUCH_PROCESS = 1  # followers on the broker
TOUCH_LOG_DIR = 2  # followers on the broker in that log dir
TOUCH_LINK = 4  # followers that fetch over the link
TOUCH_APPEND = 8  # followers on the broker of the partitions named, while it goes on
TOUCH_MOMENT = 16  # likewise of a fault of a moment: R_TOUCH_FROM says how long it shows

# ---------------------------------------------------------------- the ledger: a batch
L_END = 0  # offset behind its last record
L_BYTES = 1
L_TIME = 2  # appended at
L_ACKS_ALL = 3  # records of acks=all in it
L_STATE = 4  # 0 open, 1 acknowledged or at least committed
L_SIZE = 5

# ---------------------------------------------------------------- a read that holds a lock
U_BEGIN = 0
U_END = 1
U_BROKER = 2  # row pointer
U_SIZE = 3
LOCKED_MAX = 256  # a power of two

# ---------------------------------------------------------------- a metadata record on its way
M_DUE = 0
M_PART = 1
M_LEADER = 2
M_LEPOCH = 3
M_ISR = 4
M_PEPOCH = 5
M_FULL = 6  # 1: sent after a restart
M_SIZE = 7

# ---------------------------------------------------------------- an event
V_TIME = 0
V_KIND = 1
V_PART = 2
V_BROKER = 3  # broker index, -1
V_LEADER = 4  # position, -1
V_LEPOCH = 5
V_ISR = 6
V_DECIDED = 7
V_MASK = 8
V_CAUSE0 = 9
V_SIZE = 18

EV_SHRINK = 0
EV_EXPAND = 1
EV_CTL_REMOVE = 2
EV_ELECTED = 3
EV_RESIGNED = 4
EV_UNCLEAN = 5
EV_OFFLINE = 6
EV_ONLINE = 7
EV_UNDER_MIN_START = 8
EV_UNDER_MIN_END = 9
EV_FENCED = 10
EV_UNFENCED = 11
EV_FAILED = 12
EV_UNFAILED = 13
EV_THREAD_DIED = 14
EV_THREAD_STOPPED = 15
EV_LOST = 16

EVENT_NAMES = (
    "isr_shrink",
    "isr_expand",
    "controller_isr_remove",
    "leader_elected",
    "leader_resigned",
    "unclean_election",
    "partition_offline",
    "partition_online",
    "under_min_isr_start",
    "under_min_isr_end",
    "broker_fenced",
    "broker_unfenced",
    "partition_failed",
    "partition_unfailed",
    "fetcher_thread_died",
    "fetcher_thread_stopped",
    "records_lost",
)

# ---------------------------------------------------------------- slots, in order at one instant
# one bit each: see `kernel.act`
SK_FAULT = 1 << 0
SK_TICK = 1 << 1
SK_CONTROLLER = 1 << 2  # rebalance check, end of an outage
SK_SESSION = 1 << 3
SK_DIR = 1 << 4
SK_ALTER = 1 << 5
SK_METADATA = 1 << 6
SK_HANDLER = 1 << 7
SK_SENDER = 1 << 8
SK_THREAD = 1 << 9
SK_REQUEST = 1 << 10
SK_STREAM = 1 << 11
SK_CLIENT = 1 << 12
SK_SURGE = 1 << 13
SK_SAMPLE = 1 << 14
SK_BITS = 15
SK_MASK = (1 << SK_BITS) - 1

HIST_SUB_BITS = 7  # 128 buckets an octave: at most 0.8 % wide
HIST_SIZE = 44 << HIST_SUB_BITS
