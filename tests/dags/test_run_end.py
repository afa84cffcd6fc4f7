"""What a night's run leaves on its gate's page, in Airflow's own tables."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from airflow.models import DagRun, import_all_models
from airflow.models.base import Base
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from sqlalchemy import create_engine, event, insert, select
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from isr_pipeline.orchestration import run_end, wiring
from isr_pipeline.orchestration.run_end import (
    ACCEPT,
    ACCEPT_DAG_ID,
    DAG_PREFIX,
    GATE,
    _note_acceptance,
    _note_gate,
    _take_links,
)


@pytest.fixture
def session() -> Iterator[Session]:
    """An empty database with Airflow's tables."""
    engine: Engine = create_engine("sqlite://")
    event.listen(engine, "connect", lambda one, _: one.execute("pragma foreign_keys = off"))
    import_all_models()
    Base.metadata.create_all(engine)
    with Session(engine) as one:
        yield one


def run_with(
    session: Session, *tasks: str, dag_id: str = f"{DAG_PREFIX}smoke", run_id: str = "manual__1"
) -> DagRun:
    """A failed run of a DAG with these tasks."""
    session.add(DagRun(dag_id=dag_id, run_id=run_id, run_type="manual", state="failed"))
    for task in tasks:
        values = {"id": uuid.uuid4(), "dag_id": dag_id, "run_id": run_id, "task_id": task}
        more = {"map_index": -1, "pool": "default_pool", "pool_slots": 1}
        session.execute(insert(TaskInstance).values(**values, **more))
    session.commit()
    return session.scalars(select(DagRun).where(DagRun.run_id == run_id)).one()


def test_the_gate_has_the_runs_note(session: Session) -> None:
    """Who opens the red square of the gate reads what got worse; other tasks have no note."""
    run = run_with(session, "plan", GATE)
    _note_gate(run, "**1 of 5 configurations regressed**")
    session.commit()
    notes = {one.task_id: one.note for one in session.scalars(select(TaskInstance))}
    assert notes == {"plan": None, GATE: "**1 of 5 configurations regressed**"}


def test_a_run_without_a_gate_has_no_note(session: Session) -> None:
    """A run that never got so far, or one that belongs to no session, is left alone."""
    run = run_with(session, "plan")
    _note_gate(run, "x")
    session.expunge(run)
    _note_gate(run, "x")
    assert [one.note for one in session.scalars(select(TaskInstance))] == [None]


def test_an_earlier_run_of_the_night_loses_its_links(session: Session) -> None:
    """They lead to runs that MLflow has no more; what the run found stays, and who came after."""
    earlier = run_with(session, GATE, run_id="manual__1")
    earlier.note = "**1 of 5 configurations regressed**\n\n* lag-20s\n\n[MLflow run](http://x)"
    another = run_with(session, GATE, run_id="manual__0")
    another.note = "**unchanged**\n\n[MLflow run](http://y)"
    session.commit()
    _take_links(run_with(session, GATE, run_id="manual__2"), ["manual__1"])
    session.commit()
    said = (
        "**1 of 5 configurations regressed**\n\n* lag-20s\n\n"
        "This night was run again since: `manual__2`"
    )
    notes = {one.run_id: one.note for one in session.scalars(select(DagRun))}
    assert notes == {
        "manual__0": "**unchanged**\n\n[MLflow run](http://y)",
        "manual__1": said,
        "manual__2": None,
    }
    gates = {one.run_id: one.note for one in session.scalars(select(TaskInstance))}
    assert gates["manual__1"] == said


def test_an_acceptance_says_what_it_absorbs(session: Session) -> None:
    """As the command line does: who, which night, why, and what is no longer called."""
    run = run_with(session, ACCEPT, dag_id=ACCEPT_DAG_ID)
    said = "night 2026-11-19 is the baseline\nabsorbed, and not called again:\n  lag-20s: p99"
    keep(session, run, run_end.SAID, said)
    _note_acceptance(run)
    assert run.note == (
        "**night 2026-11-19 is the baseline**\n\n* absorbed, and not called again:\n* lag-20s: p99"
    )


def test_a_refused_acceptance_says_why(session: Session) -> None:
    """The one line of the task's failure."""
    run = run_with(session, ACCEPT, dag_id=ACCEPT_DAG_ID)
    keep(session, run, run_end.WHY, "there is no night 2026-11-19 of smoke")
    _note_acceptance(run)
    assert run.note == "**there is no night 2026-11-19 of smoke**"


def test_the_keys_are_those_that_tasks_use() -> None:
    """The plugin imports nothing of ours, so each side has them."""
    assert (run_end.SAID, run_end.WHY) == (wiring.SAID, wiring.WHY)


def keep(session: Session, run: DagRun, key: str, value: str) -> None:
    """Leave a text as the task `accept` does."""
    XComModel.set(
        key=key,
        value=value,
        task_id=ACCEPT,
        dag_id=run.dag_id,
        run_id=run.run_id,
        session=session,
    )
    session.commit()
