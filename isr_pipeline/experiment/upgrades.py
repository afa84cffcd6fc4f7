"""What an upgrade of a cluster is: new binaries, and afterwards the features that they bring.

A broker of a new release keeps the features that the cluster has finalised. They change when
somebody runs ``kafka-features.sh upgrade --release-version``, which takes each feature up to its
default in that release and none down (FeatureCommand.java and EligibleLeaderReplicasVersion.java
@ 4.0.0, 4.1.1, 4.3.1; seen of a broker of 3.9.1 that was started again as 4.1.1). Of the
features the simulator reads the eligible leader replicas alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from isr_pipeline.experiment.configurations import resolved_params
from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.releases import RELEASES
from isr_pipeline.scenarios.cluster_file import ELR
from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.scenarios.rule_set_files import release_named


@dataclass(frozen=True, slots=True)
class Step:
    """One state of a cluster on its way to a release.

    Attributes:
        name: ``binaries`` or ``finalised``.
        level: of the eligible leader replicas.
        why: what was done until then, a sentence.
    """

    name: str
    level: int
    why: str


def todays_level(today: Scenario) -> int:
    """The level of the eligible leader replicas that a cluster has finalised."""
    has_elr = rule_set_of(today.cluster.release).has_elr
    return int(resolved_params(today)[ELR]) if has_elr else 0


def is_upgrade(asked: str, today: Scenario) -> bool:
    """Whether brokers of a release would start with what a cluster has finalised, and read it."""
    to, now = rule_set_of(release_named(asked, Path())), rule_set_of(today.cluster.release)
    newer = RELEASES.index(to.key_defaults) >= RELEASES.index(now.key_defaults)
    return newer and to.has_elr and today.cluster.controller == "kraft"


def steps(asked: str, today: Scenario) -> tuple[Step, ...]:
    """The states that differ in a feature; none if finalising changes none of those simulated.

    Args:
        asked: the release, as it was asked for.
        today: the cluster as it stands.
    """
    if not is_upgrade(asked, today):
        return ()
    release = rule_set_of(release_named(asked, Path()))
    has, gets = todays_level(today), int(KEYS[ELR].default_in(release))
    if gets <= has:
        return ()
    found = re.match(r"\d+\.\d+", asked) or re.match(r"\d+\.\d+", release.key_defaults)
    line = found[0] if found else asked
    command = f"kafka-features.sh --bootstrap-server HOST:9092 upgrade --release-version {line}"
    return (
        Step("binaries", has, f"The brokers run {asked}, before {command}: {ELR} stays {has}."),
        Step("finalised", gets, f"After {command}: {ELR} becomes {gets}."),
    )
