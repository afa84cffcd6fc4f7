"""A page as a person reads it, without what each run has anew."""

from __future__ import annotations

import html
import re

_ANEW = {
    r"\d{4}-\d\d-\d\dT[\d:]+Z": "MOMENT",
    r"(accepted by \w+ on) \d{4}-\d\d-\d\d": r"\1 DAY",
    r"\b[0-9a-f]{64}\b": "DIGEST",
}


def as_read(page: str, *sections: str) -> list[str]:
    """Title and lines of a night's page, cells of a row side by side.

    Args:
        page: HTML.
        sections: to leave out all others.
    """
    title = page.partition("<title>")[2].partition("</title>")[0]
    body = page.partition("<body>")[2].partition('<script type="application/json"')[0]
    if sections:
        names = "|".join(sections)
        body = "\n".join(re.findall(rf'<section id="(?:{names})".*?</section>', body, re.DOTALL))
    body = re.sub(r"\s+", " ", f"<p>{title}</p>{body}".replace("<wbr>", ""))
    body = re.sub(r"</t[hd]>\s*(?=<t[hd])", " | ", body)
    body = re.sub(r"</(p|tr|li|h\d|caption|section|summary|div|dt|dd|code)>", "\n", body)
    text = html.unescape(re.sub(r"<[^>]*>", " ", body))
    for pattern, name in _ANEW.items():
        text = re.sub(pattern, name, text)
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.splitlines())
    return [line for line in lines if line]
