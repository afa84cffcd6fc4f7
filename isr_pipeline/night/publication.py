"""How a run of a night becomes the night: the layout by date holds the last whole run.

A run writes under its own name, its folder and its tables, so that the night of a date stays as it
is until the run is whole. Then the gate moves the tables and the folder into their places by date.
It notes first what it is about to move: whoever finds such a note, because the process that wrote
it was killed, finishes the work.

A note is removed last. Each move can be done again: what has been moved is no longer at its source.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.lock import alone
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import Place, names_below, place_of, remove_tree
from isr_pipeline.base.storage.published import copy, move, remove, remove_debris, take_place
from isr_pipeline.base.storage.remote import RemotePath
from isr_pipeline.night.status import (
    RUNNING,
    STATUS,
    Status,
    check_night,
    folder_of,
    nights,
    run_folder,
    run_folders,
    run_name,
    run_root,
    whole_run,
    write_status,
)

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

PLAN = "plan.json"

OF_A_VERDICT = ("verdict.json", "strata.json", "changed.json", "mlflow.json", "report.html")
"""Files of a night's folder that are gone where its verdict does not hold any more."""


def of_run(plan: Plan, dag_run_id: str, began: str) -> Plan:
    """The plan of a night as that of a run, which writes under its own name."""
    name = run_name(plan.night, dag_run_id)
    own = {
        "run": dag_run_id,
        "began": began,
        "root": run_root(plan.experiment, name),
        "folder": str(run_folder(plan.experiment, name)),
    }
    return plan.model_copy(update=own)


def begin_run(plan: Plan) -> None:
    """Make the folder of a run, in place of what runs of its night left that never became whole."""
    finish_publications(plan.experiment)
    clear_runs(plan.experiment, plan.night)
    plan.place.mkdir(parents=True, exist_ok=True)
    write_status(plan.place, Status(RUNNING, dag_run_id=plan.run, began=plan.began))
    plan.save(plan.place / PLAN)


def clear_runs(experiment: str, night: str) -> None:
    """Remove what runs of a night left that were not published; the night itself stays."""
    for folder in run_folders(experiment, night):
        remove_tree(place_of(run_root(experiment, folder.name)))
        remove_tree(folder)


def publish(plan: Plan, status: Status) -> None:
    """Make a whole run the night of its date.

    Args:
        plan: of the run, as its steps had it.
        status: of the night from now on.
    """
    from isr_pipeline.tables.store import TABLES, has_table  # noqa: PLC0415 - reads Arrow

    tables = [name for name in TABLES if has_table(name, plan.experiment, plan.night, plan.root)]
    note = {"run": plan.place.name, "status": asdict(status), "tables": tables}
    file = _notes() / plan.experiment / f"{plan.night}.json"
    write_whole(file, json.dumps(note, indent=1) + "\n")
    finish_publications(plan.experiment)


def finish_publications(experiment: str | None = None) -> None:
    """Go on with every publication that was begun, of an experiment or of all."""
    if not _begun(experiment):
        return
    with alone(Home.from_environment().locks, "publication"):
        for note in _begun(experiment):
            try:
                told = json.loads(note.read_text())
            except FileNotFoundError:
                continue  # another program has finished it
            _finish(note.parent.name, note.stem, told)
            note.unlink()


def _notes() -> Place:
    return Home.from_environment().made / "publishing"


def _begun(experiment: str | None) -> list[Place]:
    return sorted(_notes().glob(f"{experiment or '*'}/*.json"), key=str)


def _finish(experiment: str, night: str, told: dict[str, Any]) -> None:
    """Move a run's tables and then its folder; what a killed process has moved stays."""
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads the simulator
    from isr_pipeline.tables.store import TABLES, table_path  # noqa: PLC0415 - reads Arrow

    folder, root = run_folder(experiment, told["run"]), run_root(experiment, told["run"])
    for name in TABLES:
        if name in told["tables"]:
            move(table_path(name, experiment, night, root), table_path(name, experiment, night))
        else:
            remove(table_path(name, experiment, night))
    if (folder / PLAN).is_file():
        by_date = {"root": Home.from_environment().root, "folder": ""}
        Plan.load(folder / PLAN).model_copy(update=by_date).save(folder / PLAN)
        write_status(folder, Status(**told["status"]))
        _move_folder(folder, folder_of(experiment, night))
    remove_tree(place_of(root))


def _move_folder(source: Place, target: Place) -> None:
    """Have a run's folder take the place of that of its date, ``status.json`` last in a store."""
    if isinstance(source, Path):
        assert isinstance(target, Path)
        remove_debris(target)
        take_place(source, target)
        return
    assert isinstance(target, RemotePath)
    names = names_below(source)
    for name in sorted(names, key=lambda name: (name == STATUS, name)):
        (source / name).copy_to(target / name)
    for name in set(names_below(target)) - set(names):
        (target / name).unlink(missing_ok=True)
    remove_tree(source)


def is_under_way(experiment: str, night: str, dag_run_id: str) -> bool:
    """Whether a run has its own folder and nothing waits to be published: nothing to take up."""
    folder = run_folder(experiment, run_name(night, dag_run_id))
    return not _begun(experiment) and (folder / STATUS).is_file()


def take_up(experiment: str, night: str, dag_run_id: str) -> None:
    """Let a run that is the night already go on where tasks of it are cleared: on a copy.

    The night stays as it is until the run is whole again. Does nothing for any other run.
    """
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads the simulator
    from isr_pipeline.tables.store import TABLES, has_table, table_path  # noqa: PLC0415 - reads Arrow

    finish_publications(experiment)
    name = run_name(night, dag_run_id)
    folder, root = run_folder(experiment, name), run_root(experiment, name)
    if (folder / STATUS).is_file():
        return  # it has not become the night, or was taken up before
    whole = whole_run(experiment, night)
    if whole is None or whole.status.dag_run_id != dag_run_id:
        return
    for table in TABLES:
        if has_table(table, experiment, night):
            copy(table_path(table, experiment, night), table_path(table, experiment, night, root))
    for file in names_below(whole.folder):
        if file not in (STATUS, PLAN):
            write_whole(folder / file, (whole.folder / file).read_bytes())
    plan = Plan.load(whole.folder / PLAN)
    of_run(plan, dag_run_id, plan.began).save(folder / PLAN)
    write_status(folder, replace(whole.status, state=RUNNING, reason=""))


def withdraw(experiment: str, night: str, status: Status) -> bool:
    """Take its verdict from a night whose run, taken up again, did not become whole.

    Args:
        experiment: name.
        night: YYYY-MM-DD.
        status: of the run, as it ended.

    Returns:
        Whether the night was this run's; nothing is done to that of another.
    """
    whole = whole_run(experiment, night)
    if whole is None or whole.status.dag_run_id != status.dag_run_id:
        return False
    for file in OF_A_VERDICT:
        (whole.folder / file).unlink(missing_ok=True)
    remove_tree(whole.folder / "figures")
    write_status(whole.folder, status)
    return True


def find_experiment(night: str, experiment: str | None) -> str:
    """Return the experiment meant by a night: the one named, else the only one that has it.

    Who asks for a night finds all of it: what a killed gate had begun is finished.

    Raises:
        Refused: none has that night, or more than one and none was named.
    """
    finish_publications()
    having = [name for name, one in nights() if one == night]
    if experiment in having:
        return str(experiment)
    if experiment is None and len(having) == 1:
        return having[0]
    if experiment is None and having:
        raise Refused(f"night {night}: name one with --experiment: {', '.join(having)}")
    of = f" of {experiment}" if experiment else ""
    known = [one for name, one in nights(experiment)]
    others = list(dict.fromkeys(name for name, _ in nights()))
    hint = "; run `isr-pipeline night run`"
    if known:
        hint = f"; there are {', '.join(known[-5:])}"
    elif others:
        hint = f"; there are nights of {', '.join(others)}"
    raise Refused(f"there is no night {night}{of}{hint}")


def find_night(text: str, experiment: str | None, where: str = "NIGHT") -> tuple[str, str]:
    """Experiment and date of the night that a command is given.

    Args:
        text: the date.
        experiment: that is named, if one is.
        where: what an error names.

    Raises:
        InputError: it is no date.
        Refused: there is no such night, or more than one and no experiment was named.
    """
    night = check_night(text, where)
    return find_experiment(night, experiment), night
