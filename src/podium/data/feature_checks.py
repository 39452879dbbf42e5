"""Checks of feature rows before a ranker is fitted.

Errors name the source, the row and the feature. `source` is a path, or the name of the table in
messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from podium import _check
from podium.data.features import Features
from podium.data.normalize import normalize_by_query
from podium.errors import ArgumentError, DataError, arg
from podium.types import PerRow

_LARGEST = 1e140  # the sum of squares of all rows that fit in memory stays below 1e308


def labels(source: str | Path, rows: Features) -> PerRow:
    """Return the relevance of rows.

    Raises
    ------
    DataError
        If the table has no relevance.
    """
    if rows.y is None:
        raise DataError(
            f"{source} has no relevance column, which training requires. Name the column "
            f"relevance, rating or label, or pass {arg.relevance()}."
        )
    return rows.y


def check_finite(source: str | Path, rows: Features) -> None:
    """Raise a DataError if features are missing or infinite, with the number and the first one."""
    n_bad, row, column = _check.bad_cells(rows.X, _check.not_finite)
    if n_bad:
        raise DataError(
            f"{source}: {n_bad} feature value{'s' if n_bad > 1 else ''} missing or infinite, "
            f"first {rows.feature_names[column]!r} at row {row} "
            f"(user {_check.label(np.asarray(rows.qid)[row])}). Fill them, or drop those rows."
        )


def check_scalable(sources: Sequence[str | Path], rows: Features) -> None:
    """Raise a DataError if the squares of a feature overflow: it can't be standardised."""
    values = rows.X if isinstance(rows.X, np.ndarray) else rows.X.data
    if not values.size or max(values.max(), -values.min()) <= _LARGEST:
        return
    peak = abs(rows.X).max(axis=0)
    peak = np.asarray(peak if isinstance(rows.X, np.ndarray) else peak.todense()).ravel()
    column = int(np.flatnonzero(peak > _LARGEST)[0])
    raise DataError(
        f"{', '.join(map(str, sources))}: feature {rows.feature_names[column]!r} has values up to "
        f"{peak[column]:.3g}, too large to be standardised. Divide it by a constant or take its "
        "logarithm, or train trees, which need no standardised features."
    )


def normalized(rows: Features, source: str | Path) -> Features:
    """Return rows with features scaled to [0, 1] within each query.

    Raises
    ------
    DataError
        If a feature is infinite.
    """
    try:
        return replace(rows, X=normalize_by_query(rows.X, rows.qid, copy=False))
    except ArgumentError as error:
        raise DataError(f"{source}: {error.message.text}") from error
