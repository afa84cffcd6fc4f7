"""Every case in each of its releases: what Kafka does is what is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from tests.cases.case import Expectation, case, names, played

NOT_COMPARED = ["18", "27", "32", "36", "45"]


def expected() -> Iterator[Any]:
    """(case, release, expectation) of every case."""
    for name in names():
        for at, expectation in enumerate(case(name).expect):
            for release in expectation.releases:
                one = f"{name[:2]}-{at}-{release}"
                yield pytest.param(name, release, expectation, id=one, marks=expectation.marks)


def amiss(name: str, release: str, expectation: Expectation) -> list[str]:
    """What is not as expected."""
    settings, controller = expectation.set_, expectation.controller
    if expectation.refused:
        try:
            played(name, release, *settings, controller=controller)
        except InputError as refusal:
            return [key for key in expectation.refused if key not in str(refusal)]
        return [f"{name} is not refused"]
    one = played(name, release, *settings, controller=controller)
    result = one.run()
    return [said for fact in expectation.facts if (said := fact.amiss(result, one))]


@pytest.mark.parametrize(("name", "release", "expectation"), [*expected()])
def test_what_kafka_does(name: str, release: str, expectation: Expectation) -> None:
    """Every fact of an expectation holds."""
    assert amiss(name, release, expectation) == []


def test_every_report_has_a_file() -> None:
    """Numbers have no gap; what cannot be compared, wholly or in a release, says why."""
    assert [name[:2] for name in names()] == [f"{at:02}" for at in range(1, len(names()) + 1)]
    silent = [name[:2] for name in names() if case(name).not_compared]
    assert silent == NOT_COMPARED
    assert all(case(name).expect or case(name).not_compared for name in names())


def test_every_case_can_be_played() -> None:
    """A scenario that is not compared is one, too."""
    for name in names():
        scenario = played(name, case(name).scenario["cluster"]["release"]).scenario
        assert scenario.scenario_id == f"case-{name}"
