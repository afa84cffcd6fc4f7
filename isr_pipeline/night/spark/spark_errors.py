"""Why a step on Spark broke off, in one line: the cause, without what Spark says around it.

Spark hands a worker's error on as a text that holds the Python traceback, Java's own trace, and the
trace of every error that the first one led to. The cause stands in the middle of it.
"""

from __future__ import annotations

import re

from isr_pipeline.base.disk import DISK_FULL, disk_full
from isr_pipeline.base.errors import LINE_MAX, shortened
from isr_pipeline.night.spark.spark_watch import NO_EXECUTOR

STARTED = "ISR_PIPELINE_SPARK_STARTED"
"""Environment variable: file to make once a session has started, for whoever submitted the job."""

_GONE = re.compile(
    r"Error while (?:sending|receiving|obtaining)|Answer from Java side is empty|"
    r"Connection (?:refused|reset)|SparkContext was shut down|"
    r"Cannot call methods on a stopped SparkContext|An error occurred while trying to connect"
)
_WORKER_KILLED = re.compile(
    r"Python worker (?:exited unexpectedly|process terminated)|ExecutorLostFailure|"
    r"Lost executor|Remote RPC client disassociated"
)
RECIPES = 'from an image or from spark.archives (docs/deploy.md, "A Spark elsewhere")'
"""How workers elsewhere get this package and its libraries."""

_STARTS = (
    "a worker of Spark cannot start its Python: {}; "
    f"allowed: this program's environment at the same path there, or one {RECIPES}"
)
_OF_A_WORKER: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"version `(?P<what>GLIBC_[\d.]+)' not found"),
        (
            "a worker of Spark has an older C library than the driver's machine ({} is missing); "
            "allowed: the same Linux release there, or an older one here"
        ),
    ),
    (re.compile(r'Cannot run program "(?P<what>[^"]+)".*No such file'), _STARTS),
    (re.compile(r'(?P<what>Cannot run program "[^"]+".*Permission denied)'), _STARTS),
    (
        re.compile(r"Python in worker has different version: (?P<what>[\d.]+)"),
        _STARTS.format("it is Python {}, not this program's version"),
    ),
    (
        re.compile(r"reading the port number from (?P<what>\S+)'s stdout"),
        _STARTS.format("{} ended at once, its log there says why"),
    ),
    (
        re.compile(r"InvalidClassException: (?P<what>[^;\s]+);"),
        "Spark on a worker is of another version than here ({}); allowed: the same version",
    ),
)
"""What Spark says of a worker that cannot be one of ours, and what is said instead."""

_WAITED = re.compile(rf"{NO_EXECUTOR} [^\n]+?(?= SQLSTATE|\n|$)")

_PYTHON = re.compile(
    r"^(?P<line>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Refused)\b: .+)$", re.MULTILINE
)
_JAVA = re.compile(r"^Caused by: (?P<line>.+)$", re.MULTILINE)
_STORE = re.compile(r"^(?:\w+\.)*Store(?:Error|Damaged): (?P<line>.+)$", re.MULTILINE)
_SPARKS = (
    "Py4J",
    "PySpark",
    "PythonException: An exception was",
    "SparkException",
    "org.",
    "java.",
    "py4j.",
    "pyspark.",
)


def cause(error: BaseException) -> str:
    """Return one line that says why a step broke off.

    Args:
        error: as it reached the step.
    """
    text = in_full(error)
    full = disk_full(error, text)
    if full:
        return full
    store = store_trouble(text)
    if store:
        return store
    waited = _WAITED.search(text)
    if waited:
        return shortened(waited[0], LINE_MAX - 50)
    if isinstance(error, ConnectionError) or _GONE.search(text):
        return "Spark was killed while the step ran, or ended by itself (was memory short?)"
    if _WORKER_KILLED.search(text):
        return "a process of Spark was killed while the step ran (was memory short?)"
    unfit = unfit_worker(text)
    if unfit:
        return shortened(unfit, LINE_MAX - 50)
    found = [match["line"] for match in _PYTHON.finditer(text) if not _of_spark(match["line"])]
    found = found or [match["line"] for match in _JAVA.finditer(text)][-1:]
    first = found[0] if found else f"{type(error).__name__}: {error}".partition("\n")[0]
    return shortened(" ".join(first.split()), LINE_MAX - 50)


def in_full(error: BaseException) -> str:
    """All that an error and those before it say, as far as they can still be asked."""
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(before)
    return "\n".join(f"{type(one).__name__}: {_said(one)}" for one in chain)


def _said(error: BaseException) -> str:
    """Text of an error; those of pyspark and py4j ask Java, which may have ended or was left."""
    try:
        return str(error)
    except Exception:
        parts = (getattr(error, "_desc", ""), getattr(error, "_stackTrace", ""))
        return "\n\n".join(str(part) for part in parts if part)


def only_a_person_mends(reason: str) -> bool:
    """Whether a second try would end for the same reason."""
    return DISK_FULL in reason or reason.startswith(NO_EXECUTOR)


def unfit_worker(text: str) -> str:
    """Say what a worker elsewhere lacks, if that is what broke a step off; else nothing."""
    for pattern, line in _OF_A_WORKER:
        match = pattern.search(text)
        if match:
            return line.format(match.groupdict().get("what", ""))
    return ""


def store_trouble(text: str) -> str:
    """Say what an object store did, if a worker says that this is why; else nothing."""
    found = _STORE.search(text)
    return shortened(" ".join(found["line"].split()), LINE_MAX - 50) if found else ""


def _of_spark(line: str) -> bool:
    """Whether a line is Spark's own about an error, not the error's."""
    return line.startswith(_SPARKS)
