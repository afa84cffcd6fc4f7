"""Every case in each of its releases: what Kafka does is what is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cases.case import Expectation, case, names, played

NOT_COMPARED = ["18"]


def expected() -> Iterator[Any]:
    """(case, release, expectation) of every case."""
    for name in names():
        for at, expectation in enumerate(case(name).expect):
            for release in expectation.releases:
                one = f"{name[:2]}-{at}-{release}"
                yield pytest.param(name, release, expectation, id=one)


@pytest.mark.parametrize(("name", "release", "expectation"), [*expected()])
def test_what_kafka_does(name: str, release: str, expectation: Expectation) -> None:
    """Every fact of an expectation holds."""
    one = played(name, release, *expectation.set_, controller=expectation.controller)
    result = one.run()
    amiss = [fact.amiss(result, one) for fact in expectation.facts]
    assert [said for said in amiss if said] == []


def test_every_report_has_a_file() -> None:
    """26 reports; those that cannot be compared say why."""
    assert [name[:2] for name in names()] == [f"{number:02}" for number in range(1, 27)]
    silent = [name[:2] for name in names() if case(name).not_compared]
    assert silent == NOT_COMPARED
    assert [name[:2] for name in names() if not case(name).expect] == silent


def test_every_case_can_be_played() -> None:
    """A scenario that is not compared is one, too."""
    for name in names():
        scenario = played(name, case(name).scenario["cluster"]["release"]).scenario
        assert scenario.scenario_id == f"case-{name}"
