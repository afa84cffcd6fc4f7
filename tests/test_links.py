"""Links of the documentation: every page, file and heading that one leads to is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from isr_pipeline.base.home import REPOSITORY
from tools.anchors import anchor

PAGES = sorted(
    [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")],
    key=lambda page: page.relative_to(REPOSITORY).as_posix(),
)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1[`~]*\s*$", re.M | re.S)
ELSEWHERE = ("http://", "https://", "mailto:")


def prose(page: Path) -> str:
    """A page's text without what stands in fences, which is no Markdown."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[str]:
    """Where a page's links lead, those to other sites left out."""
    text = re.sub(r"`[^`\n]*`(?!\])", "", prose(page))
    return (to for to in LINK.findall(text) if not to.startswith(ELSEWHERE))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    found: list[str] = []
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", prose(page), re.M):
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        base = anchor(text)
        number = sum(1 for one in found if re.fullmatch(rf"{re.escape(base)}(-\d+)?", one))
        found.append(f"{base}-{number}" if base in found else base)
    found += re.findall(r'<a (?:id|name)="([^"]+)"', page.read_text(encoding="utf-8"))
    return frozenset(found)


def broken(page: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    wrong = []
    for to in links(page):
        place, _, heading = to.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.is_relative_to(REPOSITORY) or not target.exists():
            wrong.append(f"{to}: no such file")
        elif heading and target.suffix == ".md" and heading not in anchors(target):
            wrong.append(f"{to}: no such heading")
    return wrong


class TestPages:
    """What is written."""

    @pytest.mark.parametrize("page", PAGES, ids=lambda one: one.relative_to(REPOSITORY).as_posix())
    def test_links_lead_somewhere(self, page: Path) -> None:
        """Files are in the checkout, anchors are headings."""
        assert broken(page) == []

    def test_every_page_is_linked(self) -> None:
        """Each page of docs/ is reached from its index, page by page."""
        reached: set[Path] = set()
        ahead = [REPOSITORY / "docs" / "index.md"]
        while ahead:
            page = ahead.pop()
            reached.add(page)
            targets = {(page.parent / to.partition("#")[0]).resolve() for to in links(page)}
            ahead += [one for one in targets if one.suffix == ".md" and one not in reached]
        missing = [page for page in PAGES if "docs" in page.parts and page not in reached]
        assert missing == []
