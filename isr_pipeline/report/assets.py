"""What a page carries with it: the style sheet, the script, and the library that draws charts.

The library is the larger part of a page. It is kept compressed, and the page's script unpacks it
after the text is on the screen: the answer never waits for a chart.
"""

from __future__ import annotations

import base64
import gzip
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup
from plotly.offline import get_plotlyjs

from isr_pipeline.report import charts
from isr_pipeline.report.names import with_short_names

if TYPE_CHECKING:
    from collections.abc import Mapping

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
