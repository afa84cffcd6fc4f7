"""What Airflow's tasks do with the libraries of a night, beside its steps.

Airflow's own Python may lack these libraries: `isr-pipeline night task` does each of these in
another one. So arguments and answers are what JSON can hold, and libraries are imported where they
are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home


def check_places() -> None:
    """Ask whether a night could write its home, its store, its tables and MLflow."""
    from isr_pipeline.night import preconditions  # noqa: PLC0415

    home = Home.from_environment()
    preconditions.check_places(home)
    preconditions.check_store(home)


def begin(experiment: str, night: str, run: str, question: dict[str, Any]) -> dict[str, Any]:
    """Plan a run: the plan's file, and the names of the shards."""
    from isr_pipeline.night import life  # noqa: PLC0415
    from isr_pipeline.night.question import Question  # noqa: PLC0415

    file, shards = life.begin(experiment, night, Question(**question), dag_run_id=run)
    return {"plan": str(file), "shards": shards}


def take_up(experiment: str, night: str, run: str) -> None:
    """Let a run that is the night already go on where tasks of it were cleared."""
    from isr_pipeline.night import publication  # noqa: PLC0415

    publication.take_up(experiment, night, run)


def before_spark(plan: str, panel: str = "") -> dict[str, Any]:
    """What a Spark task has to know: its time limit, and why its stage is left out, if it is.

    Args:
        plan: file.
        panel: of the stage; empty for the standing panel.
    """
    from isr_pipeline.base.storage.places import place_of  # noqa: PLC0415
    from isr_pipeline.experiment.cost import task_limit_s  # noqa: PLC0415
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415
    from isr_pipeline.night.steps import no_stage  # noqa: PLC0415

    read = Plan.load(place_of(plan))
    skipped = no_stage(read, panel) if panel else ""
    return {"limit_s": round(task_limit_s(read)), "skipped": skipped}


def end(
    experiment: str,
    night: str,
    run: str,
    *,
    refused: str,
    by_hand: bool,
    broken: list[str],
    fail_on_regression: bool,
) -> dict[str, Any]:
    """End a run: make it the night if it is whole, and say how it went.

    Args:
        experiment: name.
        night: date.
        run: id of the DAG run.
        refused: why it does not have its night, if it does not.
        by_hand: whether somebody ended it.
        broken: tasks that did not end well, in words.
        fail_on_regression: whether a confirmed regression makes it red.

    Returns:
        Whether the run is red, what is said of it, more lines for the log, and the page's note.
    """
    from isr_pipeline.night import life  # noqa: PLC0415

    red = whole = True
    try:
        if refused:
            raise life.NotWhole("; ".join(broken) or refused)
        if by_hand:
            life.interrupt(experiment, night, run)
            raise life.NotWhole(f"night {night} of {experiment}: stopped by hand")
        said = life.finish(
            experiment,
            night,
            broken=broken,
            fail_on_regression=fail_on_regression,
            dag_run_id=run,
        )
        red = False
    except life.NotWhole as refusal:
        said, whole = str(refusal), False
    except Refused as refusal:
        said = str(refusal)
    more = life.ending(experiment, night) if red and whole else []
    noted = life.note_of if whole else life.note_of_a_line
    return {"red": red, "said": said, "more": more, "note": noted(experiment, night, said)}


def interrupt(experiment: str, run: str) -> None:
    """Give a night free whose run's gate never ran."""
    from isr_pipeline.night import life  # noqa: PLC0415

    life.interrupt_run(experiment, run)


class _Simulate(Exception):
    """An acceptance needs the confirm panel first; the arguments of the job."""


def accept(experiment: str, night: str, *, simulated: bool, **given: Any) -> dict[str, Any]:
    """Make a night the baseline, or say which job of `simulate.py` has to run before.

    Args:
        experiment: name.
        night: date.
        simulated: whether that job has run.
        given: as :func:`isr_pipeline.night.keep.accept_baseline` takes it.

    Returns:
        ``lines`` that say what was accepted, or the arguments of the job under ``simulate``.
    """
    from isr_pipeline.night.keep import accept_baseline  # noqa: PLC0415

    def job(arguments: list[str]) -> None:
        if not simulated:
            raise _Simulate(arguments)

    try:
        return {"lines": accept_baseline(experiment, night, spark=job, **given)}
    except _Simulate as first:
        return {"simulate": first.args[0]}


def prune(keep: int) -> dict[str, Any]:
    """Remove all but the newest nights of each experiment; lines, and why others had to stay."""
    from isr_pipeline.night import keep as kept  # noqa: PLC0415
    from isr_pipeline.night.status import nights  # noqa: PLC0415

    lines: list[str] = []
    refused = []
    for experiment in sorted({name for name, _ in nights()}):
        try:
            lines += (f"removed {night} of {name}" for name, night in kept.prune(keep, experiment))
        except Refused as refusal:
            refused.append(str(refusal))
    return {"lines": lines, "refused": refused}


def examine() -> dict[str, Any]:
    """Ask what is wrong with the installation, as `isr-pipeline doctor` does."""
    from isr_pipeline.night.doctor import examine as findings  # noqa: PLC0415
    from isr_pipeline.verdicts import baseline  # noqa: PLC0415
    from isr_pipeline.verdicts.quantities import load_settings  # noqa: PLC0415

    found = findings(load_settings, baseline.examined)
    wrong = [f"{one.part}: {one.text}" for one in found if not one.good]
    return {"lines": [str(one) for one in found], "wrong": wrong}


WORK: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (check_places, begin, take_up, before_spark, end, interrupt, accept, prune, examine)
}
"""All of it by name."""
