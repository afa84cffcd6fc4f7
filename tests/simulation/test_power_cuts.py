"""Machines that die: logs that lose their tail or all, and what min ISR and ELR buy then."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import ACKS_ALL, at, fault, happened, hold, in_worlds, world
from tests.tables import Row, from_table

ALL = (1, 2, 3)
MIN_ISR_2 = {"min.insync.replicas": 2}
ELR = {"eligible.leader.replicas.version": 1}
NO_ELR = {"eligible.leader.replicas.version": 0}


def power_cut(*brokers: int, lost: str = "tail", **fields: Any) -> dict[str, Any]:
    """Brokers of one power domain die at 20 s, and are back at 40 s."""
    fields = {"restart_after_ms": 20000, **fields}
    return fault("crash", 20000, power_domain=list(brokers), lost=lost, **fields)


def acknowledged(*faults: dict[str, Any], **more: Any) -> Result:
    """The same world with producers that ask for all acknowledgements, 20 records a second."""
    return world(*faults, produce=(ACKS_ALL,), **more)


@in_worlds
def test_world(row: Row) -> None:
    """What is lost, and who is back."""
    hold(row, produce=(ACKS_ALL,))


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("broker", ALL)
@pytest.mark.parametrize("elr", [ELR, NO_ELR])
def test_one_power_cut_loses_nothing_at_min_isr_2(
    seed: int, broker: int, elr: dict[str, int]
) -> None:
    """Replication factor 3, acks=all: two others have every record."""
    result = acknowledged(power_cut(broker), config={**MIN_ISR_2, **elr}, seed=seed)
    assert result.outcome["records_lost"] == 0
    assert result.outcome["records_acked"] > 900


@pytest.mark.parametrize("min_isr", [1, 2, 3])
def test_a_power_cut_of_all_loses_what_nobody_had_flushed(min_isr: int) -> None:
    """No setting helps: all of them die with the same page caches."""
    result = acknowledged(power_cut(*ALL, flush_ms=5000), config={"min.insync.replicas": min_isr})
    assert 0 < result.outcome["records_lost"] <= 100


def test_a_dead_disk_of_the_only_replica_takes_all_its_records() -> None:
    """Ten seconds of 20 a second."""
    result = acknowledged(fault("log_dir_failure", 10000, broker=1, log_dir=0), replicas=(1,))
    assert result.outcome["records_lost"] == pytest.approx(200, abs=2)
    assert result.outcome["records_lost"] == result.outcome["records_acked"]


@pytest.mark.parametrize(("number", "lost"), [("3.8.1", True), ("3.9.1", False)])
def test_who_is_never_elected_holds_nothing(number: str, lost: bool) -> None:
    """KRaft to 3.8 elects nobody uncleanly: with the last member's disk its records are gone."""
    slow = [fault("pause", 10000, broker=b, duration_ms=12000) for b in (2, 3)]
    result = acknowledged(
        *slow,
        fault("log_dir_failure", 18000, broker=1, log_dir=0),
        config={"unclean.leader.election.enable": True, **NO_ELR},
        release=str(rule_set_text(number)),
    )
    first = result.outcome["records_acked"]
    assert (result.outcome["records_lost"] == first) is lost


def test_an_empty_disk_of_a_follower_costs_a_copy() -> None:
    """It fetches the log anew, and joins when it has it."""
    result = acknowledged(power_cut(3, lost="all"))
    assert result.outcome["records_lost"] == 0
    assert [kind for kind, t_ms in happened(result, "isr_expand") if t_ms > 40000] == ["isr_expand"]


def test_two_power_cuts_of_one_broker_lose_twice() -> None:
    """The second takes what was written since the first, whenever its last flush was."""
    cuts = [
        fault("crash", t_ms, broker=1, lost="tail", restart_after_ms=5000, flush_ms=10_000_000)
        for t_ms in (15000, 55000)
    ]
    before = acknowledged(cuts[0], replicas=(1,), horizon_ms=54_999)
    result = acknowledged(*cuts, replicas=(1,))
    assert [t_ms for _, t_ms in happened(result, "records_lost")] == [15000, 55000]
    assert result.outcome["records_lost"] == before.outcome["records_acked"]


def test_recovery_keeps_a_killed_broker_out() -> None:
    """10 MB of one replica at 1 MB/s: ten seconds more."""
    quick = acknowledged(fault("crash", 10000, broker=3, restart_after_ms=5000))
    slow = acknowledged(
        fault(
            "crash",
            10000,
            broker=3,
            restart_after_ms=5000,
            recovery_bytes=10_000_000,
            recovery_bytes_per_s=1_000_000,
        )
    )
    later_ms = at(slow, "broker_unfenced") - at(quick, "broker_unfenced")
    assert later_ms == pytest.approx(10_000, abs=60)


def test_an_emptied_log_takes_no_time_to_recover() -> None:
    """A replica that began anew has less than it had flushed before."""
    where = {"broker": 3, "topic": "t", "partition": 0}
    crash = fault("crash", 10000, broker=3, restart_after_ms=5000, recovery_bytes_per_s=1)
    quick = acknowledged(fault("crash", 10000, broker=3, restart_after_ms=5000))
    emptied = acknowledged(fault("bootstrap", 10000, records=10**6, **where), crash)
    back_ms = at(emptied, "broker_unfenced")
    assert back_ms == pytest.approx(at(quick, "broker_unfenced"), abs=60)


def test_a_rack_loses_together() -> None:
    """As if its brokers were named."""
    racks = {1: "a", 2: "b", 3: "a"}
    cluster = {"release": "4.1+", "controller": "kraft", "brokers": [1, 2, 3], "racks": racks}
    named = acknowledged(power_cut(1, 3))
    rack = acknowledged(
        fault("crash", 20000, rack="a", lost="tail", restart_after_ms=20000), cluster=cluster
    )
    assert rack.events == named.events


def test_brokers_do_not_lose_together_by_chance() -> None:
    """Two single crashes of one moment are refused."""
    with pytest.raises(InputError, match=r"faults\[1\].start_ms: 20000; allowed: another moment"):
        acknowledged(*(fault("crash", 20000, broker=b, lost="tail") for b in (1, 2)))


@from_table
def test_a_crash_says_who_dies(fields: dict[str, Any], message: str) -> None:
    """One line, with what is allowed."""
    with pytest.raises(InputError, match=message):
        acknowledged(fault("crash", 20000, **fields))


# ------------------------------------------------------------------ nodes of both roles


def test_a_node_of_both_roles_takes_its_controller_along() -> None:
    """The dead leader's session begins anew at the next controller."""
    alone = acknowledged(fault("crash", 20000, broker=1))
    node = acknowledged(fault("node_death", 20000, broker=1, controller_ms=2500))
    assert 22500 <= at(alone, "broker_fenced") <= 23375
    assert 25500 <= at(node, "broker_fenced") <= 25875


@pytest.mark.parametrize(("number", "refused_ms"), [("4.0.0", 3000), ("4.1.0", 0)])
def test_who_gets_a_session_at_the_next_controller(number: str, refused_ms: int) -> None:
    """In 4.0 a fenced broker too: back at once it is refused until that one is over."""
    result = acknowledged(
        fault("crash", 10000, broker=3, restart_after_ms=12000),
        fault("node_death", 18000, broker=2, controller_ms=2500),
        release=str(rule_set_text(number)),
    )
    back = next(t_ms for _, t_ms in happened(result, "broker_unfenced"))
    assert (back > 22500 + refused_ms / 2) is (refused_ms > 0)
