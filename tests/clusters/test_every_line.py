"""Every line of a source is used, told or counted: none is passed over."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.clusters.facts import Facts, Source
from isr_pipeline.clusters.plain_text import plain
from isr_pipeline.clusters.recognise import facts_of
from tests.clusters import samples
from tests.clusters.reading import facts
from tests.clusters.test_plain_text import SMALL, accepted

FOREIGN = "xyzzy plugh"
"""A line of no format."""


def read(text: str) -> tuple[Source, list[Facts]] | None:
    """Read a text; give also what became of its lines, None if it is refused."""
    source = Source("F", text.encode())
    try:
        return source, facts_of([source])
    except InputError:
        return None


def passed_over(text: str) -> list[str]:
    """Lines with something on them that are neither taken nor counted; comments say nothing."""
    found = read(text)
    if found is None:
        return []
    lines = plain(Source("F", text.encode())).content.decode().splitlines()
    before = ["", *lines]
    return [
        line
        for number, line in enumerate(lines, 1)
        if line.strip()
        and line.strip()[0] not in "#!"
        and not before[number - 1].endswith("\\")
        and number not in found[0].lines
    ]


def damaged(text: str) -> Iterable[str]:
    """Give the text with a line of no format at each place, and without each of its lines."""
    lines = text.splitlines(keepends=True)
    for place in range(len(lines) + 1):
        yield "".join([*lines[:place], f"{FOREIGN}\n", *lines[place:]])
        yield "".join([*lines[:place], *lines[place + 1 :]])


def check_foreign_lines(name: str, text: str) -> None:
    """A line of no format is refused, or is counted, at whatever place."""
    before = read(text)
    assert before is not None
    lines = text.splitlines(keepends=True)
    for place in range(len(lines) + 1):
        after = read("".join([*lines[:place], f"{FOREIGN}\n", *lines[place:]]))
        assert after is None or after[1] != before[1], (name, place)


@pytest.mark.parametrize("name", SMALL)
def test_no_line_is_passed_over(name: str) -> None:
    """Whole or damaged: what a reader does not know it counts."""
    for text in (SMALL[name], *damaged(SMALL[name])):
        assert passed_over(text) == []


@pytest.mark.parametrize("name", sorted(SMALL.keys() - {"server.properties"}))
def test_a_line_of_no_format(name: str) -> None:
    """It changes what is told, wherever it stands; in properties it is a key and its value."""
    check_foreign_lines(name, SMALL[name])


@pytest.mark.slow
def test_no_line_of_any_case_is_passed_over() -> None:
    """So of every file that people have published and that is read."""
    for name, text in accepted().items():
        for one in (text, *damaged(text)):
            assert passed_over(one) == [], name


@pytest.mark.slow
def test_a_line_of_no_format_in_any_case() -> None:
    """So in every file that people have published and that is read."""
    for name, text in accepted().items():
        check_foreign_lines(name, text)


class TestKeys:
    """What stands in JSON or YAML beside the keys that are read is counted by its name."""

    def test_of_strimzi(self) -> None:
        """A part of a resource."""
        text = samples.STRIMZI.replace(
            "    spec: {replicas: 3,", "    spec: {storage: {}, replicas: 3,"
        )
        assert facts(text).unread - facts(samples.STRIMZI).unread == {"KafkaNodePool.spec.storage"}

    @pytest.mark.parametrize(
        ("text", "key"),
        [
            (samples.CRUISE_CONTROL, "partitions.new"),
            (samples.LOAD, "brokers.new"),
            (samples.PARTITION_LOAD, "records.new"),
        ],
    )
    def test_of_cruise_control(self, text: str, key: str) -> None:
        """A field of a partition, a broker or a record."""
        more = text.replace('"topic":', '"new": 1, "topic":').replace(
            '"Host":', '"new": 1, "Host":'
        )
        assert json.loads(more)
        assert facts(more).unread - facts(text).unread == {key}

    def test_names_that_may_be_secret(self) -> None:
        """They are counted, and their names are not printed."""
        assert "ssl.keystore.password" in facts(samples.PROPERTIES).unread
