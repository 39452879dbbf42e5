"""Feature rows that a file holds, checked where the file can still be named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from podium.errors import DataError

if TYPE_CHECKING:
    from podium.data import Features

_LARGEST = 1e140  # sums of squares of as many rows as fit in memory stay below 1e308


def check_finite(path: Path, rows: Features) -> None:
    """Raise where a feature is missing or infinite: how many are, and where the first one is."""
    import numpy as np

    from podium import _check

    X = rows.X
    if isinstance(X, np.ndarray):
        bad = np.flatnonzero(~np.isfinite(X))
        row, column = divmod(int(bad[0]), X.shape[1]) if bad.size else (0, 0)
    else:
        bad = np.flatnonzero(~np.isfinite(X.data))
        first = bad[0] if bad.size else 0
        row = int(np.searchsorted(X.indptr, first, side="right")) - 1
        column = int(X.indices[first]) if bad.size else 0
    if bad.size:
        raise DataError(
            f"{path}: {bad.size} feature value{'s' if bad.size > 1 else ''} missing or infinite, "
            f"first {rows.feature_names[column]!r} at row {row} "
            f"(user {_check.label(np.asarray(rows.qid)[row])}). Fill them, or drop those rows."
        )


def check_scalable(path: Path, rows: Features) -> None:
    """Raise where a feature has no standard deviation in double precision: its squares overflow."""
    import numpy as np

    values = rows.X if isinstance(rows.X, np.ndarray) else rows.X.data
    if not values.size or max(values.max(), -values.min()) <= _LARGEST:
        return
    peak = abs(rows.X).max(axis=0)
    peak = np.asarray(peak if isinstance(rows.X, np.ndarray) else peak.todense()).ravel()
    column = int(np.flatnonzero(peak > _LARGEST)[0])
    raise DataError(
        f"{path}: feature {rows.feature_names[column]!r} has values up to {peak[column]:.3g}, too "
        "large to be standardised. Divide it by a constant or take its logarithm, "
        "or use --model lightgbm, which takes it as it is."
    )
