"""Configurations: the named candidates and the grid points of an experiment.

A configuration lays overrides over every scenario. Two configurations that no rule could tell
apart (identical twins, such as two values of a key that nothing reads under the rules chosen) are
refused: each night would pay for both and learn nothing.

What a configuration comes to in a cluster is asked here too. More is equal there than in the
values that are written: releases may differ in name only, and a value of the cluster means nothing
to topics and brokers that have their own.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from isr_pipeline.base.errors import InputError, together
from isr_pipeline.base.files.lines import with_lines
from isr_pipeline.base.files.models import Strict
from isr_pipeline.base.files.words import shown
from isr_pipeline.experiment.file import Experiment, Grid, healthy_scenario
from isr_pipeline.experiment.mistakes import (
    check_reference,
    checked_point,
    laid_over,
    name_mistakes,
    noted,
)
from isr_pipeline.kafka.broker_config import LONG_MAX, UNREAD, resolve
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.releases import (
    FETCHERS,
    KIP501_BEHIND_KEY,
    KIP501_VARIANTS,
    LOCKS,
    REPLAY_ONLY,
    SWITCHES,
    RuleSet,
    default_shrink_bumps,
    former_names,
    word_of,
)
from isr_pipeline.scenarios.model import (
    TOPIC_KEYS,
    TOPICS,
    Cluster,
    Scenario,
    Topic,
    check_overrides,
)

Param = str | int | float | bool

RELEASE = "cluster.release"
REPLICATION_LISTENER = "cluster.replication_listener"
MIN_ISR, UNCLEAN, *THROTTLED = TOPIC_KEYS
REBALANCE = "auto.leader.rebalance.enable"
PENDING_READS = "follower.fetch.pending.reads.insync.enable"

MAIN_PARAMS = (
    RELEASE,
    "cluster.controller",
    "rules.kip501",
    "rules.fetcher",
    "rules.isr_lock",
    "rules.election",
    "replica.lag.time.max.ms",
    MIN_ISR,
    "num.replica.fetchers",
    UNCLEAN,
    "eligible.leader.replicas.version",
    PENDING_READS,
    "follower.fetch.process.time.max.ms",
)
"""Parameters that are shown for every configuration, varied or not."""

CONFIGURATIONS_MAX = 5000


class Configuration(Strict):
    """One configuration of an experiment.

    Attributes:
        name: a candidate's own name; a grid point is named by its values.
        config_id: digest of all resolved Kafka keys, rule switches and service times.
        group: the shard that simulates it.
        overrides: Kafka keys and dotted paths -> values, checked.
        params: what MLflow shows; the same keys for all configurations of an experiment.
        is_grid: a grid point, matched with the baseline by its values instead of its name.
        why: what it is there for.
        release: the release as it was asked for; empty: as ``cluster.release`` is called.
    """

    name: str
    config_id: str
    group: str
    overrides: dict[str, Any]
    params: dict[str, Param]
    is_grid: bool
    why: str = ""
    release: str = ""


@dataclass(frozen=True, slots=True)
class _Written:
    """A configuration as the file has it; ``at``: where in the file."""

    at: str
    name: str
    group: str
    overrides: dict[str, Any]
    is_grid: bool
    why: str


@with_lines()
def configurations(experiment: Experiment) -> tuple[Configuration, ...]:
    """Give an experiment's configurations in the order of its file.

    Raises:
        InputError: an empty group or grid, a name given twice, an override that may not be, two
            configurations that are the same, or a reference that is none of them; all of a kind.
    """
    where = experiment.where
    busiest = max(experiment.cluster.hourly_load, default=1)  # it has to fit as well
    healthy = healthy_scenario(experiment).model_copy(update={"load_factor": busiest})
    written = list(_written(experiment))
    found = _name_mistakes(written, where)
    with noted(found):
        check_reference(experiment.reference, [one.name for one in written], where)
    resolved = {}
    for one in written:
        with noted(found):
            resolved[one.name] = resolved_params(_applied(healthy, one, experiment.base, where))
    if not found:
        found = _twins(written, resolved, where)
    if found:
        raise together(found)
    shown_params = _shown_params(resolved)
    return tuple(
        Configuration(
            name=one.name,
            config_id=_digest(resolved[one.name]),
            group=one.group,
            overrides=one.overrides,
            params={key: resolved[one.name].get(key, "none") for key in shown_params},
            is_grid=one.is_grid,
            why=one.why,
            release=experiment.releases.get(one.name, ""),
        )
        for one in written
    )


def _written(experiment: Experiment) -> Iterator[_Written]:
    where, base = experiment.where, experiment.base
    for g, group in enumerate(experiment.groups):
        at = f"groups[{g}]"
        if not group.candidates and not group.grids:
            raise InputError(where, at, "no configuration", "at least one candidate or grid")
        for c, candidate in enumerate(group.candidates):
            here = f"{at}.candidates[{c}]"
            overrides = base | check_overrides(candidate.set, where, f"{here}.set")
            yield _Written(here, candidate.name, group.name, overrides, False, candidate.why)
        for i, grid in enumerate(group.grids):
            here = f"{at}.grids[{i}]"
            for name, overrides in _points(grid, here, where):
                yield _Written(here, name, group.name, base | overrides, True, grid.why)


def _points(grid: Grid, at: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and overrides of each point."""
    if not grid.axes:
        raise InputError(where, f"{at}.axes", "{}", "a mapping of at least one key to its values")
    axes = []
    for key, axis in grid.axes.items():
        values = []
        for v, value in enumerate(axis.values):
            checked = checked_point(key, value, where, f"{at}.axes.{key}", v)
            values.append((f"{axis.label}={shown(value)}", checked))
        axes.append(values)
    fixed = check_overrides(grid.set, where, f"{at}.set")
    for point in itertools.product(*axes):
        overrides = dict(fixed)
        for _, one in point:
            overrides |= one
        yield f"{grid.name}@{','.join(label for label, _ in point)}", overrides


def _name_mistakes(written: Sequence[_Written], where: str) -> list[InputError]:
    if not written:
        raise InputError(where, "groups", "no configuration", "at least one candidate or grid")
    if len(written) > CONFIGURATIONS_MAX:
        given = f"{len(written)} configurations"
        raise InputError(where, "groups", given, f"at most {CONFIGURATIONS_MAX}")
    return name_mistakes([(one.at, one.name) for one in written], where)


def _applied(healthy: Scenario, one: _Written, base: Mapping[str, Any], where: str) -> Scenario:
    """Lay overrides over the healthy scenario, check the result as a scenario, and its size."""
    from isr_pipeline.worlds.size import check_size  # noqa: PLC0415 - reads the kernel

    applied = laid_over(healthy, one.overrides, base, where, one.at)
    try:
        check_size(applied, where)
    except InputError as error:
        field = f"{one.at}: {error.field}"
        raise InputError(where, field, error.given, error.allowed) from None
    return applied


def _twins(
    written: Sequence[_Written], resolved: Mapping[str, Mapping[str, Param]], where: str
) -> list[InputError]:
    found = []
    seen: dict[str, str] = {}
    for one in written:
        digest = _digest(effective(resolved[one.name]))
        if digest in seen:
            given = f"{one.name} does the same as {seen[digest]}"
            allowed = "configurations that differ in a key that their rules read"
            found.append(InputError(where, one.at, given, allowed))
        seen.setdefault(digest, one.name)
    return found


# ---------------------------------------------------------------------------- resolved values


def resolved_params(scenario: Scenario) -> dict[str, Param]:
    """Give every Kafka key and rule switch that a scenario has in effect, defaults included."""
    cluster, rules = scenario.cluster, scenario.rules
    rule_set = rule_set_of(cluster.release)
    bumps = rules.shrink_bumps_leader_epoch
    switches: dict[str, Param] = {
        RELEASE: cluster.release,
        "cluster.controller": cluster.controller,
        REPLICATION_LISTENER: cluster.replication_listener,
        "rules.kip501": rules.kip501 or "none",
        "rules.s2_cooldown_ms": rules.s2_cooldown_ms or 0,
        "rules.fetcher": rules.fetcher or word_of(FETCHERS, rule_set.fetcher),
        "rules.election": rules.election or "assignment_order",
        "rules.isr_lock": rules.isr_lock or word_of(LOCKS, rule_set.isr_lock),
        "rules.shrink_bumps_leader_epoch": (
            default_shrink_bumps(rule_set, cluster.controller) if bumps is None else bumps
        ),
    }
    service: dict[str, Param] = {
        f"service.{name}": "..".join(str(part) for part in value)
        if isinstance(value, tuple)
        else value
        for name, value in dict(scenario.service).items()
    }
    own = {f"topics.{key}": _own(scenario, key) for key in TOPIC_KEYS}
    of_topics: dict[str, Param] = {key: value for key, value in own.items() if value}
    return {**switches, **resolve(cluster.release, scenario.config), **service, **of_topics}


def _own(scenario: Scenario, key: str) -> str:
    """What topics set for themselves: one value if all have it, else the values that some have."""
    own = [topic.settings[key] for topic in scenario.topics if key in topic.settings]
    some = "" if len(own) == len(scenario.topics) else "some "
    return some + ", ".join(sorted({str(value).lower() for value in own})) if own else ""


def _shown_params(resolved: Mapping[str, Mapping[str, Param]]) -> list[str]:
    """Choose the parameters to show: the main ones, and whatever any two differ in."""
    every = list(dict.fromkeys(key for one in resolved.values() for key in one))
    varied = [key for key in every if len({str(one.get(key)) for one in resolved.values()}) > 1]
    return [*MAIN_PARAMS, *(key for key in varied if key not in MAIN_PARAMS)]


_ADDED: Mapping[str, Param] = MappingProxyType(
    {
        REPLICATION_LISTENER: False,
        "replication.quota.window.num": 11,
        "replication.quota.window.size.seconds": 1,
        "consumer_byte_rate": LONG_MAX,
    }
)
"""What older experiments do not name, and how it was with them."""


def _digest(params: Mapping[str, Param]) -> str:
    """Digest of resolved values; that of older experiments where what was added is as it was."""
    told = {key: value for key, value in params.items() if (key, value) not in _ADDED.items()}
    line = json.dumps(told, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(former_names(line).encode()).hexdigest()[:12]


Resolved = Mapping[str, Param]
Read = Callable[[RuleSet, Resolved], bool]


def _kraft(_: RuleSet, params: Resolved) -> bool:
    return params["cluster.controller"] == "kraft"


def _zookeeper(_: RuleSet, params: Resolved) -> bool:
    return params["cluster.controller"] == "zookeeper"


def _rebalances(_: RuleSet, params: Resolved) -> bool:
    return bool(params[REBALANCE])


def _proposal(params: Resolved) -> Param:
    """The answer to slow reads that is in effect: some do nothing while their key is off."""
    kip501 = params["rules.kip501"]
    is_behind_key = KIP501_VARIANTS[str(kip501)] in KIP501_BEHIND_KEY
    return "none" if is_behind_key and not params[PENDING_READS] else kip501


def _solution_2(_: RuleSet, params: Resolved) -> bool:
    return _proposal(params) == "s2"


def _alters_partition(rule_set: RuleSet, params: Resolved) -> bool:
    """Leaders send AlterPartition from 2.7 on; those that resign send it in every release."""
    return rule_set.async_isr or _proposal(params) in ("s2", "li-transfer")


def _elects_uncleanly(rule_set: RuleSet, params: Resolved) -> bool:
    """KRaft's elections ask from 3.9 on; followers ask before they end their process, to 2.0."""
    asked = rule_set.kraft_elects_uncleanly or rule_set.exits_over_truncation
    return asked or _zookeeper(rule_set, params)


def _has_quotas(rule_set: RuleSet, _: Resolved) -> bool:
    return rule_set.has_replication_quotas


def _throttles(rule_set: RuleSet, params: Resolved) -> bool:
    """Whether some list names replicas whose bytes a quota counts."""
    lists = [params.get(name) for key in THROTTLED for name in (key, f"{TOPICS}.{key}")]
    return rule_set.has_replication_quotas and any(lists)


_QUOTAS = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replication.quota.window.num",
    "replication.quota.window.size.seconds",
)

QUOTA_SWITCHES = ("quota_spares_in_sync", "idle_lag_known", "quota_counts_from_last_byte")
"""What matters only where a replica is throttled."""

READ_IF: Mapping[str, tuple[Read, ...]] = MappingProxyType(
    {
        "broker.heartbeat.interval.ms": (_kraft,),
        "broker.session.timeout.ms": (_kraft,),
        "consumer_byte_rate": (lambda rule_set, _: rule_set.has_client_quotas,),
        "controlled.shutdown.max.retries": (_zookeeper,),
        "controlled.shutdown.retry.backoff.ms": (_zookeeper,),
        "eligible.leader.replicas.version": (_kraft, lambda rule_set, _: rule_set.has_elr),
        PENDING_READS: (lambda *_: False,),  # rules.kip501 says what is in effect
        "follower.fetch.process.time.max.ms": (_solution_2,),
        "leader.imbalance.check.interval.seconds": (_rebalances,),
        "leader.imbalance.per.broker.percentage": (_rebalances, _zookeeper),
        "replica.fetch.backoff.ms": (lambda rule_set, _: not rule_set.backoff_none,),
        "replica.fetch.response.max.bytes": (lambda rule_set, _: rule_set.response_limit,),
        "replica.lag.max.messages": (lambda rule_set, _: rule_set.message_lag,),
        "rules.s2_cooldown_ms": (_solution_2,),
        "service.alter_partition_ms": (_alters_partition,),
        "service.isr_zk_write_ms": (lambda rule_set, _: not rule_set.async_isr,),
        "service.zk_op_ms": (_zookeeper,),
        UNCLEAN: (_elects_uncleanly,),
        "zookeeper.session.timeout.ms": (_zookeeper,),
        **dict.fromkeys(THROTTLED, (_has_quotas,)),
        **dict.fromkeys(_QUOTAS, (_throttles,)),
    }
)
"""What rules do not always read -> the conditions, all of which must hold."""


SWITCHED_BY: Mapping[str, str] = MappingProxyType(
    {key: REBALANCE for key, conditions in READ_IF.items() if _rebalances in conditions}
)
"""What rules read only while another key is true -> that key."""


def reads(name: str, params: Resolved) -> bool:
    """Whether some rule reads a key, switch or service time, given all resolved values."""
    key = name.removeprefix(f"{TOPICS}.")
    rule_set = rule_set_of(str(params[RELEASE]))
    return key not in UNREAD and all(one(rule_set, params) for one in READ_IF.get(key, ()))


def effective(params: Resolved) -> dict[str, Param]:
    """Keep of the resolved values those that some rule reads, given the others."""
    kept = {name: value for name, value in params.items() if reads(name, params)}
    return {**kept, "rules.kip501": _proposal(params)}


# ------------------------------------------------------------------- what it comes to in a cluster

Effects = tuple[tuple[str, str], ...]
"""What decides outcomes, and its value as a text, in a fixed order."""

_NAMES_ONLY = (RELEASE, *(f"{TOPICS}.{key}" for key in TOPIC_KEYS))
"""What stands for other values, which are compared themselves."""


def effects_of(scenario: Scenario) -> Effects:
    """Everything that a scenario's configuration decides by; where equal, so is every outcome.

    Args:
        scenario: with the configuration laid over it.
    """
    params = resolved_params(scenario)
    cluster, rule_set = scenario.cluster, rule_set_of(scenario.cluster.release)
    read = {key: value for key, value in effective(params).items() if key not in _NAMES_ONLY}
    found: dict[str, Any] = dict(read)
    idle = () if _throttles(rule_set, params) else QUOTA_SWITCHES
    for name in (one for one in SWITCHES if one not in idle):
        if hasattr(rule_set, name) and f"rules.{name}" not in params and name not in REPLAY_ONLY:
            found[f"switch {name}"] = getattr(rule_set, name)
    for key in TOPIC_KEYS:
        if key in read:
            found[key] = of_topics(scenario, key, params[key], cluster.release)
    own = [_own_values(cluster, one) for one in cluster.brokers]
    for key in {key for mine in own for key in mine if key in read}:
        found[key] = [mine.get(key, read[key]) for mine in own]
    return tuple(sorted((key, str(value)) for key, value in found.items()))


def _own_values(cluster: Cluster, broker: int) -> dict[str, Param]:
    """Kafka keys and service times that a broker has of its own, by the names of overrides."""
    times = cluster.broker_service.get(broker, {})
    named = {f"service.{name}": time for name, time in times.items()}
    return {**cluster.broker_settings.get(broker, {}), **named}


def of_topics(scenario: Scenario, key: str, value: Param, release: str) -> list[Param]:
    """The value that each topic's partitions apply.

    Args:
        scenario: its topics may have values of their own.
        key: of topics.
        value: the cluster's.
        release: that says whether min.insync.replicas may be more than the replicas.
    """
    capped = key == MIN_ISR and rule_set_of(release).min_isr_capped
    own = [(topic, topic.settings.get(key, value)) for topic in scenario.topics]
    return [min(int(mine), most_replicas(topic)) if capped else mine for topic, mine in own]


def most_replicas(topic: Topic) -> int:
    """The most replicas of any partition: what is capped there is capped in all others too."""
    return max((len(replicas) for replicas in topic.assignment.values()), default=0)


def lowered(scenario: Scenario, reference: Scenario) -> tuple[str, ...]:
    """What keeps an acknowledged record less surely than the reference does, for any topic.

    What acks=all promises is that so many replicas have the record, and that one of them leads. So
    it is ``min.insync.replicas`` where that is lower, ``unclean.leader.election.enable`` where that
    is allowed and was not, ``acks`` where a producer no longer waits for all. Values are those that
    topics apply, with the defaults of each release.

    Args:
        scenario: a configuration laid over the reference's cluster.
        reference: the same topics; its release says whether min.insync.replicas may ask for more
            than there are replicas.

    Returns:
        The keys; none if the promise is kept.
    """
    release = reference.cluster.release
    both = zip(_promises(scenario, release), _promises(reference, release), strict=True)
    return tuple(dict.fromkeys(key for (key, mine), (_, theirs) in both if mine < theirs))


def _promises(scenario: Scenario, release: str) -> Iterator[tuple[str, int]]:
    """Of each topic some keys with numbers: the larger each is, the better kept."""
    params = resolved_params(scenario)
    for value in of_topics(scenario, MIN_ISR, params[MIN_ISR], release):
        yield MIN_ISR, int(value)
    for allowed in of_topics(scenario, UNCLEAN, params[UNCLEAN], release):
        yield UNCLEAN, not allowed
    for topic in scenario.topics:
        for stream in topic.produce:
            yield "acks", stream.acks == "all"
