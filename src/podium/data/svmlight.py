"""LETOR's text format: svmlight lines with a qid, parsed in pieces of limited size."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data import _letor_kernels
from podium.data.columns import Kind
from podium.data.convert import Ids
from podium.data.files import File
from podium.data.ids import codes_of
from podium.data.source import Column, Source
from podium.errors import DataError
from podium.groups import Groups

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_PIECE = 1 << 24  # bytes parsed at a time: enough to make the cost per piece negligible
_LONGEST = 1 << 26  # bytes of a line; a file with longer lines is not svmlight

_REQUIREMENTS = {
    _letor_kernels.NO_LABEL: "the line must begin with a number, the label",
    _letor_kernels.NO_QID: (
        "qid: and an integer from 0 to 9223372036854775807 without leading zeros must follow the "
        "label"
    ),
    _letor_kernels.NO_FEATURE: "a feature must be id:value, two numbers",
    _letor_kernels.NOT_RISING: (
        "feature ids must be >= 1, have at most 9 digits and increase within the line"
    ),
}

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
        from scipy.sparse import csr_array

        if self.n_values < _DENSE * self.labels.size * width:
            return self._sparse(width, dtype)
        dense = np.zeros((self.labels.size, width), dtype)
        first = 0
        while self.pieces:
            piece = self.pieces.pop(0)
            last = first + piece.labels.size
            ends = np.append(0, piece.ends)
            rows = csr_array(
                (piece.values, piece.indices.astype(np.int32), ends), (ends.size - 1, width)
            )
            rows.toarray(out=dense[first:last])
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


def open_svmlight(file: File) -> Source:
    """Open an svmlight file as a truth with qid, item (the position within the query) and label."""

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        rows = parse([file], features=False)
        columns = {"qid": rows.qids, "item": positions(rows.qids), "label": rows.labels}
        return {name: columns[name] for name in kinds}

    return Source(str(file), ("qid", "item", "label"), fetch)


def positions(qid: Ids) -> NDArray[np.int64]:
    """Return the position of each row among the rows of its qid, from 0."""
    groups = Groups.from_qid(codes_of(qid)[0])
    return groups.scatter(np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes))


def parse(files: Sequence[File], *, dtype: Any = np.float64, features: bool = True) -> Rows:
    """Read svmlight files, one after the other, as one table.

    Parameters
    ----------
    files : sequence of File
    dtype : float64 or float32
        The type of the features.
    features : bool
        Whether features are returned. With False, lines are still checked, but only labels, which
        may be negative, and qids are returned.

    Returns
    -------
    Rows
        The rows of all files.

    Raises
    ------
    DataError
        If a line is malformed or longer than 64 MiB (with the file and line), there are no lines,
        or a file or a query is given twice.

    Notes
    -----
    Cost: one compiled pass over the bytes, and memory for the stored values, with one or two bytes
    for most ids.
    """
    repeated = next((file for file in files if files.count(file) > 1), None)
    if repeated is not None:
        raise DataError(f"{repeated} is given twice. Leave one out.")
    pieces = [piece for file in files for piece in pieces_of(file, dtype, features=features)]
    if not sum(piece.labels.size for piece in pieces):
        raise DataError(f"{files[0]} has no rows. Pass a table with rows.")
    if len(files) > 1:
        _require_apart(pieces)
    return Rows.of(pieces)


def _require_apart(pieces: Sequence[Piece]) -> None:
    """Raise if two files have a qid in common, as when each file is numbered from 1."""
    file_of_query: dict[int, str] = {}
    for piece in pieces:
        for qid in np.unique(piece.qids).tolist():
            if file_of_query.setdefault(qid, piece.name) != piece.name:
                raise DataError(
                    f"query {qid} is in {file_of_query[qid]} and in {piece.name}. In one table, "
                    "these lines would be one query. Use other query numbers in each file, or put "
                    "all lines of a query into one file."
                )


def pieces_of(file: File, dtype: Any = np.float64, *, features: bool = True) -> Iterator[Piece]:
    """Parse a file in pieces.

    Raises
    ------
    DataError
        If the iteration reaches a malformed line, or the end of a file that is cut short.
    """
    line = 1
    with file.reading() as stream:
        for text in _whole_lines(stream, str(file)):
            piece = _parse(text, str(file), line, dtype)
            if features:
                # A truth has its own rule for negative labels.
                _refuse_labels(piece, piece.labels < 0, ">= 0")
            yield piece if features else piece.without_features()
            line += text.count(b"\n")


def _whole_lines(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the bytes in parts that end at line ends; an incomplete line starts the next part."""
    incomplete, line = b"", 1
    while piece := stream.read(_PIECE):
        piece = incomplete + piece
        cut = piece.rfind(b"\n") + 1
        incomplete = piece[cut:]
        line += piece.count(b"\n")
        if cut:
            yield piece[:cut]
        if len(incomplete) > _LONGEST:
            raise DataError(
                f"{name}, line {line}: a line must be at most {_LONGEST >> 20} MiB long. Check "
                "that the file is svmlight."
            )
    if incomplete:
        yield incomplete


def _parse(text: bytes, name: str, line: int, dtype: Any) -> Piece:
    n_lines, n_colons = text.count(b"\n") + 1, text.count(b":") + 1
    labels, (qids, lines, ends) = np.empty(n_lines), np.empty((3, n_lines), np.int64)
    indices, values = np.empty(n_colons, np.int32), np.empty(n_colons)
    hard, problem = np.empty((n_colons + n_lines, 3), np.int64), np.zeros(2, np.int64)
    n_rows, n_values, n_hard = _letor_kernels.parse_svmlight(
        np.frombuffer(text, np.uint8),
        _letor_kernels.Lines(labels, qids, lines, ends),
        _letor_kernels.Features(indices, values),
        hard,
        problem,
    )
    if problem[0]:
        raise _malformed(text, name, line, int(problem[0]), int(problem[1]))
    for position, first, last in hard[:n_hard].tolist():
        number = float(text[first:last])
        if position < 0:
            labels[-1 - position] = number
        else:
            values[position] = number
    lines += line
    # Copies, because the buffers have the size of the worst case. The ids, which are most of the
    # memory of a large file, get the smallest sufficient type.
    piece = Piece(
        labels[:n_rows].copy(),
        qids[:n_rows].copy(),
        lines[:n_rows].copy(),
        ends[:n_rows].copy(),
        _kept(indices[:n_values], np.min_scalar_type(int(indices[:n_values].max(initial=0)))),
        _kept(values[:n_values], dtype),
        name,
    )
    check_piece(piece)
    return piece


def _kept(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return a copy in separate memory pages, with inf for values that the type can't represent.

    The heap would not release the memory of earlier pieces, and a file would need twice its memory.
    """
    n_bytes = values.size * np.dtype(dtype).itemsize
    copy = np.frombuffer(mmap.mmap(-1, n_bytes), dtype) if n_bytes else np.empty(0, dtype)
    with np.errstate(over="ignore"):
        copy[:] = values
    return copy


def _malformed(piece: bytes, name: str, line: int, kind: int, place: int) -> DataError:
    line_number = line + piece.count(b"\n", 0, place)
    fields = piece[place:].split(b"\n", 1)[0].split()
    received = fields[0].decode("utf-8", "replace")[:40] if fields else "the end of the line"
    return DataError(f"{name}, line {line_number}: {_REQUIREMENTS[kind]}, got {received!r}.")
