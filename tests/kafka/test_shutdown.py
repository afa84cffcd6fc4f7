"""When a broker stops."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.releases import RULE_SETS, switches
from isr_pipeline.kafka.shutdown import has_reported, must_wait, stops_fetching, tries_again


class TestLeave:
    """What the controller asks for."""

    @pytest.mark.parametrize("led", [True, False])
    def test_kraft_lets_only_one_go_at_once_that_leads_nothing(self, led: bool) -> None:
        """SHUTDOWN_NOW without leads, CONTROLLED_SHUTDOWN with them."""
        assert must_wait(switches(RULE_SETS["3.7-3.9"]), led) is led

    @pytest.mark.parametrize("led", [True, False])
    def test_zookeepers_controller_asks_nobody(self, led: bool) -> None:
        """Its answer comes when the leads have moved."""
        assert not must_wait(switches(RULE_SETS["3.7-3.9"], controller="zookeeper"), led)

    @pytest.mark.parametrize(("heartbeat", "reported"), [(99, False), (100, True), (101, True)])
    def test_a_heartbeat_reports_what_was_applied_before_it(
        self, heartbeat: int, reported: bool
    ) -> None:
        """The heartbeat names the highest offset applied, that of its very moment too."""
        assert has_reported(100, heartbeat) is reported

    def test_a_controller_that_has_marked_nothing_waits_for_nobody(self) -> None:
        """Whatever the last heartbeat was, even one before time 0."""
        assert has_reported(0, -5)


class TestTries:
    """A broker that ZooKeeper's controller could not take every lead from."""

    @pytest.mark.parametrize("release", ["0.8.2", "2.1-2.6", "3.3-3.6"])
    @pytest.mark.parametrize("asked", [1, 2])
    def test_it_asks_as_often_as_the_key_says(self, release: str, asked: int) -> None:
        """controlled.shutdown.max.retries counts the first one as well."""
        assert tries_again(switches(RULE_SETS[release]), asked, 3)

    @pytest.mark.parametrize(("release", "waits"), [("2.7-3.2", True), ("3.3-3.6", False)])
    def test_to_3_0_it_waits_after_the_last_one(self, release: str, waits: bool) -> None:
        """Then it goes."""
        assert tries_again(switches(RULE_SETS[release]), 3, 3) is waits

    @pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6"])
    def test_after_no_try_it_waits_for_nothing(self, release: str) -> None:
        """With 0 it never asks."""
        assert not tries_again(switches(RULE_SETS[release]), 0, 0)


class TestStopsFetching:
    """What a broker in controlled shutdown fetches until it has leave."""

    @pytest.mark.parametrize("was_leader", [False, True])
    @pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
    def test_what_it_is_in_the_isr_of(self, controller: str, was_leader: bool) -> None:
        """It goes on with that."""
        rules = switches(RULE_SETS["2.7-3.2"], controller=controller)
        assert not stops_fetching(rules, True, was_leader)

    @pytest.mark.parametrize("was_leader", [False, True])
    @pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "4.1+"])
    def test_under_kraft_nothing_else(self, release: str, was_leader: bool) -> None:
        """To 3.2 the new epoch fences it, from 3.3 on it stops by itself."""
        assert stops_fetching(switches(RULE_SETS[release]), False, was_leader)

    def test_under_zookeeper_what_it_led_as_well(self) -> None:
        """StopReplica is sent for what it followed alone."""
        rules = switches(RULE_SETS["2.1-2.6"])
        assert not stops_fetching(rules, False, True)
        assert stops_fetching(rules, False, False)
