"""What is kept: accepting a night as the baseline, and pruning old ones."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import USER_ERRORS, InputError, Refused
from isr_pipeline.base.files.lock import alone
from isr_pipeline.base.home import Home
from isr_pipeline.base.progress import Listener, Say, stages
from isr_pipeline.base.storage.places import remove_tree
from isr_pipeline.experiment.file import dag_id_of
from isr_pipeline.night.claim import refuse_if_claimed
from isr_pipeline.night.publication import find_experiment
from isr_pipeline.night.status import (
    WITHOUT_VERDICT,
    check_night,
    folder_of,
    nights,
    read_status,
    run_folders,
    status_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.baseline import BaselineRecord
    from isr_pipeline.verdicts.ledger import Entry

LINES_MAX = 12
"""Configurations whose absorbed changes are said one by one."""


def accept_baseline(
    experiment: str,
    night: str,
    *,
    who: str | None,
    why: str,
    only: Sequence[str] = (),
    absorb_unseen: bool = False,
    spark: Callable[[list[str]], None] | None = None,
) -> list[str]:
    """Make a night the baseline of its experiment; simulates its confirm panel if need be.

    Args:
        experiment: name.
        night: YYYY-MM-DD.
        who: name of the person; the login name if None.
        why: the reason, in one line.
        only: names of configurations that are accepted alone; empty: all of the night.
        absorb_unseen: whether a night is accepted that could not be compared with the baseline.
        spark: runs the job `simulate.py` with some arguments, if the confirm panel has to be
            simulated; None: where nights of this machine are.

    Returns:
        A line that says what was accepted, and lines that say which changes it absorbs.

    Raises:
        Refused: the night is not whole, could not be compared with the baseline, or one of the
            experiment is being written.
        InputError: no reason is given, or no such configuration.
    """
    from isr_pipeline.report.tracking.log_night import pin_baseline  # noqa: PLC0415 - reads MLflow
    from isr_pipeline.verdicts import acceptance  # noqa: PLC0415 - reads scipy

    night = check_night(night)
    refuse_if_claimed(Home.from_environment(), experiment)
    find_experiment(night, experiment)
    if read_status(experiment, night).state in WITHOUT_VERDICT:
        state = read_status(experiment, night)
        raise Refused(f"night {night} of {experiment} is {state.state}: nothing to accept")
    with (
        stages(f"accepting night {night} of {experiment}") as say,
        alone(Home.from_environment().locks, f"baseline.{experiment}"),
    ):
        say("compares it with the baseline")
        confirm = partial(simulate_confirm, spark, say=say)
        record = acceptance.accept(
            experiment,
            night,
            who,
            why,
            only=only,
            simulate_confirm=confirm,
            absorb_unseen=absorb_unseen,
        )
        say("marks its run in MLflow")
        pin_baseline(experiment)
    entry = record.entry
    assert entry is not None, "accept writes it"
    lost = "; the sources of its code were not found, so nobody can ask it why"
    kept = "" if record.newest_source in record.digests else lost
    what = f"{', '.join(entry.absorbed)} of night {night}" if only else f"night {night}"
    verb = "are" if len(entry.absorbed) > 1 and only else "is"
    first = (
        f"{what} {verb} the baseline of {experiment}, "
        f"accepted by {entry.accepted_by}: {entry.why}{kept}"
    )
    return [first, *_absorbed(experiment, entry)]


def _absorbed(experiment: str, entry: Entry) -> list[str]:
    """What could not be compared, what is no longer called, and what it adds up to by now."""
    from isr_pipeline.verdicts import ledger  # noqa: PLC0415 - reads pydantic

    lines = entry.changes()
    if not lines:
        return entry.told()
    more = len(lines) - LINES_MAX
    shown = ["absorbed, and not called again:", *(f"  {line}" for line in lines[:LINES_MAX])]
    if more > 0:
        shown.append(f"  and {more} more: isr-pipeline baseline ledger --experiment {experiment}")
    entries = ledger.read(experiment)
    summed = [one for one in ledger.compounded(entries) if one.acceptances > 1]
    return [
        *entry.told(),
        *shown,
        *(f"  in all, {one.text}" for one in summed[:LINES_MAX]),
    ]


def simulate_confirm(
    spark: Callable[[list[str]], None] | None,
    plan: Plan,
    config_ids: tuple[str, ...],
    *,
    say: Say = lambda _: None,
) -> None:
    """Run the confirm panel for some configurations of a finished night, on Spark.

    Args:
        spark: runs the job with some arguments; None: where nights of this machine are.
        plan: of the night.
        config_ids: of the configurations.
        say: told how far it is.

    Raises:
        Refused: the job failed; why.
        InputError: the connection that is set is no connection.
    """
    from isr_pipeline.night.spark.submit import JobFailed  # noqa: PLC0415

    file = Home.from_environment().night_dir(plan.experiment, plan.night) / "plan.json"
    arguments = ["--plan", str(file), "--panel", "confirm", "--configs", ",".join(config_ids)]
    said = io.StringIO()
    say("simulates its confirm panel")
    try:
        with contextlib.redirect_stdout(Listener(said, say)):
            (spark or _submit)(arguments)
    except JobFailed as failed:
        sys.stderr.write(said.getvalue())
        raise Refused(
            f"the confirm panel of night {plan.night} could not be simulated: {failed}"
        ) from None


def _submit(arguments: list[str]) -> None:
    """Run the job where nights of this machine are run."""
    from isr_pipeline.night.spark.submit import submit  # noqa: PLC0415
    from isr_pipeline.night.stack import environment, wanted_master  # noqa: PLC0415

    submit(
        "simulate.py",
        arguments,
        name="isr-confirm",
        master=wanted_master(),
        variables=environment(Home.from_environment()),
    )


def prune(
    keep: int, experiment: str | None = None, *, dry_run: bool = False
) -> Iterator[tuple[str, str]]:
    """Remove all but the newest nights of each experiment: tables, folder, Data Docs, MLflow runs.

    The night that is accepted as the baseline stays too: its run in MLflow and its report say what
    the others are compared with.

    Args:
        keep: how many nights with a verdict stay of each experiment, besides the accepted one.
        experiment: this one only.
        dry_run: remove nothing.

    Yields:
        Each night, once it is removed.

    Raises:
        Refused: a night is being written, or a baseline is damaged.
        InputError: ``keep`` is below 1.
    """
    if keep < 1:
        raise InputError("--keep", "", keep, "1 or more")
    refuse_if_claimed(Home.from_environment(), experiment)
    old = []
    for name in sorted({name for name, _ in nights(experiment)}):
        record = _baseline(name)
        old += [one for one in _older(keep, name) if record is None or not _is_of(record, *one)]
    for name, night in old:
        if not dry_run:
            remove(name, night)
        yield name, night


def _older(keep: int, experiment: str) -> list[tuple[str, str]]:
    """Nights before the newest with a verdict; one that failed is none of those that are kept."""
    having = nights(experiment)
    whole = [at for at, one in enumerate(having) if read_status(*one).state not in WITHOUT_VERDICT]
    return having[: whole[-keep]] if len(whole) >= keep else []


def _baseline(experiment: str) -> BaselineRecord | None:
    """What the baseline says of itself.

    Raises:
        Refused: it is damaged, so that nobody can tell which night it was.
    """
    from isr_pipeline.verdicts import baseline  # noqa: PLC0415 - reads scipy

    try:
        return baseline.show(experiment)
    except baseline.BaselineDamaged as damage:
        raise Refused(f"{experiment}: {damage}; nothing was removed") from None


def _is_of(record: BaselineRecord, experiment: str, night: str) -> bool:
    """Whether the baseline is made of a night's run; so it is where nobody can tell."""
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.record import load_verdict  # noqa: PLC0415

    if night not in {one.night for one in record.acceptances}:
        return False
    try:
        plan = Plan.of_night(experiment, night)
        return record.is_made_of(plan, load_verdict(experiment, night))
    except USER_ERRORS:
        return True


def remove(experiment: str, night: str) -> None:
    """Remove one night from everywhere; the folder last, so that a second try finds the rest."""
    from isr_pipeline.night import publication  # noqa: PLC0415 - reads Arrow
    from isr_pipeline.report.tracking.client import delete_night  # noqa: PLC0415 - reads MLflow
    from isr_pipeline.tables import store  # noqa: PLC0415 - reads Arrow
    from isr_pipeline.tables.validation import data_docs  # noqa: PLC0415

    home = Home.from_environment()
    logs = home.airflow / "logs" / f"dag_id={dag_id_of(experiment)}"
    folders = (folder_of(experiment, night), *run_folders(experiment, night))
    known = [logs / f"run_id={status_in(folder).dag_run_id}" for folder in folders]
    # Runs of a night are named after it, but for those that somebody gave another night.
    for run in (*known, *logs.glob(f"run_id=*__{night}T*")):
        shutil.rmtree(run, ignore_errors=True)
    publication.clear_runs(experiment, night)
    delete_night(experiment, night)
    store.delete_night(experiment, night)
    data_docs.remove_night(home.data_docs(experiment), experiment, night)
    remove_tree(home.night_dir(experiment, night))
