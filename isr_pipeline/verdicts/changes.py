"""What is not as it was when the baseline was made: settings, cluster, faults, code, libraries.

Written into ``changed.json`` of a night when it is judged, so that it stays true when another
baseline is accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import Place, modified_s
from isr_pipeline.experiment.configurations import Configuration, resolved_params
from isr_pipeline.experiment.file import healthy_scenario, scenario_frame
from isr_pipeline.kernels import commits
from isr_pipeline.kernels.commits import find_source
from isr_pipeline.kernels.difference import changed_files, changed_parts
from isr_pipeline.kernels.source import PACKAGE, Source, kernel_of, libraries_here
from isr_pipeline.scenarios.model import Scenario, apply
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.baseline import baseline_plan, baseline_source
from isr_pipeline.verdicts.quantities import label, load_settings
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.baseline import Baseline, BaselineConfiguration, BaselineRecord

FILE = "changed.json"
PATHS_SHOWN_MAX = 12
"""Differing paths of a cluster or a fault profile that are listed one by one."""

TEXT_MAX = 60
PARTS_SHOWN_MAX = 6


class Change(BaseModel):
    """One thing that changed.

    Attributes:
        kind: ``key`` (of Kafka), ``rule``, ``service``, ``cluster``, ``faults``, ``panel``,
            ``configuration``, ``commit``, ``code`` (a file), ``library``, ``columns``.
        name: which one.
        before, after: its value then and tonight; None where it was not there, or has none.
        text: one line for people.
        author, message, files: of a commit; ``parts``: changed functions of a file.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: str
    name: str
    before: Any = None
    after: Any = None
    text: str
    author: str = ""
    message: str = ""
    files: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As JSON has it: without what it does not have."""
        return self.model_dump(mode="json", exclude_defaults=True) | {
            "before": self.before,
            "after": self.after,
        }


class Changes(BaseModel):
    """``changed.json``.

    Attributes:
        baseline: night that was compared with, with its time; empty if there was none.
        shared: what changed for every configuration.
        configurations: config_id -> what changed in it alone.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    baseline: str = ""
    shared: tuple[Change, ...] = ()
    configurations: dict[str, tuple[Change, ...]] = {}

    def of(self, config_id: str) -> tuple[Change, ...]:
        """What changed in one configuration alone."""
        return self.configurations.get(config_id, ())

    def lines(self, names: Mapping[str, str], most: int) -> list[str]:
        """One line a change, shared ones first; alike changes of several configurations in one.

        Args:
            names: config_id -> name.
            most: lines; the last one says how many more there are.
        """
        having: dict[str, list[str]] = {}
        for config_id, changes in self.configurations.items():
            for one in changes:
                having.setdefault(one.text, []).append(names.get(config_id, config_id))
        lines = [one.text for one in self.shared]
        lines += [f"{_names(who)}: {text}" for text, who in having.items()]
        if len(lines) > most:
            lines = [*lines[: most - 1], f"and {len(lines) - most + 1} more"]
        return lines


def _names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} configurations"


def write_changes(plan: Plan) -> Changes:
    """Find what changed since the baseline and write it into the night's folder."""
    found = changes_of(plan)
    write_whole(plan.place / FILE, found.model_dump_json(indent=1) + "\n")
    return found


def read_changes(folder: Place) -> Changes:
    """What a run wrote into its folder; nothing if it was never judged."""
    try:
        return Changes.model_validate_json((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Changes()


def judged_at_s(plan: Plan) -> float:
    """When a night was judged, seconds since 1970: when it wrote this file."""
    return modified_s(plan.place / FILE)


def changes_of(plan: Plan) -> Changes:
    """Compare a night with the accepted baseline."""
    try:
        accepted = baselines.load(plan.experiment)
        record = accepted.record if accepted else None
        before = baseline_plan(record) if record else None
    except (baselines.BaselineDamaged, InputError):
        return Changes()
    if accepted is None or record is None:
        return Changes()
    shared = [*_not_measured(accepted), *_experiment(before, plan), *_code(record, plan)]
    partners = {
        config_id: record.configuration(partner)
        for config_id, partner in record.partners(plan.configurations).items()
    }
    kept = {one.config_id for one in partners.values()}
    gone = [one.name for one in record.configurations if one.config_id not in kept]
    return Changes(
        baseline=record.called,
        shared=(*shared, *map(_removed, gone)),
        configurations={
            one.config_id: changes
            for one in plan.configurations
            if (changes := tuple(_configuration(partners.get(one.config_id), before, plan, one)))
        },
    )


def _not_measured(baseline: Baseline) -> Iterator[Change]:
    """Tested metrics that the baseline's release did not measure, in one line."""
    kept = baseline.outcomes.columns
    missing = [one for one in load_settings().metrics if METRICS[one].top not in kept]
    if missing:
        words = ", ".join(label(one) for one in missing)
        text = f"the baseline was accepted without {words}: not compared until a night is accepted"
        yield Change(kind="columns", name=", ".join(missing), text=text)


# -- the experiment ---------------------------------------------------------------------------


def _experiment(before: Plan | None, plan: Plan) -> Iterator[Change]:
    if before is None:
        return
    old, new = before.definition, plan.definition
    yield from _paths("panel", {"seed": old.seed, "panels": old.panels.model_dump()},
                      {"seed": new.seed, "panels": new.panels.model_dump()})  # fmt: skip
    frames = [scenario_frame(one) for one in (old, new)]
    for frame in frames:
        del frame["seed"]
    yield from _paths("cluster", *frames)
    yield from _paths("faults", old.profile.model_dump(mode="json"),
                      new.profile.model_dump(mode="json"))  # fmt: skip


def _paths(kind: str, before: Any, after: Any) -> Iterator[Change]:
    """What differs between two trees of values, path by path."""
    old, new = dict(_flat(before)), dict(_flat(after))
    paths = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    for path in paths[:PATHS_SHOWN_MAX]:
        yield _changed(kind, path, old.get(path), new.get(path), f"{kind} ")
    if len(paths) > PATHS_SHOWN_MAX:
        more = len(paths) - PATHS_SHOWN_MAX
        yield Change(kind=kind, name="more", text=f"{kind}: {more} more values differ")


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _flat(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple) and any(isinstance(one, dict) for one in value):
        for index, one in enumerate(value):
            yield from _flat(one, f"{path}[{index}]")
    else:
        yield path, list(value) if isinstance(value, tuple) else value


def _changed(kind: str, name: str, before: Any, after: Any, prefix: str = "") -> Change:
    text = f"{prefix}{name}: {shown(before)} to {shown(after)}"
    return Change(kind=kind, name=name, before=before, after=after, text=text)


def shown(value: Any) -> str:
    """A setting's value as configuration files have it, cut if it is long."""
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


# -- configurations ---------------------------------------------------------------------------


def _configuration(
    accepted: BaselineConfiguration | None, before: Plan | None, plan: Plan, one: Configuration
) -> Iterator[Change]:
    if accepted is None:
        yield Change(kind="configuration", name=one.name, after=one.name, text="new tonight")
        return
    if accepted.name != one.name and not one.is_grid:
        text = f"was called {accepted.name}"
        yield Change(
            kind="configuration", name=one.name, before=accepted.name, after=one.name, text=text
        )
    if accepted.alone is not None:
        text = f"compared with night {accepted.alone.called}, of which it was accepted alone"
        yield Change(kind="configuration", name=one.name, before=accepted.alone.night, text=text)
    yield from setting_changes(
        _resolved(before or plan, accepted.overrides), _resolved(plan, dict(one.overrides))
    )


def _removed(name: str) -> Change:
    text = f"configuration {name}: in the baseline, not in tonight's experiment"
    return Change(kind="configuration", name=name, before=name, text=text)


def _resolved(plan: Plan, overrides: dict[str, Any]) -> dict[str, Any]:
    return in_full(lambda: healthy_scenario(plan.definition), overrides)


def in_full(scenario: Callable[[], Scenario], overrides: dict[str, Any]) -> dict[str, Any]:
    """Every key, switch and service time of a configuration, defaults included.

    A configuration that today's code refuses has its overrides alone.

    Args:
        scenario: gives the one that it is laid over; may be refused as well.
        overrides: of the configuration.
    """
    try:
        return dict(resolved_params(apply(scenario(), overrides)))
    except (ValueError, KeyError, TypeError):  # InputError is a ValueError
        return dict(overrides)


def setting_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Settings that differ, as changes."""
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield _changed(kind_of_setting(name), name, before.get(name), after.get(name))


def kind_of_setting(name: str) -> str:
    """``rule``, ``service`` or ``key``."""
    if name.startswith(("rules.", "cluster.")):
        return "rule"
    return "service" if name.startswith("service.") else "key"


# -- the code ---------------------------------------------------------------------------------


def _code(record: BaselineRecord, plan: Plan) -> Iterator[Change]:
    yield from _libraries(record)
    if kernel_of(record.code_version) == kernel_of(plan.code_version):
        return
    yield from _commits(record.code_version, plan.code_version)
    old: Source | None
    try:
        old = baseline_source(record)
    except Refused:
        old = find_source(record.code_version, Home.from_environment())
    new = find_source(plan.code_version, Home.from_environment())
    if old is None or new is None:
        text = f"code: {record.code_version} to {plan.code_version}; its files were not kept"
        yield Change(kind="code", name="kernel", before=record.code_version,
                     after=plan.code_version, text=text)  # fmt: skip
        return
    parts = changed_parts(old, new)
    for file in changed_files(old, new):
        mine = tuple(part.name for part in parts if part.file == file)
        some = ", ".join([*mine[:PARTS_SHOWN_MAX], *(["…"] if mine[PARTS_SHOWN_MAX:] else [])])
        words = f": {some}" if mine else ": texts and imports only"
        yield Change(
            kind="code", name=f"{PACKAGE}/{file}", text=f"{PACKAGE}/{file}{words}", parts=mine
        )


def _commits(old: str, new: str) -> Iterator[Change]:
    """Commits between two code versions that touch the kernel; nothing where git cannot tell."""
    first, last = commits.resolved(old), commits.resolved(new)
    between = commits.between(first, last) if first and last else None
    for one in between or ():
        yield Change(
            kind="commit",
            name=one.sha[:12],
            text=f"commit {one.sha[:8]} {one.message} ({one.author})",
            author=one.author,
            message=one.message,
            files=one.files,
        )
    for version, whose in ((old, "the baseline"), (new, "tonight")):
        if commits.resolved(version) and not commits.is_clean(version):
            text = f"code of {whose} was changed after its commit {version.partition('+')[0]}"
            yield Change(kind="code", name="uncommitted", text=text)


def _libraries(record: BaselineRecord) -> Iterator[Change]:
    try:
        then = dict(baseline_source(record).libraries)
    except Refused:
        return
    here = libraries_here()
    for name, version in then.items():
        if here.get(name, version) != version:
            yield _changed("library", name, version, here[name])
