"""What people get of a release."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tools import release


def test_checksums_are_what_sha256sum_reads(tmp_path: Path) -> None:
    """A file that was changed since is told."""
    for name in ("a.whl", "b.json"):
        (tmp_path / name).write_text(name)
    release.write_sums(tmp_path)
    (tmp_path / "b.json").write_text("changed")
    check = ["sha256sum", "--check", "SHA256SUMS"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["a.whl: OK", "b.json: FAILED"]


def test_the_sbom_lists_what_the_lock_installs(tmp_path: Path) -> None:
    """The same packages and versions as the constraints, of every extra and of no developer."""
    sbom, constraints = tmp_path / "sbom.json", tmp_path / "constraints.txt"
    release.export(sbom, "--format", "cyclonedx1.5")
    release.export(constraints, "--no-hashes", "--no-annotate", "--no-header")
    pins = {line.partition(" ")[0] for line in constraints.read_text().splitlines()}
    listed = json.loads(sbom.read_text())["components"]
    assert {f"{one['name']}=={one['version']}" for one in listed} == pins
    names = {one["name"] for one in listed}
    assert {"apache-airflow", "mlflow", "pyspark", "psycopg2-binary"} <= names
    assert "pytest" not in names
