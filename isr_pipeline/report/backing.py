"""How each configuration's rules are backed: real brokers, Kafka's unit tests, or a text alone."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isr_pipeline.conformance.observations import load_agreement
from isr_pipeline.kafka.release_numbers import released_range

if TYPE_CHECKING:
    from isr_pipeline.experiment.configurations import Configuration

NO_PROPOSAL = (None, "", "none")


@cache
def _facts() -> dict[str, Any]:
    text = (Path(__file__).parent / "backing.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def backing(configuration: Configuration, reference: Configuration) -> str:
    """One phrase for a configuration.

    Args:
        configuration: whose rules are meant.
        reference: names the release where the configuration does not.
    """
    params = {**reference.params, **configuration.params, **configuration.overrides}
    release = str(params["cluster.release"])
    base = _release(release)
    proposal = params.get("rules.kip501", "none")
    if proposal in NO_PROPOSAL:
        return base
    facts = _facts()["proposals"].get(str(proposal))
    if facts is None:
        return f"{proposal}: nothing recorded; under it {base}"
    tested = f"{facts['tests']} unit tests of an unmerged pull request, " if facts["tests"] else ""
    return f"{facts['name']}: {tested}proposal's text alone, never run on brokers; under it {base}"


def where_it_ends(brokers: int, partitions: int) -> str:
    """Whether anything of a cluster's size was ever compared with real brokers.

    Args:
        brokers: of the cluster that was simulated.
        partitions: likewise.
    """
    largest = _facts()["largest"]
    size = f"{largest['brokers']} brokers and {largest['partitions']} partitions"
    if brokers <= largest["brokers"] and partitions <= largest["partitions"]:
        return f"Real clusters of up to {size} were compared; this one is no larger."
    return (
        f"Conformance ends at {size}: nothing of this size ({brokers} brokers, {partitions} "
        "partitions) was compared with real brokers."
    )


def _release(release: str) -> str:
    rules = released_range(release) or release
    facts = _facts()["rule_sets"].get(rules)
    if facts is None:
        return f"rules {release}: nothing recorded"
    if facts["repetitions"]:
        agreeing = load_agreement().get(rules)
        counted = f"{facts['repetitions']} repetitions on real brokers"
        if agreeing is not None:
            counted = f"{agreeing} of {counted} agree"
        return f"{counted} ({', '.join(facts['releases'])}), {facts['tests']} of Kafka's unit tests"
    if facts["tests"]:
        return f"{facts['tests']} of Kafka's unit tests, no real broker"
    return "a proposal's text alone"
