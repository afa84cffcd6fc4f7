"""The sections of a night's page, one file each.

A file of this folder is a section: ``TITLE``, ``ORDER`` (the smallest comes first) and ``body``,
which takes the page and the night and returns HTML; a section without any is left out. Its name is
the section's anchor. ``FOLDED = True`` shows the heading alone until somebody opens it: what a
reader looks up rather than reads.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page.

    Attributes:
        name: of the file, and the anchor in the page.
        title: its heading.
        body: draws it.
        folded: whether the page shows its heading alone at first.
    """

    name: str
    title: str
    body: Callable[[Page, NightData], str]
    folded: bool


def sections() -> list[Section]:
    """Every section, in the order in which they stand on the page."""
    names = [found.name for found in pkgutil.iter_modules(__path__)]
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    ordered = sorted(names, key=lambda name: (modules[name].ORDER, name))
    return [
        Section(name, one.TITLE, one.body, getattr(one, "FOLDED", False))
        for name, one in ((name, modules[name]) for name in ordered)
    ]
