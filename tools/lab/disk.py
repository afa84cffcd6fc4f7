"""A disk of known speed under each broker's first log dir: `disk.c`, built and put in."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import Refused, shortened
from isr_pipeline.clusters.machines import FIELDS, hardware_of
from isr_pipeline.scenarios.cluster_file import check_hardware
from isr_pipeline.scenarios.hardware import Hardware
from tools.lab.settings import as_properties

if TYPE_CHECKING:
    from collections.abc import Sequence

OPTION = "--disk"
SETTINGS = "disk.properties"
_SOURCE = Path(__file__).with_name("disk.c")
_LIBRARY = "disk.so"
COMPILERS = ("cc", "gcc", "clang")
_NAMES = {name.removeprefix("disk-"): field for name, field in FIELDS.items() if name != "nic"}
_CACHE_BYTES = 64_000_000
"""That of most recordings of load: with all the machine's memory no read would miss it."""


def read_disk(given: Sequence[str]) -> Hardware:
    """Read ``--disk write=2MB,read=20MB``.

    Raises:
        InputError: what is no such amount, or contradicts another.
    """
    found = hardware_of(given, OPTION, _NAMES, "write=2MB,read=20MB,seek=2ms,cache=64MB")
    disk = Hardware(**{"cache_bytes": _CACHE_BYTES, **found})
    check_hardware(disk, {}, OPTION)
    return disk


def build(folder: Path, *options: str) -> None:
    """Compile the disk into a folder.

    Args:
        folder: the cluster's.
        options: of the compiler, beside those that it needs.

    Raises:
        Refused: there is no C compiler, or it fails.
    """
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise Refused(f"{OPTION}: no C compiler ({', '.join(COMPILERS)}) is on PATH: install gcc")
    command = [compiler, "-O2", "-shared", "-fPIC", "-pthread", *options, "-o"]
    done = subprocess.run(
        [*command, str(folder / _LIBRARY), str(_SOURCE), "-ldl"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.splitlines()
        said = next((line for line in lines if "error" in line), f"exit {done.returncode}")
        raise Refused(f"{OPTION}: {compiler} (Linux is needed): {shortened(said, 200)}")


def put_under(folder: Path, disk: Hardware) -> None:
    """Say how fast a node's disk is: before its start, or while it runs.

    Args:
        folder: the node's own, below that of `build`.
        disk: no limit where it says nothing.
    """
    values = {field: str(getattr(disk, field) or 0) for field in _NAMES.values()}
    values["dirty_bytes"] = str(disk.dirty_bytes_max)
    (folder / SETTINGS).write_text(as_properties(values))


def environment(folder: Path) -> dict[str, str]:
    """What puts the disk of its folder under a node's process; nothing if it has none."""
    if not (folder / SETTINGS).exists():
        return {}
    folder = folder.resolve()
    loaded = [os.environ.get("LD_PRELOAD", ""), str(folder.parent / _LIBRARY)]
    return {"LD_PRELOAD": " ".join(filter(None, loaded)), "DISK_FOLDER": str(folder)}
