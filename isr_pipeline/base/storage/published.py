"""Folders that are replaced as a whole, and read as they were published.

In a folder of this machine the next version is written beside the present one and renamed: the
folder is either absent or complete. An object store has no renames. There each version lies in a
folder of its own attempt, and one file, the manifest, says which files count, with their sizes and
digests. It is put last. Readers read what it names and nothing else, and check it: a file that the
store lost is found out, and so is one that was changed.

The files of an attempt never change; a manifest does, with every version. If another program
replaces the folder while it is read, files of the former version are missing, and the manifest is
read again.

Names that begin with ``_`` are not seen by readers. What a cut-off attempt left is removed by the
next writer of the same folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from isr_pipeline.base.storage.places import Place, remove_tree
from isr_pipeline.base.storage.remote import (
    RemotePath,
    StoreDamaged,
    StoreError,
    at_once,
)

Made = TypeVar("Made")

MANIFEST = "_manifest.json"

VERSIONS_MAX = 3
"""Of a folder that are tried to be read, each published while the one before was being read."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of a published folder.

    Attributes:
        place: where it lies.
        name: below the folder, as readers know it.
        size: bytes; -1 on this machine, where nothing is noted.
        sha256: of its content; empty on this machine.
    """

    place: Place
    name: str
    size: int = -1
    sha256: str = ""

    def open(self) -> Any:
        """What Arrow reads it from: its path, or its checked content.

        Raises:
            StoreError: the store does not have what was published.
        """
        if isinstance(self.place, RemotePath):
            import pyarrow as pa  # noqa: PLC0415 - slow

            return pa.BufferReader(_checked(self))
        return self.place


def _checked(file: Stored) -> Any:
    """Content of a file in a store, which is what its manifest says."""
    assert isinstance(file.place, RemotePath)
    try:
        content = file.place.read_buffer()
    except FileNotFoundError:
        raise StoreDamaged(f"{file.place}: was published, and the store does not have it") from None
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise StoreDamaged(f"{file.place}: is not what was published")
    return content


@dataclass(slots=True)
class Draft:
    """The next version of a folder, while it is written.

    Attributes:
        own: folder of this machine; every file in it becomes part of the version.
        shared: folder that tasks on other machines write into, under names that nobody shares.
        written: files in ``shared`` that count, where that is in a store.
    """

    own: Path
    shared: Place
    written: list[Stored] = field(default_factory=list)

    def add(self, files: Iterable[Stored]) -> None:
        """Name files that tasks wrote into ``shared``."""
        if isinstance(self.shared, RemotePath):
            self.written += files

    def take(self, file: Stored, name: str) -> None:
        """Copy a file of a published folder, as it is."""
        if not isinstance(self.shared, RemotePath):
            assert isinstance(file.place, Path)
            (self.own / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file.place, self.own / name)
            return
        assert isinstance(file.place, RemotePath)
        target = self.shared / name
        file.place.copy_to(target)
        self.written.append(Stored(target, name, file.size, file.sha256))


@contextmanager
def drafting(folder: Place) -> Iterator[Draft]:
    """Give a draft, which takes the place of ``folder`` at the end.

    If the block raises, or the process dies in it, ``folder`` stays as it was; what was written is
    removed now, or by the next call for the same folder.

    Yields:
        The draft, with nothing in it.

    Raises:
        StoreError: the store did not keep what was written.
    """
    if isinstance(folder, RemotePath):
        with _drafting_remote(folder) as draft:
            yield draft
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_debris(folder)
    token = uuid.uuid4().hex[:8]
    writing = folder.with_name(f"_writing-{folder.name}-{token}")
    writing.mkdir()
    try:
        yield Draft(writing, writing)
    except BaseException:
        shutil.rmtree(writing, ignore_errors=True)
        raise
    take_place(writing, folder)


@contextmanager
def _drafting_remote(folder: RemotePath) -> Iterator[Draft]:
    former = _remove_unnamed(folder)
    attempt = folder / f"attempt-{uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="isr-draft-") as own:
        draft = Draft(Path(own), attempt)
        try:
            yield draft
            draft.written += at_once(
                lambda file: _put_own(attempt, draft.own, file),
                [file for file in sorted(draft.own.rglob("*")) if file.is_file()],
            )
            _check_written(attempt, draft.written)
        except BaseException:
            with suppress(StoreError):  # the next writer removes it
                attempt.remove_below()
            raise
    # From here on nothing is removed: a manifest may be there although its writer was refused.
    _publish(folder, draft.written)
    for name in former:
        (folder / name).remove_below()


def _put_own(attempt: RemotePath, own: Path, file: Path) -> Stored:
    """Put a file of this machine under its name."""
    name = file.relative_to(own).as_posix()
    return put_file(attempt / name, file.read_bytes(), name)


def put_file(place: RemotePath, content: Any, name: str) -> Stored:
    """Put a file of an attempt; whether the store kept it is asked when that is published."""
    place.put(content)
    return Stored(place, name, len(content), hashlib.sha256(content).hexdigest())


def _check_written(attempt: RemotePath, files: list[Stored]) -> None:
    """Look whether all files of an attempt are there.

    Raises:
        StoreError: one is not.
    """
    there = dict(attempt.files())
    for file in files:
        size = there.get(str(file.place).removeprefix(f"{attempt}/"))
        if size != file.size:
            what = "does not have it" if size is None else f"has {size} of {file.size} bytes"
            raise StoreError(f"{file.place}: was written, and the store {what}")


def _publish(folder: RemotePath, files: list[Stored]) -> None:
    """Name the files of an attempt in the manifest: from now on they count."""
    named = [
        {
            "name": file.name,
            "file": str(file.place).removeprefix(f"{folder}/"),
            "size": file.size,
            "sha256": file.sha256,
        }
        for file in sorted(files, key=lambda file: file.name)
    ]
    (folder / MANIFEST).write_text(json.dumps({"files": named}, indent=1) + "\n")


def _manifest(folder: RemotePath) -> list[Stored] | None:
    """Files of the version that counts; None if there is none.

    Raises:
        StoreError: the manifest is damaged.
    """
    place = folder / MANIFEST
    try:
        try:
            named = json.loads(place.read_bytes())["files"]
        except ValueError:
            # Arrow asks for the size first: a longer one that was put since is cut off there.
            named = json.loads(place.read_bytes())["files"]
        return [
            Stored(folder / str(one["file"]), one["name"], one["size"], one["sha256"])
            for one in named
        ]
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        raise StoreDamaged(f"{place}: is not what was published") from None


@contextmanager
def replacing(folder: Place) -> Iterator[Path]:
    """Give an empty folder of this machine, whose files take the place of ``folder`` at the end.

    See `drafting`.
    """
    with drafting(folder) as draft:
        yield draft.own


def is_published(folder: Place) -> bool:
    """Tell whether a folder is there, whole."""
    if isinstance(folder, RemotePath):
        return (folder / MANIFEST).is_file()
    return folder.is_dir()


def files(folder: Place, below: str = "", suffix: str = ".parquet") -> list[Stored]:
    """Files of a published folder, in order of their names; empty if it is not there.

    Args:
        folder: that was published.
        below: a folder in it.
        suffix: that their names end with.

    Raises:
        StoreError: the store does not answer, or its manifest is damaged.
    """
    if isinstance(folder, RemotePath):
        return _chosen(_manifest(folder) or [], below, suffix)
    where = folder / below if below else folder
    found = sorted(where.glob(f"[!_]*{suffix}"))
    return [Stored(file, file.relative_to(folder).as_posix()) for file in found]


def _chosen(held: list[Stored], below: str, suffix: str) -> list[Stored]:
    """Of a version's files those that readers of a folder in it see."""
    prefix = f"{below}/" if below else ""
    return [
        one
        for one in held
        if one.name.startswith(prefix)
        and one.name.endswith(suffix)
        and "/" not in one.name[len(prefix) :]
        and not one.name[len(prefix) :].startswith("_")
    ]


def read_tables(folder: RemotePath, read: Callable[[list[Stored]], Made]) -> Made:
    """Read the Parquet files of one version of a published folder, and of no other.

    Args:
        folder: that was published.
        read: makes something of a version's files; called again with those of the next version.

    Returns:
        What ``read`` made.

    Raises:
        StoreError: see `_of_one_version`.
    """
    return _of_one_version(folder, lambda held: read(_chosen(held, "", ".parquet")))


def content_of(folder: Place, name: str) -> bytes | None:
    """What a file of a published folder holds; None if it has no such file.

    Raises:
        StoreError: see `contents_of`.
    """
    return contents_of(folder, [name]).get(name)


def contents_of(folder: Place, names: Sequence[str]) -> dict[str, bytes]:
    """What some files of one version of a published folder hold, without those that it has not.

    Raises:
        StoreError: see `_of_one_version`.
    """
    if not isinstance(folder, RemotePath):
        places = {name: folder / name for name in names}
        return {name: file.read_bytes() for name, file in places.items() if file.is_file()}

    def read(held: list[Stored]) -> dict[str, bytes]:
        found = {one.name: one for one in held if one.name in names}
        return dict(zip(found, map(bytes, at_once(_checked, list(found.values()))), strict=True))

    return _of_one_version(folder, read)


def _of_one_version(folder: RemotePath, read: Callable[[list[Stored]], Made]) -> Made:
    """Read files of the version that counts.

    Who publishes the next version removes the files of the one before. A reader that misses them
    begins again with what counts now.

    Raises:
        StoreDamaged: the store does not have what the version that counts is made of.
        StoreError: it does not answer, or the folder is replaced again and again.
    """
    held = _manifest(folder) or []
    for _ in range(VERSIONS_MAX):
        try:
            return read(held)
        except StoreDamaged:
            now = _manifest(folder) or []
            if now == held:
                raise
            held = now
    raise StoreError(
        f"{folder}: was replaced {VERSIONS_MAX} times while it was read; "
        "try again when the program that writes it has ended"
    )


def move(source: Place, target: Place) -> None:
    """Have a published folder take the place of another; it can be called again if it was cut off.

    Does nothing where there is no ``source``: it was moved before.
    """
    if not is_published(source):
        return
    if isinstance(source, RemotePath):
        copy(source, target)
        remove(source)
        return
    assert isinstance(source, Path)
    assert isinstance(target, Path)
    remove_debris(target)
    take_place(source, target)


def take_place(source: Path, target: Path) -> None:
    """Rename a folder, in place of another."""
    target.parent.mkdir(parents=True, exist_ok=True)
    replaced = target.with_name(f"_replaced-{target.name}-{uuid.uuid4().hex[:8]}")
    # A crash between the two renames leaves no folder, never a half-written one.
    if target.exists():
        target.rename(replaced)
    source.rename(target)
    shutil.rmtree(replaced, ignore_errors=True)


def copy(source: Place, target: Place) -> None:
    """Publish what a published folder holds in another place as well."""
    with drafting(target) as draft:
        if isinstance(source, RemotePath):
            for file in _manifest(source) or []:
                draft.take(file, file.name)
        else:
            # A published file never changes: a second name for it takes no space.
            shutil.copytree(source, draft.own, copy_function=_linked, dirs_exist_ok=True)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or one that has no links
        shutil.copy2(source, target)


def remove_debris(folder: Place) -> None:
    """Remove what attempts to replace ``folder`` left behind when they were cut off."""
    if isinstance(folder, RemotePath):
        _remove_unnamed(folder)
        return
    for state in ("writing", "replaced"):
        for debris in folder.parent.glob(f"_{state}-{folder.name}-*"):
            shutil.rmtree(debris, ignore_errors=True)


def _remove_unnamed(folder: RemotePath) -> list[str]:
    """Remove attempts that the manifest does not name; the names of those that it does."""
    there = {name.partition("/")[0] for name, _ in folder.files() if "/" in name}
    if not there:
        return []
    held = [str(file.place) for file in _manifest(folder) or []]
    named = [one for one in sorted(there) if _holds(folder / one, held)]
    for attempt in sorted(there.difference(named)):
        (folder / attempt).remove_below()
    return named


def _holds(attempt: RemotePath, places: list[str]) -> bool:
    return any(place.startswith(f"{attempt}/") for place in places)


def remove(folder: Place) -> None:
    """Remove a published folder: at once for readers, then what it held."""
    if isinstance(folder, RemotePath):
        (folder / MANIFEST).unlink(missing_ok=True)
        folder.remove_below()
        return
    if folder.is_dir():
        # Renamed first: a deletion that is cut off must not leave part of a table.
        doomed = folder.with_name(f"_replaced-{folder.name}-{uuid.uuid4().hex[:8]}")
        folder.rename(doomed)
        remove_tree(doomed)
