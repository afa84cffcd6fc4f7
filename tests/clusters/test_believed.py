"""Who is believed for what: a merge goes by the table that the docs print."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.clusters import believed
from isr_pipeline.clusters.believed import TABLE, Ledger, Row
from isr_pipeline.clusters.facts import LIVE, METADATA, PLATFORM, TOOL, Facts, Source
from isr_pipeline.clusters.merge import merge
from isr_pipeline.clusters.recognise import facts_of
from tests.clusters import samples


def source(rank: int, name: str = "") -> Facts:
    """A source that says nothing but what it is."""
    return Facts(name or f"source {rank}", "kind", rank)


def first(row: Row, *said: tuple[Any, Facts], topic: str = "") -> Any:
    """The value that is believed."""
    return Ledger().pick(row, "x", said, topic=topic)


@pytest.mark.parametrize("row", [row for row in TABLE if row is not believed.OF_TOPIC])
def test_ranks(row: Row) -> None:
    """A live cluster goes before the log, the log before tools, tools before files."""
    values = {rank: (f"/{rank}",) for rank in (PLATFORM, TOOL, METADATA, LIVE)}
    said = [(value, source(rank)) for rank, value in values.items()]
    for rank in (LIVE, METADATA, TOOL, PLATFORM):
        assert first(row, *said[: PLATFORM - rank + 1]) == values[rank]


def test_the_oldest_of_several_releases() -> None:
    """Of brokers that are upgraded one by one; another source of the rank has no more to say."""
    said = [("3.10", source(TOOL)), ("3.9", source(TOOL)), ("3.8", source(PLATFORM))]
    assert first(believed.RELEASE, *said) == "3.9"


def test_who_has_all_of_a_topics_settings() -> None:
    """It says also what the topic does not set, whatever its rank."""
    part, whole = source(TOOL, "part"), source(PLATFORM, "whole")
    part.topic("t")
    whole.topic("t").settings_whole = True
    assert first(believed.OF_TOPIC, ("1", part), ("2", whole), topic="t") == "2"


class TestPaths:
    """Log dirs that KRaft knows by ids get their paths from whoever has them."""

    ID = "UKrRLRj1-2vevhmOg9Ui1g"

    def test_they_go_before_ids(self) -> None:
        """An id is the same dir under another name, and no contradiction."""
        ledger = Ledger()
        said = [(self.ID, source(METADATA)), ("/d", source(TOOL))]
        assert ledger.pick(believed.PLACE, "x", said) == "/d"
        assert ledger.conflicts() == []

    def test_ids_alone(self) -> None:
        """They are better than nothing."""
        assert first(believed.PLACE, (self.ID, source(METADATA))) == self.ID


class TestConflicts:
    """What is not believed is listed with both sources."""

    def test_two_values(self) -> None:
        """Both are there, each with its source."""
        ledger = Ledger()
        ledger.pick(believed.CONTROLLER, "x", [("b", source(PLATFORM)), ("a", source(LIVE))])
        [one] = ledger.conflicts()
        assert (one["kept"], one["from"]) == ("a", "source 0 (kind)")
        assert (one["other"], one["other_from"]) == ("b", "source 3 (kind)")

    def test_very_many(self) -> None:
        """Beyond fifty of a kind they are counted."""
        ledger = Ledger()
        for i in range(believed.CONFLICTS_LISTED + 7):
            said = [((1,), source(LIVE)), ((2,), source(TOOL))]
            ledger.pick(believed.OF_PARTITION, f"t-{i}", said, "leader")
        assert ledger.conflicts()[-1] == {"what": "leader of 7 more"}


def test_a_merge_uses_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the table is a mere sentence."""
    used = [believed.MACHINE]  # by `isr_pipeline.clusters.machines`, which has its own tests
    kept = Ledger.kept

    def noted(self: Ledger, row: Row, *given: Any, **more: Any) -> believed.Kept:
        used.append(row)
        return kept(self, row, *given, **more)

    monkeypatch.setattr(Ledger, "kept", noted)
    texts = (samples.NAMES_ELR, samples.CONFIGS, samples.PROPERTIES, samples.LOG_DIRS)
    merge(facts_of(Source(f"F{i}", text.encode()) for i, text in enumerate(texts)), "4.1")
    assert [row.what for row in TABLE if row not in used and row is not believed.RELEASE] == []
