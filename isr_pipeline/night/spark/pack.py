"""This Python with the libraries that Spark's workers need, packed into one archive.

A worker that has neither our checkout nor our environment gets both from Spark. What only the
driver needs (Airflow, MLflow, Great Expectations, Spark's own jars) stays out. Unpacked anywhere,
``bin/python`` starts: it finds everything from where it lies.

The machine that unpacks it has to have the same processor architecture, and a C library that is not
older. Both are of this machine.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
import uuid
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from isr_pipeline.base.errors import Refused

NEEDED = (
    *("numba", "numpy", "pandas", "psutil", "pyarrow", "pydantic", "pyspark"),
    *("ruamel.yaml", "scipy"),
)
"""Distributions that modules of workers import; what these ask for is packed with them."""

FORMAT = "1"
"""Changes whenever an archive of the same libraries is packed in another way."""

_LEFT_OUT = re.compile(
    r"pyspark/(jars|examples|data|bin|sbin|licenses|python/lib|pandas/tests|tests)/"
    r"|(^|/)(tests?|testing/tests|include)/"
    r"|^(bin|\.\.)/"
)
"""Files of a library that no worker needs, by their path below site-packages."""

_STANDARD_LEFT_OUT = frozenset(
    {"site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo"}
    | {"ensurepip", "lib2to3", "pydoc_data", "sitecustomize.py"}
)
"""Folders and files of the standard library that no worker needs."""

_OF_THE_SYSTEM = re.compile(
    r"(ld-linux.*|libc|libm|libdl|libpthread|librt|libutil|libresolv|libanl|libnsl|libcrypt)"
    r"\.so[.\d]*"
)
"""The C library, which a machine has and no program brings."""

_LIBRARIES = "libraries"

_START = """#!/bin/sh
# Starts the Python that lies beside this file, on whatever machine this is.
if [ "$(uname -m)" != {machine} ]; then
  echo "packed for {machine}, this machine is $(uname -m)" >&2
  exit 126
fi
here=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
LD_LIBRARY_PATH=$here/lib/system${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
export LD_LIBRARY_PATH
exec "$here/bin/{python}" "$@"
"""

_SITE = """import site
import sys

site.addsitedir(f"{sys.prefix}/%s")
"""


@dataclass(frozen=True, slots=True)
class Library:
    """An installed distribution.

    Attributes:
        name: as it calls itself.
        version: installed.
    """

    name: str
    version: str


def libraries() -> list[Library]:
    """What is packed: what workers import, and all that it asks for, by name.

    Raises:
        Refused: one is not installed here.
    """
    found: dict[str, Library] = {}
    waiting = list(NEEDED)
    while waiting:
        asked = waiting.pop()
        try:
            distribution = metadata.distribution(asked)
        except metadata.PackageNotFoundError:
            if asked in NEEDED:
                raise Refused(f"{asked} is not installed; Spark's workers need it") from None
            continue  # for another platform, or another Python
        name = distribution.metadata["Name"]
        if name in found:
            continue
        found[name] = Library(name, distribution.version)
        asked_for = (one for one in distribution.requires or () if "extra ==" not in one)
        waiting += [re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in asked_for]
    return [found[name] for name in sorted(found, key=str.lower)]


def pack_digest() -> str:
    """Digest of what an archive made here holds: versions, Python, platform."""
    texts = [FORMAT, sys.version, platform.machine(), sys.base_prefix]
    texts += [f"{one.name} {one.version}" for one in libraries()]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def pack(file: Path) -> None:
    """Write the archive (tar, gzip), whole or not at all; takes a quarter of a minute.

    Args:
        file: its name; the folder is made.

    Raises:
        Refused: a library does not say which files it has.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    writing = file.with_name(f"_writing-{uuid.uuid4().hex[:8]}-{file.name}")
    try:
        with tarfile.open(writing, "w:gz", compresslevel=1) as archive:
            _add_python(archive)
            for library in libraries():
                _add_library(archive, library.name)
        writing.replace(file)
    finally:
        writing.unlink(missing_ok=True)


def start_script(program: str, machine: str = platform.machine()) -> str:
    """Text of the script that starts the packed Python, which says it if it cannot.

    Args:
        program: name of the interpreter beside the script.
        machine: processor architecture, as ``uname -m`` has it.
    """
    return _START.format(python=program, machine=machine)


def _add_python(archive: tarfile.TarFile) -> None:
    """Add the interpreter, its standard library, and the system's libraries that both load."""
    program = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    standard = Path(sysconfig.get_path("stdlib"))
    below = f"{sys.platlibdir}/{standard.name}"
    _add_file(archive, program, f"bin/{program.name}")
    _add_text(archive, "bin/python", start_script(program.name), mode=0o755)
    loading = [program]
    for folder, folders, names in os.walk(standard):
        folders[:] = sorted(set(folders) - _STANDARD_LEFT_OUT)
        for name in sorted(set(names) - _STANDARD_LEFT_OUT):
            file = Path(folder) / name
            if not file.is_file() or name.endswith((".a", ".o")) or name.startswith("_tkinter"):
                continue
            _add_file(archive, file, f"{below}/{file.relative_to(standard).as_posix()}")
            if name.endswith(".so"):
                loading.append(file)
    _add_text(archive, f"{below}/sitecustomize.py", _SITE % _LIBRARIES)
    for library in _loaded(loading):
        _add_file(archive, library, f"lib/system/{library.name}")


def _loaded(programs: list[Path]) -> list[Path]:
    """Libraries of the system that programs load, but for the C library itself."""
    done = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False)
    lines = re.finditer(r"^\s(\S+) => (/\S+)", done.stdout, re.MULTILINE)
    found = {line[1]: Path(line[2]) for line in lines}
    return [found[name] for name in sorted(found) if not _OF_THE_SYSTEM.fullmatch(name)]


def _add_library(archive: tarfile.TarFile, name: str) -> None:
    files = metadata.files(name)
    if files is None:
        raise Refused(f"{name} cannot be packed: it was installed without a list of its files")
    for entry in files:
        path = entry.as_posix()
        if _LEFT_OUT.search(path) or path.endswith((".pyc", ".pyi", ".pxd", ".a")):
            continue
        file = Path(str(entry.locate()))
        if not file.is_file():
            continue
        _add_file(archive, file, f"{_LIBRARIES}/{path}")
        if path.endswith(".py"):
            _add_compiled(archive, file, f"{_LIBRARIES}/{entry.parent.as_posix()}")


def _add_compiled(archive: tarfile.TarFile, file: Path, folder: str) -> None:
    """Add what Python compiled of a file, if it did: it need not do so again on every worker."""
    compiled = file.parent / "__pycache__" / f"{file.stem}.{sys.implementation.cache_tag}.pyc"
    if compiled.is_file():
        _add_file(archive, compiled, f"{folder}/__pycache__/{compiled.name}")


def _add_file(archive: tarfile.TarFile, file: Path, name: str) -> None:
    """Add a file with its time, which Python compares with that of what it compiled."""
    real = Path(os.path.realpath(file))
    entry = archive.gettarinfo(str(real), name)
    entry.type, entry.linkname = tarfile.REGTYPE, ""  # two names of one file are two files
    entry.size = real.stat().st_size
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.mode & 0o111 else 0o644
    entry.mtime = int(entry.mtime)
    with real.open("rb") as content:
        archive.addfile(entry, content)


def _add_text(archive: tarfile.TarFile, name: str, text: str, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(text.encode()), mode
    archive.addfile(entry, io.BytesIO(text.encode()))
