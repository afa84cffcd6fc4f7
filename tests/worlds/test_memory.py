"""What is dear to make is kept for the next one, and never without bound."""

from __future__ import annotations

from functools import partial

from isr_pipeline.worlds.memory import Memory


def asked(memory: Memory[int], *values: int) -> list[int]:
    """Ask for values made from themselves; those that had to be made."""
    made: list[int] = []

    def make(value: int) -> int:
        made.append(value)
        return value

    for value in values:
        assert memory.get((value,), partial(make, value)) == value
    return made


def test_made_once() -> None:
    """What was made from equal values is found again."""
    assert asked(Memory(2), 1, 2, 1, 2) == [1, 2]


def test_the_longest_unasked_goes_first() -> None:
    """Whoever was asked for lately stays."""
    assert asked(Memory(2), 1, 2, 1, 3, 1, 2) == [1, 2, 3, 2]


def test_as_many_as_fit() -> None:
    """Large ones displace more."""
    assert asked(Memory(9, 10, lambda cells: cells), 3, 4, 2, 8, 2, 3) == [3, 4, 2, 8, 3]


def test_one_stays_however_large() -> None:
    """The last one is kept in any case."""
    assert asked(Memory(9, 10, lambda cells: cells), 99, 99) == [99]
