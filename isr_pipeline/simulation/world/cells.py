"""How the kernel's functions get at the arrays: by address.

An index into an array may be negative in Python, and numba tests for that at every access; it also
passes an array as seven numbers or more. An address is one number, and an index counts from it. An
`entry` takes the addresses once, so its caller keeps the arrays alive. Without the JIT an array is
its own cells.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
from numba.core import cgutils
from numba.core import types as _numba_types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, models, register_model
from numba.np import arrayobj

from isr_pipeline.kafka.record import N_FIELDS

types: Any = _numba_types
_TO_WRITE, _ALL_CACHES, _DATA = 1, 3, 1  # arguments of LLVM's prefetch


def cells(array: Any) -> Any:
    """Return the cells of a contiguous array, for functions that only index it."""
    return array


def cells_from(pointer: Any, first: int) -> Any:
    """Return the cells from an index on, for a rule that walks a short list."""
    return pointer[first:]


def trailing_zeros(bits: int) -> int:
    """How many bits below the lowest one that is set are not; 64 if none is."""
    return int(bits & -bits).bit_length() - 1 if bits else 64


def fetch_ahead(cells: Any, i: int) -> None:
    """Let the processor fetch the cache line of a cell: a hint, which waits for nothing."""


def records(array: Any) -> Any:
    """Return the rows of the records of followers (`kafka.record`), indexed by row and field."""
    return array


class Records(types.Type):  # type: ignore[misc]
    """Address of rows of N_FIELDS int64 each, indexed by (row, field)."""

    def __init__(self) -> None:
        super().__init__("Records")


_RECORDS = Records()
_PLACE = types.UniTuple(types.int64, 2)


@register_model(Records)
class _RecordsModel(models.PrimitiveModel):  # type: ignore[misc]
    """In machine code it is the address and nothing else."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(
            manager, kind, manager.lookup(types.CPointer(types.int64)).get_value_type()
        )


@infer_global(operator.getitem)
class _GetField(AbstractTemplate):  # type: ignore[misc]
    """``rec[row, field]`` is an int64."""

    def generic(self, args: Any, kws: Any) -> Any:
        if not kws and isinstance(args[0], Records) and isinstance(args[1], types.BaseTuple):
            return signature(types.int64, args[0], _PLACE)
        return None


@infer_global(operator.setitem)
class _SetField(AbstractTemplate):  # type: ignore[misc]
    """``rec[row, field] = value``."""

    def generic(self, args: Any, kws: Any) -> Any:
        if not kws and isinstance(args[0], Records) and isinstance(args[1], types.BaseTuple):
            return signature(types.none, args[0], _PLACE, types.int64)
        return None


def _field(context: Any, builder: Any, given: Any) -> Any:
    """Address of one field."""
    row = builder.extract_value(given[1], 0)
    field = builder.extract_value(given[1], 1)
    width = context.get_constant(types.int64, N_FIELDS)
    return builder.gep(given[0], [builder.add(builder.mul(row, width), field)])


@lower_builtin(operator.getitem, Records, types.UniTuple)
def _get_field(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
    return builder.load(_field(context, builder, given))


@lower_builtin(operator.setitem, Records, types.UniTuple, types.int64)
def _set_field(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
    builder.store(given[2], _field(context, builder, given))
    return context.get_dummy_value()


def _address(context: Any, builder: Any, sig: Any, given: Any) -> Any:
    """Address of an array's first cell."""
    return arrayobj.make_array(sig.args[0])(context, builder, given[0]).data


if not numba.config.DISABLE_JIT:

    @intrinsic
    def cells(_typing: Any, array: Any) -> Any:
        """Take the address of an array's first cell."""
        return types.CPointer(array.dtype)(array), _address

    @intrinsic
    def trailing_zeros(_typing: Any, bits: Any) -> Any:
        """Count them with the processor's own instruction, where it has one."""

        def counted(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            return builder.cttz(given[0], cgutils.false_bit)

        return types.int64(bits), counted

    @intrinsic
    def fetch_ahead(_typing: Any, pointer: Any, i: Any) -> Any:
        """Fetch it into the caches, to be written to."""

        def fetched(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            ir = cgutils.ir
            byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            place = builder.bitcast(builder.gep(given[0], [given[1]]), byte)
            builder.call(function, [place, flag(_TO_WRITE), flag(_ALL_CACHES), flag(_DATA)])
            return _context.get_dummy_value()

        return types.none(pointer, i), fetched

    @intrinsic
    def records(_typing: Any, array: Any) -> Any:
        """Take the address of an array's first cell, as that of records."""
        return _RECORDS(array), _address

    @intrinsic
    def cells_from(_typing: Any, pointer: Any, first: Any) -> Any:
        """Move an address on by so many cells."""

        def moved(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            return builder.gep(given[0], [given[1]])

        return pointer(pointer, first), moved
