"""The laboratory without brokers: what is refused, what is ended, what is checked.

Processes are real; where a broker would run, a Java home of this test holds a shell script.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from isr_pipeline.base.errors import LINE_MAX, InputError, Refused
from isr_pipeline.base.home import REPOSITORY, Home
from tests.saying import finished
from tests.tables import from_table
from tools.lab import brokers, jars, nodes
from tools.lab.brokers import cluster_folder, clusters, down, up
from tools.lab.listing import listing
from tools.lab.release import EXAMPLES, Release
from tools.lab.settings import Plan, Ports, as_properties, broker_properties, read_settings
from tools.lab.tools import release_java, run_tool

OLD = Release(2, 7, 2)
"""A release that needs no formatting: fewer programs for a script to play."""

STORAGE_CLASS = "kafka/tools/StorageTool.class"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty state folder."""
    return Home(tmp_path / "state", str(tmp_path / "state" / "tables"))


def fake_jar(home: Home, release: Release, entry: str = STORAGE_CLASS) -> Path:
    """Put one jar where a fetch would, with its manifest; it holds one empty class."""
    folder = jars.release_folder(home, release)
    folder.mkdir(parents=True)
    file = folder / "kafka.jar"
    with zipfile.ZipFile(file, "w") as content:
        content.writestr(entry, b"")
    sha256 = jars._digest(file, "sha256")
    one = jars.Jar(f"org.apache.kafka:kafka_2.13:{release}", "kafka.jar", "0", sha256, 1)
    manifest = {"release": str(release), "jars": [asdict(one)]}
    (folder / jars.MANIFEST).write_text(json.dumps(manifest))
    return file


def java_that(does: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set JAVA_HOME to a Java that runs a shell script instead of a class."""
    java = tmp_path / "java"
    (java / "bin").mkdir(parents=True)
    (java / "release").write_text('JAVA_VERSION="17.0.1"\n')
    program = java / "bin" / "java"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java))


def sleeper(folder: Path, *, deaf: bool = False) -> subprocess.Popen[bytes]:
    """Start a process as a node's; a deaf one does not end when it is asked to."""
    folder.mkdir(parents=True)
    trap = "trap '' TERM; " if deaf else ""
    program = nodes.start(folder, ["sh", "-c", f"{trap}echo started; while :; do sleep 0.1; done"])
    while b"started" not in (folder / nodes.OUTPUT).read_bytes():
        time.sleep(0.02)
    return program


class TestRelease:
    """Numbers of releases."""

    def test_order_is_that_of_numbers(self) -> None:
        """3.10 would come after 3.9."""
        assert Release.parse("3.10.0") > Release.parse("3.9.2")

    @pytest.mark.parametrize("text", ["", "4", "4.x", "v4.3.1", "2.3.1", "0.8.2.2", "4.3.1; rm"])
    def test_others_are_refused(self, text: str) -> None:
        """No number, or of a release whose ZooKeeper client fails on Java 17."""
        with pytest.raises(InputError, match=r"lab: RELEASE: .*allowed: a release on Maven"):
            Release.parse(text)

    def test_three_ways_to_start_are_recorded(self) -> None:
        """Of ZooKeeper, of KRaft with log4j 1, of KRaft with log4j 2 there is a recording."""
        ways = {(one.zookeeper, one.log4j2) for one in map(Release.parse, EXAMPLES)}
        assert ways == {(True, False), (False, False), (False, True)}
        recorded = {one.name for one in (REPOSITORY / "tests/recordings/import").iterdir()}
        assert recorded == set(EXAMPLES)


class TestSettings:
    """What nodes are given."""

    def test_a_value_may_hold_an_equals_sign(self) -> None:
        """Only the first one ends the key."""
        assert read_settings(["a.b=c=d", "e="]) == {"a.b": "c=d", "e": ""}

    @from_table
    def test_what_is_no_setting_is_refused(self, given: list[str], said: str) -> None:
        """In one line that names the option."""
        with pytest.raises(InputError, match="--set") as refused:
            read_settings(given)
        assert said in str(refused.value)

    @pytest.mark.parametrize("release", [Release(2, 7, 2), Release(4, 3, 1)])
    def test_listeners_are_on_the_loopback(self, release: Release, tmp_path: Path) -> None:
        """No address of a broker is another one."""
        plan = Plan(settings={"broker.rack": "a"})
        made = broker_properties(plan, release, 2, Ports(1, (2, 3, 4), (5, 6, 7)), tmp_path)
        assert made["listeners"] == "INTERNAL://127.0.0.1:6,CLIENT://127.0.0.1:3"
        assert made["advertised.listeners"] == made["listeners"]

    def test_a_broker_has_its_own_before_those_of_all(self, tmp_path: Path) -> None:
        """A rack of one broker is not that of the others."""
        plan = Plan(({}, {"broker.rack": "b"}), {"broker.rack": "a"})
        ports = Ports(1, (2, 3), (4, 5))
        racks = [broker_properties(plan, OLD, i, ports, tmp_path)["broker.rack"] for i in (1, 2)]
        assert racks == ["a", "b"]

    def test_java_reads_what_was_written(self) -> None:
        """A backslash is doubled, which Java takes for one."""
        assert as_properties({"a": "b\\c"}) == "a=b\\\\c\n"


class TestJars:
    """What was fetched is what runs."""

    def test_not_fetched(self, home: Home) -> None:
        """Says which command fetches."""
        with pytest.raises(Refused, match=r"2\.7\.2 is not here; .*tools\.lab fetch 2\.7\.2"):
            jars.checked_jars(home, OLD)

    def test_a_changed_jar_is_refused(self, home: Home) -> None:
        """A start checks every jar."""
        fake_jar(home, OLD).write_bytes(b"other")
        with pytest.raises(Refused, match=r"kafka\.jar is missing or not as it was fetched"):
            jars.checked_jars(home, OLD)

    def test_a_broken_manifest_is_refused(self, home: Home) -> None:
        """So is one that is cut off."""
        file = fake_jar(home, OLD).with_name(jars.MANIFEST)
        file.write_text(file.read_text()[:20])
        with pytest.raises(Refused, match=r"jars\.json is missing or not as it was fetched"):
            jars.checked_jars(home, OLD)

    def test_a_checksum_other_than_the_published_one(self, tmp_path: Path) -> None:
        """A jar that Maven let through is compared once more."""
        path = Path("org/x/a/1.0/a-1.0-linux.jar")
        for folder in ("draft", "repository"):
            (tmp_path / folder / path).parent.mkdir(parents=True)
        (tmp_path / "draft" / path).write_bytes(b"jar")
        (tmp_path / "repository" / path.with_name(f"{path.name}.sha1")).write_text("0" * 40)
        with pytest.raises(Refused, match=r"org\.x:a:1\.0:linux: checksum \w+, published is 0000"):
            jars._recorded(tmp_path / "draft" / path, tmp_path / "draft", tmp_path / "repository")

    def test_without_maven(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """Says what to install."""
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(Refused, match=r"Apache Maven \(mvn\) is not on PATH"):
            jars.fetch(home, OLD)

    @from_table
    def test_what_maven_says(self, said: str, error: str, line: str) -> None:
        """An unknown release, no network and a wrong checksum are told apart, in one line."""
        found = jars._maven_failed(Release(9, 9, 9), said)
        assert type(found).__name__ == error
        assert line in str(found)
        assert len(str(found).splitlines()) == 1


class TestProcesses:
    """Nothing is ended that is not ours."""

    def test_a_process_is_known_again_and_ended(self, tmp_path: Path) -> None:
        """By its number and the moment of its start."""
        program = sleeper(tmp_path / "n")
        assert nodes.recorded(tmp_path / "n") is not None
        assert nodes.stop([tmp_path / "n"]) == 1
        assert not psutil.pid_exists(program.pid)
        assert nodes.recorded(tmp_path / "n") is None

    def test_one_that_does_not_end_is_killed(self, tmp_path: Path) -> None:
        """After its time."""
        program = sleeper(tmp_path / "n", deaf=True)
        assert nodes.stop([tmp_path / "n"], seconds_max=0.3) == 1
        assert not psutil.pid_exists(program.pid)

    def test_another_process_of_the_same_number_is_left_alone(self, tmp_path: Path) -> None:
        """The number was given out again: it began at another moment."""
        program = sleeper(tmp_path / "n")
        file = tmp_path / "n" / nodes.PROCESS
        started_s = psutil.Process(program.pid).create_time() - 60
        file.write_text(json.dumps({"pid": program.pid, "started_s": started_s}))
        assert nodes.stop([tmp_path / "n"]) == 0
        assert program.poll() is None
        program.kill()
        program.wait(5)


class TestStart:
    """Starts that do not succeed."""

    def test_a_port_in_use(self, home: Home) -> None:
        """Named in one line, before anything starts."""
        fake_jar(home, OLD)
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with pytest.raises(Refused, match=f"port {port} is in use"):
                up(home, OLD, Plan(({},), port=port))
        assert clusters(home) == []

    @pytest.mark.parametrize("number", [0, 21])
    def test_a_number_of_brokers_that_is_not_allowed(self, home: Home, number: int) -> None:
        """Between 1 and 20."""
        with pytest.raises(InputError, match=r"--brokers: \d+; allowed: 1 to 20"):
            up(home, OLD, Plan(({},) * number))

    def test_a_program_that_ends(
        self, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The last it said of a failure is in the refusal, and where the rest is."""
        fake_jar(home, OLD)
        java_that(
            "echo 'java.net.BindException: Address already in use'; exit 1", tmp_path, monkeypatch
        )
        with pytest.raises(
            Refused, match=r"zookeeper of Kafka 2\.7\.2 ended: a port .* in use"
        ) as no:
            up(home, OLD)
        assert nodes.OUTPUT in str(no.value)
        assert len(str(no.value)) <= LINE_MAX

    def test_a_program_that_does_not_answer(
        self, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After its time the start gives up and leaves no process."""
        fake_jar(home, OLD)
        java_that("exec sleep 600", tmp_path, monkeypatch)
        with pytest.raises(Refused, match=r"no answer within 1 s from zookeeper of Kafka 2\.7\.2"):
            up(home, OLD, seconds_max=1)
        assert clusters(home)[0].state == "down"

    def test_what_a_killed_one_left_is_ended_first(
        self, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A broker of a cluster whose start was killed does not live beside the next."""
        fake_jar(home, OLD)
        left = sleeper(cluster_folder(home, OLD) / "broker-1")
        java_that("exit 1", tmp_path, monkeypatch)
        with pytest.raises(Refused, match="ended"):
            up(home, OLD)
        assert not psutil.pid_exists(left.pid)

    def test_only_one_at_a_time(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another command that starts or ends clusters is waited for, not mixed in."""
        import fcntl

        said: list[str] = []
        home.locks.mkdir(parents=True)
        with (home.locks / "lab.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with monkeypatch.context() as patch:
                patch.setattr(brokers, "WAIT_SECONDS_MAX", 0.5)
                with pytest.raises(Refused, match=r"another lab command is at work for 0\.5 s"):
                    down(home, say=said.append)
            assert said == ["waiting for the end of another lab command"]
            end = threading.Timer(0.5, fcntl.flock, (file, fcntl.LOCK_UN))
            end.start()
            assert down(home, say=said.append) == []
            end.join()

    def test_what_is_kept(
        self, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`down --keep` leaves a cluster's files to be read; the next `down` removes them."""
        fake_jar(home, OLD)
        java_that("echo hello; exec sleep 600", tmp_path, monkeypatch)
        with pytest.raises(Refused, match="no answer within 1 s"):
            up(home, OLD, seconds_max=1)
        output = cluster_folder(home, OLD) / "zookeeper" / nodes.OUTPUT
        assert down(home, keep=True) == [str(OLD)]
        assert "hello" in output.read_text()
        assert down(home) == [str(OLD)]
        assert not output.exists()

    def test_nothing_to_end(self, home: Home) -> None:
        """A release that was named has to be there; none has to be."""
        assert down(home) == []
        with pytest.raises(Refused, match=r"no cluster of Kafka 2\.7\.2 was started"):
            down(home, OLD)


class TestTools:
    """Kafka's own tools."""

    def test_a_tool_that_was_not_published(self, home: Home) -> None:
        """Some releases lack the jar of their tools."""
        fake_jar(home, OLD)
        with pytest.raises(Refused, match=r"kafka-topics is not among the published jars"):
            run_tool(release_java(home, OLD), "topics")

    def test_a_tool_that_fails(
        self, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The line that names the exception is what is said."""
        fake_jar(home, OLD)
        java_that("echo Error >&2; echo a.B.CException: why >&2; exit 1", tmp_path, monkeypatch)
        with pytest.raises(Refused, match=r"^kafka-storage: a\.B\.CException: why$"):
            run_tool(release_java(home, OLD), "storage")


class TestList:
    """What is there."""

    def test_fetched_and_started(self, home: Home) -> None:
        """A release is listed once, oldest first, with its jars and its cluster's state."""
        for release in (Release(4, 3, 1), OLD):
            fake_jar(home, release)
        rows = [(row["release"], row["jars"], row["state"]) for row in listing(home)]
        assert rows == [("2.7.2", 1, "down"), ("4.3.1", 1, "down")]

    def test_on_the_command_line(self, home: Home) -> None:
        """An unknown release is one line and exit status 2; the list is JSON."""
        environment = {**os.environ, "ISR_PIPELINE_HOME": str(home.path)}

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            return finished([sys.executable, "-m", "tools.lab", *arguments], env=environment)

        refused = run("up", "1.0")
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
        assert json.loads(run("list", "--json").stdout) == []
