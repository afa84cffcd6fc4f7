"""Names that older releases gave."""

from __future__ import annotations

from isr_pipeline.scenarios import former_names
from isr_pipeline.worlds.columns import OUTCOME_COLUMNS, TOTALS


class TestFormerNames:
    """One thing has one name, and a name is never given twice."""

    def test_columns_of_today(self) -> None:
        """Every new name is a column of today; no former name is."""
        today = {*OUTCOME_COLUMNS, *TOTALS}
        assert set(former_names.COLUMNS.values()) <= today
        assert not set(former_names.COLUMNS) & today

    def test_one_former_name_each(self) -> None:
        """A digest can name the first name of a thing."""
        for names in (former_names.COLUMNS, former_names.STRATA):
            assert len(set(names.values())) == len(names)
            assert not set(names) & set(names.values())

    def test_columns_in_a_file(self) -> None:
        """What is wanted is read under the name that the file has for it."""
        wanted = ["detection_delay_ms", "failed"]
        assert former_names.columns_in(["missed_lag_ms"], wanted) == ["missed_lag_ms", "failed"]
        assert former_names.columns_in(["detection_delay_ms"], wanted) == wanted
