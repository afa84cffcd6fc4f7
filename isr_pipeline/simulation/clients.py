"""Producers and other clients: open-loop batches, one request a connection.

A batch waits from the moment at which it comes, which is KafkaProducer.send, to the acknowledgement
of its request. So what gathers behind a slow request counts with its own waiting time, and not with
that of the fast request that it gets in the end.

A request that is refused or times out is sent again, the same records, until delivery.timeout.ms
after they came (clients/producer/internals/Sender.java @ 3.8.0: `completeBatch`, `canRetry`). Where
it goes the producer's metadata say. It asks for new ones once they are too old, or after an error
that says that they are (clients/Metadata.java @ 3.8.0: `timeToNextUpdate`).
"""

from __future__ import annotations

from isr_pipeline.kafka.quota import consumer_pace_us
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import LINE, fetch_ahead, number_of
from isr_pipeline.simulation.handlers import dispatch, hand_in
from isr_pipeline.simulation.measures import note_produce_latency
from isr_pipeline.simulation.network import WAKE_US, received
from isr_pipeline.simulation.request_queue import enqueue
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.queue import again, cancel, retire, schedule
from isr_pipeline.simulation.world.states import (
    Caller,
    Delivery,
    FaultState,
    RequestError,
    RequestState,
)
from isr_pipeline.simulation.world.tables import (
    INF,
    REQUESTS_PER_STREAM,
    REQUESTS_PER_THREAD,
    Broker,
    Fetching,
    Partition,
    Request,
    Stream,
    World,
)

RETRY_US = 100_000  # retry.backoff.ms: before a request is sent again, and metadata asked for
METADATA_MAX_AGE_US = 300_000_000  # metadata.max.age.ms
READER_RETRY_US = 100_000  # a consumer's own retry.backoff.ms
MILLION = 1_000_000


@compiled
def _count_batches(world: World, stream: Stream) -> None:
    """Gather the batches that have come by now; plan the next one.

    Batch k comes at base + floor(k * period): exact, also for periods of no whole microseconds.
    """
    now = world.now
    while stream.next_batch <= now:
        stream.gathered += stream.batch_records
        stream.batch_number += 1
        if stream.rate == 0:
            stream.next_batch = INF
            return
        step = stream.batch_number * stream.period_ns // 1000
        stream.next_batch = stream.counted_from + step
        if stream.next_batch >= stream.stops_at:
            stream.next_batch = INF


@compiled
def change_rate(world: World, stream: Stream, factor: int) -> None:
    """Let the stream go at ``factor`` millionths of its rate from its next batch on."""
    before = stream.rate
    if before == factor or (stream.next_batch == INF and before != 0):
        stream.rate = factor
        return
    remember_pace(stream)
    now = world.now
    old_period = stream.period_ns
    natural = old_period * before // MILLION if before > 0 else old_period
    stream.rate = factor
    if factor == 0:
        stream.next_batch = INF
        stream.period_ns = natural
        return
    stream.period_ns = max(1000, natural * MILLION // factor)
    remaining = stream.next_batch - now
    if before == 0 or remaining < 0:
        remaining = stream.period_ns // 1000
    else:
        remaining = min(remaining * before // factor, stream.period_ns // 1000)
    stream.counted_from = now + remaining
    stream.next_batch = stream.counted_from if stream.counted_from < stream.stops_at else INF
    if not stream.request:
        schedule(
            world,
            stream.slot,
            min(stream.next_batch, max(now, stream.retry_at) if waiting(stream) > 0 else INF),
        )


@compiled
def _idle_until(world: World, stream: Stream) -> None:
    """Nothing to send: sleep until the next batch."""
    if stream.next_batch < INF:
        schedule(world, stream.slot, stream.next_batch)
    else:
        cancel(world, stream.slot)


@cold
def _fetch_ahead(world: World, stream: Stream) -> None:
    """Let the processor fetch what the next streams will touch, in the order of the last time.

    A large world lies outside its caches, and what lies there is waited for line by line: first a
    stream's row, then its partition, then the leader's replica, then those who fetch from it.
    Streams mostly send in the same order again. So their rows are fetched four turns ahead, and
    what they name in the turns after.
    """
    last = world.last_stream
    world.last_stream = stream
    last.after = stream
    first = stream.after
    second = first.after
    third = second.after
    fourth = third.after
    _fetch_requests(world, stream.partition)
    _fetch_threads(world, first.partition)
    _fetch_replicas(world, second.partition)
    fetch_ahead(third.partition, 0)
    fetch_ahead(third.partition, LINE)
    fetch_ahead(third.requests, 0)
    fetch_ahead(third.requests, LINE)
    fetch_ahead(fourth, 0)
    fetch_ahead(fourth, LINE)
    fetch_ahead(fourth, 2 * LINE)


@compiled
def _first_fetching(world: World, partition: Partition) -> Fetching:
    """Who fetches for the first replica of ``partition`` from its leader.

    Reckoned, as the leader's row, which names it, may not be there yet.
    """
    leader = partition.replicas[partition.leader]
    return world.fetching[number_of(leader, world.replicas) * world.replicas_max]


@compiled
def _fetch_replicas(world: World, partition: Partition) -> None:
    """Fetch the replicas of ``partition``, who fetches from its leader, and its newest batch."""
    if partition.leader < 0:
        return
    fetching = _first_fetching(world, partition)
    for pos in range(partition.replication_factor):
        fetch_ahead(partition.replicas[pos], 0)
    leader = partition.replicas[partition.leader]
    fetch_ahead(leader, LINE)
    fetch_ahead(leader, 2 * LINE)
    for pos in range(0, partition.replication_factor, 2):  # two fit into a line
        fetch_ahead(fetching[pos], 0)
    fetch_ahead(partition.ledger[partition.ledger_tail], 0)


@compiled
def _fetch_threads(world: World, partition: Partition) -> None:
    """Fetch the threads that fetch from the leader of ``partition``, and its records of them."""
    if partition.leader < 0:
        return
    fetching = _first_fetching(world, partition)
    record = world.followers[number_of(fetching, world.fetching)]
    for pos in range(partition.replication_factor):
        if pos != partition.leader:
            thread = fetching.thread
            fetch_ahead(thread, 0)
            fetch_ahead(thread, LINE)
            fetch_ahead(record, 0)
        fetching = fetching[1]
        record = record[1]


@compiled
def _fetch_requests(world: World, partition: Partition) -> None:
    """Fetch the requests in which followers ask for ``partition``, and its entry in them."""
    if partition.leader < 0:
        return
    fetching = _first_fetching(world, partition)
    for pos in range(partition.replication_factor):
        if pos != partition.leader:
            thread = fetching.thread
            request = thread.requests
            fetch_ahead(request, 0)
            fetch_ahead(request, LINE)
            fetched = number_of(thread.fetched, world.fetched)
            entry = fetched * REQUESTS_PER_THREAD + fetching.place
            fetch_ahead(world.entries[entry], 0)
            fetch_ahead(thread.fetched[fetching.place], 0)
        fetching = fetching[1]


@compiled
def _back_off(world: World, stream: Stream) -> None:
    """Try again later: until then nothing is sent."""
    stream.retry_at = world.now + RETRY_US
    schedule(world, stream.slot, stream.retry_at)


@compiled
def _send(world: World, stream: Stream) -> None:
    """Send what has gathered to the leader that the metadata name; one request is out then."""
    _give_up_expired(world, stream)
    if waiting(stream) == 0:
        _idle_until(world, stream)
        return
    partition = stream.partition
    now = world.now
    leader = _known_leader(world, stream)
    request = stream.requests[0]
    for j in range(1, REQUESTS_PER_STREAM):
        if request.state != RequestState.FREE:
            request = stream.requests[j]
    if leader < 0 or request.state != RequestState.FREE:
        _back_off(world, stream)
        return
    records = stream.to_send_again
    if records == 0:
        records = min(stream.gathered, stream.request_records_max)
        stream.gathered -= records
    replica = partition.replicas[leader]
    if world.fetches_ahead:
        _fetch_ahead(world, stream)
    request.state = RequestState.TO_BROKER
    request.broker = replica.broker
    request.leader = replica
    request.records = records
    request.bytes = records * stream.record_bytes
    request.acks_all = stream.acks_all
    request.is_abandoned = 0
    request.error = RequestError.NONE
    arrives = now + world.half_rtt_us
    if world.has_nics:
        arrives = received(replica.broker, arrives, arrives, request.bytes)
    schedule(world, request.slot, arrives)
    stream.request = request
    schedule(world, stream.slot, now + world.request_timeout_us)


@compiled
def _known_leader(world: World, stream: Stream) -> int:
    """Position of the leader that the metadata of ``stream`` name: new ones, if they are due."""
    leader = stream.partition.leader
    if stream.leader < 0:
        stream.metadata_at = world.now
        stream.leader = leader
    elif stream.leader != leader and metadata_due(stream) <= world.now:
        stream.leader = leader
    return stream.leader


@compiled
def metadata_due(stream: Stream) -> int:
    """From when on the metadata of ``stream`` name the leader of now, if no error comes before.

    They are asked for every metadata.max.age.ms. That is reckoned once it matters: as a rule they
    say what they said before.
    """
    since = stream.partition.leader_since - stream.metadata_at
    ages = (since - 1) // METADATA_MAX_AGE_US + 1
    return stream.metadata_at + ages * METADATA_MAX_AGE_US


@compiled
def _give_up(world: World, stream: Stream, records: int) -> None:
    """Send the oldest ``records`` that wait no more."""
    others = waiting(stream) - records
    note_answered(world, stream, records, others, Delivery.GIVEN_UP)
    refused = min(records, stream.to_send_again)
    stream.to_send_again -= refused
    stream.gathered -= records - refused


@compiled
def _give_up_expired(world: World, stream: Stream) -> None:
    """Give up what came delivery.timeout.ms ago or earlier, whether it was ever sent or not.

    (clients/producer/internals/Sender.java @ 3.8.0: `sendProducerData`; ProducerBatch.java:
    `hasReachedDeliveryTimeout`.)
    """
    oldest = oldest_waiting(stream)
    first = oldest
    while first < stream.batch_number and expires_at(stream, first) <= world.now:
        first += 1
    if first > oldest:
        _give_up(world, stream, (first - oldest) * stream.batch_records)


@compiled
def _refused(world: World, stream: Stream, request: Request) -> None:
    """The request that is out was refused or has timed out: it is sent again, or given up."""
    stream.request = None
    stream.to_send_again = request.records
    if not stream.sends_again:
        _give_up(world, stream, request.records)
    _back_off(world, stream)


@compiled
def stream_fires(world: World, stream: Stream) -> None:
    """A produce stream's own moment: a batch comes, a pause is over, a request timed out."""
    now = world.now
    _count_batches(world, stream)
    if stream.request:
        # request.timeout.ms is over: the producer closes the connection
        # (clients/NetworkClient.java @ 3.8.0: `handleTimedOutRequests`, `handleServerDisconnect`)
        stream.request.is_abandoned = 1
        stream.leader = -1
        _refused(world, stream, stream.request)
        return
    if waiting(stream) == 0:
        _idle_until(world, stream)
    elif stream.retry_at > now:
        schedule(world, stream.slot, stream.retry_at)
    else:
        _send(world, stream)


@compiled
def produce_answered(world: World, stream: Stream, request: Request) -> None:
    """The answer to a produce request reaches its producer."""
    request.state = RequestState.FREE
    _take_answer(world, stream, request)
    if request.state == RequestState.FREE:  # it has not been sent again at once
        retire(world, request.slot)


@compiled
def _take_answer(world: World, stream: Stream, request: Request) -> None:
    """The producer goes on, unless the request timed out before."""
    if stream.request != request:
        return
    _count_batches(world, stream)
    if request.error != RequestError.NONE:
        if tells_of_leader(request.error):
            stream.leader = -1
        _refused(world, stream, request)
        return
    stream.request = None
    stream.to_send_again = 0
    note_answered(world, stream, request.records, stream.gathered, Delivery.ACKNOWLEDGED)
    if stream.gathered > 0:
        _send(world, stream)
    else:
        _idle_until(world, stream)


@compiled
def close_stream(world: World, stream: Stream) -> None:
    """At the horizon: what still waits counts with the time it has waited."""
    _count_batches(world, stream)
    note_answered(world, stream, waiting(stream), 0, Delivery.OPEN)


@compiled
def client_fires(world: World, rules: Rules, broker: Broker) -> None:
    """A client request besides produce arrives at ``broker``."""
    now = world.now
    if broker.paused_until > now:
        # packets wait: those of the whole pause arrive together, behind followers' and producers'
        schedule(world, broker.client_slot, broker.paused_until + 2 * WAKE_US)
        return
    come = 0
    while broker.client_next <= now:
        come += 1
        broker.client_requests += 1
        broker.client_next += broker.client_period_us
        broker.client_rest_ns += broker.client_period_rest_ns
        if broker.client_rest_ns >= 1000:
            broker.client_rest_ns -= 1000
            broker.client_next += 1
    again(world, broker.client_slot, broker.client_next)
    if not broker.is_up:
        return
    if come == 1:
        hand_in(world, rules, broker, Caller.CLIENT)
        return
    for _ in range(come):
        enqueue(world, broker, Caller.CLIENT)
    dispatch(world, rules, broker)


@compiled
def _step(k: int, period_ns: int) -> int:
    """Microseconds between event k - 1 and event k of a period in nanoseconds."""
    return k * period_ns // 1000 - (k - 1) * period_ns // 1000


@cold
def surge_fires(world: World, rules: Rules, broker: Broker) -> None:
    """Requests of a client surge come to ``broker``: one at a time on each connection."""
    now = world.now
    if broker.paused_until > now:
        schedule(world, broker.surge_slot, broker.paused_until + 2 * WAKE_US)
        return
    if broker.surge_period_ns > 0:
        while broker.surge_next <= now:
            broker.surge_gathered += 1
            broker.surge_count += 1
            broker.surge_next += _step(broker.surge_count, broker.surge_period_ns)
    else:
        broker.surge_gathered = 0
        broker.surge_next = INF
    if not broker.is_up:
        broker.surge_gathered = 0
    while broker.surge_gathered > 0 and broker.surge_requests < broker.surge_connections:
        broker.surge_gathered -= 1
        broker.surge_requests += 1
        enqueue(world, broker, Caller.SURGE)
    if broker.surge_next < INF:
        schedule(world, broker.surge_slot, broker.surge_next)
    else:
        cancel(world, broker.surge_slot)
    dispatch(world, rules, broker)


@compiled
def ask_for_cold_data(world: World, request: Request) -> None:
    """A reader's connection asks for its next piece, while it goes on: one request at a time.

    One that meets a dead broker, or no answer, comes back.
    """
    fault = request.reader
    if fault.state != FaultState.RUNNING:
        request.state = RequestState.FREE
        retire(world, request.slot)
        return
    now = world.now
    if request.error != RequestError.NONE:
        request.error = RequestError.NONE
        request.deadline = now + READER_RETRY_US
    asks = max(now, request.deadline)
    allowed = consumer_pace_us(world.consumer_byte_rate, fault.value, fault.arg2)
    request.deadline = asks + max(fault.arg, allowed)  # its pace; 0: as fast as it is answered
    request.state = RequestState.TO_BROKER
    request.broker = fault.broker
    request.bytes = fault.value
    schedule(world, request.slot, asks + world.half_rtt_us)


@compiled
def tells_of_leader(error: int) -> bool:
    """Whether an error is one of Kafka's InvalidMetadataException: there may be a new leader.

    NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR, NETWORK_EXCEPTION; others are the leader's own.
    """
    return (
        error == RequestError.NOT_LEADER
        or error == RequestError.STORAGE
        or error == RequestError.CONNECTION
    )


@compiled
def waiting(stream: Stream) -> int:
    """Records of ``stream`` that have come, are not acknowledged, and are not given up."""
    if stream.request:
        return stream.gathered + stream.request.records
    return stream.gathered + stream.to_send_again


@compiled
def oldest_waiting(stream: Stream) -> int:
    """Number of the oldest batch that waits: that of the next one to come, if none does."""
    return stream.batch_number - _batches_of(stream, waiting(stream))


@compiled
def expires_at(stream: Stream, k: int) -> int:
    """When the delivery.timeout.ms of batch ``k`` is over."""
    return _came_at(stream, k) + stream.delivery_timeout_us


@compiled
def _came_at(stream: Stream, k: int) -> int:
    """When batch ``k`` came; those before the last change of rate have numbers below 0."""
    if k >= 0:
        return stream.counted_from + k * stream.period_ns // 1000
    return stream.last_before + (k + 1) * stream.period_before_ns // 1000


@compiled
def backlog_reaches_back(stream: Stream, time: int) -> bool:
    """Whether requests that are answered at present may be of batches that came before ``time``.

    Where nothing has gathered, the request that is out took all that came since the one before.
    """
    return stream.gathered > 0 and _came_at(stream, oldest_waiting(stream)) < time


@compiled
def remember_pace(stream: Stream) -> None:
    """The rate of ``stream`` changes: its next batch has the number 0."""
    if stream.batch_number > 0:
        stream.last_before = _came_at(stream, stream.batch_number - 1)
        stream.period_before_ns = stream.period_ns
        stream.batch_number = 0


@compiled
def _batches_of(stream: Stream, records: int) -> int:
    """How many batches of ``stream`` so many records are: none or one mostly, undivided."""
    size = stream.batch_records
    if records < size:
        return 0
    return 1 if records < 2 * size else records // size


@compiled
def note_answered(
    world: World, stream: Stream, records: int, behind: int, answer: Delivery
) -> None:
    """The oldest ``records`` that waited do so no longer; ``behind`` them others still wait.

    What expired while it was out was given up then (Sender.java @ 3.8.0:
    `getExpiredInflightBatches`), whatever its answer is.
    """
    end = stream.batch_number - _batches_of(stream, behind)
    for k in range(end - _batches_of(stream, records), end):
        came = _came_at(stream, k)
        is_new = came == world.now and answer == Delivery.OPEN  # it comes as the run ends
        if came >= world.warmup and not is_new:
            waited = min(world.now - came, stream.delivery_timeout_us)
            note_produce_latency(world, stream, waited)
            if answer == Delivery.GIVEN_UP or waited == stream.delivery_timeout_us:
                stream.given_up += stream.batch_records
            elif answer == Delivery.ACKNOWLEDGED:
                stream.acknowledged += stream.batch_records
