"""The accepted baseline of an experiment: pinned by a person, never simply yesterday.

``<home>/baselines/<experiment>/`` holds ``baseline.json`` (who, when, why, and digests), copies of
the accepted night's tables and plan, and the sources of the kernel that made it. It is replaced as
a whole; a file that is missing or does not have its digest makes the baseline damaged, which is
said and never taken for an absent one.
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

from isr_pipeline.errors import Refused
from isr_pipeline.files.models import format_of
from isr_pipeline.home import Home
from isr_pipeline.storage.places import remove_tree
from isr_pipeline.storage.published import contents_of
from isr_pipeline.storage.remote import StoreDamaged
from isr_pipeline.verdicts.ledger import Entry
from isr_pipeline.verdicts.model import BaselineNote, accept_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isr_pipeline.experiment.grid import Configuration
    from isr_pipeline.storage.places import Place

FORMAT = 5
"""Number of the format of baseline.json: one more when an older one cannot be read any more."""

WHOLE_SOURCE = "source"
"""Name among the digests of the archive of the code that made the night accepted whole."""

RECORD = "baseline.json"
"""File that says what was accepted, by whom, and the digests of the other files."""

PANELS = ("regression", "confirm")
"""Panels whose outcomes a baseline keeps; further scenarios are simulated again."""


class BaselineDamaged(Refused):
    """The baseline is there and cannot be used; str() is the reason, one line."""


class Acceptance(BaseModel):
    """Who accepted what, when and why.

    Attributes:
        source: name among the record's digests of the archive of the code's sources.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    night: str
    accepted_by: str
    accepted_at: str
    why: str
    code_version: str
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


class BaselineRecord(BaseModel):
    """``baseline.json``.

    Attributes:
        night: that was accepted whole; some configurations may be of a later one since.
        entry: what the newest acceptance adds to the ledger; None until that is known.
        format: `FORMAT`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    experiment: str
    night: str
    accepted_by: str
    accepted_at: str
    why: str
    code_version: str
    panel_digest: str
    confirm_digest: str
    configurations: tuple[BaselineConfiguration, ...]
    digests: dict[str, str]
    entry: Entry | None = None
    format: int = FORMAT

    @property
    def whole(self) -> Acceptance:
        """The acceptance of the whole night."""
        return Acceptance(
            night=self.night,
            accepted_by=self.accepted_by,
            accepted_at=self.accepted_at,
            why=self.why,
            code_version=self.code_version,
            source=WHOLE_SOURCE,
        )

    @property
    def acceptances(self) -> tuple[Acceptance, ...]:
        """Of the whole night first, then of configurations alone."""
        return (self.whole, *(one.alone for one in self.configurations if one.alone is not None))

    @property
    def nights(self) -> frozenset[str]:
        """Nights that the baseline is made of."""
        return frozenset(one.night for one in self.acceptances)

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
            night=self.night,
            accepted_by=self.accepted_by,
            accepted_at=self.accepted_at,
            why=self.why,
            code_version=self.code_version,
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


@dataclass(frozen=True)
class Baseline:
    """An intact baseline: its record and its rows of both panels."""

    record: BaselineRecord
    outcomes: pd.DataFrame
    scenarios: pd.DataFrame


def show(experiment: str) -> BaselineRecord | None:
    """Who accepted what, when and why; None if nothing was ever accepted.

    Raises:
        BaselineDamaged: the record is missing from its folder, or unreadable.
    """
    return _record(experiment, kept_files(_folder(experiment), [RECORD]))


def accepted_nights(experiment: str) -> frozenset[str]:
    """Nights that the baseline is made of; none without one.

    Raises:
        BaselineDamaged: nobody can tell which nights.
    """
    record = show(experiment)
    return record.nights if record else frozenset()


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
        record = BaselineRecord.model_validate_json(kept[RECORD])
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


def checked_file(folder: Place, file: str, digest: str | None) -> bytes:
    """Content of one of a baseline's files, which is what was accepted.

    Raises:
        BaselineDamaged: it is missing, or is not that.
    """
    return _accepted(kept_files(folder, [file]), file, digest)


def _accepted(kept: Mapping[str, bytes], file: str, digest: str | None) -> bytes:
    """One of some files of a baseline; see `checked_file`."""
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
            accepted.append(f"{experiment} of {baseline.record.night}")
    return ", ".join(accepted) or "none accepted yet"


def forget(experiment: str) -> None:
    """Remove the baseline: the next night is `baseline` again."""
    remove_tree(Home.from_environment().baseline_dir(experiment))
