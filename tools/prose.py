"""A small linter of prose: README and docs in plain English.

    python tools/prose.py [--write] [PAGE ...]

Three rules: a sentence has at most 25 words; some words and phrases are not used; a sentence does
not open with an empty subject. Tables, code and comments are not read. `prose.json` keeps how many
faults an old page has. No page may have more than that, and a new page has none. `--write` records
the counts that fell. With pages named, all their faults are listed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tools" / "prose.json"
WORDS_MAX = 25
LISTED_MAX = 12

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
_NOT_READ = (
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


def faults(text: str) -> list[str]:
    """What is wrong with a page's prose, a line each."""
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
        if opening := _OPENING.match(sentence.lstrip("*\"'(")):
            found.append(f'opens with "{opening[0]}": {begin}')
    return found


def main(arguments: list[str] | None = None) -> int:
    """Check, list or record; 1 if a page has more faults than it had."""
    parser = argparse.ArgumentParser(prog="tools/prose.py", description=__doc__)
    parser.add_argument("--write", action="store_true", help="record the counts that fell")
    parser.add_argument("pages", nargs="*", type=Path, help="list all faults of these")
    given = parser.parse_args(arguments)
    if given.pages:
        for page in given.pages:
            for fault in faults(page.read_text(encoding="utf-8")):
                sys.stdout.write(f"{page}: {fault}\n")
        return 0
    kept: dict[str, int] = json.loads(KEPT.read_text(encoding="utf-8"))
    now: dict[str, int] = {}
    status = 0
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        found = faults(page.read_text(encoding="utf-8"))
        most = kept.get(name, 0)
        now[name] = min(len(found), most)
        if len(found) > most:
            status = 1
            for fault in found[:LISTED_MAX]:
                sys.stderr.write(f"{name}: {fault}\n")
            sys.stderr.write(f"{name}: {len(found)} faults of prose, {most} at most\n")
    if given.write:
        lower = {name: count for name, count in sorted(now.items()) if count}
        KEPT.write_text(json.dumps(lower, indent=1) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
