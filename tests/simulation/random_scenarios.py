"""Whole random scenarios: small clusters, short horizons, light load, everything that can happen.

Times are short in proportion (a lag limit of 200 ms, a session of 600 ms), so that in a few
simulated seconds, milliseconds of computing, every rule has had its chance to go wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from hypothesis import strategies as st

from isr_pipeline.base.files.checks import BOOLEAN, Check
from isr_pipeline.kafka.own_rules import (
    CHANGEABLE,
    RuleSetError,
    rule_set_of,
    text_of,
    words_for,
)
from isr_pipeline.kafka.releases import RELEASES
from isr_pipeline.scenarios.faults import KINDS
from isr_pipeline.scenarios.model import Rules, Scenario, parse_scenario
from tests.tables import data_of

BUDGET = 60_000
"""Events after which a scenario counts as one that runs away."""


class Source(Protocol):
    """Where choices come from: hypothesis, or a plain random generator."""

    def whole(self, low: int, high: int) -> int:
        """Choose a whole number in [low, high]."""

    def of(self, choices: Sequence[Any]) -> Any:
        """Choose one of several; the first is the plainest."""


class FromHypothesis:
    """Choices that hypothesis makes, and shrinks."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw

    def whole(self, low: int, high: int) -> int:
        """Choose a whole number."""
        return int(self.draw(st.integers(low, high)))

    def of(self, choices: Sequence[Any]) -> Any:
        """Choose one of several."""
        return choices[self.whole(0, len(choices) - 1)]


class FromSeed:
    """Choices of a seeded generator: ten times faster than hypothesis, for soaking."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def whole(self, low: int, high: int) -> int:
        """Choose a whole number."""
        return self.random.randint(low, high)

    def of(self, choices: Sequence[Any]) -> Any:
        """Choose one of several."""
        return self.random.choice(choices)


_LAG, _WAIT = "replica.lag.time.max.ms", "replica.fetch.wait.max.ms"
_SOCKET, _FETCH = "replica.socket.timeout.ms", "replica.fetch.max.bytes"
_CONFIG: dict[str, Sequence[Any]] = data_of(__file__, "config")


def _values(check: Check) -> Sequence[Any]:
    """What may stand where a model's field is checked so; a number is a time of Solution 2."""
    if check is BOOLEAN:
        return (False, True)
    return tuple(check.schema.get("enum", (0, 500)))


RULES: dict[str, Sequence[Any]] = {
    name: _values(next(one for one in field.metadata if isinstance(one, Check)))
    for name, field in Rules.model_fields.items()
}
"""Every switch of a scenario, and all that may stand there."""
SWITCHES: dict[str, Sequence[Any]] = {
    name: words_for(name) or ((1, 2, 3) if name == "tick_divisor" else (True, False))
    for name in CHANGEABLE
}
"""The same of rule sets of one's own."""
OF_DISKS = ("slow_disk", "cold_reader")
"""Faults of disks whose speed is known."""
_SERVICE: dict[str, Sequence[Any]] = data_of(__file__, "service")


def _some(source: Source, fields: dict[str, Sequence[Any]]) -> dict[str, Any]:
    """Give about half of the fields a value."""
    return {name: source.of(of) for name, of in fields.items() if source.whole(0, 1)}


def _config(source: Source) -> dict[str, Any]:
    """Keys that brokers start with."""
    config = {_LAG: 500, **_some(source, _CONFIG)}
    longest = min(config[_LAG], config.get(_SOCKET, 30000))
    return {
        **config,
        _WAIT: min(config.get(_WAIT, 500), longest),
        "message.max.bytes": config.get(_FETCH, 1048576),
    }


def _topic(source: Source, name: str, brokers: list[int], horizon_ms: int) -> dict[str, Any]:
    factor = min(source.of((3, 2, 1, 4)), len(brokers))
    assignment = {}
    for partition in range(source.whole(1, 3)):
        start = source.whole(0, len(brokers) - 1)
        rotated = brokers[start:] + brokers[:start]
        if source.whole(0, 3) == 3:
            rotated.reverse()
        assignment[partition] = rotated[:factor]
    streams = []
    for _ in range(source.whole(0, 2)):
        stream: dict[str, Any] = {
            "records_per_s": source.of((20, 1, 5, 50, 100)),
            "records_per_batch": source.of((1, 5)),
            "record_bytes": source.of((500, 100, 60000)),
            "acks": source.of(("all", 1)),
        }
        if source.whole(0, 3) == 3:
            stream["start_ms"] = source.whole(0, horizon_ms)
            stream["duration_ms"] = source.whole(0, horizon_ms - stream["start_ms"])
        if source.whole(0, 3) == 3:
            stream["retries"] = source.of((None, 0))
            stream["delivery_timeout_ms"] = source.of((1000, 300, 5000))
        streams.append(stream)
    return {"name": name, "assignment": assignment, "produce": streams}


class _Faults:
    """Draws faults for one cluster; one method a kind."""

    def __init__(self, source: Source, scenario: dict[str, Any]) -> None:
        self.source = source
        self.scenario = scenario
        self.brokers = scenario["cluster"]["brokers"]

    def one(self) -> dict[str, Any] | None:
        """Draw a fault; None if the kind needs what this cluster has not."""
        kind = self.source.of([one for one in KINDS if one not in OF_DISKS])
        fault = {"kind": kind, "start_ms": self.source.whole(0, self.scenario["horizon_ms"])}
        more = getattr(self, kind)(fault)
        return None if more is None else {**fault, **more}

    def _window(self, fault: dict[str, Any]) -> dict[str, Any]:
        left = self.scenario["horizon_ms"] - fault["start_ms"]
        return {"duration_ms": min(left, self.source.of((400, 0, 100, 1500, 3000, 6000)))}

    def _broker(self) -> dict[str, Any]:
        return {"broker": self.source.of(self.brokers)}

    def _partition(self) -> tuple[dict[str, Any], list[int]]:
        topic = self.source.of(self.scenario["topics"])
        number = self.source.whole(0, len(topic["assignment"]) - 1)
        return {"topic": topic["name"], "partition": number}, topic["assignment"][number]

    def _hosted(self, broker: int) -> dict[str, Any]:
        if self.source.whole(0, 1) == 0:
            return {}
        names = [
            f"{topic['name']}-{number}"
            for topic in self.scenario["topics"]
            for number, replicas in topic["assignment"].items()
            if broker in replicas
        ]
        return {"partitions": [self.source.of(names)]} if names else {}

    def read_stall(self, fault: dict[str, Any]) -> dict[str, Any]:
        on = self._broker()
        what = {
            "stage": self.source.of(("handler", "send")),
            "reads": self.source.of(("all", "direct", "completion", "visits")),
        }
        return {**self._window(fault), **on, **self._hosted(on["broker"]), **what}

    def slow_append(self, fault: dict[str, Any]) -> dict[str, Any]:
        on = self._broker()
        value = {
            "append_ms": self.source.of((50, 0, 5, 700)),
            "role": self.source.of(("follower", "leader", "both")),
        }
        return {**self._window(fault), **on, **self._hosted(on["broker"]), **value}

    def slow_disk(self, fault: dict[str, Any]) -> dict[str, Any]:
        parts = {
            "write_factor": self.source.of((0.1, 0, 0.5)),
            "read_factor": self.source.of((1, 0, 0.5)),
        }
        return {**self._window(fault), **self._broker(), **parts}

    def cold_reader(self, fault: dict[str, Any]) -> dict[str, Any]:
        load = {
            "connections": self.source.of((1, 3)),
            "fetch_bytes": self.source.of((2000, 100_000)),
            "bytes_per_s": self.source.of((None, 5000)),
        }
        return {**self._window(fault), **self._broker(), **load}

    def of_disks(self) -> list[dict[str, Any]]:
        """Faults of disks whose speed is known."""
        found: list[dict[str, Any]] = []
        for kind in OF_DISKS:
            if self.source.whole(0, 1):
                start_ms = self.source.whole(0, self.scenario["horizon_ms"])
                fault: dict[str, Any] = {"kind": kind, "start_ms": start_ms}
                found.append({**fault, **getattr(self, kind)(fault)})
        return found

    def pause(self, fault: dict[str, Any]) -> dict[str, Any]:
        return {**self._window(fault), **self._broker()}

    def cpu(self, fault: dict[str, Any]) -> dict[str, Any]:
        factor = {"factor": self.source.of((10, 0.1, 3, 300))}
        return {**self._window(fault), **self._broker(), **factor}

    def link(self, fault: dict[str, Any]) -> dict[str, Any]:
        nodes = [*self.brokers, "controller"]
        start = self.source.of(nodes)
        end = self.source.of([node for node in nodes if node != start])
        how: dict[str, Any] = {"from": start, "to": end}
        how["both_ways"] = self.source.of((True, False))
        if self.source.whole(0, 1):
            how["latency_ms"] = self.source.of((50, 0, 5, 700))
        else:
            how["drop"] = True
        return {**self._window(fault), **how}

    def _death(self) -> dict[str, Any]:
        after = {
            "restart_after_ms": self.source.of((1500, 0, 100, 4000, None)),
            "retry_ms": self.source.of((500, 20, None)),
            "restart_load_us": self.source.of((0, 0, 50000)),
            "lost": self.source.of(("nothing", "nothing", "tail", "all")),
            "flush_ms": self.source.of((1000, 1, 10000)),
            "reformatted": self.source.of((True, True, False)),
            "recovery_bytes_per_s": self.source.of((None, 1000, 1_000_000)),
            "power_domain": list(self.brokers),
        }
        return {**self._broker(), **after}

    def crash(self, fault: dict[str, Any]) -> dict[str, Any]:
        return self._death()

    def node_death(self, fault: dict[str, Any]) -> dict[str, Any]:
        more = {"controller_ms": self.source.of((500, 0, 2000))}
        return {**self._death(), **more, "connections": self.source.of(("hang", "close"))}

    def controlled_restart(self, fault: dict[str, Any]) -> dict[str, Any]:
        shutdown = self.source.of((200, 0, 1000))
        down = shutdown + self.source.of((1500, 0, 100))
        return {**self._broker(), "shutdown_ms": shutdown, "downtime_ms": down}

    def log_dir_failure(self, fault: dict[str, Any]) -> dict[str, Any]:
        dirs = self.scenario["cluster"]["log_dirs_per_broker"]
        return {**self._broker(), "log_dir": self.source.whole(0, dirs - 1)}

    def controller_outage(self, fault: dict[str, Any]) -> dict[str, Any]:
        return {**self._window(fault), "sessions": self.source.of(("fresh", "resumed"))}

    def produce_burst(self, fault: dict[str, Any]) -> dict[str, Any]:
        where, _ = self._partition()
        return {**where, "records": self.source.of((20, 1, 200))}

    def produce_rate(self, fault: dict[str, Any]) -> dict[str, Any]:
        where, _ = self._partition()
        if self.source.whole(0, 1):
            where["partition"] = "all"
        return {**self._window(fault), **where, "factor": self.source.of((5, 0, 0.3))}

    def client_surge(self, fault: dict[str, Any]) -> dict[str, Any]:
        load = {
            "requests_per_s": self.source.of((200, 0, 1000)),
            "request_us": self.source.of((5000, 0, 200)),
            "connections": self.source.of((5, 1, 50)),
        }
        return {**self._window(fault), **self._broker(), **load}

    def partition_error(self, fault: dict[str, Any]) -> dict[str, Any]:
        where, replicas = self._partition()
        where["broker"] = self.source.of(replicas)
        where["error"] = self.source.of(("storage", "unexpected", "fenced_epoch", "corrupt_record"))
        where["fetcher"] = self.source.of(("Replica", "Replica", "ReplicaAlterLogDirs"))
        if self.source.whole(0, 1):
            where.update(self._window(fault))
        return where

    def stop_replica(self, fault: dict[str, Any]) -> dict[str, Any]:
        where, replicas = self._partition()
        return {**where, "broker": self.source.of(replicas)}

    def preferred_election(self, fault: dict[str, Any]) -> dict[str, Any]:
        where, replicas = self._partition()
        if self.source.whole(0, 1):
            where["leader"] = self.source.of(replicas)
        return where

    def bootstrap(self, fault: dict[str, Any]) -> dict[str, Any]:
        where, replicas = self._partition()
        return {
            **where,
            "broker": self.source.of(replicas),
            "records": self.source.of((50, 1, 500)),
        }


def _release(source: Source) -> str:
    """A release, or now and then a rule set of one's own: a release with switches changed."""
    base: str = source.of(tuple(reversed(RELEASES)))
    if source.whole(0, 3) < 3:
        return base
    names = [source.of(CHANGEABLE) for _ in range(source.whole(1, 4))]
    switches = {name: source.of(SWITCHES[name]) for name in names}
    try:
        return text_of("drawn", base, switches)
    except RuleSetError:
        return base


def raw_scenario(
    source: Source, horizons: Sequence[int] = (4000, 2000, 8000, 12000)
) -> dict[str, Any]:
    """Draw a scenario as a file would hold it, with one of these horizons in milliseconds."""
    release = _release(source)
    controllers = ("kraft", "zookeeper") if rule_set_of(release).kraft else ("zookeeper",)
    brokers = list(range(1, source.of((3, 1, 2, 4)) + 1))
    horizon_ms = source.of(horizons)
    scenario: dict[str, Any] = {
        "scenario_id": "random",
        "seed": source.whole(0, 1000),
        "horizon_ms": horizon_ms,
        "warmup_ms": source.of((0, 500, 1500)),
        "cluster": {
            "release": release,
            "controller": source.of(controllers),
            "brokers": brokers,
            "log_dirs_per_broker": source.of((1, 2)),
        },
        "config": _config(source),
        "rules": _some(source, RULES),
        "service": {
            **_some(source, _SERVICE),
            "client_requests_per_s": source.of((0, 10, 50)),
        },
    }
    if source.whole(0, 3) == 3:
        rate, dirty = source.of((20_000, 5_000, 200_000)), source.of((1, 30_000))
        scenario["cluster"]["hardware"] = {
            "disk_write_bytes_per_s": rate,
            "disk_read_bytes_per_s": 2 * rate,
            "disk_seek_us": 2000,
            "cache_bytes": dirty + 50_000,
            "dirty_bytes": dirty,
        }
    scenario["topics"] = [
        _topic(source, name, brokers, horizon_ms) for name in ("a", "b")[: source.whole(1, 2)]
    ]
    faults = _Faults(source, scenario)
    drawn = [faults.one() for _ in range(source.whole(0, 6))]
    scenario["faults"] = [fault for fault in drawn if fault is not None]
    if "hardware" in scenario["cluster"]:
        scenario["faults"] += faults.of_disks()
    return scenario


@st.composite
def scenarios(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Scenario:
    """Any scenario that the reader accepts, small enough to run in milliseconds."""
    return parse_scenario(raw_scenario(FromHypothesis(draw)), "random")
