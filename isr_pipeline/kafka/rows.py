"""Rows: state in one flat int64 array that reads like objects, in compiled and in plain Python.

A table is declared as a class whose annotations are its cells, in their order:

    class Replica(Row):
        log_end_offset: Offset
        broker: Ref[Broker]

``replica.log_end_offset`` then reads or writes a cell, ``replica.broker`` is the row of another
table, and ``partition.replicas[2]`` the second row behind a first one.

A cell that refers to another row holds its place in the array: so a copied array is valid as it
is. In machine code a row is the array's address and a place in it. All rows that a function is
given are rows of one array (a copy's are of another type), so it keeps one address, and reads a
cell as ``w[place + cell]`` would. Without the compiler a row is a view over the array's memory.

A frozen dataclass of numbers can be a row as well (`register`): compiled code then finds its
fields in the cells of an array, in their order, and plain Python uses the object itself.
"""

from __future__ import annotations

import operator
import sys
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import IntEnum
from inspect import get_annotations
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    Self,
    TypeVar,
    cast,
    get_args,
    get_origin,
)

import numba
import numpy as np
import numpy.typing as npt
from numba.extending import intrinsic, models, register_model

from isr_pipeline.base.errors import Refused

try:
    from numba.core import cgutils
    from numba.core import types as _numba_types
    from numba.core.imputils import (
        lower_builtin,
        lower_cast,
        lower_getattr_generic,
        lower_setattr_generic,
    )
    from numba.core.typing.templates import (
        AbstractTemplate,
        AttributeTemplate,
        infer_getattr,
        infer_global,
        signature,
    )
    from numba.np import arrayobj
except ImportError as missing:
    msg = f"numba {numba.__version__}: {missing}; allowed: the numba of uv.lock (`make setup`)"
    raise Refused(msg) from missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

types: Any = _numba_types
T = TypeVar("T")
E = TypeVar("E", bound=IntEnum)

Array = npt.NDArray[np.int64]
LINE: Final = 8
"""Cells of a cache line."""


# ------------------------------------------------------------------ what a cell may be


class Cell:
    """A number that does not change while the world repeats: a count, a place, a set, a duration.

    The kinds below move then; each says how (`simulation.shortcuts.cycles` jumps only where every
    cell moves as its kind allows).
    """

    if TYPE_CHECKING:

        def __get__(self, row: object, table: type | None = None) -> int: ...
        def __set__(self, row: object, value: int) -> None: ...


class Fixed(Cell):
    """A number that whoever lays a world out writes, and nobody afterwards."""


class Flag(Cell):
    """0 or 1."""

    if TYPE_CHECKING:

        def __get__(self, row: object, table: type | None = None) -> bool: ...


class Mask(Cell):
    """A set of replicas: a bit a position in the assignment."""


class Bits(Cell, Generic[E]):
    """A set of an enumeration's members, which are a bit each."""


class Time(Cell):
    """A moment in microseconds: moves with the clock or stands; one to come ends the stretch."""


class Until(Cell):
    """A `Time` that is compared with the present; its effect may lag by up to one cycle."""


class Offset(Cell):
    """A record's number: stands still, or grows as its partition's log does."""


class Total(Cell):
    """Only added to: grows by the same amount every period."""


class Counter(Cell):
    """As `Total`, and begins anew at 0."""


class Gathered(Cell):
    """As `Total`, but only while the partition has no leader."""


class Loose(Cell):
    """Has no meaning between events, or is handled by name."""


class State(Cell, Generic[E]):
    """A member of an enumeration."""

    if TYPE_CHECKING:

        def __get__(self, row: object, table: type | None = None) -> E: ...
        def __set__(self, row: object, value: int) -> None: ...


class Ref(Generic[T]):
    """The row of another table, or the first of several: laid out once, as `Fixed`."""

    if TYPE_CHECKING:

        def __get__(self, row: object, table: type | None = None) -> T: ...
        def __set__(self, row: object, value: T) -> None: ...


class Current(Ref[T]):
    """The row that it refers to at present."""


class Maybe(Ref[T]):
    """As `Ref`, or nothing: what is read is false then."""

    if TYPE_CHECKING:

        def __set__(self, row: object, value: T | None) -> None: ...


class Hint(Ref[T]):
    """As `Ref`, and has no meaning between events."""


class Span:
    """The first of several numbers that stand elsewhere in the array."""

    if TYPE_CHECKING:

        def __get__(self, row: object, table: type | None = None) -> Cells: ...


class Several:
    """So many numbers in the row itself: ``Annotated[Several, 8]``."""

    if TYPE_CHECKING:

        def __get__(self, row: object, table: type | None = None) -> Cells: ...


class Tail(Several):
    """The numbers that stand behind a header, from a cache line on."""


class Cells:
    """Numbers that stand one behind the other: a view without the compiler, else their address."""

    __slots__ = ("first", "memory")

    def __init__(self, memory: Any, first: int) -> None:
        self.memory: Any = memory
        self.first = first

    def __getitem__(self, i: int) -> int:
        """Read one."""
        return int(self.memory[self.first + i])

    def __setitem__(self, i: int, value: int) -> None:
        """Write one."""
        self.memory[self.first + i] = value


Numbers = Cells | list[int]
"""What a rule reads and writes by number, without the compiler."""


@dataclass(frozen=True, slots=True)
class Field:
    """A cell of a table.

    Attributes:
        place: number of its first cell in the row.
        cells: how many cells it has.
        kind: `Cell`, `Ref` or a subclass of them, `Span` or `Several`.
        moves: how it moves while the world repeats: `Cell` or a subclass.
        target: the table that it refers to, as the declaration names it.
        initial: what it holds where nothing else is said.
        members: the enumeration whose members it holds, or bits.
        key: the Kafka key whose value it holds, empty if it holds none's.
    """

    place: int
    cells: int
    kind: type
    moves: type = Cell
    target: str | None = None
    initial: int = 0
    members: type[IntEnum] | None = None
    key: str = ""


def initial(value: int) -> Any:
    """What a cell holds where nothing else is said, if not 0."""
    return value


class _Names(dict[str, Any]):
    """Names of a declaration; a table that is declared later stands for itself, by its name."""

    def __init__(self, known: dict[str, Any]) -> None:
        super().__init__()
        self._known = known

    def __missing__(self, name: str) -> Any:
        return self._known.get(name, name)


def _declared(name: str, note: Any, place: int, start: int) -> Field:
    """Read one annotation."""
    kind, given = get_origin(note) or note, get_args(note)
    if kind is Annotated and given[0] is Several:
        return Field(place, given[1], Several, given[2] if len(given) > 2 else Cell)
    if kind is Annotated:
        return replace(_declared(name, given[0], place, start), key=given[1])
    if kind is Tail:
        return Field(-(-place // LINE) * LINE, 0, Tail)
    if not isinstance(kind, type) or not issubclass(kind, (Cell, Ref, Span)):
        raise TypeError(f"{name}: {note!r} is no cell")
    if issubclass(kind, Ref):
        return Field(place, 1, kind, Loose if kind is Hint else Cell, _name(given[0]))
    if issubclass(kind, Span):
        return Field(place, 1, kind)
    return Field(place, 1, kind, kind, initial=start, members=given[0] if given else None)


def _name(table: Any) -> str:
    if isinstance(table, str):
        return table
    return str(getattr(table, "__forward_arg__", None) or table.__name__)


TABLES: Final[dict[str, type]] = {}
"""Every declared table, by its name."""


class Row:
    """A row of a table. Subclasses declare the table; theirs come behind its own cells.

    Class arguments:
        lines: rows begin at cache lines if they fill some.
        header: the one row is the array's beginning.
    """

    __slots__ = ("first", "memory")
    cells_of: dict[str, Field] = {}  # noqa: RUF012 - each subclass has its own
    size = 0
    is_header = False

    def __init_subclass__(cls, lines: bool = False, header: bool = False, **given: Any) -> None:
        super().__init_subclass__(**given)
        module = vars(sys.modules[cls.__module__])
        found = dict(cls.cells_of)
        place = max((one.place + one.cells for one in found.values()), default=0)
        for name, text in get_annotations(cls).items():
            note = eval(text, module, _Names(module)) if isinstance(text, str) else text  # noqa: S307
            start = cls.__dict__.get(name, 0)
            field = _declared(f"{cls.__name__}.{name}", note, place, start)
            found[name] = field
            place = field.place + field.cells
            setattr(cls, name, _view_of(field))
        cls.cells_of = found
        cls.size = -(-place // LINE) * LINE if lines else place
        cls.is_header = header
        TABLES[cls.__name__] = cls

    def __init__(self, memory: Any, place: int = 0) -> None:
        """View a row in plain Python.

        Args:
            memory: a contiguous int64 array, a view of its memory, or a list.
            place: number of the row's first cell in it.
        """
        self.memory: Any = (
            memoryview(cast("Any", memory)) if isinstance(memory, np.ndarray) else memory
        )
        self.first = place

    def __getitem__(self, i: int) -> Self:
        """Return the ``i``-th row behind this one."""
        return type(self)(self.memory, self.first + i * self.size)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same row of the same array."""
        return isinstance(other, Row) and self.first == other.first and self.memory is other.memory

    def __hash__(self) -> int:
        """As `__eq__` compares."""
        return hash((id(self.memory), self.first))

    def __iter__(self) -> Iterator[Self]:
        """Refuse: a row does not know how many follow it."""
        raise TypeError(f"rows of {type(self).__name__} have no end of their own")


def _view_of(field: Field) -> property:
    """How plain Python reads and writes a cell."""
    place, target = field.place, field.target

    def get(row: Row) -> int:
        return int(row.memory[row.first + place])

    def is_set(row: Row) -> bool:
        return get(row) != 0

    def put(row: Row, value: int) -> None:
        row.memory[row.first + place] = value

    def several(row: Row) -> Cells:
        return Cells(row.memory, row.first + place)

    def span(row: Row) -> Cells:
        return Cells(row.memory, row.memory[row.first + place])

    def follow(row: Row) -> Row | None:
        there = row.memory[row.first + place]
        if there == 0 and field.kind is Maybe:
            return None
        return cast("Row", TABLES[cast("str", target)](row.memory, there))

    def refer(row: Row, other: Row | None) -> None:
        row.memory[row.first + place] = 0 if other is None else other.first

    if issubclass(field.kind, Ref):
        return property(follow, refer)
    if issubclass(field.kind, Several):
        return property(several)
    if field.kind is Span:
        return property(span)
    return property(is_set if field.kind is Flag else get, put)


# ------------------------------------------------------------------ plain Python of the functions


def row_at(table: type[T]) -> Callable[[Row, int], T]:
    """Make the function that gives the row of a table at a place of the array that a row is in."""

    def at(row: Row, place: int) -> T:
        return cast("T", cast("Any", table)(row.memory, place))

    return at


def copy_at(table: type[T]) -> Callable[[Cells, int], T]:
    """Make the function that gives the first row of a copy that stands somewhere in some cells."""

    def at(cells: Cells, place: int) -> T:
        return cast("T", cast("Any", table)(cells.memory[cells.first + place :]))

    return at


@dataclass(frozen=True)
class Assertions:
    """What a debug build asserts of an array's rows. numba compiles the functions that it is given.

    Attributes:
        write: what is called before a cell is written, if anything, by the names of table and cell:
            with the row, the cell's place, and the numbers that it holds and is to hold.
        row: what is called where a row is reached by its number, by the table's name: with the row
            that it is counted from, and the place of the one that is reached.
    """

    write: Callable[[str, str], Callable[..., None] | None]
    row: Callable[[str], Callable[..., None] | None]


def row_in(table: type[T], assertions: Assertions | None = None) -> Callable[[Array], T]:  # noqa: ARG001
    """Make the function that takes an array's first row, as compiled code sees it.

    Args:
        table: of the row.
        assertions: what compiled code asserts of all rows that are reached from it.
    """

    def first(array: Array) -> T:
        if is_dataclass(table):
            names = (one.name for one in fields(table))
            return cast("T", table(**{name: int(array[i]) for i, name in enumerate(names)}))
        return cast("T", cast("Any", table)(array))

    return first


def cells(array: Array) -> Cells:
    """Take an array's numbers, for functions that only index them."""
    return Cells(memoryview(cast("Any", array)), 0)


def place_of(row: Row) -> int:
    """The place of a row in its array."""
    return row.first


def number_of(row: Row, first: Row) -> int:
    """How many rows of the same table lie between the first and this one."""
    return (row.first - first.first) // first.size


def counterpart(row: T, copy: Row) -> T:
    """The row of a copy of the array that stands where this one does."""
    mine: Any = row
    return cast("T", type(mine)(copy.memory, mine.first))


def nothing_like(row: T) -> T:  # noqa: ARG001 - says of which table
    """No row, where a row like this one might be."""
    return cast("T", None)


def trailing_zeros(bits: int) -> int:
    """How many bits below the lowest one that is set are not; 64 if none is."""
    return int(bits & -bits).bit_length() - 1 if bits else 64


def bit_length(number: int) -> int:
    """How many bits ``number``, which is not negative, takes; 0 if it is 0."""
    return int(number).bit_length()


def fetch_ahead(place: Row | Cells, i: int) -> None:
    """Let the processor fetch the cache line of the ``i``-th cell: a hint."""


def cells_of(row: Row) -> Cells:
    """The array from a row on, as numbers: for what copies or compares it whole."""
    return Cells(row.memory, row.first)


# ------------------------------------------------------------------ and of their machine code

_CELLS = types.CPointer(types.int64)
_LAID_OUT = (Fixed, Ref, Span)
_TO_WRITE, _ALL_CACHES, _DATA = 1, 3, 1  # arguments of LLVM's prefetch


class RowType(types.Type):  # type: ignore[misc]
    """numba's type of a table's rows in one of a function's arrays.

    Attributes:
        table: the table.
        array: which array: that of the world, a copy's, that of a dataclass, or that of a world of
            the debug build.
        assertions: what is asserted of the array's rows.
    """

    def __init__(self, table: type, array: str = "", assertions: Assertions | None = None) -> None:
        self.table = table
        self.array = table.__name__ if is_dataclass(table) else array
        self.assertions = assertions
        super().__init__(f"Row[{table.__name__}{self.array}]")

    def of(self, table: type) -> RowType:
        """Rows of another table in the same array."""
        return RowType(table, self.array, self.assertions)

    @property
    def fields(self) -> dict[str, Field]:
        """Cells by name."""
        table: Any = self.table
        if is_dataclass(table):
            return {one.name: Field(place, 1, Cell) for place, one in enumerate(fields(table))}
        return cast("dict[str, Field]", table.cells_of)

    @property
    def size(self) -> int:
        """Cells of a row."""
        return cast("int", cast("Any", self.table).size)

    @property
    def begins(self) -> bool:
        """Whether the row is the array's beginning."""
        return is_dataclass(self.table) or bool(cast("Any", self.table).is_header)


@register_model(RowType)
class _RowModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("array", _CELLS), ("place", types.int64)])

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Let all rows of one array share the address that the first argument brings."""
        row = super().from_argument(builder, value)
        shared = vars(builder.function).setdefault("arrays_of_rows", {})
        array = shared.setdefault(self._fe_type.array, builder.extract_value(row, 0))
        return builder.insert_value(row, array, 0)


def _number(context: Any, value: int) -> Any:
    return context.get_constant(types.int64, value)


def _row(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    row = cgutils.create_struct_proxy(kind)(context, builder)
    row.array, row.place = array, place
    return row._getvalue()


def _array(builder: Any, row: Any) -> Any:
    return builder.extract_value(row, 0)


def _place(context: Any, builder: Any, kind: Any, row: Any) -> Any:
    return _number(context, 0) if kind.begins else builder.extract_value(row, 1)


def _cell(context: Any, builder: Any, kind: Any, row: Any, number: int) -> Any:
    place = builder.add(_place(context, builder, kind, row), _number(context, number))
    return builder.gep(_array(builder, row), [place])


@infer_getattr
class _RowAttribute(AttributeTemplate):  # type: ignore[misc]
    key = RowType

    def generic_resolve(self, row: Any, name: str) -> Any:
        field = row.fields.get(name)
        if field is None:
            return None
        if issubclass(field.kind, Ref):
            return row.of(TABLES[field.target])
        return _CELLS if issubclass(field.kind, (Span, Several)) else types.int64


@lower_getattr_generic(RowType)
def _get_cell(context: Any, builder: Any, kind: Any, row: Any, name: str) -> Any:
    field = kind.fields[name]
    cell = _cell(context, builder, kind, row, field.place)
    if issubclass(field.kind, Several):
        return cell
    value = builder.load(cell)
    if issubclass(field.kind, Cell):
        return value
    if field.kind is Span:
        return builder.gep(_array(builder, row), [value])
    return _row(context, builder, kind.of(TABLES[field.target]), _array(builder, row), value)


@lower_setattr_generic(RowType)
def _set_cell(context: Any, builder: Any, given: Any, values: Any, name: str) -> None:
    kind, (row, value) = given.args[0], values
    field = kind.fields[name]
    if field.kind in _LAID_OUT:
        raise TypeError(f"{kind.table.__name__}.{name} is laid out once")
    if issubclass(field.kind, Ref):
        value = builder.extract_value(value, 1)
    cell = _cell(context, builder, kind, row, field.place)
    if kind.assertions is not None:
        place = builder.add(_place(context, builder, kind, row), _number(context, field.place))
        asserted = kind.assertions.write(kind.table.__name__, name)
        _assert(context, builder, kind, asserted, [row, place, builder.load(cell), value])
    builder.store(value, cell)


def _assert(
    context: Any, builder: Any, kind: Any, asserted: Callable[..., None] | None, given: list[Any]
) -> None:
    """Call what is asserted, if anything: with a row, and numbers."""
    if asserted is not None:
        numbers = [types.int64] * (len(given) - 1)
        context.compile_internal(builder, asserted, signature(types.none, kind, *numbers), given)


@lower_cast(types.NoneType, RowType)
def _nothing(context: Any, _builder: Any, _none: Any, kind: Any, _value: Any) -> Any:
    return cgutils.ir.Constant(context.get_value_type(kind), None)


@infer_global(operator.getitem)
class _NthRow(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        if not kws and isinstance(args[0], RowType) and isinstance(args[1], types.Integer):
            return signature(args[0], args[0], types.int64)
        return None


@lower_builtin(operator.getitem, RowType, types.int64)
def _nth_row(context: Any, builder: Any, given: Any, values: Any) -> Any:
    row, i = values
    kind = given.args[0]
    behind = builder.mul(i, _number(context, kind.size))
    place = builder.add(_place(context, builder, kind, row), behind)
    if kind.assertions is not None:
        _assert(context, builder, kind, kind.assertions.row(kind.table.__name__), [row, place])
    return builder.insert_value(row, place, 1)


class _Comparison(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        if not kws and isinstance(args[0], RowType) and args[0] == args[1]:
            return signature(types.boolean, *args)
        return None


infer_global(operator.eq)(type("_SameRow", (_Comparison,), {}))
infer_global(operator.ne)(type("_OtherRow", (_Comparison,), {}))


def _compared(builder: Any, sign: str, values: Any) -> Any:
    return builder.icmp_signed(sign, *(builder.extract_value(row, 1) for row in values))


@lower_builtin(operator.eq, RowType, RowType)
def _same_row(_context: Any, builder: Any, _given: Any, values: Any) -> Any:
    return _compared(builder, "==", values)


@lower_builtin(operator.ne, RowType, RowType)
def _other_row(_context: Any, builder: Any, _given: Any, values: Any) -> Any:
    return _compared(builder, "!=", values)


class _Truth(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        if not kws and len(args) == 1 and isinstance(args[0], RowType):
            return signature(types.boolean, args[0])
        return None


infer_global(bool)(type("_IsRow", (_Truth,), {}))
infer_global(operator.truth)(type("_IsRowToo", (_Truth,), {}))
infer_global(operator.not_)(type("_IsNoRow", (_Truth,), {}))


@lower_builtin(operator.not_, RowType)
def _is_no_row(_context: Any, builder: Any, _given: Any, values: Any) -> Any:
    return cgutils.is_null(builder, builder.extract_value(values[0], 1))


@lower_builtin(bool, RowType)
@lower_builtin(operator.truth, RowType)
def _is_row(_context: Any, builder: Any, _given: Any, values: Any) -> Any:
    return cgutils.is_not_null(builder, builder.extract_value(values[0], 1))


def _address(context: Any, builder: Any, given: Any, values: Any) -> Any:
    return arrayobj.make_array(given.args[0])(context, builder, values[0]).data


def _row_at(table: type[T]) -> Any:
    @intrinsic
    def at(_typing: Any, row: Any, place: Any) -> Any:  # noqa: ARG001 - numba names arguments
        kind = row.of(table)

        def found(context: Any, builder: Any, _given: Any, values: Any) -> Any:
            return _row(context, builder, kind, _array(builder, values[0]), values[1])

        return signature(kind, row, types.int64), found

    return at


def _copy_at(table: type[T]) -> Any:
    @intrinsic
    def at(_typing: Any, cells: Any, place: Any) -> Any:  # noqa: ARG001 - numba names arguments
        kind = RowType(table, "copy")

        def found(context: Any, builder: Any, _given: Any, values: Any) -> Any:
            return _row(
                context, builder, kind, builder.gep(values[0], [values[1]]), _number(context, 0)
            )

        return signature(kind, cells, types.int64), found

    return at


def _row_in(table: type[T], assertions: Assertions | None = None) -> Any:
    @intrinsic
    def first(_typing: Any, array: Any) -> Any:
        kind = RowType(table, "asserted" if assertions else "", assertions)

        def found(context: Any, builder: Any, given: Any, values: Any) -> Any:
            address = _address(context, builder, given, values)
            return _row(context, builder, kind, address, _number(context, 0))

        return signature(kind, array), found

    return first


@intrinsic
def _place_of(_typing: Any, row: Any) -> Any:
    def place(_context: Any, builder: Any, _given: Any, values: Any) -> Any:
        return builder.extract_value(values[0], 1)

    return signature(types.int64, row), place


@intrinsic
def _number_of(_typing: Any, row: Any, first: Any) -> Any:
    def number(context: Any, builder: Any, _given: Any, values: Any) -> Any:
        places = [builder.extract_value(value, 1) for value in values]
        return builder.sdiv(builder.sub(*places), _number(context, first.size), flags=["exact"])

    return signature(types.int64, row, first), number


@intrinsic
def _nothing_like(_typing: Any, row: Any) -> Any:
    def nothing(context: Any, builder: Any, _given: Any, values: Any) -> Any:
        return builder.insert_value(values[0], _number(context, 0), 1)

    return signature(row, row), nothing


@intrinsic
def _cells_of(_typing: Any, row: Any) -> Any:
    def same(context: Any, builder: Any, _given: Any, values: Any) -> Any:
        return _cell(context, builder, row, values[0], 0)

    return signature(_CELLS, row), same


@intrinsic
def _cells(_typing: Any, array: Any) -> Any:
    return signature(_CELLS, array), _address


@intrinsic
def _counterpart(_typing: Any, row: Any, copy: Any) -> Any:
    kind = copy.of(row.table)

    def found(_context: Any, builder: Any, _given: Any, values: Any) -> Any:
        return builder.insert_value(values[0], _array(builder, values[1]), 0)

    return signature(kind, row, copy), found


@intrinsic
def _trailing_zeros(_typing: Any, bits: Any) -> Any:
    def counted(_context: Any, builder: Any, _given: Any, values: Any) -> Any:
        return builder.cttz(values[0], cgutils.false_bit)

    return types.int64(bits), counted


@intrinsic
def _bit_length(_typing: Any, number: Any) -> Any:
    def counted(context: Any, builder: Any, _given: Any, values: Any) -> Any:
        unused = builder.ctlz(values[0], cgutils.false_bit)
        return builder.sub(_number(context, number.bitwidth), unused)

    return types.int64(number), counted


@intrinsic
def _fetch_ahead(_typing: Any, place: Any, i: Any) -> Any:
    def fetched(context: Any, builder: Any, _given: Any, values: Any) -> Any:
        ir = cgutils.ir
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        first = values[0]
        if isinstance(place, RowType):
            first = _cell(context, builder, place, first, 0)
        cell = builder.bitcast(builder.gep(first, [values[1]]), byte)
        builder.call(function, [cell, flag(_TO_WRITE), flag(_ALL_CACHES), flag(_DATA)])
        return context.get_dummy_value()

    return signature(types.none, place, i), fetched


if not numba.config.DISABLE_JIT:
    globals().update(
        row_at=_row_at,
        row_in=_row_in,
        copy_at=_copy_at,
        place_of=_place_of,
        number_of=_number_of,
        nothing_like=_nothing_like,
        cells_of=_cells_of,
        cells=_cells,
        counterpart=_counterpart,
        trailing_zeros=_trailing_zeros,
        bit_length=_bit_length,
        fetch_ahead=_fetch_ahead,
    )
