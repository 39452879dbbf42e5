"""Array aliases with named axes, and the callback that podium's layers share.

The alias says what the axis counts; the dtype is part of the contract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

PerRow: TypeAlias = NDArray[np.float64]  # (n_rows,)
PerGroup: TypeAlias = NDArray[np.float64]  # (n_groups,)
Keys: TypeAlias = NDArray[np.float64]  # (n_rows, n_orders), in the caller's row order
RowIndex: TypeAlias = NDArray[np.int64]  # (n_rows,) positions of rows
Offsets: TypeAlias = NDArray[np.int64]  # (n_groups + 1,), from 0 to n_rows, never falling
Counts: TypeAlias = NDArray[np.int64]  # (n_groups,)
Mask: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]  # (n_groups,) integers or strings

Ties: TypeAlias = Literal["worst", "best", "average", "id", "random"]
Undefined: TypeAlias = Literal["skip", "zero", "one", "error"]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with (done, total, note) by everything that takes long; see `podium.progress`."""
