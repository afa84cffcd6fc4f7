"""What Spark brings to workers that have neither our checkout nor our environment.

``ISR_PIPELINE_WORKERS=shipped`` makes a session hand two archives to every executor: this Python
with the libraries that workers need (:mod:`isr_pipeline.night.spark.pack`), and this package. Both
lie in the home, named by digests of what they hold, and are made when they are not there. What a
worker does with them: :mod:`isr_pipeline.night.spark.arrival`.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.night.spark.arrival import SCRATCH, SHIPPED, UMASK
from isr_pipeline.night.spark.pack import pack, pack_digest

WORKERS = "ISR_PIPELINE_WORKERS"
"""Environment variable: where workers have their code from."""

CHECKOUT, TO_WORKERS = "checkout", "shipped"
"""Its values. Workers share the checkout and its environment; or Spark brings them both."""

ARCHIVES_KEPT = 2
"""Archives of each kind that stay in the home: the present one, and what a night may still send."""

PYTHON = "./environment/bin/python"
"""The packed Python, from an executor's working folder."""


def wanted(master: str | None = None) -> bool:
    """Whether the environment asks for it, and there are workers elsewhere.

    Args:
        master: Spark's; one that begins with `local` has its workers here. None: any other.

    Raises:
        InputError: the variable holds another word.
    """
    word = os.environ.get(WORKERS) or CHECKOUT
    if word not in (CHECKOUT, TO_WORKERS):
        raise InputError(WORKERS, "", word, f"{CHECKOUT}, {TO_WORKERS}")
    return word == TO_WORKERS and not (master or "").startswith("local")


@dataclass(frozen=True, slots=True)
class Shipment:
    """Two archives.

    Attributes:
        environment: a Python with libraries.
        code: this package.
        digest: of the package's sources.
    """

    environment: Path
    code: Path
    digest: str


def shipment(home: Home) -> Shipment:
    """Give the archives of the present code and libraries; those that are missing are made."""
    folder = home.path / "spark"
    digest = package_digest()
    made = Shipment(
        folder / f"environment-{pack_digest()}.tar.gz", folder / f"code-{digest}.tar.gz", digest
    )
    if not made.environment.is_file():
        sys.stdout.write("packing this Python and its libraries for Spark's workers (once)\n")
        pack(made.environment)
        _remove_older(folder, "environment-")
    if not made.code.is_file():
        write_whole(made.code, _code())
        _remove_older(folder, "code-")
    return made


def _remove_older(folder: Path, beginning: str) -> None:
    """Remove all but the newest archives of a kind."""
    made = sorted(folder.glob(f"{beginning}*.tar.gz"), key=lambda one: one.stat().st_mtime)
    for old in made[:-ARCHIVES_KEPT]:
        old.unlink(missing_ok=True)


def _code() -> bytes:
    """Archive of the package's sources; the same sources give files of the same time."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for file in _sources():
            content = file.read_bytes()
            entry = tarfile.TarInfo(file.relative_to(REPOSITORY).as_posix())
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def spark_settings(sent: Shipment, master: str) -> dict[str, str]:
    """Settings of a session that sends the archives.

    Args:
        sent: what to send.
        master: Spark's; YARN has a setting of its own for archives.
    """
    archives = f"{sent.environment.as_uri()}#environment,{sent.code.as_uri()}#code"
    return {
        ("spark.yarn.dist.archives" if master == "yarn" else "spark.archives"): archives,
        "spark.pyspark.python": PYTHON,
    }


def worker_variables(sent: Shipment) -> dict[str, str]:
    """Environment variables of the workers that got them."""
    chosen = {SCRATCH: os.environ[SCRATCH]} if os.environ.get(SCRATCH) else {}
    return {SHIPPED: sent.digest, UMASK: _umask(), "PYTHONPATH": "./code", **chosen}


def package_digest() -> str:
    """Digest of every source file that a worker may import: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for file in _sources():
        digest.update(file.relative_to(REPOSITORY).as_posix().encode() + b"\0")
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _sources() -> list[Path]:
    return sorted((REPOSITORY / "isr_pipeline").rglob("*.py"))


def _umask() -> str:
    """This process's: what it takes from the rights of files that it makes, in octal digits."""
    now = os.umask(0o022)
    os.umask(now)
    return f"{now:03o}"
