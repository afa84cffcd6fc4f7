"""The pages that lead to Data Docs: of a night, and of all nights of an experiment."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING

from isr_pipeline.files.whole import write_whole
from isr_pipeline.storage.places import names_below
from isr_pipeline.validation.suites import CHECKED_TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.storage.places import Place

FILE = "checked.json"
"""In a table's folder: what its check found."""

NIGHTS_MAX = 60
"""Nights that a page lists."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #fff; --link: #1f5fa8; --bad: #b3261e;
  --rule: #c6ccd4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaef; --paper: #12161c; --link: #74aef0;
  --bad: #ff8a80; --rule: #3c4654; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 0 auto; padding: 24px 16px; }
a { color: var(--link); } :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; }
caption { text-align: left; } .refused { color: var(--bad); font-weight: 600; }
th, td { text-align: left; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--rule); }
td:nth-child(3), td:nth-child(4), td:nth-child(5) { white-space: nowrap; }
"""

WHAT = (
    "Great Expectations checks each table of a night before anything is concluded from it. A table "
    "that breaks an expectation is refused, and the night has no verdict. Open a table to see each "
    "expectation and what was measured."
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check of a table found.

    Attributes:
        table: which one.
        held: expectations that held; ``of``: all of its suite.
        refused: names of those that did not hold.
        at: when, in UTC.
    """

    table: str
    held: int
    of: int
    refused: tuple[str, ...]
    at: str


def note(folder: Place, table: str, failed: Sequence[str], of: int) -> None:
    """Keep beside a table's pages what its check found.

    Args:
        folder: of the night's Data Docs.
        table: which one.
        failed: names of the expectations that did not hold.
        of: all expectations of the suite.
    """
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
    found = Checked(table, of - len(failed), of, tuple(failed), now)
    write_whole(folder / table / FILE, json.dumps(asdict(found)) + "\n")


def write_index(folder: Place, experiment: str, night: str) -> Place:
    """Write ``index.html`` of a night, and the one of its experiment; newest first in both.

    Args:
        folder: of the night's Data Docs.
        experiment: its name.
        night: its date.
    """
    found = sorted(_checked(folder), key=lambda one: one.at, reverse=True)
    rows = "".join(_row(folder, one) for one in found)
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("table", "verdict", "expectations held", "checked (UTC)", "suite")
    )
    table = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Tables"><table><caption>Tables '
        f"of this night, the last checked first</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )
    others = [one for one in _nights(folder.parent) if one != night]
    nights = _nights_list(others, "../") if others else "<p>There is no other night.</p>"
    title = f"Data Docs: {experiment}, night {night}"
    written = write_whole(
        folder / "index.html",
        _page(title, f"{table}<h2>Other nights, newest first</h2>{nights}"),
    )
    every = f"<h2>Nights, newest first</h2>{_nights_list(_nights(folder.parent), '')}"
    write_whole(folder.parent / "index.html", _page(f"Data Docs: {experiment}", every))
    return written


def _checked(folder: Place) -> list[Checked]:
    """What is known of each table that was checked."""
    found = []
    for table in CHECKED_TABLES:
        try:
            kept = json.loads((folder / table / FILE).read_text(encoding="utf-8"))
            found.append(Checked(**{**kept, "refused": tuple(kept["refused"])}))
        except (OSError, ValueError, TypeError, KeyError):
            continue
    return found


def _row(folder: Place, one: Checked) -> str:
    below = names_below(folder / one.table)
    pages = [page for page in below if page.startswith("validations/") and page.endswith(".html")]
    name = escape(one.table)
    if pages:
        name = f'<a href="{one.table}/{pages[-1]}">{name}</a>'
    said = "all held"
    if one.refused:
        said = f'<span class="refused">refused: {escape(", ".join(one.refused))}</span>'
    return (
        f'<tr><th scope="row">{name}</th><td>{said}</td><td>{one.held} of {one.of}</td>'
        f"<td>{escape(one.at)}</td>"
        f'<td><a href="{one.table}/expectations/{one.table}.html">{escape(one.table)} suite</a>'
        "</td></tr>"
    )


def _nights(folder: Place) -> list[str]:
    """Nights of an experiment that have Data Docs, newest first."""
    return sorted((page.parent.name for page in folder.glob("*/index.html")), reverse=True)


def _nights_list(nights: Sequence[str], up: str) -> str:
    links = "".join(
        f'<li><a href="{up}{escape(one)}/index.html">{escape(one)}</a></li>'
        for one in nights[:NIGHTS_MAX]
    )
    return f"<ul>{links}</ul>"


def _page(title: str, body: str) -> str:
    name = escape(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{name}</title><link rel="icon" href="data:,"><style>{STYLE}</style></head>'
        f"<body><main><h1>{name}</h1><p>{WHAT}</p>{body}</main></body></html>\n"
    )
