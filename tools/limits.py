"""Limits that pages show: of a simulated world, of the measure of agreement, of the containers."""

from __future__ import annotations

import itertools

from ruamel.yaml import YAML

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.conformance import comparison
from isr_pipeline.scenarios import faults, model
from isr_pipeline.simulation.world import tables
from isr_pipeline.tables import pairs
from isr_pipeline.worlds import encoder, size

Row = tuple[str, str]


def of_a_world() -> list[Row]:
    """What there is room for, and what a night keeps."""
    numbers = {
        "replicas of a partition": tables.MAX_RF,
        "log dirs of a broker": tables.LOG_DIRS_MAX,
        "entities of a scenario": (1 << tables.SLOT_BITS) - 1,
        "connections of a `client_surge`": faults.CONNECTIONS_MAX,
        "memory of a worker, GB": size.BYTES_MAX // 10**9,
        "horizon, µs": model.HORIZON_LIMIT_US - 1,
        "leader epochs of a log": tables.EPOCHS_MAX,
        "batches in a partition's ledger": size.LEDGER_MAX,
        "batches in all ledgers": size.LEDGERS_MAX // tables.Batch.size,
        "batches that a `produce_burst` adds to its partition's": encoder.LEDGER_BURST_MAX,
        f"events of a run, for each {size.REPLICAS_OF_A_BUDGET} replicas": size.EVENT_BUDGET,
        "events that a single run lists": encoder.EVENTS_LISTED,
        "events that a night keeps of a pair": pairs.EVENTS_PER_PAIR,
    }
    return [(what, f"{most:,}".replace(",", " ")) for what, most in numbers.items()]


def of_agreement() -> list[Row]:
    """How far a repetition that agrees may be from what was observed."""
    return [
        ("counted from, before the fault", f"{comparison.LEAD_MS} ms"),
        ("counted to, after the last observed change", f"{comparison.TAIL_MS} ms"),
        ("per ISR change", f"{comparison.ISR_MS_PER_CHANGE} ms"),
        ("more per leader change or returned broker", f"{comparison.RETURN_MS} ms"),
        ("per leader change, of leaders", f"{comparison.LEADER_MS_PER_CHANGE} ms"),
        ("more in either sum", f"{comparison.SLACK_MS} ms"),
        ("a range of counts is widened by", f"1 or {100 * comparison.COUNT_WIDENING:.0f} %"),
    ]


def of_containers() -> list[Row]:
    """Memory of each service of docker-compose.yaml, and of all that run together."""
    services = YAML(typ="safe").load(REPOSITORY / "docker-compose.yaml")["services"]
    named = [(one["mem_limit"], name) for name, one in services.items() if name != "airflow-init"]
    named.sort(key=lambda one: -_gigabytes(one[0]))
    rows = [
        (", ".join(f"`{name}`" for _, name in found), limit)
        for limit, found in itertools.groupby(named, lambda one: one[0])
    ]
    return [*rows, ("together", f"{sum(_gigabytes(limit) for limit, _ in named):g}g")]


def _gigabytes(limit: str) -> float:
    return float(limit[:-1]) * {"g": 1.0, "m": 1 / 1024}[limit[-1]]
