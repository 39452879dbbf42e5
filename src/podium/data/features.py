"""Feature tables: one row per user and item, with numbers that describe the pair.

They are read, checked before a ranker is fitted, and scaled within each query, as in LETOR's
QueryLevelNorm files. In errors, `source` is a path, or the name of the table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.data import svmlight
from podium.data.columns import (
    ANY_ITEM,
    ITEM,
    RELEVANCE,
    USER,
    Kind,
    column_list,
    is_rating,
    is_usual,
)
from podium.data.convert import Ids, holds_numbers, of_user, one_chunk, to_numbers
from podium.data.files import File
from podium.data.source import POLARS, Column, Source
from podium.data.svmlight import Rows
from podium.data.tables import RoleColumns, open_table
from podium.errors import ArgumentError, DataError, arg, hint
from podium.groups import Groups
from podium.types import PerRow

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# These match neither watch_time, which is a duration, nor valid.
_TIME = re.compile(r"^time$|(^|_)date$|(timestamp|datetime)$", re.IGNORECASE)
_ID = re.compile(r"(^|[\W_])(u|uu|gu)?id$", re.IGNORECASE)
_CAMEL_ID = re.compile(r"[a-z](Id|ID)$")
_INDEX = re.compile(r"^$|^Unnamed: \d+$|^__index_level_\d+__$")  # row numbers written by pandas
_LARGEST = 1e140  # the sum of squares of all rows that fit in memory stays below 1e308


@dataclass(frozen=True, eq=False)
class Features:
    """Rows on which a ranker is trained, or that it ranks.

    Attributes
    ----------
    X : float64 or float32, (n_rows, n_features)
        A dense array, or for svmlight files of which less than a quarter is stored, a scipy.sparse
        CSR array.
    y : float64, (n_rows,), or None
        The relevance, None if the source has none.
    qid : (n_rows,)
        The user or query of each row: an int64 array or a Polars String Series.
    item : (n_rows,)
        The item of each row, of the same types as qid. If the source has no items, the row's
        position within its query, from 0.
    feature_names : tuple of str
        The names of the features; "1", "2", … for svmlight.
    names_items : bool
        Whether the source has items, so that equal ids in two queries are the same item.
    is_rating : bool
        Whether y comes from a column named rating. A model that learns from positives then needs
        the smallest rating of a positive row (`podium.data.columns`).
    left_out : tuple of str
        Columns of times and ids, which are features only if they are named.
    """

    X: NDArray[Any] | csr_array
    y: NDArray[np.float64] | None
    qid: Ids
    item: Ids
    feature_names: tuple[str, ...]
    names_items: bool = False
    is_rating: bool = False
    left_out: tuple[str, ...] = ()

    def run(self, scores: NDArray[Any], k: int | None = None) -> dict[str, Any]:
        """Return the run of a ranker's scores: columns user, item and score, best first.

        Parameters
        ----------
        scores : (n_rows,)
            The scores. Rows of equal scores stay in row order.
        k : int, optional
            The number of items per user. By default, all items are returned.

        Returns
        -------
        dict of str to array
            The columns of the run.
        """
        groups = Groups.from_qid(np.asarray(self.qid))
        order = np.lexsort((-scores, groups.index))
        if k is not None:
            position = np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes)
            order = order[position < k]
        return {
            "user": groups.labels[groups.index[order]],
            "item": np.asarray(self.item)[order],
            "score": scores[order],
        }


def read_features(
    source: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    relevance: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    n_features: int | None = None,
    dtype: Any = np.float64,
    format: str | None = None,
) -> Features:
    """Read a feature table: user (or qid), item, relevance (or label), and features.

    Parameters
    ----------
    source : path, list of paths, frame, or mapping of arrays; or Features
        The table, see `podium.data`. It may also be an svmlight file with qid (LETOR), whose
        columns cannot be named and whose features are "1", "2", …. The svmlight files of a list are
        read as one table.
    user, item, relevance : str, optional
        The names of columns without a usual name.
    features : sequence of str, optional
        The feature columns, in this order. By default, all other numeric columns. The default does
        not include text columns; in a text file, a column counts as text if none of its values is a
        number. It also excludes times, ids and pandas' row numbers, which are recognised by their
        names: time, date, timestamp, id and names that end in _id or _date, such as movie_id. To
        learn from such columns, name them here.
    ignore : sequence of str
        Columns that are not features.
    n_features : int, optional
        The width of X. For svmlight, at least the highest id; a file may lack the last features.
        A table must have this number of features.
    dtype : float64 or float32
        The type of X.
    format : {"parquet", "csv", "tsv", "arrow", "svmlight"}, optional
        The format of a file, if neither its name nor its content determines it.

    Returns
    -------
    Features
        The table; the source itself if it is Features.

    Raises
    ------
    DataError
        If a file is missing, empty or malformed, a column is missing, there is no feature, a
        feature is named twice or is also the user, item or relevance, a line is malformed, a
        numeric column of a text file contains another text, or a relevance is negative or not
        finite.
    ArgumentError
        If arguments contradict each other or the format.

    Notes
    -----
    Missing feature values become nan; the ranker decides whether this is an error. Features that an
    svmlight line omits are 0. Rows of a query need not be adjacent, and queries can have any order.

    Examples
    --------
    >>> table = {"qid": [1, 1], "label": [0, 1], "price": [2.0, 3.0], "recent": [1, 0]}
    >>> data = read_features(table)
    >>> data.feature_names, data.X.tolist(), data.y.tolist(), data.item.tolist()
    (('price', 'recent'), [[2.0, 1.0], [3.0, 0.0]], [0.0, 1.0], [0, 1])
    """
    if isinstance(source, Features):
        return source
    kind = check_dtype(dtype)
    if features is not None and n_features not in (None, len(features)):
        raise ArgumentError(
            f"{arg.n_features} is {n_features}, but {arg.features} has {len(features)} names. "
            "Leave one of them out."
        )
    if features is not None:
        n_features = len(features)
    files = _files(source, format)
    if files and files[0].format(format) == "svmlight":
        unnamed = {"user": user, "item": item, "relevance": relevance, "ignore": ignore or None}
        given = next((name for name, value in unnamed.items() if value is not None), None)
        if given is not None:
            raise ArgumentError(
                f"{files[0]} has numbered features, which can't be ignored, and no column names. "
                f"Leave out {arg[given]}."
            )
        check_numbered(features, str(files[0]))
        return _of_svmlight(svmlight.parse(files, dtype=kind), files, n_features)
    roles = (USER, ANY_ITEM, replace(RELEVANCE, kind="number"))
    given = {"user": user, "item": item, "relevance": relevance}
    table = open_table(files[0] if files else source, "feature table", roles, given, format)
    names = table.resolve(roles)
    chosen = chosen_columns(table, names, features, ignore)
    kinds: dict[str, Kind] = dict.fromkeys(chosen, "any" if features is None else "number")
    kinds |= {names[role.name]: role.kind for role in roles if role.name in names}
    read = table.fetch(kinds)
    columns = RoleColumns(table, names, {role: read[name] for role, name in names.items()})
    qid = columns.ids("user")
    if not len(qid):
        raise DataError(f"{table.name} has no rows. Pass a table with rows.")
    if features is None:
        chosen = [name for name in chosen if is_feature(read[name], name, table)]
    left_out = () if features else not_features(table.names, [*names.values(), *ignore])
    if not chosen:
        more = f", or list columns of times or ids in {arg.features}" if left_out else ""
        raise DataError(
            f"{table.name} has no feature column: {column_list(table.names)}. Add numeric "
            f"columns{more}."
        )
    if n_features is not None and len(chosen) != n_features:
        raise DataError(
            f"{table.name} has {len(chosen)} features, but {n_features} features are "
            f"required{hint(' (n_features)')}. Pass a table with these features."
        )
    matrix = np.empty((len(qid), len(chosen)), kind)
    # Overflow gives inf, for which the ranker raises; a signalling nan remains nan.
    with np.errstate(over="ignore", invalid="ignore"):
        for position, name in enumerate(chosen):
            matrix[:, position] = feature(read[name], name, table)
    return Features(
        matrix,
        _grades(columns, qid),
        qid,
        columns.ids("item") if "item" in columns else svmlight.positions(qid),
        tuple(chosen),
        "item" in columns,
        "relevance" in columns and is_rating(names["relevance"]),
        left_out,
    )


def _grades(columns: RoleColumns, qid: Ids) -> NDArray[np.float64] | None:
    """Return the relevances of rows, or None if there are none."""
    if "relevance" not in columns:
        return None
    grades = columns.numbers("relevance", qid)
    if grades.min() < 0:
        row, table = int(np.argmax(grades < 0)), columns.table
        raise DataError(
            f"{table.name}: {columns.names['relevance']} must be >= 0, got {grades[row]:g} at "
            f"{table.places.of(row)}{of_user(qid, row)}. Use 0 for items that are not relevant."
        )
    return grades


def _of_svmlight(rows: Rows, files: Sequence[File], n_features: int | None) -> Features:
    """Return the rows of svmlight files as Features; the rows can be used only once."""
    name = " and ".join(map(str, files))
    width = _check.cutoff(n_features, name="n_features", required=False) or rows.highest
    if not width:
        raise DataError(
            f"{name} has no feature: its lines end after the qid. Pass a file with features."
        )
    if width < rows.highest:
        raise DataError(
            f"{name} has feature {rows.highest}, but {width} features are required"
            f"{hint(' (n_features)')}. Pass a file with these features."
        )
    items = svmlight.positions(rows.qids)
    return Features(rows.matrix(width), rows.labels, rows.qids, items, numbered(width))


def numbered(width: int) -> tuple[str, ...]:
    """Return the names "1", "2", … of features without names."""
    return tuple(str(i + 1) for i in range(width))


def _files(source: Any, format: str | None) -> list[File]:
    """Return the files that a source names, none for another source; several must be svmlight."""
    if not isinstance(source, list | str | Path):
        return []
    sources = cast("list[Any]", source) if isinstance(source, list) else [source]
    if not all(isinstance(path, str | Path) for path in sources):
        raise ArgumentError(f"A list must contain paths of svmlight files, got {source!r}.")
    files = [File.of(Path(path), "features") for path in sources]
    if isinstance(source, list) and {file.format(format) for file in files} != {"svmlight"}:
        raise ArgumentError(
            "Several files can be read as one table only if all are svmlight files, got "
            f"{', '.join(map(str, files)) or 'none'}. Put other tables into one file."
        )
    return files


def check_dtype(dtype: Any) -> Any:
    """Return dtype if it is float64 or float32, else raise."""
    for kind in (np.float64, np.float32):
        if dtype in (kind, np.dtype(kind), np.dtype(kind).name):
            return np.dtype(kind)
    raise ArgumentError(f"dtype must be float64 or float32, got {dtype!r}.")


def check_numbered(expected: Sequence[str] | None, name: str) -> None:
    """Raise unless the requested features are the numbers from 1."""
    if expected is not None and tuple(expected) != numbered(len(expected)):
        few = ", ".join(expected[:3]) + (" …" if len(expected) > 3 else "")
        raise DataError(
            f"{name} has numbered features, but {few} are required. Pass a table with these names."
        )


def chosen_columns(
    table: Source,
    column_of_role: Mapping[str, str],
    features: Sequence[str] | None,
    ignore: Sequence[str],
) -> list[str]:
    """Return the columns named in `features`, or else all columns that may be features."""
    for name in [*(features or ()), *ignore]:
        if name not in table.names:
            raise DataError(
                f"{table.name} has no column {name!r}: {column_list(table.names)}."
                f"{_check.nearest(name, table.names)}"
            )
    if features is not None:
        return _distinct(table, column_of_role, list(features))
    excluded = {*column_of_role.values(), *ignore}
    excluded |= {*not_features(table.names, excluded)}
    return [name for name in table.names if name not in excluded]


def not_features(names: Sequence[str], others: Collection[str]) -> tuple[str, ...]:
    """Return the columns, other than `others`, whose names are those of times, ids or row numbers.

    Examples
    --------
    >>> not_features(["user", "movieId", "timestamp", "watch_time", "valid"], ["user"])
    ('movieId', 'timestamp')
    """
    return tuple(name for name in names if name not in others and _is_no_feature(name.strip()))


def _is_no_feature(name: str) -> bool:
    patterns = (_TIME, _ID, _CAMEL_ID, _INDEX)
    return is_usual(name, USER, ITEM) or any(pattern.search(name) for pattern in patterns)


def _distinct(table: Source, column_of_role: Mapping[str, str], features: list[str]) -> list[str]:
    roles = {column: role for role, column in column_of_role.items()}
    for position, name in enumerate(features):
        if name in roles:
            raise DataError(
                f"{table.name}: {name!r} is the {roles[name]} column, and can't also be a feature. "
                f"Remove it from {arg.features()}, or name another {roles[name]} column with "
                f"{arg[roles[name]]()}."
            )
        if name in features[:position]:
            raise DataError(f"features contains {name!r} twice. Keep one.")
    return features


def is_feature(column: Column, name: str, table: Source) -> bool:
    """Return whether a column contains numbers; raise if only some of its texts are numbers."""
    if holds_numbers(column):
        return True
    series = pl.Series(column)
    if not table.text or series.dtype != pl.String:
        return False
    POLARS.enter()
    numbers = series.str.strip_chars().cast(pl.Float64, strict=False)
    if not numbers.is_finite().any():  # "inf" and "nan" may be words
        return False
    row = int((numbers.is_null() & series.is_not_null()).arg_max() or 0)
    raise DataError(
        f"{table.name}: {name} must hold numbers, got {series[row]!r} at {table.places.of(row)}. "
        f"Correct the value, or leave {name} out with {arg.ignore()}."
    )


def feature(column: Column, name: str, table: Source) -> NDArray[np.float64]:
    """Return a column's numbers, nan for missing values."""
    series = pl.Series(column)
    if not holds_numbers(series):
        return to_numbers(series, name, table)  # raises an error
    return one_chunk(series.cast(pl.Float64))  # nulls become nan


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


def normalize_by_query(
    X: Any, qid: ArrayLike, *, copy: bool = True
) -> NDArray[np.floating] | csr_array:
    """Scale each feature to [0, 1] within each query: ``(x - min) / (max - min)``.

    Parameters
    ----------
    X : (n_rows, n_features)
        A dense array, or a scipy.sparse matrix. float32 is kept; other numbers become float64.
    qid : (n_rows,)
        The query (or user) of each row, in any order.
    copy : bool
        Whether X is copied. With False, a dense float array may be overwritten.

    Returns
    -------
    float64 or float32, (n_rows, n_features)
        The scaled features, dense, or CSR if X is sparse.

    Raises
    ------
    ArgumentError
        If lengths differ, a value is infinite, or copy is neither True nor False.

    Notes
    -----
    A feature that is constant within a query becomes 0, also in a query of one row. nan is ignored
    and remains nan. The values that a sparse X does not store count as zeros: the result is that of
    the dense matrix. It remains sparse if the minimum of each feature in each query is 0, as for
    counts. If a minimum is negative, values that were not stored become nonzero and are stored.

    Cost: a few passes over X. For a sparse X, each query also needs a dense array of the columns
    that it stores.

    References
    ----------
    qin2010, section on normalisation.

    Examples
    --------
    >>> normalize_by_query([[1.0, 5.0], [3.0, 5.0], [2.0, 7.0]], [7, 7, 8]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    needs_copy = _check.flag(copy, "copy")
    groups = Groups.from_qid(_check.array(qid, "qid"))
    if _check.is_sparse(X):
        return _sparse(_floats(X.tocsr(), copy=False), groups)
    dense = _floats(_check.array(X, "X"), copy=needs_copy)
    if dense.ndim != 2:
        raise ArgumentError(f"X must have two dimensions, got shape {dense.shape}.")
    _check_rows(dense, groups, dense)
    for group in range(groups.n_groups):
        rows = groups.rows_of(group)
        dense[rows] = _scaled(dense[rows])
    return dense


def _floats(X: Any, *, copy: bool) -> Any:
    """Return float64 or float32; a dense array is C-ordered and, with `copy`, copied."""
    if X.dtype.kind == "c":
        raise ArgumentError("X must hold real numbers, got complex ones.")
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if _check.is_sparse(X):
        return X.astype(dtype)
    try:
        return np.array(X, dtype, order="C", copy=True if copy else None)
    except (TypeError, ValueError):
        raise ArgumentError(f"X must hold numbers, got an array of {X.dtype}.") from None


def _check_rows(X: Any, groups: Groups, values: NDArray[Any]) -> None:
    if X.shape[0] != groups.n_rows:
        raise ArgumentError(
            f"X and qid must have equal length, got {X.shape[0]} and {groups.n_rows}."
        )
    n_infinite = int(np.isinf(values).sum())
    if n_infinite:
        raise ArgumentError(
            f"X has {n_infinite} infinite value{'s' if n_infinite > 1 else ''}, which can't be "
            "scaled to [0, 1]. Drop those rows, or clip the values."
        )


def _scaled(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the rows of a query with each column scaled to [0, 1]; a constant one becomes 0."""
    values = rows.astype(np.float64)
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)  # they ignore nan
    with np.errstate(over="ignore"):
        factor = np.where(np.isinf(high - low), 0.5, 1.0)  # half of a range is always finite
    span = factor * high - factor * low
    scaled = np.where(np.isnan(values), np.nan, 0.0)
    return np.divide(factor * values - factor * low, span, out=scaled, where=span > 0)


def _sparse(X: Any, groups: Groups) -> csr_array:
    """Scale each query as a dense array of the columns that it stores."""
    from scipy import sparse

    _check_rows(X, groups, X.data)
    parts = [_scaled_sparse(X[groups.rows_of(group)]) for group in range(groups.n_groups)]
    if not parts:
        return sparse.csr_array(X)
    stacked = sparse.csr_array(sparse.vstack(parts, format="csr"))
    return stacked if groups.order is None else stacked[np.argsort(groups.order)]


def _scaled_sparse(rows: Any) -> Any:
    from scipy import sparse

    columns = np.unique(rows.indices)
    scaled = sparse.csr_array(_scaled(rows[:, columns].toarray()).astype(rows.dtype))
    indices = columns[scaled.indices]
    return sparse.csr_array((scaled.data, indices, scaled.indptr), shape=rows.shape)
