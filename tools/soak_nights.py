"""Thirty nights through the scheduler of ``make ui``, with restarts and kills among them.

``make soak-nights NIGHTS=30``. Everything happens in a home of its own, which is removed at the end
(``--keep`` leaves it). A backfill of `smoke` is begun; after two fifths `make ui` is stopped and
started again, half-way its scheduler is killed (-9), after three fifths `make ui` itself is. Then
it looks whether every night is there once, which tasks were begun more than once and why, how
memory and stores grew, and whether `night prune` and Airflow's own clean-up bring the stores down.
``SOAK_ARGS=--no-cuts`` lets one start serve all nights, which tries memory harder.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.file import dag_id_of
from isr_pipeline.night.stack import free_port, stop_on_signals
from tools.rehearsal import RehearsalError, Site, Started

FIRST = date(2026, 1, 1)
READY_SECONDS_MAX = 600
NIGHT_SECONDS_MAX = 1800
LOOK_SECONDS = 1.0
"""Spark's workers live for seconds. A look takes 0.04 s of a processor."""

GROWTH_MAX = 0.05
"""By how much a program may grow."""

NIGHTS_WARMING = 2
"""The first nights of a start, which do not count."""

NIGHTS_COMPARED = 5
"""A program is as large as in the largest of so many nights: whether a look meets a program that
lives for seconds, and how far it has grown by then, is chance."""

ROLES = {
    "api-server": "Airflow api-server",
    "api_server": "Airflow api-server",
    "scheduler": "Airflow scheduler",
    "dag-processor": "Airflow dag-processor",
    "triggerer": "Airflow triggerer",
    "mlflow": "MLflow",
    "org.apache.spark": "Spark, Java",
    "spark_jobs": "Spark, Python",
    "spark_daemon": "Spark, workers",
    "together": "parents",
    "airflow worker": "Airflow tasks",
    "isr-pipeline": "make ui",
}
"""Part of a command line -> how the process is called."""


TOGETHER = "all together"
DAG_ID = dag_id_of("smoke")


@dataclass(frozen=True)
class Seen:
    """A process at a look.

    Attributes:
        program: what it is, a value of `ROLES`.
        whole_mb: memory that it sees.
        share_mb: of it, its share of what forks see too.
    """

    program: str
    whole_mb: float
    share_mb: float


Look = dict[Hashable, Seen]
"""Process -> what it took."""


@dataclass
class Soak(Site):
    """What is run and what was seen.

    Attributes:
        nights: how many.
        planned: after how many nights `make ui` is to be stopped or killed, and how.
        memory: per start of `make ui`, per night that ended in it: program -> MB at most.
        looks: what was seen since the last night ended, and as it ended.
        stores: after how many nights -> store -> MB.
        cuts: when `make ui` was stopped or killed, seconds since 1970, and how.
    """

    nights: int
    planned: dict[int, str]
    ui: Started | None = None
    memory: list[list[dict[str, float]]] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    stores: dict[str, dict[str, float]] = field(default_factory=dict)
    cuts: list[tuple[datetime, str]] = field(default_factory=list)

    # -- make ui ------------------------------------------------------------------------------

    def up(self) -> None:
        """Start `make ui` and wait until it can be used."""
        self.ui = self.start("ui")
        self.ui.wait_for("Ctrl-C stops both", READY_SECONDS_MAX)
        self.memory.append([])
        self.looks = []
        say(f"make ui is up ({len(self.memory)}. time)")

    def cut(self, how: str) -> None:
        """End `make ui` in one of three ways, and see that nothing of it is left."""
        assert self.ui is not None
        say(how)
        self.cuts.append((datetime.now(UTC), how))
        if how == STOP:
            self.ui.process.send_signal(signal.SIGINT)
        elif how == KILL_SCHEDULER:
            for one in self.running():
                if role(one) == ROLES["scheduler"] and role(one.parent()) == ROLES["together"]:
                    one.kill()
        else:
            self.ui.process.kill()
        self.ui.process.wait(180)
        self.wait_for_the_end()

    # -- what is seen -------------------------------------------------------------------------

    def states(self) -> list[str]:
        """State of every run, oldest first."""
        return [str(state) for (state,) in self.airflow("select state from dag_run order by id")]

    def look(self) -> None:
        """Note the memory of each process.

        Pages of files (libraries) count nowhere: how many processes share those is chance.
        """
        seen: Look = {}
        for one in self.running():
            try:
                seen[one] = Seen(role(one), *anonymous_mb(one.pid))
            except (psutil.Error, OSError):
                continue
        self.looks.append(seen)

    def note_night(self) -> None:
        """Keep what a night took at most, and begin with the next one."""
        self.look()
        self.memory[-1].append(most_of(self.looks))
        self.looks = self.looks[-1:]

    def weigh(self, when: str) -> None:
        """Note the size of each store."""
        sizes = {
            name: sum(one.stat().st_size for one in (self.home / name).rglob("*") if one.is_file())
            / 1e6
            for name in ("tables", "nights", "data_docs", "baselines", "mlartifacts")
        }
        sizes["airflow/logs"] = sum(
            one.stat().st_size for one in (self.home / "airflow/logs").rglob("*") if one.is_file()
        ) / 1e6  # fmt: skip
        for name in ("mlflow.db", "airflow/airflow.db"):
            sizes[f"{name} (pages in use)"] = in_use(self.home / name)
        self.stores[when] = sizes

    # -- the soak -----------------------------------------------------------------------------

    def schedule(self) -> None:
        """Give the experiment a schedule: Airflow backfills no DAG without one."""
        shutil.copytree(REPOSITORY / "config", self.variables["ISR_PIPELINE_CONFIG"])
        file = Path(self.variables["ISR_PIPELINE_CONFIG"]) / "experiments" / "smoke.yaml"
        file.write_text(f'schedule: "0 0 * * *"\n{file.read_text()}')

    def go(self) -> None:
        """Run all nights."""
        self.schedule()
        self.up()
        last = FIRST + timedelta(days=self.nights - 1)
        self.run("airflow", "dags", "unpause", DAG_ID)
        self.run(
            *("airflow", "backfill", "create", "--dag-id", DAG_ID, "--max-active-runs", "1"),
            *("--from-date", str(FIRST), "--to-date", str(last)),
        )
        done = 0
        limit = time.monotonic() + NIGHT_SECONDS_MAX
        while done < self.nights:
            time.sleep(LOOK_SECONDS)
            self.look()
            states = self.states()
            failed = states.count("failed")
            if failed:
                raise RehearsalError(f"{failed} runs failed; see {self.home}")
            if time.monotonic() > limit:
                raise RehearsalError(f"no night ended in {NIGHT_SECONDS_MAX} s; see {self.home}")
            if states.count("success") > done:
                done = states.count("success")
                limit = time.monotonic() + NIGHT_SECONDS_MAX
                self.note_night()
                say(f"{done} of {self.nights} nights, {self.memory[-1][-1][TOGETHER]:.0f} MB")
                if done in (1, self.nights):
                    self.weigh(f"{done} nights" if done > 1 else "1 night")
                if done in self.planned and done < self.nights:
                    time.sleep(IN_THE_MIDDLE)  # of the next night
                    self.cut(self.planned[done])
                    self.up()

    def check_nights(self) -> None:
        """Fail unless every night is there once, whole, made by its own run.

        Raises:
            RehearsalError: the first thing that does not hold.
        """
        rows = self.json("night", "list", "--experiment", "smoke")
        wanted = [str(FIRST + timedelta(days=day)) for day in range(self.nights)]
        if [row["night"] for row in rows] != wanted:
            raise RehearsalError(f"{len(rows)} nights are listed, not the {self.nights} asked for")
        for row in rows:
            night = self.json("night", "show", row["night"], "--experiment", "smoke")
            if row["status"] != "baseline" or len(night["tables"]) != len(TABLES):
                raise RehearsalError(f"night {row['night']} is {row['status']}: {row['reason']}")
            if f"__{row['night']}" not in night["dag_run_id"]:
                raise RehearsalError(f"night {row['night']} was made by {night['dag_run_id']}")
        with sqlite3.connect(self.home / "mlflow.db") as database:
            runs = dict(
                database.execute(
                    "select value, count(*) from tags join runs using (run_uuid) "
                    "where key = 'night' and lifecycle_stage = 'active' "
                    "group by value"
                ).fetchall()
            )
        if sorted(runs) != wanted or len(set(runs.values())) != 1:
            raise RehearsalError(f"MLflow does not have each night once: {runs}")
        say(f"all {self.nights} nights are there, whole, each by its own run; in MLflow once")

    def check_tries(self) -> None:
        """Fail if a task was begun twice without a cut in between; say the ones that were.

        Raises:
            RehearsalError: names the task.
        """
        tries = self.airflow(
            "select run_id, task_id, map_index, try_number, start_date, end_date, state from ("
            "select run_id, task_id, map_index, try_number, start_date, end_date, state "
            "from task_instance_history union all "
            "select run_id, task_id, map_index, try_number, start_date, end_date, state "
            "from task_instance) order by 1, 2, 3, 4"
        )
        begun: dict[tuple[Any, ...], list[datetime]] = defaultdict(list)
        for run_id, task, number, _, start, *_rest in tries:
            if start:
                begun[run_id, task, number].append(datetime.fromisoformat(f"{start}+00:00"))
        again = {
            key: sorted(set(times))
            for key, times in begun.items()
            if len(set(times)) > 1 and key[1] != "plan"  # put off while another night was written
        }
        for (run_id, task, number), times in sorted(again.items()):
            for first, second in itertools.pairwise(times):
                why = next((how for when, how in self.cuts if first < when < second), "")
                if not why:
                    raise RehearsalError(f"{task} {number} of {run_id} was begun twice, for no cut")
                say(f"begun again after '{why}': {task} {number} of {run_id}")
        say(f"{len(again)} tasks of {len(begun)} were begun again, each for a cut")

    def clean(self) -> None:
        """Prune, and let Airflow clean its database."""
        keep = max(self.nights // 4, 1)
        self.run("night", "prune", "--keep", str(keep), "--experiment", "smoke")
        before = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
        self.run("airflow", "db", "clean", "--clean-before-timestamp", before, "--skip-archive",
                 "--yes")  # fmt: skip
        self.weigh(f"{keep} kept")

    def report(self) -> None:
        """Print both tables.

        Raises:
            RehearsalError: a program grew more than it may.
        """
        say(
            "\nlargest process, MB at most in each night, and its growth: the most of the last "
            f"{NIGHTS_COMPARED} nights over {NIGHTS_COMPARED} after the first {NIGHTS_WARMING}"
        )
        grown = []
        for number, seen in enumerate(self.memory, 1):
            for name in sorted({name for one in seen for name in one}):
                values = [one.get(name, 0.0) for one in seen]
                growth = growth_of(values)
                said = " ".join(f"{value:.0f}" for value in values)
                told = "-" if growth is None else f"{growth:+.1%}"
                say(f"  start {number}  {name:<22} {told:>6}  {said}")
                if growth is not None and growth > GROWTH_MAX:
                    grown.append(f"{name} {growth:+.1%} in {len(values)} nights")
        say("\nstores, MB: " + ", ".join(self.stores))
        for name in next(iter(self.stores.values())):
            columns = "".join(f"{sizes[name]:10.2f}" for sizes in self.stores.values())
            say(f"  {name:<34}{columns}")
        if grown:
            raise RehearsalError(f"grew by more than {GROWTH_MAX:.0%}: {', '.join(grown)}")


def most_of(looks: list[Look]) -> dict[str, float]:
    """What each program took at most in a night, and all together, MB.

    Of a program that runs as several processes, the largest one counts. All together are those
    that were there before the night and after it, also one that was left over: which of the others
    a look meets is chance. Of these, a page that several share counts once; most are forks of one
    another.

    Args:
        looks: the night's, in order; the first is the one that ended the night before.
    """
    most: dict[str, float] = defaultdict(float)
    stayed = looks[0].keys() & looks[-1].keys()
    for look in looks:
        for seen in look.values():
            most[seen.program] = max(most[seen.program], seen.whole_mb)
        most[TOGETHER] = max(
            most[TOGETHER], sum(look[one].share_mb for one in stayed & look.keys())
        )
    return dict(most)


def growth_of(values: list[float]) -> float | None:
    """By how much a program grew after its first nights; None if it was not seen in enough.

    Args:
        values: the most that it had in each night, in order.
    """
    if len(values) < NIGHTS_WARMING + 2 * NIGHTS_COMPARED:
        return None
    first = max(values[NIGHTS_WARMING : NIGHTS_WARMING + NIGHTS_COMPARED])
    return max(values[-NIGHTS_COMPARED:]) / first - 1.0 if first else None


TABLES = ("scenarios", "outcomes", "events", "summary", "verdicts")
STOP, KILL_SCHEDULER, KILL_UI = "Ctrl-C", "kill -9 of the scheduler", "kill -9 of make ui"
IN_THE_MIDDLE = 12.0


def planned_cuts(nights: int) -> dict[int, str]:
    """After how many nights `make ui` is ended, and how."""
    return {
        max(2 * nights // 5, 1): STOP,
        max(nights // 2, 2): KILL_SCHEDULER,
        max(3 * nights // 5, 3): KILL_UI,
    }


def role(process: psutil.Process | None) -> str:
    """What a process is."""
    try:
        words = " ".join(process.cmdline()[:40]) if process else ""
    except psutil.Error:
        words = ""
    if "isr_pipeline.night.supervisor" in words:
        return ROLES["together"]
    return next((name for part, name in ROLES.items() if part in words), "other")


def anonymous_mb(process_id: int) -> tuple[float, float]:
    """Memory that a process has made: all that it sees, and its share of what forks see too."""
    lines = Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines()[1:]
    kb = {name: int(value.split()[0]) for name, value in (line.split(":") for line in lines)}
    return kb["Anonymous"] / 1e3, kb["Pss_Anon"] / 1e3


def in_use(file: Path) -> float:
    """MB of a SQLite file that hold something; what was deleted is used again."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=60) as database:
        pages, free, size = (
            database.execute(f"pragma {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    return float((pages - free) * size) / 1e6


def say(text: str) -> None:
    """One line of progress."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Run as a program; exit status 1 and one line if something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--keep", action="store_true", help="leave the home")
    parser.add_argument(
        "--no-cuts", action="store_true", help="one start for all nights: memory alone is tried"
    )
    options = parser.parse_args()
    if options.nights < 4:
        sys.stderr.write("make soak-nights: NIGHTS: allowed: 4 or more\n")
        return 2
    home = Path(tempfile.mkdtemp(prefix="soak-nights-"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    variables = kept | {
        "ISR_PIPELINE_HOME": str(home),
        "ISR_PIPELINE_CONFIG": str(home / "config"),
        "ISR_PIPELINE_AIRFLOW_PORT": str(free_port()),
        "ISR_PIPELINE_MLFLOW_PORT": str(free_port()),
    }
    variables.pop("ISR_PIPELINE_ROOT", None)
    variables.pop("MLFLOW_TRACKING_URI", None)
    planned = {} if options.no_cuts else planned_cuts(options.nights)
    soak = Soak(home, variables, options.nights, planned)
    os.chdir(REPOSITORY)
    stop_on_signals()
    try:
        soak.go()
        soak.check_nights()
        soak.check_tries()
        soak.clean()
        soak.report()
    except KeyboardInterrupt:
        return 130
    except RehearsalError as error:
        sys.stderr.write(f"make soak-nights: {error}\n")
        return 1
    finally:
        if soak.ui is not None and soak.ui.process.poll() is None:
            soak.ui.interrupt()
        if not options.keep:
            shutil.rmtree(home, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
