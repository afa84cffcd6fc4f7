"""What a night stands on: what is missing is one line, before anything starts."""

from __future__ import annotations

import runpy
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.night import preconditions, stack
from tests.saying import refused

FOLDER = "a folder that can be written"
STORES = preconditions.STORES
MASTERS = preconditions.MASTERS


@pytest.fixture
def closed() -> int:
    """A port of the loopback that nothing listens on."""
    return stack.free_port()


@pytest.fixture
def served() -> Iterator[int]:
    """A port of the loopback that something listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home of its own, and no variable that names another place."""
    for name in ("ISR_PIPELINE_ROOT", "MLFLOW_TRACKING_URI", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path / "home"))
    return Home.from_environment()


class TestPlaces:
    """State and tables."""

    def test_made_if_missing(self, home: Home) -> None:
        """A home that is not there yet."""
        preconditions.check_places(home)
        assert Path(home.root).is_dir()

    def test_home_is_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Somebody named one."""
        file = tmp_path / "file"
        file.touch()
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(file))
        said = refused(lambda: preconditions.check_home(Home.from_environment()))
        assert said == f"ISR_PIPELINE_HOME: {file} (a file); allowed: {FOLDER}"

    def test_home_cannot_be_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In a file system of the kernel's own, root or not."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", "/proc/x")
        assert refused(lambda: preconditions.check_home(Home.from_environment())) == (
            f"ISR_PIPELINE_HOME: /proc/x (no such file or directory); allowed: {FOLDER}"
        )

    def test_letters_that_mean_something_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A home is refused for the same letters as a checkout."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path / "a,b"))
        assert refused(lambda: preconditions.check_home(Home.from_environment())) == (
            f"ISR_PIPELINE_HOME: {tmp_path}/a,b; allowed: a path without ',' "
            "(spaces, quotes like ' and any alphabet are fine)"
        )
        setup = runpy.run_path(str(REPOSITORY / "tools" / "setup.py"))
        assert set(preconditions.PATH_REFUSED) == set(setup["PATH_REFUSED"])

    def test_a_folder_of_it_is_a_file(self, home: Home) -> None:
        """What is below counts too."""
        home.path.mkdir()
        home.locks.touch()
        assert refused(lambda: preconditions.check_home(home)) == (
            f"ISR_PIPELINE_HOME: {home.locks} (a file); allowed: {FOLDER}"
        )

    def test_kernels_elsewhere(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """The variable that says so is named."""
        monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/kernels")
        with pytest.raises(InputError, match=r"^NUMBA_CACHE_DIR: /proc/kernels \(no such"):
            preconditions.check_home(home)

    @pytest.mark.parametrize(
        ("root", "line"),
        [
            ("/proc/t", f"/proc/t (no such file or directory); allowed: {FOLDER}"),
            (
                "ftp://h/t",
                (
                    "ftp://h/t; allowed: a folder, file:///FOLDER, s3://BUCKET/PREFIX, "
                    "gs://BUCKET/PREFIX, hdfs://HOST:PORT/PATH"
                ),
            ),
        ],
    )
    def test_tables(self, root: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The variable that says where the tables are."""
        monkeypatch.setenv("ISR_PIPELINE_ROOT", root)
        said = refused(lambda: preconditions.check_places(Home.from_environment()))
        assert said == f"ISR_PIPELINE_ROOT: {line}"


class TestMaster:
    """Spark's master."""

    @pytest.mark.parametrize(
        "master", ["local", "local[*]", "local[2]", "local[4,3]", "yarn", "k8s://https://h:6443"]
    )
    def test_allowed(self, master: str) -> None:
        """Whatever Spark takes and needs no asking."""
        preconditions.check_master(master)

    def test_answers(self, served: int) -> None:
        """One of two is enough."""
        preconditions.check_master(f"spark://127.0.0.1:{served}")
        preconditions.check_master(f"spark://127.0.0.1:1,127.0.0.1:{served}")

    @pytest.mark.parametrize("master", ["nonsense", "local[0]", "spark://host", "local[x]"])
    def test_no_master(self, master: str) -> None:
        """Written as none."""
        said = refused(lambda: preconditions.check_master(master))
        assert said == f"SPARK_MASTER: {master}; allowed: {MASTERS}"

    def test_does_not_answer(self, closed: int) -> None:
        """Nothing listens there."""
        master = f"spark://127.0.0.1:{closed}"
        assert refused(lambda: preconditions.check_master(master)) == (
            f"SPARK_MASTER: {master} (connection refused); "
            f"allowed: a master that answers, or {MASTERS}"
        )


class TestConnection:
    """The connection that the environment brings."""

    @pytest.mark.parametrize("text", ["nonsense", '{"conn_type": "spark"'])
    def test_none(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither URI nor JSON."""
        monkeypatch.delenv("SPARK_MASTER", raising=False)
        monkeypatch.setenv(stack.CONNECTION, text)
        assert refused(stack.wanted_master) == (
            f"{stack.CONNECTION}: {text}; "
            'allowed: a URI, or JSON such as {"conn_type": "spark", "host": "local[*]"}'
        )

    @pytest.mark.parametrize(
        ("text", "master"),
        [
            ("spark://host:7077", "spark://host:7077"),
            ('{"conn_type":"spark","host":"yarn"}', "yarn"),
        ],
    )
    def test_said(self, text: str, master: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A URI, or JSON; a master on the command line goes before it."""
        monkeypatch.delenv("SPARK_MASTER", raising=False)
        monkeypatch.setenv(stack.CONNECTION, text)
        assert stack.wanted_master() == master
        assert stack.wanted_master("local[1]") == "local[1]"


class TestStore:
    """MLflow's store."""

    def check(self, uri: str, monkeypatch: pytest.MonkeyPatch) -> str:
        """The refusal of a store; empty if there is none."""
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        try:
            preconditions.check_store(Home.from_environment())
        except InputError as refused:
            return str(refused)
        return ""

    def test_our_own(self, home: Home) -> None:
        """A file that is not there yet."""
        preconditions.check_store(home)

    def test_no_store(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Written as none."""
        said = self.check("nonsense", monkeypatch)
        assert said == f"MLFLOW_TRACKING_URI: nonsense; allowed: {STORES}"

    def test_no_database(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that is something else."""
        file = tmp_path / "mlflow.db"
        file.write_text("a text of some length")
        said = self.check(f"sqlite:///{file}", monkeypatch)
        assert said == (
            f"MLFLOW_TRACKING_URI: sqlite:///{file} (no SQLite database); allowed: {STORES}"
        )

    def test_database_that_was_cut_off(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It begins as a database, and SQLite says what is wrong with it."""
        file = tmp_path / "mlflow.db"
        with closing(sqlite3.connect(file)) as database:
            database.execute("CREATE TABLE runs (text)")
            database.executemany("INSERT INTO runs VALUES (?)", [("x" * 4_000,)] * 50)
            database.commit()
        uri = f"sqlite:///{file}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        preconditions.check_store(Home.from_environment())
        file.write_bytes(file.read_bytes()[: 20 * 4_096])
        assert self.check(uri, monkeypatch).startswith(
            f"MLFLOW_TRACKING_URI: {uri} (damaged: database disk image is malformed); allowed: "
        )

    @pytest.mark.parametrize("kind", ["http", "postgresql", "mysql+pymysql"])
    def test_no_answer(self, kind: str, closed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing listens there."""
        uri = f"{kind}://127.0.0.1:{closed}/x"
        said = self.check(uri, monkeypatch)
        assert said == f"MLFLOW_TRACKING_URI: {uri} (connection refused); allowed: {STORES}"

    def test_password_is_not_told(self, closed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """A line ends in logs."""
        said = self.check(f"postgresql://me:secret@127.0.0.1:{closed}/x", monkeypatch)
        assert said.startswith(f"MLFLOW_TRACKING_URI: postgresql://127.0.0.1:{closed}/x (conn")


class TestJava:
    """Spark's Java."""

    def test_does_not_start(
        self, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It says what it says."""
        java = tmp_path / "jdk" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text("#!/bin/sh\necho no memory >&2\nexit 1\n")
        java.chmod(0o755)
        (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="17.0.1"\n')
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
        assert refused(lambda: preconditions.check_java(home)) == (
            f"JAVA_HOME: {java} (no memory); allowed: a Java 17 or 21 that starts"
        )
