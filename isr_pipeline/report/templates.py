"""The templates of pages, in the folder of this name, and what they may call.

Python gives them plain values; they hold the markup. Text is escaped where it is put in; a name
that nobody gave ends the page with an error.

A page carries its style sheet, its script and the library that draws charts. The library is the
larger part: it is kept compressed, and the script unpacks it after the text is on the screen.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from isr_pipeline.report import charts, differences, picture
from isr_pipeline.report.names import breakable, with_short_names
from isr_pipeline.report.words import WORDS
from isr_pipeline.verdicts import quantities, sentences
from isr_pipeline.verdicts.exercised import not_exercised
from isr_pipeline.verdicts.record import Per, Status, Word
from isr_pipeline.verdicts.sentences import reason, reason_of_metric
from isr_pipeline.worlds.columns import METRICS

HERE = Path(__file__).parent


def asset(name: str) -> Markup:
    """A file that stands beside this one."""
    return Markup((HERE / name).read_text(encoding="utf-8"))  # noqa: S704 - a file of ours


def charts_json(drawn: Mapping[str, charts.Chart]) -> Markup:
    """The charts of a page, by the id of their place."""
    named = {place: with_short_names(chart) for place, chart in drawn.items()}
    return Markup(charts.as_json(named))  # noqa: S704 - nothing in it closes its element


@cache
def packed_plotly() -> str:
    """Plotly's library, gzipped, in base64; the same bytes every time."""
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()


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
        "Per": Per,
        "Word": Word,
        "answer_of": differences.answer,
        "asset": asset,
        "charts_json": charts_json,
        "colours": picture.COLOURS,
        "label": quantities.label,
        "meanings": WORDS,
        "metrics": METRICS,
        "number": quantities.number,
        "packed_plotly": packed_plotly,
        "plain": quantities.plain,
        "reason": reason,
        "reason_of_metric": reason_of_metric,
        "not_exercised": not_exercised,
        "sentence": differences.sentence,
        "described": differences.described,
        "figures_of": sentences.figures_of,
        "ratio": differences.ratio,
        "ratio_of": sentences.ratio_of,
        "shapes": picture.SHAPES,
        "times": quantities.times,
        "unit_per": sentences.unit_per,
        "without_incident": sentences.without_incident,
    }
    return made
