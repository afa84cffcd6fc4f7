"""ZooKeeper's controller: who succeeds it, what it finds, how long it takes."""

from __future__ import annotations

import pytest

from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import ACKS_1, ACKS_ALL, at, fault, happened, world

SESSION_MS = 6000
KEYS = {"zookeeper.session.timeout.ms": SESSION_MS, "replica.lag.time.max.ms": 10000}
LAST_PING_MS = SESSION_MS / 3
"""A session ends so much less than its length after a death, at most."""


def zookeeper(*faults: dict[str, object], release: str = "2.1-2.6", **more: object) -> Result:
    """A world of ZooKeeper: partitions 0 and 1 of three replicas."""
    given = {"config": KEYS, "partitions": 1, "produce": (ACKS_ALL,), **more}
    return world(*faults, release=release, controller="zookeeper", **given)  # type: ignore[arg-type]


class TestTheControllersBrokerDies:
    """Its znode and the broker's end with one session."""

    @pytest.mark.parametrize("controller_ms", [0, 2500, 20000])
    def test_the_next_one_comes_when_the_session_is_over(self, controller_ms: int) -> None:
        """However long KRaft's election would take."""
        result = zookeeper(fault("node_death", 20000, broker=1, controller_ms=controller_ms))
        elected = at(result, "leader_elected")
        assert 20000 + SESSION_MS - LAST_PING_MS <= elected <= 20100 + SESSION_MS

    def test_to_2_2_a_dead_follower_stays_in_the_isr_until_the_lag_limit(self) -> None:
        """Its leader takes it out."""
        result = zookeeper(fault("node_death", 20000, broker=3))
        assert at(result, "broker_fenced") < 20100 + SESSION_MS
        assert not happened(result, "controller_isr_remove")
        assert 30000 <= at(result, "isr_shrink") <= 35000

    def test_from_2_3_on_the_new_controller_takes_it_out(self) -> None:
        """KAFKA-3143."""
        result = zookeeper(fault("node_death", 20000, broker=3), release="2.7-3.2")
        assert at(result, "controller_isr_remove") <= at(result, "broker_fenced") + 20
        assert not happened(result, "isr_shrink")

    def test_who_dies_while_no_controller_works_stays_as_well(self) -> None:
        """Broker 3 was no controller, and its session is over before the next one starts."""
        result = zookeeper(
            fault("crash", 19000, broker=3),
            fault("controller_outage", 20000, duration_ms=8000, sessions="fresh"),
        )
        assert at(result, "broker_fenced") == 28000  # as soon as somebody looks
        assert not happened(result, "controller_isr_remove")

    def test_who_dies_later_is_no_concern_of_its_start(self) -> None:
        """Broker 3's session is over 1 to 5 s after the new controller started: it takes it out."""
        result = zookeeper(fault("node_death", 20000, broker=1), fault("crash", 24000, broker=3))
        assert happened(result, "controller_isr_remove")[-1][1] >= 28000
        assert not happened(result, "isr_shrink")

    def test_the_living_alone_stay_where_it_elects(self) -> None:
        """Leader and follower die; of the leader's partition both leave the ISR."""
        result = zookeeper(fault("crash", 17900, broker=2), fault("node_death", 20000, broker=1))
        assert [e["isr"] for e in result.events if e["kind"] == "leader_elected"] == [[3]]

    def test_a_dead_follower_comes_back_as_a_member(self) -> None:
        """Within the lag limit nobody has taken it out."""
        result = zookeeper(fault("node_death", 20000, broker=3, restart_after_ms=7000))
        assert at(result, "broker_unfenced") < 28000
        assert not happened(result, "isr_shrink", "isr_expand", "controller_isr_remove")


class TestElections:
    """One partition after the other to 1.0, all in flight together from 1.1 on."""

    REQUEST_MS = 4.0
    PARTITIONS = 6

    def dead(self, release: str, broker: int) -> Result:
        """Of six partitions, all led by broker 1, one broker dies."""
        return zookeeper(
            fault("crash", 20000, broker=broker),
            release=release,
            partitions=self.PARTITIONS,
            service={"zk_op_ms": self.REQUEST_MS, "client_requests_per_s": 0},
        )

    @pytest.mark.parametrize(
        ("release", "requests"), [("0.10.2-2.0", 2 * PARTITIONS), ("2.1-2.6", 2)]
    )
    def test_all_leads_move_together_after_the_last_is_written(
        self, release: str, requests: int
    ) -> None:
        """A read and a write each."""
        result = self.dead(release, 1)
        elected = {t_ms for _, t_ms in happened(result, "leader_elected")}
        assert elected == {at(result, "broker_fenced") + requests * self.REQUEST_MS}

    @pytest.mark.parametrize(
        ("release", "requests"), [("0.10.2-2.0", 2 * PARTITIONS), ("2.1-2.6", 2)]
    )
    def test_so_do_the_isrs_that_a_follower_leaves(self, release: str, requests: int) -> None:
        """Nothing to elect here."""
        result = self.dead(release, 3)
        removed = {t_ms for _, t_ms in happened(result, "controller_isr_remove")}
        assert removed == {at(result, "broker_fenced") + requests * self.REQUEST_MS}

    def test_isrs_are_written_after_the_elections(self) -> None:
        """Broker 2 leads half of them, and follows the other half."""
        topic = {0: [1, 2, 3], 1: [2, 3, 1], 2: [1, 2, 3], 3: [2, 3, 1]}
        result = zookeeper(
            fault("crash", 20000, broker=2),
            release="0.10.2-2.0",
            topics=[{"name": "t", "assignment": topic, "produce": [ACKS_ALL]}],
            service={"zk_op_ms": self.REQUEST_MS, "client_requests_per_s": 0},
        )
        fenced = at(result, "broker_fenced")
        removed = {
            e["partition"]: e["t_ms"] - fenced
            for e in result.events
            if e["kind"] == "controller_isr_remove"
        }
        elections, reads_and_writes = 2 * 2, 2 * 1 + 2 * 2
        led = elections * self.REQUEST_MS
        followed = (elections + reads_and_writes) * self.REQUEST_MS
        assert removed == pytest.approx({1: led, 3: led, 0: followed, 2: followed})

    SLOW = {"zk_op_ms": 300, "client_requests_per_s": 0}  # noqa: RUF012 - a constant

    def test_a_return_while_the_controller_is_at_work(self) -> None:
        """It has been found dead once; the rest of that is done at once."""
        result = zookeeper(
            fault("crash", 20000, broker=3, restart_after_ms=6500),
            release="0.10.2-2.0",
            partitions=self.PARTITIONS,
            service=self.SLOW,
        )
        assert len(happened(result, "broker_fenced")) == 1
        assert len(happened(result, "controller_isr_remove")) == self.PARTITIONS
        # busy for a read and a write of each from the session's end on
        assert at(result, "broker_unfenced") >= at(result, "broker_fenced") + 2 * 6 * 300

    def test_who_was_cut_off_comes_back_after_the_work(self) -> None:
        """Its session was over just before it could be heard again."""
        result = zookeeper(
            fault("link", 20000, from_=3, to="controller", drop=True, duration_ms=6200),
            release="0.10.2-2.0",
            partitions=self.PARTITIONS,
            service=self.SLOW,
        )
        work_ms = 2 * self.PARTITIONS * 300
        back = at(result, "broker_unfenced") - at(result, "broker_fenced")
        assert work_ms < back < work_ms + 50

    def test_two_deaths_wait_for_each_other(self) -> None:
        """The controller is at the first one when the second session ends."""
        result = zookeeper(
            fault("crash", 20000, broker=2),
            fault("crash", 20000, broker=3),
            release="0.10.2-2.0",
            partitions=self.PARTITIONS,
            service={"zk_op_ms": 300, "client_requests_per_s": 0},
            config={**KEYS, "replica.lag.time.max.ms": 30000},
        )
        fenced = [t_ms for _, t_ms in happened(result, "broker_fenced")]
        removed = sorted({t_ms for _, t_ms in happened(result, "controller_isr_remove")})
        assert removed == [fenced[0] + 3600, fenced[0] + 7200]

    def test_a_new_controller_reads_every_partition_first(self) -> None:
        """To 1.0 one after the other."""
        result = zookeeper(
            fault("node_death", 20000, broker=1),
            release="0.10.2-2.0",
            partitions=self.PARTITIONS,
            service={"zk_op_ms": self.REQUEST_MS, "client_requests_per_s": 0},
        )
        elected = {t_ms for _, t_ms in happened(result, "leader_elected")}
        assert elected == {at(result, "broker_fenced") + 3 * self.PARTITIONS * self.REQUEST_MS}


class TestControlledShutdown:
    """A broker that still leads asks again (KafkaServer.controlledShutdown)."""

    STOP_MS = 20000

    def stopped(
        self,
        *,
        back_ms: float = 90000,
        release: str = "2.1-2.6",
        keys: dict[str, int] | None = None,
    ) -> Result:
        """Broker 2 returns at ``back_ms``; broker 1, until then the last member, is to stop."""
        return zookeeper(
            fault("controlled_restart", 8000, broker=2, downtime_ms=back_ms - 8000),
            fault("controlled_restart", self.STOP_MS, broker=1, downtime_ms=30000),
            replicas=(1, 2),
            release=release,
            config={**KEYS, **(keys or {})},
            produce=(ACKS_1,),
            horizon_ms=70000,
            service={"zk_op_ms": 0, "client_requests_per_s": 0},
        )

    def test_it_leads_on_until_another_can(self) -> None:
        """Broker 2 is in the ISR before the third try, at 30 s."""
        result = self.stopped(back_ms=26000)
        assert at(result, "leader_elected") == self.STOP_MS + 10000
        assert not happened(result, "partition_offline")

    @pytest.mark.parametrize(
        ("release", "pauses"), [("0.8.2", 3), ("0.9-0.10.1", 3), ("2.1-2.6", 3), ("3.3-3.6", 2)]
    )
    def test_after_its_tries_it_goes(self, release: str, pauses: int) -> None:
        """To 3.0 it waits after the last one too, for nothing."""
        result = self.stopped(release=release)
        assert at(result, "partition_offline") == self.STOP_MS + pauses * 5000 + 1000

    @pytest.mark.parametrize(("tries", "backoff_ms"), [(1, 5000), (5, 700), (2, 0)])
    def test_the_keys_say_how_often_and_how_far_apart(self, tries: int, backoff_ms: int) -> None:
        """Both from 0.8.1 on."""
        result = self.stopped(
            keys={
                "controlled.shutdown.max.retries": tries,
                "controlled.shutdown.retry.backoff.ms": backoff_ms,
            }
        )
        assert at(result, "partition_offline") == self.STOP_MS + tries * backoff_ms + 1000

    def test_without_a_try_its_leads_stay_until_it_is_gone(self) -> None:
        """Nobody was asked, though another could lead."""
        result = zookeeper(
            fault("controlled_restart", self.STOP_MS, broker=1, downtime_ms=30000),
            config={**KEYS, "controlled.shutdown.max.retries": 0},
            service={"zk_op_ms": 0, "client_requests_per_s": 0},
        )
        assert at(result, "leader_elected") == self.STOP_MS + 1000

    def test_from_3_3_on_a_stopping_leader_adds_nobody(self) -> None:
        """The new ISR would contain itself: broker 2 is back, and does not join."""
        result = self.stopped(back_ms=20500, release="3.3-3.6")
        assert at(result, "partition_offline") == self.STOP_MS + 2 * 5000 + 1000

    def test_a_partition_of_one_replica_is_no_reason_to_wait(self) -> None:
        """Nobody else could ever lead it."""
        result = zookeeper(
            fault("controlled_restart", self.STOP_MS, broker=1, downtime_ms=30000),
            replicas=(1,),
            produce=(ACKS_1,),
            service={"zk_op_ms": 0, "client_requests_per_s": 0},
        )
        assert at(result, "partition_offline") == self.STOP_MS + 1000

    def test_without_a_controller_a_try_is_lost(self) -> None:
        """It is asked at 25 s, when the next one is there."""
        result = zookeeper(
            fault("controller_outage", 19000, duration_ms=3000),
            fault("controlled_restart", self.STOP_MS, broker=1, downtime_ms=30000),
            service={"zk_op_ms": 0, "client_requests_per_s": 0},
        )
        assert at(result, "leader_elected") == self.STOP_MS + 5000

    def test_the_answer_waits_for_zookeeper(self) -> None:
        """To 1.0 each of its partitions is read and written: it stops so much later."""
        result = zookeeper(
            fault("controlled_restart", self.STOP_MS, broker=1, downtime_ms=30000),
            release="0.10.2-2.0",
            partitions=6,
            service={"zk_op_ms": 100, "client_requests_per_s": 0},
        )
        assert at(result, "broker_fenced") == self.STOP_MS + 6 * 2 * 100 + 1000
