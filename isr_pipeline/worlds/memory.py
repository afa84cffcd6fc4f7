"""What is dear to make, kept for the next one that is made from the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Memory(Generic[T]):
    """The last few that were asked for: as many as fit, and one."""

    def __init__(
        self, most: int, cells_max: int = 0, cells: Callable[[T], int] = lambda _: 0
    ) -> None:
        """Remember nothing yet.

        Args:
            most: how many are kept.
            cells_max: how many cells all of them take at most.
            cells: how many one takes.
        """
        self._most, self._cells_max, self._cells = most, cells_max, cells
        self._kept: list[tuple[tuple[Any, ...], T]] = []

    def get(self, made_from: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Find what was made from equal values, or make it.

        Args:
            made_from: values that compare fast where they are identical.
            make: makes it from them.
        """
        kept = enumerate(self._kept)
        found = next((i for i, (known, _) in kept if known == made_from), None)
        value = make() if found is None else self._kept.pop(found)[1]
        self._kept.insert(0, (made_from, value))  # what is asked next is identical to the last
        while len(self._kept) > 1 and (len(self._kept) > self._most or self._too_many()):
            self._kept.pop()
        return value

    def _too_many(self) -> bool:
        return sum(self._cells(value) for _, value in self._kept) > self._cells_max

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
