"""What is planted: settings among other settings, and commits among other commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.detection import contest as contests
from benchmarks.detection.contest import Contest, load_contest, plants
from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.experiment.file import load_experiment
from tests.mutation.mutants import MUTANTS, Mutant

FILE = Path(__file__).with_name("causes.yaml")

FILES = {"operators": FILE, "load": FILE.with_name("load.yaml")}
"""Experiment -> what is planted in it."""

SETTING, COMMIT = "setting", "commit"


class Causes(Strict):
    """``causes.yaml``.

    Attributes:
        experiment: whose cluster, faults and configurations are taken.
        seed: of the panel; ``scenarios``: in it.
        hosts: configurations that plants are put into, the first so many of the contest's.
        rounds: how often every setting is planted, each time in the next configuration.
        settings, commits: how many plants of each sort are wanted.
        beside: key -> value, moved by one part in a hundred beside a planted one.
        anew_every: of so many settings one is planted while phases are drawn anew.
        histories: commits that touch the kernel, each in turn.
        mutants: planted as commits.
    """

    description: str
    experiment: str
    seed: int
    scenarios: int
    hosts: int
    rounds: int
    settings: int
    commits: int
    beside: dict[str, Any]
    anew_every: int
    histories: tuple[tuple[str, ...], ...]
    mutants: tuple[str, ...]


@dataclass(frozen=True)
class Planted:
    """A plant, and what stands around it.

    Attributes:
        sort: :data:`SETTING` or :data:`COMMIT`.
        kind: ``key``, ``service`` or ``rule``.
        name: what it changes, and to what.
        cause: name that `blame` should give of a setting.
        host: configuration that it is planted in.
        before, after: settings of that configuration.
        history: commits that touch the kernel; one with ``phases`` alone beside a setting.
        mutant: planted as a commit.
    """

    sort: str
    kind: str
    name: str
    cause: str
    host: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    history: tuple[str, ...] = ()
    mutant: Mutant | None = None

    @property
    def key(self) -> str:
        """Names it among all."""
        around = f" [{', '.join(self.history)}]" if self.history else ""
        return f"{self.sort}: {self.name} in {self.host}{around}"

    @property
    def anew(self) -> bool:
        """Whether phases are drawn anew somewhere in it."""
        return any("phases" in step for step in self.history)


@cache
def load_causes(path: Path = FILE) -> Causes:
    """Read what is planted.

    Raises:
        InputError: the first thing in the file that cannot be used.
    """
    return validated(Causes, read_mapping(path), path.name)


def settings(causes: Causes, contest: Contest | None = None) -> Iterator[Planted]:
    """The contest's settings, in its order, among keys that hardly move."""
    contest = contest or load_contest(contests.FILES[causes.experiment])
    hosts = _hosts(causes, contest)
    beside = cycle(causes.beside.items())
    once = [one for one in plants(contest) if one.mutant is None]
    asked = [(plant, index + turn) for turn in range(causes.rounds)
             for index, plant in enumerate(once)]  # fmt: skip
    for index, (plant, place) in enumerate(asked):
        host = list(hosts)[place % len(hosts)]
        before = hosts[host]
        taken = {*plant.overrides, *before}
        moved = dict(islice((one for one in beside if one[0] not in taken), 2))
        (cause,) = plant.overrides
        anew = index % causes.anew_every == causes.anew_every - 1
        yield Planted(
            sort=SETTING,
            kind=plant.kind,
            name=plant.name,
            cause=cause,
            host=host,
            before=before,
            after={**before, **moved, **plant.overrides},
            history=("phases",) if anew else (),
        )


def commits(causes: Causes, contest: Contest | None = None) -> Iterator[Planted]:
    """Every mutant, each in a history of its own."""
    contest = contest or load_contest(contests.FILES[causes.experiment])
    hosts = _hosts(causes, contest)
    known = {mutant.name: mutant for mutant in MUTANTS}
    for index, name in enumerate(causes.mutants):
        if name not in known:
            raise InputError(FILE.name, "mutants", name, "as `python -m tests.mutation --list`")
        host = list(hosts)[index % len(hosts)]
        yield Planted(
            sort=COMMIT,
            kind="rule",
            name=name,
            cause="",
            host=host,
            before=hosts[host],
            after=hosts[host],
            history=causes.histories[index % len(causes.histories)],
            mutant=known[name],
        )


def _hosts(causes: Causes, contest: Contest) -> dict[str, Mapping[str, Any]]:
    """Name -> settings of the configurations that plants are put into."""
    experiment = load_experiment(causes.experiment)
    by_name = {one.name: one.overrides for one in configurations(experiment)}
    return {name: by_name[name] for name in contest.hosts[: causes.hosts]}
