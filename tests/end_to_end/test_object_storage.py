"""A night whose tables, folder, pages and artefacts lie in an S3-compatible store."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest

from isr_pipeline.storage.published import MANIFEST
from isr_pipeline.storage.remote import RemotePath
from tests.end_to_end.conftest import EXPERIMENT, Site
from tests.end_to_end.test_night import digests
from tests.storage.server import BUCKET, Server, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NIGHT = "2026-09-05"
STORE = RemotePath.of(f"s3://{BUCKET}/all")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The store, which this process asks too."""
    with running() as one, pytest.MonkeyPatch.context() as environment:
        for name, value in one.variables.items():
            environment.setenv(name, value)
        yield one


@pytest.fixture(scope="module")
def there(site: Site, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A home whose nights lie in the store."""
    return stored(site, server, tmp_path_factory.mktemp("home"))


def stored(site: Site, server: Server, home: Path) -> Site:
    """A home of its own with the same store."""
    more = {"ISR_PIPELINE_HOME": str(home), "HOME": str(home), "ISR_PIPELINE_STORE": str(STORE)}
    return dataclasses.replace(
        site, home=home, variables={**site.variables, **server.variables, **more}
    )


@pytest.fixture(scope="module")
def here(site: Site) -> dict[str, str]:
    """Digests of the same night in a folder of this machine."""
    site.night(NIGHT, "--in-process")
    return digests(site.show(NIGHT))


@pytest.fixture(scope="module")
def first(there: Site) -> dict[str, Any]:
    """The night in the store; what it said, and the night."""
    said = there.night(NIGHT, "--in-process")
    return {"said": said, **there.show(NIGHT)}


def unnamed() -> list[str]:
    """Files of tables and baselines in the store that no manifest names."""
    names = [name for name, _ in STORE.files() if name.startswith(("tables/", "baselines/"))]
    named = set()
    for name in names:
        folder, _, file = name.rpartition("/")
        if file == MANIFEST:
            content = json.loads((STORE / name).read_text())
            named |= {name, *(f"{folder}/{one['file']}" for one in content["files"])}
    return [name for name in names if name not in named and not name.endswith(".jsonl")]


class TestNight:
    """Where a night lies changes nothing in it."""

    def test_equal_digests(self, first: dict[str, Any], here: dict[str, str]) -> None:
        """Every table has the rows that it has in a folder."""
        assert digests(first) == here

    def test_nothing_stays_in_the_home(self, there: Site, first: dict[str, Any]) -> None:
        """The home has databases, locks and kernels; the store has what the night made."""
        assert first["places"]["report"].startswith(f"{STORE}/nights/")
        for name in ("tables", "nights", "baselines", "data_docs", "mlartifacts"):
            assert not (there.home / name).exists(), name
        names = {name.partition("/")[0] for name, _ in STORE.files()}
        assert names == {"tables", "nights", "data_docs", "mlartifacts"}
        assert any(name.endswith("/artifacts/report.html") for name, _ in STORE.files())
        assert unnamed() == []

    def test_said(self, first: dict[str, Any]) -> None:
        """The terminal names the pages where they are."""
        assert f"report     {STORE}/nights/{EXPERIMENT}/{NIGHT}/report.html" in first["said"]
        assert f"Data Docs  {STORE}/data_docs/{EXPERIMENT}/{NIGHT}/index.html" in first["said"]
