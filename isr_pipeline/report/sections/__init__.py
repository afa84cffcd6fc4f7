"""The sections of a night's page, one file each.

A file of this folder is a section: ``TITLE``, ``ORDER`` (the smallest comes first) and ``body``,
which takes the page and the night and returns HTML. Its name is the section's anchor.
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
    """

    name: str
    title: str
    body: Callable[[Page, NightData], str]


def sections() -> list[Section]:
    """Every section, in the order in which they stand on the page."""
    names = [found.name for found in pkgutil.iter_modules(__path__)]
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    ordered = sorted(names, key=lambda name: (modules[name].ORDER, name))
    return [Section(name, modules[name].TITLE, modules[name].body) for name in ordered]
