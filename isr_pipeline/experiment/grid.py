"""Configurations: the named candidates and the grid points of an experiment.

A configuration lays overrides over every scenario. Two configurations that no rule could tell
apart (identical twins, such as two values of a key that nothing reads under the rules chosen) are
refused: each night would pay for both and learn nothing.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from isr_pipeline.errors import InputError
from isr_pipeline.experiment.file import Experiment, Grid, Group, healthy_scenario
from isr_pipeline.files.models import Strict
from isr_pipeline.files.words import shown
from isr_pipeline.kafka.broker_config import UNREAD, resolve
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.releases import FETCHERS, LOCKS, default_shrink_bumps, word_of
from isr_pipeline.scenarios.model import TOPIC_KEYS, Scenario, apply, check, check_overrides
from isr_pipeline.worlds.size import check_size

Param = str | int | float | bool

MAIN_PARAMS = (
    "cluster.release",
    "cluster.controller",
    "rules.kip501",
    "rules.fetcher",
    "rules.isr_lock",
    "rules.election",
    "replica.lag.time.max.ms",
    "min.insync.replicas",
    "num.replica.fetchers",
    "unclean.leader.election.enable",
    "eligible.leader.replicas.version",
    "follower.fetch.pending.reads.insync.enable",
    "follower.fetch.process.time.max.ms",
)
"""Parameters that are shown for every configuration, varied or not."""

CONFIGURATIONS_MAX = 5000

SWITCHED_BY: Mapping[str, str] = MappingProxyType(
    {
        "leader.imbalance.check.interval.seconds": "auto.leader.rebalance.enable",
        "leader.imbalance.per.broker.percentage": "auto.leader.rebalance.enable",
    }
)
"""What rules read only while another key is true -> that key."""


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
    """

    name: str
    config_id: str
    group: str
    overrides: dict[str, Any]
    params: dict[str, Param]
    is_grid: bool
    why: str = ""


def configurations(experiment: Experiment) -> tuple[Configuration, ...]:
    """Give an experiment's configurations in the order of its file.

    Raises:
        InputError: an empty group or grid, a name given twice, an override that may not be, two
            configurations that are the same, or a reference that is none of them.
    """
    where = experiment.where
    busiest = max(experiment.cluster.hourly_load, default=1)  # it has to fit as well
    healthy = healthy_scenario(experiment, where).model_copy(update={"load_factor": busiest})
    named = list(_written(experiment))
    if not named:
        raise InputError(where, "groups", "no configuration", "at least one candidate or grid")
    _check_names([(at, name) for at, name, *_ in named], where)
    resolved = {
        name: resolved_params(_applied(healthy, overrides, where, at))
        for at, name, overrides, *_ in named
    }
    _check_twins([(at, name) for at, name, *_ in named], resolved, where)
    if experiment.reference not in resolved:
        names = ", ".join(resolved)
        raise InputError(where, "reference", experiment.reference, names)
    shown_params = _shown_params(resolved)
    return tuple(
        Configuration(
            name=name,
            config_id=_digest(resolved[name]),
            group=group,
            overrides=overrides,
            params={key: resolved[name].get(key, "none") for key in shown_params},
            is_grid=is_grid,
            why=why,
        )
        for _, name, overrides, group, is_grid, why in named
    )


def _written(
    experiment: Experiment,
) -> Iterator[tuple[str, str, dict[str, Any], str, bool, str]]:
    """Give (path in the file, name, overrides, group, is a grid point, why) in order."""
    where, base = experiment.where, experiment.base
    for g, group in enumerate(experiment.groups):
        at = f"groups[{g}]"
        if not group.candidates and not group.grids:
            raise InputError(where, at, "no configuration", "at least one candidate or grid")
        for c, candidate in enumerate(group.candidates):
            here = f"{at}.candidates[{c}]"
            overrides = base | check_overrides(candidate.set, where, f"{here}.set")
            yield here, candidate.name, overrides, group.name, False, candidate.why
        for i, grid in enumerate(group.grids):
            yield from _points(grid, f"{at}.grids[{i}]", where, base, group)


def _points(
    grid: Grid, at: str, where: str, base: Mapping[str, Any], group: Group
) -> Iterator[tuple[str, str, dict[str, Any], str, bool, str]]:
    if not grid.axes:
        raise InputError(where, f"{at}.axes", "{}", "a mapping of at least one key to its values")
    axes = []
    for key, axis in grid.axes.items():
        values = []
        for v, value in enumerate(axis.values):
            here = f"{at}.axes.{key}.values[{v}]"
            try:
                checked = check_overrides({key: value}, where, "")
            except InputError as error:
                unknown = error.given == "unknown key"
                path = f"{at}.axes.{key}" if unknown else here
                raise InputError(where, path, error.given, error.allowed) from None
            values.append((f"{axis.label}={shown(value)}", checked))
        axes.append(values)
    fixed = {**base, **check_overrides(grid.set, where, f"{at}.set")}
    for point in itertools.product(*axes):
        name = f"{grid.name}@{','.join(label for label, _ in point)}"
        overrides = dict(fixed)
        for _, one in point:
            overrides |= one
        yield at, name, overrides, group.name, True, grid.why


def _check_names(named: list[tuple[str, str]], where: str) -> None:
    if len(named) > CONFIGURATIONS_MAX:
        given = f"{len(named)} configurations"
        raise InputError(where, "groups", given, f"at most {CONFIGURATIONS_MAX}")
    seen: dict[str, str] = {}
    for at, name in named:
        if name in seen:
            raise InputError(where, f"{at}.name", name, f"a name not yet used (by {seen[name]})")
        seen[name] = at


def _applied(healthy: Scenario, overrides: Mapping[str, Any], where: str, at: str) -> Scenario:
    """Lay overrides over the healthy scenario, check the result as a scenario, and its size."""
    applied = apply(healthy, overrides)
    try:
        check(applied, where)
    except InputError as error:
        raise InputError(where, f"{at}.set.{error.field}", error.given, error.allowed) from None
    check_size(applied, f"{where}: {at}")
    return applied


# ---------------------------------------------------------------------------- resolved values


def resolved_params(scenario: Scenario) -> dict[str, Param]:
    """Give every Kafka key and rule switch that a scenario has in effect, defaults included."""
    cluster, rules = scenario.cluster, scenario.rules
    rule_set = rule_set_of(cluster.release)
    bumps = rules.shrink_bumps_leader_epoch
    switches: dict[str, Param] = {
        "cluster.release": cluster.release,
        "cluster.controller": cluster.controller,
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


def _digest(params: Mapping[str, Param]) -> str:
    line = json.dumps(dict(params), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(line.encode()).hexdigest()[:12]


def effective(params: Mapping[str, Param]) -> dict[str, Param]:
    """Keep of the resolved values those that some rule reads, given the others."""
    rule_set, controller = rule_set_of(str(params["cluster.release"])), params["cluster.controller"]
    kip501 = params["rules.kip501"]
    if not params["follower.fetch.pending.reads.insync.enable"] and kip501 != "li-transfer":
        kip501 = "none"
    kraft = controller == "kraft"
    unread = set(UNREAD) | {"follower.fetch.pending.reads.insync.enable"}
    unread |= {key for key, switch in SWITCHED_BY.items() if not params[switch]}
    if kip501 != "s2":
        unread |= {"follower.fetch.process.time.max.ms", "rules.s2_cooldown_ms"}
    if not rule_set.message_lag:
        unread.add("replica.lag.max.messages")
    if not kraft or not rule_set.has_elr:
        unread.add("eligible.leader.replicas.version")
    if kraft:
        unread |= {"zookeeper.session.timeout.ms", "service.isr_zk_write_ms"}
        unread.add("leader.imbalance.per.broker.percentage")
    else:
        unread |= {"broker.session.timeout.ms", "broker.heartbeat.interval.ms"}
    if not rule_set.async_isr:
        unread.add("service.alter_partition_ms")
    if rule_set.backoff_none:
        unread.add("replica.fetch.backoff.ms")
    if not rule_set.response_limit:
        unread.add("replica.fetch.response.max.bytes")
    kept = {key: value for key, value in params.items() if key not in unread}
    return {**kept, "rules.kip501": kip501}


def _check_twins(
    named: list[tuple[str, str]], resolved: Mapping[str, Mapping[str, Param]], where: str
) -> None:
    seen: dict[str, str] = {}
    for at, name in named:
        digest = _digest(effective(resolved[name]))
        if digest in seen:
            given = f"{name} does the same as {seen[digest]}"
            allowed = "configurations that differ in a key that their rules read"
            raise InputError(where, at, given, allowed)
        seen[digest] = name
