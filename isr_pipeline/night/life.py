"""The two ends of a night: begun with a plan, finished with a verdict or interrupted.

What a night is and holds is said by three things: its folder (``plan.json``, ``status.json``,
``verdict.json``, the report), its tables, and its MLflow runs. ``status.json`` says how far it
came; everything else is only as good as that says.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from isr_pipeline.errors import Refused, shortened
from isr_pipeline.home import Home
from isr_pipeline.kernels.source import keep_present
from isr_pipeline.night.claim import holds_claim, release_night
from isr_pipeline.night.show import changed_lines, headline_of, worse_lines
from isr_pipeline.night.status import (
    FAILED,
    INTERRUPTED,
    RUNNING,
    Status,
    check_night,
    folder_of,
    nights,
    note_run,
    noted_status,
    read_status,
    run_ids_of,
    write_status,
)
from isr_pipeline.storage.places import Place, remove_tree
from isr_pipeline.storage.published import remove_debris
from isr_pipeline.worlds.ready import compile_kernel


def begin(
    experiment: str, night: str, *, panel_size: int | None, dag_run_id: str
) -> tuple[Place, list[str]]:
    """Plan a night and note that it is running.

    Returns:
        File of the plan, and the names of the shards.

    Raises:
        InputError: the experiment file or ``config/verdicts.yaml`` cannot be used.
    """
    from isr_pipeline.experiment.plan import make_plan  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.settings import load_settings  # noqa: PLC0415 - reads pydantic

    load_settings()  # what judges is read first: a night that cannot be judged is not simulated
    plan = make_plan(experiment, check_night(night), panel_size)
    folder = folder_of(experiment, night)
    note_run(experiment, night, dag_run_id)
    folder.mkdir(parents=True, exist_ok=True)
    stale_files = ("verdict.json", "strata.json", "changed.json", "answer.json", "report.html")
    for stale in (*stale_files, "mlflow.json"):
        (folder / stale).unlink(missing_ok=True)
    write_status(experiment, night, Status(RUNNING, dag_run_id=dag_run_id))
    plan.save(folder / "plan.json")
    keep_present(Home.from_environment(), plan.code_version)
    compile_kernel()
    return folder / "plan.json", [shard.name for shard in plan.shards]


def finish(
    experiment: str,
    night: str,
    *,
    broken: list[str],
    fail_on_regression: bool,
    dag_run_id: str,
) -> str:
    """Note how the night ended, free the tables, and refuse to call a bad night good.

    Args:
        experiment: name.
        night: date.
        broken: tasks that did not end well, in words.
        fail_on_regression: whether a confirmed regression is a failure.
        dag_run_id: the run that ends.

    Returns:
        The verdict's headline, metrics in words.

    Raises:
        Refused: a task did not end well, there is no verdict, or it is red.
    """
    try:
        headline, state, red = _outcome(experiment, night, broken)
        write_status(experiment, night, Status(state, "", dag_run_id))
    except Refused as refusal:
        # On a full disk nothing can be noted: the night is then listed as interrupted.
        with suppress(OSError):
            write_status(experiment, night, Status(FAILED, str(refusal), dag_run_id))
        raise
    finally:
        release_night(Home.from_environment(), owner=dag_run_id)
    _announce(experiment, night)
    if red and (fail_on_regression or state != "regressed"):
        raise Refused(in_words(headline))
    return in_words(headline)


def _outcome(experiment: str, night: str, broken: list[str]) -> tuple[str, str, bool]:
    """Headline, status and colour of a night.

    Raises:
        Refused: it has none.
    """
    if broken:
        raise Refused(f"night {night} of {experiment} has no verdict: {', '.join(broken)}")
    from isr_pipeline.verdicts.model import load_verdict  # noqa: PLC0415 - reads pydantic

    verdict = load_verdict(experiment, night)
    if verdict.awaits_confirm:
        raise Refused(f"night {night} of {experiment}: further scenarios were never looked at")
    return verdict.headline, str(verdict.status), verdict.red


def _announce(experiment: str, night: str) -> None:
    """Send the headline to the configured notifier. A failing one does not fail the night."""
    from isr_pipeline.verdicts import notify  # noqa: PLC0415 - reads pydantic

    try:
        notifier = notify.configured()
        if notifier is not None:
            notify.announce(experiment, night, lambda line: notifier(in_words(line)))
    except Exception as error:
        sys.stdout.write(f"the notifier failed: {error}\n")


def run_ended(experiment: str, dag_run_id: str) -> str:
    """Give back what a DAG run still holds, and say for its page how it went.

    Returns:
        Markdown: its one line, and where to look further; empty if it wrote no night, or another
        run has written that night since.
    """
    written = _written_by(experiment, dag_run_id)
    if written is None:
        release_night(Home.from_environment(), owner=dag_run_id)
        return ""
    interrupt(*written, dag_run_id)
    return _run_note(*written)


def _written_by(experiment: str, dag_run_id: str) -> tuple[str, str] | None:
    """Experiment and night that a run was the last to write; None if there is no such night."""
    return next(
        (one for one in nights(experiment) if noted_status(*one).dag_run_id == dag_run_id),
        None,
    )


def replaced_by(experiment: str, dag_run_id: str) -> list[str]:
    """Ids of earlier runs whose results in MLflow a DAG run has replaced: their links lead nowhere.

    Returns:
        Oldest first; none if the run wrote no night, or did not come as far as MLflow.
    """
    from isr_pipeline.tracking import pages  # noqa: PLC0415 - only here

    written = _written_by(experiment, dag_run_id)
    if written is None or pages.run_page(*written) is None:
        return []
    return [one for one in run_ids_of(*written) if one != dag_run_id]


SHOWS_REPORT = frozenset({"report", "gate"})
"""Tasks at whose end a night has its report."""


def made_by(task: str, experiment: str, dag_run_id: str) -> str:
    """Address for a browser of what a run makes, as far as a task has come; empty without one.

    Args:
        task: that has ended.
        experiment: of the run; runs of two DAGs can have one id.
        dag_run_id: of its run.
    """
    from isr_pipeline.tracking import pages  # noqa: PLC0415 - only here

    written = _written_by(experiment, dag_run_id)
    if written is None:
        return ""
    report = pages.report_page(*written) if task in SHOWS_REPORT else None
    return report or pages.runs_of(*written) or ""


NOTE_CHARACTERS = 1_000
"""As much as Airflow's database keeps of a note; PostgreSQL refuses a longer one."""

HEADLINE_CHARACTERS = 300
"""Of a note, for its first line."""


def _run_note(experiment: str, night: str) -> str:
    """Which line the gate gave, what got worse, what changed, and links: as much as fits."""
    from isr_pipeline.tracking import pages  # noqa: PLC0415 - only here

    line = in_words(read_status(experiment, night).reason or headline_of(experiment, night))
    which = "" if night in line else f"{night} of {experiment}: "
    first = f"**{which}{shortened(line, HEADLINE_CHARACTERS)}**"
    places = {
        "MLflow run": pages.run_page(experiment, night),
        "report": pages.report_page(experiment, night),
    }
    links = [f"[{name}]({address})" for name, address in places.items() if address]
    report = folder_of(experiment, night) / "report.html"
    if report.is_file():
        links.append(f"`{report}`")
    bullets = [f"* {one}" for one in worse_lines(experiment, night)]
    bullets += [f"* changed: {one}" for one in changed_lines(experiment, night, 12)]
    last = " · ".join(links)
    while len(note := _in_parts(first, "\n".join(bullets), last)) > NOTE_CHARACTERS:
        if bullets:
            bullets.pop()
        elif links:
            links.pop()
            last = " · ".join(links)
        else:
            return shortened(note, NOTE_CHARACTERS)
    return note


def _in_parts(*parts: str) -> str:
    """Paragraphs, without the empty ones."""
    return "\n\n".join(part for part in parts if part)


def in_words(line: str) -> str:
    """A line of the verdict with its metrics in words."""
    from isr_pipeline.report import words  # noqa: PLC0415 - reads numpy

    return words.reason(line)


def interrupt(experiment: str, night: str, dag_run_id: str) -> None:
    """Note that a night was stopped half-way and remove what its jobs were writing.

    Does nothing if this run was not writing: it waited for its turn, or its gate has ended.
    """
    from isr_pipeline.outcomes import store  # noqa: PLC0415 - reads Arrow

    home = Home.from_environment()
    if not holds_claim(home, owner=dag_run_id):
        return
    if noted_status(experiment, night).state == RUNNING:
        write_status(experiment, night, Status(INTERRUPTED, "stopped by hand", dag_run_id))
    for table in store.TABLES:
        remove_debris(store.table_path(table, experiment, night))
    remove_tree(store.parts_path(experiment, night))
    release_night(home, owner=dag_run_id)
