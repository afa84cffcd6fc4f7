"""How far real brokers back the model."""

from __future__ import annotations

from collections import Counter

import pytest

from isr_pipeline.conformance.observations import SHIPPED, load_observations
from isr_pipeline.kafka.release_numbers import released_range, rule_set_text
from isr_pipeline.report.backing import _facts, backing, where_it_ends
from tests.verdicts.synthetic import NIGHT, World


class TestBacking:
    """How far real brokers back it."""

    def test_the_largest_cluster_is_that_of_the_recordings(self) -> None:
        """The size that is told is counted in the recordings themselves."""
        scenarios = [one.scenario for file in SHIPPED for one in load_observations(file)]
        brokers = max(len(one.cluster.brokers) for one in scenarios)
        partitions = max(sum(len(topic.assignment) for topic in one.topics) for one in scenarios)
        assert _facts()["largest"] == {"brokers": brokers, "partitions": partitions}

    def test_a_release_number_has_the_backing_of_its_range(self, home: object) -> None:
        """3.9 is compared as the releases from 3.7 on are."""
        del home
        number, whole = (
            World(values={"today": {"cluster.release": release}}).plan(NIGHT).configurations[0]
            for release in (str(rule_set_text("3.9")), "3.7-3.9")
        )
        assert backing(number, number) == backing(whole, whole)

    def test_repetitions_are_those_of_the_recordings(self) -> None:
        """Each rule set's number is the number of recordings of its releases."""
        counted = Counter(
            released_range(one.scenario.cluster.release)
            for file in SHIPPED
            for one in load_observations(file)
        )
        said = {name: facts["repetitions"] for name, facts in _facts()["rule_sets"].items()}
        assert {name: number for name, number in said.items() if number} == dict(counted)

    @pytest.mark.parametrize(
        ("size", "said"),
        [
            ((3, 5), "Real clusters of up to 3 brokers and 5 partitions were compared"),
            ((3, 6), "Conformance ends at 3 brokers and 5 partitions: nothing of this size (3"),
            ((40, 5000), "nothing of this size (40 brokers, 5000 partitions) was compared"),
        ],
    )
    def test_where_it_ends_is_said(self, size: tuple[int, int], said: str) -> None:
        """A cluster larger than any that was compared is told so."""
        assert said in where_it_ends(*size)
