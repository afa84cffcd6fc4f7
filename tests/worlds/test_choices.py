"""What a configuration decides: every Kafka key reaches what reads it."""

from __future__ import annotations

from pathlib import Path

from isr_pipeline.kafka.broker_config import KEYS, UNREAD
from isr_pipeline.worlds import choices
from isr_pipeline.worlds.choices import CELL_OF_KEY


class TestKeys:
    """Whether a key is read, and where."""

    def test_a_cell_names_a_key_that_there_is(self) -> None:
        """And one that is read."""
        assert set(CELL_OF_KEY) <= set(KEYS) - UNREAD

    def test_whatever_is_read_is_given_to_the_world(self) -> None:
        """In a cell that names it, or by name where it decides how much there is of something."""
        text = Path(choices.__file__).read_text(encoding="utf-8")
        by_name = {name for name in KEYS if f'"{name}"' in text}
        assert set(CELL_OF_KEY) | by_name == set(KEYS) - UNREAD
