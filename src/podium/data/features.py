"""Feature tables: one row per user and item, with numbers that describe the pair."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium.data import svmlight
from podium.data.columns import (
    ANY_ITEM,
    ITEM,
    RELEVANCE,
    USER,
    column_list,
    is_rating,
    is_usual,
    resolve,
)
from podium.data.convert import Ids, finite, holds_numbers, of_user, one_chunk, to_ids, to_numbers
from podium.data.source import POLARS, Column, Kind, Source
from podium.data.svmlight import Piece, Rows
from podium.data.tables import format_of, open_table
from podium.errors import ArgumentError, DataError, arg, hint
from podium.groups import Groups

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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

    def run(
        self, scores: NDArray[Any], k: int | None = None, *, keep_order: bool = False
    ) -> dict[str, Any]:
        """Return the run of a ranker's scores: columns user, item and score, best first.

        Parameters
        ----------
        scores : (n_rows,)
            The scores. Rows of equal scores stay in row order.
        k : int, optional
            The number of items per user. By default, all items are returned.
        keep_order : bool
            Whether users keep the order of their rows, which must be adjacent, instead of being
            sorted.

        Returns
        -------
        dict of str to array
            The columns of the run.
        """
        labels = np.asarray(self.qid)
        groups = _adjacent(labels) if keep_order else Groups.from_qid(labels)
        order = np.lexsort((-scores, groups.index))
        if k is not None:
            position = np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes)
            order = order[position < k]
        return {
            "user": groups.labels[groups.index[order]],
            "item": np.asarray(self.item)[order],
            "score": scores[order],
        }


def _adjacent(labels: NDArray[Any]) -> Groups:
    """Group adjacent rows of equal labels, in their order."""
    starts = np.concatenate([[0], np.flatnonzero(labels[1:] != labels[:-1]) + 1])
    return Groups(labels[starts], np.append(starts, labels.size))


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
    `stream_features` reads files that do not fit in memory.

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
    paths = _svmlight_paths(source, format)
    if paths:
        unnamed = {"user": user, "item": item, "relevance": relevance, "ignore": ignore or None}
        _refuse_names(str(paths[0]), unnamed)
        check_numbered(features, str(paths[0]))
        rows = svmlight.parse(paths, dtype=kind)
        width = n_features if features is None else len(features)
        if features is not None and n_features is None and rows.highest > len(features):
            raise DataError(
                f"{_beyond(rows)}, but features contains only {_few(features)}. An svmlight file "
                "can't be read without some of its features."
            )
        return of_svmlight(rows, str(paths[0]), width, kind)
    roles = (USER, ANY_ITEM, RELEVANCE)
    table = open_table(source, "feature table", roles, format)
    explicit = {"user": user, "item": item, "relevance": relevance}
    column_of_role = resolve(table.names, roles, explicit, table.name)
    feature_columns = chosen_columns(table, column_of_role, features, ignore)
    kinds: dict[str, Kind] = dict.fromkeys(feature_columns, "any" if features is None else "number")
    roles_kinds: dict[str, Kind] = {"user": "id", "item": "id", "relevance": "number"}
    kinds.update(
        {column_of_role[role]: kind for role, kind in roles_kinds.items() if role in column_of_role}
    )
    columns = table.fetch(kinds)
    rows = _of_columns(
        table,
        column_of_role,
        columns,
        feature_columns,
        kind,
        named=features is not None,
        ignored=ignore,
    )
    if n_features is not None and len(rows.feature_names) != n_features:
        raise DataError(
            f"{table.name} has {len(rows.feature_names)} features, but {n_features} features are "
            f"required{hint(' (n_features)')}. Pass a table with these features."
        )
    return rows


def of_svmlight(
    rows: Rows, name: str, n_features: int | None = None, dtype: Any = np.float64
) -> Features:
    """Return the rows of svmlight files as Features; the rows can be used only once."""
    width = width_of(name, rows, n_features)
    items = svmlight.positions(rows.qids)
    return Features(rows.matrix(width, dtype), rows.labels, rows.qids, items, numbered(width))


def width_of(name: str, rows: Rows | Piece, n_features: int | None) -> int:
    """Return the number of features: the argument, or the highest id."""
    width = _check.cutoff(n_features, name="n_features", required=False) or rows.highest
    if not width:
        raise DataError(
            f"{name} has no feature: its lines end after the qid. Pass a file with features."
        )
    if width < rows.highest:
        raise DataError(
            f"{_beyond(rows)}, but {width} features are required"
            f"{hint(' (n_features)')}. Pass a file with these features."
        )
    return width


def _beyond(rows: Rows | Piece) -> str:
    file, line = rows.highest_at
    return f"{file} has feature {rows.highest} at line {line}"


def numbered(width: int) -> tuple[str, ...]:
    """Return the names "1", "2", … of features without names."""
    return tuple(str(i + 1) for i in range(width))


def _svmlight_paths(source: Any, format: str | None) -> list[Path]:
    """Return the svmlight files that a source names; an empty list for another source."""
    if not isinstance(source, list | str | Path):
        return []
    sources = cast("list[Any]", source) if isinstance(source, list) else [source]
    if not all(isinstance(path, str | Path) for path in sources):
        raise ArgumentError(f"A list must contain paths of svmlight files, got {source!r}.")
    paths = [Path(path) for path in sources]
    formats = [format_of(path, "features", format) for path in paths]
    if isinstance(source, list) and set(formats) != {"svmlight"}:
        raise ArgumentError(
            "Several files can be read as one table only if all are svmlight files, got "
            f"{', '.join(map(str, paths)) or 'none'}. Put other tables into one file."
        )
    return paths if "svmlight" in formats else []


def check_dtype(dtype: Any) -> Any:
    """Return dtype if it is float64 or float32, else raise."""
    for kind in (np.float64, np.float32):
        if dtype in (kind, np.dtype(kind), np.dtype(kind).name):
            return np.dtype(kind)
    raise ArgumentError(f"dtype must be float64 or float32, got {dtype!r}.")


def check_numbered(expected: Sequence[str] | None, name: str) -> None:
    """Raise unless the requested features are the numbers from 1."""
    if expected is not None and tuple(expected) != numbered(len(expected)):
        raise DataError(
            f"{name} has numbered features, but {_few(expected)} are required. Pass a "
            "table with these names."
        )


def _refuse_names(name: str, arguments: Mapping[str, Any]) -> None:
    for argument, value in arguments.items():
        if value is not None:
            raise ArgumentError(
                f"{name} has numbered features, which can't be ignored, and no column names. Leave "
                f"out {arg[argument]}."
            )


def _few(names: Sequence[str]) -> str:
    first_names = ", ".join(names[:3])
    return first_names if len(names) <= 3 else f"{first_names} … ({len(names)} in all)"


def _of_columns(
    table: Source,
    column_of_role: Mapping[str, str],
    columns: Mapping[str, Column],
    chosen: Sequence[str],
    dtype: Any,
    *,
    named: bool,
    ignored: Sequence[str],
) -> Features:
    qid = to_ids(columns[column_of_role["user"]], column_of_role["user"], table)
    if not len(qid):
        raise DataError(f"{table.name} has no rows. Pass a table with rows.")
    label = column_of_role.get("relevance")
    target = None
    if label is not None:
        target = finite(to_numbers(columns[label], label, table, qid), label, qid, table)
        if target.min() < 0:
            row = int(np.argmax(target < 0))
            raise DataError(
                f"{table.name}: {label} must be >= 0, got {target[row]:g} at {table.place_of(row)}"
                f"{of_user(qid, row)}. Use 0 for items that are not relevant."
            )
    used = [name for name in chosen if named or is_feature(columns[name], name, table)]
    left_out = () if named else not_features(table.names, [*column_of_role.values(), *ignored])
    if not used:
        more = f", or list columns of times or ids in {arg.features}" if left_out else ""
        raise DataError(
            f"{table.name} has no feature column: {column_list(table.names)}. Add numeric "
            f"columns{more}."
        )
    matrix = np.empty((len(qid), len(used)), dtype)
    # Overflow gives inf, for which the ranker raises; a signalling nan remains nan.
    with np.errstate(over="ignore", invalid="ignore"):
        for position, name in enumerate(used):
            matrix[:, position] = feature(columns[name], name, table)
    items = (
        to_ids(columns[column_of_role["item"]], column_of_role["item"], table)
        if "item" in column_of_role
        else svmlight.positions(qid)
    )
    return Features(
        matrix,
        target,
        qid,
        items,
        tuple(used),
        "item" in column_of_role,
        label is not None and is_rating(label),
        left_out,
    )


# These match neither watch_time, which is a duration, nor valid.
_TIME = re.compile(r"^time$|(^|_)date$|(timestamp|datetime)$", re.IGNORECASE)
_ID = re.compile(r"(^|[\W_])(u|uu|gu)?id$", re.IGNORECASE)
_CAMEL_ID = re.compile(r"[a-z](Id|ID)$")
_INDEX = re.compile(r"^$|^Unnamed: \d+$|^__index_level_\d+__$")  # row numbers written by pandas


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
        f"{table.name}: {name} must hold numbers, got {series[row]!r} at {table.place_of(row)}. "
        f"Correct the value, or leave {name} out with {arg.ignore()}."
    )


def feature(column: Column, name: str, table: Source) -> NDArray[np.float64]:
    """Return a column's numbers, nan for missing values."""
    series = pl.Series(column)
    if not holds_numbers(series):
        return to_numbers(series, name, table)  # raises an error
    return one_chunk(series.cast(pl.Float64))  # nulls become nan
