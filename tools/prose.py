"""A small linter of prose: README and docs in plain English.

    python tools/prose.py [PAGE ...]

Four rules: a sentence has at most 25 words; some words and phrases are not used; a sentence does
not open with an empty subject; a sentence has no measured figure, which belongs in a block that a
command writes. Tables, code, comments and such blocks are not read. Without pages named, all of
README and docs are read.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS_MAX = 25

NOT_USED = {
    "alike": "the same",
    "but for": "except for",
    "hardly": "rarely, or a number",
    "in order to": "to",
    "is said": "who says it",
    "leverage": "use",
    "mend": "fix",
    "outdone": "a comparison with a number",
    "seamless": "what it does",
    "simply": "nothing",
    "thrash": "flap",
    "told by": "shown by",
    "undoes it": "corrects it",
    "utilize": "use",
    "whoever": "a noun",
}
"""Word or phrase -> what to write instead."""

_OPENING = re.compile(
    r"(There (is|are|was|were)|It (is|was) (\w+ed|said|told|known|seen)|What is \w+ed|Nobody)\b"
)
MEASURED = {
    "a share": r"\d ?%(?! interval)",
    "a ratio": r"\d ?[x×](?!\w)|\d times (?:as|the)\b",
    "a number with its day": r"(?=.*DAY).*(?<![\w.-])\d[\d.]*(?![\w.-])",
}
"""What a measured figure looks like; seconds and bytes are settings far more often."""

NO_MEASUREMENT = {
    "docs/verdicts.md": "its shares are error levels, which somebody chose",
    "docs/project/decisions.md": "each decision has the figures of its day",
}
"""Page -> why its figures may stand in its sentences."""

_DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b")
_RELEASE = re.compile(r"\b[A-Z]\w+ \d[\d.]*\b|\b\d+(?:\.\d+){2,}\b")
_NOT_READ = (
    re.compile(r"<!-- (\w+):(?!end)[^>]*-->.*?<!-- \1:(?:[\w-]+:)?end -->", re.DOTALL),
    re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^\s*\|.*$", re.MULTILINE),
    re.compile(r"^( {4,}|\t)\S.*$\n", re.MULTILINE),
    re.compile(r"^#+ .*$", re.MULTILINE),
)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ENDS = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(*]*[A-Z`\d])")
_ITEM = re.compile(r"^\s*(?:[*+-]|\d+\.)\s+", re.MULTILINE)
_SHORT = re.compile(r"\b(e\.g|i\.e|etc|vs|no)\.", re.IGNORECASE)


def pages() -> list[Path]:
    """README and docs; the changelog is a list of lines of its own kind."""
    named = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*named, *sorted((ROOT / "docs").rglob("*.md"))]


def sentences(text: str) -> Iterator[str]:
    """Sentences of a page: of its paragraphs and of each item of its lists."""
    for pattern in _NOT_READ:
        text = pattern.sub("\n\n", text)
    text = _LINK.sub(r"\1", re.sub(r"`[^`]*`", "Code", text))
    text = _SHORT.sub(r"\1", _ITEM.sub("\n\n", text))
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in _ENDS.split(" ".join(paragraph.split())):
            if sentence:
                yield sentence


def faults(text: str, *, measured: bool = True) -> list[str]:
    """What is wrong with a page's prose, a line each; measured figures only if wanted."""
    found = []
    for sentence in sentences(text):
        begin = sentence if len(sentence) <= 60 else sentence[:57] + "..."
        words = len(re.findall(r"[^\W_][\w'’.-]*", sentence))
        if words > WORDS_MAX:
            found.append(f"{words} words, {WORDS_MAX} at most: {begin}")
        found += [
            f'"{word}", better {instead}: {begin}'
            for word, instead in NOT_USED.items()
            if re.search(rf"\b{word}\b", sentence, re.IGNORECASE)
        ]
        if measured:
            bare = _RELEASE.sub("Release", _DAY.sub("DAY", sentence))
            found += [
                f"{kind}, better in a block that a command writes: {begin}"
                for kind, pattern in MEASURED.items()
                if re.search(pattern, bare)
            ]
        if opening := _OPENING.match(sentence.lstrip("*\"'(")):
            found.append(f'opens with "{opening[0]}": {begin}')
    return found


def main(arguments: list[str] | None = None) -> int:
    """List every fault of the pages; 1 if there is one."""
    parser = argparse.ArgumentParser(prog="tools/prose.py", description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, help="these, not all")
    given = parser.parse_args(arguments)
    status = 0
    for page in [one.resolve() for one in given.pages] or pages():
        name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
        text = page.read_text(encoding="utf-8")
        for fault in faults(text, measured=str(name) not in NO_MEASUREMENT):
            status = 1
            sys.stderr.write(f"{name}: {fault}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
