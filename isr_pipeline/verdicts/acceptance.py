"""A person makes a night, or some configurations of it, the baseline.

The baseline's folder is replaced as a whole; then the acceptance is added to the ledger. The record
holds its own line of the ledger, so that the next acceptance adds it if this one is killed between
the two.

What an acceptance changes is its night against the baseline that is in force, on the same panel.
The night's verdict does not say it: it may be against an older baseline, and its numbers may be of
further scenarios, which another acceptance's are not. On the standing panel, which both have, the
ratios of a chain of acceptances multiply to that of its ends: those of weighted means, and the
geometric means of latencies as well.
"""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from isr_pipeline.base.errors import InputError, Refused, TableMissing
from isr_pipeline.base.files.words import close_or_all
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.published import content_of, replacing
from isr_pipeline.experiment.plan import Plan, code_version
from isr_pipeline.experiment.stages import CONFIRM
from isr_pipeline.kernels.commits import find_source
from isr_pipeline.kernels.source import Source, kernel_of, write_archive
from isr_pipeline.scenarios.panels import PANELS
from isr_pipeline.tables import store
from isr_pipeline.verdicts import ledger
from isr_pipeline.verdicts.baseline import (
    RECORD,
    WHOLE_SOURCE,
    Acceptance,
    Baseline,
    BaselineConfiguration,
    BaselineDamaged,
    BaselineRecord,
    as_json,
    baseline_panel,
    content_digest,
    load,
    show_if_whole,
    source_file,
    source_name,
    source_of_acceptance,
)
from isr_pipeline.verdicts.comparison import (
    PanelOutcomes,
    panel_rows,
    standing_panel,
    unusable_pairs,
)
from isr_pipeline.verdicts.ledger import (
    OTHER_PANEL,
    WAS_DAMAGED,
    Absorbed,
    AbsorbedMetrics,
    Entry,
    Unseen,
    absorbed,
)
from isr_pipeline.verdicts.looks import call
from isr_pipeline.verdicts.quantities import load_settings
from isr_pipeline.verdicts.record import (
    NightVerdict,
    Status,
    accept_command,
    load_verdict,
    run_again,
)
from isr_pipeline.verdicts.sentences import worse_of
from isr_pipeline.verdicts.unseen import last_compared

if TYPE_CHECKING:
    from isr_pipeline.experiment.configurations import Configuration

UNSEEN_SHOWN = 3
"""Configurations that a refusal names which had got worse."""

ConfirmRunner = Callable[[Plan, tuple[str, ...]], None]
"""Simulates the confirm panel of a plan for some config_ids and puts it into `outcomes`."""


def accept(
    experiment: str,
    night: str,
    who: str | None,
    why: str,
    *,
    only: Sequence[str] = (),
    simulate_confirm: ConfirmRunner | None = None,
    version: str | None = None,
    absorb_unseen: bool = False,
) -> BaselineRecord:
    """Make a night, or some configurations of it, the baseline, and add that to the ledger.

    Args:
        experiment: experiment name.
        night: a night that was judged.
        who: name of the person; the login name if None.
        why: one line that the next reader will be glad of.
        only: names or config_ids of configurations that are accepted alone, beside the others of
            the baseline that is there; empty: the whole night.
        simulate_confirm: runs the confirm panel for configurations whose confirm outcomes are not
            there (they are only simulated for what is flagged); None if it cannot be run here.
        version: of the code that runs now; asked of the plan module if None.
        absorb_unseen: whether a night is accepted that could not be compared with the baseline.

    Returns:
        The record written.

    Raises:
        InputError: ``why`` is empty, or the night has no such configuration.
        Refused: the night is not whole, its tables changed since it was judged, pairs of what is
            accepted failed, its confirm outcomes are missing and cannot be computed by the code
            that made the night, there is no baseline of the same panel that a configuration could
            be added to, or it could not be compared, and nobody said to absorb that.
    """
    if not why.strip():
        raise InputError("baseline accept", "why", "empty", "a reason, in one line")
    folder = Home.from_environment().night_dir(experiment, night)
    verdict = load_verdict(experiment, night)
    plan = Plan.load(folder / "plan.json")
    chosen = _chosen(plan, only)
    before = _to_be_replaced(plan, chosen) if only else None
    outcomes = _judged_outcomes(plan, verdict)
    _refuse_failed(plan, outcomes, chosen)
    unseen = _unseen(plan, absorb=absorb_unseen) if before is None else None
    if _without_confirm(plan, outcomes, chosen):
        outcomes = _computed_confirm(plan, outcomes, chosen, simulate_confirm, version)
    _complete_ledger(experiment)
    accepted = Acceptance(
        night=night,
        accepted_by=who or getpass.getuser(),
        accepted_at=_later_than_the_last(experiment),
        why=" ".join(why.split()),
        code_version=plan.code_version,
        source=WHOLE_SOURCE,
        run=plan.run,
        began=plan.began,
    )
    writing = (
        _whole(plan, accepted, outcomes)
        if before is None
        else _beside(before, plan, chosen, accepted, outcomes)
    )
    entry = _entry(plan, accepted, verdict, chosen, outcomes, before=before)
    entry = entry.model_copy(update={"unseen": unseen})
    record = _write(replace(writing, record=writing.record.model_copy(update={"entry": entry})))
    ledger.append(experiment, entry)
    return record


def _later_than_the_last(experiment: str) -> str:
    """The time of this acceptance, to the second.

    What a night was compared with is told by the time of its acceptance: two of one second, or of
    a clock that was set back, would be one. Such a one is a second later than the last.
    """
    now = datetime.now(UTC)
    last = max((one.accepted_at for one in ledger.read(experiment)), default="")
    if last:
        now = max(now, datetime.fromisoformat(last) + timedelta(seconds=1))
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _chosen(plan: Plan, only: Sequence[str]) -> tuple[Configuration, ...]:
    """Configurations that are accepted."""
    known = {key: one for one in plan.configurations for key in (one.name, one.config_id)}
    for name in only:
        if name not in known:
            allowed = close_or_all(name, [one.name for one in plan.configurations])
            raise InputError("baseline accept", "--config", name, allowed)
    wanted = {known[name].config_id for name in only}
    return tuple(one for one in plan.configurations if not only or one.config_id in wanted)


def _to_be_replaced(plan: Plan, chosen: tuple[Configuration, ...]) -> Baseline:
    """The baseline that some configurations are to be added to.

    Raises:
        Refused: there is none, it is of another panel, or it would hold two configurations with
            the same values that were not accepted together.
    """
    whole = f"accept the whole night: {accept_command(plan.experiment, plan.night)}"
    baseline = load(plan.experiment)
    if baseline is None:
        raise Refused(f"{plan.experiment} has no baseline yet; {whole}")
    record = baseline.record
    if not _is_of_panels(record, plan):
        raise Refused(
            f"the baseline of {plan.experiment} (night {record.called}) is of another panel than "
            f"night {plan.night}: nothing of the two can be compared"
        )
    replaced = _replaced(record, plan, chosen)
    for one in chosen:
        for other in record.configurations:
            if other.config_id == one.config_id and other.config_id not in replaced:
                raise Refused(
                    f"{one.name} has the values that {other.name} has in the baseline; "
                    "accept both, or the whole night"
                )
    return baseline


def _unseen(plan: Plan, *, absorb: bool) -> Unseen | None:
    """What to remember of a night that cannot be compared with the baseline; None if it can.

    Raises:
        Refused: it cannot, and nobody said to accept it all the same.
    """
    in_force, damage = _loaded(plan.experiment)
    if not damage and (in_force is None or _is_of_panels(in_force.record, plan)):
        return None
    last = last_compared(plan, show_if_whole(plan.experiment))
    unseen = Unseen()
    if last is not None:
        unseen = Unseen(last_compared=last.called, worse=tuple(worse_of(last.worse)))
    if absorb:
        return unseen
    why = "which is damaged" if damage else "which is of another panel"
    raise Refused(
        f"night {plan.night} of {plan.experiment} was not compared with the baseline, {why}; "
        f"{'; '.join(unseen.said(UNSEEN_SHOWN))}; to accept it all the same: --absorb-unseen"
    )


def _is_of_panels(record: BaselineRecord, plan: Plan) -> bool:
    """Whether a baseline has the scenarios of a night, so that configurations can be added."""
    digests = (record.panel_digest, record.confirm_digest)
    return digests == (plan.panel_digest, plan.confirm_digest)


def _replaced(record: BaselineRecord, plan: Plan, chosen: tuple[Configuration, ...]) -> set[str]:
    """config_ids of the baseline whose place some configurations of a night take."""
    partners = record.partners(plan.configurations)
    return {partners[one.config_id] for one in chosen if one.config_id in partners}


def _judged_outcomes(plan: Plan, verdict: NightVerdict) -> pd.DataFrame:
    """The night's outcomes, if they are those that its verdict is about."""
    outcomes = _outcomes(plan.experiment, plan.night)
    regression = outcomes[outcomes["panel"] == "regression"]
    if store.digest(regression, store.TABLES["outcomes"]) != verdict.outcomes_digest:
        raise Refused(
            f"night {plan.night}: its outcomes are not those that were judged; "
            f"{run_again(plan.experiment, plan.night)}"
        )
    return outcomes


def _refuse_failed(plan: Plan, outcomes: pd.DataFrame, chosen: tuple[Configuration, ...]) -> None:
    """Refuse configurations whose own pairs failed: every later night of theirs would be red.

    Raises:
        Refused: which they are, and how the others can be accepted.
    """
    failed = _failed(plan, outcomes, chosen, "regression")
    if not failed:
        return
    record = show_if_whole(plan.experiment)
    others = tuple(one for one in chosen if one.name not in failed)
    if others and record is not None and _is_of_panels(record, plan):
        command = accept_command(plan.experiment, plan.night, [one.name for one in others])
        advice = f"accept the others: {command}"
    else:
        again = run_again(plan.experiment, plan.night)
        advice = f"change what fails, or take it out of the experiment, and {again}"
    said = ", ".join(f"{name} ({problem})" for name, problem in failed.items())
    raise Refused(f"night {plan.night}: failed pairs make no baseline: {said}; {advice}")


def _failed(
    plan: Plan, outcomes: pd.DataFrame, chosen: tuple[Configuration, ...], panel: str
) -> dict[str, str]:
    """Configuration -> which of its pairs of a panel failed; those of which some did."""
    scenarios = panel_rows("scenarios", plan, panel)
    ids = tuple(one.config_id for one in chosen)
    rows = PanelOutcomes.from_frames(outcomes[outcomes["panel"] == panel], scenarios, ids)
    problems = {one.name: unusable_pairs(rows, one.config_id) for one in chosen}
    return {name: problem for name, problem in problems.items() if problem}


def _complete_ledger(experiment: str) -> None:
    """Add the newest acceptance if its program was killed before it did."""
    record = show_if_whole(experiment)
    if record is None or record.entry is None:
        return
    known = {(one.accepted_at, one.night) for one in ledger.read(experiment)}
    if (record.entry.accepted_at, record.entry.night) not in known:
        ledger.append(experiment, record.entry)


def _entry(
    plan: Plan,
    accepted: Acceptance,
    verdict: NightVerdict,
    chosen: tuple[Configuration, ...],
    outcomes: pd.DataFrame,
    *,
    before: Baseline | None,
) -> Entry:
    """The ledger's line of an acceptance; ``before`` is what some configurations are added to."""
    in_force, damage = before, ""
    if before is None:
        in_force, damage = _loaded(plan.experiment)
    found = _absorbed_by(plan, verdict, chosen, in_force)
    confirm = _of_confirm(plan, outcomes, chosen)
    removed: tuple[str, ...] = ()
    if before is None and (record := show_if_whole(plan.experiment)) is not None:
        kept = set(record.partners(plan.configurations).values())
        removed = tuple(one.name for one in record.configurations if one.config_id not in kept)
    return Entry(
        **accepted.accepted_fields(),
        panel_digest=verdict.panel_digest,
        compared_with=found.against,
        absorbed=found.metrics,
        removed=removed,
        remarks=tuple(one for one in (damage, found.remark, *confirm) if one),
    )


def _loaded(experiment: str) -> tuple[Baseline | None, str]:
    """The baseline in force; None, and what the ledger says of it, if it is damaged."""
    try:
        return load(experiment), ""
    except BaselineDamaged:
        return None, WAS_DAMAGED


def _of_confirm(
    plan: Plan, outcomes: pd.DataFrame, chosen: tuple[Configuration, ...]
) -> tuple[str, ...]:
    """Configurations whose further scenarios will decide nothing, a line each.

    Their nights are judged as long as nothing is open, so they can be accepted.
    """
    return tuple(
        f"{name}: panel confirm has {problem}; what a night leaves open of it will be no-data"
        for name, problem in _failed(plan, outcomes, chosen, CONFIRM).items()
    )


@dataclass(frozen=True)
class _Writing:
    """A baseline that is to be written.

    Attributes:
        plan: of the night that was accepted whole, as its file has it; None if it is gone.
        sources: name among the digests -> the sources to keep under it.
    """

    record: BaselineRecord
    frames: dict[str, pd.DataFrame]
    plan: bytes | None
    sources: dict[str, Source]


def _whole(plan: Plan, accepted: Acceptance, outcomes: pd.DataFrame) -> _Writing:
    """A night as the baseline."""
    home = Home.from_environment()
    source = find_source(plan.code_version, home)
    record = BaselineRecord(
        experiment=plan.experiment,
        **accepted.accepted_fields(),
        panel_digest=plan.panel_digest,
        confirm_digest=plan.confirm_digest,
        configurations=tuple(_kept(one) for one in plan.configurations),
        digests={},
    )
    scenarios = _panel_scenarios(plan.experiment, plan.night)
    return _Writing(
        record=record,
        frames={"outcomes": _of_panels(outcomes), "scenarios": scenarios},
        plan=(home.night_dir(plan.experiment, plan.night) / "plan.json").read_bytes(),
        sources={WHOLE_SOURCE: source} if source else {},
    )


def _kept(one: Configuration, alone: Acceptance | None = None) -> BaselineConfiguration:
    return BaselineConfiguration(
        name=one.name,
        config_id=one.config_id,
        is_grid=one.is_grid,
        overrides=as_json(one.overrides),
        alone=alone,
    )


def _beside(
    before: Baseline,
    plan: Plan,
    chosen: tuple[Configuration, ...],
    accepted: Acceptance,
    outcomes: pd.DataFrame,
) -> _Writing:
    """Some configurations of a night in the place of the baseline's, or beside them."""
    home, old = Home.from_environment(), before.record
    replaced = _replaced(old, plan, chosen)
    mine = _of_panels(outcomes[outcomes["config_id"].isin([one.config_id for one in chosen])])
    if set(mine.columns) != set(before.outcomes.columns):
        raise Refused(
            f"the baseline of {plan.experiment} (night {old.called}) has other columns than night "
            f"{plan.night}; accept the whole night: {accept_command(plan.experiment, plan.night)}"
        )
    others = before.outcomes[~before.outcomes["config_id"].isin(replaced)]
    source = find_source(plan.code_version, home)
    if source is not None:
        accepted = accepted.model_copy(update={"source": source_name(source)})
    kept = [one for one in old.configurations if one.config_id not in replaced]
    record = old.model_copy(
        update={"configurations": (*kept, *(_kept(one, accepted) for one in chosen))}
    )
    sources = {
        one.source: source_of_acceptance(old, one)
        for one in record.acceptances
        if one.source in old.digests
    }
    if source is not None:
        sources[accepted.source] = source
    rows = pd.concat([others, mine], ignore_index=True)
    return _Writing(
        record=record,
        frames={"outcomes": rows, "scenarios": before.scenarios},
        plan=content_of(home.baseline_dir(plan.experiment), "plan.json"),
        sources=sources,
    )


def _without_confirm(
    plan: Plan, outcomes: pd.DataFrame, chosen: tuple[Configuration, ...]
) -> tuple[str, ...]:
    """config_ids of what is accepted whose confirm outcomes are not all there."""
    pairs = outcomes[outcomes["panel"] == "confirm"].groupby("config_id").size()
    whole = plan.panels["confirm"]
    ids = (one.config_id for one in chosen)
    return tuple(config_id for config_id in ids if pairs.get(config_id, 0) != whole)


def _computed_confirm(
    plan: Plan,
    outcomes: pd.DataFrame,
    chosen: tuple[Configuration, ...],
    run: ConfirmRunner | None,
    version: str | None,
) -> pd.DataFrame:
    missing = _without_confirm(plan, outcomes, chosen)
    if version is None:
        version = code_version()
    if kernel_of(plan.code_version) != kernel_of(version):
        raise Refused(
            f"night {plan.night}: confirm outcomes are missing and its code version is "
            f"{plan.code_version}, now {version}; {run_again(plan.experiment, plan.night)}"
        )
    if run is not None:
        run(plan, missing)
        outcomes = _outcomes(plan.experiment, plan.night)
        missing = _without_confirm(plan, outcomes, chosen)
    if missing:
        raise Refused(
            f"night {plan.night}: confirm outcomes of {len(missing)} configurations are missing; "
            f"{run_again(plan.experiment, plan.night)}"
        )
    return outcomes


def _outcomes(experiment: str, night: str) -> pd.DataFrame:
    try:
        return store.read_table("outcomes", experiment, night)
    except TableMissing as missing:
        raise Refused(f"{missing}; {run_again(experiment, night)}") from None


def _of_panels(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["panel"].isin(PANELS)].reset_index(drop=True)


def _panel_scenarios(experiment: str, night: str) -> pd.DataFrame:
    """What a later comparison needs of the scenarios: weights, strata, kinds."""
    rows = _of_panels(store.read_table("scenarios", experiment, night))
    return rows[["panel", "scenario_id", "weight", "stratum", "fault_kinds"]]


def _write(new: _Writing) -> BaselineRecord:
    """Replace the baseline's folder as a whole."""
    record = new.record
    folder = Home.from_environment().baseline_dir(record.experiment)
    try:
        with replacing(folder) as writing:
            digests = {}
            for name, frame in new.frames.items():
                file = writing / f"{name}.parquet"
                table = pa.Table.from_pandas(frame, preserve_index=False)
                pq.write_table(table, file, compression="zstd")
                digests[name] = content_digest(file.read_bytes())
            if new.plan is not None:
                (writing / "plan.json").write_bytes(new.plan)
                digests["plan"] = content_digest(new.plan)
            for name, source in new.sources.items():
                file = writing / source_file(name)
                write_archive(source, file)
                digests[name] = content_digest(file.read_bytes())
            record = record.model_copy(update={"digests": digests})
            text = json.dumps(record.model_dump(mode="json"), indent=1, sort_keys=True)
            (writing / RECORD).write_text(text + "\n", encoding="utf-8")
    except PermissionError as problem:
        raise Refused(f"{folder}: cannot be written ({problem.strerror})") from None
    return record


@dataclass(frozen=True)
class _Absorption:
    """What accepting some configurations of a night changes of the baseline.

    Attributes:
        against: ``accepted_at`` of the baseline's newest acceptance; empty if there is none of this
            panel.
        metrics: configuration -> metric -> its change.
        remark: why nothing could be compared, though there was a baseline; empty if it was.
    """

    against: str
    metrics: dict[str, AbsorbedMetrics]
    remark: str = ""


def _absorbed_by(
    plan: Plan,
    verdict: NightVerdict,
    chosen: Sequence[Configuration],
    baseline: Baseline | None,
) -> _Absorption:
    """The changes; their statuses are the verdict's where it is against this baseline."""
    nothing: dict[str, AbsorbedMetrics] = {one.name: {} for one in chosen}
    if baseline is None:
        return _Absorption("", nothing)
    if baseline.record.panel_digest != verdict.panel_digest:
        return _Absorption("", nothing, OTHER_PANEL)
    settings = load_settings()
    newest = baseline.record.note().latest_at
    known = baseline.record.partners(plan.configurations)
    asked = {one.config_id: one.name for one in chosen if one.config_id in known}
    _, new = standing_panel(plan, tuple(asked))
    old = baseline_panel(baseline, "regression", tuple(known[one] for one in asked))
    broken = np.any(new.unusable | old.unusable, axis=0)
    ids = [one for column, one in enumerate(asked) if not broken[column]]
    found: dict[str, AbsorbedMetrics] = {
        name: {metric: Absorbed(status=Status.NO_DATA) for metric in settings.metrics}
        for config_id, name in asked.items()
        if config_id not in ids
    }
    if not ids:
        return _Absorption(newest, nothing | found)
    called, _ = call(
        new.select(tuple(ids)),
        old.select(tuple(known[one] for one in ids)),
        settings,
    )
    is_judged = verdict.baseline is not None and verdict.baseline.latest_at == newest
    for config_id, metrics in zip(ids, called, strict=True):
        change = absorbed(metrics)
        found[asked[config_id]] = _as_judged(change, verdict, config_id) if is_judged else change
    return _Absorption(newest, nothing | found)


def _as_judged(found: AbsorbedMetrics, verdict: NightVerdict, config_id: str) -> AbsorbedMetrics:
    """The same changes with the statuses of the night's verdict, which further scenarios made."""
    judged = {one.metric: one.status for one in verdict.configuration(config_id).metrics}
    return {
        metric: one.model_copy(update={"status": judged.get(metric, one.status)})
        for metric, one in found.items()
    }
