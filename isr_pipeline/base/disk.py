"""A disk without room: how it is recognised, and which place it is said of."""

from __future__ import annotations

import errno
import re
import shutil
import tempfile
from pathlib import Path

from isr_pipeline.base.errors import LINE_MAX, shortened
from isr_pipeline.base.home import Home

FULL_BYTES = 2**20
"""A volume with less than this is called full: what did not fit was removed again."""

DISK_FULL = "no space left on device"

_FULL = re.compile(
    r"(?:Errno 28\] )?No space left on device(?:[:,;]? '?(?P<file>/[^'\n]+?)'?)?(?:\n|$|\s\()|"
    r"database or disk is full|Disk quota exceeded",
    re.IGNORECASE,
)


def disk_full(error: BaseException, text: str = "") -> str:
    """Say that a disk is full if that is why; else nothing."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(str(error.filename or ""))
    found = _FULL.search(text or f"{type(error).__name__}: {error}")
    return _full(found["file"] or "") if found else ""


def _full(file: str) -> str:
    file = file or full_place()
    where = f"{file}: " if file else ""
    return shortened(f"{where}{DISK_FULL}; free some, and run the night again", LINE_MAX - 50)


def full_place() -> str:
    """Of the folders that a night writes into, one whose volume is full; empty if none is."""
    home = Home.from_environment()
    folders = [home.path, Path(tempfile.gettempdir())]
    folders += [Path(one) for one in (home.store, home.root) if one and "://" not in one]
    free = {one: shutil.disk_usage(one).free for one in folders if one.is_dir()}
    return next((str(one) for one, left in free.items() if left < FULL_BYTES), "")
