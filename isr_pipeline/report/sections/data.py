"""What was simulated and judged: counts, digests, versions."""

from __future__ import annotations

from typing import Any

from isr_pipeline.home import Home
from isr_pipeline.outcomes import store
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page


def values(_: Page, data: NightData) -> dict[str, Any]:
    """Facts by their names, and where Great Expectations wrote its pages."""
    panel, plan = data.panel, data.plan
    docs = Home.from_environment().data_docs(plan.experiment)
    facts = {
        "pairs": f"{panel.missing.size} ({len(panel.scenario_ids)} × {len(panel.config_ids)})",
        "missing": str(int(panel.missing.sum())),
        "event budget spent": str(int(panel.failed.sum())),
        "standing panel": plan.panel_digest,
        "confirm panel": plan.confirm_digest,
        "outcomes judged": data.verdict.outcomes_digest,
        "version": plan.version,
        "code version": plan.code_version,
    }
    for table in store.TABLES:
        if store.has_table(table, plan.experiment, plan.night):
            rows = store.count_rows(table, plan.experiment, plan.night)
            facts[f"table {table}"] = f"{rows} rows"
    return {"facts": facts, "docs": f"{(docs / 'index.html').as_uri()}#{plan.night}"}
