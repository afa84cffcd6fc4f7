"""When preferred leaders take over again."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import fault, happened, world

EVERY_20_S = {"leader.imbalance.check.interval.seconds": 20}
RESTART = fault("controlled_restart", 3000, broker=1, downtime_ms=10000)


def elected(result: Result) -> list[float]:
    """When a leader was elected."""
    return [t_ms for _, t_ms in happened(result, "leader_elected")]


def up_to_3_9(*faults: dict[str, Any], **more: Any) -> Result:
    """A world of KRaft before its check became a periodic task."""
    config = {**EVERY_20_S, **more.pop("config", {})}
    return world(*faults, config=config, release="3.7+", **more)


class TestKRaftUpTo39:
    """The timer begins with the first imbalance."""

    def test_the_interval_is_counted_from_the_lost_lead(self) -> None:
        """Lost at 3 s, given back at 23 s; nothing at 20 s or 40 s."""
        assert elected(up_to_3_9(RESTART)) == [3000, 23000]

    def test_a_later_loss_does_not_begin_it_anew(self) -> None:
        """Back by hand at 15 s, lost again at 16 s: the timer of 3 s runs on."""
        by_hand = fault("preferred_election", 15000, topic="t", partition=0)
        again = fault("controlled_restart", 16000, broker=1, downtime_ms=5000)
        assert elected(up_to_3_9(RESTART, by_hand, again)) == [3000, 15000, 16000, 23000]

    def test_what_may_not_lead_yet_is_tried_an_interval_later(self) -> None:
        """Down until 33 s: the check at 23 s finds it away, the next one at 43 s has it."""
        late = fault("controlled_restart", 3000, broker=1, downtime_ms=30000)
        assert elected(up_to_3_9(late)) == [3000, 43000]

    def test_balanced_again_by_itself_the_timer_still_fires_once(self) -> None:
        """By hand at 15 s, nothing to do at 23 s: the next loss begins a new interval."""
        by_hand = fault("preferred_election", 15000, topic="t", partition=0)
        again = fault("controlled_restart", 30000, broker=1, downtime_ms=5000)
        assert elected(up_to_3_9(RESTART, by_hand, again)) == [3000, 15000, 30000, 50000]

    def test_a_new_controller_counts_anew(self) -> None:
        """Claimed at 15 s with a lead missing: given back at 35 s."""
        outage = fault("controller_outage", 14000, duration_ms=1000)
        assert elected(up_to_3_9(RESTART, outage)) == [3000, 35000]

    def test_a_resumed_controller_goes_on(self) -> None:
        """The same process: due at 23 s, done when it runs again at 24 s."""
        outage = fault("controller_outage", 22500, duration_ms=1500, sessions="resumed")
        assert elected(up_to_3_9(RESTART, outage)) == [3000, 24000]

    def test_a_thousand_leads_in_one_go(self) -> None:
        """The other fifty come 10 ms later."""
        result = up_to_3_9(RESTART, partitions=1050, produce=(), horizon_ms=25000)
        back = [t for t in elected(result) if t > 3000]
        assert {t: back.count(t) for t in back} == {23000: 1000, 23010: 50}

    def test_switched_off_nothing_comes_back(self) -> None:
        """auto.leader.rebalance.enable: false."""
        off = {"auto.leader.rebalance.enable": False}
        assert elected(up_to_3_9(RESTART, config=off)) == [3000]


class TestPeriodic:
    """KRaft from 4.0 on, and ZooKeeper: counted from the controller's start."""

    @pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
    def test_the_interval_is_counted_from_the_controllers_start(self, controller: str) -> None:
        """At 20 s, whenever the lead was lost."""
        assert elected(world(RESTART, config=EVERY_20_S, controller=controller)) == [3000, 20000]

    @pytest.mark.parametrize(("controller", "back"), [("kraft", 35000), ("zookeeper", 20000)])
    def test_a_new_controllers_start(self, controller: str, back: float) -> None:
        """KRaft waits a whole interval, ZooKeeper's controller 5 s."""
        outage = fault("controller_outage", 14000, duration_ms=1000)
        result = world(RESTART, outage, config=EVERY_20_S, controller=controller)
        assert elected(result) == [3000, back]

    @pytest.mark.parametrize(("percentage", "back"), [(10, [20000]), (50, []), (49, [20000])])
    def test_zookeeper_reads_the_percentage(self, percentage: int, back: list[float]) -> None:
        """One of broker 1's two leads is back by hand: half of them are missing at 20 s."""
        config = {**EVERY_20_S, "leader.imbalance.per.broker.percentage": percentage}
        by_hand = fault("preferred_election", 15000, topic="t", partition=0)
        result = world(RESTART, by_hand, config=config, controller="zookeeper", partitions=2)
        assert elected(result) == [3000, 3000, 15000, *back]
