"""Kafka's own command-line tools, run from the jars of a release."""

from __future__ import annotations

import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import Refused
from isr_pipeline.night.surroundings import own
from tools.lab.jars import checked_jars, class_path, release_folder
from tools.lab.java import lab_java

if TYPE_CHECKING:
    from isr_pipeline.base.home import Home
    from tools.lab.release import Release

TOOL_SECONDS_MAX = 120.0

_LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Several Java programs share a few cores: no second compiler, no parallel collector."""

_CLASSES = {
    "storage": ("kafka.tools.StorageTool",),
    "topics": ("org.apache.kafka.tools.TopicCommand", "kafka.admin.TopicCommand"),
    "configs": ("org.apache.kafka.tools.ConfigCommand", "kafka.admin.ConfigCommand"),
    "log-dirs": ("org.apache.kafka.tools.LogDirsCommand", "kafka.admin.LogDirsCommand"),
    "dump-log": ("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments"),
    "reassign-partitions": (
        "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
        "kafka.admin.ReassignPartitionsCommand",
    ),
    "producer-perf-test": ("org.apache.kafka.tools.ProducerPerformance",),
}
"""Kafka's name of a tool (``kafka-NAME.sh``) -> its class in newer and in older releases."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java with the classes of one release.

    Attributes:
        program: its ``java``.
        release: of Kafka.
        class_path: Java's own form of it.
        kafka_jars: jars that Kafka's own classes are in.
    """

    program: Path
    release: Release
    class_path: str
    kafka_jars: tuple[Path, ...]

    def command(self, main: str, *arguments: str, heap_mb: int = 256) -> list[str]:
        """Return the command that runs a class."""
        light = [f"-Xmx{heap_mb}m", *_LIGHT]
        return [str(self.program), *light, "-cp", self.class_path, main, *arguments]

    def main_class(self, tool: str) -> str:
        """Return the class of a tool.

        Raises:
            Refused: the release's jars do not hold it.
        """
        for name in _CLASSES[tool]:
            entry = f"{name.replace('.', '/')}.class"
            for jar in self.kafka_jars:
                with zipfile.ZipFile(jar) as content:
                    if entry in content.NameToInfo:
                        return name
        raise Refused(f"lab: kafka-{tool} is not among the published jars of Kafka {self.release}")


def release_java(home: Home, release: Release) -> Java:
    """Return the Java that runs a release.

    Raises:
        Refused: it was not fetched, a jar was damaged since, or there is no Java.
    """
    jars = checked_jars(home, release)
    folder = release_folder(home, release)
    kafka = tuple(
        folder / jar.file for jar in jars if jar.coordinate.startswith("org.apache.kafka:kafka")
    )
    program = lab_java(home) / "bin" / "java"
    return Java(program, release, class_path(home, release, jars), kafka)


def run_tool(java: Java, tool: str, *arguments: str) -> str:
    """Run one of Kafka's tools, and return what it printed.

    Args:
        java: of a release.
        tool: as in ``kafka-TOOL.sh``.
        arguments: its own.

    Raises:
        Refused: it did not succeed, or did not end in time.
    """
    command = java.command(java.main_class(tool), *arguments)
    try:
        done = subprocess.run(
            command,
            env=own(os.environ),
            capture_output=True,
            text=True,
            check=False,
            timeout=TOOL_SECONDS_MAX,
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"kafka-{tool} did not end within {TOOL_SECONDS_MAX:g} s") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        telling = [line.strip() for line in said if "Exception" in line] or said
        raise Refused(f"kafka-{tool}: {telling[0] if telling else 'no word'}")
    return done.stdout
