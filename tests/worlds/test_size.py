"""What fits, reckoned before anything is laid out."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.worlds.choices import choices_for
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import run
from isr_pipeline.worlds.size import EVENT_BUDGET, LEDGERS_MAX, check_size, shape_of
from tests.scenario import one_topic_scenario


def cluster(
    brokers: int, partitions: int, rf: int, horizon_ms: float = 1000, **more: Any
) -> Scenario:
    """So many partitions in turn over the brokers, a producer each, 4 fetchers."""
    rate = more.pop("records_per_s", 10)
    produce = {"records_per_s": rate, "records_per_batch": 1}
    return one_topic_scenario(
        {"partitions": partitions, "replication_factor": rf, "produce": produce},
        cluster={"brokers": [*range(brokers)]},
        horizon_ms=horizon_ms,
        config={"num.replica.fetchers": 4, **more},
    )


class TestEntities:
    """A slot for each thing that can have a next moment."""

    def test_reckoned_as_laid_out(self) -> None:
        """The formula comes to the slots of the world."""
        scenario = cluster(5, 40, 3)
        shape = shape_of(scenario, choices_for(scenario))
        entities, threads = shape.header.slot_count, shape.header.thread_count
        of_brokers = entities - 4 * threads - 3 * 40 - 2
        assert entities == encode(scenario).header.slot_count
        assert shape.formula() == (
            f"{entities} entities = 4 x {threads} fetcher threads + 3 x 40 streams"
            f" + {of_brokers // 5} x 5 brokers + 2"
        )

    def test_more_than_before_run(self) -> None:
        """A world of more than 4 095 entities runs: produced, fetched, answered."""
        scenario = cluster(25, 1000, 3, 3000, **{"num.io.threads": 20})
        assert encode(scenario).header.slot_count > 4095
        outcome = run(scenario).outcome
        assert outcome["kernel_events"] > 1000 * 30 * 12

    def test_too_many_are_refused_with_the_formula(self) -> None:
        """Before anything is laid out."""
        with pytest.raises(InputError) as refused:
            check_size(cluster(1100, 3, 3, **{"num.io.threads": 1024}), "F")
        assert str(refused.value) == (
            f"F: topics: {4 * 18 + 3 * 3 + 1034 * 1100 + 2} entities = 4 x 18 fetcher threads"
            " + 3 x 3 streams + 1034 x 1100 brokers + 2; allowed: at most 1048575"
        )

    def test_too_much_memory_is_refused(self) -> None:
        """Every pair of replicas of a partition has cells of its own: many replicas take many."""
        with pytest.raises(InputError, match=r"F: topics: [4-9]\.\d GB a worker \(.*at most 4 GB"):
            check_size(cluster(15, 5500, 15), "F")

    def test_ledgers_of_many_partitions_share_their_room(self) -> None:
        """Batches of two thousand partitions at a high rate do not take more than a gigabyte."""
        busy = cluster(3, 2000, 1, 120_000, records_per_s=100_000)
        check_size(busy, "F")
        world = encode(busy)
        assert world.w.size < LEDGERS_MAX + 2**23
        assert world.header.partitions.ledger_capacity > 10_000


def test_a_large_cluster_has_a_larger_budget() -> None:
    """100 million events for every 1 000 replicas or part of them; unless somebody says."""
    assert encode(cluster(3, 3, 3)).header.event_budget == EVENT_BUDGET
    assert encode(cluster(3, 1001, 1)).header.event_budget == 2 * EVENT_BUDGET
    assert encode(cluster(3, 1001, 1), budget=7).header.event_budget == 7
