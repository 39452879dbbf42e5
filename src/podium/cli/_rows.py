"""Feature rows that a file holds, checked where the file can still be named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from podium.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from podium.data import Features
    from podium.types import PerRow

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


def check_scalable(paths: Sequence[Path], rows: Features) -> None:
    """Raise where a feature has no standard deviation in double precision: its squares overflow."""
    import numpy as np

    values = rows.X if isinstance(rows.X, np.ndarray) else rows.X.data
    if not values.size or max(values.max(), -values.min()) <= _LARGEST:
        return
    peak = abs(rows.X).max(axis=0)
    peak = np.asarray(peak if isinstance(rows.X, np.ndarray) else peak.todense()).ravel()
    column = int(np.flatnonzero(peak > _LARGEST)[0])
    raise DataError(
        f"{', '.join(map(str, paths))}: feature {rows.feature_names[column]!r} has values up to "
        f"{peak[column]:.3g}, too large to be standardised. Divide it by a constant or take its "
        "logarithm, or use --model lightgbm, which takes it as it is."
    )


def normalized(rows: Features, path: Path) -> Features:
    """Return rows with their features brought to [0, 1] within each query."""
    from podium.data import normalize_by_query

    try:
        return replace(rows, X=normalize_by_query(rows.X, rows.qid, copy=False))
    except ArgumentError as error:
        raise DataError(f"{path}: {error}") from error


def head_drawn(loss: Any, rows: Features) -> str:
    """Say how far a loss of the list's head orders rows that are not relevant, as they were drawn.

    Nothing where it does not, or is no such loss.
    """
    import numpy as np

    from podium.groups import Groups
    from podium.losses import ListMLE

    if not isinstance(loss, ListMLE):
        return ""
    target = loss.prepare(cast("PerRow", rows.y), Groups.from_qid(np.asarray(rows.qid)))
    n_queries, n_drawn = int(np.count_nonzero(target.defined)), int((target.n_drawn > 0).sum())
    if not n_drawn:
        return ""
    head = "whole lists" if loss.k is None else f"top {loss.k}"
    return (
        f"{loss.name}, {head}: in {n_drawn} of {n_queries} queries places go to rows of relevance "
        f"< {loss.min_relevance:g}, {_drawn(loss, len(target.rows))} (--loss "
        f"'{_relevant_head(loss)}' leaves them out)"
    )


def _drawn(loss: Any, n_orders: int) -> str:
    return (
        f"averaged over {n_orders} drawn orders" if loss.ties == "averaged" else "in a drawn order"
    )


def _relevant_head(loss: Any) -> str:
    """Return the text of the loss that differs from this one in its head alone."""
    given = {
        field.name: getattr(loss, field.name)
        for field in fields(loss)
        if field.name != "k" and getattr(loss, field.name) != field.default
    }
    params = ",".join(f"{name}={value}" for name, value in {**given, "head": "relevant"}.items())
    return f"{loss.name}({params})" + ("" if loss.k is None else f"@{loss.k}")
