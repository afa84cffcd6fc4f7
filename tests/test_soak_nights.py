"""What counts as growth in ``make soak-nights``."""

from __future__ import annotations

import pytest

from tools.soak_nights import growth_of


class TestGrowth:
    """Resident memory after the third night."""

    def test_it_is_between_medians(self) -> None:
        """One night's peak at either end changes nothing."""
        assert growth_of([90, 95, 100, 100, 140, 100, 110, 110, 150]) == pytest.approx(0.1)

    def test_the_first_two_nights_do_not_count(self) -> None:
        """A process that warms up in them did not grow."""
        assert growth_of([10, 50, *[100.0] * 6]) == 0.0

    def test_a_slow_leak_is_seen(self) -> None:
        """One percent a night, over thirty nights, is more than a quarter."""
        assert growth_of([100 * 1.01**night for night in range(30)]) == pytest.approx(1.01**25 - 1)

    @pytest.mark.parametrize("nights", [0, 1, 7])
    def test_too_few_nights(self, nights: int) -> None:
        """Eight are needed for two medians of three after the second."""
        assert growth_of([100.0] * nights) is None
        assert growth_of([0.0] * 8) is None, "a process that was not there"
