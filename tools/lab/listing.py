"""What the laboratory has: releases that were fetched, clusters that were started."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools.lab.brokers import clusters
from tools.lab.jars import MANIFEST, fetched, release_folder
from tools.lab.release import Release

if TYPE_CHECKING:
    from isr_pipeline.base.home import Home


def listing(home: Home) -> list[dict[str, Any]]:
    """One row a release, oldest first.

    Returns:
        ``release``, ``jars`` (how many were fetched), ``state`` (``up``, ``partly``, ``down``) and,
        of a cluster that was started, ``metadata``, ``bootstrap`` and ``nodes``.
    """
    started = {one.release: one for one in clusters(home)}
    rows: list[dict[str, Any]] = []
    for release in sorted({*fetched(home), *map(Release.parse, started)}):
        row: dict[str, Any] = {"release": str(release), "jars": 0, "state": "down"}
        manifest = release_folder(home, release) / MANIFEST
        if manifest.is_file():
            row["jars"] = len(json.loads(manifest.read_text())["jars"])
        cluster = started.get(str(release))
        if cluster is not None:
            running = cluster.running()
            row |= {
                "state": cluster.state,
                "metadata": cluster.metadata,
                "bootstrap": cluster.bootstrap,
                "folder": str(cluster.folder),
                "nodes": [
                    {"name": node.name, "port": node.port, "running": node.name in running}
                    for node in cluster.nodes
                ],
            }
        rows.append(row)
    return rows
