"""What a night stands on, asked before it starts: folders, Java, Spark's master, MLflow's store.

Each takes a moment to ask and, when it is missing, minutes to find out half-way through a night.
Every answer is one line that names the variable, what was found and what is allowed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import urllib.error
import urllib.request
import uuid
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from isr_pipeline.base.disk import DISK_FULL, disk_full
from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.files.words import without_password
from isr_pipeline.base.places import root_path
from isr_pipeline.base.storage.remote import StoreError, endpoint
from isr_pipeline.night.spark.java import java_home, spark_home
from isr_pipeline.night.spark.spark_watch import wait_s

if TYPE_CHECKING:
    from isr_pipeline.base.home import Home
    from isr_pipeline.base.storage.places import Place

ANSWER_SECONDS_MAX = 2.0
"""How long a server may take to be heard of."""

JAVA_SECONDS_MAX = 30.0
"""How long a Java may take to start: on a busy machine many times what it takes on an idle one."""

PROBE_BYTES = 64 * 1024
"""Written to see whether a volume has room: without room for these no night can begin."""

FREE_BYTES_MIN = 2**29
"""A night is refused below this. It needs twice its tables until it is whole, which is far less;
Spark, logs and databases take the rest."""

MASTERS = "local, local[2], local[*], spark://HOST:PORT, yarn, k8s://URL"
_LOCAL = re.compile(r"local(\[(\*|[1-9]\d{0,4})(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]")
_STANDALONE = re.compile(r"spark://[\w.-]+:\d+(,[\w.-]+:\d+)*", re.ASCII)
_OTHER = re.compile(r"yarn|k8s://\S+")

PATH_REFUSED = (*':,;%?#*[]{}$`"\\\t\n', "!/")
"""What some program of the stack reads as something else; set-up says of a checkout what as."""

STORES = "sqlite:///FILE, postgresql://…, mysql://…, mssql://…, http://HOST:PORT, https://HOST"
_DATABASE_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}


def check_night_can_start(home: Home, master: str) -> None:
    """Ask for everything that ``make nightly`` and ``make ui`` need on this machine.

    Args:
        home: where state lives.
        master: Spark master URL.

    Raises:
        InputError: a variable names what cannot be used.
        Refused: no Java, no Spark, or a full volume.
    """
    check_places(home)
    check_master(master)
    wait_s()
    check_java(home)
    check_store(home)


def check_places(home: Home) -> None:
    """Ask whether state and tables can be written.

    Raises:
        InputError: naming the variable that says where.
        Refused: a library is missing, or a volume is full or nearly so.
    """
    check_home(home)
    _check_space(home.path, "ISR_PIPELINE_HOME")
    named = "ISR_PIPELINE_HOME"
    if home.store:
        named = "ISR_PIPELINE_STORE"
        _check_place(home.made, named)
        if home.store.startswith("s3:") and importlib.util.find_spec("boto3") is None:
            raise Refused("boto3, by which MLflow keeps artefacts in s3://, is not installed")
    if os.environ.get("ISR_PIPELINE_ROOT") or not home.store:
        named = "ISR_PIPELINE_ROOT" if os.environ.get("ISR_PIPELINE_ROOT") else named
        _check_place(root_path(home.root), named)


def check_home(home: Home) -> None:
    """Ask whether the home, and what is in it, can be written.

    Raises:
        InputError: naming ``ISR_PIPELINE_HOME``, or ``NUMBA_CACHE_DIR`` if that is another place.
        Refused: their volume is full.
    """
    holds = next((letter for letter in PATH_REFUSED if letter in str(home.path)), "")
    if holds:
        allowed = f"a path without {holds!r} (spaces, quotes like ' and any alphabet are fine)"
        raise InputError("ISR_PIPELINE_HOME", "", home.path, allowed)
    _check_folder(home.path, "ISR_PIPELINE_HOME")
    for name in (
        *("airflow", "baselines", "comparisons", "data_docs", "java", "locks", "nights", "numba"),
        "spark",
    ):
        below = home.path / name
        if below.exists():
            _check_folder(below, "ISR_PIPELINE_HOME")
    kernels = Path(os.environ.get("NUMBA_CACHE_DIR") or home.numba_cache)
    named = "ISR_PIPELINE_HOME" if home.path in kernels.parents else "NUMBA_CACHE_DIR"
    _check_folder(kernels, named)


def _check_place(place: Place, named: str) -> None:
    """Write something into a folder or a store, read it and remove it.

    Raises:
        InputError: that cannot be done.
    """
    if isinstance(place, Path):
        _check_folder(place, named)
        _check_space(place, named)
        return
    allowed = "a bucket that answers, and may be read and written with the credentials given"
    probe = place / f"_probe-{uuid.uuid4().hex[:8]}"
    try:
        # Arrow would try for longer than a person waits.
        server = urlsplit(endpoint() if place.uri.startswith("s3:") else "")
        port = server.port or (80 if server.scheme == "http" else 443)
        silent = _refusal(server.hostname, port) if server.hostname else ""
        if silent:
            raise StoreError(f"{place}: {endpoint()} cannot be reached ({silent})")
        probe.write_bytes(b"isr-pipeline")
        probe.unlink()
    except (StoreError, ValueError) as error:  # a port that is no number
        given = str(error).replace(str(probe), str(place))
        raise InputError(named, "", given, allowed) from None


def _check_folder(folder: Path, named: str) -> None:
    """Make a folder if it is not there, and write something into it.

    Raises:
        InputError: that cannot be done.
        Refused: its volume is full.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
            probe.write(bytes(PROBE_BYTES))
    except OSError as error:
        if disk_full(error):
            raise Refused(f"{named}: {folder}: {DISK_FULL}; free some, and try again") from None
        reason = "a file" if folder.is_file() else (error.strerror or str(error)).lower()
        raise InputError(
            named, "", f"{folder} ({reason})", "a folder that can be written"
        ) from None


def _check_space(folder: Path, named: str) -> None:
    """Ask whether a volume has room for a night.

    Raises:
        Refused: it has not.
    """
    free = shutil.disk_usage(folder).free
    if free < FREE_BYTES_MIN:
        raise Refused(
            f"{named}: {folder} has {free / 2**20:.0f} MiB free; "
            f"allowed: {FREE_BYTES_MIN / 2**20:.0f} MiB or more, for a night and for Spark"
        )


def check_master(master: str, named: str = "SPARK_MASTER") -> None:
    """Ask whether a Spark master is written as one, and answers if it is a server.

    Args:
        master: its URL.
        named: the variable or connection that names it.

    Raises:
        InputError: it is not, or does not.
    """
    if _LOCAL.fullmatch(master) or _OTHER.fullmatch(master):
        return
    if not _STANDALONE.fullmatch(master):
        raise InputError(named, "", master or "empty", MASTERS)
    reason = ""
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        reason = _refusal(host, int(port))
        if not reason:
            return
    raise InputError(named, "", f"{master} ({reason})", f"a master that answers, or {MASTERS}")


def _refusal(host: str, port: int) -> str:
    """Why nothing answers at a port, ``""`` if something does."""
    try:
        with socket.create_connection((host, port), timeout=ANSWER_SECONDS_MAX):
            return ""
    except TimeoutError:
        return f"no answer in {ANSWER_SECONDS_MAX:g} s"
    except (OSError, OverflowError, UnicodeError) as error:
        return (getattr(error, "strerror", None) or str(error)).lower()


def check_java(home: Home) -> None:
    """Ask whether Spark's launcher is there and its Java starts.

    Raises:
        InputError: the Java that ``JAVA_HOME`` (or PATH) names does not start.
        Refused: there is no Java, no Spark or no shell for its launcher.
    """
    launcher = spark_home() / "bin" / "spark-submit"
    if not os.access(launcher, os.X_OK):
        raise Refused(
            f"{launcher} is missing or cannot be run; run `make setup` after `make clean`"
        )
    if shutil.which("bash") is None:
        raise Refused("bash, which Spark's launcher is written for, is not on PATH; install it")
    java = java_home(home) / "bin" / "java"
    try:
        subprocess.run(
            [str(java), "-version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=JAVA_SECONDS_MAX,
        )
    except subprocess.CalledProcessError as error:
        said = " ".join(f"{error.stdout} {error.stderr}".split())
        reason = said or f"exit status {error.returncode}"
    except subprocess.TimeoutExpired:
        reason = f"no word in {JAVA_SECONDS_MAX:g} s"
    except OSError as error:
        reason = str(error.strerror).lower()
    else:
        return
    raise InputError("JAVA_HOME", "", f"{java} ({reason})", "a Java 17 or 21 that starts")


def check_store(home: Home) -> None:
    """Ask whether MLflow's store is written as one, and answers if it is a server.

    Raises:
        InputError: it is not, or does not.
    """
    uri = home.mlflow_uri
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError as error:
        raise _not_a_store(uri, str(error).lower()) from None
    kind = parts.scheme.partition("+")[0]
    if kind == "sqlite":
        _check_sqlite(uri)
    elif kind in _DATABASE_PORTS:
        reason = _refusal(parts.hostname or "localhost", port or _DATABASE_PORTS[kind])
        if reason:
            raise _not_a_store(uri, reason)
    elif kind in ("http", "https") and parts.hostname:
        reason = _http_refusal(uri)
        if reason:
            raise _not_a_store(uri, reason)
    elif kind not in ("databricks", "databricks-uc"):
        raise _not_a_store(uri, "")


def _not_a_store(uri: str, reason: str) -> InputError:
    shown = without_password(uri)
    given = f"{shown} ({reason})" if reason else shown
    return InputError("MLFLOW_TRACKING_URI", "", given, STORES)


def _check_sqlite(uri: str) -> None:
    path = uri.partition("://")[2].removeprefix("/").partition("?")[0]
    file = Path(unquote(path)) if "%" in path else Path(path)
    if not path:
        raise _not_a_store(uri, "no file")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_file() and file.stat().st_size:
            with file.open("r+b") as content:
                if content.read(16) != b"SQLite format 3\0":
                    raise _not_a_store(uri, "no SQLite database")
            _check_pages(uri, file)
        else:
            with tempfile.TemporaryFile(dir=file.parent):
                pass
    except OSError as error:
        raise _not_a_store(uri, (error.strerror or str(error)).lower()) from None


def _check_pages(uri: str, file: Path) -> None:
    """Ask SQLite whether its file is whole: one that was cut off still begins as a database."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            (said,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        return  # somebody writes: nothing is known to be wrong
    except sqlite3.DatabaseError as error:
        said = str(error)
    if said != "ok":
        raise _not_a_store(uri, f"damaged: {said}")


def _http_refusal(uri: str) -> str:
    """Why no server answers; any answer counts, and so does one over a certificate of its own."""
    try:
        # urllib takes a user in the address for a part of the host's name.
        address = without_password(uri)
        with urllib.request.urlopen(address, timeout=ANSWER_SECONDS_MAX):  # noqa: S310 - http(s)
            return ""
    except urllib.error.HTTPError:
        return ""
    except urllib.error.URLError as error:
        reason = error.reason
        if "ssl" in type(reason).__name__.lower():
            return ""
        return str(getattr(reason, "strerror", None) or reason).lower()
    except (OSError, ValueError) as error:
        return (getattr(error, "strerror", None) or str(error)).lower()
