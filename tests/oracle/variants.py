"""What the `variant` of a timeline selects: a rule set, and the proposal on top of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from isr_pipeline.kafka import releases
from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.kafka.releases import Fetcher, Rules
from tests.oracle.steps import Place, Step

_OWN_KEYS: Final = (
    "local",
    "mode",
    "cached_broker_epoch",
    "follower.fetch.reads.insync.enable",
)
"""Keys of a timeline's config beside Kafka's and the proposals' own."""

_LAG_MS: Final = 30_000
_LAG_MESSAGES: Final = 4_000
_LOCAL: Final = 101
_ENABLE: Final = "follower.fetch.pending.reads.insync.enable"
_ENABLE_PR: Final = "follower.fetch.reads.insync.enable"


@dataclass(frozen=True, slots=True)
class Variant:
    """A selectable set of rules.

    Args:
        name: as the timeline writes it.
        rule_set: name of the rule set below.
        kip501: the answer to slow reads on top of it.
        fetcher: the fetcher's way with failures, None for the rule set's own.
        mode: whether replicas are `plain`, or judged as under `zk` or `kraft`.
        failed_partitions_metric: FailedPartitionsCount exists (2.3).
        dead_threads_metric: DeadThreadCount exists (2.5).
    """

    name: str
    rule_set: str
    kip501: str = "none"
    fetcher: str | None = None
    mode: str = "plain"
    failed_partitions_metric: bool = True
    dead_threads_metric: bool = True


def _variants() -> dict[str, Variant]:
    newest = releases.NEWEST
    found = {}
    for name, rule_set in releases.RULE_SETS.items():
        modern = rule_set.fetcher == Fetcher.KIP_461
        found[name] = Variant(
            name, name, failed_partitions_metric=modern, dead_threads_metric=modern
        )
    for variant in (
        Variant("501-s1-doc", newest, kip501="s1-doc"),
        Variant("501-s1-pr", newest, kip501="s1-pr"),
        Variant("501-s2", newest, kip501="s2"),
        Variant("li-transfer", newest, kip501="li-transfer"),
        Variant("pre-461", "2.1-2.6", failed_partitions_metric=False, dead_threads_metric=False),
        Variant("2.3+", newest, dead_threads_metric=False),
        Variant("2.5+", newest),
        Variant("2.7+", newest),
        Variant("zk", newest, mode="zk"),
        Variant("kraft", newest, mode="kraft"),
    ):
        found[variant.name] = variant
    return found


VARIANTS: Final[Mapping[str, Variant]] = MappingProxyType(_variants())


@dataclass(frozen=True, slots=True)
class Settings:
    """A timeline's variant and config, resolved.

    Args:
        variant: the rules' selection.
        rules: the switches.
        lag_ms: replica.lag.time.max.ms.
        lag_messages: replica.lag.max.messages.
        min_isr: min.insync.replicas.
        backoff_ms: replica.fetch.backoff.ms.
        fetchers: num.replica.fetchers.
        fetch_max_bytes: replica.fetch.max.bytes.
        process_time_max_ms: follower.fetch.process.time.max.ms.
        unclean_enabled: unclean.leader.election.enable.
        local: id of the broker under test.
        mode: `plain`, `zk` or `kraft`.
        cached_broker_epoch: the epoch the metadata cache holds for the follower.
    """

    variant: Variant
    rules: Rules
    lag_ms: int
    lag_messages: int
    min_isr: int
    backoff_ms: int
    fetchers: int
    fetch_max_bytes: int
    process_time_max_ms: int
    unclean_enabled: bool
    local: int
    mode: str
    cached_broker_epoch: int


def resolve(variant_name: object, config: Mapping[str, Any], place: Place) -> Settings:
    """Resolve a timeline's variant and config.

    Args:
        variant_name: the timeline's `variant`.
        config: its `config`.
        place: where the timeline stands.

    Returns:
        The settings its machine is built with.

    Raises:
        InputError: an unknown variant or key, or a value of a wrong type.
    """
    if not isinstance(variant_name, str) or variant_name not in VARIANTS:
        given = "missing" if variant_name is None else repr(variant_name)
        raise place.at("variant").refuse(given, ", ".join(VARIANTS))
    variant = VARIANTS[variant_name]
    known = (*_OWN_KEYS, *KEYS)
    for key in config:
        if key not in known:
            raise place.at("config").refuse(repr(key), ", ".join(sorted(known)))
    read = Step(config, place.at("config"))
    mode = read.one_of("mode", ("plain", "zk", "kraft"), variant.mode)
    rule_set = releases.RULE_SETS[variant.rule_set]
    enabled = read.flag(_ENABLE, default=True) and read.flag(_ENABLE_PR, default=True)
    rules = releases.switches(
        rule_set,
        kip501=variant.kip501,
        kip501_enabled=enabled,
        fetcher=variant.fetcher,
        controller="zookeeper" if mode == "zk" else None,
        elr=read.integer("eligible.leader.replicas.version", 0) != 0,
    )
    return Settings(
        variant=variant,
        rules=rules,
        lag_ms=read.integer("replica.lag.time.max.ms", _LAG_MS),
        lag_messages=read.integer("replica.lag.max.messages", _LAG_MESSAGES),
        min_isr=read.integer("min.insync.replicas", 1),
        backoff_ms=read.integer("replica.fetch.backoff.ms", 0),
        fetchers=read.integer("num.replica.fetchers", 1),
        fetch_max_bytes=read.integer("replica.fetch.max.bytes", 1 << 20),
        process_time_max_ms=read.integer("follower.fetch.process.time.max.ms", 500),
        unclean_enabled=read.flag("unclean.leader.election.enable", default=rules.truncate_to_hw),
        local=read.integer("local", _LOCAL),
        mode=mode,
        cached_broker_epoch=read.integer("cached_broker_epoch", 1),
    )
