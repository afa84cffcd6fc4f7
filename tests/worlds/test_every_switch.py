"""Each switch, with each of its values, by itself: jumps and reuse change nothing.

Switches and values are read from the models, so a new one is tried as soon as it can be chosen.
Random scenarios meet a given switch now and then; here none is left to chance.
"""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.kafka.own_rules import RuleSetError, text_of
from isr_pipeline.kafka.releases import CONTROLLERS, RELEASES, RULE_SETS, default_controller
from isr_pipeline.kafka.releases import SWITCHES as ALL_SWITCHES
from isr_pipeline.scenarios.model import Scenario, apply, parse_scenario
from isr_pipeline.worlds.reuse import Simulations
from isr_pipeline.worlds.run import run
from tests.simulation.random_scenarios import RULES, SWITCHES
from tests.simulation.test_cycles import BUDGET, repeating

WORLDS = ((238, "4.1+"), (285, "2.7-3.2"), (128, "2.1-2.6"), (518, "0.8.2"))
"""Seed -> release: worlds with elections, ISR changes, restarts, and with stretches that repeat."""
PROPOSALS = "follower.fetch.pending.reads.insync.enable"
OF_KEYS = {
    "kip501_enabled": (PROPOSALS, (True, False)),
    "elr": ("eligible.leader.replicas.version", (0, 1)),
}
"""Switches that keys of Kafka turn."""

Told = tuple[dict[str, Any], list[dict[str, Any]]]


def choices() -> list[tuple[str, str, Any]]:
    """(switch, what a scenario calls it, value); a switch of a release is its own name."""
    return [
        *((name, name, value) for name, values in SWITCHES.items() for value in values),
        *((name, f"rules.{name}", value) for name, values in RULES.items() for value in values),
        *(("controller", "cluster.controller", value) for value in CONTROLLERS),
        *((name, key, value) for name, (key, values) in OF_KEYS.items() for value in values),
    ]


def changed(scenario: Scenario, called: str, value: object) -> Scenario | None:
    """The scenario with one switch set, on the newest release in which that is a change."""
    if called not in SWITCHES:
        try:
            return apply(scenario, {called: value})
        except InputError:
            return None  # this release has no such key or controller
    for base in (scenario.cluster.release, *reversed(RELEASES)):
        try:
            return apply(scenario, {"cluster.release": text_of("drawn", base, {called: value})})
        except (InputError, RuleSetError):
            continue  # it has that value already, or not without other ones
    return None


def world(seed: int, release: str) -> Scenario:
    """A scenario of a release, with the key on that proposals of KIP-501 ask for."""
    raw = repeating(seed)
    raw["cluster"].update(release=release, controller=default_controller(RULE_SETS[release]))
    raw["config"][PROPOSALS] = True
    return parse_scenario({**raw, "rules": {}}, "random")


def plain(scenario: Scenario) -> Told:
    """What a run without any shortcut gives."""
    result = run(scenario, events=True, budget=BUDGET, jumps=False)
    return result.outcome, result.events


class TestExact:
    """Outcome and events are those of a run of its own, event by event."""

    def test_no_switch_is_left_out(self) -> None:
        """Every switch of a run is among those that are tried."""
        assert {name for name, _, _ in choices()} >= set(ALL_SWITCHES)

    @pytest.mark.parametrize(("seed", "release"), WORLDS)
    def test_each_value_of_each_switch(self, seed: int, release: str) -> None:
        """Whichever configurations of the world were simulated before it."""
        today = world(seed, release)
        others = [changed(today, called, value) for _, called, value in choices()]
        configured = [today, *(one for one in others if one is not None)]
        assert len(configured) > len(ALL_SWITCHES)
        expected = [plain(one) for one in configured]
        for order in (1, -1):
            runs, wrong = Simulations(BUDGET), []
            for one, told in zip(configured[::order], expected[::order], strict=True):
                outcome, events = runs.result_for(one)
                if (outcome, events.named()) != told:
                    wrong.append((one.cluster.release, one.rules))
            assert wrong == []
            assert runs.simulated < len(configured)
