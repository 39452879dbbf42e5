"""Checks of the data of `fit`, and their common form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import column_or_1d, validate_data

from podium import _check
from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.types import PerRow


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, relevance, groups and weights of the same rows, in the caller's order."""

    features: Any
    relevance: PerRow
    groups: Groups
    weights: PerRow | None


def rows_of(
    features: Any,
    y: Any,
    qid: Any,
    sample_weight: Any = None,
    *,
    reader: str,
    missing: bool = False,
    where: str = "",
) -> Rows:
    """Check y and qid against features that scikit-learn has validated.

    `reader` names the loss or measure that reads groups. If it is empty, rows without groups are
    one group.
    """
    n_rows = int(features.shape[0])
    labels = None if qid is None else _check.array(qid, f"{where}qid")
    groups = _groups(n_rows, labels, reader, where)
    finite_features(features, labels, f"{where}X", missing=missing)
    if y is None:
        raise ArgumentError(f"{where}y should be a 1d array of relevances, got None.")
    name = f"{where}y"
    relevance = _check.relevance(column_or_1d(_check.on_host(y), warn=True), labels, name=name)
    _same_length(n_rows, relevance.size, f"{where}X", name)
    return Rows(features, relevance, groups, row_weights(sample_weight, groups))


def features_of(estimator: Any, X: Any, **options: Any) -> Any:
    """Return the features that scikit-learn has validated; nan and infinity are not looked for.

    Raises
    ------
    ArgumentError
        If scikit-learn refuses them; it names the column that holds something else than numbers.
    TypeError
        If an array has objects that are neither texts nor numbers.
    """
    table = _check.on_host(X)
    options = {"accept_sparse": "csr", "ensure_all_finite": False, **options}
    try:
        return validate_data(estimator, table, **options)
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) and isinstance(table, np.ndarray):
            raise  # scikit-learn's contract for an array of objects, such as dicts
        raise ArgumentError(_unreadable_text(table) or str(error)) from error


def _unreadable_text(X: Any) -> str:
    """Return a message on the first column of a frame or array that holds no numbers, or ""."""
    for name, column in _columns(X):
        values = np.asarray(column)
        for row, value in enumerate(() if values.dtype.kind in "biuf" else values.tolist()):
            if not _is_number(value, values.dtype.kind):
                text = repr(value) if values.dtype.kind == "O" else str(values[row])
                return (
                    f"X must hold numbers, got {text} in column {name!r} at row {row}. Encode "
                    "the column as numbers, or leave it out."
                )
    return ""


def _columns(X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the columns of a frame with their names, or of an array with their positions."""
    if hasattr(X, "columns"):
        yield from ((name, X[name]) for name in X.columns)
    elif not _check.is_sparse(X):
        array = np.asarray(X, dtype=object)
        yield from enumerate(array.T if array.ndim == 2 else ())


def _is_number(value: Any, kind: str) -> bool:
    if value is None or isinstance(value, complex):
        return True  # None is read as nan, and scikit-learn's error names complex data
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return kind not in "mM"  # dates


def finite_features(features: Any, qid: Any, name: str, *, missing: bool = False) -> None:
    """Raise if features are nan or infinite, with their number and the first row and column.

    With `missing`, nan is a missing value and only infinite values are refused.
    """
    is_bad = np.isinf if missing else _check.not_finite
    n_bad, row, column = _check.bad_cells(features, is_bad)
    if not n_bad:
        return
    in_group = "" if qid is None else f" (qid {_check.label(qid[row])})"
    raise ArgumentError(
        f"{name} has {n_bad} {'infinite' if missing else 'NaN or inf'} values, first at row "
        f"{row}{in_group}, column {column}. Impute them or drop those rows."
    )


def row_weights(sample_weight: Any, groups: Groups) -> PerRow | None:
    """Return weights by row, from weights by row or by group (in ascending order of labels)."""
    if sample_weight is None:
        return None
    weights = _check.column(sample_weight, "sample_weight")
    name, rows = "sample_weight", groups.n_rows
    if weights.size == groups.n_groups != rows:
        return _check.weights(weights, groups.n_groups, groups.labels, name=name)[groups.index]
    if weights.size != rows:
        raise ArgumentError(
            f"sample_weight must have one value per row ({rows}) or per group "
            f"({groups.n_groups}), got {weights.size}."
        )
    return _check.weights(weights, rows, groups.labels[groups.index], name=name)


def unpack_eval_set(eval_set: Any) -> tuple[Any, Any, Any]:
    """Return X, y and qid of an eval_set; qid is None if the eval_set has none."""
    if not isinstance(eval_set, tuple | list) or len(cast("list[Any]", eval_set)) not in (2, 3):
        raise ArgumentError(f"{arg.eval_set} must be (X, y) or (X, y, qid).")
    X, y, *qid = cast("list[Any]", eval_set)
    return X, y, qid[0] if qid else None


def _groups(n_rows: int, qid: Any, reader: str, where: str) -> Groups:
    if qid is None:
        _check.grouped(qid, reader, request="set_fit_request", where=where)
        return Groups.single(n_rows)
    groups = Groups.from_qid(qid)
    _same_length(n_rows, groups.n_rows, f"{where}X", f"{where}qid")
    return groups


def _same_length(n_rows: int, n: int, first: str, second: str) -> None:
    if n != n_rows:
        raise ArgumentError(f"{first} and {second} must have equal length, got {n_rows} and {n}.")
