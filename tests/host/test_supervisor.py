"""Programs that run together, and why they ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from isr_pipeline.night.supervisor import Program, end_all, marked, start, stop

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
FAIL = [sys.executable, "-c", "raise SystemExit('no such thing')"]
KILL = [sys.executable, "-c", "import os; print('working', flush=True); os.kill(os.getpid(), 9)"]


def ended(program: Program) -> Program:
    """Wait for the end."""
    program.process.wait(30)
    return program


@pytest.mark.parametrize(
    ("command", "why"), [(FAIL, "no such thing"), (KILL, "killed by signal 9")]
)
def test_why_it_ended(tmp_path: Path, command: list[str], why: str) -> None:
    """What it said last, or what killed it."""
    assert ended(start("it", [command], os.environ, tmp_path / "log")).why() == why


def test_one_ends_all(tmp_path: Path) -> None:
    """The end of one is that of the others, and the log says whose it was."""
    program = start("both", [SLEEP, FAIL], os.environ, tmp_path / "log")
    below = psutil.Process(program.process.pid).children()
    ended(program)
    assert not psutil.wait_procs(below, timeout=10)[1]
    assert "ended by itself (status 1)" in program.why()


def test_stop(tmp_path: Path) -> None:
    """Whoever started them ends them, with all below."""
    program = start("it", [SLEEP], os.environ, tmp_path / "log")
    while not (below := psutil.Process(program.process.pid).children()):
        time.sleep(0.05)
    assert program.runs()
    stop([program])
    assert not program.runs()
    assert not psutil.wait_procs(below, timeout=10)[1]


def test_a_title_hides_nobody(tmp_path: Path) -> None:
    """A fork that gave itself a title, as Airflow's workers do, is found when its parent died."""
    sign = tmp_path / "pid"
    code = (
        "import os, sys, time; from setproctitle import setproctitle; child = os.fork(); "
        "setproctitle('worker -- ' + 'x' * 500); "
        "child or time.sleep(60); open(sys.argv[1], 'w').write(str(child)); os._exit(1)"
    )
    program = start("it", [[sys.executable, "-c", code, str(sign)]], os.environ, tmp_path / "log")
    ended(program)
    stop([program])
    assert not psutil.pid_exists(int(sign.read_text()))


def test_what_a_killed_program_left(tmp_path: Path) -> None:
    """It ends too, though nobody is its parent and it has a session of its own."""
    sign = tmp_path / "pid"
    code = (
        "import os, subprocess, sys, time; "
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True); "
        "open(sys.argv[1], 'w').write(str(child.pid)); os.kill(os.getppid(), 9); "
        "os.kill(os.getpid(), 9)"
    )
    other = subprocess.Popen(["sleep", "60"], env=marked(os.environ), start_new_session=True)
    program = start("it", [[sys.executable, "-c", code, str(sign)]], os.environ, tmp_path / "log")
    try:
        assert ended(program).process.returncode == -signal.SIGKILL
        left = psutil.Process(int(sign.read_text()))
        stop([program])
        assert not psutil.wait_procs([left], timeout=10)[1]
        assert other.poll() is None
    finally:
        end_all([other], other.pid)
