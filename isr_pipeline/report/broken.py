"""When brokers of a scenario were dead or fenced, from its faults and its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.scenarios.faults import ControlledRestart, Crash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isr_pipeline.scenarios.model import Scenario

SESSION_OVER, SHUT_DOWN, UNFENCED = "session over: fenced", "shut down: fenced", "unfenced"

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened to a broker.

    Attributes:
        t_ms: when; ``broker``: to which; ``what``: in words.
    """

    t_ms: float
    broker: int
    what: str


def moments(scenario: Scenario, events: Iterable[Mapping[str, Any]]) -> list[Moment]:
    """Fencing and its end, and whether a session had run out.

    A broker that shuts down in a controlled way is let go; every other is fenced because nothing
    was heard from it for as long as its session lasts.
    """
    found = []
    for event in events:
        if event["kind"] == "broker_fenced":
            t_ms, broker = float(event["t_ms"]), int(event["broker"])
            let_go = any(
                isinstance(fault, ControlledRestart)
                and fault.broker == broker
                and fault.start_ms <= t_ms <= fault.start_ms + fault.downtime_ms
                for fault in scenario.faults
            )
            found.append(Moment(t_ms, broker, SHUT_DOWN if let_go else SESSION_OVER))
        elif event["kind"] == "broker_unfenced":
            found.append(Moment(float(event["t_ms"]), int(event["broker"]), UNFENCED))
    return found


def dead_times(
    scenario: Scenario, events: Iterable[Mapping[str, Any]]
) -> dict[int, list[tuple[float, float]]]:
    """Broker -> times in ms without a serving process: from its death until it is unfenced.

    A crash begins when the fault does. A controlled shutdown leads until it is let go, which the
    events tell; without such an event it lasts as long as the fault says.
    """
    told = moments(scenario, events)
    dead: dict[int, list[tuple[float, float]]] = {}
    for fault in scenario.faults:
        broker: int = getattr(fault, "broker", NOBODY)
        if isinstance(fault, Crash):
            back = fault.restart_after_ms
            begin = fault.start_ms
            earliest = scenario.horizon_ms if back is None else fault.start_ms + back
        elif isinstance(fault, ControlledRestart):
            earliest = fault.start_ms + fault.downtime_ms
            let_go = _first(told, broker, SHUT_DOWN, fault.start_ms)
            begin = let_go if let_go is not None else fault.start_ms + fault.shutdown_ms
        else:
            continue
        end = _first(told, broker, UNFENCED, earliest)
        if end is None:
            end = scenario.horizon_ms
        dead.setdefault(broker, []).append((begin, min(end, scenario.horizon_ms)))
    return dead


def _first(told: Sequence[Moment], broker: int, what: str, since_ms: float) -> float | None:
    times = (m.t_ms for m in told if (m.broker, m.what) == (broker, what) and m.t_ms >= since_ms)
    return min(times, default=None)
