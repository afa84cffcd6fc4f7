"""An experiment file: which cluster, which faults, which panels, which configurations.

``config/experiments/NAME.yaml`` names a cluster (``config/clusters``) and a fault profile
(``config/faults``); reading it reads all three, and checks them before anything runs. What comes
out is one frozen :class:`Experiment` that holds everything a night is made from.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from isr_pipeline.base.errors import InputError, together
from isr_pipeline.base.files.checks import BOOLEAN, LIST, TEXT, Bad, Check, number, text, whole
from isr_pipeline.base.files.lines import with_lines
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.reading import read_mapping, said_path
from isr_pipeline.base.files.words import close_or_all, shown
from isr_pipeline.base.home import config_dir
from isr_pipeline.experiment.mistakes import further_mistakes, noted, override_mistakes
from isr_pipeline.experiment.stages import Budget
from isr_pipeline.kafka.broker_config import LONG_MAX
from isr_pipeline.kafka.releases import former_names
from isr_pipeline.scenarios.cluster_file import Plain, of_a_scenario, read_cluster
from isr_pipeline.scenarios.faults import Ms
from isr_pipeline.scenarios.generator import DrawSource
from isr_pipeline.scenarios.incidents import Counts, Incident, check_kinds, counts_of
from isr_pipeline.scenarios.lengths import LengthsMs, apart, with_lengths
from isr_pipeline.scenarios.model import (
    HORIZON,
    HourlyLoad,
    Scenario,
    check_overrides,
    parse_scenario,
)
from isr_pipeline.scenarios.panels import PANELS
from isr_pipeline.scenarios.patterns import unknown_speed
from isr_pipeline.scenarios.profile import FaultProfile, Words, counted, load_profile
from isr_pipeline.scenarios.rule_set_files import with_rule_sets
from isr_pipeline.scenarios.topics import PATTERNS, matching, simulated

NAME = text(r"[a-z0-9][a-z0-9._+-]{0,59}", "a name of a-z, 0-9, . _ + - (at most 60)")
Name = Annotated[str, NAME]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Bad("a list")
    return value


# ---------------------------------------------------------------------------- experiment


class ClusterFile(Strict):
    """A cluster and its load, in the words of a scenario file.

    Attributes:
        cluster: as in a scenario; ``topics``, ``config``, ``rules``, ``service`` likewise.
        hourly_load: factors of all produce rates by the hour of the day.
        incidents: kind -> how many a year were counted in it, here or by the experiment.
        assumed_records_per_s: rate of partitions of which nobody gave any; None: all are given.
    """

    description: Words = ""
    cluster: Plain
    topics: Annotated[list[Any], Check("a list", _list)]
    config: Plain = Field(default={})
    rules: Plain = Field(default={})
    service: Plain = Field(default={})
    hourly_load: HourlyLoad = ()
    incidents: Counts = Field(default={})
    assumed_records_per_s: float | None = None


class Candidate(Strict):
    """A named configuration, whose values may change while its name stays."""

    name: Name = Field(
        description="Names it in tables and in the baseline; of all names in the file each once."
    )
    why: Words = Field(default="", description="What it is there for; the report shows it.")
    set: Plain = Field(
        default={},
        description="What `isr-pipeline keys` lists -> values, over the experiment's `base`.",
    )


def _values(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise Bad("")
    for i, item in enumerate(value):
        if item in value[:i]:
            raise Bad("each value once", (i,), shown(item))
    return tuple(value)


class Axis(Strict):
    """One key of a grid and its values."""

    label: Name = Field(description="How the key is called in the names of the grid's points.")
    values: Annotated[tuple[Any, ...], Check("a list of at least one value", _values, LIST)] = (
        Field(description="Its values, each once.")
    )


class Grid(Strict):
    """Every combination of some values; a point is named by its values."""

    name: Name = Field(description="Begins the names of its points: `name@label=value,…`.")
    why: Words = Field(default="", description="What it is there for; the report shows it.")
    set: Plain = Field(default={}, description="What all its points have, over `base`.")
    axes: dict[str, Axis] = Field(
        description="What `isr-pipeline keys` lists -> its values; the points are their product."
    )


class Group(Strict):
    """Configurations that belong together; one shard of the simulation takes whole groups."""

    name: Name = Field(
        description="Names the shard, a task of the night that may take several groups."
    )
    candidates: tuple[Candidate, ...] = Field(
        default=(), description="Configurations one by one. A group has a candidate or a grid."
    )
    grids: tuple[Grid, ...] = Field(default=(), description="Configurations as combinations.")
    asked: Annotated[bool, BOOLEAN] = Field(
        default=False,
        description="Whether what is undecided against the reference is simulated further, within "
        "the budget.",
    )


_SHARE = number(0, 1e9, "a number > 0", low_open=True)


class Panels(Strict):
    """Number of scenarios of each panel."""

    regression: Annotated[int, whole(1, 1_000_000)] = Field(
        description="The same every night; what is compared with the baseline. At least one "
        "scenario of every stratum, as in the other panels."
    )
    confirm: Annotated[int, whole(1, 1_000_000)] = Field(
        description="The first further scenarios, for configurations that look worse."
    )


CRON = "a cron expression of five fields, days of the month up to 28, such as 0 0 * * *"
_CRON_LIMITS = ((0, 59), (0, 23), (1, 28), (1, 12), (0, 6))
"""Smallest and largest number of each field. No month lacks such a day, so every one has a next."""


def _cron(value: Any) -> str:
    fields = value.split() if isinstance(value, str) else []
    if len(fields) != len(_CRON_LIMITS) or not all(map(_is_cron_field, fields, _CRON_LIMITS)):
        raise Bad(CRON)
    return " ".join(fields)


def _is_cron_field(field: str, limits: tuple[int, int]) -> bool:
    """Whether a field is ``*``, a number, a range, or a list of these, each with a step or none."""
    for part in field.split(","):
        found = re.fullmatch(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/([1-9]\d?))?", part, re.ASCII)
        if found is None:
            return False
        if found[1]:
            first, last = int(found[1]), int(found[2] or found[1])
            if not limits[0] <= first <= last <= limits[1]:
                return False
    return True


class ExperimentFile(Strict):
    """The file as it is written."""

    description: Words = Field(default="", description="What it asks, in a sentence.")
    schedule: Annotated[str, Check(CRON, _cron, TEXT)] | None = Field(
        default=None,
        description="When Airflow runs its nights, in UTC; absent: when somebody triggers them.",
    )
    seed: Annotated[int, whole(0, LONG_MAX)] = Field(description="Of the panels.")
    cluster: Name = Field(description="Name of a [cluster file](cluster-file.md).")
    topics: Annotated[tuple[str, ...], PATTERNS] = Field(
        default=(),
        description="Names of its topics that are simulated, or "
        "[patterns](your-cluster.md#a-very-large-cluster) such as `orders-*`; absent: all.",
    )
    faults: Name = Field(description="Name of a [fault profile](fault-profile.md).")
    horizon_ms: Annotated[float, HORIZON] = Field(description="Length of every scenario.")
    warmup_ms: Ms = Field(
        default=5000, description="What is not counted of it; less than `horizon_ms`."
    )
    panels: Panels = Field(description="Number of scenarios of each panel.")
    budget: Budget | None = Field(
        default=None,
        description="What a night may add where it cannot decide; absent: its defaults.",
    )
    shares: Plain = Field(
        default={},
        description="Stratum -> share of the panels, instead of the fault profile's `sample`.",
    )
    incidents: Counts = Field(
        default={},
        description="Kind of incident -> how many a year in the whole cluster, instead of the "
        "[cluster file](cluster-file.md)'s and the fault profile's.",
    )
    lengths_ms: LengthsMs = Field(
        default={},
        description="Kind of incident -> [shortest, longest], instead of what the fault profile "
        "draws from; the panels are others then.",
    )
    reference: Name = Field(
        description="Name of the configuration that the others are compared with in the report."
    )
    base: Plain = Field(
        default={}, description="What every configuration has, as under `set` of a candidate."
    )
    groups: tuple[Group, ...] = Field(
        description="The configurations; at most three shards of the simulation take whole groups."
    )


class Experiment(Strict):
    """Everything a night is made from, read and checked.

    Attributes:
        name: of the file, without its ending.
        where: path of the file, for error lines; no part of the digest.
        cluster: the cluster file; ``profile``: the fault profile.
        simulated: how many of its partitions are simulated, in a sentence; empty: all.
        releases: name of a candidate -> the release as the file has it, whose rules it runs under.
            It is shown, and decides nothing.
        lengths_ms: of incidents, which the profile has.
    """

    name: str
    where: str
    seed: int
    horizon_ms: float
    warmup_ms: float
    panels: Panels
    reference: str
    base: dict[str, Any]
    groups: tuple[Group, ...]
    cluster: ClusterFile
    profile: FaultProfile
    budget: Budget = Budget()
    description: str = ""
    simulated: str = ""
    releases: dict[str, str] = Field(default={})
    lengths_ms: LengthsMs = Field(default={})

    @property
    def source(self) -> DrawSource:
        """What the panels' scenarios are drawn from; take it once for many of them."""
        return DrawSource(
            where=self.where,
            seed=self.seed,
            frame=scenario_frame(self),
            profile=self.profile,
            sizes=self.panels.model_dump(),
            hourly_load=self.cluster.hourly_load,
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides the tables: not the description, not the place."""
        apart = {"where", "description", "releases", "lengths_ms"}
        data = self.model_dump(mode="json", exclude=apart)
        del data["cluster"]["incidents"]  # the profile has them
        del data["cluster"]["assumed_records_per_s"]  # the topics have it
        if not self.cluster.hourly_load:
            del data["cluster"]["hourly_load"]  # an older experiment is what it was
        for stratum in data["profile"]["strata"].values():
            del stratum["called"]  # no table has it
            if not stratum["parameters"]:
                del stratum["parameters"]  # likewise
        if not self.simulated:
            del data["simulated"]
        line = json.dumps(data, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(former_names(line).encode()).hexdigest()

    def resized(self, size: int | None) -> Experiment:
        """Give the experiment with panels of another size.

        Raises:
            InputError: no scenario, or too few for the strata.
        """
        if size is None:
            return self
        if size < 1:
            raise InputError(self.where, "panel size", size, "1 or more")
        panels = Panels(regression=size, confirm=size)
        changed = self.model_copy(update={"panels": panels})
        strata = len(self.profile.strata)
        if found := _panel_mistakes(changed.panels.model_dump(), strata, self.where, "panel size"):
            raise found[0]
        return changed

    def asking(self, scenarios: int | None) -> Experiment:
        """Give the experiment with another budget, which may be spent on every configuration.

        Its panels stay, so its nights are compared as before.

        Raises:
            InputError: fewer than the experiment's own: what they decide would not be found.
        """
        if scenarios is None:
            return self
        least = self.budget.scenarios
        if scenarios < least:
            allowed = f"at least {least}, as the experiment says (budget.scenarios)"
            raise InputError(self.where, "scenarios", scenarios, allowed)
        return self.model_copy(
            update={
                "budget": self.budget.model_copy(update={"scenarios": scenarios}),
                "groups": tuple(one.model_copy(update={"asked": True}) for one in self.groups),
            }
        )


@with_lines()
def load_experiment(name_or_path: str | Path, topics: Sequence[str] = ()) -> Experiment:
    """Read an experiment by its name or by the path of its file, with what it names.

    Args:
        name_or_path: ``operators`` means ``config/experiments/operators.yaml``.
        topics: that are simulated, instead of what the file says; see its field.

    Raises:
        InputError: everything in the files that cannot be used.
    """
    path = _find(str(name_or_path))
    where = said_path(path)
    raw = _raw(path)
    found: list[InputError] = []
    with noted(found):
        written = validated(ExperimentFile, raw, where)
    found += override_mistakes(raw, where)
    if faults := _name_in(raw, "faults"):
        with noted(found):
            profile = _named_profile(where, "faults", faults)
            found += _size_mistakes(raw, len(profile.strata), where)
            profile = _reshared(profile, raw.get("shares"), where)
    cluster_name = _name_in(raw, "cluster")
    if cluster_name:
        with noted(found):
            cluster, cluster_where = _named_cluster(where, "cluster", cluster_name)
    if found:
        standing = _standing(cluster_name)
        raise together([*found, *further_mistakes(raw, where, standing)])
    experiment = Experiment(
        name=path.stem,
        where=where,
        seed=written.seed,
        horizon_ms=written.horizon_ms,
        warmup_ms=written.warmup_ms,
        panels=written.panels,
        reference=written.reference,
        base=check_overrides(written.base, where, "base"),
        groups=written.groups,
        cluster=cluster,
        profile=profile,
        budget=written.budget or Budget(),
        description=written.description,
        releases=_releases(path),
        lengths_ms=written.lengths_ms,
    )
    healthy = parse_scenario(scenario_frame(experiment), cluster_where)
    _check_speeds(profile, healthy, where, str(written.faults))
    check_kinds(cluster.incidents, profile.incidents, cluster_where, "incidents")
    check_kinds(written.incidents, profile.incidents, where, "incidents")
    profile = with_lengths(profile, written.lengths_ms, where, "lengths_ms")
    counts = {**cluster.incidents, **written.incidents}
    experiment = experiment.model_copy(
        update={
            "profile": counted(profile, healthy, counts),
            "cluster": cluster.model_copy(update={"incidents": counts}),
        }
    )
    if patterns := topics or written.topics:
        experiment = _with_topics(experiment, patterns)
    return experiment


def _check_speeds(profile: FaultProfile, healthy: Scenario, where: str, faults: str) -> None:
    """Refuse a profile that slows down, or reads from, disks of unknown speeds."""
    patterns = (name for one in profile.strata.values() for name in one.patterns)
    if found := unknown_speed(patterns, healthy.cluster):
        pattern, broker, field = found
        given = f"{faults}, which draws {pattern}; {field} of broker {broker} is not known"
        allowed = "a cluster with hardware (cluster import --hardware), or another profile"
        raise InputError(where, "faults", given, allowed)


def _name_in(raw: Mapping[str, Any], field: str) -> str:
    """A name in a file as it was read; empty if it is none, which is told elsewhere."""
    try:
        return str(NAME.read(raw.get(field)))
    except Bad:
        return ""


def _standing(cluster: str) -> Scenario | None:
    """A cluster as it stands, if it can be read; why not is told elsewhere."""
    try:
        return standing_cluster(cluster)
    except InputError:
        return None


def _named_cluster(where: str, field: str, name: str) -> tuple[ClusterFile, str]:
    """A cluster of the configuration, and the path of its file for error lines."""
    path = find_named(where, field, "clusters", name)
    file = said_path(path)
    return validated(ClusterFile, read_cluster(path, file), file), file


def _named_profile(where: str, field: str, name: str) -> FaultProfile:
    path = find_named(where, field, "faults", name)
    return load_profile(_raw(path), said_path(path))


def standing_cluster(
    cluster: str, where: str = "experiment new", field: str = "CLUSTER"
) -> Scenario:
    """A cluster of the configuration as it stands, with nothing happening to it.

    Args:
        cluster: its name.
        where: who names it, for the error line.
        field: likewise.

    Raises:
        InputError: no such cluster, or the first thing in its file that cannot be used.
    """
    file, path = _named_cluster(where, field, cluster)
    parts = of_a_scenario(file.model_dump())
    return parse_scenario({"scenario_id": cluster, "horizon_ms": 1, **parts}, path)


@dataclass(frozen=True, slots=True)
class AskedIncidents:
    """What a command line says of incidents.

    Attributes:
        counts: kind -> how many a year were counted in the cluster.
        lengths_ms: kind -> its shortest and longest length.
        kinds: those that the profile has.
    """

    counts: dict[str, float]
    lengths_ms: dict[str, tuple[float, float]]
    kinds: Mapping[str, Incident]


def asked_incidents(where: str, faults: str, options: Sequence[str]) -> AskedIncidents:
    """Read what a command line says of incidents.

    Args:
        where: the command, for error lines.
        faults: name of the fault profile.
        options: ``crash=4,pause=365:5s-15s`` each.

    Raises:
        InputError: no such profile or kind, no number, or no length.
    """
    options, lengths_ms = apart(options, "--incidents")
    counts = counts_of(options, "--incidents")
    profile = _named_profile(where, "--faults", faults)
    check_kinds(counts, profile.incidents, "--incidents")
    with_lengths(profile, lengths_ms, "--incidents")
    return AskedIncidents(counts, lengths_ms, profile.incidents)


@with_lines()
def read_experiment_file(path: Path) -> ExperimentFile:
    """Read an experiment's own file, without what it names.

    Raises:
        InputError: everything in it that cannot be used.
    """
    return validated(ExperimentFile, _raw(path), said_path(path))


def _with_topics(experiment: Experiment, patterns: Sequence[str]) -> Experiment:
    """Simulate some of a cluster's topics."""
    every = {topic["name"]: len(topic["assignment"]) for topic in experiment.cluster.topics}
    kept = matching(every, patterns, experiment.where)
    topics = [topic for topic in experiment.cluster.topics if topic["name"] in kept]
    cluster = experiment.cluster.model_copy(update={"topics": topics})
    return experiment.model_copy(update={"cluster": cluster, "simulated": simulated(every, kept)})


def _reshared(profile: FaultProfile, shares: Any, where: str) -> FaultProfile:
    """Draw some strata more or less often than a profile does; their weights undo it.

    Args:
        profile: the fault profile.
        shares: stratum -> share, as it was read; what is no mapping is told elsewhere.
        where: the file that has them.

    Raises:
        InputError: every share of no stratum, and all that are no numbers.
    """
    strata = dict(profile.strata)
    found = []
    for name, share in shares.items() if isinstance(shares, Mapping) else ():
        at = f"shares.{name}"
        if name not in strata:
            found.append(InputError(where, at, "unknown stratum", close_or_all(name, strata)))
            continue
        try:
            strata[name] = strata[name].model_copy(update={"sample": _SHARE.read(share)})
        except Bad:
            found.append(InputError(where, at, shown(share), _SHARE.allowed))
    if found:
        raise together(found)
    return profile.model_copy(update={"strata": strata})


def healthy_scenario(experiment: Experiment) -> Scenario:
    """Give the experiment's cluster and load with nothing happening to them."""
    return parse_scenario(scenario_frame(experiment), experiment.where)


def scenario_frame(experiment: Experiment) -> dict[str, Any]:
    """Give the parts that all scenarios of an experiment share, as in a scenario file."""
    cluster = experiment.cluster
    return {
        "scenario_id": "healthy",
        "seed": experiment.seed,
        "horizon_ms": experiment.horizon_ms,
        "warmup_ms": experiment.warmup_ms,
        "cluster": cluster.cluster,
        "topics": cluster.topics,
        "config": cluster.config,
        "rules": cluster.rules,
        "service": cluster.service,
    }


def _panel_mistakes(
    sizes: Mapping[str, float], least: int, where: str, at: str
) -> list[InputError]:
    """Panels that have no scenario of some stratum."""
    allowed = f"at least {least} (one scenario of every stratum)"
    return [
        InputError(where, at.format(panel), size, allowed)
        for panel, size in sizes.items()
        if size < least
    ]


def _size_mistakes(raw: Mapping[str, Any], strata: int, where: str) -> list[InputError]:
    """Numbers that are too small beside others; what is no number is told elsewhere."""
    default = ExperimentFile.model_fields["warmup_ms"].default
    lengths = _numbers({"warmup_ms": default, **raw}, "horizon_ms", "warmup_ms")
    sizes = _numbers(raw.get("panels"), *PANELS)
    found = _panel_mistakes(sizes, strata, where, "panels.{}")
    if len(lengths) == 2 and lengths["warmup_ms"] >= lengths["horizon_ms"]:
        allowed = f"less than horizon_ms ({shown(lengths['horizon_ms'])})"
        found.append(InputError(where, "warmup_ms", shown(lengths["warmup_ms"]), allowed))
    budget = _numbers(raw.get("budget"), "scenarios").get("scenarios", 0)
    if budget > 0 and len(sizes) == len(PANELS):
        found += _budget_mistakes(budget, sizes, where, "budget.scenarios")
    return found


def _budget_mistakes(
    budget: float, sizes: Mapping[str, float], where: str, at: str
) -> list[InputError]:
    """A budget that is written holds at least the two panels that every verdict may need."""
    least = sum(sizes.values())
    allowed = f"at least {least} (regression and confirm panel)"
    return [InputError(where, at, budget, allowed)] if budget < least else []


def _numbers(raw: Any, *names: str) -> dict[str, float]:
    """Of a mapping as it was read, those of some values that are numbers."""
    values = {name: raw.get(name) for name in names} if isinstance(raw, Mapping) else {}
    numbers = {name: one for name, one in values.items() if isinstance(one, (int, float))}
    return {name: one for name, one in numbers.items() if not isinstance(one, bool)}


# ---------------------------------------------------------------------------- places


def _releases(path: Path) -> dict[str, str]:
    """Candidate -> the release that it names, before a rule set stands in its place."""
    written = validated(ExperimentFile, read_mapping(path), said_path(path))
    return {
        one.name: str(one.set["cluster.release"])
        for group in written.groups
        for one in group.candidates
        if "cluster.release" in one.set
    }


def _raw(path: Path) -> dict[str, Any]:
    try:
        raw = read_mapping(path)
    except InputError as error:
        raise InputError(said_path(path), error.field, error.given, error.allowed) from None
    return dict(with_rule_sets(raw, path.parent))


def experiment_files() -> list[Path]:
    """Files of all experiments, by name."""
    return sorted((config_dir() / "experiments").glob("*.yaml"))


def known_experiments() -> list[str]:
    """List the names of the experiment files."""
    return [path.stem for path in experiment_files()]


def _find(name: str) -> Path:
    if re.search(r"[/\\]|\.ya?ml$", name):
        return Path(name)
    if not config_dir().is_dir():
        allowed = "a folder that holds experiments, clusters and faults"
        raise InputError("ISR_PIPELINE_CONFIG", "", f"{config_dir()} (no folder)", allowed)
    path, there = _configured("experiments", name)
    if not path.is_file():
        raise InputError("experiment", "", shown(name), there)
    return path


def find_named(where: str, field: str, kind: str, name: str) -> Path:
    """File that a name stands for.

    Args:
        where: who names it, for the error line.
        field: likewise.
        kind: folder of the configuration: ``clusters``, ``faults``.
        name: without the ending.

    Raises:
        InputError: no such file; the line lists those that there are.
    """
    path, there = _configured(kind, name)
    if not path.is_file():
        raise InputError(where, field, name, there)
    return path


def _configured(kind: str, name: str) -> tuple[Path, str]:
    """Where a file of the configuration would be, and which there are, for an error line."""
    folder = config_dir() / kind
    names = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
    return folder / f"{name}.yaml", names or f"a file in {folder}"


DAG_PREFIX = "isr_nightly_"

NAMES = "a name of a-z, 0-9, . _ - (at most 60), with .yaml"
"""What the file of an experiment that has a DAG may be called: ids have no other signs."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class Nightly:
    """What shapes the DAG of an experiment.

    Attributes:
        experiment: its name.
        description: what it asks, in a sentence; often empty.
        schedule: cron expression, UTC; empty: it is run by hand.
    """

    experiment: str
    description: str
    schedule: str

    @property
    def dag_id(self) -> str:
        """Name of the DAG."""
        return dag_id_of(self.experiment)


def dag_id_of(experiment: str) -> str:
    """Name of an experiment's DAG."""
    return f"{DAG_PREFIX}{experiment}"


def experiment_of(dag_id: str) -> str:
    """Name of the experiment that a DAG runs nights of."""
    return dag_id.removeprefix(DAG_PREFIX)


def nightlies() -> tuple[list[Nightly], list[InputError]]:
    """Every experiment whose file can be read, and why the others cannot.

    Only the file itself is read: what it names is read when a night is planned.
    """
    made, broken = [], []
    for file in experiment_files():
        try:
            if not _NAME.fullmatch(file.stem):
                raise InputError(str(file), "", file.name, NAMES)
            written = _read(file, file.stat().st_mtime_ns)
        except InputError as error:
            broken.append(error)
        else:
            made.append(Nightly(file.stem, written.description, written.schedule or ""))
    return made, broken


@functools.lru_cache
def _read(file: Path, changed_ns: int) -> ExperimentFile:  # noqa: ARG001 - what is kept is of then
    """Read a file once for both DAG files, and again when it has changed."""
    return read_experiment_file(file)
