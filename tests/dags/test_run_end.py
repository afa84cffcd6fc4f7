"""What a night's run leaves on its gate's page, in Airflow's own tables."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from airflow.models import DagRun, import_all_models
from airflow.models.base import Base
from airflow.models.taskinstance import TaskInstance
from sqlalchemy import create_engine, event, insert, select
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from isr_pipeline.orchestration.run_end import DAG_ID, GATE, _note_gate


@pytest.fixture
def session() -> Iterator[Session]:
    """An empty database with Airflow's tables."""
    engine: Engine = create_engine("sqlite://")
    event.listen(engine, "connect", lambda one, _: one.execute("pragma foreign_keys = off"))
    import_all_models()
    Base.metadata.create_all(engine)
    with Session(engine) as one:
        yield one


def run_with(session: Session, *tasks: str) -> DagRun:
    """A failed run of the DAG with these tasks."""
    session.add(DagRun(dag_id=DAG_ID, run_id="manual__1", run_type="manual", state="failed"))
    for task in tasks:
        values = {"id": uuid.uuid4(), "dag_id": DAG_ID, "run_id": "manual__1", "task_id": task}
        more = {"map_index": -1, "pool": "default_pool", "pool_slots": 1}
        session.execute(insert(TaskInstance).values(**values, **more))
    session.commit()
    return session.scalars(select(DagRun)).one()


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
