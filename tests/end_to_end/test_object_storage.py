"""Nights whose tables, folders, baselines, pages and artefacts lie in an S3-compatible store."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from isr_pipeline.base.storage.published import MANIFEST
from isr_pipeline.base.storage.remote import RemotePath
from tests.end_to_end.conftest import EXPERIMENT, Site
from tests.end_to_end.test_night import digests
from tests.storage.server import BUCKET, Server, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NIGHT, LATER = "2026-09-05", "2026-09-06"
STORE = RemotePath.of(f"s3://{BUCKET}/all")


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
def here(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of the same night in a folder of this machine, in a home without a baseline."""
    home = tmp_path_factory.mktemp("folder")
    more = {"ISR_PIPELINE_HOME": str(home), "HOME": str(home)}
    own = dataclasses.replace(site, home=home, variables={**site.variables, **more})
    own.night(NIGHT, "--in-process")
    return digests(own.show(NIGHT))


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


@pytest.mark.slow
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
        assert f"Data Docs  {first['places']['data_docs']}" in first["said"]
        assert first["places"]["data_docs"].startswith(f"{STORE}/data_docs/{EXPERIMENT}/")


@pytest.mark.rehearsal
class TestBaseline:
    """A baseline that lies in the store."""

    def test_accepted_compared_pruned(self, there: Site, first: dict[str, Any]) -> None:
        """The next night is compared with the baseline in the store; a pruned night is gone."""
        there.run("baseline", "accept", NIGHT, "--experiment", EXPERIMENT, "--why", "first")
        assert f"night {NIGHT}, accepted by" in there.run(
            "baseline", "show", "--experiment", EXPERIMENT
        )
        assert "first" in there.run("baseline", "ledger", "--experiment", EXPERIMENT)
        there.night(LATER, "--in-process")
        assert there.show(LATER)["headline"] == "5 of 5 configurations unchanged"
        there.run("baseline", "accept", LATER, "--experiment", EXPERIMENT, "--why", "second")
        assert len(there.run("baseline", "ledger", "--experiment", EXPERIMENT).splitlines()) >= 2
        there.run("night", "prune", "--keep", "1")
        rows = there.json("night", "list")
        assert [row["night"] for row in rows] == [LATER]
        assert not [name for name, _ in STORE.files() if NIGHT in name]
        assert unnamed() == []


@pytest.mark.rehearsal
class TestKilled:
    """A night that was killed while it wrote."""

    def test_run_again(self, there: Site, here: dict[str, str]) -> None:
        """It has no verdict; run again it is whole, and nothing of the first try is left."""
        command = ("night", "run", "--experiment", EXPERIMENT, "--night", NIGHT, "--in-process")
        started = there.start(*command)
        started.wait_for("simulate")
        started.kill()
        there.wait_for_the_end()
        assert there.show(NIGHT)["status"] == "interrupted"
        there.night(NIGHT, "--in-process")
        assert digests(there.show(NIGHT))["outcomes"] == here["outcomes"]
        assert unnamed() == []


@pytest.mark.rehearsal
class TestTwoAtOnce:
    """Two machines, here two homes, that share a store."""

    def test_different_nights(
        self, there: Site, server: Server, here: dict[str, str], tmp_path: Path
    ) -> None:
        """Each writes its own night."""
        other = stored(there, server, tmp_path / "other")
        command = ("night", "run", "--experiment", EXPERIMENT, "--in-process", "--night")
        both = [there.start(*command, LATER), other.start(*command, NIGHT)]
        for one in both:
            try:
                assert one.process.wait(timeout=900) == 0, one.said()
            except subprocess.TimeoutExpired:
                one.process.kill()
                raise
        assert digests(other.show(NIGHT))["outcomes"] == here["outcomes"]
        assert there.show(LATER)["status"] in {"unchanged", "baseline"}
        assert unnamed() == []


@pytest.mark.rehearsal
class TestFaults:
    """A store that fails, forgets, or refuses."""

    def test_one_request_in_fifty_fails(
        self, there: Site, server: Server, here: dict[str, str]
    ) -> None:
        """Requests are made again; the night is what it always is."""
        server.behave(fail_every=50)
        try:
            there.night(NIGHT, "--in-process")
            assert server.counts()["failed"] > 5
        finally:
            server.behave()
        assert digests(there.show(NIGHT))["outcomes"] == here["outcomes"]

    def test_forgets_what_a_task_wrote(
        self, there: Site, server: Server, here: dict[str, str]
    ) -> None:
        """What a task of Spark wrote and the store forgot is simulated and written again."""
        server.behave(forget="shard=kip-501/")
        try:
            there.night(NIGHT, "--in-process")
            assert server.counts()["forgotten"] == 1
        finally:
            server.behave()
        assert digests(there.show(NIGHT))["outcomes"] == here["outcomes"]

    @pytest.mark.usefixtures("first")
    @pytest.mark.parametrize(
        "forgotten", ["verdict.json", "/outcomes/experiment=", "/summary/experiment="]
    )
    def test_forgets_a_write(self, there: Site, server: Server, forgotten: str) -> None:
        """The run is red and has one line that says so; the night stays as it was."""
        before = there.show(NIGHT)
        server.behave(forget=forgotten)
        try:
            said = there.night(NIGHT, "--in-process", status=1)
            assert server.counts()["forgotten"] == 1
        finally:
            server.behave()
        lines = [line for line in said.splitlines() if "and the store does not have it" in line]
        assert len(lines) == 1, said
        assert forgotten in lines[0]
        shown = there.show(NIGHT)
        assert (shown["status"], shown["headline"]) == (before["status"], before["headline"])
        assert " failed: " in shown["later"]

    def test_refused_on_the_way(self, there: Site, server: Server) -> None:
        """Credentials that expire during a night end it with one line, and it can be run again."""
        command = ("night", "run", "--experiment", EXPERIMENT, "--night", NIGHT, "--in-process")
        started = there.start(*command)
        started.wait_for("simulate")
        server.behave(refuse="ExpiredToken")
        try:
            assert started.process.wait(timeout=600) == 1
        finally:
            server.behave()
        assert "ExpiredToken" in started.said()
        assert "Traceback" not in started.said()
        there.night(NIGHT, "--in-process")
