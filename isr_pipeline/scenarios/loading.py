"""A scenario file with all that it names: rule sets, and the cluster file of its cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.lines import with_lines
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.files.words import kind_of, shown
from isr_pipeline.scenarios.cluster_file import of_a_scenario, read_cluster
from isr_pipeline.scenarios.model import Scenario, parse_scenario, with_settings
from isr_pipeline.scenarios.rule_set_files import with_rule_sets

SCENARIO = "a scenario file (.yaml, .yml or .json); isr_pipeline/scenarios/library has examples"
ENDINGS = frozenset({".yaml", ".yml", ".json"})
OTHER_FILES = {
    "groups": "an experiment file",
    "strata": "a fault profile",
    "switches": "a rule set",
}
"""A key that only another kind of file of ours has -> what it is."""


@with_lines()
def load_scenario(path: Path | str, settings: Iterable[str] = ()) -> Scenario:
    """Read a scenario file (YAML or JSON).

    Args:
        path: the file.
        settings: ``KEY=VALUE`` texts laid over it before it is checked.

    Raises:
        InputError: the first thing in it, or in a file that it names, that cannot be used.
    """
    where, folder = str(path), Path(path).parent
    raw = with_cluster_file(with_rule_sets(_mapping(path), folder), folder, where)
    changed = with_rule_sets(with_settings(raw, settings, where), Path())
    return parse_scenario(changed, where)


def _mapping(path: Path | str) -> dict[str, Any]:
    """Read the file.

    Raises:
        InputError: it cannot be read, or is something else than a scenario.
    """
    try:
        raw = read_mapping(path)
    except InputError:
        if Path(path).suffix in ENDINGS or not Path(path).is_file():
            raise
        raise InputError(str(path), "", "no scenario file", SCENARIO) from None
    if "scenario_id" in raw:
        return raw
    for key, kind in OTHER_FILES.items():
        if key in raw:
            raise InputError(str(path), "", f"{kind} (it has {key})", SCENARIO)
    if {"brokers", "topics"} <= raw.keys():
        raise InputError(str(path), "", "a cluster file (it has no scenario_id)", SCENARIO)
    return raw


def with_cluster_file(raw: dict[str, Any], folder: Path, where: str) -> dict[str, Any]:
    """Put the parts of a cluster file in the place of ``cluster: {file: FILE}``.

    What the scenario says under ``config``, ``rules`` and ``service`` lies over the file's.

    Args:
        raw: a scenario as read; one without a cluster file stays as it is.
        folder: of the scenario, where relative paths begin.
        where: the scenario, for error lines.

    Raises:
        InputError: topics, or more of a cluster, beside the file; or a file that cannot be used.
    """
    cluster = raw.get("cluster")
    if not isinstance(cluster, Mapping) or "file" not in cluster:
        return raw
    for name in cluster:
        if name != "file":
            given = f"{name} beside file"
            raise InputError(where, f"cluster.{name}", given, "what the cluster file says")
    if "topics" in raw:
        given = "topics beside cluster.file"
        raise InputError(where, "topics", given, "the cluster file's topics, or no cluster.file")
    name = cluster["file"]
    if not isinstance(name, str) or not name:
        raise InputError(where, "cluster.file", shown(name), "the path of a cluster file")
    path = folder / name
    parts = of_a_scenario(read_cluster(path, str(path)))
    for group in ("config", "rules", "service"):
        over, under = raw.get(group, {}), parts.get(group, {})
        for mapping, place in ((over, where), (under, str(path))):
            if not isinstance(mapping, Mapping):
                raise InputError(place, group, kind_of(mapping), "a mapping")
        parts[group] = {**under, **over}
    return {**raw, **parts}
