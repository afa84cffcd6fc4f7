"""What Kafka's own tools printed of a made cluster, imported: each field is what was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.clusters.importing import import_cluster
from tests.lab.comparing import compare
from tools.lab.release import EXAMPLES
from tools.lab.topology import SECRET

FOLDER = REPOSITORY / "tests" / "recordings" / "import"


def recording(release: str, *patterns: str) -> tuple[list[str], dict[str, Any]]:
    """Give files of a recording, and what was made."""
    folder = FOLDER / release
    files = [str(file) for pattern in patterns for file in sorted(folder.glob(pattern))]
    truth: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return files, truth


@pytest.mark.parametrize("release", EXAMPLES)
def test_a_recording_passes_the_comparison_of_live_clusters(release: str, tmp_path: Path) -> None:
    """Brokers, racks, log dirs, settings, topics, replicas, leaders that are not preferred."""
    names = ("topics.txt", "configs-*.txt", "server-1.properties", "log-dirs.txt")
    files, truth = recording(release, *names)
    seen = import_cluster(files, "made", out=tmp_path / "made.yaml")
    assert compare(seen, truth, truth["standing"]) > 100
    assert SECRET not in (tmp_path / "made.yaml").read_text() + json.dumps(seen)


def test_recordings_name_no_machine() -> None:
    """Paths in them are those of /tmp/kafka-lab, addresses the loopback's."""
    for file in FOLDER.rglob("*"):
        if not file.is_file():
            continue
        content = file.read_bytes()
        for path in (b"/home/", b"/root", b"/work", b"/Users"):
            assert path not in content, f"{file.name} holds {path.decode()}"
