"""The accepted baseline of an experiment: pinned by a person, never simply yesterday.

``<home>/baselines/<experiment>/`` holds ``baseline.json`` (who, when, why, and digests), copies of
the accepted night's tables and plan, and the sources of the kernel that made it. It is replaced as
a whole; a file that is missing or does not have its digest makes the baseline damaged, which is
said and never taken for an absent one.

Its numbers are of the panels that it was accepted with. Of a later scenario its side is simulated,
by the code that it was accepted with and under the settings that it had.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.files.models import format_of
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import Place, remove_tree
from isr_pipeline.base.storage.published import contents_of
from isr_pipeline.base.storage.remote import StoreDamaged
from isr_pipeline.experiment.file import healthy_scenario
from isr_pipeline.experiment.mistakes import check_laid_over
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.experiment.stages import BASELINE_SIDE
from isr_pipeline.kafka.releases import todays_names
from isr_pipeline.kernels.commits import find_source
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.kernels.source import FILE, Source, kernel_of, libraries_here, unpack
from isr_pipeline.scenarios.model import apply
from isr_pipeline.scenarios.panels import PANELS
from isr_pipeline.verdicts.comparison import PanelOutcomes, panel_rows, together
from isr_pipeline.verdicts.ledger import Entry
from isr_pipeline.verdicts.record import (
    Accepted,
    BaselineNote,
    NightVerdict,
    accept_command,
    verdict_of,
)
from isr_pipeline.worlds.columns import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from isr_pipeline.experiment.configurations import Configuration

FORMAT = 5
"""Number of the format of baseline.json: one more when an older one cannot be read any more."""

WHOLE_SOURCE = "source"
"""Name among the digests of the archive of the code that made the night accepted whole."""

RECORD = "baseline.json"
"""File that says what was accepted, by whom, and the digests of the other files."""


class BaselineDamaged(Refused):
    """The baseline is there and cannot be used; str() is the reason, one line."""


class Acceptance(Accepted):
    """Who accepted what, when and why.

    Attributes:
        source: name among the record's digests of the archive of the code's sources.
    """

    source: str


class BaselineConfiguration(BaseModel):
    """How a configuration of the baseline is found again.

    Attributes:
        alone: its own acceptance; None if it was accepted with the whole night.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    config_id: str
    is_grid: bool
    overrides: dict[str, Any]
    alone: Acceptance | None = None


class BaselineRecord(Accepted):
    """``baseline.json``.

    Attributes:
        night: that was accepted whole; some configurations may be of a later one since.
        entry: what the newest acceptance adds to the ledger; None until that is known.
        format: `FORMAT`.
    """

    experiment: str
    panel_digest: str
    confirm_digest: str
    configurations: tuple[BaselineConfiguration, ...]
    digests: dict[str, str]
    entry: Entry | None = None
    format: int = FORMAT

    @property
    def whole(self) -> Acceptance:
        """The acceptance of the whole night."""
        return Acceptance(**self.accepted_fields(), source=WHOLE_SOURCE)

    @property
    def acceptances(self) -> tuple[Acceptance, ...]:
        """Of the whole night first, then of configurations alone."""
        return (self.whole, *(one.alone for one in self.configurations if one.alone is not None))

    def is_made_of(self, plan: Plan, judged: NightVerdict | None) -> bool:
        """Whether a run was accepted, whole or some configurations of it."""
        return any(is_of(one, plan, judged) for one in self.acceptances)

    @property
    def newest_source(self) -> str:
        """Name of the archive of the newest acceptance's code."""
        return max(self.acceptances, key=lambda one: one.accepted_at).source

    def configuration(self, config_id: str) -> BaselineConfiguration:
        """One of its configurations, which is there."""
        return next(one for one in self.configurations if one.config_id == config_id)

    def acceptance(self, config_id: str) -> Acceptance:
        """Who accepted one of its configurations, when, why, and of which code."""
        return self.configuration(config_id).alone or self.whole

    def note(self) -> BaselineNote:
        """Return the part that goes into a night's verdict."""
        return BaselineNote(
            **self.accepted_fields(),
            panel_digest=self.panel_digest,
            latest_at=max(one.accepted_at for one in self.acceptances),
        )

    def partner(self, *, name: str, config_id: str, is_grid: bool, overrides: Any) -> str | None:
        """config_id of the same configuration in the baseline, or None if it is new.

        A named candidate is the same if its name is, whatever its values are now; a grid point is
        the same if its values are, whatever it is called.
        """
        for one in self.configurations:
            if one.is_grid != is_grid:
                continue
            if is_grid and (one.config_id == config_id or one.overrides == as_json(overrides)):
                return one.config_id
            if not is_grid and one.name == name:
                return one.config_id
        return None

    def partners(self, configurations: Iterable[Configuration]) -> dict[str, str]:
        """config_id of a night's configuration -> that of the same one in the baseline.

        A named candidate of the baseline whose name is gone, and whose values a new name has, was
        renamed: it is the same one.

        Args:
            configurations: all of the night.
        """
        found, new = {}, []
        for one in configurations:
            partner = self.partner(
                name=one.name,
                config_id=one.config_id,
                is_grid=one.is_grid,
                overrides=one.overrides,
            )
            if partner is None:
                new.append(one)
            else:
                found[one.config_id] = partner
        for one in new:
            for old in self.configurations:
                free = not old.is_grid and not one.is_grid and old.config_id not in found.values()
                if free and old.overrides == as_json(one.overrides):
                    found[one.config_id] = old.config_id
                    break
        return found


def is_of(accepted: Accepted, plan: Plan, judged: NightVerdict | None) -> bool:
    """Whether a run is the one that was accepted, which another of its date is not.

    A run of a release before 0.3.0 has no id, and tasks of one that has can be done again. So one
    that was judged after the acceptance is not what was accepted.

    Args:
        accepted: what was.
        plan: of the run.
        judged: its verdict; None if it has none.
    """
    if (accepted.night, accepted.run) != (plan.night, plan.run):
        return False
    then = judged.baseline if judged else None
    return then is None or (then.latest_at or then.accepted_at) < accepted.accepted_at


@dataclass(frozen=True)
class Baseline:
    """An intact baseline: its record and its rows of both panels."""

    record: BaselineRecord
    outcomes: pd.DataFrame
    scenarios: pd.DataFrame


def baseline_panel(baseline: Baseline, panel: str, config_ids: tuple[str, ...]) -> PanelOutcomes:
    """Outcomes of the baseline on one panel, in the order asked for (an id may come twice)."""
    unique = tuple(dict.fromkeys(config_ids))
    outcomes, scenarios = baseline.outcomes, baseline.scenarios
    rows = PanelOutcomes.from_frames(
        outcomes[outcomes["panel"] == panel], scenarios[scenarios["panel"] == panel], unique
    )
    return rows.select(config_ids)


def both_sides(
    plan: Plan, baseline: Baseline, partners: Mapping[str, str], panels: Sequence[str]
) -> tuple[pd.DataFrame, PanelOutcomes, PanelOutcomes]:
    """Scenarios of some panels as one, and the outcomes of tonight and of the baseline on them.

    Args:
        plan: the night.
        baseline: with its own outcomes of the regression and the confirm panel.
        partners: config_id -> config_id in the baseline; the columns, in this order.
        panels: with the confirm panel among them.

    Returns:
        rows of the scenarios table; tonight; the baseline. Pairs that nobody ran are missing.
    """
    scenarios, outcomes = together(plan, panels)
    accepted = baseline.outcomes[baseline.outcomes["panel"].isin([*panels])]
    before = [
        accepted[accepted["config_id"] == partner].assign(config_id=config_id)
        for config_id, partner in partners.items()
    ]
    before += [
        panel_rows("outcomes", plan, panel + BASELINE_SIDE)
        for panel in panels
        if panel not in PANELS
    ]
    ids = tuple(partners)
    new = PanelOutcomes.from_frames(outcomes, scenarios, ids)
    old = PanelOutcomes.from_frames(pd.concat(before, ignore_index=True), scenarios, ids)
    return scenarios, new, old


def show(experiment: str) -> BaselineRecord | None:
    """Who accepted what, when and why; None if nothing was ever accepted.

    Raises:
        BaselineDamaged: the record is missing from its folder, or unreadable.
    """
    return _record(experiment, kept_files(_folder(experiment), [RECORD]))


def show_if_whole(experiment: str) -> BaselineRecord | None:
    """The same; None also where it is damaged, which others say."""
    try:
        return show(experiment)
    except BaselineDamaged:
        return None


def _folder(experiment: str) -> Place:
    return Home.from_environment().baseline_dir(experiment)


def _record(experiment: str, kept: Mapping[str, bytes]) -> BaselineRecord | None:
    """The record among some of a baseline's files; None if nothing was ever accepted.

    Raises:
        BaselineDamaged: the record is missing from its folder, unreadable, or of another format.
    """
    if RECORD not in kept:
        if not _folder(experiment).exists():
            return None
        raise BaselineDamaged(f"baseline is damaged: {RECORD} is missing")
    try:
        found = format_of(json.loads(kept[RECORD]))
        if found != FORMAT:
            raise BaselineDamaged(
                f"{RECORD} has format {found}, this release reads {FORMAT}: "
                "a night of today's code has to be accepted"
            )
        record = BaselineRecord.model_validate_json(todays_names(kept[RECORD].decode()))
    except (ValidationError, ValueError):
        raise BaselineDamaged("baseline is damaged: baseline.json is unreadable") from None
    if record.experiment != experiment:
        msg = f"baseline belongs to experiment {record.experiment}, not to {experiment}"
        raise BaselineDamaged(msg)
    return record


def load(experiment: str) -> Baseline | None:
    """Read the baseline and check every digest; None if nothing was ever accepted.

    Raises:
        BaselineDamaged: something is missing, or is not what was accepted.
    """
    tables = {name: f"{name}.parquet" for name in ("outcomes", "scenarios")}
    kept = kept_files(_folder(experiment), [RECORD, *tables.values()])
    record = _record(experiment, kept)
    if record is None:
        return None
    frames = {name: _table(kept, file, record.digests.get(name)) for name, file in tables.items()}
    return Baseline(record=record, outcomes=frames["outcomes"], scenarios=frames["scenarios"])


def _table(kept: Mapping[str, bytes], file: str, digest: str | None) -> pd.DataFrame:
    content = _accepted(kept, file, digest)
    frame = pq.read_table(pa.BufferReader(content)).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    return frame


def kept_files(folder: Place, names: Sequence[str]) -> dict[str, bytes]:
    """Contents of some files of one version of a baseline, without those that it has not.

    Raises:
        BaselineDamaged: the store has something else.
    """
    try:
        return contents_of(folder, names)
    except StoreDamaged as damage:
        raise BaselineDamaged(f"baseline is damaged: {damage}") from None


def _accepted(kept: Mapping[str, bytes], file: str, digest: str | None) -> bytes:
    """One of some files of a baseline, which is what was accepted.

    Raises:
        BaselineDamaged: it is missing, or is not that.
    """
    if file not in kept:
        raise BaselineDamaged(f"baseline is damaged: {file} is missing")
    if content_digest(kept[file]) != digest:
        raise BaselineDamaged(f"baseline is damaged: {file} is not what was accepted")
    return kept[file]


def content_digest(content: bytes) -> str:
    """SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def as_json(overrides: Any) -> dict[str, Any]:
    """Overrides as JSON gives them back (a tuple becomes a list)."""
    return dict(json.loads(json.dumps(dict(overrides))))


def examined() -> str:
    """Read every baseline there is, and say which. The ledgers lie beside their folders.

    Raises:
        Refused: the first that is damaged, and how to have a whole one.
    """
    accepted = []
    found = Home.from_environment().baselines.glob("*")
    folders = (one.name for one in found if one.is_dir())
    for experiment in sorted(name for name in folders if not name.startswith(".")):
        try:
            baseline = load(experiment)
        except BaselineDamaged as damage:
            again = accept_command(experiment, "NIGHT")
            raise Refused(f"{experiment}: {damage}; accept a night again: {again}") from None
        if baseline is not None:
            accepted.append(f"{experiment} of {baseline.record.called}")
    return ", ".join(accepted) or "none accepted yet"


def forget(experiment: str) -> None:
    """Remove the baseline: the next night is `baseline` again."""
    remove_tree(Home.from_environment().baseline_dir(experiment))


_FILES = {
    "outcomes": "outcomes.parquet",
    "scenarios": "scenarios.parquet",
    "plan": "plan.json",
}
"""Name among a baseline's digests -> its file; all others are archives of sources."""


def source_name(source: Source) -> str:
    """Name among a baseline's digests of the code of configurations that were accepted alone."""
    return f"{WHOLE_SOURCE}-{source.kernel_digest[:12]}"


def source_file(name: str) -> str:
    """The archive of that name."""
    return FILE.replace("source", name, 1)


def baseline_source(record: BaselineRecord, name: str = WHOLE_SOURCE) -> Source:
    """The sources that a baseline keeps.

    Args:
        record: of the baseline.
        name: :attr:`Acceptance.source` of the configuration that is asked about: one that was
            accepted alone may be of other code than the night that was accepted whole.

    Raises:
        Refused: it was accepted without them.
        BaselineDamaged: they are missing, or not what was accepted.
    """
    if name not in record.digests:
        raise Refused(
            f"the baseline of {record.experiment} (night {record.called}) was accepted without its "
            f"source; accept a night of today's code: {accept_command(record.experiment, 'NIGHT')}"
        )
    file = source_file(name)
    return unpack(_checked(record, name), file)


def source_of(record: BaselineRecord, config_id: str) -> Source:
    """The sources of one configuration's side: the baseline's archive, else git's of its commit.

    Raises:
        Refused: neither is there.
    """
    return source_of_acceptance(record, record.acceptance(config_id))


def source_of_acceptance(record: BaselineRecord, accepted: Acceptance) -> Source:
    """The sources of an acceptance's code; see :func:`source_of`."""
    try:
        return baseline_source(record, accepted.source)
    except Refused as problem:
        found = find_source(accepted.code_version, Home.from_environment())
        if found is not None:
            return found
        if not isinstance(problem, BaselineDamaged):
            raise
        raise Refused(
            f"{record.experiment}: {problem}; accept a night again: "
            f"{accept_command(record.experiment, 'NIGHT')}"
        ) from None


def damages(record: BaselineRecord) -> list[str]:
    """What of a baseline's files is missing, or is not what was accepted; a line each."""
    found = []
    for name in record.digests:
        try:
            _checked(record, name)
        except BaselineDamaged as damage:
            found.append(str(damage))
    return found


def refused_today(record: BaselineRecord) -> list[str]:
    """Configurations that an experiment may no longer have, each with the reason.

    A newer release of this program may know that no broker starts with them.
    """
    try:
        plan = baseline_plan(record)
    except BaselineDamaged:
        plan = None  # `damages` says it
    return [] if plan is None else [*_refused(plan, record)]


def _refused(plan: Plan, record: BaselineRecord) -> Iterator[str]:
    for one in record.configurations:
        try:
            healthy = healthy_scenario(plan.definition)
            overrides = one.overrides
            check_laid_over(apply(healthy, overrides), healthy, overrides, one.name)
        except InputError as error:
            yield f"refused today: {error}"


def baseline_plan(record: BaselineRecord) -> Plan | None:
    """The plan of the accepted night; None if neither has it any more, or nobody can read it.

    Raises:
        BaselineDamaged: it is missing, or not what was accepted.
    """
    home = Home.from_environment()
    try:
        if "plan" in record.digests:
            kept = _checked(record, "plan")
            return Plan.parse(kept.decode(), "the baseline's plan.json")
        return Plan.load(home.night_dir(record.experiment, record.night) / "plan.json")
    except InputError:
        return None


def _checked(record: BaselineRecord, name: str) -> bytes:
    """One of a baseline's files, by its name among the digests."""
    file = _FILES.get(name) or source_file(name)
    return _accepted(kept_files(_folder(record.experiment), [file]), file, record.digests[name])


@dataclass(frozen=True)
class BaselineSide:
    """Configurations whose partners in the baseline are of one code, and how to simulate them.

    Attributes:
        name: of the code, for a part of the tables.
        overrides: config_id of tonight -> what its partner in the baseline overrides.
        other: sources of that code; None if it is the present code.
        remarks: lines to say before.
    """

    name: str
    overrides: Mapping[str, Mapping[str, Any]]
    other: Source | None
    remarks: tuple[str, ...] = ()


def without_code(plan: Plan, config_ids: tuple[str, ...]) -> dict[str, str]:
    """Configurations whose side of the baseline cannot be simulated, and why.

    Each older code is tried: it repeats a pair that the baseline has. That compiles its kernel,
    before many processes need it.

    Returns:
        config_id -> one line that says what to do; no entry where nothing is in the way.
    """
    baseline = _in_force(plan)
    found: dict[str, str] = {}
    for members in _by_code(plan, baseline.record, config_ids).values():
        first = next(iter(members.values()))
        if _is_present(plan, baseline.record, first):
            continue
        try:
            _tried(plan, baseline, first)
        except Refused as refusal:
            found |= dict.fromkeys(members, str(refusal))
    return found


def _in_force(plan: Plan) -> Baseline:
    baseline = load(plan.experiment)
    assert baseline is not None, "something was compared, so there was a baseline"
    return baseline


def _partners(plan: Plan, config_ids: tuple[str, ...]) -> dict[str, str]:
    """config_id of tonight -> config_id in the baseline."""
    verdict = verdict_of(plan)
    return {
        one.config_id: one.baseline_config_id
        for one in verdict.configurations
        if one.config_id in config_ids and one.baseline_config_id is not None
    }


def _is_present(plan: Plan, record: BaselineRecord, partner: str) -> bool:
    """Whether a configuration of the baseline was simulated by the kernel that runs now."""
    return kernel_of(record.acceptance(partner).code_version) == kernel_of(plan.code_version)


def _by_code(
    plan: Plan, record: BaselineRecord, config_ids: tuple[str, ...]
) -> dict[str, dict[str, str]]:
    """Code of the baseline -> config_id of tonight -> config_id in the baseline."""
    found: dict[str, dict[str, str]] = {}
    for config_id, partner in _partners(plan, config_ids).items():
        code = kernel_of(record.acceptance(partner).code_version)
        found.setdefault(code, {})[config_id] = partner
    return found


def baseline_sides(plan: Plan, config_ids: tuple[str, ...]) -> tuple[BaselineSide, ...]:
    """Prepare the baseline's side of some configurations, with each older code tried here as well.

    Raises:
        Refused: a code cannot be run here, or gives other numbers than were accepted.
    """
    baseline = _in_force(plan)
    record = baseline.record
    sides = []
    for code, members in _by_code(plan, record, config_ids).items():
        overrides = {
            config_id: record.configuration(partner).overrides
            for config_id, partner in members.items()
        }
        first = next(iter(members.values()))
        if _is_present(plan, record, first):
            sides.append(BaselineSide(code, overrides, None))
            continue
        source = _tried(plan, baseline, first)
        others = source.other_libraries(libraries_here())
        remarks = tuple(f"the baseline's code runs with {one}" for one in others)
        sides.append(BaselineSide(code, overrides, source, remarks))
    return tuple(sides)


def _tried(plan: Plan, baseline: Baseline, partner: str) -> Source:
    """The sources of one configuration's side, once they gave again what was accepted.

    Raises:
        Refused: they are not kept, cannot be run here, or give another outcome; what to do.
    """
    source = source_of(baseline.record, partner)
    try:
        _repeat(plan, baseline, source, partner)
    except Refused as refusal:
        command = accept_command(plan.experiment, "NIGHT")
        raise Refused(f"{refusal}; accept a night of today's code: {command}") from None
    return source


def _repeat(plan: Plan, baseline: Baseline, source: Source, partner: str) -> None:
    """Run a pair that the baseline has by the code that it was accepted with.

    Raises:
        Refused: the code cannot be run here, or the outcome is another.
    """
    drawn = panel_rows("scenarios", plan, "regression")
    cheapest = drawn.sort_values(["expected_cost", "scenario_id"]).iloc[0]
    overrides = baseline.record.configuration(partner).overrides
    with Kernel(source, "the baseline's code") as kernel:
        ran = kernel.run(json.loads(cheapest["scenario_json"]), overrides, events=False)
        libraries = kernel.other_libraries()
    rows = baseline.outcomes
    (accepted,) = rows[
        (rows["scenario_id"] == cheapest["scenario_id"]) & (rows["config_id"] == partner)
    ].to_dict("records")
    if ran.problem or not _is_as_accepted(ran.outcome, accepted):
        notes = [one for one in (ran.problem, *libraries) if one]
        other = f" ({', '.join(notes)})" if notes else ""
        raise Refused(
            "the baseline's code does not give here what was accepted, in scenario "
            f"{cheapest['scenario_id']}{other}"
        )


def _is_as_accepted(outcome: Mapping[str, Any], accepted: Mapping[str, Any]) -> bool:
    """Whether a kernel gives an outcome again; an older release's table has fewer columns."""
    return all(outcome.get(name) == accepted[name] for name in COUNTED if name in accepted)
