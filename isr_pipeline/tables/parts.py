"""A night's outcomes from its shards' parts: whole, or an error that names what is missing.

Each shard writes its own part, so shards may run one after the other, on several machines, or
again after a failure. A part says which plan it was made for: one that a night before, other
code or another panel left behind is never taken for this night's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.storage.places import remove_tree
from isr_pipeline.base.storage.published import drafting, files, is_published
from isr_pipeline.tables.schemas import SCHEMAS
from isr_pipeline.tables.store import (
    parts_path,
    read_lineage,
    read_sums,
    table_path,
    write_lineage,
    write_sums,
    writing_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isr_pipeline.base.storage.places import Place
    from isr_pipeline.base.storage.published import Stored
    from isr_pipeline.experiment.plan import Plan

WHOLE = "all"
"""Name of the part that holds every configuration asked for, outside any shard."""

ROWS_AT_ONCE = 1_000_000
"""In memory while parts are put together."""


def plan_key(plan: Plan) -> str:
    """Digest of what outcomes depend on: panels, configurations, code."""
    content = {
        "experiment": plan.experiment,
        "night": plan.night,
        "panel_digest": plan.panel_digest,
        "confirm_digest": plan.confirm_digest,
        "experiment_digest": plan.experiment_digest,
        "panels": dict(plan.panels),
        "configurations": [c.config_id for c in plan.configurations],
        "code_version": plan.code_version,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def part_path(plan: Plan, panel: str, shard: str) -> Place:
    """Folder of one shard's part: ``outcomes/`` and ``events/`` below it."""
    return parts_path(plan.experiment, plan.night, panel, plan.root) / f"shard={shard}"


def part_lineage(plan: Plan, panel: str, config_ids: Sequence[str]) -> dict[str, Any]:
    """What is noted with a part."""
    return {"plan": plan_key(plan), "panel": panel, "config_ids": list(config_ids)}


def assemble(
    plan: Plan,
    panel: str = "regression",
    shards: Sequence[str] | None = None,
    *,
    beside: bool = False,
) -> list[str]:
    """Make the night's outcomes and events whole from the parts of its shards.

    Rows of other panels that the table has from the same plan stay. Called again after it has
    succeeded it changes nothing.

    Args:
        plan: the night's plan.
        panel: whose parts to take.
        shards: names of the parts; the plan's shards if None.
        beside: whether the panel's rows of configurations that no part has stay, too.

    Returns:
        The config_ids that the table now holds for that panel.

    Raises:
        Refused: a shard has no part, or one of another plan; names the shards.
    """
    names = [shard.name for shard in plan.shards] if shards is None else list(shards)
    held = assembled(plan)
    parts = {name: part_path(plan, panel, name) for name in names}
    if not any(is_published(part) for part in parts.values()) and panel in held:
        return held[panel]
    lineages = {name: read_lineage(part) for name, part in parts.items()}
    missing = [name for name in names if lineages[name].get("plan") != plan_key(plan)]
    if missing:
        msg = (
            f"night {plan.night} of {plan.experiment}: no {panel} outcomes of this plan from "
            f"shard {', '.join(missing)}; run simulate for it again"
        )
        raise Refused(msg)

    new = [config_id for name in names for config_id in lineages[name]["config_ids"]]
    stay = [one for one in held.get(panel, ()) if one not in new] if beside else []
    config_ids = [*stay, *new]
    held = {**held, panel: config_ids}
    lineage = {"plan": plan_key(plan), "panels": held}
    # Outcomes last: once they are there, the night's simulation is done.
    for table in ("events", "outcomes"):
        _assemble_table(plan, table, panel, parts, lineage, stay=stay)
    remove_tree(parts_path(plan.experiment, plan.night, panel, plan.root))
    _remove_if_empty(parts_path(plan.experiment, plan.night, root=plan.root))
    return config_ids


def _keep_rows(folder: Place, panel: str, config_ids: Sequence[str], target: Path) -> None:
    """Write the rows that a published table has of a panel and some configurations."""
    tables = [
        pq.read_table(file.open(), partitioning=None)
        for file in files(folder)
        if file.name.partition(".")[0] == panel
    ]
    if tables:
        rows = pa.concat_tables(tables)
        pq.write_table(rows.filter(pc.field("config_id").isin(config_ids)), target)


def _gathered(held: Sequence[Stored]) -> Iterator[pa.Table]:
    """Rows of files, as many at once as `ROWS_AT_ONCE`: few groups of rows make a small file."""
    waiting: list[pa.Table] = []
    for file in held:
        waiting.append(pq.read_table(file.open(), partitioning=None))
        if sum(map(len, waiting)) >= ROWS_AT_ONCE:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _remove_if_empty(folder: Place) -> None:
    """Remove a night's folder of parts once no panel has any (a store has no empty folders)."""
    if isinstance(folder, Path):
        with contextlib.suppress(OSError):
            folder.rmdir()


def assembled(plan: Plan) -> dict[str, list[str]]:
    """Panels in the night's outcomes table, made by this plan, with their config_ids."""
    folder = table_path("outcomes", plan.experiment, plan.night, plan.root)
    lineage = read_lineage(folder)
    if lineage.get("plan") != plan_key(plan):
        return {}
    return {str(panel): list(config_ids) for panel, config_ids in lineage["panels"].items()}


def _assemble_table(
    plan: Plan,
    table: str,
    panel: str,
    parts: dict[str, Place],
    lineage: dict[str, Any],
    *,
    stay: Sequence[str],
) -> None:
    """Make a new table folder of a file for each part, and of the other panels' files.

    A part has a file of each task that simulated. Rows of the panel stay for the configurations
    of ``stay``.
    """
    folder = table_path(table, plan.experiment, plan.night, plan.root)
    keep = assembled(plan)
    sums = read_sums(folder)
    taken: dict[str, str] = {}
    with drafting(folder) as draft:
        if stay:
            _keep_rows(folder, panel, stay, draft.own / f"{panel}.kept-00000.parquet")
        for file in files(folder):
            if file.name.partition(".")[0] in keep.keys() - {panel}:
                draft.take(file, file.name)
                taken |= {file.name: sums[file.name]} if file.name in sums else {}
        for name, part in parts.items():
            with writing_file(draft.own, f"{panel}.{name}.parquet", SCHEMAS[table]) as writer:
                for rows in _gathered(files(part, table)):
                    writer.write_table(rows)
        write_lineage(draft.own, lineage)
        write_sums(draft.own, taken)
