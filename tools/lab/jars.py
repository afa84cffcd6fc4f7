"""The jars of a release: fetched by Maven, checked, and kept under the state folder.

Maven itself fetches them, so that its settings (mirrors, proxies) hold here too. It refuses a file
whose checksum is not the published one; the same is checked once more for every jar that is kept,
and a digest of our own is written beside them, which every later start checks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.progress import Progress, watched
from isr_pipeline.night.surroundings import own
from tools.lab.java import lab_java
from tools.lab.release import ALLOWED, Release

if TYPE_CHECKING:
    from isr_pipeline.base.home import Home

MANIFEST = "jars.json"

FETCH_SECONDS_MAX = 900.0
"""A first fetch asks for several hundred small files, one after the other."""

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>isr-pipeline</groupId>
  <artifactId>lab</artifactId>
  <version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = (
    "    <dependency><groupId>{}</groupId><artifactId>{}</artifactId>"
    "<version>{}</version></dependency>"
)

_NO_NETWORK = re.compile(
    r"Unknown ?Host|Name or service not known|name resolution|unreachable|Connection refused"
    r"|Connect(?:ion)? timed out|Connection reset|No route to host|connect to ",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar that was fetched.

    Attributes:
        coordinate: ``group:artifact:version``, with ``:classifier`` if it has one.
        file: path below the release's folder.
        sha1: checksum that the repository publishes.
        sha256: digest of the file that was fetched.
    """

    coordinate: str
    file: str
    sha1: str
    sha256: str
    size_bytes: int


TOOLS = "org.apache.kafka:kafka-tools"
"""Artifact of Kafka's command-line tools. A release starts without it: some were published without
(4.2.2, 4.4.0, seen 2026-11-23)."""


def _asked(release: Release, *, tools: bool) -> list[tuple[str, str, str]]:
    """(group, artifact, version) of what is asked for; Maven finds what these need."""
    number = str(release)
    group, artifact = TOOLS.split(":")
    extra = [(group, artifact, number)] if tools else []
    return [("org.apache.kafka", "kafka_2.13", number), *extra, *_logging(release)]


def _logging(release: Release) -> list[tuple[str, str, str]]:
    """What writes slf4j's calls as lines; the jars of some releases leave it to a distribution."""
    if release.log4j2:
        group = "org.apache.logging.log4j"
        return [(group, "log4j-slf4j-impl", "2.24.3"), (group, "log4j-core", "2.24.3")]
    if (release.major, release.minor) >= (3, 2):
        return [("org.slf4j", "slf4j-reload4j", "1.7.36")]
    return []


def release_folder(home: Home, release: Release) -> Path:
    """Folder of a release's jars."""
    return home.path / "lab" / "releases" / str(release)


def fetched(home: Home) -> list[Release]:
    """Releases whose jars are here, oldest first."""
    names = (m.parent.name for m in (home.path / "lab" / "releases").glob(f"*/{MANIFEST}"))
    return sorted(Release.parse(name) for name in names if re.fullmatch(r"\d+\.\d+\.\d+", name))


def fetch(home: Home, release: Release) -> list[Jar]:
    """Fetch the jars of a release, unless they are here already.

    Returns:
        The jars, by their files' names.

    Raises:
        InputError: there is no such release.
        Refused: no Maven, no Java, no network, or a file that is not what was published.
    """
    folder = release_folder(home, release)
    if (folder / MANIFEST).is_file():
        return checked_jars(home, release)
    maven = shutil.which("mvn")
    if maven is None:
        raise Refused(
            "lab fetch: Apache Maven (mvn) is not on PATH; it fetches the jars: install it "
            "(Debian: apt install maven)"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    repository = home.path / "lab" / "maven"
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as name:
        draft = Path(name) / str(release)
        with Progress(f"fetching Kafka {release}") as progress:
            end = watched(progress, lambda: f"{_megabytes(repository):.0f} MB kept")
            try:
                _run_maven(maven, home, release, repository, draft, tools=True)
            except InputError:
                _run_maven(maven, home, release, repository, draft, tools=False)
            finally:
                end()
        jars = [_recorded(file, draft, repository) for file in sorted(draft.rglob("*.jar"))]
        _write_manifest(draft, release, jars)
        if folder.exists():
            shutil.rmtree(folder)  # it has no manifest: a folder that somebody emptied by half
        draft.replace(folder)
    return jars


def _megabytes(folder: Path) -> float:
    """Size of all files below a folder, which another program may be changing."""
    size = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):
            size += file.stat().st_size
    return size / 1e6


def checked_jars(home: Home, release: Release) -> list[Jar]:
    """The jars of a release that was fetched, each as it was when it was.

    Raises:
        Refused: the release was not fetched, or a jar is missing or changed since.
    """
    folder = release_folder(home, release)
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        jars = [Jar(**one) for one in manifest["jars"]]
    except FileNotFoundError:
        raise Refused(
            f"Kafka {release} is not here; fetch it: python -m tools.lab fetch {release}"
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise _damaged(folder / MANIFEST, folder) from None
    for jar in jars:
        file = folder / jar.file
        if not file.is_file() or _digest(file, "sha256") != jar.sha256:
            raise _damaged(file, folder)
    return jars


def class_path(home: Home, release: Release, jars: list[Jar]) -> str:
    """Return Java's class path of a release."""
    folder = release_folder(home, release)
    return os.pathsep.join(str(folder / jar.file) for jar in jars)


def _damaged(file: Path, folder: Path) -> Refused:
    return Refused(f"{file} is missing or not as it was fetched; remove {folder} and fetch again")


def _run_maven(
    maven: str, home: Home, release: Release, repository: Path, draft: Path, *, tools: bool
) -> None:
    """Let Maven copy every jar of a release into a folder, as its repository lays them out.

    Raises:
        InputError: the repository has no such release (or, with ``tools``, no tools of it).
        Refused: Maven failed for another reason.
    """
    asked = _asked(release, tools=tools)
    dependencies = "\n".join(_DEPENDENCY.format(*one) for one in asked)
    with tempfile.TemporaryDirectory() as name:
        pom = Path(name) / "pom.xml"
        pom.write_text(_POM.format(dependencies=dependencies))
        command = [
            *(maven, "--batch-mode", "--quiet", "--strict-checksums", "--file", str(pom)),
            *(f"-Dmaven.repo.local={repository}", _PLUGIN, "-DincludeScope=runtime"),
            *("-Dmdep.useRepositoryLayout=true", f"-DoutputDirectory={draft}"),
        ]
        try:
            done = subprocess.run(
                command,
                cwd=name,
                env={**own(os.environ), "JAVA_HOME": str(lab_java(home))},
                capture_output=True,
                text=True,
                check=False,
                timeout=FETCH_SECONDS_MAX,
            )
        except subprocess.TimeoutExpired:
            raise Refused(
                f"lab fetch: Maven did not end within {FETCH_SECONDS_MAX:g} s; "
                "what it has is kept: fetch again"
            ) from None
    if done.returncode:
        raise _maven_failed(release, done.stdout + done.stderr)


def _maven_failed(release: Release, said: str) -> Exception:
    """What a person has to know of Maven's own words."""
    lines = [line for line in said.splitlines() if line.startswith("[ERROR]")]
    first = re.sub(r"\x1b\[[\d;]*m", "", lines[0] if lines else said.strip()[:300])
    first = first.removeprefix("[ERROR] ").partition(" -> [Help")[0]
    if "hecksum validation failed" in said:
        named = re.search(r"artifact (\S+) from", first)
        return Refused(
            f"lab fetch: the checksum of {named[1] if named else 'a file'} is not the published "
            "one; nothing was kept of it: fetch again, or look at Maven's mirrors"
        )
    if _NO_NETWORK.search(said):
        return Refused(f"lab fetch: Maven reaches no repository (no network?): {first}")
    if re.search(rf"kafka(?:_2\.13|-tools):\w+:{re.escape(str(release))}\b", said):
        return InputError("lab", "RELEASE", release, ALLOWED)
    return Refused(f"lab fetch: Maven: {first}")


def _recorded(file: Path, draft: Path, repository: Path) -> Jar:
    """Compare a jar with its published checksum, and say what it is."""
    path = file.relative_to(draft)
    *group, artifact, number, name = path.parts
    classifier = name.removesuffix(".jar").removeprefix(f"{artifact}-{number}").lstrip("-")
    coordinate = ":".join([".".join(group), artifact, number, *filter(None, [classifier])])
    published = repository / path.with_name(f"{name}.sha1")
    sha1 = _digest(file, "sha1")
    words = published.read_text().split() if published.is_file() else []
    if not words or words[0].lower() != sha1:
        given = "none" if not words else words[0]
        raise Refused(f"lab fetch: {coordinate}: checksum {sha1}, published is {given}")
    return Jar(coordinate, path.as_posix(), sha1, _digest(file, "sha256"), file.stat().st_size)


def _digest(file: Path, algorithm: str) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, algorithm).hexdigest()


def _write_manifest(folder: Path, release: Release, jars: list[Jar]) -> None:
    value = {"release": str(release), "jars": [asdict(jar) for jar in jars]}
    (folder / MANIFEST).write_text(json.dumps(value, indent=1) + "\n")
