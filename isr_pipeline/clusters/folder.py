"""A folder as a source: ``__cluster_metadata-0`` of a broker, or all that somebody has collected.

What is known by its content is read, as if each file had been given; what is not is listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import counted, one_line, shown

FILES_MAX = 20_000
"""Logs that roll each hour are hundreds a month and broker."""
LISTED = 10
_NOT_WHOLE = (".deleted", ".part", ".swap", ".cleaned")
"""Behind the names of files that Kafka is about to delete, or still writes."""
_BEFORE_ALL = "bootstrap.checkpoint"
"""What a controller begins its first log with; the log has it, too."""
_OF_A_TOPIC = re.compile(r"(?!__cluster_metadata-0$).+-\d+")
"""A folder of records: those of topics say nothing of the cluster."""
_RECORDS = re.compile(r"\d{20}(?:-\d{10})?\.(?:log|checkpoint)")


def files_in(folder: Path, name: str) -> list[tuple[Path, str]]:
    """Find what may be a source, however deep.

    Args:
        folder: which is looked through; links to other folders are not followed.
        name: how the operator calls it.

    Returns:
        Each file, and its name for error lines and ``values_from``.

    Raises:
        InputError: a folder that cannot be read, or with too many files.
    """
    try:
        every = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(name, "", reason, "a folder that can be read") from None
    if len(every) > FILES_MAX:
        raise InputError(name, "", f"{len(every)} files", f"a folder of at most {FILES_MAX}")
    top = folder.resolve().name
    return [(path, one_line(f"{top}/{path.relative_to(folder).as_posix()}")) for path in every]


def may_be_a_source(path: Path, bytes_max: int) -> bool:
    """Whether a file of a folder is worth a look: no topic's records, and whole."""
    of_a_topic = _RECORDS.fullmatch(path.name) and _OF_A_TOPIC.fullmatch(path.parent.name)
    passing = path.name == _BEFORE_ALL or path.name.endswith(_NOT_WHOLE)
    return not (of_a_topic or passing or path.stat().st_size > bytes_max)


def not_used(folder: str, names: Sequence[str]) -> list[str]:
    """Tell of files that nothing was taken from."""
    if not names:
        return []
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    listed = ", ".join(shown(name) for name in names[:LISTED])
    return [f"{counted(len(names), 'file')} of {folder} that no reader takes: {listed}{more}"]
