"""When KRaft's controller lets a broker stop."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.releases import RULE_SETS, switches
from isr_pipeline.kafka.shutdown import has_reported, must_wait


class TestLeave:
    """What the controller asks for."""

    @pytest.mark.parametrize("led", [True, False])
    def test_kraft_lets_only_one_go_at_once_that_leads_nothing(self, led: bool) -> None:
        """SHUTDOWN_NOW without leads, CONTROLLED_SHUTDOWN with them."""
        assert bool(must_wait(switches(RULE_SETS["3.7+"]), led)) is led

    @pytest.mark.parametrize("led", [True, False])
    def test_zookeepers_controller_asks_nobody(self, led: bool) -> None:
        """Its answer comes when the leads have moved."""
        assert not must_wait(switches(RULE_SETS["3.7+"], controller="zookeeper"), led)

    @pytest.mark.parametrize(("heartbeat", "reported"), [(99, False), (100, True), (101, True)])
    def test_a_heartbeat_reports_what_was_applied_before_it(
        self, heartbeat: int, reported: bool
    ) -> None:
        """The heartbeat names the highest offset applied, that of its very moment too."""
        assert bool(has_reported(100, heartbeat)) is reported

    def test_a_controller_that_has_marked_nothing_waits_for_nobody(self) -> None:
        """Whatever the last heartbeat was, even one before time 0."""
        assert has_reported(0, -5)
