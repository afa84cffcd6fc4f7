"""Every figure in the prose of README and docs is compared with something, or is dated history."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.figures import ROOT, figures, prose
from tests.prose_figures import Claim, claims

PAGES = [
    *("README.md", "CONTRIBUTING.md", "SECURITY.md"),
    *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")),
]

HISTORY = {"docs/project/defence-of-design.md"}
"""Pages of dated decisions: each figure belongs to the day that its paragraph names."""

ALL = list(claims())


@pytest.mark.parametrize("claim", ALL, ids=[f"{one.page}: {one.text[:40]}" for one in ALL])
def test_a_page_says_it(claim: Claim) -> None:
    """A piece stands on its page with the figures that code, files and results have today."""
    assert claim.text in prose(claim.page), f"{claim.page} does not say: {claim.text}"


@pytest.mark.parametrize("page", [one for one in PAGES if one not in HISTORY])
def test_no_figure_is_left_out(page: str) -> None:
    """Each figure of a page's prose lies in a piece that is compared, or says why it is not."""
    text = prose(page)
    covered: Counter[int] = Counter()
    for claim in ALL:
        start = text.find(claim.text) if claim.page == page else -1
        while start >= 0:
            covered.update(range(start, start + len(claim.text)))
            start = text.find(claim.text, start + 1)
    left = [one.context for one in figures(text) if not covered[one.start]]
    assert not left


def test_the_check_sees_figures() -> None:
    """A number with or without a unit is one; releases, dates, proposals and steps are none."""
    text = "In 3.7 and 0.8.2 (KIP-501, 2026-11-24, port 8080) 20 shrinks took 1.5 s, `x=7`, 12 %."
    assert [text[one.start : one.end] for one in figures(text)] == ["20", "1.5", "12"]
