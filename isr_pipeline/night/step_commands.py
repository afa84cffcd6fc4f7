"""The commands ``night step`` and ``night task``, by which another Python does a task's work."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from typing import Annotated, Any

import typer

from isr_pipeline.base.errors import InputError
from isr_pipeline.night.options import AsJson


def night_step(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A step between plan and gate.")],
    *,
    plan: Annotated[str, typer.Option("--plan", metavar="FILE", help="Plan of the run.")],
    as_json: AsJson = False,
) -> None:
    """Do one step of a run that has its night already, as a task of Airflow does."""
    _check_home()
    from isr_pipeline.night.one_step import run_step  # noqa: PLC0415

    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        said = run_step(name, plan)
    if as_json:
        _answer({"step": name, "said": said})
    elif said:
        typer.echo(said)


def night_task(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A part of Airflow's tasks.")],
) -> None:
    """Do what a task of Airflow does beside steps: arguments and answer are JSON."""
    from isr_pipeline.night.one_step import told, with_caller  # noqa: PLC0415
    from isr_pipeline.night.task_work import WORK  # noqa: PLC0415

    if name not in WORK:
        raise InputError("night task", "NAME", name, ", ".join(WORK))
    takes = inspect.signature(WORK[name])
    try:
        asked = json.load(sys.stdin)
        if not isinstance(asked, dict):
            raise TypeError("no object")
        given = takes.bind(**asked)
    except (ValueError, TypeError) as error:
        allowed = f"a JSON object of {', '.join(takes.parameters) or 'nothing'}"
        raise InputError("night task", "standard input", str(error), allowed) from None
    with_caller()
    with contextlib.redirect_stdout(sys.stderr):
        answer = told(lambda: WORK[name](*given.args, **given.kwargs))
    _answer(answer)


def _check_home() -> None:
    from isr_pipeline.base.home import Home  # noqa: PLC0415
    from isr_pipeline.night.preconditions import check_home  # noqa: PLC0415

    check_home(Home.from_environment())


def _answer(value: Any) -> None:
    from isr_pipeline.base.files.whole import write_json  # noqa: PLC0415

    write_json(value, "-", "--json")
