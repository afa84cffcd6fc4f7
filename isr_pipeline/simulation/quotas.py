"""Replication quotas of brokers: what a leader withholds, what a follower does not ask for."""

from __future__ import annotations

from isr_pipeline.kafka.quota import Lag, Throttled, is_exceeded, is_quota, record
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.simulation.log import data_end
from isr_pipeline.simulation.shortcuts.depends import note
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.states import Depends
from isr_pipeline.simulation.world.tables import INF, Broker, Entry, Fetched, Request, World

OF_LEADER = 0  # place of a quota among a broker's
OF_FOLLOWER = 1


@compiled
def withholds(world: World, fetched: Fetched, entry: Entry) -> bool:
    """Whether the leader answers a follower outside the ISR without records.

    ReplicaManager.shouldLeaderThrottle @ 0.10.1.1, 2.4.1, 3.9.0.
    """
    if fetched.throttled & Throttled.BY_LEADER == 0 or (fetched.leader.isr & entry.bit) != 0:
        return False
    return _leader_exceeds(world, fetched)


@compiled
def keeps_waiting(world: World, rules: Rules, fetched: Fetched, entry: Entry) -> bool:
    """Whether what the log has gained completes no delayed fetch (DelayedFetch.tryComplete).

    To 1.1.0 followers in the ISR are kept waiting as well (KAFKA-6937).
    """
    if rules.quota_spares_in_sync:
        return withholds(world, fetched, entry)
    return fetched.throttled & Throttled.BY_LEADER != 0 and _leader_exceeds(world, fetched)


@compiled
def _leader_exceeds(world: World, fetched: Fetched) -> bool:
    broker = fetched.leader.broker
    return _exceeds(world, broker, OF_LEADER, broker.leader_throttled_rate)


@cold
def _exceeds(world: World, broker: Broker, whose: int, rate: int) -> bool:
    """Whether a quota of ``broker`` has counted more than its rate allows."""
    note(world, Depends.QUOTA)
    return is_quota(rate) and is_exceeded(
        broker.quotas[whose], broker.quota_window_num, broker.quota_window_us, rate, world.now
    )


@compiled
def leaves_out(world: World, fetched: Fetched) -> bool:
    """Whether a follower that thinks itself out of sync leaves a partition out of its fetch.

    RemoteLeaderEndPoint.shouldFollowerThrottle @ 3.9.0; ReplicaFetcherThread.scala @ 0.10.1.1,
    2.4.1.
    """
    if fetched.throttled & Throttled.BY_FOLLOWER == 0 or fetched.lag == Lag.NONE:
        return False
    broker = fetched.follower.broker
    return _exceeds(world, broker, OF_FOLLOWER, broker.follower_throttled_rate)


@compiled
def count_sent(world: World, rules: Rules, broker: Broker, request: Request) -> None:
    """The answer to a fetch is handed over: its throttled bytes, of followers in the ISR too.

    KafkaApis.handleFetchRequest @ 3.9.0.
    """
    if not is_quota(broker.leader_throttled_rate) or not request.has_data:
        return
    for i in range(request.entry_count):
        fetched = request.thread.fetched[i]
        entry = request.entries[i]
        if fetched.throttled & Throttled.BY_LEADER != 0 and 0 <= entry.offset < entry.end:
            _count(world, rules, broker, OF_LEADER, fetched, entry)


@compiled
def count_fetched(world: World, rules: Rules, fetched: Fetched, entry: Entry) -> None:
    """Records of an answer are appended (ReplicaFetcherThread.processPartitionData @ 3.9.0)."""
    broker = fetched.follower.broker
    if fetched.throttled & Throttled.BY_FOLLOWER != 0 and is_quota(broker.follower_throttled_rate):
        _count(world, rules, broker, OF_FOLLOWER, fetched, entry)


@cold
def _count(
    world: World, rules: Rules, broker: Broker, whose: int, fetched: Fetched, entry: Entry
) -> None:
    _, size = data_end(fetched.follower.partition, entry.offset, entry.end, INF)
    record(
        rules,
        broker.quotas[whose],
        broker.quota_window_num,
        broker.quota_window_us,
        size,
        world.now,
    )
