"""How rules are compiled: small functions that the kernel inlines and plain Python calls."""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numba
from numba import types
from numba.extending import typeof_impl

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

UNCOUNTED = "_nrt"
"""numba's private option that says whether references are counted."""


def _options() -> dict[str, Any]:
    common = {"error_model": "numpy"}
    known = hasattr(numba.core.cpu.CPUTargetOptions, UNCOUNTED)
    return common | {UNCOUNTED: False} if known else common


OPTIONS = _options()
"""How all of the kernel is compiled. Nothing in it makes or keeps an array, so none needs its
references counted. Where numba has no such option, it counts.
"""


class Rule(Generic[P, R]):
    """A rule: Python calls the function as it stands, the kernel compiles it.

    It is a free function over rows and numbers that makes no array.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.plain = function
        self.compiled = numba.njit(**OPTIONS)(function)
        update_wrapper(self, function)

    def __call__(self, *given: P.args, **named: P.kwargs) -> R:
        """Call it without the compiler."""
        return self.plain(*given, **named)


def rule(function: Callable[P, R]) -> Rule[P, R]:
    """Mark a rule."""
    return Rule(function)


if not numba.config.DISABLE_JIT:

    @typeof_impl.register(Rule)
    def _type_of_rule(found: Rule[Any, Any], _context: Any) -> Any:
        return types.Dispatcher(found.compiled)
