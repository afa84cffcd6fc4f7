"""A registration within the session of the broker's last life."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.releases import RULE_SETS, switches
from isr_pipeline.kafka.session import FIRST_RETRY_US, is_refused, retry_after

SECOND = 1_000_000
HEARTBEAT = 2 * SECOND
SESSION = 9 * SECOND
SUPERVISOR = 5 * SECOND
KRAFT = switches(RULE_SETS["4.1+"])
KRAFT_3_9 = switches(RULE_SETS["3.7-3.9"])
ZOOKEEPER = switches(RULE_SETS["3.7-3.9"], controller="zookeeper")


class TestRefusal:
    """While the controller's session is valid."""

    @pytest.mark.parametrize(("now", "refused"), [(8, True), (9, True), (10, False)])
    def test_a_session_is_valid_up_to_its_last_moment(self, now: int, refused: bool) -> None:
        """Last contact + session >= now: hasValidSession @ 3.9."""
        assert is_refused(KRAFT, False, 9, now, True) is refused

    def test_to_3_9_a_fenced_broker_has_no_session(self) -> None:
        """Whoever is fenced may register at once."""
        assert not is_refused(KRAFT_3_9, True, 9, 5, True)

    @pytest.mark.parametrize(("now", "refused"), [(9, True), (10, False)])
    @pytest.mark.parametrize("release", ["4.0", "4.1+"])
    def test_from_4_0_on_a_fence_ends_no_session(
        self, release: str, now: int, refused: bool
    ) -> None:
        """The last contact alone counts (KAFKA-19047)."""
        assert is_refused(switches(RULE_SETS[release]), True, 9, now, False) is refused

    @pytest.mark.parametrize(("killed", "refused"), [(True, True), (False, False)])
    def test_zookeepers_znode_is_gone_after_a_shutdown(self, killed: bool, refused: bool) -> None:
        """Only a kill leaves the old session's znode behind."""
        assert is_refused(ZOOKEEPER, False, 9, 5, killed) is refused

    def test_kraft_asks_for_the_session_alone(self) -> None:
        """How the last life ended does not matter to it."""
        assert is_refused(KRAFT, False, 9, 5, False)


class TestRetry:
    """When the broker tries again."""

    @pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "3.7-3.9"])
    def test_kraft_to_3_9_1_doubles_from_100_ms_to_the_session(self, release: str) -> None:
        """0.1, 0.2, 0.4, ... seconds; never more than the session."""
        rules = switches(RULE_SETS[release])
        waits = [retry_after(rules, n, HEARTBEAT, SESSION, SUPERVISOR) for n in range(9)]
        doubled = [FIRST_RETRY_US * 2**n for n in range(7)]
        assert waits == [*doubled, SESSION, SESSION]

    def test_4_0_0_doubles_to_half_the_session(self) -> None:
        """4.5 s of 9 s."""
        rules = switches(RULE_SETS["4.0"])
        waits = [retry_after(rules, n, HEARTBEAT, SESSION, SUPERVISOR) for n in range(8)]
        doubled = [FIRST_RETRY_US * 2**n for n in range(6)]
        assert waits == [*doubled, SESSION // 2, SESSION // 2]

    def test_no_number_of_tries_overflows(self) -> None:
        """After a thousand refusals it is still a session."""
        rules = switches(RULE_SETS["3.3-3.6"])
        assert retry_after(rules, 1000, HEARTBEAT, SESSION, SUPERVISOR) == SESSION

    def test_kraft_from_4_1_waits_a_heartbeat_interval(self) -> None:
        """KAFKA-19294 took the back-off away."""
        waits = {retry_after(KRAFT, n, HEARTBEAT, SESSION, SUPERVISOR) for n in range(9)}
        assert waits == {HEARTBEAT}

    def test_under_zookeeper_the_supervisor_decides(self) -> None:
        """The process ends with the refusal."""
        assert retry_after(ZOOKEEPER, 3, HEARTBEAT, SESSION, SUPERVISOR) == SUPERVISOR

    def test_0_8_2_waits_a_session_in_its_process(self) -> None:
        """It takes the znode for one of its own that ZooKeeper has forgotten to delete."""
        rules = switches(RULE_SETS["0.8.2"])
        assert retry_after(rules, 3, HEARTBEAT, SESSION, SUPERVISOR) == SESSION
