"""One Spark for all steps of a run: joined by many, stopped by none, gone with its holder."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from isr_pipeline.home import REPOSITORY, Home
from isr_pipeline.host import spark_place, stack
from isr_pipeline.host.spark_process import SharedSpark

if TYPE_CHECKING:
    from collections.abc import Iterator

MASTER = "local[2]"

STEP = """
import signal
import sys
from isr_pipeline.host import spark_place
from isr_pipeline.host.spark_session import joined

counted = None
def work(batches):
    for batch in batches:
        counted.add(batch.num_rows)
        yield batch

ctrl_c = signal.getsignal(signal.SIGINT)
with joined("step", sys.argv[1]) as spark:
    if spark is None:
        print("none")
    else:
        spark.conf.set("spark.sql.shuffle.partitions", sys.argv[2])
        counted = spark.sparkContext.accumulator(0)
        rows = spark.range(0, 100, 1, 4).mapInArrow(work, "id long").count()
        kept = signal.getsignal(signal.SIGINT) is ctrl_c
        print(spark.sparkContext.applicationId, rows, counted.value, kept)
"""


FAILING = """
import sys
from isr_pipeline.host.spark_errors import cause
from isr_pipeline.host.spark_session import joined

def work(batches):
    raise ValueError("a bolt is loose")
    yield

try:
    with joined("step", sys.argv[1]) as spark:
        spark.range(0, 4, 1, 1).mapInArrow(work, "id long").count()
except Exception as error:
    print(cause(error))
"""

KEPT = """
import sys
from isr_pipeline.host.spark_session import joined

with joined("count", sys.argv[1]) as spark:
    gateway = spark.sparkContext._gateway.java_gateway_server.getGateway()
    print(gateway.getBindings().size())
"""


class Run:
    """What a run has: a Spark, and steps in processes of their own."""

    def __init__(self, folder: Path) -> None:
        home = Home(folder, str(folder / "tables"))
        self.variables = stack.environment(home, spark_master=MASTER)
        self.variables["PYTHONPATH"] = str(REPOSITORY)
        self.spark = SharedSpark(home, self.variables)
        self.place = Path(self.spark.variables[spark_place.PLACE])

    def said(self, code: str, *arguments: str) -> str:
        """What a program says that finds this run's Spark, in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=self.variables | self.spark.variables,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def step(self, master: str = MASTER, setting: str = "3") -> list[str]:
        """Run a step; return the words it said."""
        return self.said(STEP, master, setting).split()

    def kept(self) -> int:
        """How many objects Java keeps for programs that asked for them, this one included."""
        return int(self.said(KEPT, MASTER))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One Spark for the tests that leave it running."""
    run = Run(tmp_path_factory.mktemp("shared"))
    yield run
    run.spark.end()


class TestSharedSpark:
    """A Spark that several processes use."""

    def test_steps_share_one(self, run: Run) -> None:
        """Two steps run on the same Spark application, each counting its own rows."""
        first, second = run.step(), run.step()
        assert first == second
        assert first[1:3] == ["100", "100"]

    def test_steps_leave_nothing_behind(self, run: Run) -> None:
        """Java keeps no session or plan of a step that has left, however many there were."""
        run.step()
        before = run.kept()
        for _ in range(3):
            run.step()
        assert run.kept() <= before

    def test_a_failure_can_be_read_after_leaving(self, run: Run) -> None:
        """The one line names what a worker said, though Java was left before it is asked for."""
        assert run.said(FAILING, MASTER) == "ValueError: a bolt is loose\n"

    def test_ctrl_c_is_the_steps_own(self, run: Run) -> None:
        """Spark's answer to it would be an error of its own once the step has left."""
        assert run.step()[3] == "True"

    def test_another_master_is_another_spark(self, run: Run) -> None:
        """A step that wants a cluster does not get the Spark of this machine."""
        assert run.step(master="spark://127.0.0.1:7077") == ["none"]

    def test_secret_is_its_owners(self, run: Run) -> None:
        """The file that opens the gateway is readable by its owner only."""
        assert stat.S_IMODE(run.place.stat().st_mode) == 0o600

    def test_gone_java_is_no_spark(self, tmp_path: Path) -> None:
        """After Java is killed a step finds none, without waiting long, and nothing is left."""
        run = Run(tmp_path)
        try:
            assert run.step()[1] == "100"
            holder = psutil.Process(_holder(run))
            family = holder.children(recursive=True)
            for one in family:
                if one.name() == "java":
                    one.kill()
            assert run.step() == ["none"]
        finally:
            run.spark.end()
        _, alive = psutil.wait_procs([holder, *family], timeout=30)
        assert alive == []
        assert not run.place.exists()

    def test_ends_with_whoever_started_it(self, tmp_path: Path) -> None:
        """A starter that is killed takes Spark along: nothing runs on without it."""
        code = (
            "import pathlib, sys, time\n"
            "from tests.spark.test_shared_spark import Run\n"
            "run = Run(pathlib.Path(sys.argv[1]))\n"
            "run.step(); print('up', flush=True); time.sleep(600)\n"
        )
        starter = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            cwd=REPOSITORY,
            env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert starter.stdout is not None
        assert starter.stdout.readline() == "up\n"
        family = psutil.Process(starter.pid).children(recursive=True)
        starter.kill()
        starter.wait()
        _, alive = psutil.wait_procs(family, timeout=30)
        assert alive == []


def _holder(run: Run) -> int:
    return int(json.loads(run.place.read_text())["pid"])
