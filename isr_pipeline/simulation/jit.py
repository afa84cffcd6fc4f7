"""The one way in which functions of the kernel are compiled."""

from __future__ import annotations

import numba

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
"""Free functions over one flat int64 array; no object ever enters the loop."""
