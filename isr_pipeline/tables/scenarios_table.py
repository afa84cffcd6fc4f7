"""Draw the night's panels: one row per scenario in the scenarios table.

A scenario is a pure function of (experiment, panel, index). A thousand take a second.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import pyarrow as pa

from isr_pipeline.base.storage.published import drafting
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.schemas import SCENARIOS

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

SCENARIOS_AT_ONCE = 10_000
"""In memory; a scenario is some kilobytes."""


def generate_scenarios(plan: Plan) -> None:
    """Draw every panel of the plan and replace the night's scenarios table.

    What was made from an earlier draw of the night (outcomes and all that follows) goes first:
    a night that is being made again is not a night that is done.
    """
    panels = [(panel, size) for panel, size in plan.panels.items() if size]
    store.delete_night(plan.experiment, plan.night, tables=store.LATER_TABLES, root=plan.root)
    folder = store.table_path("scenarios", plan.experiment, plan.night, plan.root)
    schema, source = SCENARIOS, plan.definition.source
    with drafting(folder) as draft:
        for panel, size in panels:
            with store.writing_file(draft.own, f"drawn-{panel}.parquet", schema) as writer:
                for first in range(0, size, SCENARIOS_AT_ONCE):
                    places = range(first, min(first + SCENARIOS_AT_ONCE, size))
                    drawn = (draw_scenario(source, panel, one) for one in places)
                    rows = [dataclasses.asdict(one) for one in drawn]
                    writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        store.write_lineage(draft.own, {"plan": parts.plan_key(plan)})
        store.write_sums(draft.own)
    sys.stdout.write(f"scenarios: {', '.join(f'{size} {panel}' for panel, size in panels)}\n")
