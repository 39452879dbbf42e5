"""The decorator of compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call, cache the code on disk, and release the interpreter's lock."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
