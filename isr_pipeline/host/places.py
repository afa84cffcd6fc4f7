"""Where the tables are: a folder of this machine, however it is named."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from isr_pipeline.home import Home


def root_path(root: str | None = None) -> Path:
    """Return the folder that holds the tables.

    Args:
        root: path or ``file:`` URI; the home's root if None.

    Raises:
        ValueError: if the root lies on a file system that is not mounted here. Spark reads and
            writes any Hadoop URI, but the rename that makes a table whole is a local one.
    """
    text = root or Home.from_environment().root
    if text.startswith("file:"):
        return Path(unquote(urlsplit(text).path))
    if "://" in text:
        msg = f"{text}: the table root must be a mounted folder; mount the store and name it"
        raise ValueError(msg)
    return Path(text).resolve()
