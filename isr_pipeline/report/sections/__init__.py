"""The sections of a night's page, in the order in which they stand there.

A section is a function of the files here, and a template of its name in ``templates/sections``. The
function takes the page and the night and gives what the template shows; None: nothing is to show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.report.sections import (
    answer,
    changes,
    configurations,
    facts,
    pictures,
    reference,
    who,
    why,
)
from isr_pipeline.report.templates import rendered


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page.

    Attributes:
        name: of its template, and the anchor in the page.
        title: its heading.
        values: what its template shows.
        folded: whether the page shows its heading alone at first: what is looked up, not read.
        stays_open: also where something got worse; all others are folded there.
        linked: from the top of the page where something got worse; else all are.
    """

    name: str
    title: str
    values: Callable[[Page, NightData], Mapping[str, Any] | None]
    folded: bool = False
    stays_open: bool = False
    linked: bool = False

    def drawn(self, page: Page, night: NightData) -> Markup:
        """Its HTML; empty if there is nothing to show."""
        values = self.values(page, night)
        return Markup() if values is None else rendered(f"sections/{self.name}.html", values)

    def is_folded(self, *, worse: bool) -> bool:
        """Whether a page shows its heading alone, on which something got worse or nothing did."""
        return self.folded or (worse and not self.stays_open)


SECTIONS = (
    Section("answer", "The answer", answer.values, stays_open=True, linked=True),
    Section("changed", "What changed", changes.changed, stays_open=True),
    Section("who", "Who is hurt, who gains", who.values, stays_open=True, linked=True),
    Section("regressions", "What got worse", changes.regressions, stays_open=True),
    Section("single", "Single scenarios that got much worse", changes.single, stays_open=True),
    Section("why", "Why", why.values, stays_open=True, linked=True),
    Section("improvements", "What got better", changes.improvements, stays_open=True),
    Section("warnings", "Warnings about the data", facts.warnings, stays_open=True),
    Section("reference", "Against the reference", reference.values),
    Section("configurations", "Configurations", configurations.values, linked=True),
    Section("baseline", "Against the baseline", pictures.baseline),
    Section("keys", "Two keys together", pictures.keys, folded=True),
    Section("detector", "Wrong and late removals", pictures.detector, folded=True),
    Section("causes", "What causes what", pictures.causes, folded=True),
    Section("nights", "Nights", pictures.nights),
    Section("accepted", "Accepted so far", facts.accepted, folded=True),
    Section("alarm", "What an alarm takes", facts.alarm, folded=True),
    Section("glossary", "Words of this page", facts.glossary, folded=True, linked=True),
    Section("data", "Data", facts.data, folded=True, linked=True),
)
