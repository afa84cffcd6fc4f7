"""A cluster with some of its partitions: who is kept, what each stands for, who has the load."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isr_pipeline.errors import InputError
from isr_pipeline.experiment.file import load_experiment, scenario_frame
from isr_pipeline.scenarios.generator import DrawSource, draw_panel
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.scenarios.patterns import Draw
from isr_pipeline.scenarios.reduction import Reduction, alone, reduce, reduced_parts

BROKERS = tuple(range(1, 9))
STREAM = {"records_per_s": 20, "records_per_batch": 10, "acks": "all"}


def cluster(*topics: dict[str, Any], **more: Any) -> Scenario:
    """A healthy cluster of eight brokers with these topics."""
    return parse_scenario(
        {
            "scenario_id": "s",
            "horizon_ms": 60_000,
            "cluster": {"release": "3.7+", "controller": "kraft", "brokers": list(BROKERS)},
            "topics": list(topics),
            **more,
        },
        "F",
    )


def scattered(name: str, count: int, **more: Any) -> dict[str, Any]:
    """A topic whose replicas lie anywhere, the same for the same name."""
    random = np.random.default_rng(len(name))
    assignment = {str(n): random.choice(BROKERS, 3, replace=False).tolist() for n in range(count)}
    return {"name": name, "assignment": assignment, "produce": [STREAM], **more}


LARGE = cluster(scattered("orders", 400), scattered("idle", 100, produce=[]))


def kept(healthy: Scenario, partitions: int, draw: int = 1) -> Reduction:
    """Reduce a cluster."""
    return reduce(healthy, partitions, draw, where="F")


def leaders_of(healthy: Scenario, weights: dict[tuple[str, int], int]) -> Counter[int]:
    """How many partitions each broker leads, by weight."""
    led: Counter[int] = Counter()
    for topic in healthy.topics:
        for number, replicas in topic.assignment.items():
            led[replicas[0]] += weights.get((topic.name, number), 0)
    return led


def whole(healthy: Scenario) -> dict[tuple[str, int], int]:
    """Every partition, with its own weight."""
    return {(t.name, n): t.weights.get(n, 1) for t in healthy.topics for n in t.assignment}


class TestWhoIsKept:
    """The partitions and their weights."""

    @pytest.mark.parametrize("partitions", [24, 60, 250, 499])
    def test_as_many_as_asked_stand_for_all(self, partitions: int) -> None:
        """No partition is lost: the weights add up to the whole."""
        weights = kept(LARGE, partitions).weights
        assert len(weights) == partitions
        assert sum(weights.values()) == 500

    def test_every_leader_keeps_its_share(self) -> None:
        """Each broker leads as many partitions as before, by weight."""
        assert leaders_of(LARGE, kept(LARGE, 60).weights) == leaders_of(LARGE, whole(LARGE))

    def test_every_kind_of_topic_keeps_its_share(self) -> None:
        """A topic without load stands for as many partitions as before."""
        weights = kept(LARGE, 60).weights
        assert sum(w for (topic, _), w in weights.items() if topic == "idle") == 100

    def test_followers_keep_their_share(self) -> None:
        """Over many draws each broker holds as many replicas as before: nobody is preferred."""
        held = dict.fromkeys(BROKERS, 0)
        for draw in range(1, 201):
            for topic in LARGE.topics:
                for number, replicas in topic.assignment.items():
                    weight = kept_of(draw).get((topic.name, number), 0)
                    for broker in replicas:
                        held[broker] += weight
        true = Counter(b for t in LARGE.topics for rs in t.assignment.values() for b in rs)
        for broker in BROKERS:
            assert held[broker] / 200 == pytest.approx(true[broker], rel=0.04)

    def test_one_of_each_class(self) -> None:
        """Partitions on the same brokers are one class, of which one is kept."""
        same = {"assignment": {str(n): [1 + n % 4, 5, 6] for n in range(40)}, "produce": [STREAM]}
        reduction = kept(cluster({"name": "t", **same}), 12)
        assert reduction.classes == 4
        assert reduction.joined == "none joined"
        assert sorted(reduction.weights.values()) == [3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4]

    def test_rates_of_one_class(self) -> None:
        """A rate sixteen times as high is another class."""
        rates = {str(n): 5 if n % 2 else 80 for n in range(40)}
        topic = {
            "name": "t",
            "assignment": {str(n): [1, 5, 6] for n in range(40)},
            "produce": [{**STREAM, "partition_rates": rates}],
        }
        assert kept(cluster(topic), 3).classes == 2

    def test_a_draw_is_repeatable_and_another_differs(self) -> None:
        """The same number keeps the same partitions."""
        assert kept(LARGE, 60).weights == kept(LARGE, 60).weights
        assert kept(LARGE, 60).weights != kept(LARGE, 60, draw=2).weights

    def test_all_of_them(self) -> None:
        """With as many as there are each stands for itself, and no load is carried."""
        reduction = kept(LARGE, 500)
        assert set(reduction.weights.values()) == {1}
        assert not reduction.service
        assert reduction.sentence == "", "nothing is reduced, so nothing is said"

    def test_what_is_reduced_already(self) -> None:
        """A reduction of a reduction stands for the same whole."""
        once = parse_scenario(scenario_of(LARGE, kept(LARGE, 200)), "F")
        twice = kept(once, 50)
        assert twice.of == 500
        assert sum(twice.weights.values()) == 500
        assert leaders_of(LARGE, twice.weights) == leaders_of(LARGE, whole(LARGE))

    def test_too_few(self) -> None:
        """A disk fault may meet a third of what a broker leads: three each are the least."""
        with pytest.raises(InputError) as caught:
            kept(LARGE, 23)
        assert str(caught.value) == (
            "F: partitions: 23; allowed: at least 24 (3 for each broker that leads partitions)"
        )


_draws: dict[int, dict[tuple[str, int], int]] = {}


def kept_of(draw: int) -> dict[tuple[str, int], int]:
    """Weights of a draw of 50, reckoned once."""
    if draw not in _draws:
        _draws[draw] = kept(LARGE, 50, draw).weights
    return _draws[draw]


def scenario_of(healthy: Scenario, reduction: Reduction) -> dict[str, Any]:
    """The healthy scenario with what is kept, as in a file."""
    written = healthy.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return reduced_parts(written, healthy, reduction)


class TestWhatIsWritten:
    """The reduced cluster as a scenario's parts."""

    def test_it_is_a_scenario(self) -> None:
        """What stands of a kept partition stays: leader, log dirs, who is behind, its rate."""
        topic = {
            "name": "t",
            "assignment": {str(n): [1 + n % 2, 3, 4] for n in range(20)},
            "leaders": {"0": 3, "2": 3},
            "log_dirs": {"0": [0, 0, 0], "1": [0, 0, 0]},
            "behind": {"0": {"4": 9}, "1": {"3": 5}},
            "produce": [
                {**STREAM, "partition_rates": {"0": 50, "1": 60}},
                {**STREAM, "partitions": [1]},
            ],
            "settings": {"min.insync.replicas": 2},
        }
        healthy = cluster(topic)
        reduction = kept(healthy, 9)
        (reduced,) = parse_scenario(scenario_of(healthy, reduction), "F").topics
        (before,) = healthy.topics
        assert reduced.stands_for == 20
        assert reduced.settings == before.settings
        for number in reduced.assignment:
            assert reduced.assignment[number] == before.assignment[number]
            assert reduced.behind.get(number) == before.behind.get(number)
            assert reduced.leaders.get(number) == before.leaders.get(number)
            assert reduced.log_dirs.get(number) == before.log_dirs.get(number)
            assert reduced.produce[0].rates().get(number) == before.produce[0].rates().get(number)

    def test_leaders_carry_the_load(self) -> None:
        """Handlers work as long as before: for other client requests instead of produce requests.

        400 partitions with two batches a second take 100 us each, and 80 us for each of two
        followers' reads; 500 other requests a second take 200 us.
        """
        reduction = kept(LARGE, 60)
        times = 0.0
        for topic, number in whole(LARGE):
            if topic == "orders" and (topic, number) not in reduction.weights:
                times += 2 * (100 + 2 * 80)
        more = sum(500 * (one["client_request_us"] - 200) for one in reduction.service.values())
        assert more == pytest.approx(times, rel=0.02)

    def test_load_by_the_hour(self) -> None:
        """Where rates follow the hour the carried load is that of the average one."""
        plain = reduce(LARGE, 60, 1, where="F")
        double = reduce(LARGE, 60, 1, where="F", hourly_load=[1.0, 3.0] * 12)
        for broker, one in plain.service.items():
            more = double.service[broker]["client_request_us"] - 200
            assert more == pytest.approx(2 * (one["client_request_us"] - 200), abs=1)

    def test_without_other_requests(self) -> None:
        """A cluster without other client requests gets some, to carry the load."""
        silent = cluster(scattered("orders", 100), service={"client_requests_per_s": 0})
        reduction = kept(silent, 24)
        assert {one["client_requests_per_s"] for one in reduction.service.values()} == {100.0}


class TestAlone:
    """Faults of single partitions."""

    def test_a_fault_of_one_partition_hits_one(self) -> None:
        """What it stood for goes to a partition with the same replicas; the whole stays."""
        topic = {
            "name": "t",
            "assignment": {"0": [1, 2, 3], "1": [1, 2, 3], "2": [1, 4, 5], "3": [2, 1, 3]},
            "weights": {"0": 10, "2": 7},
        }
        assert alone(cluster(topic).topics, {("t", 0)}) == {"t": {0: 1, 1: 10, 2: 7}}

    def test_nothing_changes_without_weights(self) -> None:
        """In a whole cluster each stands for itself anyway."""
        assert alone(LARGE.topics, {("orders", 0)}) == {}

    def test_all_are_hit(self) -> None:
        """Where nobody else is left, the weight stays."""
        topic = {"name": "t", "assignment": {"0": [1, 2]}, "weights": {"0": 10}}
        assert alone(cluster(topic).topics, {("t", 0)}) == {}

    def test_scenarios_of_a_panel(self) -> None:
        """Every scenario stands for the whole; the partition of a partition's fault for itself."""
        source = reduced_source()
        hit = 0
        for row in draw_panel(source, "regression"):
            read = json.loads(row.scenario_json)
            weights = {t["name"]: t.get("weights", {}) for t in read["topics"]}
            assert (
                sum(len(t["assignment"]) for t in read["topics"])
                + sum(w - 1 for of in weights.values() for w in of.values())
                == 500
            )
            for fault in read["faults"]:
                if isinstance(fault.get("partition"), int):
                    hit += 1
                    assert weights[fault["topic"]].get(str(fault["partition"]), 1) == 1
        assert hit > 5

    def test_partitions_are_drawn_by_what_they_stand_for(self) -> None:
        """Of two partitions the one with nine times the weight is hit nine times as often."""
        topic = {
            "name": "t",
            "assignment": {"0": [1, 2, 3], "1": [1, 2, 3]},
            "weights": {"0": 9},
            "produce": [STREAM],
        }
        draw = Draw(cluster(topic), {}, np.random.default_rng(1))
        hit = Counter(draw.replicated()[1] for _ in range(1000))
        assert hit[1] == pytest.approx(100, abs=30)


def frame() -> dict[str, Any]:
    """What the shipped experiment's scenarios share, with our cluster."""
    return {
        **scenario_frame(load_experiment("operators")),
        "cluster": {"release": "3.7+", "controller": "kraft", "brokers": list(BROKERS)},
        "topics": [scattered("orders", 400), scattered("idle", 100, produce=[])],
    }


def reduced_source() -> DrawSource:
    """The shipped faults over our cluster with sixty partitions."""
    experiment = load_experiment("operators")
    healthy = parse_scenario(frame(), "F")
    parts = reduced_parts(frame(), healthy, kept(healthy, 60))
    return replace(
        experiment.source, frame=parts, sizes={**experiment.source.sizes, "regression": 200}
    )
