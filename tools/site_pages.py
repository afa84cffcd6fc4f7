"""Which pages the site has, and where their links lead: a hook of MkDocs (`mkdocs.yml`).

Pages are written for the repository: they link to files outside docs/. The site takes those along:
the repository's own pages as pages, other files as texts, folders as lists of their files. What
stands in the menu, and under which heading, is what docs/index.md lists.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.anchors import anchor as github_anchor  # noqa: E402 - the line above leads there

DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()(?!https?://|mailto:|#)([^()\s#]+)(#[^()\s]*)?(\))")
FILE_FENCE = re.compile(r"^(```\w+) file=(\S+)$", re.M)
"""A block of code that tests read as a file; the site shows the file's name above it."""
PICTURES = (".png", ".svg")
FOUND_FIRST = {"findings.md": 2, "keys.md": 2}
"""Page -> how much more a hit in it counts: a key is asked for its meaning, not for an example."""


def on_config(config: Any) -> Any:
    """Make anchors as GitHub does, and the menu from the index."""
    slugs = {"slugify": lambda text, _: github_anchor(text)}
    config["mdx_configs"].setdefault("toc", {}).update(slugs)
    config["nav"] = menu((DOCS / "index.md").read_text(encoding="utf-8"))
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add what the pages link to outside docs/."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - only there while a site is built

    for target in outside():
        uri = place(target)
        if target.suffix in PICTURES:
            made = File.generated(config, uri, abs_src_path=str(target))
        else:
            made = File.generated(config, uri, content=content(target))
        files.append(made)
    for name in ("iframe-worker.js", "site.css", "site.js"):
        asset = ROOT / "tools" / "site" / name
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(asset)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead a page's links to where the site has their targets."""
    source = origin(page.file.src_uri)
    titled = FILE_FENCE.sub(r'\1 title="\2"', markdown)
    return rewritten(titled, source) if source is not None else titled


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Tell the search which pages come first."""
    if boost := FOUND_FIRST.get(page.file.src_uri):
        page.meta["search"] = {"boost": boost}
    return html


def on_post_page(output: str, **_: Any) -> str:
    """Name the box of the search, which the theme leaves without a name for who cannot see it."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def menu(index: str) -> list[Any]:
    """The menu: README, then each heading of the index with the pages that it links to.

    Pages of docs/project are for authors: the site has them, its menu has not.
    """
    sections: list[Any] = [{"Documentation": "index.md"}, {"What it is": "repository/about.md"}]
    for heading, body in re.findall(r"^## (.+)\n((?:(?!^## ).*\n?)*)", index, re.M):
        pages = [
            {text[:1].upper() + text[1:]: place((DOCS / to).resolve())}
            for text, to in re.findall(r"\[([^\]]+)\]\((?!project/)([^()#\s]+\.md)\)", body)
        ]
        sections.append({heading: pages})
    return sections


def place(target: Path) -> str:
    """Where the site has a file or folder of the repository."""
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    path = target.relative_to(ROOT).as_posix()
    if target.is_dir():
        return f"source/{path}/index.md"
    if target.suffix == ".md":
        return f"repository/{path.replace('README', 'about')}"
    return f"source/{path}" if target.suffix in PICTURES else f"source/{path}.txt"


def origin(uri: str) -> Path | None:
    """The repository's page behind a page of the site; None for lists, which are made here."""
    if uri.startswith("repository/"):
        return ROOT / uri.removeprefix("repository/").replace("about", "README")
    return None if uri.startswith("source/") else DOCS / uri


def targets(page: Path) -> Iterator[Path]:
    """Files and folders that a page links to."""
    for match in LINK.finditer(page.read_text(encoding="utf-8")):
        target = (page.parent / match[2]).resolve()
        if target.exists() and target.is_relative_to(ROOT):
            yield target


def outside() -> list[Path]:
    """What pages link to outside docs/, and what those link to, and so on."""
    found: dict[Path, None] = {}
    ahead = sorted(DOCS.rglob("*.md"))
    while ahead:
        page = ahead.pop()
        for target in targets(page):
            if target in found or target.is_relative_to(DOCS):
                continue
            found[target] = None
            if target.suffix == ".md":
                ahead.append(target)
            elif target.is_dir():
                found.update(dict.fromkeys(listed(target)))
    return list(found)


def listed(folder: Path) -> list[Path]:
    """Files of a folder that are texts."""
    endings = (".yaml", ".py", ".md", ".txt", ".json", ".jsonl", ".csv", ".properties")
    return sorted(
        one for one in folder.iterdir() if one.suffix in endings and not one.name.startswith(".")
    )


def content(target: Path) -> str:
    """The text of a file, or a list of a folder's files."""
    if not target.is_dir():
        return target.read_text(encoding="utf-8", errors="replace")
    here = posixpath.dirname(place(target))
    lines = [f"* [{one.name}]({posixpath.relpath(place(one), here)})" for one in listed(target)]
    return f"# {target.relative_to(ROOT).as_posix()}\n\n" + "\n".join(lines) + "\n"


def rewritten(markdown: str, page: Path) -> str:
    """A page's text, its links as the site has them."""
    here = posixpath.dirname(place(page))

    def lead(match: re.Match[str]) -> str:
        target = (page.parent / match[2]).resolve()
        if not target.exists() or not target.is_relative_to(ROOT):
            return match[0]  # the strict build names it
        uri = place(target)
        fragment = match[3] if match[3] and uri.endswith(".md") else ""
        return f"{match[1]}{posixpath.relpath(uri, here or '.')}{fragment}{match[4]}"

    return LINK.sub(lead, markdown)
