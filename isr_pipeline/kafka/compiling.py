"""How rules are compiled: small functions that the kernel inlines and replay calls one by one."""

from __future__ import annotations

from typing import Any

import numba


def rule(function: Any) -> Any:
    """Mark a rule: a free function over int64 arrays and numbers that makes no array.

    So no references need counting, which would cost an atomic instruction at every call.
    """
    return numba.njit(cache=True, error_model="numpy", _nrt=False)(function)
