"""One way of looking at a text, before any reader: what shows the same is the same.

Editors, consoles, chats and web pages change a text's encoding, ends of lines and blanks, and put
marks around it. Lines keep their numbers, for error lines; whether the last line has its end stays.
"""

from __future__ import annotations

import re
from dataclasses import replace

from isr_pipeline.clusters.facts import Source

_ENCODINGS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
"""Marks at the beginning, the longer ones first; Windows' shell writes UTF-16 what it is sent."""
_SAMPLE_BYTES = 400
_END_OF_LINE = re.compile(r"\r+\n|\r")
_OF_TERMINALS = re.compile(r"\x1b(?:\[[0-9;]*[mK]|\[\?[0-9]+[hl]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))")
"""Colours, modes and the window's title."""
_BLANKS = dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_WITHOUT_WIDTH = dict.fromkeys(
    [0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF], None
)
_SIGNS = _BLANKS | _WITHOUT_WIDTH
_FENCE = re.compile(r"[^\S\n]*(?:`{3,}|~{3,})[^\S\n]*[\w.+-]*[^\S\n]*$", re.MULTILINE)
_QUOTED = re.compile(r"^[^\S\n]*> ?", re.MULTILINE)
_BEGINS_A_LINE = re.compile(r"^[^\S\n]*(?=\S)", re.MULTILINE)
_BLANKS_BEHIND = re.compile(r"(?<![\s\\])[ \t]+$", re.MULTILINE)


def plain(source: Source) -> Source:
    """Give the source with its text as every reader takes it: UTF-8, ends of lines, blanks.

    Bytes that are no text of any encoding stay as they are: a reader says what it thinks of them.
    """
    content = _as_utf_8(source.content)
    text = _OF_TERMINALS.sub("", content.decode("utf-8", "surrogateescape"))
    text = _END_OF_LINE.sub("\n", text).translate(_SIGNS)
    text = _without_quotes(text)
    source.has(*(text.count("\n", 0, found.start()) + 1 for found in _FENCE.finditer(text)))
    text = _BLANKS_BEHIND.sub("", _without_indentation(_FENCE.sub("", text)))
    return replace(source, content=text.encode("utf-8", "surrogateescape"))


def _as_utf_8(content: bytes) -> bytes:
    """Undo another encoding, which a mark tells, or zeros at every second byte."""
    for mark, encoding in _ENCODINGS:
        if content.startswith(mark):
            return _from(content.removeprefix(mark), encoding)
    sample = content[:_SAMPLE_BYTES]
    for encoding, zeros, signs in (
        ("utf-16-le", sample[1::2], sample[::2]),
        ("utf-16-be", sample[::2], sample[1::2]),
    ):
        if zeros and all(signs) and zeros.count(0) > 0.9 * len(zeros):
            return _from(content, encoding)
    return content


def _from(content: bytes, encoding: str) -> bytes:
    return content if encoding == "utf-8" else content.decode(encoding, "replace").encode()


def _without_quotes(text: str) -> str:
    """Take away what quotes a text in a mail or a chat, where every line has it."""
    lines = [line for line in text.split("\n") if line.strip()]
    quoted = lines and all(_QUOTED.match(line) for line in lines)
    return _QUOTED.sub("", text) if quoted else text


def _without_indentation(text: str) -> str:
    """Take away the blanks that every line begins with, as in a list of Markdown."""
    indents = {found[0] for found in _BEGINS_A_LINE.finditer(text)}
    least = min(indents, key=len, default="")
    if not least or not all(indent.startswith(least) for indent in indents):
        return text
    return re.sub(rf"^{re.escape(least)}", "", text, flags=re.MULTILINE)
