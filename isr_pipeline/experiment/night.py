"""A night from the outside: begun, finished, listed, shown, accepted, pruned.

What a night is and holds is said by three things: its folder (``plan.json``, ``status.json``,
``verdict.json``, the report), its tables, and its MLflow runs. ``status.json`` says how far it
came; everything else is only as good as that says.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isr_pipeline.errors import BudgetSpent, InputError, Refused
from isr_pipeline.experiment.kernel import compile_kernel
from isr_pipeline.experiment.lock import holds_claim, refuse_if_claimed, release_night
from isr_pipeline.home import REPOSITORY, Home

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

RUNNING, FAILED, INTERRUPTED = "running", "failed", "interrupted"
"""States of a night that has no verdict; one that has is in the state of its verdict."""

_NIGHT = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Status:
    """How far a night came: ``status.json``.

    Attributes:
        state: running, failed or interrupted; once finished, the verdict's status.
        reason: one line; empty if all is well.
        dag_run_id: the Airflow run that made or makes it.
    """

    state: str
    reason: str = ""
    dag_run_id: str = ""


def check_night(text: str, where: str = "--night") -> str:
    """Return a night's date as it is written everywhere.

    Raises:
        InputError: it is no date of the form YYYY-MM-DD.
    """
    try:
        if not _NIGHT.fullmatch(text):
            raise ValueError
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InputError(where, "", text or "empty", "a date, YYYY-MM-DD") from None


def mendable_errors() -> tuple[type[Exception], ...]:
    """Exceptions whose text tells a person what to mend, in one line; trying again is in vain."""
    from isr_pipeline.outcomes.store import TableMissing  # noqa: PLC0415 - reads Arrow
    from isr_pipeline.validation.run import DataRefused  # noqa: PLC0415

    return (InputError, Refused, BudgetSpent, TableMissing, DataRefused)


# -- the two ends of a DAG run ----------------------------------------------------------------


def begin(
    experiment: str, night: str, *, panel_size: int | None, dag_run_id: str
) -> tuple[Path, list[str]]:
    """Plan a night and note that it is running.

    Returns:
        File of the plan, and the names of the shards.

    Raises:
        InputError: the experiment file cannot be used.
    """
    from isr_pipeline.experiment.plan import make_plan  # noqa: PLC0415 - reads pydantic

    plan = make_plan(experiment, check_night(night), panel_size)
    folder = _folder(experiment, night)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in ("verdict.json", "report.html", "mlflow.json"):
        (folder / stale).unlink(missing_ok=True)
    write_status(experiment, night, Status(RUNNING, dag_run_id=dag_run_id))
    plan.save(folder / "plan.json")
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
        The verdict's headline.

    Raises:
        Refused: a task did not end well, there is no verdict, or it is red.
    """
    release_night(Home.from_environment(), owner=dag_run_id)
    try:
        headline, state, red = _outcome(experiment, night, broken)
    except Refused as refusal:
        write_status(experiment, night, Status(FAILED, str(refusal), dag_run_id))
        raise
    write_status(experiment, night, Status(state, "", dag_run_id))
    _announce(experiment, night)
    if red and (fail_on_regression or state != "regressed"):
        raise Refused(headline)
    return headline


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
        raise Refused(f"night {night} of {experiment}: suspicions were never confirmed")
    return verdict.headline, str(verdict.status), verdict.red


def _announce(experiment: str, night: str) -> None:
    """Give the line to whoever asked for it; a notifier that fails is no failure of the night."""
    from isr_pipeline.verdicts.notify import announce  # noqa: PLC0415 - reads pydantic

    try:
        announce(experiment, night)
    except Exception as error:
        sys.stdout.write(f"the notifier failed: {error}\n")


def run_ended(dag_run_id: str) -> str:
    """Give back what a DAG run still holds, and say for its page how it went.

    Returns:
        Markdown: its one line, and where to look further; empty if it wrote no night, or another
        run has written that night since.
    """
    for experiment, night in nights():
        if read_status(experiment, night).dag_run_id == dag_run_id:
            interrupt(experiment, night, dag_run_id)
            return _run_note(experiment, night)
    release_night(Home.from_environment(), owner=dag_run_id)
    return ""


def _run_note(experiment: str, night: str) -> str:
    from isr_pipeline.tracking import pages  # noqa: PLC0415 - only here

    line = read_status(experiment, night).reason or _headline(experiment, night)
    places = {
        "MLflow run": pages.run_page(experiment, night),
        "report": pages.report_page(experiment, night),
    }
    links = [f"[{name}]({address})" for name, address in places.items() if address]
    report = _folder(experiment, night) / "report.html"
    if report.is_file():
        links.append(f"`{report}`")
    return "\n\n".join(text for text in (f"**{line}**", " · ".join(links)) if text)


def interrupt(experiment: str, night: str, dag_run_id: str) -> None:
    """Note that a night was stopped half-way and remove what its jobs were writing.

    Does nothing if this run was not writing: it waited for its turn, or its gate has ended.
    """
    from isr_pipeline.outcomes import store  # noqa: PLC0415 - reads Arrow

    home = Home.from_environment()
    if not holds_claim(home, owner=dag_run_id):
        return
    if read_status(experiment, night).state == RUNNING:
        write_status(experiment, night, Status(INTERRUPTED, "stopped by hand", dag_run_id))
    for table in store.TABLES:
        store.remove_debris(store.table_path(table, experiment, night))
    shutil.rmtree(store.parts_path(experiment, night), ignore_errors=True)
    release_night(home, owner=dag_run_id)


def write_status(experiment: str, night: str, status: Status) -> None:
    """Replace ``status.json``."""
    file = _folder(experiment, night) / "status.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".status.{os.getpid()}")
    content = {"state": status.state, "reason": status.reason, "dag_run_id": status.dag_run_id}
    draft.write_text(json.dumps(content, indent=1) + "\n")
    draft.replace(file)


def read_status(experiment: str, night: str) -> Status:
    """Return how far a night came; state ``failed`` if its folder does not say."""
    try:
        content = json.loads((_folder(experiment, night) / "status.json").read_text())
        return Status(**content)
    except (OSError, ValueError, TypeError):
        return Status(FAILED, "status.json is missing or damaged")


def _folder(experiment: str, night: str) -> Path:
    return Home.from_environment().night_dir(experiment, night)


# -- listing and showing ----------------------------------------------------------------------


def nights(experiment: str | None = None) -> list[tuple[str, str]]:
    """Experiment and date of every night with a folder, by experiment, oldest first."""
    root = Home.from_environment().path / "nights"
    found = ((folder.parent.name, folder.name) for folder in root.glob("*/*") if _is_night(folder))
    return sorted(pair for pair in found if experiment in (None, pair[0]))


def _is_night(folder: Path) -> bool:
    return folder.is_dir() and bool(_NIGHT.fullmatch(folder.name))


def find_experiment(night: str, experiment: str | None) -> str:
    """Return the experiment meant by a night: the one named, else the only one that has it.

    Raises:
        Refused: none has that night, or more than one and none was named.
    """
    having = [name for name, one in nights() if one == night]
    if experiment in having:
        return str(experiment)
    if experiment is None and len(having) == 1:
        return having[0]
    if experiment is None and having:
        raise Refused(f"night {night}: name one with --experiment: {', '.join(having)}")
    of = f" of {experiment}" if experiment else ""
    known = [one for name, one in nights(experiment)]
    hint = f"; there are {', '.join(known[-5:])}" if known else "; run `make nightly`"
    raise Refused(f"there is no night {night}{of}{hint}")


def show(experiment: str, night: str) -> dict[str, Any]:
    """Everything a night says of itself, as JSON has it.

    Returns:
        ``night, experiment, panel_digest, root, status, reason, headline, dag_run_id``, ``tables``
        (name -> rows and digest), ``configs`` (name, config_id, verdict, reason, params, metrics)
        and ``places`` (report, data_docs, mlflow). Of a night that never got a plan: what is known.
    """
    from isr_pipeline.experiment.plan import Plan  # noqa: PLC0415 - reads pydantic

    home = Home.from_environment()
    folder = home.night_dir(experiment, night)
    status = read_status(experiment, night)
    told: dict[str, Any] = {
        "night": night,
        "experiment": experiment,
        "panel_digest": None,
        "root": home.root,
        "status": status.state,
        "reason": status.reason,
        "headline": "",
        "dag_run_id": status.dag_run_id,
        "tables": _tables(experiment, night),
        "configs": [],
        "places": {
            "report": str(folder / "report.html"),
            "data_docs": str(home.data_docs(experiment, night)),
            "mlflow": home.mlflow_uri,
        },
    }
    if (folder / "plan.json").is_file():
        plan = Plan.load(folder / "plan.json")
        told |= {"panel_digest": plan.panel_digest, "root": plan.root}
        told |= {"configs": _configurations(plan), "headline": _headline(experiment, night)}
    return told


def _headline(experiment: str, night: str) -> str:
    from isr_pipeline.verdicts.model import load_verdict  # noqa: PLC0415 - reads pydantic

    try:
        return load_verdict(experiment, night).headline
    except Refused:
        return ""


def _tables(experiment: str, night: str) -> dict[str, dict[str, Any]]:
    """Rows and digest of every table that the night has.

    Raises:
        Refused: a table is damaged.
    """
    from pyarrow import ArrowInvalid  # noqa: PLC0415 - reads Arrow

    from isr_pipeline.outcomes import store  # noqa: PLC0415 - reads Arrow

    tables = {}
    for name in store.TABLES:
        if not store.has_table(name, experiment, night):
            continue
        try:
            rows = store.count_rows(name, experiment, night)
            digest = store.table_digest(name, experiment, night)
        except (ArrowInvalid, OSError) as damage:
            what = str(damage).splitlines()[0]
            raise Refused(
                f"table {name} of night {night} of {experiment} is damaged, "
                f"run the night again: {what}"
            ) from None
        tables[name] = {"rows": rows, "digest": digest}
    return tables


def _configurations(plan: Plan) -> list[dict[str, Any]]:
    """Every configuration with its verdict and its metrics over the regression panel."""
    from isr_pipeline.verdicts.model import load_verdict  # noqa: PLC0415 - reads pydantic

    try:
        verdicts = {
            one.config_id: one for one in load_verdict(plan.experiment, plan.night).configurations
        }
    except Refused:
        verdicts = {}
    metrics = _metrics(plan)
    return [
        {
            "name": one.name,
            "config_id": one.config_id,
            "verdict": str(verdicts[one.config_id].status) if one.config_id in verdicts else None,
            "reason": verdicts[one.config_id].reason if one.config_id in verdicts else "",
            "params": dict(one.params),
            "metrics": metrics.get(one.config_id, {}),
        }
        for one in plan.configurations
    ]


def _metrics(plan: Plan) -> dict[str, dict[str, float | None]]:
    """config_id -> metric -> value over the whole regression panel; empty without a summary."""
    from isr_pipeline.outcomes import store  # noqa: PLC0415 - reads Arrow

    try:
        rows = store.read_arrow("summary", plan.experiment, plan.night).to_pylist()
    except store.TableMissing:
        return {}
    found: dict[str, dict[str, float | None]] = {}
    for row in rows:
        if row["panel"] == "regression" and row["stratum"] == "all":
            found.setdefault(row["config_id"], {})[row["metric"]] = row["value"]
    return found


# -- changing what is kept --------------------------------------------------------------------


def accept_baseline(experiment: str, night: str, *, who: str | None, why: str) -> str:
    """Make a night the baseline of its experiment; simulates its confirm panel if need be.

    Returns:
        One line that says what was accepted.

    Raises:
        Refused: the night is not whole, or another is being written.
        InputError: no reason is given.
    """
    from isr_pipeline.tracking.log_night import pin_baseline  # noqa: PLC0415 - reads MLflow
    from isr_pipeline.verdicts import baseline  # noqa: PLC0415 - reads scipy

    night = check_night(night)
    refuse_if_claimed(Home.from_environment())
    if read_status(experiment, night).state in (RUNNING, FAILED, INTERRUPTED):
        state = read_status(experiment, night)
        raise Refused(f"night {night} of {experiment} is {state.state}: nothing to accept")
    record = baseline.accept(experiment, night, who, why, simulate_confirm=simulate_confirm)
    pin_baseline(experiment)
    return (
        f"night {record.night} is the baseline of {experiment}, "
        f"accepted by {record.accepted_by}: {record.why}"
    )


def simulate_confirm(plan: Plan, config_ids: tuple[str, ...]) -> None:
    """Run the confirm panel for some configurations of a finished night, on Spark.

    Raises:
        Refused: the job failed; its last line of output.
    """
    from isr_pipeline.experiment.stack import environment  # noqa: PLC0415

    home = Home.from_environment()
    variables = environment(home)
    master = json.loads(variables["AIRFLOW_CONN_SPARK_DEFAULT"])["host"]
    command = ["spark-submit", "--master", master, "--name", "isr-confirm"]
    command += [str(REPOSITORY / "spark_jobs" / "simulate.py")]
    command += ["--plan", str(home.night_dir(plan.experiment, plan.night) / "plan.json")]
    command += ["--panel", "confirm", "--configs", ",".join(config_ids)]
    done = subprocess.run(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        last = (done.stdout.strip() or "no output").splitlines()[-1]
        raise Refused(f"the confirm panel of night {plan.night} could not be simulated: {last}")


def prune(keep: int, experiment: str | None = None) -> list[tuple[str, str]]:
    """Remove all but the newest nights of each experiment: tables, folder, Data Docs, MLflow runs.

    The night that is accepted as the baseline stays too: its run in MLflow and its report say what
    the others are compared with.

    Args:
        keep: how many nights of each experiment stay, besides the accepted one.
        experiment: this one only.

    Returns:
        The nights removed.

    Raises:
        Refused: a night is being written, or a baseline is damaged.
        InputError: ``keep`` is below 1.
    """
    if keep < 1:
        raise InputError("--keep", "", keep, "1 or more")
    refuse_if_claimed(Home.from_environment())
    removed = []
    for name in sorted({name for name, _ in nights(experiment)}):
        accepted = _accepted_night(name)
        removed += [(name, night) for _, night in nights(name)[:-keep] if night != accepted]
    for name, night in removed:
        remove(name, night)
    return removed


def _accepted_night(experiment: str) -> str | None:
    """Night that is the baseline; None if there is none.

    Raises:
        Refused: the baseline is damaged, so that nobody can tell which night it was.
    """
    from isr_pipeline.verdicts import baseline  # noqa: PLC0415 - reads scipy

    try:
        record = baseline.show(experiment)
    except baseline.BaselineDamaged as damage:
        raise Refused(f"{experiment}: {damage}; nothing was removed") from None
    return record.night if record else None


def remove(experiment: str, night: str) -> None:
    """Remove one night from everywhere; the folder last, so that a second try finds the rest."""
    from isr_pipeline.outcomes import store  # noqa: PLC0415 - reads Arrow
    from isr_pipeline.tracking.prune import delete_night  # noqa: PLC0415 - reads MLflow

    home = Home.from_environment()
    delete_night(experiment, night)
    store.delete_night(experiment, night)
    shutil.rmtree(home.data_docs(experiment, night), ignore_errors=True)
    shutil.rmtree(home.night_dir(experiment, night), ignore_errors=True)
