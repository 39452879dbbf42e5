"""Feature rows of svmlight files in blocks of whole queries, for files larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.data import svmlight
from podium.data.features import Features, check_dtype, numbered, width_of
from podium.data.svmlight import Piece, Rows, joined
from podium.data.tables import format_of
from podium.errors import ArgumentError, DataError, ScatteredQueriesError


def stream_features(
    source: str | Path, n_features: int, *, dtype: Any = np.float64, format: str | None = None
) -> Iterator[Features]:
    """Read an svmlight file in blocks of whole queries, in the order of the file.

    Parameters
    ----------
    source : path
        An svmlight file with qid, also .gz. The rows of a query must be adjacent; queries can have
        any order.
    n_features : int
        The width of every X, at least the highest id. Pass the width of the model, because a block
        does not contain the ids of later rows.
    dtype : float64 or float32
        The type of every X.
    format : {"svmlight"}, optional
        The format of a file, if neither its name nor its content determines it.

    Yields
    ------
    Features
        The rows of about 16 MiB of text, or of one query if it is longer. Every query is in one
        block.

    Raises
    ------
    ArgumentError
        If the file has another format, or n_features or dtype is invalid.
    DataError
        If the iteration reaches a malformed line, a feature id above n_features, a query that
        occurred earlier, or the end of a file that is cut short. The message names the line.

    Notes
    -----
    Memory: one block, the longest query, and about 60 bytes per query. Cost: that of
    `read_features`.

    Examples
    --------
    >>> for rows in stream_features("MSLR/Fold1/test.txt", 136):  # doctest: +SKIP
    ...     scores = model.predict(rows.X)
    """
    path, kind = Path(source), check_dtype(dtype)
    width = _check.cutoff(n_features, name="n_features")
    if format_of(path, "features", format) != "svmlight":
        raise ArgumentError(f"source must be an svmlight file, got {path}. Use read_features.")
    return _blocks(path, width, kind)


def _blocks(path: Path, width: int, dtype: Any) -> Iterator[Features]:
    empty, names = True, numbered(width)
    for piece in _whole_queries(path, dtype):
        empty = False
        width_of(str(path), piece, width)
        items = svmlight.positions(piece.qids)
        rows = Rows.of([piece])
        yield Features(rows.matrix(width, dtype), piece.labels, piece.qids, items, names)
    if empty:
        raise DataError(f"{path} has no rows. Pass a table with rows.")


def _whole_queries(path: Path, dtype: Any) -> Iterator[Piece]:
    """Divide pieces where a query ends; the last query of a piece is joined with the next piece."""
    earlier = set[int]()
    waiting: list[Piece] = []
    for piece in svmlight.pieces_of(path, dtype):
        starts = _starts(piece.qids)
        if not starts.size:
            continue
        continues = bool(waiting and waiting[-1].qids[-1] == piece.qids[0])
        for row in starts[continues:].tolist():
            qid = int(piece.qids[row])
            if qid in earlier:
                raise ScatteredQueriesError(
                    f"{path}, line {piece.lines[row]}: query {qid} occurs again after another "
                    "query, but a stream requires adjacent lines. Sort the lines by qid, or use "
                    "read_features."
                )
            earlier.add(qid)
        last = int(starts[-1])
        if last or not continues:
            if waiting or last:
                yield joined([*waiting, *([piece.cut(0, last)] if last else [])])
            waiting = []
        waiting.append(piece.cut(last, piece.qids.size))
    if waiting:
        yield joined(waiting)


def _starts(qids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start of each run of equal qids."""
    changes = np.flatnonzero(qids[1:] != qids[:-1]) + 1
    return np.concatenate([np.zeros(min(1, qids.size), np.int64), changes])
