"""One S3-compatible server for the tests of a module; each test has a prefix of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isr_pipeline.base.storage.remote import RemotePath
from tests.storage.server import BUCKET, Server, running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def process() -> Iterator[Server]:
    """The server of a module."""
    with running() as server:
        yield server


@pytest.fixture
def server(process: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server, which answers well, and whose place is in the environment."""
    process.behave()
    for name, value in process.variables.items():
        monkeypatch.setenv(name, value)
    return process


@pytest.fixture
def prefix(server: Server, request: pytest.FixtureRequest) -> RemotePath:
    """A place where nothing is yet."""
    return RemotePath.of(f"s3://{BUCKET}/{request.node.name}")
