"""A broker's session with the controller."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.releases import RULE_SETS, switches
from isr_pipeline.kafka.session import (
    check_period,
    found_over,
    heartbeat_repeated_after,
    is_active,
    new_controller_tracks,
    outlives_fence,
)

SECOND = 1_000_000
KRAFT = {name: switches(RULE_SETS[name]) for name in ("3.3-3.6", "3.7-3.9", "4.0", "4.1+")}
ZOOKEEPER = switches(RULE_SETS["4.1+"], controller="zookeeper")


@pytest.mark.parametrize(
    ("fenced", "stopping", "active"),
    [(False, False, True), (True, False, False), (False, True, False), (True, True, False)],
)
def test_the_registration_alone_says_who_is_alive(
    fenced: bool, stopping: bool, active: bool
) -> None:
    """Nobody asks the broker itself."""
    assert is_active(fenced, stopping) is active


class TestEnd:
    """When the controller finds a session over."""

    @pytest.mark.parametrize("release", ["3.3-3.6", "3.7-3.9"])
    def test_to_3_9_at_its_very_end(self, release: str) -> None:
        """Nothing is looked at by periods."""
        period = check_period(KRAFT[release], 9 * SECOND)
        assert found_over(7_777, 0, period) == 7_777

    @pytest.mark.parametrize("release", ["4.0", "4.1+"])
    def test_from_4_0_on_every_eighth_of_a_session(self, release: str) -> None:
        """MaybeFenceStaleBrokerPeriodNs."""
        assert check_period(KRAFT[release], 9 * SECOND) == 1_125_000

    def test_never_more_often_than_every_millisecond(self) -> None:
        """A session of 4 ms is looked at four times."""
        assert check_period(KRAFT["4.1+"], 4_000) == 1_000

    def test_zookeeper_ends_its_sessions_itself(self) -> None:
        """No controller looks for them."""
        assert check_period(ZOOKEEPER, 9 * SECOND) == 0

    @pytest.mark.parametrize(("end", "found"), [(299, 300), (300, 400), (301, 400), (50, 100)])
    def test_at_the_first_check_behind_the_end(self, end: int, found: int) -> None:
        """At its very end it is still valid."""
        assert found_over(end, 100, 100) == found

    def test_checks_reach_back_before_the_named_one(self) -> None:
        """Any check names them all."""
        assert found_over(299, 700, 100) == 300


class TestFence:
    """What outlives a fence, and a controller."""

    def test_from_4_0_on_a_session_outlives_it(self) -> None:
        """KAFKA-17793's tracker knows contacts, no fences."""
        assert [outlives_fence(rules) for rules in KRAFT.values()] == [
            False,
            False,
            True,
            True,
        ]

    def test_zookeepers_does_not(self) -> None:
        """Who is fenced there has lost his session."""
        assert not outlives_fence(ZOOKEEPER)

    @pytest.mark.parametrize("release", KRAFT)
    def test_a_new_controller_gives_the_unfenced_a_session(self, release: str) -> None:
        """In every release."""
        assert new_controller_tracks(KRAFT[release], False)

    def test_only_that_of_4_0_gives_the_fenced_one(self) -> None:
        """KAFKA-18138 brought it, KAFKA-19130 ended it."""
        tracked = [new_controller_tracks(rules, True) for rules in KRAFT.values()]
        assert tracked == [False, False, True, False]


class TestSilentController:
    """How long a heartbeat waits for an answer that never comes."""

    @pytest.mark.parametrize(
        ("release", "session_s", "after_ms"),
        [
            *[("2.7-3.2", 9, 30_100), ("3.3-3.6", 9, 4_600), ("4.0", 9, 4_600), ("4.1+", 9, 4_000)],
            *[("2.7-3.2", 120, 30_100), ("3.3-3.6", 120, 30_100), ("4.1+", 120, 4_000)],
        ],
    )
    def test_the_next_one_is_sent(self, release: str, session_s: int, after_ms: int) -> None:
        """As long as any request, then half a session at most, then a heartbeat interval."""
        rules = switches(RULE_SETS[release])
        after = heartbeat_repeated_after(rules, 2 * SECOND, session_s * SECOND)
        assert after == after_ms * 1000
