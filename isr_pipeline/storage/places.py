"""Places by their names: a folder of this machine, or one in an object store."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

from isr_pipeline.storage.remote import SCHEMES, RemotePath

Place = Path | RemotePath
"""A file or a folder, wherever it lies."""

ALLOWED = "a folder, file:///FOLDER, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, hdfs://HOST:PORT/PATH"

_URI = re.compile(r"(?P<scheme>[A-Za-z][\w+.-]*)://(?P<rest>.*)")


def place_of(text: str | Path | RemotePath) -> Place:
    """Return the place that a path or a URI names.

    Raises:
        ValueError: a scheme that is not known, or no bucket.
    """
    if not isinstance(text, str):
        return text
    if text.startswith("file:"):
        return Path(unquote(urlsplit(text).path))
    found = _URI.fullmatch(text)
    if found is None:
        return Path(text)
    if found["scheme"] not in SCHEMES or not found["rest"].strip("/"):
        raise ValueError(f"{text}: allowed: {ALLOWED}")
    return RemotePath.of(text)


def remove_tree(folder: Place) -> None:
    """Remove a folder with all that is in it; one that is not there, or cannot go, is left."""
    if isinstance(folder, RemotePath):
        folder.remove_below()
    else:
        shutil.rmtree(folder, ignore_errors=True)
