"""What the code says that rules read: one small scenario a key, switch and service time shows it.

The scenarios are in ``reads.yaml``. Which names need one follows from the models, so that a new key
without a row fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, note, reject, settings
from hypothesis import strategies as st

from isr_pipeline.base.errors import BudgetSpent
from isr_pipeline.experiment.configurations import REPLICATION_LISTENER, effects_of, resolved_params
from isr_pipeline.kafka.broker_config import KEYS, UNREAD
from isr_pipeline.kafka.own_rules import CHANGEABLE, text_of
from isr_pipeline.kafka.releases import (
    REPLAY_ONLY,
    RULE_SETS,
    default_controller,
)
from isr_pipeline.scenarios.model import (
    OWN_TIMES,
    TOPIC_KEYS,
    TOPICS,
    Rules,
    Scenario,
    Service,
    apply,
    check_overrides,
    parse_scenario,
)
from isr_pipeline.worlds.run import Result, run
from tests.simulation.random_scenarios import BUDGET, FromHypothesis, raw_scenario

EXAMPLES = int(os.environ.get("ISR_PIPELINE_EXAMPLES", "80"))
ROOT = Path(__file__).parents[2]
TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("reads.yaml").read_text("utf-8"))
LAG, WAIT = "replica.lag.time.max.ms", "replica.fetch.wait.max.ms"
SOCKET, FETCH = "replica.socket.timeout.ms", "replica.fetch.max.bytes"
ROWS, SWITCHES = TABLE["rows"], TABLE["switches"]
CLUSTERS = tuple(
    (name, controller)
    for name, one in RULE_SETS.items()
    for controller in (("zookeeper", "kraft") if one.kraft else ("zookeeper",))
)


def names() -> set[str]:
    """All that may count as read, by the models."""
    return {
        *(name for name in KEYS if name not in UNREAD),
        *(f"{TOPICS}.{name}" for name in TOPIC_KEYS),
        REPLICATION_LISTENER,
        *(f"rules.{name}" for name in Rules.model_fields),
        *(f"service.{name}" for name in Service.model_fields),
    }


def scenario_of(row: Mapping[str, Any], release: str, controller: str) -> Scenario:
    """The scenario of a row of the table."""
    if "file" in row:
        raw = yaml.safe_load((ROOT / row["file"]).read_text("utf-8"))
        raw.pop("expect", None)
    else:
        raw = {**TABLE["scenario"], "faults": TABLE["faults"][row.get("faults", "ordinary")]}
    cluster = {**raw["cluster"], "release": release, "controller": controller}
    return laid_over(parse_scenario({**raw, "cluster": cluster}, "reads"), row.get("set", {}))


def laid_over(scenario: Scenario, overrides: Mapping[str, Any]) -> Scenario:
    """The scenario under a configuration, as an experiment's file would have it."""
    return apply(scenario, check_overrides(overrides, "reads", ""))


def events(scenario: Scenario) -> list[dict[str, Any]]:
    """What happens in a scenario."""
    return run(scenario, events=True).events


@st.composite
def configurations(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Scenario:
    """A random scenario, whose topics and brokers may have values of their own.

    Proposals are on more often than not, and a read is stuck, which they are about.
    """
    source = FromHypothesis(draw)
    raw = raw_scenario(source, horizons=(4000, 8000))
    raw["rules"]["kip501"] = source.of(("li-transfer", "s2", "s1-pr", "none"))
    raw["config"]["follower.fetch.pending.reads.insync.enable"] = source.whole(0, 2) < 2
    raw["faults"].append({"kind": "read_stall", "broker": 1, "start_ms": 500, "duration_ms": 1200})
    for topic in raw["topics"]:
        topic["settings"] = _some(source, TOPIC_KEYS)
    own = _some(source, [name for name in KEYS if name in ROWS and not KEYS[name].shared])
    wait = own.get(WAIT, raw["config"].get(WAIT, KEYS[WAIT].default))
    longest = min(own.get(key, raw["config"].get(key, wait)) for key in (LAG, SOCKET))
    if wait > longest:
        own[WAIT] = longest  # with more no broker starts
    if FETCH in own:
        own["message.max.bytes"] = own[FETCH]  # the same, up to 0.10.0
    brokers = raw["cluster"]["brokers"][source.whole(0, 1) :]
    raw["cluster"]["broker_settings"] = dict.fromkeys(brokers, own)
    times = {name: ROWS[f"service.{name}"]["values"][1] for name in OWN_TIMES if source.whole(0, 1)}
    raw["cluster"]["broker_service"] = dict.fromkeys(brokers, times)
    return parse_scenario(raw, "random")


def _some(source: FromHypothesis, keys: Sequence[str]) -> dict[str, Any]:
    """Give a few keys a value of the table."""
    chosen = {source.of(keys) for _ in range(source.whole(0, 3))}
    return {key: source.of(ROWS[key]["values"]) for key in sorted(chosen)}


def alike(scenario: Scenario) -> tuple[Scenario, dict[str, Any]]:
    """Change all that no rule is said to notice; the scenario under it, and the changes."""
    effects, params = effects_of(scenario), resolved_params(scenario)
    changes: dict[str, Any] = {}
    for name, row in ROWS.items():
        for value in row["values"]:
            other = apply(scenario, {**changes, name: value})
            if effects_of(other) == effects and resolved_params(other) != params:
                changes[name], params = value, resolved_params(other)
    return apply(scenario, changes), changes


def measured(result: Result) -> dict[str, Any]:
    """All but the kernel's own work: it looks at Solution 2's timer even where the key is off."""
    return {name: one for name, one in result.outcome.items() if name != "kernel_events"}


class TestAlike:
    """Configurations that have the same effects."""

    @settings(max_examples=EXAMPLES)
    @given(configurations())
    def test_equal_effects_are_equal_events(self, one: Scenario) -> None:
        """Whatever is changed that no rule is said to read, the same happens and is measured."""
        other, changes = alike(one)
        note(str(changes))
        assume(changes)
        try:
            both = [run(each, events=True, budget=BUDGET) for each in (one, other)]
        except BudgetSpent:
            reject()
        assert both[0].events == both[1].events
        assert measured(both[0]) == measured(both[1])


class TestShown:
    """Every name that counts as read has a scenario in which it changes what happens."""

    def test_no_name_is_missing(self) -> None:
        """Keys, topics' keys, switches and service times have a row."""
        assert set(ROWS) == names()

    def test_no_switch_is_missing(self) -> None:
        """Switches of a release have a row, or a reason why they have none."""
        listed = [*SWITCHES, *TABLE["unshown"], *REPLAY_ONLY]
        assert sorted(listed) == sorted(CHANGEABLE)

    @pytest.mark.parametrize("name", sorted(ROWS))
    def test_effects_differ_where_events_do(self, name: str) -> None:
        """Two values give other events where the code says so, and the same events elsewhere."""
        row, wrong, shown = ROWS[name], [], 0
        for release, controller in CLUSTERS:
            today = scenario_of(row, release, controller)
            for under in row.get("under", [{}]):
                one, other = (laid_over(today, {**under, name: it}) for it in row["values"])
                differ = events(one) != events(other)
                shown += differ
                if differ != (effects_of(one) != effects_of(other)):
                    wrong.append((release, controller, under))
        assert wrong == []
        assert shown > 0

    @pytest.mark.parametrize("switch", sorted(SWITCHES))
    def test_a_switch_of_a_release_decides(self, switch: str) -> None:
        """With its other value the release does something else, and counts as another one."""
        row = SWITCHES[switch]
        release = row["release"]
        controller = row.get("controller", default_controller(RULE_SETS[release]))
        one = scenario_of(row, release, controller)
        other = apply(one, {"cluster.release": text_of("other", release, {switch: row["value"]})})
        assert effects_of(one) != effects_of(other)
        assert events(one) != events(other)
