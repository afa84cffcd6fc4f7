"""The plan of a night: everything that its tasks need to know, written before anything runs.

Beside it in the night's folder stands the one thing that is known later, which strata a stage
takes (``strata.json``). `verdicts/stages.py` decides it when the stage begins; whoever draws the
stage's scenarios, or checks them, reads it.
"""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from isr_pipeline.base.compiling import KERNEL_ROOMS, sources_digest
from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.files.models import Strict, format_of, validated
from isr_pipeline.base.files.reading import parse_mapping
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import Place, place_of
from isr_pipeline.base.version import commit, version
from isr_pipeline.experiment.configurations import Configuration, configurations
from isr_pipeline.experiment.file import Experiment, load_experiment
from isr_pipeline.experiment.stages import CONFIRM, Stage, planned_stages
from isr_pipeline.kafka.releases import todays_names
from isr_pipeline.scenarios.generator import draw_panel, draw_scenario, drawn_of
from isr_pipeline.scenarios.panels import (
    PANELS,
    ScenarioRow,
    allocation,
    indices,
    panel_digest,
    weights,
)

FORMAT = 4
"""Number of the format of plan.json: one more when an older one cannot be read any more."""

SHARDS_MAX = 3
"""Shards of a night: each is a task and a Spark application, which cost two seconds."""

SHARD_NAME_MAX = 100

STRATA = "strata.json"

Counts = dict[str, int]
"""Stratum -> scenarios."""


class Shard(Strict):
    """A part of the simulation: the configurations of some neighbouring groups.

    Attributes:
        name: of the groups; what the UI shows.
        config_ids: in the plan's order.
    """

    name: str
    config_ids: tuple[str, ...]


class Plan(Strict):
    """What a night will do.

    Attributes:
        experiment: name; ``night``: YYYY-MM-DD.
        experiment_digest: of everything in the experiment that decides tables.
        panel_digest: of the standing panel; ``confirm_digest``: likewise.
        panels: panel -> number of scenarios.
        configurations: all, in the experiment's order; ``shards``: the same, divided.
        reference: name of the configuration that the others are compared with.
        code_version: of the code that planned: commit and digest of the kernel.
        version: number of the release that planned.
        run: id of the run that the plan is of; ``began``: when it did, UTC. Both are empty in plans
            of releases before 0.3.0.
        replace: whether the run may take the place of a night of another panel.
        root: of the tables; ``folder``: of everything else, empty: that of the night by its date.
        definition: the experiment as it was read, panel sizes as planned; draw from this.
        format: `FORMAT`.
    """

    experiment: str
    night: str
    experiment_digest: str
    panel_digest: str
    confirm_digest: str
    panels: dict[str, int]
    configurations: tuple[Configuration, ...]
    shards: tuple[Shard, ...]
    reference: str
    code_version: str
    version: str
    root: str
    folder: str = ""
    run: str = ""
    began: str = ""
    replace: bool = False
    definition: Experiment
    format: int = FORMAT

    @property
    def place(self) -> Place:
        """Folder of what the run makes beside its tables."""
        if self.folder:
            return place_of(self.folder)
        return Home.from_environment().night_dir(self.experiment, self.night)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What may be simulated beyond the standing panel, the confirm panel first."""
        return planned_stages(self.panels, self.definition.budget)

    @property
    def asked(self) -> tuple[str, ...]:
        """config_ids of what was asked, to be decided against the reference."""
        groups = {group.name for group in self.definition.groups if group.asked}
        return tuple(
            one.config_id
            for one in self.configurations
            if one.group in groups and one.name != self.reference
        )

    @property
    def reference_id(self) -> str:
        """config_id of the reference."""
        return next(one.config_id for one in self.configurations if one.name == self.reference)

    def draw_stage(
        self, stage: Stage, strata: Sequence[Mapping[str, int]]
    ) -> Iterator[ScenarioRow]:
        """Draw the scenarios of a stage, weighted as all stages up to it together.

        Args:
            stage: beyond the confirm panel.
            strata: stratum -> scenarios, of each stage beyond the confirm panel up to this one.
        """
        profile = self.definition.profile
        known = profile.strata
        before = Counter(allocation(known, self.panels[CONFIRM]))
        for earlier in strata[:-1]:
            before.update(earlier)
        drawn = drawn_of(self.definition.source, CONFIRM, before + Counter(strata[-1]))
        weighing = weights(profile.shares, drawn)
        places = indices(known, before, strata[-1])
        source = self.definition.source
        source = replace(source, sizes={**source.sizes, CONFIRM: places[-1] + 1})
        for index in places:
            row = draw_scenario(source, CONFIRM, index)
            weight = weighing[row.stratum, row.pattern]
            yield replace(row, panel=stage.panel, weight=weight)

    def save(self, path: Place | str) -> Place:
        """Write the plan as JSON, whole or not at all."""
        return write_whole(place_of(path), self.model_dump_json(indent=1, exclude_none=True) + "\n")

    @classmethod
    def load(cls, path: Place | str) -> Plan:
        """Read a plan.

        Raises:
            InputError: no such file, or it is no plan.
        """
        try:
            content = place_of(path).read_text()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(str(path), "", reason, "a plan written by this program") from None
        return cls.parse(content, str(path))

    @classmethod
    def of_night(cls, experiment: str, night: str) -> Plan:
        """Read the plan of a night, which is that of its last whole run.

        Raises:
            InputError: it has none, or what is there is no plan.
        """
        return cls.load(Home.from_environment().night_dir(experiment, night) / "plan.json")

    @classmethod
    def parse(cls, content: str, where: str) -> Plan:
        """Read a plan from its text.

        Args:
            content: JSON.
            where: what an error names.

        Raises:
            InputError: it is no plan, or one of another format.
        """
        raw = parse_mapping(todays_names(content), where, json_only=True)
        if format_of(raw) != FORMAT:
            raise InputError(where, "format", format_of(raw), f"{FORMAT}; run the night again")
        try:
            return validated(cls, raw, where)
        except InputError as error:
            allowed = f"{error.allowed}; run the night again"
            raise InputError(where, error.field, error.given, allowed) from None


def make_plan(
    experiment_name: str | Path,
    night: str,
    panel_size: int | None = None,
    scenarios: int | None = None,
) -> Plan:
    """Plan a night.

    Args:
        experiment_name: a name in ``config/experiments``, or the path of a file.
        night: YYYY-MM-DD, checked.
        panel_size: other size of the regression and the confirm panel.
        scenarios: other budget, for every configuration.

    Raises:
        InputError: anything in the files that cannot be used.
    """
    experiment = load_experiment(experiment_name).resized(panel_size).asking(scenarios)
    every = configurations(experiment)
    digests = {panel: panel_digest(draw_panel(experiment.source, panel)) for panel in PANELS}
    return Plan(
        experiment=experiment.name,
        night=night,
        experiment_digest=experiment.digest,
        panel_digest=digests["regression"],
        confirm_digest=digests["confirm"],
        panels=experiment.panels.model_dump(),
        configurations=every,
        shards=_shards(every),
        reference=experiment.reference,
        code_version=code_version(),
        version=version(),
        root=Home.from_environment().root,
        definition=experiment,
    )


def _shards(every: tuple[Configuration, ...]) -> tuple[Shard, ...]:
    """Whole groups, neighbours together, in at most :data:`SHARDS_MAX` shards."""
    sizes = Counter(one.group for one in every)
    return tuple(
        Shard(
            name=_named(groups),
            config_ids=tuple(one.config_id for one in every if one.group in groups),
        )
        for groups in _runs(sizes, SHARDS_MAX)
    )


def _named(groups: list[str]) -> str:
    """``min-isr+unclean``; of many, the first and how many more: it is the name of a folder."""
    whole = "+".join(groups)
    return whole if len(whole) <= SHARD_NAME_MAX else f"{groups[0]}+{len(groups) - 1}-more"


def _runs(sizes: Mapping[str, int], most: int) -> list[list[str]]:
    """Neighbours together in at most so many runs, the largest as small as it can be."""
    capacity = max(*sizes.values(), math.ceil(sum(sizes.values()) / most))
    while len(runs := _filled(sizes, capacity)) > most:
        capacity += 1
    return runs


def _filled(sizes: Mapping[str, int], capacity: int) -> list[list[str]]:
    runs: list[list[str]] = []
    room = 0
    for name, size in sizes.items():
        if size > room:
            runs.append([])
            room = capacity
        runs[-1].append(name)
        room -= size
    return runs


# ------------------------------------------------------------------------ the strata of its stages


def strata_before(plan: Plan, stage: Stage) -> list[Counts]:
    """Strata of the stages between the confirm panel and one.

    Raises:
        Refused: one of them was not decided, or the file is damaged.
    """
    return _decided(plan, _beyond_confirm(plan, stage)[:-1])


def stage_strata(plan: Plan, stage: Stage) -> list[Counts]:
    """Strata of the stages beyond the confirm panel, up to and with one.

    Raises:
        Refused: one of them was not decided, or the file is damaged.
    """
    return _decided(plan, _beyond_confirm(plan, stage))


def keep_strata(plan: Plan, stage: Stage, counts: Counts) -> None:
    """Note which strata a stage takes; what stood there of it and of later ones goes."""
    file = _strata_file(plan)
    known = _read_strata(file)
    earlier = {one: known[one] for one in _beyond_confirm(plan, stage)[:-1] if one in known}
    write_whole(file, json.dumps({**earlier, stage.panel: counts}, indent=1) + "\n")


def _beyond_confirm(plan: Plan, stage: Stage) -> list[str]:
    """Panels of the stages beyond the confirm panel, up to and with one."""
    names = [one.panel for one in plan.stages if one.panel != CONFIRM]
    return names[: names.index(stage.panel) + 1]


def _decided(plan: Plan, panels: list[str]) -> list[Counts]:
    known = _read_strata(_strata_file(plan))
    missing = [panel for panel in panels if panel not in known]
    if missing:
        raise Refused(
            f"night {plan.night} of {plan.experiment}: {STRATA} does not say which strata stage "
            f"{missing[0]} takes; run the night again"
        )
    return [known[panel] for panel in panels]


def _strata_file(plan: Plan) -> Place:
    return plan.place / STRATA


def _read_strata(file: Place) -> dict[str, Counts]:
    """Panel -> strata; nothing where no stage was decided."""
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        return {str(panel): dict(counts) for panel, counts in known.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError, TypeError):
        raise Refused(f"{file} is damaged; run the night again") from None


# ------------------------------------------------------------------------------------- the code


@functools.cache
def code_version() -> str:
    """Name the code: the commit (or the package's version) and the digest of the kernel."""
    return f"{commit() or version()}+kernel.{kernel_digest()[:12]}"


def kernel_digest() -> str:
    """SHA-256 over the sources that decide an outcome."""
    return sources_digest(KERNEL_ROOMS)
