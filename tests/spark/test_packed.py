"""Workers with neither our checkout nor our environment: docs/deploy.md's archive is all they need.

One cluster for all facts: two workers of another user, for whom the checkout is an empty folder.
One of them is killed while it simulates.
"""

from __future__ import annotations

import glob
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from isr_pipeline.base.home import REPOSITORY
from tests.spark.cluster import USER, Cluster, end, theirs, why_not
from tests.test_wheel import wheel
from tools.setup import find_uv

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["wheel"]

SCENARIOS = 400
"""Enough that a worker can be killed while others of its tasks have yet to begin."""

NIGHT = """
import json, sys
from pathlib import Path
from isr_pipeline.experiment.plan import make_plan
from isr_pipeline.night.spark.spark_session import spark_session
from isr_pipeline.night.spark.spark_workers import ask_workers
from isr_pipeline.night.spark import simulate
from isr_pipeline.tables.scenarios_table import generate_scenarios
from isr_pipeline.tables.summary import summarize_night
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.schemas import SCHEMAS

master, folder, scenarios = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
plan = make_plan("smoke", "2026-11-19", scenarios)
file = ["--plan", str(plan.save(folder / "plan.json"))]
spark = spark_session("elsewhere", master, preload=simulate.PRELOADED)
workers = [(one.user, one.home) for one in ask_workers(spark, plan.root)]
generate_scenarios(plan)
for shard in plan.shards:
    simulate.run(spark, simulate.parse([*file, "--shard", shard.name]))
parts.assemble(plan)
summarize_night(plan)
spark.stop()
of_night = plan.experiment, plan.night
digests = {name: store.table_digest(name, *of_night, root=plan.root) for name in SCHEMAS}
print("made", json.dumps({"digests": digests, "workers": workers}))
"""


@dataclass(frozen=True)
class Made:
    """What a night's jobs left.

    Attributes:
        digests: of each table.
        workers: user and home of each Python worker, as it was asked.
        said: on standard error.
        writer: user who wrote the first rows, where that was asked for.
    """

    digests: dict[str, str]
    workers: list[tuple[str, str]]
    said: str
    writer: str


class Driver:
    """A night's jobs on some master, in a process of its own; a context manager."""

    def __init__(self, folder: Path, master: str, **variables: str) -> None:
        folder.mkdir(exist_ok=True)
        self.root = folder / "tables"
        self.root.mkdir()
        user = pwd.getpwnam(USER)
        os.chown(self.root, 0, user.pw_gid)
        self.root.chmod(0o2775)  # what is made below it belongs to the same group
        self._said = folder / "said.txt"
        places = {"ISR_PIPELINE_ROOT": str(self.root), "ISR_PIPELINE_HOME": str(folder / "home")}
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-c", NIGHT, master, str(folder), str(SCENARIOS)],
                env=os.environ | places | variables,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                umask=0o002,
            )

    def first_writer(self) -> str:
        """Wait until the first task of the simulation has written its rows; its user."""
        while self._process.poll() is None:
            # Folders go while they are looked through; Path.rglob would raise.
            pattern = f"{self.root}/**/outcomes/part-*.parquet"
            found = glob.glob(pattern, recursive=True)  # noqa: PTH207
            if found:
                return Path(found[0]).owner()
            time.sleep(0.02)
        raise AssertionError(self._said.read_text()[-3000:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def made(self, writer: str = "") -> Made:
        """Wait for its end; it has to be a good one."""
        output, _ = self._process.communicate()
        said = self._said.read_text()
        assert self._process.returncode == 0, said[-3000:]
        found: dict[str, Any] = json.loads(output.partition("made ")[2])
        workers = [(user, home) for user, home in found["workers"]]
        return Made(found["digests"], workers, said, writer)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Return a folder that others may read; what is below pytest's own is its user's alone."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="isr-packed-") as named:
        Path(named).chmod(0o755)
        yield Path(named)


@pytest.fixture(scope="module")
def here(folder: Path) -> Made:
    """A night's tables made by workers of this machine."""
    with Driver(folder / "here", "local[2]") as driver:
        return driver.made()


def block(kind: str) -> str:
    """The block of a kind in the recipe of the archive, as docs/deploy.md has it."""
    text = (REPOSITORY / "docs" / "deploy.md").read_text().partition("### An archive")[2]
    return text.partition(f"```{kind}\n")[2].partition("```")[0]


@pytest.fixture(scope="module")
def archive(folder: Path, wheel: Path) -> Path:
    """The archive, made by the page's commands; uv stands in for venv and pip, to save minutes."""
    uv = find_uv(sys.executable)
    dist = folder / "dist"
    dist.mkdir()
    shutil.copy2(wheel, dist)
    script = block("console").replace("$ ", "")
    for ours, quick in (
        ("python3.13 -m venv", f"{uv} venv --python {theirs()}"),
        ("isr/bin/pip install", f"{uv} pip install --python isr/bin/python"),
        ("uv export", f"{uv} export --project {REPOSITORY}"),
        ("/shared/isr.tar.gz", str(folder / "isr.tar.gz")),
    ):
        assert ours in script
        script = script.replace(ours, quick)
    subprocess.run(["bash", "-ec", script], cwd=folder, check=True)
    (folder / "isr.tar.gz").chmod(0o644)
    return folder / "isr.tar.gz"


@pytest.fixture(scope="module")
def settings(folder: Path, archive: Path) -> Path:
    """Folder of Spark's configuration, as the page has it."""
    conf = folder / "conf"
    conf.mkdir()
    text = block("properties").replace("/shared/isr.tar.gz", str(archive))
    text = text.replace("/var/lib/isr", str(folder / "cluster" / "scratch"))
    (conf / "spark-defaults.conf").write_text(text)
    return conf


@pytest.fixture(scope="module")
def there(folder: Path, settings: Path) -> Made:
    """The same, made by two workers elsewhere, of which one is killed."""
    with Cluster(folder / "cluster") as cluster:
        variables = {"SPARK_CONF_DIR": str(settings)}
        with Driver(folder / "driver", cluster.master, **variables) as driver:
            writer = driver.first_writer()
            end(cluster.workers[0])
            return driver.made(writer)


@pytest.mark.slow
class TestElsewhere:
    """What the archive holds is enough."""

    def test_workers_have_nothing_of_ours(self, there: Made) -> None:
        """Every worker is another user, with a home of its own."""
        assert {user for user, _ in there.workers} == {USER}
        assert all(home.endswith("/cluster/scratch") for _, home in there.workers)

    def test_same_tables(self, here: Made, there: Made) -> None:
        """Every table has the digest that it has on this machine."""
        assert there.digests == here.digests

    def test_no_worker_compiles(self, folder: Path, archive: Path, there: Made) -> None:
        """They find the archive's kernel, wherever Spark unpacked it."""
        assert there.digests
        times = [file.stat().st_mtime for file in (folder / "cluster").rglob("*.nbc")]
        assert 0 < max(times) < archive.stat().st_mtime

    def test_a_worker_was_lost_in_a_stage(self, there: Made) -> None:
        """Spark noticed, and gave its tasks to the other."""
        assert "Lost executor" in there.said

    def test_workers_write_the_tables(self, there: Made) -> None:
        """They write into folders that the driver made: the group may."""
        assert there.writer == USER
