"""Why a step on Spark broke off, in one line: the cause, without what Spark says around it.

Spark hands a worker's error on as a text that holds the Python traceback, Java's own trace, and the
trace of every error that the first one led to. The cause stands in the middle of it.
"""

from __future__ import annotations

import errno
import re

from isr_pipeline.errors import LINE_MAX, shortened
from isr_pipeline.storage.remote import StoreError

DISK_FULL = "no space left on device"

_FULL = re.compile(
    r"(?:Errno 28\] )?No space left on device(?:[:,;]? '?(?P<file>/[^'\n]+?)'?)?(?:\n|$|\s\()|"
    r"database or disk is full|Disk quota exceeded",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"Error while (?:sending|receiving|obtaining)|Answer from Java side is empty|"
    r"Connection (?:refused|reset)|SparkContext was shut down|"
    r"Cannot call methods on a stopped SparkContext|An error occurred while trying to connect"
)
_WORKER_KILLED = re.compile(
    r"Python worker (?:exited unexpectedly|process terminated)|ExecutorLostFailure|"
    r"Lost executor|Remote RPC client disassociated"
)
_PYTHON = re.compile(
    r"^(?P<line>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Refused)\b: .+)$", re.MULTILINE
)
_JAVA = re.compile(r"^Caused by: (?P<line>.+)$", re.MULTILINE)
_STORE = re.compile(rf"^(?:\w+\.)*{StoreError.__name__}: (?P<line>.+)$", re.MULTILINE)
_SPARKS = ("Py4J", "PySpark", "SparkException", "org.", "java.", "py4j.", "pyspark.")


def cause(error: BaseException) -> str:
    """Return one line that says why a step broke off.

    Args:
        error: as it reached the step.
    """
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(before)
    text = "\n".join(f"{type(one).__name__}: {one}" for one in chain)
    full = disk_full(error, text)
    if full:
        return full
    store = _STORE.search(text)
    if store:
        return shortened(store["line"], LINE_MAX - 50)
    if isinstance(error, ConnectionError) or _GONE.search(text):
        return "Spark was killed while the step ran, or ended by itself (was memory short?)"
    if _WORKER_KILLED.search(text):
        return "a process of Spark was killed while the step ran (was memory short?)"
    found = [match["line"] for match in _PYTHON.finditer(text) if not _of_spark(match["line"])]
    found = found or [match["line"] for match in _JAVA.finditer(text)][-1:]
    first = found[0] if found else f"{type(error).__name__}: {error}".partition("\n")[0]
    return shortened(" ".join(first.split()), LINE_MAX - 50)


def disk_full(error: BaseException, text: str = "") -> str:
    """Say that a disk is full if that is why; else nothing."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(str(error.filename or ""))
    found = _FULL.search(text or f"{type(error).__name__}: {error}")
    return _full(found["file"] or "") if found else ""


def _full(file: str) -> str:
    where = f"{file}: " if file else ""
    return shortened(f"{where}{DISK_FULL}; free some, and run the night again", LINE_MAX - 50)


def _of_spark(line: str) -> bool:
    """Whether a line is Spark's own about an error, not the error's."""
    return line.startswith(_SPARKS)
