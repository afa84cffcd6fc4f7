"""The templates of pages, in the folder of this name, and what they may call.

Python gives them plain values; they hold the markup. Text is escaped where it is put in; a name
that nobody gave ends the page with an error.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from isr_pipeline.report import differences
from isr_pipeline.report.assets import asset, charts_json, packed_plotly
from isr_pipeline.report.names import breakable
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import Status
from isr_pipeline.verdicts.sentences import reason, reason_of_metric

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "templates"


def rendered(template: str, values: Mapping[str, Any]) -> Markup:
    """A template with its values put in."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704 - escaped by it


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["breakable"] = breakable
    made.globals |= {
        "Status": Status,
        "amount": quantities.amount,
        "asset": asset,
        "charts_json": charts_json,
        "label": quantities.label,
        "number": quantities.number,
        "packed_plotly": packed_plotly,
        "plain": quantities.plain,
        "reason": reason,
        "reason_of_metric": reason_of_metric,
        "sentence": differences.sentence,
        "size": differences.size,
        "times": quantities.times,
        "unit": quantities.unit,
    }
    return made
