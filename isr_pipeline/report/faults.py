"""A fault in words: what happens, to whom, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.base.files.words import counted
from isr_pipeline.scenarios import faults as kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.scenarios.faults import FaultBase
    from isr_pipeline.scenarios.model import Scenario


def told_faults(scenario: Scenario) -> list[str]:
    """Every fault of a scenario, in order of time; a sentence without its full stop each."""
    ordered = sorted(scenario.faults, key=lambda fault: fault.start_ms)
    return [_told(fault) for fault in ordered] or ["no fault happens"]


def seconds(ms: float) -> str:
    """``34.1 s``."""
    return f"{round(ms / 1000, 1):g} s"


def _told(fault: FaultBase) -> str:
    what = _what(fault)
    length = getattr(fault, "duration_ms", None)
    if length is None:
        return f"at {seconds(fault.start_ms)} {what}"
    return f"from {seconds(fault.start_ms)} to {seconds(fault.start_ms + length)} {what}"


def _what(fault: FaultBase) -> str:
    """What happens, and to whom."""
    match fault:
        case kinds.Link():
            return _link(fault)
        case kinds.Crash():
            return _crash(fault)
        case kinds.ControlledRestart():
            back = seconds(fault.downtime_ms)
            return f"broker {fault.broker} begins a controlled restart and is back {back} later"
        case kinds.ReadStall(stage="send"):
            sends = f"stalls in sends of {_of(fault.partitions)}"
            return f"broker {fault.broker} {sends}; its network thread serves nobody else"
        case kinds.ReadStall():
            return f"broker {fault.broker} stalls in log reads of {_of(fault.partitions)}"
        case kinds.SlowAppend():
            whose = "broker" if fault.role == "both" else fault.role
            took = f"takes {fault.append_ms:g} ms: {_of(fault.partitions)}"
            waits = {
                "follower": "",
                "leader": "; its followers wait for it",
                "both": "; where it leads, its followers wait for it",
            }[fault.role]
            return f"an append of {whose} {fault.broker} {took}{waits}"
        case kinds.SlowDisk():
            return _slow_disk(fault)
        case kinds.ColdReader():
            connections = counted(fault.connections, "connection")
            return f"old data are read from broker {fault.broker}'s disk over {connections}"
        case kinds.Pause():
            return f"the process of broker {fault.broker} stands still"
        case kinds.Cpu():
            return f"broker {fault.broker} takes {fault.factor:g} times as long for everything"
        case kinds.LogDirFailure():
            return f"log dir {fault.log_dir} of broker {fault.broker} fails"
        case kinds.ControllerOutage():
            return _outage(fault)
        case kinds.ProduceBurst():
            return f"{fault.records} records reach {fault.topic}-{fault.partition} at once"
        case kinds.ProduceRate():
            where = fault.topic if fault.partition == "all" else f"{fault.topic}-{fault.partition}"
            return f"producers of {where} send {fault.factor:g} times as much"
        case kinds.ClientSurge():
            more = f"{fault.requests_per_s:g} client requests a second more"
            return f"{more} reach broker {fault.broker}"
        case kinds.PartitionError():
            where, error = f"{fault.topic}-{fault.partition}", fault.error.replace("_", " ")
            return f"follower {fault.broker} meets an error on {where}: {error}"
        case kinds.StopReplica():
            return f"broker {fault.broker} stops its replica of {fault.topic}-{fault.partition}"
        case kinds.PreferredElection():
            return f"the preferred replica of {fault.topic}-{fault.partition} is elected"
        case kinds.Bootstrap():
            where = f"{fault.topic}-{fault.partition}"
            behind = f"{fault.records} records behind"
            return f"the replica of {where} on broker {fault.broker} begins anew, {behind}"
        case _:
            return fault_label(fault).replace("_", " ")


def _link(fault: kinds.Link) -> str:
    ends = [
        "the controller" if end == "controller" else f"broker {end}"
        for end in (fault.from_, fault.to)
    ]
    way = f"from {ends[0]} to {ends[1]}"
    if fault.both_ways:
        way = f"between {ends[0]} and {ends[1]}"
    if fault.drop:
        return f"nothing passes {way}"
    return f"a packet {way} takes {fault.latency_ms or 0:g} ms longer"


def _outage(fault: kinds.ControllerOutage) -> str:
    what = "no controller is active"
    if fault.broker is not None:
        what += f", as broker {fault.broker} was it (under ZooKeeper until its session is over)"
    return f"{what}; heartbeats to it hang" if fault.connections == "hang" else what


def _crash(fault: kinds.Crash) -> str:
    what = {
        "nothing": f"broker {fault.broker} is killed",
        "tail": f"the machine of broker {fault.broker} loses power",
        "all": f"broker {fault.broker} dies with its disk",
    }[fault.lost]
    if fault.restart_after_ms is None:
        return f"{what} and does not return"
    return f"{what} and is started again {seconds(fault.restart_after_ms)} later"


def _of(partitions: str | Sequence[str]) -> str:
    return "all partitions" if isinstance(partitions, str) else ", ".join(partitions)


def fault_label(fault: FaultBase) -> str:
    """A fault in a few words, as a drawing has room for."""
    fields = dict(fault)
    where = [str(fields["broker"])] if fields.get("broker") is not None else []
    if "topic" in fields:
        where.append(f"{fields['topic']}-{fields['partition']}")
    if isinstance(fault, kinds.Link):
        where.append(f"{fault.from_} to {fault.to}")
    if fields.get("lost", "nothing") != "nothing":
        where.append(f"loses {fields['lost']}")
    return " ".join([str(fields["kind"]), *where])


def _slow_disk(fault: kinds.SlowDisk) -> str:
    """What is left to read and to write with."""
    of = "" if fault.log_dir is None else f" under log dir {fault.log_dir}"
    parts = {"writes": fault.write_factor, "reads": fault.read_factor}
    said = [
        f"{what} {part:.0%} of its speed" if part else f"{what} nothing"
        for what, part in parts.items()
        if part != 1 or what == "writes"
    ]
    return f"the disk of broker {fault.broker}{of} {' and '.join(said)}"
