"""Changes that editors, consoles, chats and web pages make: none changes a cluster unsaid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.base.errors import InputError
from isr_pipeline.clusters.facts import Facts, Source
from isr_pipeline.clusters.recognise import facts_of
from tests.clusters import samples
from tests.clusters.test_cases import CASES

SMALL: Mapping[str, str] = {
    **samples.TOPICS,
    "configs": samples.CONFIGS,
    "log dirs": samples.LOG_DIRS,
    "server.properties": samples.PROPERTIES,
    "Strimzi": samples.STRIMZI,
    "Cruise Control": samples.CRUISE_CONTROL,
}
QUOTED = "11-windows-bat/quoted.txt"
"""Its lines have a mark each, so that a line around them makes it another text: refused as that."""


def each_line(before: str, behind: str) -> Callable[[str], str]:
    """Put something around each line; the last one has an end only if it had one."""
    return lambda text: re.sub(r"^(.+)$", rf"{before}\1{behind}", text, flags=re.MULTILINE)


SIGNS: dict[str, Callable[[str], str]] = {
    "ends of Windows": lambda text: re.sub(r"\r?\n", "\r\n", text),
    "ends of old Macs": lambda text: re.sub(r"\r?\n", "\r", text),
    "a mark at the beginning": lambda text: f"\ufeff{text}",
    "blanks behind": each_line("", "   "),
    "a tab behind": each_line("", "\t"),
    "blanks before": each_line("    ", ""),
    "a tab before": each_line("\t", ""),
    "no-break blanks": lambda text: text.replace(" ", "\xa0"),
    "no-break blanks before": each_line("\xa0\xa0", ""),
    "wide blanks": lambda text: text.replace(" ", "\u2003"),
    "zero-width blanks": lambda text: re.sub(r"([ :=,])", "\\1\u200b", text),
    "word joiners": each_line("\u2060", "\ufeff"),
    "colours": each_line("\x1b[32m", "\x1b[0m"),
    "quoted": each_line("> ", ""),
    "a window's title": lambda text: f"\x1b]0;user@host: ~\x07\x1b[?2004h{text}",
}
"""Other signs for the same lines."""

AROUND: dict[str, Callable[[str], str]] = {
    "blank lines": lambda text: text.replace("\n", "\n\n"),
    "a fence": lambda text: f"```text\n{text}\n```\n",
    "tildes": lambda text: f"\n~~~\n{text}\n~~~\n",
    "a prompt": lambda text: f"user@host:~/kafka$ bin/show it\n{text}\nuser@host:~/kafka$ \n",
    "a line of kubectl": lambda text: f"Defaulted container kafka out of: kafka, init\n{text}",
    "a log line": lambda text: f"[2024-03-12 10:12:01,123] WARN a warning (org.apache.X)\n{text}",
}
"""Other lines before, between and behind."""

CHANGES = SIGNS | AROUND
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-32")


@cache
def read(content: bytes) -> list[Facts] | str:
    """What a file says, lines that are skipped apart, or why it is refused."""
    try:
        found = facts_of([Source("F", content)])
    except InputError as refused:
        return str(refused)
    return [
        replace(one, left_out=[told for told in one.left_out if " around the listing" not in told])
        for one in found
    ]


def accepted() -> dict[str, str]:
    """Every text of the cases that is read."""
    found = {}
    for file in sorted(CASES.glob("*/*")):
        content = file.read_bytes()
        text = content.decode("utf-8", "ignore")  # what is in another encoding is there in UTF-8
        if text.encode() == content and not isinstance(read(content), str):
            found[f"{file.parent.name}/{file.name}"] = text
    return found


def check(name: str, text: str, change: str, encoding: str = "utf-8") -> None:
    """Read a changed text as before; what is refused is no harmless change there, and named."""
    changed = read(CHANGES[change](text).encode(encoding))
    if name == QUOTED and change in ("quoted", *AROUND) and change != "blank lines":
        assert "with something before each line" in changed
    elif re.search(r"\\\r?\n", text) and "behind" in change:
        assert "a backslash before blanks" in changed
    elif not (re.search(r"\\\r?\n", text) and change == "blank lines"):  # it ends a value in Java
        assert changed == read(text.encode()), (name, change)


@pytest.mark.parametrize("change", CHANGES)
def test_a_harmless_change(change: str) -> None:
    """Every kind of text says what it said."""
    for name, text in SMALL.items():
        check(name, text, change)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_harmless_change_of_every_case(change: str) -> None:
    """So does every text that people have published and that is read."""
    for name, text in accepted().items():
        check(name, text, change)


@pytest.mark.parametrize("name", SMALL)
def test_an_indented_list_below_a_prompt(name: str) -> None:
    """Not every line has the indentation, so that each reader passes over it."""
    text = each_line("    ", "")(SMALL[name])
    assert read(f"$ bin/show it\n{text}".encode()) == read(SMALL[name].encode())


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoding(encoding: str) -> None:
    """An editor or a shell of Windows writes others than UTF-8, some without a mark."""
    for text in SMALL.values():
        assert read(text.encode(encoding)) == read(text.encode())


def several(changes: Iterable[str]) -> st.SearchStrategy[list[str]]:
    """Up to three of them, each once."""
    return st.lists(st.sampled_from(sorted(changes)), min_size=1, max_size=3, unique=True)


@given(text=st.sampled_from(sorted(SMALL)), changes=several(SIGNS.keys() - {"quoted"}))
def test_several_at_once(text: str, changes: list[str]) -> None:
    """A page that is copied into a chat changes more than one thing."""
    changed = SMALL[text]
    for change in sorted(changes, key=lambda one: one.startswith("ends of")):
        changed = SIGNS[change](changed)
    if text == "server.properties" and any("behind" in change for change in changes):
        return
    assert read(changed.encode()) == read(SMALL[text].encode())


@pytest.mark.parametrize("change", SIGNS)
def test_a_cut_file_stays_one(change: str) -> None:
    """A last line without its end may have been longer, whatever stands for its blanks."""
    cut = samples.NEW.removesuffix("\n")
    assert "a last line without its end" in read(SIGNS[change](cut).encode())


@pytest.mark.parametrize("change", CHANGES)
def test_a_listing_without_its_last_line_stays_one(change: str) -> None:
    """Lines around it do not stand for those that are missing."""
    cut = samples.NEW.rsplit("\tTopic", 1)[0]
    assert "1 of 2 partitions of orders" in read(CHANGES[change](cut).encode())


class TestALog:
    """Of a broker's whole log what it was started with counts."""

    VALUES = "".join(f"\t{line}\n" for line in ("broker.id = 3", "num.io.threads = 9"))
    LOG = (
        "INFO Cluster ID = x (kafka.server.KafkaServer)\n"
        f"INFO KafkaConfig values: \n{VALUES} (kafka.server.KafkaConfig)\n"
        "INFO AdminClientConfig values: \n\tnum.io.threads = 1\n (AdminClientConfig)\n"
        "INFO Kafka version: 2.7.1 (AppInfoParser)\n"
    )

    def test_its_values(self) -> None:
        """Those of clients and lines of other kinds are skipped, and counted."""
        [found] = facts_of([Source("F", self.LOG.encode())])
        assert found.brokers[3].settings == {"num.io.threads": "9"}
        assert found.left_out == ["7 lines around the listing skipped (F)"]

    def test_two_starts(self) -> None:
        """Of a value that has changed between them the last holds, and that is told."""
        again = self.LOG.replace("= 9", "= 8")
        [found] = facts_of([Source("F", (self.LOG + again).encode())])
        assert found.brokers[3].settings == {"num.io.threads": "8"}
        assert "num.io.threads=9 (F), which is set again behind it" in found.left_out

    def test_something_among_its_values(self) -> None:
        """What stands behind it would be lost."""
        among = self.LOG.replace("\tnum.io.threads = 9", "a second line\n\tnum.io.threads = 9")
        assert "F: line 4: a second line; " in read(among.encode())

    def test_two_brokers(self) -> None:
        """Logs of two brokers in one file are those of no broker."""
        other = self.LOG.replace("id = 3", "id = 4")
        assert "broker.id=4 behind broker.id=3" in read((self.LOG + other).encode())


def test_a_word_of_a_sentence_is_no_key() -> None:
    """What kubectl says before a file is a line around it."""
    [found] = facts_of([Source("F", f"Defaulted container k\n{samples.PROPERTIES}".encode())])
    assert "Defaulted" not in found.unread
    assert found.left_out == ["1 line around the listing skipped (F)"]


def test_a_fence_is_counted() -> None:
    """Around YAML, too."""
    [found] = facts_of([Source("F", f"$ kubectl get\n```\n{samples.STRIMZI}```\n".encode())])
    assert "3 lines around the listing skipped (F)" in found.left_out
