"""The demo: a recorded cluster that ships, and its cluster file."""

from __future__ import annotations

from pathlib import Path

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.clusters.importing import import_cluster

RECORDED = REPOSITORY / "tests" / "recordings" / "import" / "4.3.1"
SHIPPED = REPOSITORY / "examples" / "demo-cluster"


def test_its_cluster_file_is_what_an_import_writes(tmp_path: Path) -> None:
    """config/clusters/demo.yaml was not edited, and the import has not changed since."""
    files = [str(file) for file in sorted(SHIPPED.iterdir())]
    import_cluster(files, "demo", out=tmp_path / "demo.yaml")
    written = REPOSITORY / "config" / "clusters" / "demo.yaml"
    assert (tmp_path / "demo.yaml").read_text() == written.read_text()


def test_it_is_a_recording_without_its_passwords() -> None:
    """Every file is that of tests/recordings, less the lines with a password."""
    shipped = sorted(SHIPPED.iterdir())
    assert len(shipped) == 7
    for file in shipped:
        lines = (RECORDED / file.name).read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if b"password=" not in line]
        assert file.read_bytes() == b"".join(kept), file.name
