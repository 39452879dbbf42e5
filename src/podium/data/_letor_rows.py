"""Parsed lines of svmlight files: consecutive pieces, and the matrix that they form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data import _letor_kernels
from podium.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_DENSE = 0.25  # if at least this share of values is stored, a dense matrix needs less memory
_WIDEST = 1 << 24  # larger feature ids are treated as an error


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows: labels, qids, lines in the file, and the features in CSR form, with ids from 0.

    `ends` contains the end of each row's values. `indices` have the smallest sufficient integer
    type. `name` is the name of the file.
    """

    labels: NDArray[np.float64]
    qids: NDArray[np.int64]
    lines: NDArray[np.int64]
    ends: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[Any]
    name: str = ""

    @property
    def highest(self) -> int:
        """The highest feature id, from 1; 0 without features."""
        return int(self.indices.max()) + 1 if self.indices.size else 0

    @property
    def highest_at(self) -> tuple[str, int]:
        """The file and line of the first occurrence of the highest feature id."""
        return self.name, line_of(self, int(np.argmax(self.indices)))

    def without_features(self) -> Piece:
        """Return only labels and qids, without features."""
        nothing = np.empty(0, np.uint8), np.empty(0, self.values.dtype)
        return Piece(self.labels, self.qids, self.lines, 0 * self.ends, *nothing, self.name)

    def cut(self, first: int, last: int) -> Piece:
        """Return the rows from first to last, without last."""
        low = int(self.ends[first - 1]) if first else 0
        high = int(self.ends[last - 1]) if last else 0
        return Piece(
            self.labels[first:last],
            self.qids[first:last],
            self.lines[first:last],
            self.ends[first:last] - low,
            self.indices[low:high],
            self.values[low:high],
            self.name,
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Lines of svmlight files: labels, qids, and pieces with the features.

    Attributes
    ----------
    labels : float64, (n_rows,)
    qids : int64, (n_rows,)
    highest : int
        The highest feature id, from 1; 0 without features.
    n_values : int
        The number of stored values.
    pieces : list of Piece
        The pieces. `matrix` removes each piece after use, so that features are never in memory
        twice.
    """

    labels: NDArray[np.float64]
    qids: NDArray[np.int64]
    highest: int
    n_values: int
    pieces: list[Piece] = field(repr=False)

    @classmethod
    def of(cls, pieces: list[Piece]) -> Rows:
        """Return the rows of consecutive pieces."""
        return cls(
            np.concatenate([piece.labels for piece in pieces]),
            np.concatenate([piece.qids for piece in pieces]),
            max(piece.highest for piece in pieces),
            sum(piece.values.size for piece in pieces),
            pieces,
        )

    @property
    def highest_at(self) -> tuple[str, int]:
        """The file and line where the highest feature id first occurs, until `matrix` is called."""
        return next(p for p in self.pieces if p.highest == self.highest).highest_at

    def matrix(self, width: int, dtype: Any = np.float64) -> NDArray[Any] | csr_array:
        """Return the features, dense unless less than a quarter is stored. It works only once."""
        if self.n_values < _DENSE * self.labels.size * width:
            return self._sparse(width, dtype)
        dense = np.zeros((self.labels.size, width), dtype)
        first = 0
        while self.pieces:
            piece = self.pieces.pop(0)
            last = first + piece.labels.size
            indices = piece.indices.astype(np.int32)
            _letor_kernels.fill_rows(piece.ends, indices, piece.values, dense[first:last])
            first = last
        return dense

    def _sparse(self, width: int, dtype: Any) -> csr_array:
        from scipy.sparse import csr_array

        indices = np.empty(self.n_values, np.int32)
        values, offsets = np.empty(self.n_values, dtype), np.zeros(self.labels.size + 1, np.int64)
        row, low = 1, 0
        while self.pieces:
            piece = self.pieces.pop(0)
            high = low + piece.values.size
            indices[low:high], values[low:high] = piece.indices, piece.values
            offsets[row : row + piece.ends.size] = low + piece.ends
            row, low = row + piece.ends.size, high
        return csr_array((values, indices, offsets), shape=(self.labels.size, width))


def joined(pieces: Sequence[Piece]) -> Piece:
    """Return consecutive pieces of a file as one piece."""
    if len(pieces) == 1:
        return pieces[0]
    starts = np.cumsum([0, *(piece.values.size for piece in pieces)])
    return Piece(
        np.concatenate([piece.labels for piece in pieces]),
        np.concatenate([piece.qids for piece in pieces]),
        np.concatenate([piece.lines for piece in pieces]),
        np.concatenate([p.ends + start for p, start in zip(pieces, starts, strict=False)]),
        np.concatenate([piece.indices for piece in pieces]),
        np.concatenate([piece.values for piece in pieces]),
        pieces[0].name,
    )


def check_piece(piece: Piece) -> None:
    """Raise if a number is too large for its type, or an id is too large."""
    name, infinite = piece.name, np.flatnonzero(~np.isfinite(piece.values))
    if infinite.size:
        feature = int(piece.indices[infinite[0]]) + 1
        raise DataError(
            f"{name}, line {line_of(piece, int(infinite[0]))}: the value of feature {feature} is "
            f"too large for {piece.values.dtype}. Scale it, or drop the row."
        )
    _refuse_labels(piece, ~np.isfinite(piece.labels), "finite")
    if piece.highest > _WIDEST:
        raise DataError(
            f"{name}, line {piece.highest_at[1]}: feature ids must be at most {_WIDEST}, "
            f"got {piece.highest}. Number the features from 1 without gaps."
        )


def refuse_negative(piece: Piece) -> None:
    """Raise if a label is negative."""
    _refuse_labels(piece, piece.labels < 0, ">= 0")


def _refuse_labels(piece: Piece, is_bad: NDArray[np.bool_], required: str) -> None:
    if is_bad.any():
        row = int(np.argmax(is_bad))
        raise DataError(
            f"{piece.name}, line {piece.lines[row]}: the label must be {required}, got "
            f"{piece.labels[row]:g}. Use 0 for items that are not relevant."
        )


def line_of(piece: Piece, place: int) -> int:
    """Return the line of the stored value at a position."""
    return int(piece.lines[int(np.searchsorted(piece.ends, place, side="right"))])
