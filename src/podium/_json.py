"""Values in a form that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np


def plain(value: Any) -> Any:
    """Return a value for JSON: None for nan and infinity, lists for tuples and arrays.

    Names of mappings become text, and numbers of NumPy those of Python, at any depth.

    Examples
    --------
    >>> plain({"mean": float("nan"), "interval": (0.25, np.float64(0.5)), 3: np.arange(2)})
    {'mean': None, 'interval': [0.25, 0.5], '3': [0, 1]}
    """
    match value:
        case Mapping():
            pairs = cast("Mapping[Any, Any]", value).items()
            return {str(name): plain(part) for name, part in pairs}
        case list() | tuple():
            return [plain(part) for part in cast("list[Any]", value)]
        case np.ndarray() | np.generic():
            return plain(cast("Any", value).tolist())
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value
