"""What is left of logs after a hard stop, and who exits over a truncation."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.recovery import (
    Lost,
    exits_over_truncation,
    forgets_epoch,
    recovery_us,
    starts_on_empty_disk,
    surviving_end,
)
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.kafka.releases import Rules, switches


def rules_of(number: str, controller: str = "zookeeper") -> Rules:
    """The switches of a release of Kafka."""
    return switches(rule_set_of(str(rule_set_text(number))), controller=controller)


@pytest.mark.parametrize(
    ("lost", "recovery_point", "flushed", "end"),
    [
        (Lost.NOTHING, 10, 20, 100),
        (Lost.TAIL, 10, 20, 20),
        (Lost.TAIL, 30, 20, 30),
        (Lost.TAIL, 0, 200, 100),
        (Lost.ALL, 10, 20, 0),
    ],
)
def test_a_tail_goes_back_to_the_later_flush(
    lost: Lost, recovery_point: int, flushed: int, end: int
) -> None:
    """Never past the log's own end."""
    assert surviving_end(lost, 100, recovery_point, flushed) == end


@pytest.mark.parametrize(
    ("size", "rate", "us"),
    [(1000, 0, 0), (1500, 1000, 1_500_000), (3 * 2**40, 2**20, 3 * 2**20 * 1_000_000), (0, 5, 0)],
)
def test_recovery_takes_bytes_over_a_rate(size: int, rate: int, us: int) -> None:
    """Whole microseconds, however many bytes."""
    assert recovery_us(size, rate) == us


@pytest.mark.parametrize(
    ("controller", "reformatted", "starts"),
    [("kraft", True, True), ("kraft", False, False), ("zookeeper", False, True)],
)
def test_kraft_does_not_start_on_an_unformatted_disk(
    controller: str, reformatted: bool, starts: bool
) -> None:
    """meta.properties is missing there."""
    assert starts_on_empty_disk(rules_of("3.4.0", controller), reformatted) is starts


@pytest.mark.parametrize(
    ("number", "exits"), [("0.8.2.2", True), ("1.0.2", True), ("2.0.0", True), ("2.0.1", False)]
)
def test_to_2_0_0_a_follower_exits_over_a_truncation(number: str, exits: bool) -> None:
    """KAFKA-7414."""
    assert exits_over_truncation(rules_of(number), 11, 10, False) is exits


@pytest.mark.parametrize(("offset", "unclean"), [(10, False), (9, False), (11, True)])
def test_it_stays_where_nothing_is_truncated_or_it_may_be(offset: int, unclean: bool) -> None:
    """The leader's log is as long, or unclean.leader.election.enable allows it."""
    assert not exits_over_truncation(rules_of("2.0.0"), offset, 10, unclean)


@pytest.mark.parametrize(
    ("number", "newest", "forgets"), [("2.0.0", 3, True), ("2.0.0", 4, False), ("2.0.1", 3, False)]
)
def test_a_leader_forgets_epochs_before_its_log(number: str, newest: int, forgets: bool) -> None:
    """Its log begins with epoch 4."""
    assert forgets_epoch(rules_of(number), newest, 4) is forgets
