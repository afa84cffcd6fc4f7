"""The accepted baseline of an experiment: pinned by a person, never simply yesterday.

``<home>/baselines/<experiment>/`` holds ``baseline.json`` (who, when, why, and digests), copies of
the accepted night's tables and plan, and the sources of the kernel that made it. It is replaced as
a whole; a file that is missing or does not have its digest makes the baseline damaged, which is
said and never taken for an absent one.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from isr_pipeline.errors import InputError, Refused, TableMissing
from isr_pipeline.home import Home
from isr_pipeline.kernels.finding import find_source
from isr_pipeline.kernels.source import FILE, write_archive
from isr_pipeline.outcomes import store
from isr_pipeline.verdicts.model import BaselineNote, load_verdict
from isr_pipeline.verdicts.panel import exposure_partition_s

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

PANELS = ("regression", "confirm")
"""Panels whose outcomes a baseline keeps; the fresh panel is another one every night."""

ConfirmRunner = Callable[["Plan", tuple[str, ...]], None]
"""Simulates the confirm panel of a plan for some config_ids and puts it into `outcomes`."""


class BaselineDamaged(Refused):
    """The baseline is there and cannot be used; str() is the reason, one line."""


class BaselineConfiguration(BaseModel):
    """How a configuration of the baseline is found again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    config_id: str
    is_grid: bool
    overrides: dict[str, Any]


class BaselineRecord(BaseModel):
    """``baseline.json``."""

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

    def note(self) -> BaselineNote:
        """Return the part that goes into a night's verdict."""
        return BaselineNote(
            night=self.night,
            accepted_by=self.accepted_by,
            accepted_at=self.accepted_at,
            why=self.why,
            code_version=self.code_version,
            panel_digest=self.panel_digest,
        )

    def partner(self, *, name: str, config_id: str, is_grid: bool, overrides: Any) -> str | None:
        """config_id of the same configuration in the baseline, or None if it is new.

        A named candidate is the same if its name is, whatever its values are now; a grid point is
        the same if its values are, whatever it is called.
        """
        for one in self.configurations:
            if one.is_grid != is_grid:
                continue
            if is_grid and (one.config_id == config_id or one.overrides == _plain(overrides)):
                return one.config_id
            if not is_grid and one.name == name:
                return one.config_id
        return None


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
    folder = Home.from_environment().baseline_dir(experiment)
    if not folder.exists():
        return None
    path = folder / "baseline.json"
    try:
        record = BaselineRecord.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BaselineDamaged("baseline is damaged: baseline.json is missing") from None
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
    record = show(experiment)
    if record is None:
        return None
    folder = Home.from_environment().baseline_dir(experiment)
    frames = {name: _read(folder, name, record) for name in ("outcomes", "scenarios")}
    return Baseline(record=record, outcomes=frames["outcomes"], scenarios=frames["scenarios"])


def accept(
    experiment: str,
    night: str,
    who: str | None,
    why: str,
    *,
    simulate_confirm: ConfirmRunner | None = None,
    code_version: str | None = None,
) -> BaselineRecord:
    """Make a night the baseline.

    Args:
        experiment: experiment name.
        night: a night that was judged.
        who: name of the person; the login name if None.
        why: one line that the next reader will be glad of.
        simulate_confirm: runs the confirm panel for configurations whose confirm outcomes are not
            there (they are only simulated for what is flagged); None if it cannot be run here.
        code_version: version of the code that runs now; asked of the plan module if None.

    Returns:
        The record written.

    Raises:
        InputError: ``why`` is empty.
        Refused: the night is not whole, its tables changed since it was judged, or its confirm
            outcomes are missing and cannot be computed by the code that made the night.
    """
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - plan imports nothing of ours

    if not why.strip():
        raise InputError("baseline accept", "why", "empty", "a reason, in one line")
    folder = Home.from_environment().night_dir(experiment, night)
    verdict = load_verdict(experiment, night)
    plan = Plan.load(folder / "plan.json")
    outcomes = _outcomes(experiment, night)
    regression = outcomes[outcomes["panel"] == "regression"]
    if store.digest(regression, store.TABLES["outcomes"]) != verdict.outcomes_digest:
        raise Refused(
            f"night {night}: its outcomes are not those that were judged; "
            f"{_again(experiment, night)}"
        )
    if _without_confirm(plan, outcomes):
        outcomes = _computed_confirm(plan, outcomes, simulate_confirm, code_version)
    record = BaselineRecord(
        experiment=experiment,
        night=night,
        accepted_by=who or getpass.getuser(),
        accepted_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        why=" ".join(why.split()),
        code_version=plan.code_version,
        panel_digest=plan.panel_digest,
        confirm_digest=plan.confirm_digest,
        configurations=tuple(
            BaselineConfiguration(
                name=one.name,
                config_id=one.config_id,
                is_grid=one.is_grid,
                overrides=_plain(one.overrides),
            )
            for one in plan.configurations
        ),
        digests={},
    )
    frames = {"outcomes": _of_panels(outcomes), "scenarios": _panel_scenarios(experiment, night)}
    return _write(record, frames, folder / "plan.json")


def _without_confirm(plan: Plan, outcomes: pd.DataFrame) -> tuple[str, ...]:
    """config_ids whose confirm outcomes are not all there."""
    pairs = outcomes[outcomes["panel"] == "confirm"].groupby("config_id").size()
    whole = plan.panels["confirm"]
    ids = (one.config_id for one in plan.configurations)
    return tuple(config_id for config_id in ids if pairs.get(config_id, 0) != whole)


def _computed_confirm(
    plan: Plan, outcomes: pd.DataFrame, run: ConfirmRunner | None, code_version: str | None
) -> pd.DataFrame:
    missing = _without_confirm(plan, outcomes)
    if code_version is None:
        from isr_pipeline.experiment import plan as plans  # noqa: PLC0415

        code_version = plans.code_version()
    if plan.code_version != code_version:
        raise Refused(
            f"night {plan.night}: confirm outcomes are missing and its code version is "
            f"{plan.code_version}, now {code_version}; {_again(plan.experiment, plan.night)}"
        )
    if run is not None:
        run(plan, missing)
        outcomes = _outcomes(plan.experiment, plan.night)
        missing = _without_confirm(plan, outcomes)
    if missing:
        raise Refused(
            f"night {plan.night}: confirm outcomes of {len(missing)} configurations are missing; "
            f"{_again(plan.experiment, plan.night)}"
        )
    return outcomes


def _again(experiment: str, night: str) -> str:
    return f"run it again: make nightly NIGHT={night} EXPERIMENT={experiment}"


def _outcomes(experiment: str, night: str) -> pd.DataFrame:
    try:
        return store.read_table("outcomes", experiment, night)
    except TableMissing as missing:
        raise Refused(f"{missing}; {_again(experiment, night)}") from None


def _of_panels(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["panel"].isin(PANELS)].reset_index(drop=True)


def _panel_scenarios(experiment: str, night: str) -> pd.DataFrame:
    """What a later comparison needs of the scenarios: weights, strata, kinds, exposure."""
    rows = _of_panels(store.read_table("scenarios", experiment, night))
    kept = rows[["panel", "scenario_id", "weight", "stratum", "fault_kinds"]].copy()
    kept["exposure_s"] = [exposure_partition_s(text) for text in rows["scenario_json"]]
    return kept


def _write(record: BaselineRecord, frames: dict[str, pd.DataFrame], plan: Path) -> BaselineRecord:
    home = Home.from_environment()
    folder = home.baseline_dir(record.experiment)
    source = find_source(record.code_version, home)
    try:
        with store.replacing(folder) as writing:
            digests = {}
            for name, frame in frames.items():
                file = writing / f"{name}.parquet"
                table = pa.Table.from_pandas(frame, preserve_index=False)
                pq.write_table(table, file, compression="zstd")
                digests[name] = file_digest(file)
            shutil.copyfile(plan, writing / "plan.json")
            digests["plan"] = file_digest(plan)
            if source is not None:
                write_archive(source, writing / FILE)
                digests["source"] = file_digest(writing / FILE)
            record = record.model_copy(update={"digests": digests})
            text = json.dumps(record.model_dump(mode="json"), indent=1, sort_keys=True)
            (writing / "baseline.json").write_text(text + "\n", encoding="utf-8")
    except PermissionError as problem:
        raise Refused(f"{folder}: cannot be written ({problem.strerror})") from None
    return record


def _read(folder: Path, name: str, record: BaselineRecord) -> pd.DataFrame:
    file = folder / f"{name}.parquet"
    if not file.is_file():
        raise BaselineDamaged(f"baseline is damaged: {file.name} is missing")
    if file_digest(file) != record.digests.get(name):
        raise BaselineDamaged(f"baseline is damaged: {file.name} is not what was accepted")
    frame = store.with_names_of_today(pq.read_table(file)).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    return frame


def file_digest(file: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _plain(overrides: Any) -> dict[str, Any]:
    """Overrides as JSON gives them back (a tuple becomes a list)."""
    return dict(json.loads(json.dumps(dict(overrides))))


def forget(experiment: str) -> None:
    """Remove the baseline: the next night is `baseline` again."""
    shutil.rmtree(Home.from_environment().baseline_dir(experiment), ignore_errors=True)
