"""Which nights are being written: the claim of a run on one night of one experiment.

A claim is a file that a run's first task writes, every later one asks for, and its last removes.
It stops a second Airflow and the command line as well. Nights of other dates and experiments go on
beside it; what they share is written by one at a time (:mod:`isr_pipeline.base.files.lock`). Who
may run Airflow on a home is another lock (:mod:`isr_pipeline.night.airflow.airflow_lock`).

A claim says until when it stands. While a run works, it is renewed each minute for ten more
(:func:`renewed`). Between two tasks nothing of ours runs: there it stands for as long as a run may
take. The time is the writer's, so clocks of hosts that share a home may differ by some minutes.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.lock import alone
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.processes import began_s, process_exists
from isr_pipeline.night.airflow.airflow_lock import SUPERVISOR_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isr_pipeline.base.home import Home

CLAIMS = "nights"
"""Name of the claims' folder, and of the lock under which they are read and written."""

RENEWED_EACH_S = 60.0
"""How often a claim is renewed while its run works, in seconds."""

STANDS_S = 10 * RENEWED_EACH_S
"""How long a claim stands without being renewed, in seconds."""

STOOD_S = 24 * 3600.0
"""How long one stands that names no end, as 0.2.0 made them, in seconds: as long as its run."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Who writes which night.

    Attributes:
        owner: id of the DAG run, or a command in words.
        airflow: home of the Airflow that runs it; its other runs can ask it whether this one has
            ended, and wait; a run of another Airflow is refused.
        supervisor_pid: process whose end frees the claim, 0 if unknown.
        since_s: when it was made, seconds since 1970.
        supervisor_began_s: when that process started, seconds since 1970; 0 if unknown.
        until_s: when it ends unless it is renewed, seconds since 1970; 0 if it does not say.
    """

    owner: str
    experiment: str
    night: str
    airflow: str
    host: str
    supervisor_pid: int
    since_s: float
    supervisor_began_s: float = 0.0
    until_s: float = 0.0

    def alive(self) -> bool:
        """Whether the claimant may still be at work: by its process, where that can be seen."""
        if self.host == socket.gethostname() and self.supervisor_pid:
            return process_exists(self.supervisor_pid, self.supervisor_began_s)
        return time.time() < (self.until_s or self.since_s + STOOD_S)

    def __str__(self) -> str:
        """``night 2026-11-19 of smoke (run X, process 4711)``."""
        process = f", process {self.supervisor_pid}" if self.supervisor_pid else ""
        return f"night {self.night} of {self.experiment} (run {self.owner}{process})"


class NotYet(Refused):
    """Another run of the same Airflow is writing the night; ask again later."""


class _Lost(BaseException):
    """Breaks off work whose claim is lost; no Exception, because work may catch any."""


def claim_night(
    home: Home,
    *,
    owner: str,
    experiment: str,
    night: str,
    airflow: str,
    is_running: Callable[[str], bool],
) -> None:
    """Claim a night for one DAG run, or confirm that it is claimed for it.

    Airflow runs one run of a DAG at a time, but counts the runs of each backfill apart: two runs
    of one Airflow can be under way at once, for the same night too.

    Args:
        home: where state lives.
        owner: id of the DAG run.
        experiment: what it writes.
        night: what it writes.
        airflow: home of the Airflow that runs it.
        is_running: tells of another DAG run of the same Airflow, by its id, whether it is under
            way. One that has ended, or waits to start, holds nothing.

    Raises:
        NotYet: another run of the same Airflow is writing this night.
        Refused: another program is writing this night.
    """
    supervisor = int(os.environ.get(SUPERVISOR_VARIABLE, "0"))
    now_s = time.time()
    mine = Claim(
        owner=owner,
        experiment=experiment,
        night=night,
        airflow=airflow,
        host=socket.gethostname(),
        supervisor_pid=supervisor,
        since_s=now_s,
        supervisor_began_s=began_s(supervisor) if supervisor else 0.0,
        until_s=now_s + STANDS_S,
    )
    file = _claim_file(home, experiment, night)
    with alone(home.locks, CLAIMS):
        held = _read_claim(file)
        if held and held.owner == owner and held.alive():
            return
        # A run that `make ui` takes up again has another supervisor now.
        if held and held.owner != owner and held.alive():
            if held.airflow != airflow:
                raise Refused(_busy(held, file))
            if is_running(held.owner):
                raise NotYet(f"{held} is being written; waiting until it ends")
        _write_claim(file, mine)


@contextmanager
def renewed(
    home: Home, experiment: str, night: str, *, owner: str, then_s: float = STANDS_S
) -> Iterator[None]:
    """Renew a run's claim each minute while it works, and break the work off if it is lost.

    Work in the main thread is broken off at once, also where it waits. In another thread it comes
    to its end before the loss is told.

    Args:
        home: where state lives.
        experiment: of the night.
        night: that is claimed.
        owner: run that claimed it.
        then_s: how long the claim stands after the work, in seconds.

    Raises:
        Refused: another run has the night, somebody removed the claim, or it could not be renewed
            for as long as it stands, as on a full disk.
    """
    ended = threading.Event()
    lost: list[str] = []

    def renew(stands_s: float = STANDS_S) -> None:
        _renew_claim(home, experiment, night, owner=owner, stands_s=stands_s)

    def keep() -> None:
        until_s = time.time() + STANDS_S
        while not lost and not ended.wait(RENEWED_EACH_S):
            try:
                renew()
                until_s = time.time() + STANDS_S
            except Refused as refusal:
                lost.append(str(refusal))
            except (OSError, ValueError, TypeError) as error:
                if time.time() >= until_s:
                    lost.append(f"the claim on {night} of {experiment} cannot be renewed: {error}")
        if lost:
            break_off()

    renew()
    try:
        with _breaking_off(ended) as break_off:
            keeper = threading.Thread(target=keep, name="claim", daemon=True)
            keeper.start()
            try:
                yield
            finally:
                ended.set()
                keeper.join()
    finally:
        if not lost:
            with suppress(OSError, ValueError, TypeError):
                renew(then_s)
    if lost:
        raise Refused(lost[0])


@contextmanager
def _breaking_off(ended: threading.Event) -> Iterator[Callable[[], None]]:
    """Give what breaks off the work below, from another thread; nothing happens once it ended."""
    working = threading.current_thread()
    if working is not threading.main_thread():
        yield lambda: None
        return

    def told(*_: object) -> None:
        if not ended.is_set():
            raise _Lost

    before = signal.signal(signal.SIGUSR1, told)
    try:
        yield lambda: signal.pthread_kill(working.ident or 0, signal.SIGUSR1)
    except _Lost:
        pass  # the reason is told where the work would have ended
    finally:
        signal.signal(signal.SIGUSR1, before or signal.SIG_DFL)


def _renew_claim(home: Home, experiment: str, night: str, *, owner: str, stands_s: float) -> None:
    """Have a run's claim stand for so long from now on.

    Raises:
        Refused: the claim is another run's, or there is none.
        OSError, ValueError, TypeError: it cannot be read or written now.
    """
    file = _claim_file(home, experiment, night)
    lost = f"night {night} of {experiment} is no longer that of run {owner}"
    with alone(home.locks, CLAIMS):
        try:
            held = _parsed(file)
        except FileNotFoundError:
            raise Refused(f"{lost}: somebody removed {file}; run it again") from None
        if held.owner != owner:
            raise Refused(f"{lost}: run {held.owner} has claimed it; run it again")
        _write_claim(file, replace(held, until_s=time.time() + stands_s))


def holds_claim(home: Home, experiment: str, night: str, *, owner: str) -> bool:
    """Tell whether a run is the one that writes a night."""
    held = _read_claim(_claim_file(home, experiment, night))
    return held is not None and held.owner == owner


def is_being_written(home: Home, experiment: str, night: str, *, owner: str) -> bool:
    """Tell whether a run is the one that writes a night, and may still be at work."""
    held = _read_claim(_claim_file(home, experiment, night))
    return held is not None and held.owner == owner and held.alive()


def release_night(home: Home, experiment: str, night: str, *, owner: str) -> None:
    """Give up a run's claim; another run's claim stays."""
    with alone(home.locks, CLAIMS):
        if holds_claim(home, experiment, night, owner=owner):
            _claim_file(home, experiment, night).unlink()


def refuse_if_claimed(home: Home, experiment: str | None = None) -> None:
    """Refuse a command that changes what nights read or write while one is being written.

    Args:
        home: where state lives.
        experiment: whose nights are meant; None: all.

    Raises:
        Refused: names the night and its run.
    """
    for file in sorted(_claims(home).glob(f"{experiment or '*'}/*.json")):
        held = _read_claim(file)
        if held and held.alive():
            raise Refused(_busy(held, file))


def _busy(held: Claim, file: Path) -> str:
    return f"{held} is being written; wait until it ends, or remove {file} if that run is dead"


def _claims(home: Home) -> Path:
    return home.locks / CLAIMS


def _claim_file(home: Home, experiment: str, night: str) -> Path:
    return _claims(home) / experiment / f"{night}.json"


def _read_claim(file: Path) -> Claim | None:
    """Return the claim that stands, None if there is none or it cannot be read."""
    try:
        return _parsed(file)
    except (OSError, ValueError, TypeError):
        return None


def _parsed(file: Path) -> Claim:
    return Claim(**json.loads(file.read_text()))


def _write_claim(file: Path, claim: Claim) -> None:
    write_whole(file, json.dumps(asdict(claim), indent=1))
