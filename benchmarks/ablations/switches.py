"""The ways to be faster, and how each is switched off from outside.

A switch replaces a function or a constant of a module before the kernel is imported. So it takes a
process of its own (`arm`), and the package needs no flag for it. None of them changes a result.
"""

from __future__ import annotations

# ruff: noqa: PLC0415 - what a switch replaces is imported when it is used, and before the kernel
import sys
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Large = Literal["events", "repeats", "configurations"]
"""What is simulated on 30 brokers with 3 000 partitions: see `arm`."""

KERNEL = "isr_pipeline.simulation.kernel"


@dataclass(frozen=True, slots=True)
class Switch:
    """One way to be faster.

    Attributes:
        words: what the table calls it.
        off: switches it off; the kernel must not be imported yet.
        compiles: whether that is another kernel.
        panel: scenarios of the reference panel that are simulated; 0 where it plays no part.
        large: what is simulated on the large cluster.
        environment: variables of the process, besides.
    """

    words: str
    off: Callable[[], None]
    compiles: bool = True
    panel: int = 8
    large: Large = "events"
    environment: Mapping[str, str] = field(default_factory=dict)


def switch_off(name: str) -> None:
    """Switch one off in this process.

    Raises:
        RuntimeError: the kernel is imported already, as it is.
    """
    if KERNEL in sys.modules:
        msg = f"{KERNEL} is imported already: {name} cannot be switched off any more"
        raise RuntimeError(msg)
    SWITCHES[name].off()


# ------------------------------------------------------------------ shortcuts


def _cycles() -> None:
    from isr_pipeline.worlds import encoder

    prepare = encoder.prepare

    def without(scenario: Any, **given: Any) -> Any:
        return prepare(scenario, **{**given, "jumps": False})

    encoder.prepare = without


def _reuse() -> None:
    from isr_pipeline.worlds import reuse

    reuse._can_reuse = lambda done, other: False  # noqa: ARG005 - as it is called


def _unchanged_partitions() -> None:
    from isr_pipeline.simulation import fetches

    _replace(fetches, _skip_unchanged=_first_left, _reads_nothing=_never)


def _validated_fetches() -> None:
    from isr_pipeline.simulation.shortcuts import validated

    _replace(validated, is_validated=_never)


def _first_left(_world: Any, _request: Any, first: int) -> int:
    return first


def _never(_one: Any, _other: Any) -> bool:
    return False


def _replace(module: Any, **functions: Callable[..., Any]) -> None:
    """Replace functions of the kernel; of several names, each has a function of its own."""
    from isr_pipeline.simulation.world.jit import compiled

    for name, function in functions.items():
        setattr(module, name, compiled(function))


# ------------------------------------------------------------------ memory


def _prefetch() -> None:
    from isr_pipeline.worlds import template

    template.AHEAD_CELLS = sys.maxsize


# ------------------------------------------------------------------ machine code


def _forced_inlining() -> None:
    from isr_pipeline.simulation.world import jit

    jit.hot = jit.compiled


def _cold_functions() -> None:
    from isr_pipeline.simulation.world import jit

    jit.cold = jit.compiled


def _no_jump_tables() -> None:
    from numba.core import codegen  # it sets options of its own before

    codegen.ll.set_option = lambda _name, _option: None


def _private_functions() -> None:
    from isr_pipeline.simulation.world import jit

    def only_attributes(library: Any) -> None:
        for function in library._final_module.functions:
            if not function.is_declaration:
                for name, attribute in jit._attributes.items():
                    if name in function.name:
                        function.add_function_attribute(attribute)

    jit._keep_to_itself = only_attributes


def _unwritten_none() -> None:
    from numba.core import callconv

    written = callconv.CPUCallConv.return_value
    from isr_pipeline.simulation.world import jit  # noqa: F401 - replaces it

    callconv.CPUCallConv.return_value = written


def _optimised_once() -> None:
    from isr_pipeline.simulation.world import jit

    class Nothing(set[str]):
        def add(self, _name: str) -> None:
            pass

    jit._translated = Nothing()


def rename(internal: str) -> None:
    """Let numba be one that calls an internal otherwise: its own callers find it, others do not.

    Args:
        internal: as `jit.INTERNALS` has it.
    """
    import numba.core

    owner, _, name = internal.rpartition(".")
    kind = attrgetter(owner)(numba.core)
    known = getattr(kind, name)
    for one in kind.__mro__:
        if name in vars(one):
            delattr(one, name)
    others = getattr(kind, "__getattr__", None)

    def found(self: Any, asked: str) -> Any:
        if asked == name:
            return known.__get__(self)
        if others is None:
            raise AttributeError(asked)
        return others(self, asked)

    kind.__getattr__ = found


def _all_hooks() -> None:
    rename("codegen.JITCPUCodegen.set_env")


def _uncounted_references() -> None:
    from isr_pipeline.kafka import compiling

    del compiling.OPTIONS[compiling.UNCOUNTED]


def _one_address() -> None:
    from isr_pipeline.kafka import rows

    del rows._RowModel.from_argument


SWITCHES: dict[str, Switch] = {
    "cycles": Switch("jumps over cycles", _cycles, compiles=False, panel=3, large="repeats"),
    "reuse": Switch(
        "reuse of a simulation by other configurations",
        _reuse,
        compiles=False,
        large="configurations",
    ),
    "unchanged-partitions": Switch("unchanged partitions in one loop", _unchanged_partitions),
    "validated-fetches": Switch("validated fetches", _validated_fetches),
    "prefetch": Switch("prefetch of large worlds", _prefetch, compiles=False, panel=0),
    "large-pages": Switch(
        "numpy's large pages",
        lambda: None,
        compiles=False,
        environment={"NUMPY_MADVISE_HUGEPAGE": "0"},
    ),
    "forced-inlining": Switch("forced inlining (`hot`)", _forced_inlining),
    "cold-functions": Switch("rare code kept out of the path (`cold`)", _cold_functions),
    "no-jump-tables": Switch("no jump tables", _no_jump_tables),
    "private-functions": Switch("`jit.py`: functions private to the kernel", _private_functions),
    "unwritten-none": Switch("`jit.py`: no write of None as a result", _unwritten_none),
    "optimised-once": Switch("`jit.py`: functions optimised once, as a whole", _optimised_once),
    "all-hooks": Switch("`jit.py`: all its hooks", _all_hooks),
    "uncounted-references": Switch(
        "`jit.py` and `compiling.py`: no counting of references (`_nrt`)", _uncounted_references
    ),
    "one-address": Switch("`rows.py`: rows of an array share its address", _one_address),
}
"""Every switch, by the name that the results have."""

NOT_SWITCHED = {
    "`jit.py`: `_finalize_final_module`, `get_pointer_to_function`, `set_env`": (
        "what is only translated has no machine code to finalise; they go with "
        "*functions optimised once*"
    ),
    "`rows.py`: `numba.np.arrayobj`, `cgutils`, `imputils`, `typing.templates`": (
        "they are how numba is told what a row is; without them nothing compiles"
    ),
    "`compiling.py`: `typeof_impl`": (
        "it is how numba is told what a rule is; without it nothing compiles"
    ),
}
"""What cannot be switched off alone, and why."""
