"""Data Docs of an experiment: one site, with a page of every night and pages of its tables.

Great Expectations' pages ask other hosts for style sheets, scripts and pictures. Here they bring
the little that they need. Its index is filled by such a script; ours is a page of its own.
"""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import asdict, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.storage.places import Place, names_below, remove_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isr_pipeline.experiment.plan import Plan

CHECKED_TABLES = ("scenarios", "outcomes", "summary")
"""Tables that a night checks before it goes on."""

FILES = "files"
"""Suite about the files of all tables, which is checked where a night is validated again."""

SUITES = (*CHECKED_TABLES, FILES)

CRITICAL = "critical"
"""Severity of what stops a night."""

WARNING = "warning"
"""Severity of what is told."""

NIGHTS_MAX = 60
"""Nights that the index lists."""

_NIGHTS = "nights"

_CHECKED = "checked"
"""Folder that keeps for each night what its checks found, for the index."""

_FOREIGN = re.compile(
    r"<script\b.*?</script>|<link\b[^>]*>|<footer\b.*?</footer>|<img\b[^>]*https?:[^>]*>"
    r"|background: url\('https?:[^;]*;",
    re.DOTALL,
)
"""What needs another host, or a script that does."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #fff; --link: #1f5fa8; --bad: #b3261e;
  --rule: #c6ccd4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaef; --paper: #12161c; --link: #74aef0;
  --bad: #ff8a80; --rule: #3c4654; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 70rem; margin: 0 auto; padding: 24px 16px; }
a { color: var(--link); } :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; }
caption { text-align: left; } .refused, .text-danger { color: var(--bad); font-weight: 600; }
th, td { text-align: left; vertical-align: top; padding: 5px 14px 5px 0;
  border-bottom: 1px solid var(--rule); }
@media (max-width: 600px) { th, td { padding-right: 6px; overflow-wrap: anywhere; } }
.card.mb-3, [data-toggle=collapse] { display: none; } td span + span { margin-left: 1em; }
.fa-times::before { content: "✗"; } .fa-check-circle::before { content: "✓"; }
"""

WHAT = (
    "Great Expectations checks each table of a night before anything is concluded from it. A table "
    "that breaks a critical expectation is refused, and the night has no verdict; a warning is "
    "told. The files are checked where somebody validates the night again. Open a table to see "
    "each expectation and the rows that break it."
)


@dataclass(frozen=True)
class Broken:
    """An expectation that does not hold.

    Attributes:
        name: of it.
        says: what it expects, in a sentence.
        count: rows that break it.
        offenders: some of them: key, and the values that break it.
        severity: critical, which stops a night, or warning.
    """

    name: str
    says: str
    count: int
    offenders: list[dict[str, Any]]
    severity: str = CRITICAL


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check of a table found.

    Attributes:
        table: which one.
        held: expectations that held; ``of``: all of its suite.
        refused: names of the critical ones that did not hold.
        at: when, in UTC.
        page: below the site.
        broken: what did not hold, as :class:`Broken` has it; values are texts. A night of before
            0.3.0 has none.
    """

    table: str
    held: int
    of: int
    refused: Sequence[str]
    at: str
    page: str
    broken: Sequence[dict[str, Any]] = field(default_factory=list)


def index(site: Place) -> Place:
    """The page of all nights."""
    return site / "index.html"


def night_page(site: Place, night: str) -> Place:
    """The page of one night."""
    return site / _NIGHTS / f"{night}.html"


def add(
    site: Place, made: Path, table: str, plan: Plan, broken: Sequence[Broken], of: int
) -> Place:
    """Put a table's pages into the site, in place of those of its last check.

    Args:
        site: of the experiment.
        made: folder with the pages that Great Expectations made.
        table: that was checked.
        plan: of its night.
        broken: expectations that did not hold.
        of: all expectations of the suite.

    Returns:
        The page of the night.
    """
    page = ""
    for name in names_below(made):
        if name.startswith(("validations/", "expectations/")):
            text = (made / name).read_text(encoding="utf-8")
            write_whole(site / name, _FOREIGN.sub("", text).replace("</head>", _HEAD, 1))
            page = name if name.startswith("validations/") else page
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
    found = {one.table: one for one in _checked(site, plan.night)}
    refused = [one.name for one in broken if one.severity == CRITICAL]
    shown = [asdict(one) | {"offenders": [_texts(row) for row in one.offenders]} for one in broken]
    found[table] = Checked(table, of - len(broken), of, refused, now, page, shown)
    kept = [asdict(one) for one in found.values()]
    write_whole(site / _CHECKED / f"{plan.night}.json", json.dumps(kept) + "\n")
    _write_index(site, plan.experiment)
    _write_night(site, plan.experiment, plan.night)
    return night_page(site, plan.night)


def _texts(row: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in row.items()}


def remove_night(site: Place, experiment: str, night: str) -> None:
    """Remove a night's pages."""
    for table in SUITES:
        remove_tree(site / "validations" / table / night)
    page = night_page(site, night)
    if page.is_file():
        page.unlink()
    kept = site / _CHECKED / f"{night}.json"
    if kept.is_file():
        kept.unlink()
        _write_index(site, experiment)


def _write_index(site: Place, experiment: str) -> None:
    nights = sorted((file.stem for file in (site / _CHECKED).glob("*.json")), reverse=True)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("night", *SUITES))
    rows = "".join(_row(site, night) for night in nights[:NIGHTS_MAX])
    made = [one for one in SUITES if (site / "expectations" / f"{one}.html").is_file()]
    suites = ", ".join(f'<a href="expectations/{one}.html">{one}</a>' for one in made)
    nights_table = _table("Nights", "Nights, newest first", head, rows)
    said = f"<p>{WHAT}</p><p>Suites: {suites}</p>{nights_table}"
    write_whole(index(site), _page(f"Data Docs: {experiment}", said))


def _write_night(site: Place, experiment: str, night: str) -> None:
    found = {one.table: one for one in _checked(site, night)}
    head = "".join(f'<th scope="col">{name}</th>' for name in SUITES)
    cells = "".join(_cell(found.get(table), "../") for table in SUITES)
    said = f'<p>{WHAT}</p><p><a href="../index.html">All nights</a></p>'
    said += _table("Tables", "Tables of the night", head, f"<tr>{cells}</tr>")
    for table in SUITES:
        broken = found[table].broken if table in found else ()
        said += "".join(_broken(table, one) for one in broken)
    write_whole(night_page(site, night), _page(f"Data Docs: {experiment}, night {night}", said))


def _broken(table: str, one: Mapping[str, Any]) -> str:
    """What a table breaks: the name that logs have, the sentence, and rows with column names."""
    columns = list(dict.fromkeys(name for row in one["offenders"] for name in row))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(row.get(name, ''))}</td>" for name in columns) + "</tr>"
        for row in one["offenders"]
    )
    count, listed = one["count"], len(one["offenders"])
    said = "1 row breaks it" if count == 1 else f"{count} rows break it"
    said += f"; {listed} of them" if count > listed else ""
    name = escape(one["name"])
    severity = escape(one.get("severity", CRITICAL))
    heading = f"<h2>{table}: {name} ({severity})</h2><p>{escape(one['says'])}</p>"
    return heading + _table(name, said, head, rows)


def _table(label: str, caption: str, head: str, rows: str) -> str:
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table><caption>'
        f"{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _page(title: str, said: str) -> str:
    title = escape(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>{_HEAD}'
        f"<body><main><h1>{title}</h1>{said}</main></body></html>\n"
    )


_HEAD = f'<link rel="icon" href="data:,"><style>{STYLE}</style></head>'


def _row(site: Place, night: str) -> str:
    found = {one.table: one for one in _checked(site, night)}
    cells = "".join(_cell(found.get(table)) for table in SUITES)
    return f'<tr id="{escape(night)}"><th scope="row">{escape(night)}</th>{cells}</tr>'


def _cell(one: Checked | None, up: str = "") -> str:
    if one is None:
        return "<td>not checked</td>"
    said = f"{one.held} of {one.of} held"
    if one.refused:
        said += f'; <span class="refused">refused: {escape(", ".join(one.refused))}</span>'
    warned = [found["name"] for found in one.broken if found["name"] not in one.refused]
    if warned:
        said += f"; warning: {escape(', '.join(warned))}"
    return f'<td><a href="{up}{escape(one.page)}">{said}</a><br>{escape(one.at)} UTC</td>'


def _checked(site: Place, night: str) -> list[Checked]:
    """What is known of a night's tables; a file that cannot be read says nothing."""
    try:
        kept = json.loads((site / _CHECKED / f"{night}.json").read_text(encoding="utf-8"))
        return [Checked(**one) for one in kept]
    except (OSError, ValueError, TypeError):
        return []
