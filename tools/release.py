"""``make release``: what people get of a release, in ``dist/``.

The wheel, the documentation as a site, the versions that our own set-up installs (constraints for
pip), all these packages as an SBOM (CycloneDX), and the checksums of these files.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import docs, setup  # noqa: E402 - the line above leads there

DIST = ROOT / "dist"


def main() -> int:
    """Make each anew; exit status 1 and the failed command's own words if one cannot be made."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    shutil.rmtree(DIST, ignore_errors=True)
    build_wheel(DIST)
    if docs.main():
        return 1
    shutil.make_archive(str(DIST / f"isr_pipeline-{version}-docs"), "gztar", docs.SITE)
    export(DIST / f"isr_pipeline-{version}-constraints.txt", "--no-hashes", "--no-annotate")
    export(DIST / f"isr_pipeline-{version}-sbom.cdx.json", "--format", "cyclonedx1.5")
    write_sums(DIST)
    sys.stdout.write("".join(f"{file}\n" for file in sorted(DIST.iterdir())))
    return 0


def build_wheel(folder: Path) -> None:
    """Build the wheel with the locked hatchling."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def export(file: Path, *options: str) -> None:
    """Write what uv.lock has for all extras, without the developers' tools.

    Args:
        file: to write.
        options: of ``uv export``.
    """
    what = ("--frozen", "--all-extras", "--no-dev", "--no-emit-project", "--quiet")
    command = [setup.find_uv(sys.executable), "export", *what, *options]
    file.write_bytes(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def write_sums(folder: Path) -> None:
    """Note the digests of a folder's files beside them, as ``sha256sum --check`` reads them."""
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(folder.iterdir())
    ]
    (folder / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    sys.exit(main())
