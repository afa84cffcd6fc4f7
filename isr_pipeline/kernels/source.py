"""The sources of a kernel: kept as one small archive, unpacked once, known by their digest.

Whoever has these files can run the kernel again: the rules, the simulation, and what reads a
scenario. An archive says in ``source.json`` which code it is and with which libraries it ran.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import platform
import shutil
import tarfile
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from isr_pipeline.base.compiling import COMPILED_ROOMS, KERNEL_ROOMS
from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.home import REPOSITORY, Home

PACKAGE = "isr_pipeline"
KEPT = (*KERNEL_ROOMS, "base", "__init__.py")
"""Folders and files of the package that a kernel needs to run."""

KEPT_TO_0_2_0 = ("files", "storage", "compiling.py", "errors.py", "home.py")
"""What of it lay elsewhere up to 0.2.0: archives and commits of that time are still run."""

FILE = "source.tar.xz"
MANIFEST = "source.json"
LIBRARIES = ("numba", "numpy")
"""Libraries that turn the sources into machine code and arrays."""

CACHE = "numba"
"""Folder, beside the unpacked package, of what was compiled from it."""


@dataclass(frozen=True, slots=True)
class Source:
    """The sources of one kernel.

    Attributes:
        files: path below the package (``kafka/replica.py``) -> content.
        code_version: commit and kernel digest, as plans name them; empty if nobody noted it.
        libraries: name -> version it ran with; empty if nobody noted it.
    """

    files: Mapping[str, bytes]
    code_version: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)

    @property
    def kernel_digest(self) -> str:
        """SHA-256 of what decides an outcome: equal to that of the same checkout."""
        rooms = [[name for name in sorted(self.files, key=_as_path) if _room(name) == room]
                 for room in KERNEL_ROOMS]  # fmt: skip
        return _digest(self.files, (name for names in rooms for name in names))

    @property
    def digest(self) -> str:
        """SHA-256 of all files."""
        return _digest(self.files, sorted(self.files))

    @property
    def compiled(self) -> Source:
        """The rooms whose functions are compiled, alone."""
        rooms = {name: text for name, text in self.files.items() if _room(name) in COMPILED_ROOMS}
        return Source(rooms)

    def other_libraries(self, here: Mapping[str, str]) -> list[str]:
        """``numba 0.60.0 (it ran with 0.59.1)``: what is another version than it ran with.

        Args:
            here: library -> version, of where it runs now.
        """
        return [
            f"{library} {here[library]} (it ran with {version})"
            for library, version in sorted(self.libraries.items())
            if here.get(library, version) != version
        ]


def _room(name: str) -> str:
    return name.partition("/")[0]


def _as_path(name: str) -> Path:
    return Path(name)


def _digest(files: Mapping[str, bytes], names: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode() + b"\0")
        digest.update(files[name] + b"\0")
    return digest.hexdigest()


def libraries_here() -> dict[str, str]:
    """Versions of Python and of the libraries that make kernels, in this environment."""
    return {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in LIBRARIES},
    }


def is_kept(name: str) -> bool:
    """Whether a file of the package, by its path below it, belongs to a kernel."""
    kept = (*KEPT, *KEPT_TO_0_2_0)
    return name.endswith(".py") and (_room(name) in kept or name in kept)


def read_package(
    folder: Path = REPOSITORY / PACKAGE,
    *,
    code_version: str = "",
    libraries: Mapping[str, str] | None = None,
) -> Source:
    """Read the sources of a package's folder."""
    found = ((file, file.relative_to(folder).as_posix()) for file in folder.rglob("*.py"))
    files = {name: file.read_bytes() for file, name in found if is_kept(name)}
    return Source(files, code_version, dict(libraries or {}))


def write_archive(source: Source, file: Path) -> None:
    """Write an archive, whole or not at all; the same sources give the same bytes."""
    said = {"code_version": source.code_version, "kernel_digest": source.kernel_digest}
    text = json.dumps({**said, "libraries": dict(source.libraries)}, indent=1, sort_keys=True)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        _add(archive, MANIFEST, text.encode())
        for name in sorted(source.files):
            _add(archive, f"{PACKAGE}/{name}", source.files[name])
    write_whole(file, lzma.compress(packed.getvalue()))


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def read_archive(file: Path) -> Source:
    """Read an archive.

    Raises:
        Refused: it is missing, cut off or not what it says it is; one line.
    """
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise Refused(f"{file}: there is no such archive of sources") from None
    return unpack(content, str(file))


def unpack(packed: bytes, file: str) -> Source:
    """Read an archive from its content.

    Args:
        packed: the content.
        file: what an error names.

    Raises:
        Refused: it is cut off or not what it says it is; one line.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:xz") as archive:
            members = [member for member in archive if member.isfile()]
            content = {member.name: _content(archive, member) for member in members}
        said = json.loads(content[MANIFEST])
        files = {
            name.removeprefix(f"{PACKAGE}/"): text
            for name, text in content.items()
            if is_kept(name.removeprefix(f"{PACKAGE}/"))
        }
        source = Source(files, str(said["code_version"]), dict(said["libraries"]))
        whole = source.kernel_digest == said["kernel_digest"]
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, ValueError, KeyError, TypeError):
        raise Refused(f"{file}: the archive of sources is damaged or half-written") from None
    if not whole:
        raise Refused(f"{file}: the archive of sources is not what its {MANIFEST} says")
    return source


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file else b""


def unpacked(source: Source, home: Home) -> Path:
    """Folder that holds the package ``isr_pipeline`` of these sources, made if it is not there.

    It stays: what is compiled from it is kept beside it, and is good as long as the files are.
    """
    folder = home.kernels / source.digest[:16]
    if folder.is_dir():
        if read_package(folder / PACKAGE).digest == source.digest:
            return folder
        shutil.rmtree(folder)
    writing = folder.with_name(f"_writing-{folder.name}-{uuid.uuid4().hex[:8]}")
    for name, content in source.files.items():
        file = writing / PACKAGE / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, (0, 0))  # numba asks for it: the same file, whoever unpacked it
    try:
        writing.rename(folder)
    except OSError:
        shutil.rmtree(writing)  # another process was sooner
    return folder


# -- the sources of each night's code ---------------------------------------------------------


def kernel_of(code_version: str) -> str:
    """The part of a code version that names the kernel: the beginning of its digest."""
    return code_version.rpartition("+kernel.")[2]


def keep_present(home: Home, code_version: str) -> Path:
    """Keep the sources of the present code under its kernel's name, once."""
    file = home.kernels / f"{kernel_of(code_version)}.tar.xz"
    if not file.is_file():
        source = read_package(code_version=code_version, libraries=libraries_here())
        write_archive(source, file)
    return file
