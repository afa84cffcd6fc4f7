"""The environment of our programs: what of the caller's stays, what is left aside and told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.night import stack
from isr_pipeline.night.surroundings import LOCALE, left_aside, own, told
from tests.saying import finished
from tests.tables import data_of, from_table

PROGRAM = [
    sys.executable,
    *("-I", "-X", "utf8"),
    str(REPOSITORY / "isr_pipeline" / "night" / "surroundings.py"),
]
ANOTHER_SPARK: dict[str, str] = data_of(__file__, "ANOTHER_SPARK")


class TestLeftAside:
    """What breaks our programs, and nothing else."""

    def test_another_spark(self) -> None:
        """Every variable of another Spark, Python and Java."""
        assert left_aside(ANOTHER_SPARK) == sorted(ANOTHER_SPARK)

    @from_table
    def test_what_docs_name_stays(self, name: str) -> None:
        """And what the package index and its proxy need."""
        assert left_aside({name: "x"}) == []

    @pytest.mark.parametrize(
        "elsewhere",
        [
            {"SPARK_MASTER": "yarn"},
            {"AIRFLOW_CONN_SPARK_DEFAULT": "spark://host:7077"},
            {"ISR_PIPELINE_ROOT": "hdfs://host/tables"},
        ],
    )
    def test_the_way_to_a_cluster_stays(self, elsewhere: dict[str, str]) -> None:
        """Hadoop's folder and this machine's address, where Spark or tables are elsewhere."""
        way = {"HADOOP_CONF_DIR": "/etc/hadoop", "SPARK_LOCAL_IP": "10.0.0.7"}
        assert left_aside(way | elsewhere) == []
        assert left_aside(way | {"SPARK_MASTER": "local[2]"}) == sorted(way)

    def test_one_line(self) -> None:
        """It names them, and where to read which count."""
        assert told(["PYTHONPATH", "SPARK_HOME"]) == (
            "left aside from your environment: PYTHONPATH, SPARK_HOME "
            "(docs/operations.md names the variables that count)\n"
        )


class TestOwn:
    """What every program of ours gets."""

    def test_loopback_is_asked_directly(self) -> None:
        """A proxy stays for the world; our own servers are not behind it."""
        mine = own({"http_proxy": "http://proxy:3128", "no_proxy": "intra.example"})
        assert mine["http_proxy"] == "http://proxy:3128"
        assert mine["no_proxy"] == "intra.example,127.0.0.1,localhost,::1"
        assert mine["NO_PROXY"] == "127.0.0.1,localhost,::1"

    def test_names_of_files_are_utf_8(self) -> None:
        """Whatever the shell's locale."""
        assert own({"LC_ALL": "C"})["LC_ALL"] == LOCALE

    def test_twice_is_once(self) -> None:
        """A program that starts another changes nothing more."""
        once = own(ANOTHER_SPARK | {"no_proxy": "a"})
        assert own(once) == once

    def test_a_night_gets_the_spark_beside_us(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its place is told outright, and a folder of settings only if one is named for us."""
        for name, value in ANOTHER_SPARK.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        variables = stack.environment(Home.from_environment())
        assert variables["SPARK_HOME"].endswith("site-packages/pyspark")
        assert "SPARK_CONF_DIR" not in variables
        assert variables["PYSPARK_PYTHON"] == sys.executable
        monkeypatch.setenv("ISR_PIPELINE_SPARK_CONF", str(tmp_path / "conf"))
        variables = stack.environment(Home.from_environment())
        assert variables["SPARK_CONF_DIR"] == str(tmp_path / "conf")
        gone = {"PYSPARK_SUBMIT_ARGS", "PYTHONPATH", "PYTHONHOME", "JAVA_TOOL_OPTIONS"}
        assert not gone & set(variables)


class TestProgram:
    """What make puts in front of every program."""

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command behind it, with these variables and PATH."""
        return finished([*PROGRAM, *command], env={"PATH": os.environ["PATH"], **variables})

    def test_python_starts_whatever_is_set(self) -> None:
        """A home of Python that is none stops neither it nor what it starts."""
        code = "import os; print(os.environ.get('PYTHONHOME'), os.environ['LC_ALL'])"
        done = self.run(sys.executable, "-c", code, PYTHONHOME="/none", LC_ALL="C")
        assert done.stdout == f"None {LOCALE}\n"
        assert done.stderr == told(["PYTHONHOME"])

    def test_nothing_to_say(self) -> None:
        """Without such a variable it is not noticed."""
        done = self.run("sh", "-c", "exit 7")
        assert (done.returncode, done.stdout + done.stderr) == (7, "")

    def test_no_such_command(self) -> None:
        """One line, and the status that a shell would give."""
        done = self.run("/none/pytest")
        assert done.stderr == "/none/pytest cannot be started: no such file or directory\n"
        assert done.returncode == 127

    def test_quiet(self) -> None:
        """Set-up says nothing: the program that follows does."""
        assert self.run("--quiet", "true", SPARK_HOME="/opt/spark").stderr == ""

    def test_the_command_line_does_it_too(self) -> None:
        """Called without make, with modules of another Spark in front of ours."""
        command = str(Path(sys.executable).parent / "isr-pipeline")
        done = finished(
            [command, "--version"],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": "/opt/spark/python"},
        )
        assert done.returncode == 0
        assert done.stderr == told(["PYTHONPATH"])
