"""Whether a key decides anything in a cluster."""

from __future__ import annotations

from isr_pipeline.experiment.configurations import SWITCHED_BY, effective, resolved_params
from isr_pipeline.experiment.keys import PROPOSALS
from isr_pipeline.kafka.broker_config import UNREAD
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.scenarios.model import Scenario


def switched_off(key: str, today: Scenario) -> str:
    """Key that would have to be true for this one to be read; empty if none is missing."""
    params = resolved_params(today)
    switch = SWITCHED_BY.get(key)
    if switch is None or params[switch]:
        return ""
    return switch if key in effective({**params, switch: True}) else ""


def why_not(key: str, today: Scenario) -> str:
    """Why a key decides nothing in this cluster, if so.

    Args:
        key: of Kafka.
        today: the cluster as it stands, or under a release.
    """
    cluster = today.cluster
    if key in PROPOSALS:
        return "a key of a proposal, which no released broker takes"
    if key in UNREAD:
        return "a key that no simulated rule reads"
    switch = switched_off(key, today)
    if switch:
        return f"a key that nothing reads while {switch} is false"
    if key not in effective(resolved_params(today)):
        return (
            f"a key that {cluster.release.split(' ')[0]} under {cluster.controller} does not read"
        )
    if key == "eligible.leader.replicas.version" and not rule_set_of(cluster.release).has_elr:
        return "a feature that the release does not have"
    return ""
