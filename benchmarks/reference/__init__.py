"""The reference panel: the same scenarios and configurations for every measurement of speed.

The panel was drawn by the project's own generator and is kept beside this file, so that a change of
a cluster, a fault profile or the generator does not silently change what is measured. `draw` and
`write` make it anew; figures from before are then of another series, which the digest in every line
of results tells.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.experiment.configurations import configurations as resolve
from isr_pipeline.experiment.file import ClusterFile, load_experiment
from isr_pipeline.scenarios.cluster_file import read_cluster
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.panels import ScenarioRow, panel_digest
from isr_pipeline.scenarios.profile import load_profile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.experiment.file import Experiment

FOLDER = Path(__file__).resolve().parent
FILE = FOLDER / "reference.yaml"
CLUSTER = FOLDER / "cluster.yaml"
FAULTS = FOLDER / "faults.yaml"
PANEL = FOLDER / "panel.jsonl.xz"
DIGEST = FOLDER / "panel.sha256"
NIGHT = "2026-11-21"
"""Names the tables; the panel is the same every night."""


class PanelChanged(RuntimeError):
    """The kept panel is not the one that its digest names."""


def experiment() -> Experiment:
    """Read the reference experiment, with a cluster and a fault profile of its own."""
    own = {
        "cluster": ClusterFile.model_validate(read_cluster(CLUSTER, str(CLUSTER))),
        "profile": load_profile(read_mapping(FAULTS), str(FAULTS)),
    }
    return load_experiment(FILE).model_copy(update=own)


def configurations() -> tuple[Configuration, ...]:
    """Return its configurations, in the file's order."""
    return resolve(experiment())


def scenarios() -> list[ScenarioRow]:
    """Read the kept panel.

    Raises:
        PanelChanged: it has been changed since it was written.
    """
    lines = lzma.decompress(PANEL.read_bytes()).decode().splitlines()
    # the panel was kept before rows named their pattern, and its digest is of what it has
    rows = [ScenarioRow(**{"pattern": "", "ends_ms": None, **json.loads(line)}) for line in lines]
    if panel_digest(rows) != digest():
        msg = f"{PANEL.name} is not the panel of {DIGEST.name}: restore both from one commit"
        raise PanelChanged(msg)
    return rows


def digest() -> str:
    """Digest of the kept panel, as it was when it was drawn."""
    return DIGEST.read_text().strip()


def draw() -> list[ScenarioRow]:
    """Draw the panel anew with today's generator, cluster and fault profile."""
    return list(draw_panel(experiment().source, "regression"))


def write(rows: Iterable[ScenarioRow]) -> str:
    """Keep another panel from now on; returns its digest."""
    rows = list(rows)
    lines = "".join(json.dumps(asdict(row), sort_keys=True) + "\n" for row in rows)
    PANEL.write_bytes(lzma.compress(lines.encode(), preset=9))
    DIGEST.write_text(panel_digest(rows) + "\n")
    return panel_digest(rows)
