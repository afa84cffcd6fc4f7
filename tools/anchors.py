"""Anchors of headings, as GitHub makes them; the site makes the same. Standard library only."""

from __future__ import annotations

import re


def anchor(heading: str) -> str:
    """The anchor of a heading's text, without Markdown's signs."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
