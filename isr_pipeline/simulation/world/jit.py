"""How functions of the kernel are compiled: many small functions, one optimised whole.

numba optimises every function together with all it calls, and the same code again in every caller:
for a call graph as deep as this kernel's that is most of the compile time. Functions
marked `compiled` are therefore only translated; the loop marked `entry` links them and is optimised
once, which gives the same machine code in half the time. Only an `entry` can be called from Python;
calling a `compiled` one raises TypeError there (with NUMBA_DISABLE_JIT=1 all are ordinary Python).

The hooks are internals of the pinned numba release. Where one is missing, everything is compiled in
numba's ordinary way: the results are the same (`tests/simulation/test_jit.py`), and
benchmarks/results/ablations.md says how much slower it is.

LLVM decides about inlining by size alone. `hot` forces it, for functions on the path of every
request. `cold` forbids it, for code that seldom runs and would otherwise increase register pressure
in the hot loop.

Event types are unpredictable. On the CPU measured, an indirect branch through a jump table was
mispredicted far more often than a few conditional branches, so jump tables are disabled.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
from llvmlite import ir

from isr_pipeline.kafka.compiling import OPTIONS

F = TypeVar("F", bound=Callable[..., Any])

_COMMON = {"nogil": True, **OPTIONS}
_translated: set[str] = set()
_entries: set[str] = set()
_attributes: dict[str, str] = {}
"""LLVM attributes of functions, by how their names in the library begin."""

INTERNALS = (
    "codegen.JITCodeLibrary._optimize_final_module",
    "codegen.JITCodeLibrary._finalize_final_module",
    "codegen.JITCodeLibrary._finalize_dynamic_globals",
    "codegen.JITCodeLibrary.get_pointer_to_function",
    "codegen.JITCPUCodegen.set_env",
    "callconv.CPUCallConv.return_value",
    "callconv.CPUCallConv._return_errcode_raw",
)
"""What the hooks replace and call, in `numba.core`."""


def _all_there() -> bool:
    try:
        attrgetter(*INTERNALS)(numba.core)
    except AttributeError:
        return False
    return True


HOOKED = _all_there()
"""Whether numba has all of them; else nothing is replaced."""

llvm.set_option("isr_pipeline", "-min-jump-table-entries=1000000")  # of the whole process

_REFUSE_CALL = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value
"""What a `compiled` function does when Python calls it: fail as a thing that is not callable."""


def _keep_to_itself(library: Any) -> None:
    """Make the functions linked into an entry's library private to it.

    Linked, each could be replaced by another library's; so the optimiser may neither drop what
    it has hot nor rely on what a function returns, and every call is followed by a test for an
    exception that none of them raises. That was a third of the kernel's time.

    They lose their names as well: the optimiser drops arguments that they do not use, and numba's
    linker would take such a copy for the function where another library calls it by its name.
    """
    for function in library._final_module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
            function.linkage = llvm.Linkage.private
            for name, attribute in _attributes.items():
                if name in function.name:
                    function.add_function_attribute(attribute)


def _install() -> None:
    """Let libraries of translated functions skip optimisation and machine code."""
    from numba.core import callconv, codegen  # noqa: PLC0415 - they have what is replaced

    kind = codegen.JITCodeLibrary
    optimize = kind._optimize_final_module
    finalize = kind._finalize_final_module
    pointer = kind.get_pointer_to_function
    set_env = codegen.JITCPUCodegen.set_env
    return_value = callconv.CPUCallConv.return_value

    def optimize_once(library: Any) -> None:
        if library.name in _entries:
            _keep_to_itself(library)
        if library.name not in _translated:
            optimize(library)

    def finalize_once(library: Any) -> None:
        if library.name not in _translated:
            finalize(library)
            return
        library._finalize_dynamic_globals()
        library._finalized = True

    def pointer_if_any(library: Any, name: str) -> Any:
        return _REFUSE_CALL if library.name in _translated else pointer(library, name)

    def set_env_if_any(engine: Any, name: str, env: Any) -> None:
        if engine._engine.get_global_value_address(name):
            set_env(engine, name, env)

    def return_nothing(convention: Any, builder: Any, value: Any) -> None:
        """Return from a function, without writing down that its value is None.

        A caller sets the place of the value to zeros before, which is what None is. What nobody
        writes to need not be handed on from call to call.
        """
        if isinstance(value, ir.Constant) and value.constant is None:
            convention._return_errcode_raw(builder, callconv.RETCODE_OK)
        else:
            return_value(convention, builder, value)

    kind._optimize_final_module = optimize_once
    kind._finalize_final_module = finalize_once
    kind.get_pointer_to_function = pointer_if_any
    codegen.JITCPUCodegen.set_env = set_env_if_any
    callconv.CPUCallConv.return_value = return_nothing


if HOOKED:
    _install()


def compiled(function: F) -> F:
    """Mark a free function over int64 arrays that other functions of the kernel call."""
    if not HOOKED:
        return cast("F", numba.njit(cache=True, **_COMMON)(function))
    _name_apart(function)
    _translated.add(function.__qualname__)
    made = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_COMMON)(function)
    return cast("F", made)


def hot(function: F) -> F:
    """Mark a `compiled` function that is inlined into every caller."""
    return _with_attribute(function, "alwaysinline")


def cold(function: F) -> F:
    """Mark a `compiled` function that is never inlined."""
    return _with_attribute(function, "noinline")


def _with_attribute(function: F, attribute: str) -> F:
    _name_apart(function)
    path = (*function.__module__.split("."), function.__qualname__)
    # as numba begins its name in the library, up to the mark of its version
    _attributes["".join(f"{len(part)}{part}" for part in path) + "B"] = attribute
    return compiled(function)


def _name_apart(function: Any) -> None:
    """Give it a name that no other module has: the hooks know a library by its name alone."""
    apart = re.sub(r"\W", "_", function.__module__) + "__"
    if not function.__qualname__.startswith(apart):
        function.__qualname__ = apart + re.sub(r"\W", "_", function.__qualname__)


def entry(function: F) -> F:
    """Mark a loop that Python calls; its machine code is kept in the cache."""
    _name_apart(function)
    _entries.add(function.__qualname__)
    return cast("F", numba.njit(cache=True, **_COMMON)(function))
