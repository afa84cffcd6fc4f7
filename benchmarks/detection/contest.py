"""What a contest is made of: ``contest.yaml`` or ``load.yaml``, checked at the border."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import Experiment, Panels, load_experiment
from isr_pipeline.experiment.plan import kernel_digest
from isr_pipeline.kafka.own_rules import text_of
from isr_pipeline.kafka.releases import NEWEST
from isr_pipeline.scenarios.model import check_overrides
from tests.mutation.mutants import MUTANTS, Mutant

FILE = Path(__file__).with_name("contest.yaml")

FILES = {"operators": FILE, "load": FILE.with_name("load.yaml")}
"""Experiment -> what is planted in it."""

NOTHING = ""
"""Plant of an arm in which nothing is planted."""


class Size(Strict):
    """How much is simulated and played.

    Attributes:
        scenarios: of the pool that nights draw from.
        budget: scenarios of a configuration over all its panels; the experiment's if None.
        plants: the first so many, each kind in turn; all if None.
        hosts: configurations that plants are put into, the first so many.
        as_drawn: whether plants are also tried with phases as drawn, not only drawn anew.
        nights: of each plant, of either sort of phases.
        nights_together: of each plant, among the configurations of several experiments.
        null_nights: configurations of a null night -> how many such nights.
        otava_nights: nights that Otava is asked about: it is slow.
    """

    scenarios: int
    budget: int | None = None
    plants: int | None = None
    hosts: int | None = None
    as_drawn: bool = True
    nights: int
    nights_together: int = 0
    null_nights: dict[int, int]
    otava_nights: int


class Earns(Strict):
    """What :mod:`benchmarks.detection.earns` plants, beside the contest's own.

    Attributes:
        hosts: configurations that plants are put into, in turn.
        service, switches, keys: what is planted -> its values.
        in_one_stratum: stratum -> names of those plants that are also put into it alone.
    """

    hosts: tuple[str, ...]
    service: dict[str, list[Any]]
    switches: dict[str, list[Any]]
    keys: dict[str, list[Any]]
    in_one_stratum: dict[str, list[str]]


class Contest(Strict):
    """``contest.yaml``: what it says of its sizes is in :class:`Size`.

    Attributes:
        experiment: whose cluster, faults, strata, budget and configurations are taken.
        tuning_seed: of the pool that settings may be tried on.
        seed: of the pool that is told.
        hosts: configurations that plants are put into.
        service, switches, keys: what is planted -> its values.
        mutants: names of mutants of the rules.
        earns: what is planted instead, to switch parts of the verdicts off; of `operators` only.
    """

    description: str
    experiment: str
    tuning_seed: int
    seed: int
    scenarios: int
    nights: int
    nights_together: int
    null_nights: dict[int, int]
    otava_nights: int
    quick: Size
    hosts: tuple[str, ...]
    service: dict[str, list[Any]]
    switches: dict[str, list[Any]]
    keys: dict[str, list[Any]]
    mutants: tuple[str, ...]
    earns: Earns | None = None

    def size(self, *, quick: bool) -> Size:
        """The whole contest's size, or the quick one's."""
        if quick:
            return self.quick
        return Size(
            scenarios=self.scenarios,
            nights=self.nights,
            nights_together=self.nights_together,
            null_nights=self.null_nights,
            otava_nights=self.otava_nights,
        )

    def drawn_from(self, *, tuning: bool = False) -> Experiment:
        """The experiment that the pool's scenarios are drawn from."""
        panels = Panels(regression=self.scenarios, confirm=self.scenarios)
        seed = self.tuning_seed if tuning else self.seed
        return load_experiment(self.experiment).model_copy(update={"seed": seed, "panels": panels})

    def budget(self, size: Size) -> int:
        """Scenarios of a configuration over all its panels."""
        return size.budget or load_experiment(self.experiment).budget.scenarios


@dataclass(frozen=True)
class Plant:
    """A regression that is planted.

    Attributes:
        name: what it changes, and to what.
        kind: ``rule``, ``service`` or ``key``.
        overrides: Kafka keys and dotted paths -> values, checked.
        mutant: a line of the rules that is changed instead.
    """

    name: str
    kind: str
    overrides: Mapping[str, Any]
    mutant: Mutant | None = None


@dataclass(frozen=True)
class Arm:
    """A configuration with a plant or none, with its phases as drawn or drawn anew.

    Attributes:
        host: name of the configuration.
        plant: name; :data:`NOTHING` if nothing is planted.
        anew: whether the phases and jitters of healthy parts are drawn anew, which is harmless.
        overrides: of the configuration and the plant together.
        mutant: a line of the rules that is changed.
        stratum: where the plant acts, if in one stratum alone; empty if everywhere.
    """

    host: str
    plant: str
    anew: bool
    overrides: Mapping[str, Any]
    mutant: Mutant | None = None
    stratum: str = ""

    @property
    def folder(self) -> str:
        """Name of its folder in the pool: arms of the same values and code share one."""
        line = json.dumps(dict(self.overrides), sort_keys=True)
        code = self.mutant.name if self.mutant else ""
        code += f" in {self.stratum}" if self.stratum else ""
        digest = hashlib.sha256(f"{line} {code}".encode()).hexdigest()[:12]
        return f"{'anew' if self.anew else 'as-drawn'}+{digest}"


@cache
def load_contest(path: Path = FILE) -> Contest:
    """Read the contest's definition.

    Raises:
        InputError: the first thing in the file that cannot be used.
    """
    return validated(Contest, read_mapping(path), path.name)


def plants(contest: Contest, count: int | None = None) -> tuple[Plant, ...]:
    """Everything that is planted, each kind in turn, so that the first few are a mixture.

    Raises:
        InputError: a value that may not be, or no such mutant.
    """
    kinds = (
        _set("service", contest.service),
        [_switch(name, value) for name, values in contest.switches.items() for value in values],
        _set("key", contest.keys),
        _mutants(contest),
    )
    mixed = [plant for some in zip_longest(*kinds) for plant in some if plant is not None]
    return tuple(mixed[:count])


def _set(kind: str, given: Mapping[str, list[Any]]) -> list[Plant]:
    return [
        Plant(f"{key}={value}", kind, check_overrides({key: value}, FILE.name, f"{kind}.{key}"))
        for key, values in given.items()
        for value in values
    ]


def _switch(name: str, value: object) -> Plant:
    text = text_of("planted", NEWEST, {name: value})
    return Plant(f"{name}={str(value).lower()}", "rule", {"cluster.release": text})


def _mutants(contest: Contest) -> list[Plant]:
    known = {mutant.name: mutant for mutant in MUTANTS}
    for name in contest.mutants:
        if name not in known:
            raise InputError(FILE.name, "mutants", name, "as `python -m tests.mutation --list`")
    return [Plant(name, "rule", {}, known[name]) for name in contest.mutants]


def arms(contest: Contest, size: Size) -> tuple[Arm, ...]:
    """Every arm that the pool simulates, each with both draws of phases: first without a plant."""
    experiment = load_experiment(contest.experiment)
    by_name = {one.name: one.overrides for one in configurations(experiment)}
    hosts = contest.hosts[: size.hosts]
    found = [Arm(host, NOTHING, anew, by_name[host]) for host in hosts for anew in (False, True)]
    for index, plant in enumerate(plants(contest, size.plants)):
        host = hosts[index % len(hosts)]
        overrides = {**by_name[host], **plant.overrides}
        found += [Arm(host, plant.name, anew, overrides, plant.mutant) for anew in (False, True)]
    return tuple(found)


def pool_digest(experiment: Experiment) -> str:
    """Name a pool by all that decides its numbers but the arms: the code and the scenarios."""
    line = f"{kernel_digest()} {experiment.digest}"
    return hashlib.sha256(line.encode()).hexdigest()[:12]
