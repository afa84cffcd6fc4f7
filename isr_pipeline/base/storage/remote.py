"""A place in an object store, used like a :class:`pathlib.Path`, through Arrow's file systems.

``s3://bucket/key``, ``gs://bucket/key``, ``hdfs://host:port/path``. A file is put as a whole: there
is no half of one to be seen. What is put is read again before it counts, because a store may answer
and forget. Endpoint, region and credentials are those that every program for the store reads from
the environment (``AWS_ENDPOINT_URL``, ``AWS_REGION``, ``AWS_ACCESS_KEY_ID``, …).
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from isr_pipeline.base.errors import Refused

Given = TypeVar("Given")
Answer = TypeVar("Answer")

SCHEMES = ("s3", "gs", "hdfs")

VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION")
"""Environment variables that say where an S3 store is."""

ATTEMPTS = 6
"""How often a request is made before its failure counts; the time between grows."""

REQUESTS_AT_ONCE_MAX = 8

CONNECT_SECONDS_MAX = 5.0
REQUEST_SECONDS_MAX = 60.0

GS_SECONDS_MAX = 30
"""For a request to Google's store with its repetitions; its own limit is a quarter of an hour."""

_AWS = re.compile(r"AWS Error (?P<kind>[A-Z_]+)[^:]*: (?P<said>.*)", re.DOTALL)
_GOOGLE = re.compile(
    r"google::cloud::Status\((?P<kind>[A-Z_]+): (?:.*? last message of )?(?P<said>[^.]*)"
)
_EXCEPTION = re.compile(r"Unable to parse ExceptionName: (?P<name>\w+)(?: Message: (?P<said>.*))?")
_NOISE = re.compile(
    r"\s*(?:\(Request ID: [^)]*\)|;? ?Details: .*|curlCode: \d+,|No response body\.)\s*", re.DOTALL
)


_CUT_ERROR = "Failed to flush response stream"
"""What Arrow says, and does not try again, when the text of an error is longer than the file that
was asked for: it goes into the file's own buffer."""


class StoreError(Refused):
    """A store that cannot be reached, refuses, or does not keep what it was given.

    A refusal: Arrow has tried several times before it is said.
    """


class StoreDamaged(StoreError):
    """A store that does not have what was published there."""


@dataclass(frozen=True, slots=True)
class RemotePath:
    """A file or a folder in an object store.

    Attributes:
        uri: ``scheme://bucket/key``, without a slash at its end.
    """

    uri: str

    @classmethod
    def of(cls, text: str) -> RemotePath:
        """Read a URI."""
        scheme, _, rest = text.partition("://")
        return cls(f"{scheme}://{'/'.join(part for part in rest.split('/') if part)}")

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.uri}/{name}")

    @property
    def name(self) -> str:
        """Last part of the key."""
        return self.uri.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without what follows its last dot."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def suffix(self) -> str:
        """What follows the last dot of the name, with it."""
        return self.name.removeprefix(self.stem)

    @property
    def parent(self) -> RemotePath:
        """The folder that holds it."""
        return RemotePath(self.uri.rpartition("/")[0])

    def with_name(self, name: str) -> RemotePath:
        """Another name in the same folder."""
        return self.parent / name

    def as_uri(self) -> str:
        """The URI."""
        return self.uri

    def read_bytes(self) -> bytes:
        """Read a file.

        Raises:
            FileNotFoundError: there is none.
            StoreError: the store does not answer, or refuses.
        """
        return bytes(self.read_buffer())

    def read_buffer(self) -> Any:
        """Read a file as an Arrow buffer; see `read_bytes`."""
        system, path = _system(self)
        with _told(self, "read"):
            for attempt in range(1, ATTEMPTS):
                try:
                    with system.open_input_file(path) as file:
                        return file.read_buffer()
                except OSError as error:
                    if _CUT_ERROR not in str(error):
                        raise
                    time.sleep(0.05 * 2**attempt)
            with system.open_input_file(path) as file:
                return file.read_buffer()

    def read_text(self, encoding: str = "utf-8") -> str:
        """Read a file of text; see `read_bytes`."""
        return self.read_bytes().decode(encoding)

    def put(self, content: Any) -> None:
        """Write a file, without a look at whether it is there.

        Raises:
            StoreError: the store does not answer, or refuses.
        """
        system, path = _system(self)
        with _told(self, "written"), system.open_output_stream(path) as file:
            file.write(content)

    def write_bytes(self, content: bytes) -> int:
        """Replace a file as a whole, and look whether the store has it.

        Raises:
            StoreError: it has not, does not answer, or refuses.
        """
        self.put(content)
        try:
            kept = self.read_bytes()
        except FileNotFoundError:
            kept = None
        if kept != content:
            raise StoreError(f"{self}: was written, and the store {_lost(kept)}")
        return len(content)

    def write_text(self, content: str, encoding: str = "utf-8") -> int:
        """Replace a file of text as a whole; see `write_bytes`."""
        return self.write_bytes(content.encode(encoding))

    def copy_to(self, target: RemotePath) -> None:
        """Copy a file within the store, which the store does itself.

        Raises:
            StoreError: the store does not answer, or refuses.
        """
        system, path = _system(self)
        with _told(target, "written"):
            system.copy_file(path, _system(target)[1])

    def is_file(self) -> bool:
        """Tell whether there is a file of this name."""
        return self._kind() == "File"

    def is_dir(self) -> bool:
        """Tell whether there are files below it."""
        return self._kind() == "Directory" and bool(self.files())

    def exists(self) -> bool:
        """Tell whether it is a file, or has files below it."""
        kind = self._kind()
        return kind == "File" or (kind == "Directory" and bool(self.files()))

    def _kind(self) -> str:
        system, path = _system(self)
        with _told(self, "read"):
            return str(system.get_file_info(path).type.name)

    def modified_s(self) -> float:
        """When a file was written, seconds since 1970.

        Raises:
            FileNotFoundError: there is none.
            StoreError: the store does not answer, or refuses.
        """
        system, path = _system(self)
        with _told(self, "read"):
            found = system.get_file_info(path)
            if found.type.name != "File":
                raise FileNotFoundError(str(self))
            return float(found.mtime_ns) / 1e9

    def files(self) -> list[tuple[str, int]]:
        """Names and sizes of all files below it, however deep, in order of their names."""
        system, path = _system(self)
        with _told(self, "read"):
            found = system.get_file_info(_below(path))
        return sorted(
            (str(one.path).removeprefix(path).lstrip("/"), int(one.size))
            for one in found
            if one.type.name == "File"
        )

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """Give what lies below it under names of a pattern, whose ``*`` stands for one name."""
        wanted = pattern.split("/")
        found = set()
        for name, _ in self.files():
            parts = name.split("/")[: len(wanted)]
            if len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted)):
                found.add("/".join(parts))
        yield from (self / name for name in sorted(found))

    def mkdir(self, *, parents: bool = True, exist_ok: bool = True) -> None:
        """Do nothing: a store has no folders but those that files name."""

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove a file.

        Raises:
            FileNotFoundError: there is none, and that is not allowed.
            StoreError: the store does not answer, or refuses.
        """
        system, path = _system(self)
        with _told(self, "removed"):
            try:
                system.delete_file(path)
            except FileNotFoundError:
                if not missing_ok:
                    raise

    def remove_below(self) -> None:
        """Remove every file below it; none is there if there was none.

        Raises:
            StoreError: the store does not answer, or refuses.
        """
        system, path = _system(self)
        with _told(self, "removed"), contextlib.suppress(FileNotFoundError):
            system.delete_dir(path)


def at_once(ask: Callable[[Given], Answer], given: Sequence[Given]) -> list[Answer]:
    """Make several requests of a store at the same time; the answers, in the order of ``given``.

    A store is seldom busy and always far away: most of a request's time is waiting.

    Raises:
        StoreError: of the first that failed; the others were made.
    """
    if len(given) < 2:
        return [ask(one) for one in given]
    with ThreadPoolExecutor(min(len(given), REQUESTS_AT_ONCE_MAX)) as threads:
        return list(threads.map(ask, given))


def _lost(kept: bytes | None) -> str:
    return "does not have it" if kept is None else "has something else there"


@contextlib.contextmanager
def _told(place: RemotePath, done: str) -> Iterator[None]:
    """Turn what Arrow says of a store into one line; a file that is not there stays that."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(2, "No such file or directory", str(place)) from None
    except OSError as error:
        raise StoreError(f"{place}: cannot be {done} ({reason(error)})") from None


def reason(error: Exception) -> str:
    """Say in a few words why a store did not do what was asked."""
    text = " ".join(str(error).split())
    named = _EXCEPTION.search(text)
    if named:
        said = _NOISE.sub("", named["said"] or "").strip()
        return f"{named['name']}: {said}" if said else named["name"]
    found = _AWS.search(text) or _GOOGLE.search(text)
    if not found:
        return _NOISE.sub(" ", text).strip()
    said = _NOISE.sub("", found["said"]).strip()
    kind = found["kind"].lower().replace("_", " ")
    return f"{kind}: {said}" if said and said.lower() != kind else kind


def endpoint() -> str:
    """Address of the S3 server that the environment names; empty: Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def _below(path: str) -> Any:
    from pyarrow import fs  # noqa: PLC0415 - slow, and for those who have a store alone

    return fs.FileSelector(path, recursive=True, allow_not_found=True)


def _system(place: RemotePath) -> tuple[Any, str]:
    """File system of a place, and its path there."""
    scheme, _, rest = place.uri.partition("://")
    host, _, below = rest.partition("/")
    said = tuple(os.environ.get(name, "") for name in VARIABLES)
    return _made(os.getpid(), scheme, host, said), f"/{below}" if scheme == "hdfs" else rest


@functools.cache
def _made(process: int, scheme: str, host: str, said: tuple[str, ...]) -> Any:
    """One file system for each store of each process: a forked one needs connections of its own.

    Args:
        process: its number.
        scheme: of the store.
        host: or bucket.
        said: values of `VARIABLES`.
    """
    del process
    from pyarrow import fs  # noqa: PLC0415 - slow, and for those who have a store alone

    if scheme != "s3":
        try:
            limit = f"?retry_limit_seconds={GS_SECONDS_MAX}" if scheme == "gs" else ""
            return fs.FileSystem.from_uri(f"{scheme}://{host}/{limit}")[0]
        except (OSError, ValueError) as error:
            why = reason(error).partition(" dlopen(")[0]  # of each place that has no library
            raise StoreError(f"{scheme}://{host}: cannot be used ({why})") from None
    given = dict(zip(VARIABLES, said, strict=True))
    server = given["AWS_ENDPOINT_URL_S3"] or given["AWS_ENDPOINT_URL"]
    region = given["AWS_REGION"] or given["AWS_DEFAULT_REGION"]
    if not region:
        try:
            region = "us-east-1" if server else fs.resolve_s3_region(host)
        except OSError as error:
            raise StoreError(f"s3://{host}: cannot be read ({reason(error)})") from None
    return fs.S3FileSystem(
        endpoint_override=server or None,
        region=region,
        connect_timeout=CONNECT_SECONDS_MAX,
        request_timeout=REQUEST_SECONDS_MAX,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        # A small file is one request, which is there or is not.
        allow_delayed_open=True,
        background_writes=False,
    )
