"""Feature rows of svmlight files in blocks of whole queries, for files larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.data import svmlight
from podium.data._letor_rows import Piece, Rows, joined
from podium.data.features import Features, check_dtype, numbered, width_of
from podium.data.tables import format_of
from podium.errors import ArgumentError, DataError, ScatteredQueriesError
from podium.groups import find


def stream_features(
    source: str | Path, n_features: int, *, dtype: Any = np.float64, format: str | None = None
) -> Iterator[Features]:
    """Read an svmlight file in blocks of whole queries, in the order of the file.

    Parameters
    ----------
    source : path
        svmlight with qid, also .gz. The rows of a query must lie together; queries come in any
        order.
    n_features : int
        Width of every X, at least the highest id: a model's, as a block can't know what follows.
    dtype : float64 or float32
        Of every X.
    format : {"svmlight"}, optional
        For a file whose name or content does not tell.

    Yields
    ------
    Features
        Some 16 MiB of text, or one query where that is longer. Every query is in one block.

    Raises
    ------
    ArgumentError
        For a file of another format, or an n_features or dtype that is none.
    DataError
        When the iteration comes to a malformed line, a feature beyond n_features, a query that
        was there before, or the end of a file that is cut short; it names the line.

    Notes
    -----
    Memory: that of a block and of the longest query, and 8 bytes for each query. Cost: that of
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
        raise DataError(f"{path} has no rows.")


def _whole_queries(path: Path, dtype: Any) -> Iterator[Piece]:
    """Cut pieces where a query ends; the last query of one waits for the next."""
    seen = _Seen(str(path))
    waiting: list[Piece] = []
    for piece in svmlight.pieces_of(svmlight.plain(path), dtype):
        starts = _starts(piece.qids)
        if not starts.size:
            continue
        goes_on = bool(waiting and waiting[-1].qids[-1] == piece.qids[0])
        seen.check(piece, starts[goes_on:])
        last = int(starts[-1])
        if last or not goes_on:
            if waiting or last:
                yield joined([*waiting, *([piece.cut(0, last)] if last else [])])
            waiting = []
        waiting.append(piece.cut(last, piece.qids.size))
    if waiting:
        yield joined(waiting)


def _starts(qids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each run of equal qids begins."""
    changes = np.flatnonzero(qids[1:] != qids[:-1]) + 1
    return np.concatenate([np.zeros(min(1, qids.size), np.int64), changes])


class _Seen:
    """The queries that are done with."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ids = np.empty(0, np.int64)  # rising

    def check(self, piece: Piece, starts: NDArray[np.int64]) -> None:
        """Raise where a query that begins at a start was there before."""
        heads = piece.qids[starts]
        order = np.argsort(heads, kind="stable")
        again = np.zeros(heads.size, np.bool_)
        again[order[1:]] = heads[order[1:]] == heads[order[:-1]]
        again |= find(self._ids, heads) >= 0
        if again.any():
            row = int(starts[int(np.argmax(again))])
            raise ScatteredQueriesError(
                f"{self._name}, line {piece.lines[row]}: query {piece.qids[row]} comes back after "
                "another one, which a stream can't take. Sort the lines by qid, or use "
                "read_features."
            )
        self._ids = np.sort(np.concatenate([self._ids, heads]), kind="stable")
