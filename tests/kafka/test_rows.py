"""Rows: tables declared as classes, in one flat array."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Annotated

import numba
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.kafka.compiling import Rule, rule
from isr_pipeline.kafka.partition import tick_period
from isr_pipeline.kafka.record import Follower
from isr_pipeline.kafka.releases import Rules, as_cells
from isr_pipeline.kafka.replica import create, is_out_of_sync, on_fetch
from isr_pipeline.kafka.rows import (
    LINE,
    Cell,
    Current,
    Fixed,
    Flag,
    Hint,
    Loose,
    Maybe,
    Offset,
    Ref,
    Row,
    Several,
    Span,
    State,
    bit_length,
    initial,
    number_of,
    place_of,
    row_at,
    row_in,
    trailing_zeros,
)
from tests.kafka.records import NAMES, empty_record, rules_of


class Colour(IntEnum):
    """Of a book."""

    RED = 0
    BLUE = 1


class Shelf(Row):
    """A table that another one refers to."""

    height: Cell
    is_full: Flag


class Book(Row):
    """A table with a cell of every kind."""

    pages: Offset
    shelf: Ref[Shelf]
    sequel: Maybe[Book]
    beside: Hint[Book]
    colour: State[Colour]
    notes: Annotated[Several, 3, Offset]
    words: Span
    lies_on: Current[Shelf]
    loan: Fixed = initial(500)


class Priced(Row):
    """A table with the value of a key."""

    price: Annotated[Fixed, "book.price"]


class Wide(Row, lines=True):
    """A table whose rows begin at cache lines."""

    marks: Annotated[Several, LINE + 1]


class Atlas(Book):
    """A table with another one's cells before its own."""

    scale: Cell


@dataclass(frozen=True)
class Limits:
    """Numbers that plain Python holds in an object."""

    least: int
    most: int


@rule
def in_limits(limits: Limits, pages: int) -> bool:
    """A rule that asks them."""
    return limits.least <= pages <= limits.most


limits_in, shelf_in, follower_in = row_in(Limits), row_in(Shelf), row_in(Follower)
rules_in, book_at = row_in(Rules), row_at(Book)
BOOKS = 4
FIRST_BOOK = 2 * Shelf.size


def library() -> npt.NDArray[np.int64]:
    """An array of two shelves, and four books behind them."""
    return np.zeros(FIRST_BOOK + BOOKS * Book.size, dtype=np.int64)


def in_library(array: npt.NDArray[np.int64] | None = None) -> tuple[Shelf, Book]:
    """The first shelf and the first book."""
    array = library() if array is None else array
    return Shelf(array), Book(array, FIRST_BOOK)


class TestCells:
    """What a row holds."""

    def test_reads_what_was_written(self) -> None:
        """A cell is a number of the array."""
        array = library()
        _, book = in_library(array)
        book.pages = 7
        assert book.pages == array[FIRST_BOOK] == 7

    def test_every_cell_has_its_own_place(self) -> None:
        """They stand in the order in which they are declared, several as many as they are."""
        places = [(one.place, one.cells) for one in Book.cells_of.values()]
        assert places == [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 3), (8, 1), (9, 1), (10, 1)]
        assert Book.size == 11

    def test_a_flag_is_a_truth_value(self) -> None:
        """Its cell holds 0 or 1."""
        shelf, _ = in_library()
        shelf.is_full = True
        assert shelf.is_full is True
        assert shelf.memory[1] == 1

    def test_a_state_is_a_number_of_its_enumeration(self) -> None:
        """Members of an IntEnum are written as they are."""
        _, book = in_library()
        book.colour = Colour.BLUE
        assert book.colour == Colour.BLUE

    def test_several_numbers_stand_in_the_row(self) -> None:
        """Written by their number, with nothing between them."""
        array = library()
        _, book = in_library(array)
        for i in range(3):
            book.notes[i] = 10 + i
        assert array[FIRST_BOOK + 5 : FIRST_BOOK + 8].tolist() == [10, 11, 12]

    def test_a_span_stands_elsewhere(self) -> None:
        """The cell says at which place of the array it begins."""
        array = library()
        _, book = in_library(array)
        array[FIRST_BOOK + 8] = FIRST_BOOK + Book.size
        book.words[2] = 9
        assert array[FIRST_BOOK + Book.size + 2] == 9

    def test_how_a_cell_moves_is_declared(self) -> None:
        """By its own kind, behind the number of several, not at all for a hint."""
        moves = {name: one.moves for name, one in Book.cells_of.items()}
        assert moves["pages"] is moves["notes"] is Offset
        assert moves["beside"] is Loose

    def test_an_initial_value_is_declared(self) -> None:
        """0 where nothing is said."""
        initials = {name: one.initial for name, one in Book.cells_of.items()}
        assert (initials["loan"], initials["pages"]) == (500, 0)

    def test_a_state_names_its_enumeration(self) -> None:
        """Whoever asserts what is written asks for its members."""
        assert Book.cells_of["colour"].members is Colour

    def test_a_cell_may_name_a_key(self) -> None:
        """It is the cell that it would be without."""
        price, loan = Priced.cells_of["price"], Book.cells_of["loan"]
        assert (price.key, price.kind, loan.key) == ("book.price", loan.kind, "")

    def test_a_table_may_have_anothers_cells(self) -> None:
        """Its own come behind them."""
        assert Atlas.cells_of["pages"] == Book.cells_of["pages"]
        assert Atlas.cells_of["scale"].place == Book.size

    @pytest.mark.parametrize("note", [int, "int", list[int], Annotated[int, 3]])
    def test_what_is_no_cell_is_refused(self, note: object) -> None:
        """A declaration names the place of what it cannot mean."""
        with pytest.raises(TypeError, match=r"Odd\.height: .* is no cell"):
            type("Odd", (Row,), {"__annotations__": {"height": note}, "__module__": __name__})


class TestReferences:
    """Rows that lead to rows."""

    def test_leads_to_the_row(self) -> None:
        """Whoever writes through it writes the row."""
        shelf, book = in_library()
        book.shelf = shelf[1]
        book.shelf.height = 30
        assert shelf[1].height == 30

    def test_holds_the_place(self) -> None:
        """Of the row's first cell in the array."""
        shelf, book = in_library()
        book.shelf = shelf[1]
        assert book.memory[book.first + 1] == shelf[1].first == Shelf.size

    def test_may_be_nothing(self) -> None:
        """So it is at first, and may be again."""
        _, book = in_library()
        assert not book.sequel
        book.sequel = book[1]
        assert book.sequel == book[1]
        book.sequel = None
        assert book.sequel is None

    def test_a_copied_array_is_valid(self) -> None:
        """Its references lead into the copy."""
        array = library()
        shelf, book = in_library(array)
        book.shelf = shelf[1]
        _, copied = in_library(array.copy())
        copied.shelf.height = 30
        assert (copied.shelf.height, book.shelf.height) == (30, 0)


class TestRows:
    """Where rows stand."""

    def test_the_nth_row(self) -> None:
        """Stands so many rows behind the first."""
        _, book = in_library()
        assert book[2].first == book.first + 2 * Book.size

    def test_is_equal_to_itself_alone(self) -> None:
        """However it was reached; not to the same place of another array."""
        _, book = in_library()
        _, other = in_library()
        assert book[1][1] == book[2]
        assert book[2] != book[1]
        assert book != other

    def test_equal_rows_are_one_in_a_set(self) -> None:
        """They have one hash."""
        _, book = in_library()
        assert len({book[1][1], book[2]}) == 1

    def test_has_no_end(self) -> None:
        """A loop over rows says how many."""
        _, book = in_library()
        with pytest.raises(TypeError, match="rows of Book have no end of their own"):
            list(book)

    def test_whole_lines(self) -> None:
        """Nine cells take two cache lines."""
        assert Wide.size == 2 * LINE


@rule
def written(array: npt.NDArray[np.int64]) -> int:
    """Write every kind of cell; what compiled code makes of rows, as one number."""
    shelf = shelf_in(array)
    book = book_at(shelf, FIRST_BOOK)
    last = book[BOOKS - 1]
    book.pages = 7
    book.lies_on = shelf[1]
    book.lies_on.height += 30
    book.shelf.is_full = True
    book.colour = Colour.BLUE
    book.notes[2] = 12
    book.sequel = last
    last.sequel = book
    last.sequel = None
    told = 0
    if not last.sequel:
        told += 1
    if book.sequel:
        told += 2
    if book.sequel == last:
        told += 4
    if book.sequel != book:
        told += 8
    return told * 10_000 + number_of(last, book) * 1_000 + place_of(book)


@rule
def moved(array: npt.NDArray[np.int64]) -> None:
    """Write a reference that is laid out once."""
    shelf = shelf_in(array)
    book_at(shelf, FIRST_BOOK).shelf = shelf[1]


@rule
def prolonged(array: npt.NDArray[np.int64]) -> None:
    """Write a number that is laid out once."""
    book_at(shelf_in(array), FIRST_BOOK).loan = 600


class TestCompiled:
    """Machine code does what plain Python does."""

    def test_every_kind_of_cell(self) -> None:
        """The array is the same afterwards."""
        compiled, array = library(), library()
        for one in (compiled, array):
            shelf, book = in_library(one)
            book.shelf = shelf[1]
        assert written.compiled(compiled) == 15 * 10_000 + (BOOKS - 1) * 1_000 + FIRST_BOOK
        book.pages = 7
        book.lies_on = shelf[1]
        shelf[1].height = 30
        shelf[1].is_full = True
        book.colour = Colour.BLUE
        book.notes[2] = 12
        book.sequel = book[BOOKS - 1]
        assert compiled.tolist() == array.tolist()

    @pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="plain Python lays worlds out")
    @pytest.mark.parametrize(("write", "cell"), [(moved, "shelf"), (prolonged, "loan")])
    def test_what_is_laid_out_once_is_not_written(
        self, write: Rule[[npt.NDArray[np.int64]], None], cell: str
    ) -> None:
        """A function that does is not compiled."""
        with pytest.raises(TypeError, match=rf"Book\.{cell} is laid out once"):
            write.compiled(library())

    @pytest.mark.parametrize(("pages", "fits"), [(1, False), (2, True), (5, True), (6, False)])
    def test_a_dataclass_is_a_row(self, pages: int, fits: bool) -> None:
        """A rule takes the object in plain Python, and its numbers from the array compiled."""
        limits = Limits(2, 5)
        assert in_limits(limits, pages) is fits
        assert bool(asked.compiled(np.array(astuple(limits)), pages)) is fits

    @pytest.mark.parametrize("name", NAMES)
    def test_rules(self, name: str) -> None:
        """A follower's record, and what is told of it, are the same under every rule set."""
        rules, follower = rules_of(name, kip501="s1-pr", kip501_enabled=True), empty_record()
        array = np.zeros(Follower.size, dtype=np.int64)
        told = fetched.compiled(as_cells(rules), array)
        create(rules, follower, 3)
        on_fetch(rules, follower, 5, 100, 5, 120)
        on_fetch(rules, follower, 5, 200, 9, 220)
        out = is_out_of_sync(rules, follower, 9, 10_000, tick_period(rules, 9_000), 4)
        assert array.tolist() == follower.memory[follower.first :].tolist()
        assert bool(told) is out


@rule
def asked(limits: npt.NDArray[np.int64], pages: int) -> bool:
    """A rule over a dataclass, from compiled code."""
    return in_limits(limits_in(limits), pages)


@rule
def fetched(switches: npt.NDArray[np.int64], cells: npt.NDArray[np.int64]) -> bool:
    """Two fetches, and the question whether the follower is out of sync, from compiled code."""
    rules, follower = rules_in(switches), follower_in(cells)
    create(rules, follower, 3)
    on_fetch(rules, follower, 5, 100, 5, 120)
    on_fetch(rules, follower, 5, 200, 9, 220)
    return is_out_of_sync(rules, follower, 9, 10_000, tick_period(rules, 9_000), 4)


@numba.njit
def _bits_of(number):  # type: ignore[no-untyped-def]
    return bit_length(number)


class TestBitLength:
    """How many bits a number takes."""

    @pytest.mark.parametrize("number", [0, 1, 2, 255, 256, 257, (1 << 50) - 1, 1 << 50])
    def test_compiled_as_in_plain_python(self, number: int) -> None:
        """The processor's instruction counts as the text of the binary number does."""
        assert _bits_of(number) == len(f"{number:b}".lstrip("0"))


@numba.njit
def _counted(bits):  # type: ignore[no-untyped-def]
    return trailing_zeros(bits)


class TestTrailingZeros:
    """How far it is to the next set bit."""

    @given(st.integers(0, (1 << 32) - 1))
    def test_compiled_as_in_plain_python(self, bits: int) -> None:
        """The processor's instruction counts as the text of the binary number does."""
        written = f"{bits:b}"
        expected = len(written) - len(written.rstrip("0")) if bits else 64
        assert _counted(bits) == expected
