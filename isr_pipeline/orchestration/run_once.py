"""Run the DAG `isr_nightly` once and say what happens, one JSON object a line.

A program of its own, started by `isr-pipeline night run`, because it is Airflow that runs here:

* Nobody runs Airflow on this home: this program schedules this one run, with LocalExecutor's
  workers and an execution API server below it. Tasks run, log and are recorded as under any
  scheduler; no other run is touched. The loop is that of Airflow's `dag.test`, which polls once a
  second; this one waits for its workers' messages.
* `make ui` runs: the run is triggered there, and followed.
* Another one of these was killed: its run is marked as failed, so that nothing resumes it.

Standard input is a pipe that the parent holds: when it closes, or on SIGTERM, the run is marked as
failed and every process of it ends (exit status 130).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from isr_pipeline.host.stack import DATABASE_VERSION
from isr_pipeline.night import steps

DAG_ID = "isr_nightly"
BUNDLE = "dags-folder"

NEEDED_BY_TASKS = ("airflow.sdk.execution_time.task_runner", *steps.NEEDED)
"""Modules that take a task seconds to import, and nothing once they are there."""

POLL_SECONDS = 0.4
API_SECONDS_MAX = 120.0
QUEUED_SECONDS = 15.0
END_SECONDS_MAX = 8.0

_fork = multiprocessing.get_context("fork")


class Stopped(BaseException):
    """The parent asks to stop, or is gone."""


class EventWriter:
    """Writes events for the parent; everything else this process says goes to a log file."""

    def __init__(self, log: Path) -> None:
        self._out = os.fdopen(os.dup(1), "w", buffering=1)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)

    def __call__(self, event: str, **facts: Any) -> None:
        """Write one event."""
        self._out.write(json.dumps({"event": event, **facts}, default=str) + "\n")


def main() -> int:
    """Run or follow; exit status 0 if the run succeeded, 1 if it failed, 130 if stopped."""
    parser = argparse.ArgumentParser(description="run the DAG isr_nightly once")
    parser.add_argument("--conf", type=json.loads, help="the run's params, JSON")
    parser.add_argument("--log", type=Path, required=True, help="file for Airflow's own messages")
    parser.add_argument("--follow-only", action="store_true", help="another program schedules")
    parser.add_argument("--give-up", metavar="RUN", help="mark a run as failed, do nothing else")
    options = parser.parse_args()
    emit = EventWriter(options.log)
    if options.give_up:
        _fail_run(options.give_up)
        return 0
    now = datetime.now(UTC)
    run_id = _name_of_run(options.conf, now)
    signal.signal(signal.SIGTERM, _raise_stopped)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if options.follow_only:
            _trigger_elsewhere(options.conf, run_id, now)
            _stop_with_parent()
            return 0 if _follow(run_id, emit, waits=True) == "success" else 1
        return 0 if _run_here(options.conf, run_id, now, emit) == "success" else 1
    except Stopped:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _fail_run(run_id)
        with contextlib.suppress(BrokenPipeError):
            emit("end", state="failed")
        _end_children()  # who still writes, before what was written is removed
        _note_interrupted(options.conf, run_id)
        return 130
    finally:
        _end_children()


def _name_of_run(conf: dict[str, Any], now: datetime) -> str:
    """Id of the run, which Airflow's list of runs shows: when, of which experiment, which night."""
    return f"manual__{now.isoformat()}_{conf['experiment']}_{conf['night']}"


def _raise_stopped(*_: object) -> None:
    raise Stopped


def _stop_with_parent() -> None:
    """Stop as soon as the parent's end of standard input closes."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


# -- scheduling the run here ------------------------------------------------------------------


def _run_here(conf: dict[str, Any], run_id: str, now: datetime, emit: EventWriter) -> str:
    """Be the scheduler of this one run; return its final state."""
    emit("stage", text="starting Airflow")
    _migrate()
    _fork.Process(target=_serve_api, daemon=True).start()
    bag = _read_dags()
    _in_child(_queue, bag, conf, run_id, now)
    follower = _fork.Process(target=_follow, args=(run_id, emit), daemon=True)
    follower.start()
    _import_what_tasks_need()
    _wait_for_api()
    # Threads and forks do not go together: the executor forks, so the watcher of the parent is a
    # process too.
    watcher = _fork.Process(target=_watch_parent, args=(os.getpid(),), daemon=True)
    watcher.start()
    state = _schedule(bag.dags[DAG_ID], run_id)
    follower.join(timeout=10)
    return state


def _read_dags() -> Any:
    """Read the DAG files.

    Raises:
        SystemExit: one cannot be read.
    """
    from airflow.dag_processing.dagbag import BundleDagBag  # noqa: PLC0415 - takes seconds

    folder = Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    bag = BundleDagBag(folder, bundle_path=folder, bundle_name=BUNDLE)
    if bag.import_errors:
        raise SystemExit("\n".join(bag.import_errors.values()))
    return bag


def _make_known(bag: Any) -> None:
    """Write the DAGs as they are now into the database."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: PLC0415
    from airflow.dag_processing.dagbag import sync_bag_to_db  # noqa: PLC0415

    DagBundlesManager().sync_bundles_to_db()
    sync_bag_to_db(bag, BUNDLE, None)


def _queue(bag: Any, conf: dict[str, Any], run_id: str, now: datetime) -> None:
    """Make the DAGs known to the database and queue the run."""
    _make_known(bag)
    _trigger(conf, run_id, now)


def _import_what_tasks_need() -> None:
    """Import in the process that tasks are forked from, once for all of them.

    A module that cannot be imported is left to the task that needs it, whose log is read.
    """
    logging.getLogger("great_expectations").setLevel(logging.ERROR)  # a line for every function
    for module in NEEDED_BY_TASKS:
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    gc.collect()
    gc.freeze()  # or every task would walk through all of this again and again


def _schedule(dag: Any, run_id: str) -> str:
    """Give the executor every task whose time has come until the run ends; return its state."""
    from airflow.executors.base_executor import ExecutorLoader  # noqa: PLC0415
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner  # noqa: PLC0415
    from airflow.models.dagbag import DBDagBag  # noqa: PLC0415
    from airflow.models.dagrun import DagRun  # noqa: PLC0415
    from airflow.serialization.serialized_objects import DagSerialization  # noqa: PLC0415
    from airflow.settings import Session  # noqa: PLC0415
    from airflow.utils.state import DagRunState, TaskInstanceState  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    executor = ExecutorLoader.get_default_executor()
    executor.start()
    bag = DBDagBag()
    with Session() as session:
        run = session.scalars(
            select(DagRun).where(DagRun.dag_id == DAG_ID, DagRun.run_id == run_id)
        ).one()
        run.dag = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
        run.dag.on_success_callback = dag.on_success_callback  # as `dag.test` does
        run.dag.on_failure_callback = dag.on_failure_callback
        run.state = DagRunState.RUNNING
        run.start_date = datetime.now(UTC)
        while run.state == DagRunState.RUNNING:
            ready, _ = run.update_state(session=session)
            run.schedule_tis(ready, session=session)
            session.commit()
            session.expire_all()  # the statement above went past the objects
            for instance in run.get_task_instances([TaskInstanceState.SCHEDULED], session=session):
                if not executor.has_task(instance):
                    _hand_over(instance, dag, executor, session)
            executor.heartbeat()
            SchedulerJobRunner.process_executor_events(
                executor=executor, job_id=None, scheduler_dag_bag=bag, session=session
            )
            session.commit()
            _wait_for_news(executor)
            session.expire_all()
        state = str(run.state)
    executor.end()
    return state


def _hand_over(instance: Any, dag: Any, executor: Any, session: Any) -> None:
    """Give one task instance to the executor."""
    from airflow.executors.workloads import BundleInfo, ExecuteTask  # noqa: PLC0415

    workload = ExecuteTask.make(
        instance,
        dag_rel_path=Path(dag.fileloc),
        generator=executor.jwt_generator,
        sentry_integration=executor.sentry_integration,
        bundle_info=BundleInfo(name=BUNDLE),
    )
    executor.queue_workload(workload, session=session)
    instance.state = "queued"
    instance.queued_dttm = datetime.now(UTC)
    session.commit()


def _wait_for_news(executor: Any) -> None:
    """Wait until a worker says something, or it is time to look whether a retry is due."""
    limit = time.monotonic() + POLL_SECONDS
    while executor.result_queue.empty() and time.monotonic() < limit:
        time.sleep(0.02)


def _watch_parent(scheduler: int) -> None:
    """Ask the scheduling process to stop when the parent closes standard input."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with os.fdopen(0, "rb", closefd=False) as pipe:
        pipe.read()
    os.kill(scheduler, signal.SIGTERM)


def _in_child(work: Any, *arguments: Any) -> None:
    """Do something in a child, so that this process opens no database connection before forks."""
    child = _fork.Process(target=work, args=arguments)
    child.start()
    child.join()
    if child.exitcode != 0:
        raise SystemExit(f"{work.__name__} failed")


def _migrate() -> None:
    """Bring Airflow's database to this version, once per version."""
    from airflow import __version__  # noqa: PLC0415 - takes seconds

    stamp = Path(os.environ["AIRFLOW_HOME"]) / DATABASE_VERSION
    if stamp.is_file() and stamp.read_text() == __version__:
        return
    _in_child(_make_database)
    stamp.write_text(__version__)


def _make_database() -> None:
    from airflow.utils import db  # noqa: PLC0415 - takes seconds

    db.initdb()


def _serve_api() -> None:
    """Serve the execution API, through which tasks talk to the database, on the loopback."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["AIRFLOW_API_APPS"] = "execution"
    import uvicorn  # noqa: PLC0415 - only in this child

    # Its first request builds the routes, for seconds: asked now, while our parent is importing.
    threading.Thread(target=_wait_for_api, daemon=True).start()
    port = int(os.environ["AIRFLOW__API__PORT"])
    uvicorn.run(
        "airflow.api_fastapi.main:app",
        host="127.0.0.1",
        port=port,
        log_config=None,
        access_log=False,
    )


def _wait_for_api() -> None:
    """Wait until the execution API answers."""
    address = os.environ["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] + "health"
    limit = time.monotonic() + API_SECONDS_MAX
    while time.monotonic() < limit:
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310 - our own address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit(f"Airflow's execution API does not answer at {address}")


# -- triggering it where another program schedules --------------------------------------------


def _trigger_elsewhere(conf: dict[str, Any], run_id: str, now: datetime) -> None:
    """Queue the run for the scheduler of `make ui`.

    That Airflow reads the DAG file every half minute, and refuses until then what its last reading
    did not know, such as an experiment whose file is new. It is given the DAG as it is now.
    """
    from airflow.exceptions import DagNotFound  # noqa: PLC0415 - takes seconds
    from airflow.sdk.exceptions import ParamValidationError  # noqa: PLC0415 - takes seconds

    try:
        _trigger(conf, run_id, now)
    except (DagNotFound, ParamValidationError):
        _make_known(_read_dags())
        _trigger(conf, run_id, now)


def _trigger(conf: dict[str, Any], run_id: str, now: datetime) -> None:
    """Queue the run for the scheduler of `make ui`."""
    from airflow.api.common.trigger_dag import trigger_dag  # noqa: PLC0415 - takes seconds
    from airflow.utils.types import DagRunTriggeredByType  # noqa: PLC0415

    trigger_dag(
        DAG_ID,
        triggered_by=DagRunTriggeredByType.CLI,
        triggering_user_name="make nightly",
        run_after=now,
        run_id=run_id,
        conf=conf,
        replace_microseconds=False,
    )


# -- following --------------------------------------------------------------------------------


def _follow(run_id: str, emit: EventWriter, *, waits: bool = False) -> str:
    """Tell every change of a task's state until the run ends; return the run's state.

    Args:
        run_id: of the DAG run.
        emit: writes each event.
        waits: whether the run may have to wait for another.
    """
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 - takes seconds
    from airflow.settings import Session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    parent = os.getppid()
    emitted: dict[tuple[str, int], tuple[Any, ...]] = {}
    began = time.monotonic()
    waiting, started = not waits, False
    while os.getppid() == parent:
        with Session() as session:
            run = session.scalar(
                select(DagRun).where(DagRun.dag_id == DAG_ID, DagRun.run_id == run_id)
            )
            state = str(run.state) if run else "none"
            if run and not started:
                started = True
                emit("run", run_id=run_id)
            if state == "queued" and not waiting and time.monotonic() - began > QUEUED_SECONDS:
                waiting = True
                emit("stage", text="queued: Airflow is busy with another night, waiting for it")
            for instance in run.get_task_instances(session=session) if run else ():
                _emit_change(instance, emitted, emit)
        if state in ("success", "failed"):
            emit("end", state=state)
            return state
        time.sleep(POLL_SECONDS)
    return "none"


def _emit_change(
    instance: Any, emitted: dict[tuple[str, int], tuple[Any, ...]], emit: EventWriter
) -> None:
    """Write a task's state if it is not the one written last."""
    key = (instance.task_id, instance.map_index)
    now = (instance.state, instance.try_number)
    if instance.state is None or emitted.get(key) == now:
        return
    number = str(instance.map_index)
    if instance.state == "running" and instance.rendered_map_index == number:
        return  # its worker is about to say the shard's name
    emitted[key] = now
    emit(
        "task",
        task=instance.task_id,
        map_index=instance.map_index,
        name=instance.rendered_map_index if instance.map_index >= 0 else None,
        state=str(instance.state),
        attempt=instance.try_number,
        seconds=instance.duration,
    )


# -- ending -----------------------------------------------------------------------------------


def _fail_run(run_id: str) -> None:
    """Mark the run and its unfinished tasks as failed or skipped, so that nothing resumes it."""
    from airflow.api.common.mark_tasks import set_dag_run_state_to_failed  # noqa: PLC0415
    from airflow.models.dagrun import DagRun  # noqa: PLC0415
    from airflow.models.serialized_dag import SerializedDagModel  # noqa: PLC0415
    from airflow.settings import Session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    with Session() as session:
        dag = SerializedDagModel.get_dag(DAG_ID, session=session)
        there = select(DagRun.id).where(DagRun.dag_id == DAG_ID, DagRun.run_id == run_id)
        if dag is not None and session.scalar(there) is not None:
            set_dag_run_state_to_failed(dag=dag, run_id=run_id, commit=True, session=session)
            session.commit()


def _note_interrupted(conf: dict[str, Any], run_id: str) -> None:
    """Note that the night was stopped: the parent does so too, unless it is gone."""
    from isr_pipeline.night.life import interrupt  # noqa: PLC0415 - seldom

    interrupt(conf["experiment"], conf["night"], run_id)


def _end_children() -> None:
    """End every process below this one: asked first, then made to."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        _quietly(child.terminate)
    _, alive = psutil.wait_procs(children, timeout=END_SECONDS_MAX)
    for child in alive:
        _quietly(child.kill)
    psutil.wait_procs(alive, timeout=2)


def _quietly(action: Any) -> None:
    """Do something to a process that may be gone already."""
    try:
        action()
    except psutil.NoSuchProcess:
        return


if __name__ == "__main__":
    sys.exit(main())
