"""Processes of this machine, and whose this one is."""

from __future__ import annotations

import getpass
import os
import threading
import time

import psutil

LOOK_SECONDS = 1.0

SAME_MOMENT_S = 2.0
"""The clock that a start is told by may be set in between."""


def process_exists(pid: int, began_s: float = 0.0) -> bool:
    """Whether a process with this number runs, whoever owns it.

    Args:
        pid: its number. Numbers come again, after a restart of the machine the same ones.
        began_s: when it started, seconds since 1970; 0 if unknown.
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return not began_s or abs(process.create_time() - began_s) < SAME_MOMENT_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def began_s(pid: int) -> float:
    """When a process started, seconds since 1970; 0 if there is none or nobody may know."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


def end_with(pid: int) -> None:
    """End this process, whatever it does, soon after another has ended.

    Args:
        pid: number of the other; one that has ended already counts too.
    """
    began = began_s(pid)  # also 0 if it ended while this program started

    def look() -> None:
        while process_exists(pid, began):
            time.sleep(LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=look, name="supervisor", daemon=True).start()


def user_name() -> str:
    """Whose this process is; the number of one without a name, as in containers."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
