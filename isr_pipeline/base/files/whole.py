"""Files that are there whole or not at all, whatever ends the program that writes them."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import TypeVar

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.storage.remote import RemotePath

AnyPlace = TypeVar("AnyPlace", Path, RemotePath, Path | RemotePath)

MODE = 0o666
"""What a file may be opened for, before the user's umask."""


def write_whole(file: AnyPlace, content: str | bytes, *, mode: int = MODE) -> AnyPlace:
    """Replace a file at once: a reader sees what stood there before, or all of the new content.

    The draft lies beside the file, under a hidden name that no second writer shares. Of several
    writers the last one's content stands.

    Args:
        file: to be written; its folder is made.
        content: text is written as UTF-8.
        mode: permissions, less the umask; an object store has its own.

    Returns:
        The file.

    Raises:
        OSError: the folder cannot be written, or the volume is full. No draft is left.
        StoreError: the object store that it lies in does not answer, refuses, or lost it.
    """
    data = content.encode() if isinstance(content, str) else content
    if isinstance(file, RemotePath):
        file.write_bytes(data)
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{uuid.uuid4().hex[:8]}")
    try:
        draft.touch(mode=mode, exist_ok=False)
        draft.write_bytes(data)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return file


def write_asked(file: Path, content: str, option: str) -> None:
    """Write a file that an option of a command names.

    Raises:
        InputError: it cannot be written there.
    """
    try:
        write_whole(file, content)
    except OSError as error:
        raise InputError(option, "", f"{file} ({error.strerror})", "a file to write") from None


def write_json(value: object, out: str, option: str) -> None:
    """Write JSON to a file that an option names, or to standard output for ``-``."""
    text = json.dumps(value, indent=1, allow_nan=False) + "\n"
    if out == "-":
        sys.stdout.write(text)
    else:
        write_asked(Path(out), text, option)
