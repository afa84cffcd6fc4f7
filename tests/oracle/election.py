"""Elections: ZooKeeper's controller, KRaft's PartitionChangeBuilder, and KIP-501's Solution 2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from isr_pipeline.kafka import election, kip501
from isr_pipeline.kafka.election import ORDER_MAX, Change, Registration
from isr_pipeline.kafka.releases import Controller, Kip501
from tests.oracle.machine import Machine, Operation, State, nothing
from tests.oracle.steps import Step
from tests.oracle.variants import Settings

_ELECTIONS = {kind.name: kind for kind in election.Election}
_KINDS = ("offline", "reassign", "preferred", "controlled")


class Positions:
    """Broker ids as positions, so that a set of them is a bit mask.

    Args:
        ids: every id that can occur; the first occurrence gives the position.
    """

    def __init__(self, ids: Iterable[int]) -> None:
        self._ids = list(dict.fromkeys(ids))
        self._position = {broker: position for position, broker in enumerate(self._ids)}

    def mask(self, ids: Iterable[int]) -> int:
        """Return the set as a bit mask; ids that cannot occur are left out."""
        return sum(1 << self._position[broker] for broker in set(ids) & set(self._position))

    def position(self, broker: int) -> int:
        """Return the position of an id, -1 for none."""
        return self._position.get(broker, -1)

    def order(self, ids: Sequence[int]) -> list[int]:
        """Return a list of ids as positions."""
        return [self._position[broker] for broker in ids]

    def broker(self, position: int) -> int:
        """Return the id at a position; -1 for position -1."""
        return self._ids[position] if position >= 0 else -1

    def brokers(self, mask: int, order: Iterable[int] = ()) -> list[int]:
        """Return a set as ids: those of `order` as they come there, the rest ascending."""
        inside = {broker for broker, at in self._position.items() if mask >> at & 1}
        first = [broker for broker in dict.fromkeys(order) if broker in inside]
        return first + sorted(inside.difference(first))


class ElectionZk(Machine):
    """The machine `election_zk` (PartitionLeaderElectionAlgorithms @ 3.5.1)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._state: State = {"leader": None, "unclean": False}

    def operations(self) -> Mapping[str, Operation]:
        """Elect."""
        return {"elect": self._elect, "nop": nothing}

    def _elect(self, step: Step, _now: int) -> object:
        kind = step.one_of("kind", _KINDS)
        assignment = step.integers("assignment")
        isr, live = step.integers("isr"), step.integers("live")
        stopping = step.integers("shutting_down", []) if kind == "controlled" else []
        unclean = kind == "offline" and step.flag(
            "unclean_enabled", default=self.settings.unclean_enabled
        )
        at = Positions(assignment)
        walked = assignment[:1] if kind == "preferred" else assignment
        position, was_unclean = election.elect_zk(
            at.order(walked),
            len(walked),
            at.mask(isr),
            at.mask(live),
            at.mask(stopping),
            unclean,
        )
        leader = None if position < 0 else at.broker(position)
        self._state = {"leader": leader, "unclean": was_unclean}
        return leader

    def state(self, now: int) -> State:
        """Who was elected (null: none), and whether uncleanly."""
        return dict(self._state)


class ElectionKraft(Machine):
    """The machine `election_kraft` (PartitionChangeBuilder.java @ 1eb7644349)."""

    ordered_keys = frozenset({"isr", "elr"})

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._state: State = {}

    def operations(self) -> Mapping[str, Operation]:
        """One partition change."""
        return {"partition_change": self._change, "nop": nothing}

    def _change(self, step: Step, _now: int) -> object:
        replicas = step.integers("replicas")
        isr = step.integers("isr")
        target_isr = step.integers("target_isr", isr)
        target = step.integers("target_replicas", replicas)
        elr = step.integers("elr", [])
        last_known = step.integers("last_known_elr", [])
        leader = step.integer("leader")
        at = Positions(
            [*replicas, *target, *isr, *target_isr, *elr, *last_known]
            + ([leader] if leader >= 0 else [])
        )
        rules = replace(
            self.rules,
            elr=step.flag("elr_enabled", default=self.rules.elr),
            shrink_bumps_leader_epoch=step.flag(
                "mv_before_3_6", default=self.rules.shrink_bumps_leader_epoch
            ),
            controller=Controller.KRAFT,
        )
        if len(target) > ORDER_MAX:
            allowed = f"at most {ORDER_MAX} replicas"
            raise step.place.at("target_replicas").refuse(len(target), allowed)
        partition = Registration([0] * Registration.size)
        partition.leader = at.position(leader)
        partition.isr = at.mask(isr)
        partition.elr = at.mask(elr)
        partition.last_known_elr = at.mask(last_known)
        change = Change([0] * Change.size)
        for i, position in enumerate(at.order(target)):
            change.order[i] = position
        change.ordered = len(target)
        change.target_isr = at.mask(target_isr)
        change.acceptable = at.mask(step.integers("acceptable"))
        change.min_isr = step.integer("min_isr", self.settings.min_isr)
        change.election = _ELECTIONS[step.one_of("election", tuple(_ELECTIONS), "ONLINE")]
        change.uses_last_known = step.flag("use_last_known_leader", default=True)
        if step.flag("elect_only", default=False):
            elected, unclean = election.elect_kraft(rules, partition, change, partition.elr)
            self._state = {
                "leader": at.broker(elected),
                "isr": target_isr,
                "elr": elr,
                "last_known_elr": last_known,
                "unclean": unclean,
                "recovery": "RECOVERED",
                "leader_epoch_bump": elected != at.position(leader),
            }
            return self._state["leader"]
        change.unclean_shutdown = at.mask(step.integers("unclean_shutdown", []))
        change.removes_replicas = not set(replicas) <= set(target)
        election.change_kraft(rules, partition, change)
        self._state = {
            "leader": at.broker(change.leader),
            "isr": at.brokers(change.isr, [*target_isr, *isr]),
            "elr": at.brokers(change.elr),
            "last_known_elr": at.brokers(change.last_known_elr),
            "unclean": change.is_unclean,
            "recovery": "RECOVERING" if change.is_unclean else "RECOVERED",
            "leader_epoch_bump": change.bumps_leader_epoch,
        }
        return self._state["leader"]

    def state(self, now: int) -> State:
        """The partition after the change (leader -1: none)."""
        return dict(self._state)


class Solution2(Machine):
    """The machine `s2`: KIP-501's Solution 2, as its text has it."""

    ordered_keys = frozenset({"isr"})

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._state: State = {}

    def operations(self) -> Mapping[str, Operation]:
        """One slow read of a follower's fetch."""
        return {"s2": self._resign, "nop": nothing}

    def _resign(self, step: Step, _now: int) -> object:
        leader = step.integer("leader")
        isr, assignment = step.integers("isr"), step.integers("assignment")
        live = step.integers("live")
        enabled = step.flag("enabled", default=True)
        limit = step.integer("process_time_max_ms", self.settings.process_time_max_ms)
        successor = any(broker in live for broker in isr if broker != leader)
        rules = replace(self.rules, kip501=Kip501.S2, kip501_enabled=enabled)
        resigns = kip501.should_resign(rules, step.integer("read_ms"), limit, successor, 0, 0)
        reordered = [broker for broker in isr if broker != leader] + [leader]
        new_isr = reordered if resigns else isr
        self._state = {
            "relinquish": resigns,
            "isr": new_isr,
            "leader_isr_order": self._elected(new_isr, new_isr, live, leader, resigns),
            "leader_assignment_order": self._elected(assignment, isr, live, leader, resigns),
        }
        return resigns

    @staticmethod
    def _elected(
        order: Sequence[int],
        isr: Sequence[int],
        live: Sequence[int],
        leader: int,
        resigns: bool,
    ) -> int:
        """Who leads after the step, if the controller walks down `order`."""
        if not resigns:
            return leader
        at = Positions([*order, *isr])
        position, _ = election.elect_zk(
            at.order(order), len(order), at.mask(isr), at.mask(live), 0, False
        )
        return at.broker(position)

    def state(self, now: int) -> State:
        """Whether the leader resigned, and who would be elected by either order."""
        return dict(self._state)
