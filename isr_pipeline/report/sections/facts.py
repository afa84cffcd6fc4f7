"""Facts that are looked up: acceptances, what an alarm takes, the data, the words."""

from __future__ import annotations

from collections import Counter
from typing import Any

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.report.words import WORDS
from isr_pipeline.tables import store
from isr_pipeline.tables.validation import results
from isr_pipeline.tables.validation.data_docs import night_page
from isr_pipeline.verdicts import ledger
from isr_pipeline.verdicts.figures import floor_figure
from isr_pipeline.verdicts.looks import reach_of
from isr_pipeline.verdicts.quantities import is_latency, quantity
from isr_pipeline.verdicts.sentences import one_figure

TOTALS_MAX = 12
ENTRIES_MAX = 8


def accepted(_: Page, data: NightData) -> dict[str, Any]:
    """The largest sums of accepted changes, where a slow decline shows; the newest acceptances."""
    try:
        entries = ledger.read(data.plan.experiment)
    except Refused as damage:
        return {"damage": str(damage)}
    totals = ledger.compounded(entries)
    return {
        "damage": "",
        "totals": totals[:TOTALS_MAX],
        "more": len(totals) - TOTALS_MAX,
        "anew": any(one.remarks for one in entries),
        "newest": entries[-ENTRIES_MAX:][::-1],
    }


def alarm(_: Page, data: NightData) -> dict[str, Any]:
    """What tonight may look at, and in how many scenarios the reference has any of each metric."""
    column = data.panel.column(data.reference.config_id)
    kinds = Counter(kind for kinds in data.panel.fault_kinds for kind in kinds.split(",") if kind)
    return {
        "reach": reach_of(data.plan.panels, data.plan.definition.budget, data.settings),
        "tests": data.verdict.tests,
        "discordant_needed": data.verdict.discordant_needed,
        "reference": data.plan.reference,
        "ratio_min": data.settings.ratio_min,
        "metrics": [
            (
                name,
                int((data.panel.values[name][:, column] > 0).sum()),
                _floor(data, name, settings.floor),
            )
            for name, settings in data.settings.metrics.items()
        ],
        "scenarios": len(data.panel.scenario_ids),
        "kinds": sorted(kinds.items(), key=lambda item: item[1]),
    }


def _floor(data: NightData, metric: str, floor: float) -> str:
    """A latency's is a part of each of its scenarios' ratios, and of no year."""
    if is_latency(metric):
        return quantity(metric, floor)
    found = floor_figure(data.panel, metric, floor, data.plan.definition.profile)
    return one_figure(metric, *found)


def glossary(_: Page, __: NightData) -> dict[str, Any]:
    """Every word with its meaning, in the order of the alphabet."""
    return {"words": sorted(WORDS.items())}


def warnings(_: Page, data: NightData) -> dict[str, Any] | None:
    """What the tables break that does not stop the night; nothing where all holds."""
    warned = results.warnings(data.plan)
    return {"warned": warned} if warned else None


def data(_: Page, data: NightData) -> dict[str, Any]:
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
        if store.has_table(table, plan.experiment, plan.night, plan.root):
            rows = store.count_rows(table, plan.experiment, plan.night, root=plan.root)
            facts[f"table {table}"] = f"{rows} rows"
    return {"facts": facts, "docs": night_page(docs, plan.night).as_uri()}
