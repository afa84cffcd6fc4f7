"""The two ends of a run of a night: begun with a plan, finished with a verdict or interrupted.

What a run is and holds is said by three things: its folder (``plan.json``, ``status.json``,
``verdict.json``, the report), its tables, and its MLflow runs. ``status.json`` says how far it
came; everything else is only as good as that says. A whole run becomes the night of its date
(:mod:`isr_pipeline.night.publication`).
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import Refused, shortened
from isr_pipeline.base.home import Home
from isr_pipeline.base.progress import BEGINS
from isr_pipeline.base.storage.places import Place, remove_tree
from isr_pipeline.base.storage.published import remove_debris
from isr_pipeline.kernels.source import keep_present
from isr_pipeline.night.airflow.airflow_rest import NOTE_CHARACTERS
from isr_pipeline.night.claim import holds_claim, release_night
from isr_pipeline.night.question import Question, refuse_another_panel
from isr_pipeline.night.show import changed_lines, worse_lines
from isr_pipeline.night.status import (
    FAILED,
    INTERRUPTED,
    RUNNING,
    Status,
    check_night,
    find_run,
    folder_of,
    now,
    run_folder,
    run_name,
    run_root,
    status_in,
    write_status,
)
from isr_pipeline.worlds.ready import compile_kernel

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.record import NightVerdict


def begin(
    experiment: str, night: str, question: Question, *, dag_run_id: str
) -> tuple[Place, list[str]]:
    """Plan a run of a night and note that it is running; the night itself stays as it is.

    Returns:
        File of the plan, and the names of the shards.

    Raises:
        InputError: the experiment file or ``config/verdicts.yaml`` cannot be used.
        Refused: the night was judged on other scenarios, and the run may not replace it.
    """
    from isr_pipeline.experiment.plan import make_plan  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.night import publication  # noqa: PLC0415 - reads Arrow
    from isr_pipeline.verdicts.quantities import load_settings  # noqa: PLC0415 - reads pydantic

    load_settings()  # what judges is read first: a night that cannot be judged is not simulated
    began = now()
    made = make_plan(experiment, check_night(night), question.panel_size, question.scenarios)
    plan = publication.of_run(made, dag_run_id, began)
    plan = plan.model_copy(update={"replace": question.replace})
    refuse_another_panel(plan)
    publication.begin_run(plan)
    keep_present(Home.from_environment(), plan.code_version)
    compile_kernel(BEGINS)
    return plan.place / "plan.json", [shard.name for shard in plan.shards]


def finish(
    experiment: str,
    night: str,
    *,
    broken: list[str],
    fail_on_regression: bool,
    dag_run_id: str,
) -> str:
    """Make a whole run the night of its date, give it free, and refuse to call a bad night good.

    Args:
        experiment: name.
        night: date.
        broken: tasks that did not end well, in words.
        fail_on_regression: whether a confirmed regression is a failure.
        dag_run_id: the run that ends.

    Returns:
        The verdict's headline.

    Raises:
        NotWhole: a task did not end well, or there is no verdict: the night is not this run's.
        Refused: the verdict is red.
    """
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads pydantic

    folder = run_folder(experiment, run_name(night, dag_run_id))
    noted = status_in(folder)
    try:
        verdict = _verdict(folder, experiment, night, broken)
        plan = Plan.load(folder / "plan.json")
        refuse_another_panel(plan)
    except Refused as refusal:
        failed = Status(FAILED, str(refusal), dag_run_id, noted.began or now())
        _note_failure(folder, experiment, night, failed)
        raise NotWhole(str(refusal)) from None
    else:
        _publish(plan, Status(str(verdict.status), "", dag_run_id, noted.began))
    finally:
        release_night(Home.from_environment(), experiment, night, owner=dag_run_id)
    from isr_pipeline.verdicts.sentences import headline  # noqa: PLC0415 - reads pydantic

    if verdict.red and (fail_on_regression or verdict.status != "regressed"):
        raise Refused(headline(verdict))
    return headline(verdict)


def _publish(plan: Plan, status: Status) -> None:
    """Make a whole run the night.

    Raises:
        NotWhole: a store does not take it now; nothing is said of the night that is still there.
    """
    from isr_pipeline.night import publication  # noqa: PLC0415 - reads Arrow

    try:
        publication.publish(plan, status)
    except Refused as refusal:
        raise NotWhole(
            f"night {plan.night} of {plan.experiment} was judged and could not be put in its "
            f"place: {refusal}; whoever asks for the night tries again"
        ) from None


def _note_failure(folder: Place, experiment: str, night: str, failed: Status) -> None:
    """Note that a run is not whole, wherever it was shown before.

    On a full disk nothing can be noted: the run is then listed as interrupted.
    """
    from isr_pipeline.night import publication  # noqa: PLC0415 - reads Arrow

    with suppress(OSError):
        write_status(folder, failed)
        was_whole = publication.withdraw(experiment, night, failed)
        _retract(folder, experiment, night, failed, restore=not was_whole)


def _retract(folder: Place, experiment: str, night: str, failed: Status, *, restore: bool) -> None:
    """Have MLflow say no verdict of a failed run that was logged before it failed."""
    from isr_pipeline.report.tracking import log_night, pages  # noqa: PLC0415 - reads MLflow

    if pages.run_page(folder) is None:
        return
    try:
        log_night.retract(experiment, night, failed.dag_run_id, failed.reason, restore=restore)
    except Refused as why:
        sys.stdout.write(f"MLflow still shows a verdict of this run: {why}\n")


class NotWhole(Refused):
    """A run that cannot be the night of its date."""


def _verdict(folder: Place, experiment: str, night: str, broken: list[str]) -> NightVerdict:
    """The verdict of a run that has come to its end.

    Raises:
        Refused: it has none.
    """
    if broken:
        why = "; ".join(", ".join(broken).splitlines())  # mistakes of a file have a line each
        raise Refused(f"night {night} of {experiment} has no verdict: {why}")
    from isr_pipeline.verdicts.record import verdict_in  # noqa: PLC0415 - reads pydantic

    verdict = verdict_in(folder, experiment, night)
    if verdict.awaiting:
        raise Refused(f"night {night} of {experiment}: further scenarios were never looked at")
    return verdict


SHOWS_REPORT = frozenset({"report", "gate"})
"""Tasks at whose end a night has its report."""


def made_by(task: str, experiment: str, dag_run_id: str) -> str:
    """Address for a browser of what a run makes, as far as a task has come; empty without one.

    Args:
        task: that has ended.
        experiment: of the run; runs of two DAGs can have one id.
        dag_run_id: of its run.
    """
    from isr_pipeline.report.tracking import pages  # noqa: PLC0415 - only here

    run = find_run(experiment, dag_run_id)
    if run is None:
        return ""
    report = pages.report_page(run.folder) if task in SHOWS_REPORT else None
    found = report or pages.runs_of(run.folder, experiment, run.night) or ""
    if not found or pages.named_server():
        return found
    return pages.by_airflow(experiment, dag_run_id, "report" if report else "mlflow")


HEADLINE_CHARACTERS = 300
"""Of a note, for its first line."""

CHANGES_MAX = 12
"""Changes since the baseline that are listed."""


def ending(experiment: str, night: str) -> list[str]:
    """What a person asks who sees a red night: how much worse, what changed, and what to do next.

    Returns:
        Lines: what got worse by how much, what changed since the baseline, the report, commands.
    """
    report = folder_of(experiment, night) / "report.html"
    return [
        *worse_lines(experiment, night),
        *(f"changed: {one}" for one in changed_lines(folder_of(experiment, night), CHANGES_MAX)),
        *([f"report: {report}"] if report.is_file() else []),
        *_commands(experiment, night),
    ]


def _commands(experiment: str, night: str) -> list[str]:
    """What shows the difference, finds its cause, and accepts it; none of a night that is well."""
    from isr_pipeline.verdicts.record import load_verdict  # noqa: PLC0415 - reads pydantic
    from isr_pipeline.verdicts.sentences import what_to_do  # noqa: PLC0415 - reads pydantic

    with suppress(Refused):
        return what_to_do(load_verdict(experiment, night))
    return []


def note_of(experiment: str, night: str, line: str) -> str:
    """Markdown for the page of a whole run: its line, the rest of what it ends with, links.

    Args:
        experiment: name.
        night: YYYY-MM-DD.
        line: what the run's gate says of it.
    """
    from isr_pipeline.report.tracking import pages  # noqa: PLC0415 - only here

    folder = folder_of(experiment, night)
    first = note_of_a_line(experiment, night, line)
    places = {"MLflow run": pages.run_page(folder), "report": pages.report_page(folder)}
    if places["report"] and not pages.named_server():
        run_id, ways = status_in(folder).dag_run_id, {"MLflow run": "mlflow", "report": "report"}
        places = {name: pages.by_airflow(experiment, run_id, way) for name, way in ways.items()}
    last = " · ".join(f"[{name}]({address})" for name, address in places.items() if address)
    commands = [f"* `{one}`" for one in _commands(experiment, night)]
    told = ending(experiment, night)
    bullets = [f"* {one}" for one in told[: len(told) - len(commands)]]
    while len(note := _in_parts(first, "\n".join([*bullets, *commands]), last)) > NOTE_CHARACTERS:
        if not bullets:
            return shortened(_in_parts(first, last), NOTE_CHARACTERS)
        bullets.pop()
    return note


def note_of_a_line(experiment: str, night: str, line: str) -> str:
    """Markdown for the page of a run that is not whole, and speaks for itself alone."""
    which = "" if night in line else f"{night} of {experiment}: "
    return f"**{which}{shortened(line, HEADLINE_CHARACTERS)}**"


def _in_parts(*parts: str) -> str:
    """Paragraphs, without the empty ones."""
    return "\n\n".join(part for part in parts if part)


def interrupt_run(experiment: str, dag_run_id: str) -> None:
    """Note that a run was stopped whose gate never ran, as when Airflow ended it for its time."""
    run = find_run(experiment, dag_run_id)
    if run is not None:
        interrupt(experiment, run.night, dag_run_id)


def interrupt(experiment: str, night: str, dag_run_id: str) -> None:
    """Note that a run was stopped half-way and remove what its jobs were writing.

    Does nothing if this run was not writing: it waited for its turn, or its gate has ended. One
    that was being published becomes the night all the same.
    """
    from isr_pipeline.night import publication  # noqa: PLC0415 - reads Arrow
    from isr_pipeline.tables import store  # noqa: PLC0415 - reads Arrow

    home = Home.from_environment()
    if not holds_claim(home, experiment, night, owner=dag_run_id):
        return
    publication.finish_publications(experiment)
    name = run_name(night, dag_run_id)
    folder, root = run_folder(experiment, name), run_root(experiment, name)
    if (noted := status_in(folder)).state == RUNNING:
        write_status(folder, replace(noted, state=INTERRUPTED, reason="stopped by hand"))
    for table in store.TABLES:
        remove_debris(store.table_path(table, experiment, night, root))
    remove_tree(store.parts_path(experiment, night, root=root))
    release_night(home, experiment, night, owner=dag_run_id)
