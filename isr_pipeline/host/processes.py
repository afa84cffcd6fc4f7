"""Other processes of this machine."""

from __future__ import annotations

import os


def process_exists(pid: int) -> bool:
    """Whether a process with this number exists, whoever owns it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
