"""When preferred leaders take over again."""

from __future__ import annotations

from typing import Any

from tests.simulation.worlds import fault, happened, world
from tests.tables import Row, in_rows


def elected_ms(
    *faults: dict[str, Any], away_ms: float = 10000, config: dict[str, Any], **more: Any
) -> list[float]:
    """When a leader was elected in a world whose leader restarts at 3 s."""
    restart = fault("controlled_restart", 3000, broker=1, downtime_ms=away_ms)
    keys = {"leader.imbalance.check.interval.seconds": 20, **config}
    result = world(restart, *faults, config=keys, **more)
    return [t_ms for _, t_ms in happened(result, "leader_elected")]


@in_rows
def test_elections(row: Row) -> None:
    """The first, when the lead is lost, and those that give leads back."""
    more = {name: row[name] for name in row if name not in {"id", "faults", "config", "elected_ms"}}
    found = elected_ms(*row.get("faults", ()), config=row.get("config", {}), **more)
    assert found == row["elected_ms"]


def test_a_thousand_leads_in_one_go() -> None:
    """The other fifty come 10 ms later."""
    more: dict[str, Any] = {"partitions": 1050, "produce": (), "horizon_ms": 25000}
    back = [t for t in elected_ms(release="3.7-3.9", config={}, **more) if t > 3000]
    assert {t: back.count(t) for t in back} == {23000: 1000, 23010: 50}
