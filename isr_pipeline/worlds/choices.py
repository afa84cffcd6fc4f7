"""What a configuration decides by itself: the kernel's keys and switches, read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from isr_pipeline.kafka.broker_config import KEYS, LONG_MAX, in_effect
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.partition import effective_min_isr, tick_period
from isr_pipeline.kafka.releases import Rules, RuleSet, as_cells, switches
from isr_pipeline.scenarios.faults import us
from isr_pipeline.simulation.world.states import Standing
from isr_pipeline.simulation.world.tables import INF, MAX_RF, Broker, World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.scenarios.model import Rules as Chosen
    from isr_pipeline.scenarios.model import Scenario, Service

Array = npt.NDArray[np.int64]

MILLION = 1_000_000

BY_LEADER: Final = "leader.replication.throttled.replicas"
BY_FOLLOWER: Final = "follower.replication.throttled.replicas"

OwnValues = tuple[tuple[tuple[tuple[str, Any], ...], tuple[tuple[str, float], ...]], ...]
"""Of each broker: its own settings, and its own service times."""

CELL_OF_KEY: Final = {
    field.key: name
    for table in (World, Broker)
    for name, field in table.cells_of.items()
    if field.key
}
"""Kafka's key -> the cell of the header, or of each broker, that holds its value."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a configuration decides by itself. Worlds share it: no code changes it.

    Attributes:
        keys: what the kernel reads, by the cell: of the header, or of brokers that have nothing
            else of their own.
        of_world: of them, what the header holds: places of its cells, and their values.
        rules: the switches; ``switches``: as the kernel reads them.
        flags: conditions at 0 of a partition, by how many replicas it has.
        own: what each broker reads for itself, by the cell; ``of_brokers``: places of these cells
            in a broker's row, and their values, a row a broker.
        fetchers, io, net: num.replica.fetchers, num.io.threads, num.network.threads of each.
        clients_per_s: client requests to each.
        throttled: replicas that leaders throttle, and that followers do, of topics without a list
            of their own.
        quota_samples: most that a broker's replication quotas count.
    """

    keys: Mapping[str, int]
    of_world: tuple[Array, Array]
    rules: Rules
    switches: Array
    flags: Array
    own: Mapping[str, Array]
    of_brokers: tuple[Array, Array]
    fetchers: tuple[int, ...]
    io: tuple[int, ...]
    net: tuple[int, ...]
    clients_per_s: tuple[float, ...]
    throttled: tuple[str, str]
    quota_samples: int


def choices_for(scenario: Scenario) -> Choices:
    """Choices of the configuration that is laid over a scenario."""
    cluster = scenario.cluster
    given = tuple(scenario.config.items())
    own: OwnValues = ()
    if cluster.broker_settings or cluster.broker_service:
        own = tuple(
            (
                tuple(cluster.broker_settings.get(broker, {}).items()),
                tuple(cluster.broker_service.get(broker, {}).items()),
            )
            for broker in cluster.brokers
        )
    return choices_of(
        cluster.release,
        cluster.controller,
        scenario.rules,
        given,
        scenario.service,
        brokers=own or len(cluster.brokers),
    )


@lru_cache(maxsize=128)
def choices_of(
    release: str,
    controller: str,
    chosen: Chosen,
    config: tuple[tuple[str, Any], ...],
    service: Service,
    *,
    brokers: int | OwnValues,
) -> Choices:
    """Read a configuration, once for all scenarios.

    Args:
        release: the cluster's.
        controller: the cluster's.
        chosen: the switches that are no Kafka key.
        config: the Kafka keys that were given, and their values, as checked.
        service: service times.
        brokers: how many there are; or what each has of its own, if any has.
    """
    rule_set = rule_set_of(release)
    keys = in_effect(rule_set, dict(config))
    rules = switches(
        rule_set,
        kip501=chosen.kip501 or "none",
        kip501_enabled=bool(keys["follower.fetch.pending.reads.insync.enable"]),
        fetcher=chosen.fetcher,
        election=chosen.election,
        isr_lock=chosen.isr_lock,
        shrink_bumps_leader_epoch=chosen.shrink_bumps_leader_epoch,
        controller=controller,
        elr=_elr(keys, rule_set, controller),
    )

    def cells_of(keys: Mapping[str, Any], service: Service) -> dict[str, int]:
        tick = 1000 * int(tick_period(rules, int(keys["replica.lag.time.max.ms"])))
        return {
            **_keys(keys, rule_set, controller),
            **_service(service),
            "tick_period_us": max(1000, tick),
            "resign_cooldown_us": us(chosen.s2_cooldown_ms or 0),
        }

    cells = cells_of(keys, service)
    of_brokers = [(keys, service)] * (brokers if isinstance(brokers, int) else len(brokers))
    own = {name: np.full(len(of_brokers), cells[name]) for name in cells if name in Broker.cells_of}
    for i, (settings, times) in enumerate(() if isinstance(brokers, int) else brokers):
        if settings or times:
            of_brokers[i] = ({**keys, **dict(settings)}, service.model_copy(update=dict(times)))
            mine = cells_of(*of_brokers[i])
            for name, values in own.items():
                values[i] = mine[name]
    of_world = {World.cells_of[name].place: cells[name] for name in cells if name in World.cells_of}
    return Choices(
        cells,
        (np.array([*of_world]), np.array([*of_world.values()])),
        rules,
        as_cells(rules),
        first_flags(rules, int(keys["min.insync.replicas"])),
        own,
        (np.array([Broker.cells_of[name].place for name in own]), np.stack([*own.values()], 1)),
        tuple(int(mine["num.replica.fetchers"]) for mine, _ in of_brokers),
        tuple(int(mine["num.io.threads"]) for mine, _ in of_brokers),
        tuple(int(mine["num.network.threads"]) for mine, _ in of_brokers),
        tuple(times.client_requests_per_s for _, times in of_brokers),
        (str(keys[BY_LEADER]), str(keys[BY_FOLLOWER])),
        max(int(mine["replication.quota.window.num"]) for mine, _ in of_brokers),
    )


def _elr(keys: Mapping[str, Any], rule_set: RuleSet, controller: str) -> bool:
    """Whether KIP-966 is on: a feature of KRaft where the release has it, unused elsewhere."""
    wanted = int(keys["eligible.leader.replicas.version"]) == 1
    return wanted and controller == "kraft" and rule_set.has_elr


def _keys(k: Mapping[str, Any], rule_set: RuleSet, controller: str) -> dict[str, int]:
    """Kafka's keys, times in microseconds, by their cells; and what follows from several."""
    cells = {cell: KEYS[name].in_kernel(k[name]) for name, cell in CELL_OF_KEY.items()}
    if not rule_set.response_limit:
        cells["fetch_response_max_bytes"] = INF
    if rule_set.backoff_none:  # the cell is left to a thread whose requests are all out
        backoff = KEYS["replica.fetch.backoff.ms"]
        cells["fetch_backoff_us"] = backoff.in_kernel(backoff.default)
    if controller == "kraft":
        cells["session_timeout_us"] = us(k["broker.session.timeout.ms"])
        cells["heartbeat_us"] = us(k["broker.heartbeat.interval.ms"])
    else:
        cells["session_timeout_us"] = us(k["zookeeper.session.timeout.ms"])
        cells["heartbeat_us"] = max(1, us(k["zookeeper.session.timeout.ms"]) // 3)
    check = INF
    if k["auto.leader.rebalance.enable"]:
        check = int(k["leader.imbalance.check.interval.seconds"]) * MILLION
    cells["imbalance_check_us"] = min(check, INF)
    if not rule_set.has_replication_quotas:
        cells["leader_throttled_rate"] = cells["follower_throttled_rate"] = LONG_MAX
    if not rule_set.has_client_quotas:
        cells["consumer_byte_rate"] = LONG_MAX
    return cells


def _service(service: Service) -> dict[str, int]:
    """Service times in microseconds, by their cells."""
    return {
        "read_us": round(service.handler_read_us),
        "produce_us": round(service.produce_us),
        "send_us": round(service.send_us),
        "append_us": round(service.append_us),
        "half_rtt_us": us(service.network_rtt_ms) // 2,
        "alter_partition_us": us(service.alter_partition_ms),
        "zookeeper_write_us": us(service.isr_zk_write_ms),
        "zookeeper_request_us": us(service.zk_op_ms),
        "metadata_low_us": us(service.metadata_ms[0]),
        "metadata_high_us": us(service.metadata_ms[1]),
        "client_us": round(service.client_request_us),
    }


def first_flags(rules: Rules, min_isr: int) -> Array:
    """Conditions of a partition at 0, by its replicas: min.insync.replicas may be more."""
    flags = [flags_of(rules, min_isr, rf, rf) for rf in range(MAX_RF + 1)]
    return np.array(flags, dtype=np.int64)


def flags_of(rules: Rules, min_isr: int, rf: int, members: int) -> int:
    """How a partition with so many replicas stands, so many of them in its ISR: too few, one?"""
    if members < effective_min_isr(rules, min_isr, rf):
        return Standing.UNDER_MIN_ISR | Standing.UNAVAILABLE
    return Standing.ONE_REPLICA if members == 1 else 0
