"""A volume that is full: one line, and nothing that hides why a night broke off."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from isr_pipeline.base import refusals
from isr_pipeline.base.disk import disk_full
from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.base.progress import Listener
from isr_pipeline.night import life, preconditions
from isr_pipeline.night.airflow.airflow_rest import Rest
from isr_pipeline.night.doctor import examine
from isr_pipeline.night.status import (
    INTERRUPTED,
    RUNNING,
    Status,
    folder_of,
    read_status,
    write_status,
)
from isr_pipeline.verdicts.quantities import load_settings
from tests.saying import refused

NIGHT = "2026-11-20"
RUN = "in-process__1"


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small volume with a home in it."""
    folder = tmp_path / "volume"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("a volume of its own needs the right to mount one")
    for name in ("ISR_PIPELINE_ROOT", "ISR_PIPELINE_STORE", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(folder / "home"))
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@contextlib.contextmanager
def serving(status: int, said: object) -> Iterator[str]:
    """Give the address of a server that answers so to anything."""

    class Always(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Always)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def fill(volume: Path) -> None:
    """Leave no byte free."""
    with contextlib.suppress(OSError), (volume / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


class TestFull:
    """Before a night, in it and at its end."""

    def test_asked_before_a_night(self, volume: Path) -> None:
        """The variable and the folder are named, before anything starts."""
        preconditions.check_home(Home.from_environment())
        fill(volume)
        assert refused(lambda: preconditions.check_home(Home.from_environment()), Refused) == (
            f"ISR_PIPELINE_HOME: {volume}/home: no space left on device; free some, and try again"
        )

    def test_a_volume_that_is_nearly_full(self, volume: Path) -> None:
        """`doctor` and a night say the same: how much is free, and how much they ask for."""
        found = {one.part: one for one in examine(load_settings, str)}
        with pytest.raises(Refused) as refused:
            preconditions.check_night_can_start(Home.from_environment(), "local[*]")
        assert found["home"].text == str(refused.value)
        free = f"has 2 MiB free; allowed: {preconditions.FREE_BYTES_MIN // 2**20} MiB or more"
        assert str(refused.value).startswith(f"ISR_PIPELINE_HOME: {volume}/home {free}")

    def test_a_message_without_a_place(self, volume: Path) -> None:
        """What does not say where, as a database, is told with the place that has no room."""
        (volume / "home").mkdir()
        said = OSError("database or disk is full")
        assert not disk_full(said).startswith(str(volume))
        fill(volume)
        assert disk_full(said).startswith(f"{volume}/home: no space left on device")

    def test_airflow_has_no_room(self, volume: Path) -> None:
        """An answer of 500 by an Airflow without room names the place, not what Airflow says."""
        (volume / "home").mkdir()
        with serving(500, {"detail": {"reason": "Database error"}}) as address:
            rest = Rest(address, lambda: ("admin", "drawn"))
            with pytest.raises(Refused, match=r"POST /auth/token: 500; its log says why$"):
                rest.ask("GET", "dags")
            fill(volume)
            with pytest.raises(Refused, match=f"POST /auth/token: {volume}/home: no space left"):
                rest.ask("GET", "dags")

    def test_the_reason_of_a_broken_night_stays(self, volume: Path) -> None:
        """What broke is said, although its status cannot be noted; the night reads interrupted."""
        write_status(folder_of("smoke", NIGHT), Status(RUNNING, dag_run_id=RUN))
        fill(volume)
        with pytest.raises(Refused, match=r"has no verdict: simulate failed$"):
            life.finish(
                "smoke", NIGHT, broken=["simulate failed"], fail_on_regression=True, dag_run_id=RUN
            )
        assert read_status("smoke", NIGHT).state == INTERRUPTED

    def test_a_command(self, volume: Path) -> None:
        """A file that a command cannot write is named in one line, and is no traceback."""
        (volume / "home").mkdir()
        fill(volume)
        with pytest.raises(OSError, match="No space left") as full:
            write_status(folder_of("smoke", NIGHT), Status(RUNNING))
        said = refusals.machine_says(full.value)
        assert said.endswith("no space left on device; free some, and run the night again")
        assert "\n" not in said


class TestLog:
    """The log of a night in one program."""

    def test_what_it_does_not_take(self) -> None:
        """The terminal still hears how far the step is."""
        heard: list[str] = []
        line = "progress 8/8: confirm/all, 7 pairs/s, done in 1.1 s"
        with contextlib.suppress(OSError), Path("/dev/full").open("w", buffering=1) as log:
            said = Listener(log, heard.append)
            said.write(f"{line}\n")
            said.flush()
        assert heard == [line]
