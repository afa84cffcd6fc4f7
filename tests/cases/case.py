"""A case: a scenario, and what Kafka does in it, worked out from its source or seen on brokers.

A case's file is a scenario with ``expect:``, a list of `Expectation`, or with ``not_compared:`` and
the reason, or with both. Times are Kafka's and not the simulator's: a test that fails says that a
rule is wrong.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from isr_pipeline.kafka.broker_config import resolve
from isr_pipeline.kafka.release_numbers import version_of
from isr_pipeline.scenarios.model import Scenario, parse_scenario, with_settings
from isr_pipeline.scenarios.rule_set_files import with_rule_sets
from isr_pipeline.worlds.run import Result, run

FOLDER = Path(__file__).parent

SLACK_MS = 300
"""From the end of a session to the change that it brings: a controller's write and its answer."""

NAMED = ("topic", "partition", "broker", "leader", "leader_epoch", "isr")
"""What an event may be told by, besides its kind."""


class _Checked(BaseModel):
    """No word that is not known: a fact that says nothing would hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Fact(_Checked):
    """One thing that happens, or a value.

    The first event of the description lies around ``t_ms``; or so many lie between ``from_ms`` and
    ``until_ms``; or a metric has a value.

    Attributes:
        event: kind, and with it the names that describe the event.
        within_ms: to both sides of ``t_ms``.
        within: instead of it. ``heartbeat``: a heartbeat interval to both sides, and from 4.0 on an
            eighth of the session more. ``session``: ``t_ms`` is a death and a session, which began
            with a heartbeat before the death: so much earlier, and from 4.0 on that eighth later.
        times: how many, or between how many.
        value: of the metric, give or take ``within`` as a number.
    """

    event: str = ""
    topic: str | None = None
    partition: int | None = None
    broker: int | None = None
    leader: int | None = None
    leader_epoch: int | None = None
    isr: list[int] | None = None
    t_ms: float | None = None
    within_ms: float = 0
    within: Literal["heartbeat", "session"] | float = 0.0
    from_ms: float = 0
    until_ms: float = float("inf")
    times: int | tuple[int, int] | None = None
    metric: str = ""
    value: float = 0

    def amiss(self, result: Result, played: Played) -> str:
        """What is not so in a result; empty if all is."""
        if self.metric:
            found = result.outcome[self.metric]
            assert isinstance(self.within, float)
            good = abs(found - self.value) <= self.within
            return "" if good else f"{self.metric} {found:g}, not {self.value:g} +- {self.within:g}"
        times = [one["t_ms"] for one in result.events if self._describes(one)]
        if self.times is not None:
            least, most = (self.times,) * 2 if isinstance(self.times, int) else self.times
            if not least <= len(times) <= most:
                return f"{self._said} {len(times)} times, not {self.times}: {times[:5]}"
        if self.t_ms is None:
            return ""
        early, late = self._around(played)
        if not times:
            return f"{self._said} never, not at {self.t_ms:g}"
        if not self.t_ms - early <= times[0] <= self.t_ms + late:
            return f"{self._said} at {times[0]:g}, not at {self.t_ms:g} -{early:g} +{late:g}"
        return ""

    @property
    def _said(self) -> str:
        names = {name: getattr(self, name) for name in NAMED}
        return f"{self.event} { {name: one for name, one in names.items() if one is not None} }"

    def _describes(self, event: dict[str, Any]) -> bool:
        if event["kind"] != self.event or not self.from_ms <= event["t_ms"] <= self.until_ms:
            return False
        return all(getattr(self, name) in (None, event.get(name)) for name in NAMED)

    def _around(self, played: Played) -> tuple[float, float]:
        """How much earlier and later than ``t_ms``."""
        match self.within:
            case "heartbeat":
                return played.heartbeat_ms, played.heartbeat_ms + played.check_ms + SLACK_MS
            case "session":
                return played.heartbeat_ms, played.check_ms + SLACK_MS
            case _:
                return self.within_ms, self.within_ms


class Expectation(_Checked):
    """What happens in some releases.

    Attributes:
        releases: numbers of Kafka's, or names of rule sets.
        facts: all of them hold.
        refused: instead of facts. No such broker starts, or no controller takes it: the refusal
            names all of these keys.
        not_yet: why the simulator is known to be wrong. Remove it when the facts begin to hold.
        controller: instead of the scenario's.
        set_: ``KEY=VALUE`` as ``isr-pipeline simulate --set`` takes it.
    """

    releases: tuple[str, ...] = Field(min_length=1)
    facts: tuple[Fact, ...] = ()
    refused: tuple[str, ...] = ()
    not_yet: str = ""
    controller: Literal["kraft", "zookeeper"] | None = None
    set_: tuple[str, ...] = Field(default=(), alias="set")

    @property
    def marks(self) -> list[pytest.MarkDecorator]:
        """A case that cannot be played fails all the same; one that begins to hold does, too."""
        if not self.not_yet:
            return []
        return [pytest.mark.xfail(raises=AssertionError, strict=True, reason=self.not_yet)]

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if bool(self.facts) == bool(self.refused):
            raise ValueError("either facts or refused")
        return self


class CaseFile(_Checked):
    """A case's file.

    Attributes:
        scenario: all that the file has beside what follows.
        expect: what Kafka does.
        not_compared: what it cannot be asked, and why; empty if it can be asked all.
    """

    name: str
    scenario: dict[str, Any]
    expect: tuple[Expectation, ...] = ()
    not_compared: str = ""


class Played(_Checked):
    """One release of a case, ready to run."""

    scenario: Scenario
    release: str

    @property
    def heartbeat_ms(self) -> float:
        """How long before its death a broker may have been heard last."""
        keys = self._keys
        if self.scenario.cluster.controller == "zookeeper":
            return float(keys["zookeeper.session.timeout.ms"]) / 3
        return float(keys["broker.heartbeat.interval.ms"])

    @property
    def check_ms(self) -> float:
        """How long after its end a session may be found out."""
        number = version_of(self.release)
        if number is None or number < (4, 0):
            return 0.0
        return float(self._keys["broker.session.timeout.ms"]) / 8

    @property
    def _keys(self) -> dict[str, Any]:
        return dict(resolve(self.scenario.cluster.release, self.scenario.config))

    def run(self) -> Result:
        """Simulate it."""
        return run(self.scenario, events=True)


@cache
def case(name: str) -> CaseFile:
    """Read one of the files, by its name without the ending."""
    raw = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    told = {key: raw.pop(key) for key in ("expect", "not_compared") if key in raw}
    return CaseFile(name=name, scenario=raw, **told)


def names() -> list[str]:
    """All cases there are."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def played(name: str, release: str, *settings: str, controller: str | None = None) -> Played:
    """A case in one release, with ``KEY=VALUE`` settings."""
    raw = with_settings(case(name).scenario, settings, name)
    raw["cluster"]["release"] = release
    if controller is not None:
        raw["cluster"]["controller"] = controller
    return Played(scenario=parse_scenario(with_rule_sets(raw, FOLDER), name), release=release)
