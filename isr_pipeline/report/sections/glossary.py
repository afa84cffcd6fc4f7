"""Words of the page, which its first uses link to."""

from __future__ import annotations

from typing import Any

from isr_pipeline.report.data import NightData
from isr_pipeline.report.glossary import WORDS
from isr_pipeline.report.page import Page


def values(_: Page, __: NightData) -> dict[str, Any]:
    """Every word with its meaning, in the order of the alphabet."""
    return {"words": sorted(WORDS.items())}
