"""What a configuration decides by itself: the kernel's keys and switches, read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isr_pipeline.kafka.broker_config import KEYS, resolve
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.partition import effective_min_isr, tick_period
from isr_pipeline.kafka.releases import RuleSet, switches
from isr_pipeline.scenarios.model import us
from isr_pipeline.simulation.world import layout as at
from isr_pipeline.worlds.entities import MAX_RF

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.scenarios.model import Rules, Scenario, Service

Array = npt.NDArray[np.int64]

MILLION = 1_000_000

OwnValues = tuple[tuple[tuple[tuple[str, Any], ...], tuple[tuple[str, float], ...]], ...]
"""Of each broker: its own settings, and its own service times."""

_OF_BROKER = list(at.OF_BROKER.values())


@dataclass(frozen=True, slots=True)
class Choices:
    """What a configuration decides by itself. Worlds share it: no code changes it.

    Attributes:
        keys: `Settings.keys`, but for what every scenario has of its own.
        rules: the switches.
        flags: conditions at 0 of a partition, by how many replicas it has.
        own: what each broker reads for itself, the cells of `OF_BROKER` in their order.
        fetchers, io, net: num.replica.fetchers, num.io.threads, num.network.threads of each.
        clients_per_s: client requests to each.
    """

    keys: Array
    rules: Array
    flags: Array
    own: Array
    fetchers: tuple[int, ...]
    io: tuple[int, ...]
    net: tuple[int, ...]
    clients_per_s: tuple[float, ...]


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
    rules: Rules,
    config: tuple[tuple[str, Any], ...],
    service: Service,
    *,
    brokers: int | OwnValues,
) -> Choices:
    """Read a configuration, once for all scenarios.

    Args:
        release: the cluster's.
        controller: the cluster's.
        rules: the switches that are no Kafka key.
        config: the Kafka keys that were given, and their values, as checked.
        service: service times.
        brokers: how many there are; or what each has of its own, if any has.
    """
    rule_set = rule_set_of(release)
    keys: dict[str, Any] = resolve(release, dict(config))
    vector = switches(
        rule_set,
        kip501=rules.kip501 or "none",
        kip501_enabled=bool(keys["follower.fetch.pending.reads.insync.enable"]),
        fetcher=rules.fetcher,
        election=rules.election,
        isr_lock=rules.isr_lock,
        shrink_bumps_leader_epoch=rules.shrink_bumps_leader_epoch,
        controller=controller,
        elr=_elr(keys, rule_set, controller),
    )

    def cells_of(keys: Mapping[str, Any], service: Service) -> Array:
        cells = np.zeros(at.CONFIG_END, dtype=np.int64)
        _write_keys(cells, keys, rule_set, controller)
        _write_service(cells, service)
        lag = int(keys["replica.lag.time.max.ms"])
        cells[at.C_TICK] = max(1000, 1000 * int(tick_period(vector, lag)))
        cells[at.C_S2_COOLDOWN] = us(rules.s2_cooldown_ms or 0)
        return cells

    cells = cells_of(keys, service)
    each = [(keys, service)] * (brokers if isinstance(brokers, int) else len(brokers))
    own = np.tile(cells[_OF_BROKER], (len(each), 1))
    for i, (settings, times) in enumerate(() if isinstance(brokers, int) else brokers):
        if settings or times:
            each[i] = ({**keys, **dict(settings)}, service.model_copy(update=dict(times)))
            own[i] = cells_of(*each[i])[_OF_BROKER]
    return Choices(
        cells,
        vector,
        first_flags(vector, int(keys["min.insync.replicas"])),
        own,
        tuple(int(mine["num.replica.fetchers"]) for mine, _ in each),
        tuple(int(mine["num.io.threads"]) for mine, _ in each),
        tuple(int(mine["num.network.threads"]) for mine, _ in each),
        tuple(times.client_requests_per_s for _, times in each),
    )


def _elr(keys: Mapping[str, Any], rule_set: RuleSet, controller: str) -> bool:
    """Whether KIP-966 is on: a feature of KRaft where the release has it, unused elsewhere."""
    wanted = int(keys["eligible.leader.replicas.version"]) == 1
    return wanted and controller == "kraft" and rule_set.has_elr


def _write_keys(w: Array, k: Mapping[str, Any], rule_set: RuleSet, controller: str) -> None:
    """Kafka's keys, times in microseconds, each in its own cell; and what follows from several."""
    for name, cell in at.KEY_CELLS.items():
        w[cell] = KEYS[name].in_kernel(k[name])
    if not rule_set.response_limit:
        w[at.C_RESPONSE_MAX_BYTES] = at.INF
    if controller == "kraft":
        w[at.C_SESSION] = us(k["broker.session.timeout.ms"])
        w[at.C_HEARTBEAT] = us(k["broker.heartbeat.interval.ms"])
    else:
        w[at.C_SESSION] = us(k["zookeeper.session.timeout.ms"])
        w[at.C_HEARTBEAT] = max(1, us(k["zookeeper.session.timeout.ms"]) // 3)
    rebalance = at.INF
    if k["auto.leader.rebalance.enable"]:
        rebalance = int(k["leader.imbalance.check.interval.seconds"]) * MILLION
    w[at.C_REBALANCE] = min(rebalance, at.INF)


def _write_service(w: Array, service: Service) -> None:
    """Service times in microseconds, in the header's own places."""
    w[at.C_READ] = round(service.handler_read_us)
    w[at.C_PRODUCE] = round(service.produce_us)
    w[at.C_SEND] = round(service.send_us)
    w[at.C_APPEND] = round(service.append_us)
    w[at.C_HALF_RTT] = us(service.network_rtt_ms) // 2
    w[at.C_ALTER] = us(service.alter_partition_ms)
    w[at.C_ZK_WRITE] = us(service.isr_zk_write_ms)
    w[at.C_MD_LOW] = us(service.metadata_ms[0])
    w[at.C_MD_HIGH] = us(service.metadata_ms[1])
    w[at.C_CLIENT] = round(service.client_request_us)


def first_flags(rules: Array, min_isr: int) -> Array:
    """Conditions of a partition at 0, by its replicas: min.insync.replicas may be more."""
    flags = [flags_of(rules, min_isr, rf, rf) for rf in range(MAX_RF + 1)]
    return np.array(flags, dtype=np.int64)


def flags_of(rules: Array, min_isr: int, rf: int, members: int) -> int:
    """Whether a partition with so many replicas, and so many of them in its ISR, has too few."""
    if members < effective_min_isr(rules, min_isr, rf):
        return at.FLAG_UNDER_MIN | at.FLAG_UNAVAILABLE
    return 0
