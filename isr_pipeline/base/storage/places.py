"""Places by their names: a folder of this machine, or one in an object store."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from isr_pipeline.base.storage.remote import SCHEMES, RemotePath, at_once

Place = Path | RemotePath
"""A file or a folder, wherever it lies."""

ALLOWED = "a folder, file:///FOLDER, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, hdfs://HOST:PORT/PATH"

_URI = re.compile(r"(?P<scheme>[A-Za-z][\w+.-]*)://(?P<rest>.*)")


def place_of(text: str | Path | RemotePath) -> Place:
    """Return the place that a path or a URI names.

    Raises:
        ValueError: a scheme that is not known, no bucket, or credentials in it.
    """
    if not isinstance(text, str):
        return text
    if text.startswith("file:"):
        return Path(unquote(urlsplit(text).path))
    found = _URI.fullmatch(text)
    if found is None:
        return Path(text)
    bucket = found["rest"].partition("/")[0]
    if "@" in bucket:  # not repeated: it may be a password
        raise ValueError(f"{found['scheme']}://…@…: credentials in the address; allowed: {ALLOWED}")
    if found["scheme"] not in SCHEMES or not bucket:
        raise ValueError(f"{text}: allowed: {ALLOWED}")
    return RemotePath.of(text)


def names_below(folder: Place) -> list[str]:
    """Names of all files below a folder, with the folders between, sorted."""
    if isinstance(folder, RemotePath):
        return [name for name, _ in folder.files()]
    found = (file for file in folder.rglob("*") if file.is_file())
    return sorted(file.relative_to(folder).as_posix() for file in found)


def modified_s(file: Place) -> float:
    """When a file was written, seconds since 1970.

    Raises:
        FileNotFoundError: there is none.
    """
    return file.modified_s() if isinstance(file, RemotePath) else file.stat().st_mtime


@contextmanager
def at_hand(folder: Place) -> Iterator[Path]:
    """Give a folder of this machine with the files of ``folder``: itself, or a copy for a while."""
    if not isinstance(folder, RemotePath):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="isr-copy-") as copy:
        names = names_below(folder)
        contents = at_once(lambda name: (folder / name).read_bytes(), names)
        for name, content in zip(names, contents, strict=True):
            file = Path(copy) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        yield Path(copy)


def remove_tree(folder: Place) -> None:
    """Remove a folder with all that is in it; one that is not there, or cannot go, is left."""
    if isinstance(folder, RemotePath):
        folder.remove_below()
    else:
        shutil.rmtree(folder, ignore_errors=True)
