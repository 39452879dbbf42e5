"""LETOR's text form: svmlight lines with a qid, parsed in pieces of bounded size."""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from podium.data import _kernels
from podium.data._archive import Member
from podium.data._convert import Ids
from podium.data._source import Column, Kind, Source
from podium.data.files import broken, open_bytes
from podium.data.ids import codes_of
from podium.errors import DataError
from podium.groups import Groups

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_PIECE = 1 << 24  # bytes parsed at a time: enough to forget the per-piece cost
_DENSE = 0.25  # from this share of stored values on, a dense matrix takes less memory

_WHY = {
    _kernels.NO_LABEL: "the line must begin with a number, the label",
    _kernels.NO_QID: "qid: and an integer >= 0 must follow the label",
    _kernels.NO_FEATURE: "a feature must be id:value, two numbers",
    _kernels.NOT_RISING: "feature ids must rise within the line, from 1",
}


@dataclass(frozen=True, eq=False)
class Rows:
    """Lines of svmlight files: labels, qids, and the features in CSR form, ids from 0."""

    labels: NDArray[np.float64]
    qids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]

    def matrix(self, width: int) -> NDArray[np.float64] | csr_array:
        """Return the features, dense unless fewer than a quarter are stored."""
        n_rows = self.labels.size
        if self.values.size < _DENSE * n_rows * width:
            from scipy.sparse import csr_array

            parts = (self.values, self.indices, self.offsets)
            return csr_array(parts, shape=(n_rows, width))
        dense = np.zeros((n_rows, width))
        dense[np.repeat(np.arange(n_rows), np.diff(self.offsets)), self.indices] = self.values
        return dense


def open_svmlight(path: Path) -> Source:
    """Open an svmlight file as a truth: qid, item (its row within the query) and label."""

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        rows = parse([plain(path)])
        columns = {"qid": rows.qids, "item": positions(rows.qids), "label": rows.labels}
        return {name: columns[name] for name in kinds}

    return Source(str(path), ("qid", "item", "label"), fetch)


def plain(path: Path) -> Member:
    """Return a file as a Member."""
    return Member(str(path), path.name, lambda: open_bytes(path))


def positions(qid: Ids) -> NDArray[np.int64]:
    """Return the place of each row among the rows of its qid, from 0."""
    groups = Groups.from_qid(codes_of(qid)[0])
    return groups.scatter(np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes))


def parse(files: Sequence[Member]) -> Rows:
    """Read svmlight files one after the other, as if they were one.

    Raises
    ------
    DataError
        If a line is malformed (file, line, what is wrong), or there is none.

    Notes
    -----
    Cost: one pass over the bytes, compiled; memory for the result twice at the end.
    """
    parts = [piece for file in files for piece in _pieces(file)]
    if not sum(part.labels.size for part in parts):
        raise DataError(f"{files[0].name} has no rows.")
    bounds = np.cumsum([0, *(part.values.size for part in parts)])
    return Rows(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.qids for part in parts]),
        np.concatenate(
            [[0], *(part.offsets + low for part, low in zip(parts, bounds, strict=False))]
        ).astype(np.int64),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def _pieces(file: Member) -> Iterator[Rows]:
    """Parse a file piece by piece; the offsets of each are its rows' ends."""
    line = 1
    try:
        with file.open() as stream:
            for piece in _whole_lines(stream):
                yield _parse(piece, file.name, line)
                line += piece.count(b"\n")
    except (OSError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise broken(file.name, error) from error


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while piece := stream.read(_PIECE):
        piece = rest + piece
        cut = piece.rfind(b"\n") + 1
        rest = piece[cut:]
        if cut:
            yield piece[:cut]
    if rest:
        yield rest


def _parse(piece: bytes, name: str, line: int) -> Rows:
    data = np.frombuffer(piece, np.uint8)
    n_lines = piece.count(b"\n") + 1
    n_colons = piece.count(b":") + 1
    labels, qids, ends = np.empty(n_lines), np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
    indices, values = np.empty(n_colons, np.int32), np.empty(n_colons)
    hard = np.empty((n_colons + n_lines, 3), np.int64)
    problem = np.zeros(2, np.int64)
    n_rows, n_values, n_hard = _kernels.parse_svmlight(
        data, labels, qids, ends, indices, values, hard, problem
    )
    if problem[0]:
        raise _malformed(piece, name, line, int(problem[0]), int(problem[1]))
    for place, first, last in hard[:n_hard].tolist():
        number = float(piece[first:last])
        if place < 0:
            labels[-1 - place] = number
        else:
            values[place] = number
    if n_rows and labels[:n_rows].min() < 0:
        raise _negative(piece, name, line, labels[:n_rows])
    # Copies, because the buffers were cut for the worst case.
    return Rows(
        labels[:n_rows].copy(),
        qids[:n_rows].copy(),
        ends[:n_rows].copy(),
        indices[:n_values].copy(),
        values[:n_values].copy(),
    )


def _negative(piece: bytes, name: str, line: int, labels: NDArray[np.float64]) -> DataError:
    row = int(np.argmax(labels < 0))
    full = (i for i, text in enumerate(piece.split(b"\n")) if text.split(b"#")[0].strip())
    number = line + next(itertools.islice(full, row, None))
    return DataError(
        f"{name}, line {number}: the label must be >= 0, got {labels[row]:g}. "
        "Use 0 for what is not relevant."
    )


def _malformed(piece: bytes, name: str, line: int, kind: int, place: int) -> DataError:
    number = line + piece.count(b"\n", 0, place)
    fields = piece[place:].split(b"\n", 1)[0].split()
    came = fields[0].decode("utf-8", "replace")[:40] if fields else "the end of the line"
    return DataError(f"{name}, line {number}: {_WHY[kind]}, got {came!r}.")
