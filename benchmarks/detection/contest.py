"""What the contest is made of: ``contest.yaml``, checked at the border."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from isr_pipeline.experiment.file import (
    ClusterFile,
    Experiment,
    Panels,
    load_experiment,
    reshared,
)
from isr_pipeline.experiment.plan import kernel_digest
from isr_pipeline.files.models import Strict, validated
from isr_pipeline.files.reading import read_mapping
from isr_pipeline.scenarios.model import check_overrides
from isr_pipeline.scenarios.profile import Stratum

FILE = Path(__file__).with_name("contest.yaml")

BASELINE = "baseline"
HARMLESS = ("phases-redrawn", "listed-backwards")
"""Refactors that change no rule: other phases and jitters of the healthy parts (heartbeats, the
tick that looks for lagging followers, produce, metadata) under the same faults, and brokers and
topics listed in the opposite order, so that events of one microsecond happen in another order."""

Kind = Literal["baseline", "harmless", "injection"]


class Injection(Strict):
    """A regression that is planted.

    Attributes:
        what: which kind of mistake it stands for.
        set: what it changes of its configuration.
    """

    name: str
    what: str
    set: dict[str, Any]


class ContestConfiguration(Strict):
    """A configuration and the regressions planted in it."""

    name: str
    set: dict[str, Any]
    injections: tuple[Injection, ...] = Field(min_length=1)


class Contest(Strict):
    """``contest.yaml``.

    Attributes:
        experiment: whose faults, strata and weights are drawn.
        seed: that draws them.
        horizon_ms, warmup_ms: of every scenario.
        pool_shares: stratum -> share of the pool.
        cluster: a leaner one than the experiment's: a pair costs about 10 ms.
    """

    description: str
    experiment: str
    seed: int
    horizon_ms: float
    warmup_ms: float
    pool_shares: dict[str, Any]
    cluster: ClusterFile
    configurations: tuple[ContestConfiguration, ...] = Field(min_length=1)

    def drawn_from(self, scenarios: int) -> Experiment:
        """Return the experiment that the pool's scenarios are drawn from.

        Raises:
            InputError: a share is of no stratum of the experiment's.
        """
        panels = Panels(regression=scenarios, confirm=scenarios, fresh=0)
        experiment = load_experiment(self.experiment)
        return experiment.model_copy(
            update={
                "seed": self.seed,
                "profile": reshared(experiment.profile, self.pool_shares, FILE.name),
                "cluster": self.cluster,
                "horizon_ms": self.horizon_ms,
                "warmup_ms": self.warmup_ms,
                "panels": panels,
            }
        )

    def panel_strata(self) -> dict[str, Stratum]:
        """Return the strata by whose shares a night's panels are divided."""
        return load_experiment(self.experiment).profile.strata

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every (configuration, change) that the pool simulates."""
        return tuple(arm for one in self.configurations for arm in _arms(one))


@dataclass(frozen=True)
class Arm:
    """One configuration with one change (or none): a column of the pool.

    Attributes:
        configuration: name.
        change: name; :data:`BASELINE`, one of :data:`HARMLESS`, or an injection's.
        kind: which of the three.
        overrides: Kafka keys and dotted paths -> values, checked.
    """

    configuration: str
    change: str
    kind: Kind
    overrides: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """Name of its folder in the pool: arms of the same values and refactor share one."""
        line = json.dumps(dict(self.overrides), sort_keys=True)
        refactor = self.change if self.kind == "harmless" else "as-written"
        return f"{refactor}+{hashlib.sha256(line.encode()).hexdigest()[:12]}"


def _arms(one: ContestConfiguration) -> list[Arm]:
    base = check_overrides(one.set, FILE.name, f"{one.name}.set")
    arms = [Arm(one.name, BASELINE, "baseline", base)]
    arms += [Arm(one.name, change, "harmless", base) for change in HARMLESS]
    for injection in one.injections:
        planted = check_overrides(injection.set, FILE.name, f"{one.name}.{injection.name}.set")
        arms.append(Arm(one.name, injection.name, "injection", {**base, **planted}))
    return arms


def load_contest(path: Path = FILE) -> Contest:
    """Read the contest's definition.

    Raises:
        InputError: the first thing in the file that cannot be used.
    """
    return validated(Contest, read_mapping(path), path.name)


def pool_digest(experiment: Experiment) -> str:
    """Name a pool by all that decides its numbers but the arms: the code and the scenarios."""
    line = f"{kernel_digest()} {experiment.digest}"
    return hashlib.sha256(line.encode()).hexdigest()[:12]
