"""What counts as growth in ``make soak-nights``."""

from __future__ import annotations

import pytest

from tools.soak_nights import (
    GROWTH_MAX,
    NIGHTS_COMPARED,
    NIGHTS_WARMING,
    TOGETHER,
    Look,
    Seen,
    growth_of,
    most_of,
    planned_cuts,
)

NIGHTS = 30
WORKERS: list[float] = [
    *(0, 98, 118, 60, 117, 0, 159, 141, 0, 157, 117, 88, 159, 0, 0),
    *(118, 40, 158, 73, 117, 0, 0, 152, 117, 59, 0, 158, 158, 0, 159),
]
"""MB of Spark's largest worker in each night. It begins with 40 and ends with 159; looks met it at
some size between them, or not at all."""


class TestGrowth:
    """Growth of a program, from its largest size in some nights."""

    def test_what_is_met_by_chance_does_not_grow(self) -> None:
        """Workers that are as large in every night did not grow, whenever they were seen."""
        assert growth_of(WORKERS) == 0.0

    def test_a_short_lived_program_that_leaks_is_seen(self) -> None:
        """The same, with one percent more each night."""
        leaking = [value * 1.01**night for night, value in enumerate(WORKERS)]
        assert (growth_of(leaking) or 0.0) > GROWTH_MAX

    def test_the_first_two_nights_do_not_count(self) -> None:
        """A program that warms up in them did not grow, nor did one that needed more in them."""
        assert growth_of([10, 50, *[100.0] * 10]) == 0.0
        assert growth_of([10, 150, *[100.0] * 9, 110]) == pytest.approx(0.1)

    def test_a_slow_leak_is_seen(self) -> None:
        """One percent a night: from the seventh night to the thirtieth."""
        leaking = [100 * 1.01**night for night in range(NIGHTS)]
        assert growth_of(leaking) == pytest.approx(1.01**23 - 1)

    @pytest.mark.parametrize("nights", [0, 1, 11])
    def test_too_few_nights(self, nights: int) -> None:
        """Twelve are needed for two times five after the second."""
        assert growth_of([100.0] * nights) is None
        assert growth_of([0.0] * 12) is None, "a program that was not there"

    def test_thirty_nights_with_cuts_are_enough(self) -> None:
        """The nights before the first cut and those after the last one can be compared."""
        first, *_, last = planned_cuts(NIGHTS)
        assert min(first, NIGHTS - last) >= NIGHTS_WARMING + 2 * NIGHTS_COMPARED


def scheduler(size_mb: float) -> Look:
    """A scheduler that is always there, with a child that sees its pages too."""
    return {
        "scheduler": Seen("Airflow scheduler", size_mb, size_mb - 30.0),
        "child": Seen("Airflow scheduler", 60.0, 30.0),
    }


def worker(process: str, size_mb: float) -> Look:
    """One of Spark's workers."""
    return {process: Seen("Spark, workers", size_mb, size_mb)}


class TestNight:
    """What a night took, from the looks at it."""

    def test_the_largest_process_of_a_program(self) -> None:
        """Whole, and in whichever look it was largest."""
        looks = [scheduler(200.0), scheduler(210.0) | worker("a", 117.0) | worker("b", 159.0)]
        most = most_of([*looks, scheduler(205.0)])
        assert most["Airflow scheduler"] == 210.0
        assert most["Spark, workers"] == 159.0

    @pytest.mark.parametrize("size_mb", [0.0, 40.0, 159.0])
    def test_all_together_is_what_is_always_there(self, size_mb: float) -> None:
        """Workers of the night are no part of it, however many megabytes a look meets."""
        looks = [scheduler(200.0), scheduler(200.0) | worker("a", size_mb), scheduler(200.0)]
        assert most_of(looks)[TOGETHER] == 200.0

    def test_a_permanent_program_that_leaks_is_seen(self) -> None:
        """All together grow with it."""
        nights = [
            most_of([scheduler(200.0 + night), scheduler(201.0 + night)])[TOGETHER]
            for night in range(0, 60, 2)
        ]
        assert (growth_of(nights) or 0.0) > GROWTH_MAX

    def test_processes_that_are_left_over_are_seen(self) -> None:
        """Each is small, and no program's largest process grows; all together do."""
        seen: Look = scheduler(200.0)
        nights = []
        for night in range(NIGHTS):
            left = seen | worker(f"left over {night}", 10.0)
            nights.append(most_of([seen, left]))
            seen = left
        assert growth_of([one["Spark, workers"] for one in nights]) == 0.0
        assert (growth_of([one[TOGETHER] for one in nights]) or 0.0) > GROWTH_MAX
